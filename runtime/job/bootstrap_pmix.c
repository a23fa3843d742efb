/* Bootstrap over PMIx, as offered by mpirun, srun --mpi=pmix and xylem-run.
 * PMIx counts its initialisations, so an MPI library in the same process may
 * use it too. Its callbacks run on a thread of its own and only set a flag. */
#include <inttypes.h>
#include <pmix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/status.h"
#include "runtime/job/bootstrap.h"

typedef struct pmix_bootstrap {
    xyl_bootstrap_t base;
    pmix_proc_t self;
    unsigned number;          /* of its context, and */
    unsigned exchanges;       /* of what it has exchanged: they name its keys */
    int server_has_all;       /* behind a fence, that it will ever have */
    _Atomic int fence_status; /* pmix_status_t, or one of these */
    pmix_info_t fence_info;   /* PMIx reads it until the fence is over */
} pmix_bootstrap_t;

enum { FENCE_NONE = 1, FENCE_RUNNING, FENCE_ABANDONED };

/* Contexts of this process so far: the same number on every rank, because
 * contexts are created collectively. What fails before has not begun. */
static _Atomic unsigned contexts_created;

/* ---- the session ---- */

/* One for the process, from its first context to its exit: a server of PMIx
 * (4.2.2) that learns of the end of a rank's session when the next has begun
 * takes it for the loss of the rank, and lets go whoever waits for that in a
 * fence. PMIx itself is the process's, too. */
static struct session {
    pthread_mutex_t lock;
    pmix_proc_t self;
    pid_t owner;       /* 0: it has not begun; a forked process has none */
    unsigned contexts; /* that use it */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Who exits from the midst of things is missed by the others, as if it had
 * died. */
static void session_end(void)
{
    if (session.owner == getpid() && session.contexts == 0)
        PMIx_Finalize(NULL, 0);
}

static pmix_status_t session_enter(pmix_proc_t *self_out)
{
    pmix_status_t status = PMIX_SUCCESS;

    pthread_mutex_lock(&session.lock);
    if (session.owner != getpid()) {
        status = PMIx_Init(&session.self, NULL, 0);
        if (status == PMIX_SUCCESS) {
            session.owner = getpid();
            session.contexts = 0;
            (void)atexit(session_end);
        }
    }
    if (status == PMIX_SUCCESS)
        session.contexts++;
    *self_out = session.self;
    pthread_mutex_unlock(&session.lock);
    return status;
}

static void session_leave(void)
{
    pthread_mutex_lock(&session.lock);
    session.contexts--;
    pthread_mutex_unlock(&session.lock);
}

/* ---- what ranks tell each other ---- */

int xyl_bootstrap_pmix_is_offered(void)
{
    return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL;
}

static xylem_status_t pmix_fail(const char *what, pmix_status_t status)
{
    return xyl_fail(XYLEM_ERR_BOOTSTRAP, "PMIx: %s: %s", what,
                    PMIx_Error_string(status));
}

static xylem_status_t blob_put(const char *key, const void *mine, size_t bytes)
{
    pmix_value_t value;
    pmix_status_t status;

    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)(uintptr_t)mine;
    value.data.bo.size = bytes;
    status = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? XYLEM_OK : pmix_fail("put", status);
}

/* A server of PMIx waits for the data of a rank that has died. Of others than
 * xylem-run's, which is the only one of its job, it is not known what it has to
 * ask other servers for. Open MPI's gives a request up after 2 s, in which a
 * busy machine may not come to it: whoever asks, asks again. */
static pmix_status_t value_get(const pmix_bootstrap_t *bootstrap,
                               const pmix_proc_t *proc, const char *key,
                               time_t limit_at, pmix_value_t **value_out)
{
    bool is_at_once = true;
    pmix_info_t info;
    pmix_status_t status;
    struct timespec now;

    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &is_at_once, PMIX_BOOL);
    do {
        status = PMIx_Get(proc, key, &info, bootstrap->server_has_all ? 1 : 0,
                          value_out);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (status == PMIX_ERR_TIMEOUT && now.tv_sec < limit_at);
    return status;
}

static xylem_status_t blob_get(const pmix_bootstrap_t *bootstrap,
                               const pmix_proc_t *proc, const char *key,
                               time_t limit_at, xyl_blobs_t *all)
{
    pmix_value_t *value = NULL;
    pmix_status_t error = value_get(bootstrap, proc, key, limit_at, &value);
    xylem_status_t status;

    if (error == PMIX_ERR_NOT_FOUND && bootstrap->server_has_all)
        return xyl_fail(XYLEM_ERR_PROC_FAILED,
                        "rank %u has died, or has ended, before its context "
                        "was made",
                        proc->rank);
    if (error != PMIX_SUCCESS || value == NULL)
        return pmix_fail("get", error);
    if (value->type == PMIX_BYTE_OBJECT)
        status = xyl_blobs_append(all, proc->rank, value->data.bo.bytes,
                                  value->data.bo.size);
    else
        status = pmix_fail("get: wrong type", PMIX_ERR_TYPE_MISMATCH);
    PMIX_VALUE_RELEASE(value);
    return status;
}

/* What a fence says where ranks have died; later versions of PMIx the latter.
 */
static bool some_are_lost(pmix_status_t status)
{
    return status == PMIX_ERR_PARTIAL_SUCCESS ||
           status == PMIX_ERR_LOST_CONNECTION;
}

/* Ranks that have died let the others go early; all meet again. Whoever has
 * really gone is missed when its data are asked for. */
static xylem_status_t fence_collect(uint32_t ranks, uint64_t timeout_s)
{
    bool collect = true;
    int limit = (int)timeout_s;
    uint32_t deaths = 0;
    pmix_info_t info[2];
    pmix_status_t status;

    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &limit, PMIX_INT);
    do {
        status = PMIx_Fence(NULL, 0, info, 2);
    } while (some_are_lost(status) && deaths++ < ranks);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    if (status == PMIX_ERR_TIMEOUT)
        return xyl_fail(XYLEM_ERR_TIMED_OUT,
                        "not all ranks created their context within %" PRIu64
                        " s (XYLEM_TIMEOUT_S)",
                        timeout_s);
    return status == PMIX_SUCCESS ? XYLEM_OK : pmix_fail("fence", status);
}

static xylem_status_t pmix_exchange(xyl_bootstrap_t *base, const void *mine,
                                    size_t bytes, xyl_blobs_t *all_out)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;
    pmix_proc_t proc = bootstrap->self;
    xyl_blobs_t all = {NULL, NULL};
    struct timespec begin;
    char key[32];
    xylem_status_t status, met;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    snprintf(key, sizeof key, "xylem.%u.%u", bootstrap->number,
             bootstrap->exchanges++);
    status = blob_put(key, mine, bytes);
    met =
        fence_collect(base->ranks, base->timeout_s); /* the others wait there */
    base->is_broken = met != XYLEM_OK;
    if (status == XYLEM_OK)
        status = met;
    if (status == XYLEM_OK)
        status = xyl_blobs_init(&all, base->ranks);
    for (proc.rank = 0; proc.rank < base->ranks && status == XYLEM_OK;
         proc.rank++)
        status = blob_get(bootstrap, &proc, key,
                          begin.tv_sec + (time_t)base->timeout_s, &all);
    if (status == XYLEM_OK)
        *all_out = all;
    else
        xyl_blobs_fini(&all);
    return status;
}

static void fence_done(pmix_status_t status, void *arg)
{
    pmix_bootstrap_t *bootstrap = arg;

    /* Partners: the load in pmix_fence_test, the exchange in pmix_destroy. */
    if (atomic_exchange_explicit(&bootstrap->fence_status, status,
                                 memory_order_acq_rel) == FENCE_ABANDONED)
        free(bootstrap);
}

/* The data are not wanted again, but under Slurm a fence that does not collect
 * them is none beyond the node (PMIxFenceBarrier in mpi.conf). */
static xylem_status_t pmix_fence_start(xyl_bootstrap_t *base)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;
    bool collect = true;
    pmix_status_t status;

    atomic_store_explicit(&bootstrap->fence_status, FENCE_RUNNING,
                          memory_order_relaxed);
    PMIX_INFO_LOAD(&bootstrap->fence_info, PMIX_COLLECT_DATA, &collect,
                   PMIX_BOOL);
    status = PMIx_Fence_nb(NULL, 0, &bootstrap->fence_info, 1, fence_done,
                           bootstrap);
    if (status == PMIX_OPERATION_SUCCEEDED) {
        fence_done(PMIX_SUCCESS, bootstrap);
        status = PMIX_SUCCESS;
    }
    return status == PMIX_SUCCESS ? XYLEM_OK : pmix_fail("fence", status);
}

static xylem_status_t pmix_fence_test(xyl_bootstrap_t *base)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;
    int status =
        atomic_load_explicit(&bootstrap->fence_status, memory_order_acquire);

    if (status == FENCE_RUNNING)
        return XYLEM_IN_PROGRESS;
    /* Some ranks have died; all others are here. */
    if (some_are_lost((pmix_status_t)status))
        return XYLEM_OK;
    return status == PMIX_SUCCESS ? XYLEM_OK : pmix_fail("fence", status);
}

/* A fence that has not ended in time belongs to PMIx, which lives on. */
static void pmix_destroy(xyl_bootstrap_t *base)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;
    int is_abandoned =
        atomic_exchange_explicit(&bootstrap->fence_status, FENCE_ABANDONED,
                                 memory_order_acq_rel) == FENCE_RUNNING;

    session_leave();
    if (!is_abandoned)
        free(bootstrap);
}

static const xyl_bootstrap_ops_t pmix_ops = {
    .fence_outlives_ranks = 1,
    .exchange = pmix_exchange,
    .fence_start = pmix_fence_start,
    .fence_test = pmix_fence_test,
    .destroy = pmix_destroy,
};

static xylem_status_t read_job(pmix_bootstrap_t *bootstrap)
{
    pmix_proc_t job = bootstrap->self;
    pmix_value_t *value = NULL;
    pmix_status_t status;

    job.rank = PMIX_RANK_WILDCARD;
    status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return pmix_fail("job size", status);
    PMIX_VALUE_GET_NUMBER(status, value, bootstrap->base.ranks, uint32_t);
    PMIX_VALUE_RELEASE(value);
    if (status != PMIX_SUCCESS)
        return pmix_fail("job size", status);
    status = PMIx_Get(&bootstrap->self, PMIX_HOSTNAME, NULL, 0, &value);
    if (status == PMIX_SUCCESS && value->type == PMIX_STRING &&
        value->data.string != NULL)
        snprintf(bootstrap->base.node, sizeof bootstrap->base.node, "%s",
                 value->data.string);
    else
        gethostname(bootstrap->base.node, sizeof bootstrap->base.node - 1);
    if (status == PMIX_SUCCESS)
        PMIX_VALUE_RELEASE(value);
    return XYLEM_OK;
}

xylem_status_t xyl_bootstrap_pmix_create(xyl_bootstrap_t **bootstrap_out)
{
    pmix_bootstrap_t *bootstrap = calloc(1, sizeof *bootstrap);
    pmix_status_t error;
    xylem_status_t status;

    if (bootstrap == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to find the others");
    error = session_enter(&bootstrap->self);
    if (error != PMIX_SUCCESS) {
        /* A failed PMIx_Init is not paired with PMIx_Finalize. */
        free(bootstrap);
        return xyl_fail(XYLEM_ERR_BOOTSTRAP,
                        "no launcher with PMIx was found (%s): start the "
                        "program with xylem-run, mpirun or srun --mpi=pmix, "
                        "or set XYLEM_BOOTSTRAP=single",
                        PMIx_Error_string(error));
    }
    atomic_init(&bootstrap->fence_status, FENCE_NONE);
    bootstrap->base.ops = &pmix_ops;
    bootstrap->base.rank = bootstrap->self.rank;
    bootstrap->server_has_all =
        strncmp(bootstrap->self.nspace, "xylem-run-", 10) == 0;
    status = read_job(bootstrap);
    if (status != XYLEM_OK) {
        pmix_destroy(&bootstrap->base);
        return status;
    }
    bootstrap->number =
        atomic_fetch_add_explicit(&contexts_created, 1, memory_order_relaxed);
    *bootstrap_out = &bootstrap->base;
    return XYLEM_OK;
}
