/* Persistent collectives.
 *
 * The program holds the handle of a persistent receive of the host's, from this
 * rank to itself, that is never started. For the binding the handle names the
 * collective; for the host it is an inactive request. So every MPI function
 * that takes requests takes the handle. The wrappers of functions that wait for
 * requests or test them look for such handles first (wait.c).
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "bindings/mpi/call.h"

enum { BUCKETS = 1024 };

typedef enum phase {
    IDLE,
    ACTIVE,
    OVER /* the operation is over; no test or wait has told the program yet */
} phase_t;

struct xmpi_persistent {
    xmpi_plan_t plan;
    xylem_request_t *request; /* persistent_new clears from here on */
    xmpi_comm_t *comm;        /* held */
    xmpi_tags_t *tags; /* the call has one of them; NULL: `team` is its own */
    xylem_team_t *team;
    MPI_Request handle;
    xylem_coll_t coll;
    uint64_t begin; /* time of the start; 0: calls are not counted */
    phase_t phase;
    xylem_status_t refused; /* status of the last start */
    int code;               /* MPI's code of the outcome */
    int is_flying;          /* counted by xmpi_work_flies */
    LIST_ENTRY(xmpi_persistent) others;
};

LIST_HEAD(list, xmpi_persistent);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list buckets[BUCKETS]; /* by handle */
/* left_all: calls that the program has freed while they were under way.
 * spare_all: memory for other calls. */
static struct list left_all, spare_all;
static _Atomic uint32_t count, left_count;

/* ---- persistent calls that the program holds ---- */

static struct list *bucket_of(MPI_Request handle)
{
    union {
        uint64_t bits;
        MPI_Request handle;
    } key = {0};

    key.handle = handle;
    return &buckets[(key.bits * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
                    BUCKETS]; /* 2^64 / 1.618 */
}

xmpi_persistent_t *xmpi_persistent_find(MPI_Request handle)
{
    xmpi_persistent_t *persistent;

    if (atomic_load_explicit(&count, memory_order_relaxed) == 0 ||
        handle == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    LIST_FOREACH(persistent, bucket_of(handle), others)
    if (persistent->handle == handle)
        break;
    pthread_mutex_unlock(&lock);
    return persistent;
}

xmpi_persistent_t *xmpi_persistent_started(MPI_Request handle)
{
    xmpi_persistent_t *persistent = xmpi_persistent_find(handle);

    return persistent != NULL && persistent->phase != IDLE ? persistent : NULL;
}

/* NULL: no memory. */
static xmpi_persistent_t *persistent_new(void)
{
    xmpi_persistent_t *persistent;

    pthread_mutex_lock(&lock);
    persistent = LIST_FIRST(&spare_all);
    if (persistent != NULL)
        LIST_REMOVE(persistent, others);
    pthread_mutex_unlock(&lock);
    if (persistent == NULL)
        persistent = malloc(sizeof *persistent);
    if (persistent == NULL)
        return NULL;
    memset((char *)persistent + offsetof(xmpi_persistent_t, request), 0,
           sizeof *persistent - offsetof(xmpi_persistent_t, request));
    persistent->handle = MPI_REQUEST_NULL;
    return persistent;
}

static void persistent_keep(xmpi_persistent_t *persistent)
{
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&spare_all, persistent, others);
    pthread_mutex_unlock(&lock);
}

/* ---- making and freeing ---- */

/* Frees a call that is idle, or was never started. */
static void persistent_end(xmpi_persistent_t *persistent)
{
    xylem_request_free(persistent->request);
    if (persistent->tags != NULL)
        xmpi_tags_drop(persistent->tags);
    else
        xylem_team_destroy(persistent->team);
    /* A failed operation may still write into the plan's memory. */
    if (persistent->code == MPI_SUCCESS)
        xmpi_plan_drop(&persistent->plan);
    if (persistent->comm != NULL)
        xmpi_comm_drop(persistent->comm);
    persistent_keep(persistent);
}

static xylem_status_t persistent_make(xmpi_persistent_t *persistent,
                                      xmpi_comm_t *comm)
{
    xylem_status_t status = xmpi_tags_find(
        comm, &persistent->plan.args, &persistent->tags, &persistent->team);

    if (status != XYLEM_OK)
        return status;
    status = xylem_coll_init(persistent->team, &persistent->plan.args,
                             &persistent->request);
    if (status != XYLEM_OK)
        status = xmpi_hints_leave(comm, xylem_coll_init, persistent->team,
                                  &persistent->plan.args, status,
                                  &persistent->request);
    if (status == XYLEM_OK &&
        xmpi_host.Recv_init(NULL, 0, MPI_BYTE, 0, 0, xmpi_state.self,
                            &persistent->handle) != MPI_SUCCESS)
        status = XYLEM_ERR_NO_RESOURCE;
    if (status != XYLEM_OK) /* other ranks may have their requests */
        (void)xylem_team_abort(persistent->team, "a rank has no request");
    return status;
}

int xmpi_persist(const xmpi_call_t *call, xmpi_comm_t *comm,
                 MPI_Request *request, xmpi_fate_t *fate_out)
{
    xmpi_persistent_t *persistent = persistent_new();
    xylem_status_t status;
    int code;

    *fate_out = XMPI_TAKEN;
    if (persistent == NULL)
        return xmpi_call_fail(call, comm, MPI_ERR_NO_MEM);
    if (!xmpi_call_plan(&persistent->plan, call, comm, XMPI_PERSISTENT,
                        fate_out, &code)) {
        persistent_keep(persistent);
        return code;
    }
    persistent->coll = call->coll;
    status = persistent_make(persistent, comm);
    if (status != XYLEM_OK) {
        persistent_end(persistent);
        return xmpi_comm_fail(call->comm, status);
    }
    persistent->comm = comm;
    xmpi_comm_hold(comm);
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(bucket_of(persistent->handle), persistent, others);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    *request = persistent->handle;
    return MPI_SUCCESS;
}

/* ---- running ---- */

static int is_under_way(const xmpi_persistent_t *persistent)
{
    return persistent->refused == XYLEM_OK &&
           xylem_request_test(persistent->request) == XYLEM_IN_PROGRESS;
}

static int persistent_start(xmpi_persistent_t *persistent)
{
    int code;

    if (persistent->phase != IDLE) {
        xmpi_host.Comm_call_errhandler(xmpi_comm_handle(persistent->comm),
                                       MPI_ERR_REQUEST);
        return MPI_ERR_REQUEST;
    }
    code = xmpi_plan_pack(&persistent->plan);
    persistent->phase = ACTIVE;
    persistent->begin = xmpi_state.is_watched ? xmpi_now() : 0;
    if (code != MPI_SUCCESS)
        (void)xylem_team_abort(persistent->team, "MPI_Pack has failed");
    persistent->refused = xylem_request_start(persistent->request);
    if (is_under_way(persistent)) {
        persistent->is_flying = 1;
        xmpi_work_flies();
    }
    return code;
}

/* Unpacks the result of an operation that is over. */
static void persistent_conclude(xmpi_persistent_t *persistent)
{
    xylem_status_t status = persistent->refused != XYLEM_OK
                                ? persistent->refused
                                : xylem_request_test(persistent->request);

    if (persistent->begin != 0 && xmpi_state.is_watched)
        xmpi_report_flown(persistent->comm, persistent->coll,
                          persistent->begin);
    persistent->code = xmpi_code_of(status);
    if (persistent->code == MPI_SUCCESS)
        persistent->code = xmpi_plan_result(&persistent->plan);
    xmpi_op_failure_tell(&persistent->plan, persistent->team);
    if (persistent->code != MPI_SUCCESS)
        xmpi_host.Comm_call_errhandler(xmpi_comm_handle(persistent->comm),
                                       persistent->code);
    if (persistent->is_flying)
        xmpi_work_end();
    persistent->is_flying = 0;
    persistent->phase = OVER;
}

int xmpi_persistent_is_over(xmpi_persistent_t *persistent)
{
    if (persistent->phase == ACTIVE && !is_under_way(persistent))
        persistent_conclude(persistent);
    return persistent->phase == OVER;
}

int xmpi_persistent_end(xmpi_persistent_t *persistent)
{
    persistent->phase = IDLE;
    return persistent->code;
}

int xmpi_persistent_wait(xmpi_persistent_t *persistent)
{
    if (persistent->phase == ACTIVE) {
        if (persistent->refused == XYLEM_OK)
            (void)xmpi_request_wait(persistent->request);
        persistent_conclude(persistent);
    }
    return xmpi_persistent_end(persistent);
}

/* ---- MPI_Start, MPI_Startall ---- */

int xmpi_Start(MPI_Request *request)
{
    xmpi_persistent_t *persistent =
        request == NULL ? NULL : xmpi_persistent_find(*request);

    return persistent == NULL ? xmpi_host.Start(request)
                              : persistent_start(persistent);
}

int xmpi_Startall(int many, MPI_Request requests[])
{
    int i, code = MPI_SUCCESS;

    if (atomic_load_explicit(&count, memory_order_relaxed) == 0 || many < 0 ||
        requests == NULL)
        return xmpi_host.Startall(many, requests);
    for (i = 0; i < many && code == MPI_SUCCESS; i++)
        code = xmpi_Start(&requests[i]);
    return code;
}

/* ---- the end ---- */

int xmpi_persistent_free(xmpi_persistent_t *persistent, MPI_Request *request)
{
    int is_over =
        persistent->phase == IDLE || xmpi_persistent_is_over(persistent);
    int code;

    pthread_mutex_lock(&lock);
    LIST_REMOVE(persistent, others);
    if (!is_over)
        LIST_INSERT_HEAD(&left_all, persistent, others);
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
    code = xmpi_host.Request_free(request);
    if (is_over)
        persistent_end(persistent);
    else
        atomic_fetch_add_explicit(&left_count, 1, memory_order_relaxed);
    return code;
}

void xmpi_persistents_look(void)
{
    struct list over = LIST_HEAD_INITIALIZER(over);
    xmpi_persistent_t *persistent, *next;

    if (atomic_load_explicit(&left_count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&lock);
    for (persistent = LIST_FIRST(&left_all); persistent != NULL;
         persistent = next) {
        next = LIST_NEXT(persistent, others);
        if (is_under_way(persistent))
            continue;
        LIST_REMOVE(persistent, others);
        LIST_INSERT_HEAD(&over, persistent, others);
    }
    pthread_mutex_unlock(&lock);
    while ((persistent = LIST_FIRST(&over)) != NULL) {
        LIST_REMOVE(persistent, others);
        atomic_fetch_sub_explicit(&left_count, 1, memory_order_relaxed);
        persistent_conclude(persistent);
        persistent_end(persistent);
    }
}

void xmpi_persistents_revoke(const xmpi_comm_t *comm)
{
    xmpi_persistent_t *persistent;
    int i;

    pthread_mutex_lock(&lock);
    for (i = 0; i < BUCKETS; i++)
        LIST_FOREACH(persistent, &buckets[i], others)
    if (persistent->comm == comm)
        xylem_team_revoke(persistent->team);
    LIST_FOREACH(persistent, &left_all, others)
    if (persistent->comm == comm)
        xylem_team_revoke(persistent->team);
    pthread_mutex_unlock(&lock);
}

/* Frees calls of a bucket that the program has not freed. */
static void bucket_close(struct list *bucket)
{
    xmpi_persistent_t *persistent, *next;

    for (persistent = LIST_FIRST(bucket); persistent != NULL;
         persistent = next) {
        next = LIST_NEXT(persistent, others);
        if (persistent->phase != IDLE && !xmpi_persistent_is_over(persistent))
            continue;
        LIST_REMOVE(persistent, others);
        atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
        xmpi_host.Request_free(&persistent->handle);
        persistent_end(persistent);
    }
}

void xmpi_persistents_close(void)
{
    xmpi_persistent_t *persistent;
    int i;

    for (i = 0; i < BUCKETS; i++)
        bucket_close(&buckets[i]);
    while ((persistent = LIST_FIRST(&spare_all)) != NULL) {
        LIST_REMOVE(persistent, others);
        free(persistent);
    }
}
