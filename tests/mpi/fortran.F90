! Fortran's three ways into MPI: -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08.
#if defined(USE_MPI_F08)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define OPERATION type(MPI_Op)
#define COMM type(MPI_Comm)
#else
#define REQUEST integer
#define DATATYPE integer
#define OPERATION integer
#define COMM integer
#endif

#ifdef USE_MPI_F08
subroutine add(in, inout, n, what)
    use mpi_f08
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: what
    integer, pointer :: x(:), y(:)
    call c_f_pointer(in, x, [n])
    call c_f_pointer(inout, y, [n])
    y = y + x
end subroutine
#else
subroutine add(in, inout, n, what)
    integer :: n, what, in(n), inout(n), i
    do i = 1, n
        inout(i) = inout(i) + in(i)
    end do
end subroutine
#endif

program fortran
#if defined(USE_MPI_F08)
    use mpi_f08
#elif defined(USE_MPI)
    use mpi
#endif
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    implicit none
#ifdef MPIF_H
    include 'mpif.h'
#endif
#ifdef USE_MPI_F08
    procedure(MPI_User_function) :: add
#else
    external add
#endif
    integer, parameter :: n = 1000
    integer :: rank, ranks, error, i, failures, all_failures
    integer :: mine(n), sums(n), kept(n)
    integer :: spread(4 * 64), gathered(4 * 64)
    integer :: counts(64), displs(64), bytes(64)
    DATATYPE :: types(64), every_second
    double precision :: x, y
    logical :: flag, any_flag
    REQUEST :: requests(2)
    OPERATION :: sum_of_mine
    COMM :: part
    type(c_ptr) :: place
    integer, pointer, contiguous :: memory(:)
#ifndef USE_MPI_F08
    integer(kind=MPI_ADDRESS_KIND) :: address
#endif

    failures = 0
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)

    do i = 1, n
        mine(i) = merge(i, -1, rank == ranks - 1)
    end do
    call MPI_Bcast(mine, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
    failures = failures + count(mine /= [(i, i = 1, n)])

    x = rank + 0.5d0
    call MPI_Allreduce(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
        MPI_COMM_WORLD, error)
    if (y /= ranks * ranks * 0.5d0) failures = failures + 1

#ifdef USE_MPI_F08
    call MPI_Alloc_mem(int(4 * n, MPI_ADDRESS_KIND), MPI_INFO_NULL, place, &
        error)
#else
    call MPI_Alloc_mem(int(4 * n, MPI_ADDRESS_KIND), MPI_INFO_NULL, address, &
        error)
    place = transfer(address, place)
#endif
    call c_f_pointer(place, memory, [n])
    memory = rank
    call MPI_Allreduce(MPI_IN_PLACE, memory, n, MPI_INTEGER, MPI_SUM, &
        MPI_COMM_WORLD, error)
    failures = failures + count(memory /= ranks * (ranks - 1) / 2)
    call MPI_Free_mem(memory, error)
    if (error /= MPI_SUCCESS) failures = failures + 1

    sums = mine * (rank + 1)
    call MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_INTEGER, MPI_SUM, &
        MPI_COMM_WORLD, error)
    failures = failures + count(sums /= mine * (ranks * (ranks + 1) / 2))

    call MPI_Op_create(add, .true., sum_of_mine, error)
    kept = mine + rank
    call MPI_Iallreduce(kept, sums, n, MPI_INTEGER, sum_of_mine, &
        MPI_COMM_WORLD, requests(1), error)
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(2), error)
    call MPI_Op_free(sum_of_mine, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    failures = failures + &
        count(sums /= mine * ranks + ranks * (ranks - 1) / 2)

    flag = rank == 0
    call MPI_Allreduce(flag, any_flag, 1, MPI_LOGICAL, MPI_LOR, &
        MPI_COMM_WORLD, error)
    if (.not. any_flag) failures = failures + 1

    ! A type with gaps to each, and types by rank.
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_second, error)
    call MPI_Type_commit(every_second, error)
    spread = -1
    gathered = -1
    do i = 1, ranks
        spread(4 * i - 3) = 100 * rank + i
        spread(4 * i - 1) = 100 * rank + i + 50
        counts(i) = 1
        displs(i) = i - 1
        bytes(i) = 16 * (i - 1)
        types(i) = every_second
    end do
    call MPI_Ialltoallw(spread, counts, bytes, types, gathered, counts, &
        bytes, types, MPI_COMM_WORLD, requests(1), error)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
    do i = 1, ranks
        if (gathered(4 * i - 3) /= 100 * (i - 1) + rank + 1 .or. &
            gathered(4 * i - 1) /= 100 * (i - 1) + rank + 51 .or. &
            gathered(4 * i - 2) /= -1) failures = failures + 1
    end do
    call MPI_Type_free(every_second, error)

    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, part, error)
    call MPI_Gather(rank, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, part, &
        error)
    if (rank == 0 .and. ranks > 2) then
        if (gathered(2) /= 2) failures = failures + 1
    end if
    call MPI_Comm_free(part, error)

    call MPI_Reduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, 0, &
        MPI_COMM_WORLD, error)
    if (rank == 0 .and. all_failures == 0) print '(a,i0,a)', &
        'PASS fortran on ', ranks, ' ranks'
    if (rank == 0 .and. all_failures /= 0) print *, 'FAIL', all_failures
    call MPI_Finalize(error)
end program
