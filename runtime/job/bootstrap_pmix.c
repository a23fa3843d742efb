/* Bootstrap over PMIx, as offered by mpirun, srun --mpi=pmix and xylem-run.
 * PMIx counts its initialisations, so an MPI library in the same process may
 * use PMIx, too. Callbacks run on PMIx's own thread and only set a status and
 * post a semaphore. */
#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <pthread.h>
#include <semaphore.h>
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
    unsigned number;     /* of this context; part of each key */
    unsigned exchanges;  /* so far; part of each key */
    int is_of_xylem_run; /* the launcher knows the ranks that have gone, and its
                            only server has the data of all */
    int some_have_gone;  /* as xylem-run has said */
    int fence_is_under_way;
    time_t told_by; /* from then on a rank without data counts as silent;
                     * 0: no fence has been passed */
    _Atomic int fence_status;   /* pmix_status_t, or a FENCE_ value below */
    sem_t fence_over;           /* posted once per fence */
    pmix_info_t fence_infos[2]; /* PMIx reads them until the fence is over */
} pmix_bootstrap_t;

enum { FENCE_NONE = 1, FENCE_RUNNING, FENCE_ABANDONED };
enum {
    LOOK_MS = 200,
    LOOK_AGAIN_MS = 10,
    SILENCE_S = 3 /* how long after a fence of all ranks a rank's data may take
                     to appear, or the launcher to learn of the rank's end */
};

/* Contexts of this process so far: the same number on all ranks, because
 * contexts are created collectively. A creation that fails before PMIx has told
 * the job's size does not count. */
static _Atomic unsigned contexts_created;

/* ---- the session ---- */

/* One session of PMIx serves all contexts of the process, until its exit. If
 * each context had a session, a server of PMIx (4.2.2) could learn of the end
 * of one session after the beginning of the next. The server would then take
 * the rank for lost, and release the ranks that wait for it in a fence. */
static struct session {
    pthread_mutex_t lock;
    pmix_proc_t self;
    pid_t owner;       /* has begun the session, unlike its forked children; 0:
                          nobody has */
    unsigned contexts; /* that use the session */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Called at exit. A process that still has contexts does not finalize, so the
 * other ranks take it for dead. */
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

/* ---- the ranks' data ---- */

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

/* Without PMIX_IMMEDIATE a server of PMIx waits for the data of a dead rank,
 * too. Only xylem-run's server is asked with it: that server is the only one of
 * its job, while another may have to ask further servers. Open MPI's server
 * gives a request up after 2 s, which a busy machine may exceed, so this
 * function repeats the request. */
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
        status = PMIx_Get(proc, key, &info, bootstrap->is_of_xylem_run ? 1 : 0,
                          value_out);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (status == PMIX_ERR_TIMEOUT && now.tv_sec < limit_at);
    return status;
}

static xylem_status_t value_append(uint32_t rank, const pmix_value_t *value,
                                   xyl_blobs_t *all)
{
    if (value->type != PMIX_BYTE_OBJECT)
        return pmix_fail("get: wrong type", PMIX_ERR_TYPE_MISMATCH);
    return xyl_blobs_append(all, rank, value->data.bo.bytes,
                            value->data.bo.size);
}

/* ---- ranks that have gone ---- */

/* Asks for the ranks that have ended, in the order of their ends; the server
 * keeps their data. Returns owned (release its value). */
static pmix_status_t gone_ask(pmix_pdata_t *gone)
{
    pmix_status_t status;

    PMIX_PDATA_CONSTRUCT(gone);
    snprintf(gone->key, sizeof gone->key, "xylem.gone"); /* of xylem-run */
    status = PMIx_Lookup(gone, 1, NULL, 0);
    return status == PMIX_SUCCESS && gone->value.type != PMIX_BYTE_OBJECT
               ? PMIX_ERR_TYPE_MISMATCH
               : status;
}

static int look_for_gone(pmix_bootstrap_t *bootstrap)
{
    pmix_pdata_t gone;

    if (bootstrap->is_of_xylem_run && !bootstrap->some_have_gone) {
        bootstrap->some_have_gone = gone_ask(&gone) == PMIX_SUCCESS;
        PMIX_PDATA_DESTRUCT(&gone);
    }
    return bootstrap->some_have_gone;
}

/* Fails because of the first rank that has gone without data for `key`; others
 * may have given up because of it. XYLEM_IN_PROGRESS: there is none. */
static xylem_status_t check_gone(pmix_bootstrap_t *bootstrap, const char *key)
{
    pmix_proc_t proc = bootstrap->self;
    pmix_value_t *value = NULL;
    pmix_pdata_t gone;
    uint32_t rank = UINT32_MAX;
    size_t i, count;

    count = gone_ask(&gone) == PMIX_SUCCESS
                ? gone.value.data.bo.size / sizeof rank
                : 0;
    for (i = 0; i < count && rank == UINT32_MAX; i++) {
        memcpy(&rank, gone.value.data.bo.bytes + i * sizeof rank, sizeof rank);
        proc.rank = rank;
        if (value_get(bootstrap, &proc, key, 0, &value) == PMIX_SUCCESS) {
            PMIX_VALUE_RELEASE(value);
            rank = UINT32_MAX;
        }
    }
    PMIX_PDATA_DESTRUCT(&gone);
    if (rank == UINT32_MAX)
        return XYLEM_IN_PROGRESS;
    return xyl_bootstrap_miss(&bootstrap->base, rank);
}

/* Fails if the data of `rank`, which has met all others, are missing for
 * SILENCE_S: the rank could not send them. */
static xylem_status_t check_silent(const pmix_bootstrap_t *bootstrap,
                                   uint32_t rank)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (bootstrap->told_by == 0 || now.tv_sec <= bootstrap->told_by)
        return XYLEM_IN_PROGRESS;
    return xyl_fail(XYLEM_ERR_BOOTSTRAP, "rank %u could not say who it is",
                    rank);
}

/* XYLEM_IN_PROGRESS: the data of a living rank are not there yet. */
static xylem_status_t gather(pmix_bootstrap_t *bootstrap, const char *key,
                             time_t limit_at, xyl_blobs_t *all_out)
{
    pmix_proc_t proc = bootstrap->self;
    pmix_value_t *value = NULL;
    xylem_status_t status = xyl_blobs_init(all_out, bootstrap->base.ranks);
    pmix_status_t error;

    for (proc.rank = 0; proc.rank < bootstrap->base.ranks && status == XYLEM_OK;
         proc.rank++) {
        error = value_get(bootstrap, &proc, key, limit_at, &value);
        if (error == PMIX_ERR_NOT_FOUND && bootstrap->is_of_xylem_run) {
            status = check_gone(bootstrap, key);
            if (status == XYLEM_IN_PROGRESS)
                status = check_silent(bootstrap, proc.rank);
        } else if (error != PMIX_SUCCESS || value == NULL) {
            status = pmix_fail("get", error);
        } else {
            status = value_append(proc.rank, value, all_out);
            PMIX_VALUE_RELEASE(value);
        }
    }
    if (status != XYLEM_OK)
        xyl_blobs_fini(all_out);
    return status;
}

/* ---- fences ---- */

static void fence_done(pmix_status_t status, void *arg)
{
    pmix_bootstrap_t *bootstrap = arg;

    /* Partners: the load in fence_take, the exchange in pmix_destroy. */
    if (atomic_exchange_explicit(&bootstrap->fence_status, status,
                                 memory_order_acq_rel) == FENCE_ABANDONED)
        free(bootstrap);
    else
        sem_post(&bootstrap->fence_over);
}

/* Begins a fence; a fence that is still under way counts in its place. The last
 * fence needs no data, but under Slurm a fence that does not collect data does
 * not reach beyond the node (PMIxFenceBarrier in mpi.conf). */
static xylem_status_t fence_begin(pmix_bootstrap_t *bootstrap,
                                  uint64_t timeout_s)
{
    bool collect = true;
    int limit = (int)timeout_s;
    pmix_status_t status;

    if (bootstrap->fence_is_under_way)
        return XYLEM_OK;
    atomic_store_explicit(&bootstrap->fence_status, FENCE_RUNNING,
                          memory_order_relaxed);
    PMIX_INFO_LOAD(&bootstrap->fence_infos[0], PMIX_COLLECT_DATA, &collect,
                   PMIX_BOOL);
    PMIX_INFO_LOAD(&bootstrap->fence_infos[1], PMIX_TIMEOUT, &limit, PMIX_INT);
    bootstrap->fence_is_under_way = 1;
    status = PMIx_Fence_nb(NULL, 0, bootstrap->fence_infos, limit > 0 ? 2 : 1,
                           fence_done, bootstrap);
    if (status == PMIX_SUCCESS)
        return XYLEM_OK;
    if (status == PMIX_OPERATION_SUCCEEDED) {
        fence_done(PMIX_SUCCESS, bootstrap);
        return XYLEM_OK;
    }
    bootstrap->fence_is_under_way = 0;
    return pmix_fail("fence", status);
}

/* 1: the status of a fence in which ranks have died. Later versions of PMIx
 * give the second of these statuses, and to some ranks neither. */
static bool some_are_lost(pmix_status_t status)
{
    return status == PMIX_ERR_PARTIAL_SUCCESS ||
           status == PMIX_ERR_LOST_CONNECTION;
}

/* Takes the status of a fence that is over. */
static pmix_status_t fence_take(pmix_bootstrap_t *bootstrap)
{
    bootstrap->fence_is_under_way = 0;
    return (pmix_status_t)atomic_load_explicit(&bootstrap->fence_status,
                                               memory_order_acquire);
}

static int fence_is_over(pmix_bootstrap_t *bootstrap, long wait_ms)
{
    struct timespec until;
    int failed;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += wait_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    do {
        failed = sem_timedwait(&bootstrap->fence_over, &until);
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
}

static xylem_status_t fence_judge(const pmix_bootstrap_t *bootstrap,
                                  pmix_status_t status)
{
    if (status == PMIX_ERR_TIMEOUT)
        return xyl_fail(XYLEM_ERR_TIMED_OUT,
                        "not all ranks created their context within %" PRIu64
                        " s (XYLEM_TIMEOUT_S)",
                        bootstrap->base.timeout_s);
    return status == PMIX_SUCCESS ? XYLEM_OK : pmix_fail("fence", status);
}

/* XYLEM_IN_PROGRESS: the fence is not over, or is to be repeated. Deaths end a
 * fence early. Launchers other than xylem-run cannot name the dead ranks, so
 * under these the living ranks meet again. */
static xylem_status_t fence_pass(pmix_bootstrap_t *bootstrap, uint32_t *deaths)
{
    xylem_status_t status = fence_begin(bootstrap, bootstrap->base.timeout_s);
    struct timespec now;
    pmix_status_t said;

    if (status != XYLEM_OK)
        return status;
    if (!fence_is_over(bootstrap,
                       bootstrap->some_have_gone ? LOOK_AGAIN_MS : LOOK_MS))
        return XYLEM_IN_PROGRESS;
    said = fence_take(bootstrap);
    if (!some_are_lost(said)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        bootstrap->told_by = now.tv_sec + SILENCE_S;
        return fence_judge(bootstrap, said);
    }
    if (bootstrap->is_of_xylem_run)
        return XYLEM_OK;
    return (*deaths)++ < bootstrap->base.ranks ? XYLEM_IN_PROGRESS
                                               : fence_judge(bootstrap, said);
}

/* ---- the exchange ---- */

/* When ranks go, the status of a fence, and the ranks it waits for, differ
 * between versions of PMIx and between ranks. So once a rank has gone the
 * ranks' data decide, and not the fence, which only brings the data. */
static xylem_status_t meet(pmix_bootstrap_t *bootstrap, const char *key,
                           xyl_blobs_t *all_out)
{
    const struct timespec moment = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    xylem_status_t met = XYLEM_IN_PROGRESS, status;
    struct timespec now;
    uint32_t deaths = 0;
    time_t limit_at;

    bootstrap->told_by = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    limit_at = now.tv_sec + (time_t)bootstrap->base.timeout_s;
    for (;;) {
        if (met == XYLEM_IN_PROGRESS)
            met = fence_pass(bootstrap, &deaths);
        else
            nanosleep(&moment, NULL);
        bootstrap->base.is_broken = met != XYLEM_OK && met != XYLEM_IN_PROGRESS;
        if (bootstrap->base.is_broken)
            return met;
        status = XYLEM_IN_PROGRESS;
        if (met == XYLEM_OK || look_for_gone(bootstrap))
            status = gather(bootstrap, key, limit_at, all_out);
        if (status != XYLEM_IN_PROGRESS)
            return status;
        clock_gettime(CLOCK_MONOTONIC, &now);
        bootstrap->base.is_broken =
            bootstrap->base.timeout_s != 0 && now.tv_sec > limit_at;
        if (bootstrap->base.is_broken)
            return fence_judge(bootstrap, PMIX_ERR_TIMEOUT);
    }
}

static xylem_status_t pmix_exchange(xyl_bootstrap_t *base, const void *mine,
                                    size_t bytes, xyl_blobs_t *all_out)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;
    xyl_blobs_t all = {NULL, NULL};
    char key[32];
    xylem_status_t status, met;

    snprintf(key, sizeof key, "xylem.%u.%u", bootstrap->number,
             bootstrap->exchanges++);
    status = blob_put(key, mine, bytes);
    met = meet(bootstrap, key, &all); /* the others wait for this rank */
    if (status == XYLEM_OK)
        status = met;
    if (status == XYLEM_OK)
        *all_out = all;
    else
        xyl_blobs_fini(&all);
    return status;
}

static xylem_status_t pmix_fence_start(xyl_bootstrap_t *base)
{
    return fence_begin((pmix_bootstrap_t *)(void *)base, 0);
}

static xylem_status_t pmix_fence_test(xyl_bootstrap_t *base)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;
    pmix_status_t status;

    if (bootstrap->fence_is_under_way &&
        sem_trywait(&bootstrap->fence_over) != 0)
        return XYLEM_IN_PROGRESS;
    status = fence_take(bootstrap);
    /* If some ranks have died, all others are here. */
    return some_are_lost(status) ? XYLEM_OK : fence_judge(bootstrap, status);
}

/* PMIx lives on and still uses the memory of a fence that has not ended; then
 * fence_done frees it. */
static void pmix_destroy(xyl_bootstrap_t *base)
{
    pmix_bootstrap_t *bootstrap = (pmix_bootstrap_t *)(void *)base;

    pthread_mutex_lock(&session.lock);
    session.contexts--;
    pthread_mutex_unlock(&session.lock);
    if (bootstrap->fence_is_under_way) {
        if (atomic_exchange_explicit(&bootstrap->fence_status, FENCE_ABANDONED,
                                     memory_order_acq_rel) == FENCE_RUNNING)
            return;
        while (sem_wait(&bootstrap->fence_over) != 0)
            continue; /* a signal came; fence_done will post */
    }
    sem_destroy(&bootstrap->fence_over);
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
    (void)sem_init(&bootstrap->fence_over, 0, 0);
    bootstrap->base.ops = &pmix_ops;
    bootstrap->base.rank = bootstrap->self.rank;
    bootstrap->base.culprit = XYL_NO_CULPRIT;
    bootstrap->is_of_xylem_run =
        strncmp(bootstrap->self.nspace, "xylem-run-", 10) == 0;
    bootstrap->base.sees_deaths = bootstrap->is_of_xylem_run;
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
