/* The benchmarks over an MPI library: compiled once for each, with
 * BENCH_MPI_NAME naming it. MPI's default error handler prints the reason and
 * ends the job, so that errors do not come back here.
 *
 * One thread.
 */
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/coll_data.h"
#include "bench/measure/worker.h"
#include "bindings/mpi/parameters.h"

#define WORLD MPI_COMM_WORLD

struct mpi_job {
    enum bench_mode mode;
    int rank, ranks;
    /* Of what is prepared. */
    int count; /* elements of the message or of a block */
    int *counts, *displs;
    MPI_Datatype *types;
    MPI_Comm grid;
    MPI_Request *requests; /* persistent ones, of each slot */
    unsigned requests_count;
};

static xylem_status_t checked(int error)
{
    return error == MPI_SUCCESS ? XYLEM_OK : XYLEM_ERR_NET;
}

/* ---- joining ---- */

static xylem_status_t grid_create(struct mpi_job *job)
{
    static const int has_no_border[2] = {1, 1};
    uint32_t sides[2];
    int dims[2];

    coll_grid((uint32_t)job->ranks, sides);
    dims[0] = (int)sides[0];
    dims[1] = (int)sides[1];
    return checked(
        MPI_Cart_create(WORLD, 2, dims, has_no_border, 0, &job->grid));
}

static xylem_status_t mpi_open(const struct bench_tuning *tuning,
                               void **state_out)
{
    struct mpi_job *job = calloc(1, sizeof *job);
    xylem_status_t status;

    if (job == NULL) {
        fputs("no memory for the job\n", stderr);
        return XYLEM_ERR_NO_MEMORY;
    }
    job->mode = tuning->mode; /* the launcher passes the rest */
    status = checked(MPI_Init(NULL, NULL));
    if (status != XYLEM_OK) {
        free(job);
        return status;
    }
    MPI_Comm_rank(WORLD, &job->rank);
    MPI_Comm_size(WORLD, &job->ranks);
    status = grid_create(job);
    *state_out = job;
    return status;
}

static void mpi_close(void *state)
{
    struct mpi_job *job = state;

    MPI_Comm_free(&job->grid);
    MPI_Finalize();
    free(job);
}

static uint32_t mpi_rank(void *state)
{
    const struct mpi_job *job = state;

    return (uint32_t)job->rank;
}

static uint32_t mpi_size(void *state)
{
    const struct mpi_job *job = state;

    return (uint32_t)job->ranks;
}

/* ---- the collectives ---- */

/* The arguments of MPI's functions, for each list of parameters. `c` is the
 * call, `j` the job. */
#define GIVEN_BARRIER            WORLD
#define GIVEN_BCAST              c->recv, j->count, MPI_BYTE, (int)c->root, WORLD
#define SUMS                     MPI_FLOAT, MPI_SUM
#define GIVEN_REDUCE             c->send, c->recv, j->count, SUMS, (int)c->root, WORLD
#define GIVEN_ALLREDUCE          c->send, c->recv, j->count, SUMS, WORLD
#define GIVEN_REDUCE_SCATTER     c->send, c->recv, j->counts, SUMS, WORLD
#define SENT_ONE                 c->send, j->count, MPI_BYTE
#define SENT_MANY                c->send, j->counts, j->displs, MPI_BYTE
#define RECEIVED_ONE             c->recv, j->count, MPI_BYTE
#define RECEIVED_MANY            c->recv, j->counts, j->displs, MPI_BYTE
#define GIVEN_GATHER             SENT_ONE, RECEIVED_ONE, (int)c->root, WORLD
#define GIVEN_GATHERV            SENT_ONE, RECEIVED_MANY, (int)c->root, WORLD
#define GIVEN_SCATTERV           SENT_MANY, RECEIVED_ONE, (int)c->root, WORLD
#define GIVEN_ALLGATHER          SENT_ONE, RECEIVED_ONE, WORLD
#define GIVEN_NEIGHBOR_ALLGATHER SENT_ONE, RECEIVED_ONE, j->grid
#define GIVEN_ALLGATHERV         SENT_ONE, RECEIVED_MANY, WORLD
#define GIVEN_ALLTOALLV          SENT_MANY, RECEIVED_MANY, WORLD
#define GIVEN_ALLTOALLW                                                        \
    c->send, j->counts, j->displs, j->types, c->recv, j->counts, j->displs,    \
        j->types, WORLD

#define BLOCKING_FUNCTION(ID, name, Name, Iname, LIKE, ...)                    \
    static int blocking_##name(const struct mpi_job *j,                        \
                               const struct bench_call *c)                     \
    {                                                                          \
        (void)j;                                                               \
        (void)c;                                                               \
        return MPI_##Name(GIVEN_##LIKE);                                       \
    }
#define START_FUNCTION(ID, name, Name, Iname, LIKE, ...)                       \
    static int start_##name(const struct mpi_job *j,                           \
                            const struct bench_call *c, MPI_Request *request)  \
    {                                                                          \
        (void)j;                                                               \
        (void)c;                                                               \
        return MPI_##Iname(GIVEN_##LIKE, request);                             \
    }
XYL_COLL_MPI_MAP(BLOCKING_FUNCTION)
XYL_COLL_MPI_MAP(START_FUNCTION)

typedef int (*blocking_fn)(const struct mpi_job *, const struct bench_call *);
typedef int (*request_fn)(const struct mpi_job *, const struct bench_call *,
                          MPI_Request *);

#define BLOCKING_ROW(ID, name, ...) [XYLEM_COLL_##ID] = blocking_##name,
static const blocking_fn blocking[XYLEM_COLL_COUNT] = {
    XYL_COLL_MPI_MAP(BLOCKING_ROW)};

#define START_ROW(ID, name, ...) [XYLEM_COLL_##ID] = start_##name,
static const request_fn nonblocking[XYLEM_COLL_COUNT] = {
    XYL_COLL_MPI_MAP(START_ROW)};

/* Open MPI 4 has them by names of its own; xylem's binding adds MPI's. */
static void *init_named(const char *name, const char *other_name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (found == NULL)
        found = dlsym(RTLD_DEFAULT, other_name);
    return found;
}

#define INIT_FUNCTION(ID, name, Name, Iname, LIKE, ...)                        \
    static int init_##name(const struct mpi_job *j,                            \
                           const struct bench_call *c, MPI_Request *request)   \
    {                                                                          \
        int (*init)(P_##LIKE(int, int), MPI_Info, MPI_Request *);              \
                                                                               \
        (void)j;                                                               \
        (void)c;                                                               \
        *(void **)(void *)&init =                                              \
            init_named("MPI_" #Name "_init", "MPIX_" #Name "_init");           \
        return init == NULL ? MPI_ERR_OTHER                                    \
                            : init(GIVEN_##LIKE, MPI_INFO_NULL, request);      \
    }
XYL_COLL_MPI_MAP(INIT_FUNCTION)

#define INIT_ROW(ID, name, ...) [XYLEM_COLL_##ID] = init_##name,
static const request_fn persistent[XYLEM_COLL_COUNT] = {
    XYL_COLL_MPI_MAP(INIT_ROW)};

/* ---- what is measured ---- */

/* MPI counts elements with int. */
static const char *mpi_refusal(void *state, const struct bench_call *call)
{
    const struct mpi_job *job = state;
    const struct coll_part part = {.coll = call->coll,
                                   .ranks = (uint32_t)job->ranks};
    size_t element_bytes =
        xyl_coll_traits(call->coll)->reduces ? sizeof(float) : 1;

    if (blocking[call->coll] == NULL)
        return "MPI has no such function";
    if (call->bytes / element_bytes > INT_MAX / coll_blocks(&part))
        return "these are more bytes than MPI can count";
    return NULL;
}

static void mpi_release(void *state)
{
    struct mpi_job *job = state;
    unsigned i;

    for (i = 0; i < job->requests_count; i++)
        MPI_Request_free(&job->requests[i]);
    free(job->requests);
    free(job->counts);
    free(job->displs);
    free(job->types);
    job->requests = NULL;
    job->requests_count = 0;
    job->counts = job->displs = NULL;
    job->types = NULL;
}

/* Equal blocks, one behind the other. */
static int arrays_create(struct mpi_job *job)
{
    size_t ranks = (size_t)job->ranks;
    int i;

    job->counts = calloc(ranks, sizeof *job->counts);
    job->displs = calloc(ranks, sizeof *job->displs);
    job->types = calloc(ranks, sizeof(MPI_Datatype));
    if (job->counts == NULL || job->displs == NULL || job->types == NULL)
        return 0;
    for (i = 0; i < job->ranks; i++) {
        job->counts[i] = job->count;
        job->displs[i] = job->count * i;
        job->types[i] = MPI_BYTE;
    }
    return 1;
}

/* Makes room for a request per call, and the requests themselves if they are
 * persistent. */
static xylem_status_t requests_create(struct mpi_job *job,
                                      const struct bench_call *calls,
                                      unsigned count)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    job->requests = calloc(count, sizeof(MPI_Request));
    if (job->requests == NULL)
        return XYLEM_ERR_NO_MEMORY;
    if (job->mode != BENCH_PERSISTENT)
        return XYLEM_OK;
    for (i = 0; i < count && status == XYLEM_OK; i++) {
        status = checked(
            persistent[calls[i].coll](job, &calls[i], &job->requests[i]));
        job->requests_count += status == XYLEM_OK;
    }
    return status;
}

static xylem_status_t mpi_prepare(void *state, const struct bench_call *calls,
                                  unsigned count)
{
    struct mpi_job *job = state;
    int is_sum = xyl_coll_traits(calls[0].coll)->reduces;
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;

    job->count = (int)(calls[0].bytes / (is_sum ? sizeof(float) : 1));
    if (arrays_create(job))
        status = requests_create(job, calls, count);
    if (status == XYLEM_ERR_NO_MEMORY)
        fputs("no memory for the calls\n", stderr);
    return status;
}

static xylem_status_t mpi_start(void *state, const struct bench_call *call)
{
    struct mpi_job *job = state;
    MPI_Request *request = &job->requests[call->slot];

    return checked(job->mode == BENCH_NONBLOCKING
                       ? nonblocking[call->coll](job, call, request)
                       : MPI_Start(request));
}

static xylem_status_t mpi_finish(void *state, const struct bench_call *call)
{
    struct mpi_job *job = state;

    return checked(MPI_Wait(&job->requests[call->slot], MPI_STATUS_IGNORE));
}

static xylem_status_t mpi_run(void *state, const struct bench_call *call)
{
    struct mpi_job *job = state;
    xylem_status_t status;

    if (job->mode == BENCH_BLOCKING)
        return checked(blocking[call->coll](job, call));
    status = mpi_start(state, call);
    return status == XYLEM_OK ? mpi_finish(state, call) : status;
}

/* ---- what the measuring itself needs ---- */

static xylem_status_t mpi_bcast(void *state, void *buf, size_t bytes,
                                uint32_t root)
{
    (void)state;
    return checked(MPI_Bcast(buf, (int)bytes, MPI_BYTE, (int)root, WORLD));
}

static xylem_status_t mpi_reduce(void *state, const void *send, void *recv,
                                 size_t bytes, uint32_t root)
{
    (void)state;
    return checked(MPI_Reduce(send, recv, (int)(bytes / sizeof(float)),
                              MPI_FLOAT, MPI_SUM, (int)root, WORLD));
}

static void mpi_progress(void *state)
{
    int found;

    (void)state;
    (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &found,
                     MPI_STATUS_IGNORE);
}

static xylem_status_t mpi_barrier(void *state)
{
    (void)state;
    return checked(MPI_Barrier(WORLD));
}

static xylem_status_t mpi_gather(void *state, const double *mine, size_t count,
                                 double *all)
{
    (void)state;
    return checked(MPI_Gather(mine, (int)count, MPI_DOUBLE, all, (int)count,
                              MPI_DOUBLE, 0, WORLD));
}

int main(int argc, char **argv)
{
    static const struct bench_impl impl = {.name = BENCH_MPI_NAME,
                                           .open = mpi_open,
                                           .close = mpi_close,
                                           .rank = mpi_rank,
                                           .size = mpi_size,
                                           .refusal = mpi_refusal,
                                           .prepare = mpi_prepare,
                                           .run = mpi_run,
                                           .start = mpi_start,
                                           .finish = mpi_finish,
                                           .release = mpi_release,
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
