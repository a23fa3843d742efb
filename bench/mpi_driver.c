/* The benchmarks over an MPI library: compiled once for each, with
 * BENCH_MPI_NAME naming it. MPI's default error handler prints the reason and
 * ends the job, so that errors do not come back here.
 *
 * One thread.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>

#include "bench/worker.h"

/* MPI counts elements with int. */
static xylem_status_t count_of(size_t bytes, size_t element_bytes,
                               int *count_out)
{
    if (bytes / element_bytes > INT_MAX) {
        fprintf(stderr, "%zu bytes are more than MPI can count\n", bytes);
        return XYLEM_ERR_UNSUPPORTED;
    }
    *count_out = (int)(bytes / element_bytes);
    return XYLEM_OK;
}

static xylem_status_t checked(int error)
{
    return error == MPI_SUCCESS ? XYLEM_OK : XYLEM_ERR_NET;
}

static xylem_status_t mpi_open(const struct bench_tuning *tuning,
                               void **state_out)
{
    (void)tuning; /* what MPI can be told comes from its launcher */
    *state_out = NULL;
    return checked(MPI_Init(NULL, NULL));
}

static void mpi_close(void *state)
{
    (void)state;
    MPI_Finalize();
}

static uint32_t mpi_rank(void *state)
{
    int rank = 0;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return (uint32_t)rank;
}

static uint32_t mpi_size(void *state)
{
    int size = 1;

    (void)state;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return (uint32_t)size;
}

static xylem_status_t mpi_bcast(void *state, void *buf, size_t bytes,
                                uint32_t root)
{
    int count;
    xylem_status_t status = count_of(bytes, 1, &count);

    (void)state;
    if (status != XYLEM_OK)
        return status;
    return checked(MPI_Bcast(buf, count, MPI_BYTE, (int)root, MPI_COMM_WORLD));
}

static xylem_status_t mpi_reduce(void *state, const void *send, void *recv,
                                 size_t bytes, uint32_t root)
{
    int count;
    xylem_status_t status = count_of(bytes, sizeof(float), &count);

    (void)state;
    if (status != XYLEM_OK)
        return status;
    return checked(MPI_Reduce(send, recv, count, MPI_FLOAT, MPI_SUM, (int)root,
                              MPI_COMM_WORLD));
}

static void mpi_progress(void *state)
{
    int found;

    (void)state;
    (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found,
                     MPI_STATUS_IGNORE);
}

static xylem_status_t mpi_barrier(void *state)
{
    (void)state;
    return checked(MPI_Barrier(MPI_COMM_WORLD));
}

static xylem_status_t mpi_gather(void *state, const double *mine, size_t count,
                                 double *all)
{
    (void)state;
    return checked(MPI_Gather(mine, (int)count, MPI_DOUBLE, all, (int)count,
                              MPI_DOUBLE, 0, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static const struct bench_impl impl = {.name = BENCH_MPI_NAME,
                                           .open = mpi_open,
                                           .close = mpi_close,
                                           .rank = mpi_rank,
                                           .size = mpi_size,
                                           .bcast = mpi_bcast,
                                           .reduce = mpi_reduce,
                                           .barrier = mpi_barrier,
                                           .progress = mpi_progress,
                                           .gather = mpi_gather};
    static const struct bench_impl *const impls[] = {&impl};
    static const struct worker_program program = {
        .name = "xylem-mpi-driver-" BENCH_MPI_NAME,
        .summary = "Measures a collective of " BENCH_MPI_NAME
                   " exactly as xylem-bench measures one of xylem.\n"
                   "Start it by that MPI's mpirun. --algorithm, --segment and "
                   "--window do nothing here.",
        .impls = impls,
        .impls_count = 1};

    return worker_main(&program, argc, argv);
}
