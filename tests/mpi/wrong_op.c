/* An operation of the program's that cannot be applied on rank 0 (see
 * failing_local.c) is an error there, and on the others in this call or in one
 * that follows, also if rank 0 has freed the communicator meanwhile. If a
 * persistent call fails on a freed communicator, the handler of MPI_COMM_SELF
 * is told. */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

enum { CALLS_MAX = 100000, BOUND_S = 20 };

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int i;

    (void)type;
    for (i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF && *code != MPI_SUCCESS);
    handled++;
}

static void test_freed(MPI_Op op, int rank)
{
    int one = 1, sum = 0;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, op, comm, MPI_INFO_NULL,
                       &request);
    MPI_Comm_free(&comm);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    CHECK(handled == 1 || (rank != 0 && handled == 0));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* Rank 0 frees the communicator before the others begin its call. They are told
 * of the failure in a call that rank 0 never makes. */
static void test_freed_under_way(MPI_Op op, int rank, int size)
{
    int one = 1, sum = 0, code, flag = 0, i;
    MPI_Request request;
    double begin;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* MPICH 5's */
    MPI_Barrier(comm); /* xylem takes the calls that follow */
    if (rank == 0) {
        MPI_Ireduce(&one, &sum, 1, MPI_INT, op, 0, comm, &request);
        MPI_Comm_free(&comm);
        for (i = 1; i < size; i++)
            MPI_Send(&one, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
        return;
    }
    MPI_Recv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    code = MPI_Reduce(&one, &sum, 1, MPI_INT, op, 0, comm);
    if (code == MPI_SUCCESS)
        code = MPI_Ibarrier(comm, &request);
    begin = MPI_Wtime();
    while (code == MPI_SUCCESS && !flag && MPI_Wtime() - begin < BOUND_S)
        code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int one = 1, sum = 0, rank, size, code, i;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op_create(add, 1, &op);
    test_freed(op, rank);
    test_freed_under_way(op, rank, size);
    code = MPI_Reduce(&one, &sum, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(code != MPI_SUCCESS);
    for (i = 0; code == MPI_SUCCESS && i < CALLS_MAX; i++)
        code = MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(code != MPI_SUCCESS);
    MPI_Op_free(&op);
    return test_end("an operation that cannot be applied");
}
