/* The cost of a datatype that a program makes for each call, as BLACS does:
 * broadcasts of a vector type that is made, committed and freed each time, and
 * of one that is kept.
 *
 *   mpirun -n N [env LD_PRELOAD=libxylem-mpi.so] xylem-mpi-vectors-openmpi
 *
 * Prints nanoseconds per broadcast on rank 0, the median of some runs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/common/cli.h"
#include "bench/common/sorted.h"

enum { RUNS = 101, CALLS = 200, STEP = 600, BLOCKS_MAX = 32 };

/* Blocks of `block` doubles, and the distance to the next. */
static const struct {
    int blocks, length, step;
} shapes[] = {{1, 2, 2},      {1, 16, 16},     {15, 1, STEP},  {16, 8, STEP},
              {16, 32, STEP}, {32, 128, STEP}, {32, 512, STEP}};

static double data[BLOCKS_MAX * STEP];

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static MPI_Datatype make(size_t shape)
{
    MPI_Datatype type;

    MPI_Type_vector(shapes[shape].blocks, shapes[shape].length,
                    shapes[shape].step, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* One run: nanoseconds per broadcast. */
static double run(size_t shape, int is_kept)
{
    MPI_Datatype type = make(shape);
    double begin;
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = now_ns();
    for (i = 0; i < CALLS; i++) {
        MPI_Datatype passing = is_kept ? type : make(shape);
        MPI_Bcast(data, 1, passing, 0, MPI_COMM_WORLD);
        if (!is_kept)
            MPI_Type_free(&passing);
    }
    begin = (now_ns() - begin) / CALLS;
    MPI_Type_free(&type);
    return begin;
}

static void measure(size_t shape, int rank)
{
    double made[RUNS], kept[RUNS];
    int i;

    for (i = 0; i < RUNS; i++) {
        made[i] = run(shape, 0);
        kept[i] = run(shape, 1);
    }
    sorted_make(made, RUNS);
    sorted_make(kept, RUNS);
    if (rank == 0)
        printf("%2d x %3d doubles, %6d B:  made %8.0f ns  kept %8.0f ns\n",
               shapes[shape].blocks, shapes[shape].length,
               shapes[shape].blocks * shapes[shape].length * (int)sizeof *data,
               made[RUNS / 2], kept[RUNS / 2]);
}

int main(int argc, char **argv)
{
    enum cli_result parsed =
        cli_parse_none("xylem-mpi-vectors-" BENCH_MPI_NAME,
                       "Broadcasts of datatypes that are made for each call, "
                       "and of kept ones: start it by\nthis MPI's mpirun, "
                       "also with LD_PRELOAD=libxylem-mpi.so.",
                       argc, argv);
    size_t shape;
    int rank;

    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
        measure(shape, rank);
    MPI_Finalize();
    return 0;
}
