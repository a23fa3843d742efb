/* The time that the binding adds to a call: the same operation by MPI's
 * function and by xylem's own, on one rank, where nothing else takes time, and
 * on all.
 *
 *   LD_PRELOAD=libxylem-mpi.so mpirun -n N xylem-mpi-overhead-openmpi
 *
 * Prints nanoseconds per call, the median of some runs in turns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/common/cli.h"
#include "bench/common/sorted.h"
#include "include/xylem.h"

/* Short runs, and many: on a shared machine most are not interrupted. */
enum { RUNS = 151, CALLS_ALONE = 1000, CALLS_TOGETHER = 200 };

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

/* ---- a call by either ---- */

enum { RANKS_MAX = 1024 };
static double in[RANKS_MAX], out[RANKS_MAX];
static int counts[RANKS_MAX], displs[RANKS_MAX], bytes_at[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];
static uint64_t own_counts[RANKS_MAX], own_displs[RANKS_MAX],
    own_bytes_at[RANKS_MAX];
static xylem_type_t own_types[RANKS_MAX];

/* One number for each rank. */
static void arrays_set(void)
{
    int i;

    for (i = 0; i < RANKS_MAX; i++) {
        counts[i] = 1;
        displs[i] = i;
        bytes_at[i] = i * (int)sizeof *in;
        types[i] = MPI_DOUBLE;
        own_counts[i] = 1;
        own_displs[i] = (uint64_t)i;
        own_bytes_at[i] = (uint64_t)bytes_at[i];
        own_types[i] = XYLEM_FLOAT64;
    }
}

#define ONE         1, MPI_DOUBLE
#define MANY        counts, displs, MPI_DOUBLE
#define EACH(b)     b, counts, bytes_at, types
#define OWN         1, XYLEM_FLOAT64
#define OWN_EACH(b) b, own_counts, own_bytes_at, own_types

/* Name, MPI's call, xylem's call. */
/* clang-format off */
#define COLLECTIVES(X)                                                         \
    X(barrier, MPI_Barrier(comm), xylem_barrier(team))                         \
    X(bcast, MPI_Bcast(in, ONE, 0, comm), xylem_bcast(team, in, OWN, 0))       \
    X(reduce, MPI_Reduce(in, out, ONE, MPI_SUM, 0, comm),                      \
      xylem_reduce(team, in, out, OWN, XYLEM_SUM, 0))                          \
    X(allreduce, MPI_Allreduce(in, out, ONE, MPI_SUM, comm),                   \
      xylem_allreduce(team, in, out, OWN, XYLEM_SUM))                          \
    X(gather, MPI_Gather(in, ONE, out, ONE, 0, comm),                          \
      xylem_gather(team, in, out, OWN, 0))                                     \
    X(gatherv, MPI_Gatherv(in, ONE, out, MANY, 0, comm),                       \
      xylem_gatherv(team, in, 1, out, own_counts, own_displs, XYLEM_FLOAT64, 0)) \
    X(scatter, MPI_Scatter(in, ONE, out, ONE, 0, comm),                        \
      xylem_scatter(team, in, out, OWN, 0))                                    \
    X(scatterv, MPI_Scatterv(in, MANY, out, ONE, 0, comm),                     \
      xylem_scatterv(team, in, own_counts, own_displs, out, OWN, 0))           \
    X(allgather, MPI_Allgather(in, ONE, out, ONE, comm),                       \
      xylem_allgather(team, in, out, OWN))                                     \
    X(allgatherv, MPI_Allgatherv(in, ONE, out, MANY, comm),                    \
      xylem_allgatherv(team, in, 1, out, own_counts, own_displs, XYLEM_FLOAT64)) \
    X(alltoall, MPI_Alltoall(in, ONE, out, ONE, comm),                         \
      xylem_alltoall(team, in, out, OWN))                                      \
    X(alltoallv, MPI_Alltoallv(in, MANY, out, MANY, comm),                     \
      xylem_alltoallv(team, in, own_counts, own_displs, out, own_counts,       \
                      own_displs, XYLEM_FLOAT64))                              \
    X(alltoallw, MPI_Alltoallw(EACH(in), EACH(out), comm),                     \
      xylem_alltoallw(team, OWN_EACH(in), OWN_EACH(out)))                      \
    X(reduce_scatter, MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm), \
      xylem_reduce_scatter(team, in, out, own_counts, XYLEM_FLOAT64, XYLEM_SUM)) \
    X(reduce_scatter_block, MPI_Reduce_scatter_block(in, out, ONE, MPI_SUM, comm), \
      xylem_reduce_scatter_block(team, in, out, OWN, XYLEM_SUM))               \
    X(scan, MPI_Scan(in, out, ONE, MPI_SUM, comm),                             \
      xylem_scan(team, in, out, OWN, XYLEM_SUM))                               \
    X(exscan, MPI_Exscan(in, out, ONE, MPI_SUM, comm),                         \
      xylem_exscan(team, in, out, OWN, XYLEM_SUM))
/* clang-format on */

#define PAIR(name, by_mpi, by_own)                                             \
    static void mpi_##name(MPI_Comm comm)                                      \
    {                                                                          \
        by_mpi;                                                                \
    }                                                                          \
    static void own_##name(xylem_team_t *team)                                 \
    {                                                                          \
        by_own;                                                                \
    }
COLLECTIVES(PAIR)

static const struct {
    const char *name;
    void (*by_mpi)(MPI_Comm comm);
    void (*by_own)(xylem_team_t *team);
} collectives[] = {
#define ROW(name, by_mpi, by_own) {#name, mpi_##name, own_##name},
    COLLECTIVES(ROW)
#undef ROW
};

/* ---- times ---- */

static double median(double *values)
{
    sorted_make(values, RUNS);
    return values[RUNS / 2];
}

static void measure(const char *where, MPI_Comm comm, xylem_team_t *team,
                    int calls)
{
    double mpi[RUNS], own[RUNS], begin, m, x;
    size_t c;
    int i, n;

    for (c = 0; c < sizeof collectives / sizeof *collectives; c++) {
        for (i = 0; i < RUNS; i++) {
            begin = now_ns();
            for (n = 0; n < calls; n++)
                collectives[c].by_mpi(comm);
            mpi[i] = (now_ns() - begin) / calls;
            begin = now_ns();
            for (n = 0; n < calls; n++)
                collectives[c].by_own(team);
            own[i] = (now_ns() - begin) / calls;
        }
        m = median(mpi);
        x = median(own);
        if (rank == 0)
            printf("%-8s  %-20s  MPI %8.0f ns  xylem %8.0f ns  more %6.0f ns\n",
                   where, collectives[c].name, m, x, m - x);
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
    enum cli_result parsed;

    parsed = cli_parse_none("xylem-mpi-overhead-" BENCH_MPI_NAME,
                            "What the binding adds to a call of MPI, in "
                            "nanoseconds: start it by this MPI's\nmpirun, with "
                            "LD_PRELOAD=libxylem-mpi.so.",
                            argc, argv);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > RANKS_MAX)
        MPI_Abort(MPI_COMM_WORLD, 1);
    arrays_set();
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
