/* The other programs in one job, one after the other, for many numbers of
 * ranks: each is compiled with TEST_TOGETHER and its main() renamed.
 *
 *   together [threads]   with MPI_THREAD_MULTIPLE, and threads.c as well */
#include "tests/mpi/mpitest.h"

#define PROGRAMS(X)                                                            \
    X(first, NULL)                                                             \
    X(corners, NULL)                                                           \
    X(layouts, NULL)                                                           \
    X(operations, NULL)                                                        \
    X(requests, NULL)                                                          \
    X(comms, "4")                                                              \
    X(threads, "1")                                                            \
    X(errors, NULL)
#define DECLARE(name, argument) int name##_main(int argc, char **argv);
PROGRAMS(DECLARE)

int main(int argc, char **argv)
{
    int level = MPI_THREAD_SINGLE, rank, failures = 0;

    MPI_Init_thread(&argc, &argv,
                    argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#define RUN(name, argument)                                                    \
    {                                                                          \
        char *arguments[] = {#name, argument, NULL};                           \
        failures += name##_main(1 + (arguments[1] != NULL), arguments);        \
    }
    PROGRAMS(RUN)
    if (rank == 0)
        puts(failures == 0 ? "PASS together" : "FAIL together");
    MPI_Finalize();
    return failures != 0;
}
