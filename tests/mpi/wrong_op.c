/* An operation of the program's that cannot be applied on rank 0 (see
 * failing_local.c) is an error there, and on the others in this call or in one
 * that follows. */
#include "tests/mpi/mpitest.h"

enum { CALLS_MAX = 100000 };

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int i;

    (void)type;
    for (i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
    int one = 1, sum = 0, rank, code, i;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op_create(add, 1, &op);
    code = MPI_Reduce(&one, &sum, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(code != MPI_SUCCESS);
    for (i = 0; code == MPI_SUCCESS && i < CALLS_MAX; i++)
        code = MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(code != MPI_SUCCESS);
    MPI_Op_free(&op);
    return test_end("an operation that cannot be applied");
}
