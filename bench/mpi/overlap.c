/* How much of a nonblocking collective is hidden by computation:
 *
 *   LD_PRELOAD=libxylem-mpi.so XYLEM_PROGRESS=thread mpirun -n N PROGRAM
 *
 * pure      MPI_Ibcast and MPI_Wait
 * compute   work for as long as that takes, and half as long again
 * both      MPI_Ibcast, work, MPI_Wait
 * overlap   1 - (both - compute) / pure, of the medians of all ranks' means
 *
 * The last line of each size is to be compared between MPI libraries. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "bench/common/sorted.h"

enum { RUNS = 31 };

static int rank, size;
static volatile double sink;

static void work(long turns)
{
    double x = 1;
    long i;

    for (i = 0; i < turns; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

/* The median over runs of the mean over ranks, in seconds. */
static double measure(char *buf, int bytes, long turns)
{
    double times[RUNS], begin, mine, sum;
    MPI_Request request;
    int i;

    for (i = 0; i < RUNS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        if (bytes > 0)
            MPI_Ibcast(buf, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        work(turns);
        if (bytes > 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        mine = MPI_Wtime() - begin;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        times[i] = sum / size;
    }
    sorted_make(times, RUNS);
    return times[RUNS / 2];
}

int main(int argc, char **argv)
{
    static const int sizes[] = {256 << 10, 1 << 20, 4 << 20};
    char *buf;
    double pure, compute, both, per_turn;
    long turns;
    size_t i;
    enum cli_result parsed;

    parsed =
        cli_parse_none("xylem-mpi-overlap-" BENCH_MPI_NAME,
                       "How much of MPI_Ibcast is hidden by computation: "
                       "start it by this MPI's mpirun,\nwith "
                       "LD_PRELOAD=libxylem-mpi.so, or without to compare.",
                       argc, argv);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    buf = malloc(4 << 20);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(buf, 1, 4 << 20);
    per_turn = measure(buf, 0, 1000000) / 1e6;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pure = measure(buf, sizes[i], 0);
        turns = (long)(1.5 * pure / per_turn);
        MPI_Bcast(&turns, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        compute = measure(buf, 0, turns);
        both = measure(buf, sizes[i], turns);
        if (rank == 0)
            printf("%8d bytes: pure %8.1f us, compute %8.1f us, both %8.1f us, "
                   "overlap %4.0f %%\n",
                   sizes[i], pure * 1e6, compute * 1e6, both * 1e6,
                   100 * (1 - (both - compute) / pure));
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
