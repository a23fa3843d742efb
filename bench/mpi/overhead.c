/* What the binding adds to a call: the same operation by MPI's function and by
 * xylem's own, on one rank, where nothing else takes time, and on all ranks.
 *
 *   LD_PRELOAD=libxylem-mpi.so mpirun -n N xylem-mpi-overhead-openmpi
 *
 * Prints nanoseconds per call, the median of some runs in turns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/common/cli.h"
#include "include/xylem.h"

enum { RUNS = 15, CALLS_ALONE = 20000, CALLS_TOGETHER = 2000 };

static int rank, size;

static xylem_status_t gather_all(void *arg, const void *mine, void *all,
                                 size_t bytes)
{
    (void)arg;
    MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                  MPI_COMM_WORLD);
    return XYLEM_OK;
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double by_mpi(int what, int calls, MPI_Comm comm)
{
    double begin = now_ns(), in = 1, out;
    int i;

    for (i = 0; i < calls; i++)
        if (what == 0)
            MPI_Barrier(comm);
        else if (what == 1)
            MPI_Bcast(&in, 1, MPI_DOUBLE, 0, comm);
        else
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
    return (now_ns() - begin) / calls;
}

static double by_xylem(int what, int calls, xylem_team_t *team)
{
    double begin = now_ns(), in = 1, out;
    int i;

    for (i = 0; i < calls; i++)
        if (what == 0)
            xylem_barrier(team);
        else if (what == 1)
            xylem_bcast(team, &in, 1, XYLEM_FLOAT64, 0);
        else
            xylem_allreduce(team, &in, &out, 1, XYLEM_FLOAT64, XYLEM_SUM);
    return (now_ns() - begin) / calls;
}

static void measure(const char *where, MPI_Comm comm, xylem_team_t *team,
                    int calls)
{
    static const char *const names[] = {"barrier", "bcast", "allreduce"};
    double mpi[RUNS], own[RUNS];
    int what, i;

    for (what = 0; what < 3; what++) {
        for (i = 0; i < RUNS; i++) {
            mpi[i] = by_mpi(what, calls, comm);
            own[i] = by_xylem(what, calls, team);
        }
        qsort(mpi, RUNS, sizeof *mpi, compare);
        qsort(own, RUNS, sizeof *own, compare);
        if (rank == 0)
            printf("%-10s %-9s  MPI %8.0f ns  xylem %8.0f ns  more %6.0f ns\n",
                   where, names[what], mpi[RUNS / 2], own[RUNS / 2],
                   mpi[RUNS / 2] - own[RUNS / 2]);
    }
}

int main(int argc, char **argv)
{
    xylem_bootstrap_t bootstrap = {.struct_bytes = sizeof bootstrap,
                                   .allgather = gather_all};
    xylem_context_params_t params = {sizeof params, &bootstrap, NULL};
    xylem_context_t *context;
    xylem_team_t *alone = NULL;
    uint32_t self;

    switch (cli_parse_none("xylem-mpi-overhead-" BENCH_MPI_NAME,
                           "What the binding adds to a call of MPI, in "
                           "nanoseconds: start it by this MPI's\nmpirun, with "
                           "LD_PRELOAD=libxylem-mpi.so.",
                           argc, argv)) {
    case CLI_HELP:
        return EXIT_SUCCESS;
    case CLI_BAD:
        return CLI_EXIT_USAGE;
    case CLI_RUN:
        break;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bootstrap.rank = self = (uint32_t)rank;
    bootstrap.ranks = (uint32_t)size;
    if (xylem_context_create(&params, &context) != XYLEM_OK ||
        xylem_team_split(xylem_context_world(context), self, 0, &alone) !=
            XYLEM_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD); /* connects the binding's ranks */
    measure("alone", MPI_COMM_SELF, alone, CALLS_ALONE);
    if (size > 1)
        measure("together", MPI_COMM_WORLD, xylem_context_world(context),
                CALLS_TOGETHER);
    xylem_team_destroy(alone);
    xylem_context_destroy(context);
    MPI_Finalize();
    return 0;
}
