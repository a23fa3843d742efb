/* Blocking and nonblocking calls.
 *
 * While a blocking call waits for another rank, it lets the host (the MPI
 * library) progress from time to time: the other rank may need a message that
 * this rank has sent by the host.
 *
 * A nonblocking call has a generalized request of the host's. So every MPI
 * function that takes requests takes this one, too. hook.c runs the task that
 * completes the request.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "bindings/mpi/call.h"

enum {
    CLOSE_TURNS_MAX = 1 << 20,
    HASTY_AMONG = 64,   /* newest calls in which a wait looks for its own */
    HASTY_TURNS = 4096, /* turns of xylem before the host waits */
    HASTY_OF_HOST = 16  /* the host has one turn per so many of xylem's */
};

/* Unpacks the result and drops the plan; returns MPI's code. The plan of a
 * failed operation is kept, as the operation may still write into it. */
static int plan_conclude(xmpi_plan_t *plan, xylem_status_t status)
{
    int code = xmpi_code_of(status);

    if (status == XYLEM_OK) {
        code = xmpi_plan_result(plan);
        xmpi_plan_drop(plan);
    }
    return code;
}

/* ---- blocking ---- */

static void look_after_host(void *arg)
{
    (void)arg;
    xmpi_progress();
}

static xylem_status_t run_again(xylem_team_t *team,
                                const xylem_coll_args_t *args,
                                xylem_request_t **request_out)
{
    (void)request_out;
    return xylem_coll_run(team, args, look_after_host, NULL);
}

/* 1: the call that failed had not begun; else its team would have failed. */
static int has_not_begun(const xmpi_comm_t *comm)
{
    return xylem_team_error(comm->team, NULL) == XYLEM_OK;
}

static int take_blocking(const xmpi_call_t *call, xmpi_comm_t *comm,
                         xmpi_fate_t *fate_out)
{
    xmpi_plan_t plan;
    xylem_status_t status;
    uint64_t begin;
    int code;

    if (!xmpi_call_plan(&plan, call, comm, XMPI_BLOCKING, fate_out, &code))
        return code;
    begin = xmpi_state.is_watched ? xmpi_now() : 0;
    status = xylem_coll_run(comm->team, &plan.args, look_after_host, NULL);
    if (status != XYLEM_OK && has_not_begun(comm))
        status = xmpi_hints_leave(comm, run_again, comm->team, &plan.args,
                                  status, NULL);
    if (xmpi_state.is_watched)
        xmpi_report_waited(begin);
    xmpi_op_failure_tell(&plan, comm->team);
    if (status == XYLEM_OK || !has_not_begun(comm)) {
        code = plan_conclude(&plan, status);
    } else {
        xmpi_plan_drop(&plan);
        code = xmpi_code_of(status);
    }
    xmpi_windows_progress();
    if (code != MPI_SUCCESS)
        xmpi_host.Comm_call_errhandler(call->comm, code);
    return code;
}

/* ---- nonblocking calls that the program holds ---- */

typedef struct pending {
    xmpi_work_t work; /* first */
    xmpi_plan_t plan;
    xylem_request_t *request; /* pending_new clears from here on */
    xmpi_comm_t *comm;        /* held from the start on */
    MPI_Request handle;
    uint64_t begin; /* 0: not watched */
    xylem_coll_t coll;
    int code;              /* MPI's code of the outcome */
    _Atomic int is_active; /* not finished yet */
    int is_left;           /* freed by the program before its end */
    LIST_ENTRY(pending) others;
} pending_t;

static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, pending) pending_all, pending_spare;

/* NULL: no memory. */
static pending_t *pending_new(void)
{
    pending_t *pending;

    pthread_mutex_lock(&pending_lock);
    pending = LIST_FIRST(&pending_spare);
    if (pending != NULL)
        LIST_REMOVE(pending, others);
    else
        pending = malloc(sizeof *pending);
    if (pending != NULL) {
        memset((char *)pending + offsetof(pending_t, request), 0,
               sizeof *pending - offsetof(pending_t, request));
        pending->handle = MPI_REQUEST_NULL;
        LIST_INSERT_HEAD(&pending_all, pending, others);
    }
    pthread_mutex_unlock(&pending_lock);
    return pending;
}

static void pending_release(pending_t *pending)
{
    pthread_mutex_lock(&pending_lock);
    LIST_REMOVE(pending, others);
    LIST_INSERT_HEAD(&pending_spare, pending, others);
    pthread_mutex_unlock(&pending_lock);
}

/* The lock is held. NULL: the request is not the binding's. */
static pending_t *pending_find(MPI_Request handle)
{
    pending_t *pending;

    LIST_FOREACH(pending, &pending_all, others)
    if (pending->handle == handle && !pending->is_left)
        break;
    return pending;
}

/* ---- generalized requests ---- */

static int grequest_query(void *extra, MPI_Status *status)
{
    const pending_t *pending = extra;

    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    xmpi_host.Status_set_elements(status, MPI_BYTE, 0);
    xmpi_host.Status_set_cancelled(status, 0);
    return pending->code;
}

static int grequest_free(void *extra)
{
    pending_release(extra);
    return MPI_SUCCESS;
}

static int grequest_cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

/* ---- the end of a call ---- */

static void pending_finish(xyl_task_t *task)
{
    pending_t *pending = (pending_t *)(void *)task;
    MPI_Request handle = pending->handle;
    int is_left;

    if (pending->begin != 0 && xmpi_state.is_watched)
        xmpi_report_flown(pending->comm, pending->coll, pending->begin);
    xmpi_op_failure_tell(&pending->plan, pending->comm->team);
    xylem_request_free(pending->request);
    xmpi_comm_drop(pending->comm);
    pending->code = plan_conclude(&pending->plan, pending->work.status);
    xmpi_work_end();
    pthread_mutex_lock(&pending_lock);
    pending->is_active = 0;
    is_left = pending->is_left;
    pthread_mutex_unlock(&pending_lock);
    /* From here on `pending` may be gone. */
    xmpi_host.Grequest_complete(handle);
    if (is_left)
        xmpi_host.Request_free(&handle);
}

/* ---- nonblocking ---- */

/* Starts a call that is planned and whose input is packed. */
static xylem_status_t pending_start(pending_t *pending, xmpi_comm_t *comm)
{
    xylem_status_t status;

    if (xmpi_host.Grequest_start(grequest_query, grequest_free, grequest_cancel,
                                 pending, &pending->handle) != MPI_SUCCESS) {
        (void)xylem_team_abort(comm->team, "no memory for a call of MPI's");
        xmpi_plan_drop(&pending->plan);
        xmpi_comm_drop(comm);
        pending_release(pending);
        return XYLEM_ERR_NO_MEMORY;
    }
    pending->is_active = 1;
    xmpi_work_begin();
    status =
        xylem_coll_start(comm->team, &pending->plan.args, &pending->request);
    if (status != XYLEM_OK)
        status =
            xmpi_hints_leave(comm, xylem_coll_start, comm->team,
                             &pending->plan.args, status, &pending->request);
    xmpi_work_begun();
    if (status != XYLEM_OK) {
        MPI_Request handle = pending->handle;
        xmpi_work_end();
        pending->is_active = 0;
        xmpi_comm_drop(comm);
        xmpi_plan_drop(&pending->plan);
        xmpi_host.Grequest_complete(handle);
        xmpi_host.Request_free(&handle);
    }
    return status;
}

int xmpi_pending_hasten(MPI_Request request)
{
    pending_t *pending = NULL;
    unsigned turns = 0;

    if (request == MPI_REQUEST_NULL || !xmpi_work_is_active())
        return 0;
    pthread_mutex_lock(&pending_lock);
    LIST_FOREACH(pending, &pending_all, others)
    if (++turns > HASTY_AMONG ||
        (pending->handle == request && !pending->is_left))
        break;
    pthread_mutex_unlock(&pending_lock);
    if (pending == NULL || turns > HASTY_AMONG)
        return 0;
    /* `pending` stays valid: the host frees it in the wait that follows. */
    for (turns = 0;
         turns < HASTY_TURNS &&
         atomic_load_explicit(&pending->is_active, memory_order_acquire);
         turns++) {
        xmpi_hook();
        if (turns % HASTY_OF_HOST == HASTY_OF_HOST - 1)
            xmpi_progress();
    }
    return 1;
}

int xmpi_take(const xmpi_call_t *call, xmpi_form_t form, xmpi_comm_t *comm,
              MPI_Request *request, xmpi_fate_t *fate_out)
{
    pending_t *pending;
    xylem_status_t status;
    int code;

    if (form == XMPI_BLOCKING)
        return take_blocking(call, comm, fate_out);
    if (form == XMPI_PERSISTENT)
        return xmpi_persist(call, comm, request, fate_out);
    *fate_out = XMPI_TAKEN;
    pending = pending_new();
    if (pending == NULL)
        return xmpi_call_fail(call, comm, MPI_ERR_NO_MEM);
    if (!xmpi_call_plan(&pending->plan, call, comm, form, fate_out, &code)) {
        pending_release(pending);
        return code;
    }
    pending->work.task.run = pending_finish;
    pending->plan.args.on_complete = xmpi_work_done;
    pending->plan.args.arg = pending;
    pending->coll = call->coll;
    pending->begin = xmpi_state.is_watched ? xmpi_now() : 0;
    pending->comm = comm;
    xmpi_comm_hold(comm);
    status = pending_start(pending, comm);
    if (status != XYLEM_OK)
        return xmpi_comm_fail(call->comm, status);
    *request = pending->handle;
    xmpi_hook();
    return MPI_SUCCESS;
}

/* ---- MPI_Request_free ---- */

/* A generalized request under way is freed when it completes: MPICH would not
 * free it before, and Open MPI could not complete it after its freeing. */
int xmpi_Request_free(MPI_Request *request)
{
    xmpi_persistent_t *persistent =
        request == NULL ? NULL : xmpi_persistent_find(*request);
    pending_t *pending = NULL;

    if (persistent != NULL)
        return xmpi_persistent_free(persistent, request);
    if (request == NULL || *request == MPI_REQUEST_NULL ||
        !xmpi_work_is_active())
        return xmpi_host.Request_free(request);
    pthread_mutex_lock(&pending_lock);
    pending = pending_find(*request);
    if (pending != NULL && pending->is_active)
        pending->is_left = 1;
    else
        pending = NULL;
    pthread_mutex_unlock(&pending_lock);
    if (pending == NULL)
        return xmpi_host.Request_free(request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* ---- the end ---- */

void xmpi_requests_close(void)
{
    pending_t *pending;
    uint32_t turns = 0;

    while (xmpi_work_is_active() && turns++ < CLOSE_TURNS_MAX) {
        xmpi_hook();
        xmpi_progress();
        if (turns % 64 == 0)
            sched_yield();
    }
    xmpi_persistents_close();
    while ((pending = LIST_FIRST(&pending_spare)) != NULL) {
        LIST_REMOVE(pending, others);
        free(pending);
    }
}
