/* What the tests of the binding share: checks that count, a report by rank 0,
 * and TAP's last word. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compiled with TEST_TOGETHER a program is one part of together.c, whose job it
 * shares. */
#ifdef TEST_TOGETHER
#define MPI_Init(argc, argv)                         MPI_SUCCESS
#define MPI_Init_thread(argc, argv, required, level) MPI_Query_thread(level)
#define MPI_Finalize()                               MPI_SUCCESS
#endif

static int test_failures;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition) && test_failures++ < 10) {                            \
            int rank_ = -1;                                                    \
            MPI_Comm_rank(MPI_COMM_WORLD, &rank_);                             \
            printf("# rank %d: %s:%d: %s\n", rank_, __FILE__, __LINE__,        \
                   #condition);                                                \
            fflush(stdout);                                                    \
        }                                                                      \
    } while (0)

/* Sums the failures of all ranks, by the host's own point-to-point messages;
 * the program's exit status. */
static inline int test_end(const char *name)
{
    int rank, size, i, sum = test_failures, other;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0)
        MPI_Send(&sum, 1, MPI_INT, 0, 4711, MPI_COMM_WORLD);
    for (i = 1; i < size && rank == 0; i++) {
        MPI_Recv(&other, 1, MPI_INT, i, 4711, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        sum += other;
    }
    if (rank == 0) {
        printf(sum == 0 ? "PASS %s on %d ranks\n" : "FAIL %s on %d ranks\n",
               name, size);
        fflush(stdout);
    }
    MPI_Finalize();
    return rank == 0 && sum != 0;
}
