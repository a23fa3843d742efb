/* Ranks that make different calls on a communicator are all told, in these or
 * in calls that follow; MPI by itself would hang. Other communicators go on. */
#include "tests/mpi/mpitest.h"

enum { ALIKE = 20, CALLS_MAX = 1000, WORDS = 500 };

static int words[WORDS];

static int one_call(int is_odd, MPI_Comm comm)
{
    return is_odd ? MPI_Bcast(words, WORDS, MPI_INT, 0, comm)
                  : MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int rank, size, code, i, one = 1, sum = 0;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (i = 0; i < ALIKE; i++)
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    code = one_call(rank == 1, comm);
    for (i = 0; code == MPI_SUCCESS && i < CALLS_MAX; i++)
        code = MPI_Barrier(comm);
    CHECK(code != MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(sum == size);
    MPI_Comm_free(&comm);
    return test_end("calls that differ");
}
