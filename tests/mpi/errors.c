/* Wrong arguments: with MPI_ERRORS_RETURN every form says so, with a handler of
 * the program's it is called, once, with the communicator; and afterwards all
 * goes on. All ranks make the same mistakes. */
#include "tests/mpi/mpitest.h"

static int rank, size, handled;
static MPI_Comm handled_comm;

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

#define REFUSED(class, call)                                                   \
    do {                                                                       \
        int code_ = (call);                                                    \
        CHECK(code_ != MPI_SUCCESS);                                           \
        CHECK((class) == MPI_ERR_UNKNOWN || class_of(code_) == (class));       \
    } while (0)

static void handle(MPI_Comm *comm, int *code, ...)
{
    CHECK(*code != MPI_SUCCESS);
    handled_comm = *comm;
    handled++;
}

static void test_mistakes(MPI_Comm comm)
{
    int buf[16] = {0}, all[16 * 64] = {0}, counts[64], displs[64], i;
    MPI_Datatype open_type;
    MPI_Request request = MPI_REQUEST_NULL;

    for (i = 0; i < size; i++) {
        counts[i] = i == 0 ? -1 : 1;
        displs[i] = i;
    }
    REFUSED(MPI_ERR_COUNT, MPI_Bcast(buf, -1, MPI_INT, 0, comm));
    REFUSED(MPI_ERR_ROOT, MPI_Bcast(buf, 1, MPI_INT, size, comm));
    REFUSED(MPI_ERR_ROOT, MPI_Bcast(buf, 1, MPI_INT, -1, comm));
    REFUSED(MPI_ERR_TYPE, MPI_Bcast(buf, 1, MPI_DATATYPE_NULL, 0, comm));
    REFUSED(MPI_ERR_UNKNOWN,
            MPI_Reduce(buf, all, 1, MPI_INT, MPI_OP_NULL, 0, comm));
    REFUSED(MPI_ERR_OP, MPI_Allreduce(buf, all, 1, MPI_DOUBLE, MPI_BAND, comm));
    REFUSED(MPI_ERR_COUNT, MPI_Allreduce(buf, all, -3, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_ROOT,
            MPI_Gather(buf, 1, MPI_INT, all, 1, MPI_INT, size + 5, comm));
    REFUSED(MPI_ERR_UNKNOWN, MPI_Ibcast(buf, -1, MPI_INT, 0, comm, &request));
    REFUSED(MPI_ERR_UNKNOWN, MPI_Iallreduce(buf, all, 1, MPI_DATATYPE_NULL,
                                            MPI_SUM, comm, &request));
    REFUSED(MPI_ERR_UNKNOWN, MPI_Allgatherv(buf, 1, MPI_INT, all, counts,
                                            displs, MPI_INT, comm));
    REFUSED(MPI_ERR_UNKNOWN, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm));
    if (size > 1) { /* a buffer that is smaller than what comes */
        REFUSED(MPI_ERR_UNKNOWN,
                MPI_Allgather(buf, 4, MPI_INT, all, 2, MPI_INT, comm));
        REFUSED(MPI_ERR_UNKNOWN,
                MPI_Alltoall(all, 4, MPI_INT, buf, 2, MPI_INT, comm));
    }
    MPI_Type_contiguous(3, MPI_INT, &open_type);
    for (i = 0; i < 12; i++) /* nor is it when it has been seen often */
        REFUSED(MPI_ERR_TYPE, MPI_Bcast(buf, 1, open_type, 0, comm));
    MPI_Type_free(&open_type);
}

static void test_all_is_well(MPI_Comm comm)
{
    int one = 1, sum = 0;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size);
}

/* MPI_COMM_WORLD's handler is told of what has no communicator. */
static void test_no_comm(void)
{
    int buf = 0;

    REFUSED(MPI_ERR_COMM, MPI_Bcast(&buf, 1, MPI_INT, 0, MPI_COMM_NULL));
    REFUSED(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
}

/* The MPI library refuses what it has always refused; memory of the program's
 * is still allocated afterwards. */
static void test_allocation(void)
{
    int *memory = NULL;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL) != MPI_SUCCESS);
    CHECK(MPI_Alloc_mem(-8, MPI_INFO_NULL, &memory) != MPI_SUCCESS);
    CHECK(memory == NULL);
    CHECK(MPI_Alloc_mem(8, MPI_INFO_NULL, &memory) == MPI_SUCCESS);
    memory[1] = rank;
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
}

static void test_handler(MPI_Comm comm)
{
    MPI_Errhandler handler;
    int buf = 0;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    handled = 0;
    MPI_Bcast(&buf, -1, MPI_INT, 0, comm);
    CHECK(handled == 1 && handled_comm == comm);
    MPI_Bcast(&buf, 1, MPI_INT, 0, comm);
    CHECK(handled == 1);
    MPI_Errhandler_free(&handler);
}

static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)from;
    (void)to;
    (void)count;
    (void)type;
}

/* One rank has no memory to pack so many elements with gaps: the others, who
 * wait for it, are told. */
static void test_one_cannot_pack(void)
{
    const int numbers = 1 << 28, count = 1 << 30;

    MPI_Datatype pair, elements;
    MPI_Comm comm;
    MPI_Op op;
    int from[2] = {1, 2}, to[2] = {0};
    int is_short = rank == size - 1;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair);
    MPI_Type_contiguous(is_short ? numbers : 1, pair, &elements);
    MPI_Type_commit(&elements);
    MPI_Op_create(add, 1, &op);
    REFUSED(is_short ? MPI_ERR_NO_MEM : MPI_ERR_UNKNOWN,
            MPI_Allreduce(from, to, is_short ? count : 1, elements, op, comm));
    MPI_Comm_free(&comm);
    MPI_Op_free(&op);
    MPI_Type_free(&elements);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) { /* there is no return */
        if (strcmp(argv[1], "host") == 0)
            MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ROOT);
        else
            MPI_Bcast(&argc, 1, MPI_INT, size, MPI_COMM_WORLD);
        return test_end("fatal");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_no_comm();
    test_mistakes(MPI_COMM_WORLD);
    test_all_is_well(MPI_COMM_WORLD);
    test_allocation();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* takes the handler along */
    test_mistakes(comm);
    test_all_is_well(comm);
    test_handler(comm);
    test_all_is_well(comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD); /* what is under way would fail, too */
    if (size > 1)
        test_one_cannot_pack();
    MPI_Comm_free(&comm);
    return test_end("errors");
}
