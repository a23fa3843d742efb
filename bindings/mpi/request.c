/* Calls that wait, calls that do not, and calls that come again.
 *
 * A blocking call looks after the host from time to time while it waits: the
 * rank it waits for may wait for a message of this one's.
 *
 * A nonblocking call is a generalized request of the host's, so that it mixes
 * with all other requests in every function that takes some. What completes it
 * is in hook.c.
 *
 * A generalized request cannot be started again. So what the program holds of a
 * persistent collective is a persistent receive of the host's, of an empty
 * message from this rank to itself. Starting it also starts the operation, and
 * when that has ended the message is sent. Ranks may start persistent
 * collectives in different orders, while operations of a team match by order:
 * so each has a team of its own.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "bindings/mpi/call.h"
#include "runtime/base/bits.h"

enum {
    SLICE_US = 20,     /* of a wait, until the host is looked after */
    SLICES_SHORT = 50, /* then a rank may sleep */
    SLICE_LONG_US = 1000,
    CLOSE_TURNS_MAX = 1 << 20
};

/* ---- planning ---- */

/* Before the call has begun here. A mistake of the program's is made by all
 * ranks; of what one of them lacks the others, who wait for it, are told. */
static int call_fail(const xmpi_call_t *call, const xmpi_comm_t *comm, int code)
{
    if (code == MPI_ERR_NO_MEM)
        (void)xylem_team_abort(comm->team, "no memory for a call of MPI's");
    xmpi_host.Comm_call_errhandler(call->comm, code);
    return code;
}

/* 1: it is planned, and its input is packed, unless it is to be started later.
 * Else it is the host's, or the program's mistake, of which its error handler
 * is told. */
static int call_plan(xmpi_plan_t *plan, const xmpi_call_t *call,
                     const xmpi_comm_t *comm, xmpi_form_t form,
                     xmpi_fate_t *fate_out, int *code_out)
{
    *fate_out = xmpi_plan_make(plan, call, comm, form, code_out);
    if (*fate_out != XMPI_TAKEN)
        return 0;
    if (*code_out == MPI_SUCCESS && form != XMPI_PERSISTENT) {
        *code_out = xmpi_plan_pack(plan);
        if (*code_out != MPI_SUCCESS) {
            xmpi_plan_drop(plan);
            (void)xylem_team_abort(comm->team, "MPI_Pack has failed");
        }
    }
    if (*code_out != MPI_SUCCESS)
        call_fail(call, comm, *code_out);
    return *code_out == MPI_SUCCESS;
}

/* Where the program's operation could not be applied the others, who may have
 * been sent what came of it, are told by the team. */
static void op_failure_tell(const xmpi_plan_t *plan, xylem_team_t *team)
{
    if (xmpi_op_code(plan->op) != MPI_SUCCESS)
        (void)xylem_team_abort(team, "MPI_Reduce_local has failed");
}

static int plan_result(xmpi_plan_t *plan)
{
    int code = xmpi_op_code(plan->op);

    return code == MPI_SUCCESS ? xmpi_plan_unpack(plan) : code;
}

/* The result goes where it belongs. What a failed operation may still write
 * into is not given back. */
static int plan_conclude(xmpi_plan_t *plan, xylem_status_t status)
{
    int code = xmpi_code_of(status);

    if (status == XYLEM_OK) {
        code = plan_result(plan);
        xmpi_plan_drop(plan);
    }
    return code;
}

/* ---- blocking ---- */

static xylem_status_t request_wait(xylem_request_t *request)
{
    xylem_status_t status = xylem_request_test(request);
    unsigned slices = 0;

    while (status == XYLEM_IN_PROGRESS) {
        status = xylem_request_wait_for(
            request, slices < SLICES_SHORT ? SLICE_US : SLICE_LONG_US);
        if (status != XYLEM_IN_PROGRESS)
            break;
        slices++;
        xmpi_progress();
        status = xylem_request_test(request);
    }
    return status;
}

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

/* Of a call that has failed: one that had begun has failed with its team. */
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

    if (!call_plan(&plan, call, comm, XMPI_BLOCKING, fate_out, &code))
        return code;
    begin = xmpi_state.is_watched ? xmpi_now() : 0;
    status = xylem_coll_run(comm->team, &plan.args, look_after_host, NULL);
    if (status != XYLEM_OK && has_not_begun(comm))
        status = xmpi_hints_leave(comm, run_again, comm->team, &plan.args,
                                  status, NULL);
    if (xmpi_state.is_watched)
        xmpi_report_waited(begin);
    op_failure_tell(&plan, comm->team);
    if (status == XYLEM_OK || !has_not_begun(comm)) {
        code = plan_conclude(&plan, status);
    } else {
        xmpi_plan_drop(&plan);
        code = xmpi_code_of(status);
    }
    if (code != MPI_SUCCESS)
        xmpi_host.Comm_call_errhandler(call->comm, code);
    return code;
}

/* ---- what the program holds ---- */

typedef struct pending {
    xmpi_work_t work; /* first */
    xmpi_plan_t plan;
    xylem_request_t *request;
    xmpi_comm_t *comm; /* held where it is persistent or watched; or NULL */
    int is_persistent;
    xylem_team_t *team;    /* its own, of what is persistent; NULL: none */
    xylem_team_t *runs_on; /* of what is not: its communicator's */
    int tag;               /* likewise; -1: none yet */
    MPI_Comm self;         /* where its message is sent */
    MPI_Request handle;
    uint64_t begin; /* 0: not watched */
    xylem_coll_t coll;
    int code;      /* the outcome, as MPI names it */
    int is_active; /* not finished yet */
    int is_left;   /* freed by the program before its end */
    LIST_ENTRY(pending) others;
} pending_t;

static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, pending) pending_all, pending_spare;
static _Atomic uint32_t persistent_count;
static uint64_t tags_taken[XMPI_TAGS / 64 + 2];

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
        pending->request = NULL;
        pending->comm = NULL;
        pending->is_persistent = 0;
        pending->team = NULL;
        pending->begin = 0;
        pending->tag = -1;
        pending->self = MPI_COMM_NULL;
        pending->handle = MPI_REQUEST_NULL;
        pending->code = MPI_SUCCESS;
        pending->is_active = pending->is_left = 0;
        LIST_INSERT_HEAD(&pending_all, pending, others);
    }
    pthread_mutex_unlock(&pending_lock);
    return pending;
}

/* Kept for another. */
static void pending_release(pending_t *pending)
{
    pthread_mutex_lock(&pending_lock);
    if (pending->tag >= 0)
        xyl_bits_clear(tags_taken, (uint64_t)pending->tag);
    LIST_REMOVE(pending, others);
    LIST_INSERT_HEAD(&pending_spare, pending, others);
    pthread_mutex_unlock(&pending_lock);
}

/* With all it has; it is idle, and `handle` has been freed. */
static void pending_end(pending_t *pending)
{
    xylem_request_free(pending->request);
    xylem_team_destroy(pending->team);
    xmpi_plan_drop(&pending->plan);
    if (pending->comm != NULL)
        xmpi_comm_drop(pending->comm);
    if (pending->is_persistent)
        atomic_fetch_sub_explicit(&persistent_count, 1, memory_order_relaxed);
    pending_release(pending);
}

/* The lock is held. NULL: it is not ours. */
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

static int nothing_to_query(void *extra, MPI_Status *status)
{
    (void)extra;
    (void)status;
    return MPI_SUCCESS;
}

static int nothing_to_free(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

/* MPICH does not notice that a message to itself has ended what it waits for,
 * but that a generalized request is complete. */
static void host_kick(void)
{
    MPI_Request request;

    if (xmpi_host.progress != NULL ||
        xmpi_host.Grequest_start(nothing_to_query, nothing_to_free,
                                 grequest_cancel, NULL,
                                 &request) != MPI_SUCCESS)
        return;
    xmpi_host.Grequest_complete(request);
    xmpi_host.Request_free(&request);
}

/* ---- the end of a call ---- */

static void pending_finish(xyl_task_t *task)
{
    pending_t *pending = (pending_t *)(void *)task;
    MPI_Request handle = pending->handle;
    int is_persistent = pending->is_persistent, tag = pending->tag, is_left;
    MPI_Comm self = pending->self;

    if (pending->begin != 0 && xmpi_state.is_watched)
        xmpi_report_flown(pending->comm, pending->coll, pending->begin);
    if (!is_persistent) {
        if (pending->comm != NULL)
            xmpi_comm_drop(pending->comm);
        op_failure_tell(&pending->plan, pending->runs_on); /* it has it still */
        xylem_request_free(pending->request);
        pending->code = plan_conclude(&pending->plan, pending->work.status);
    } else {
        pending->code = xmpi_code_of(pending->work.status);
        if (pending->code == MPI_SUCCESS)
            pending->code = plan_result(&pending->plan);
        op_failure_tell(&pending->plan, pending->team);
        if (pending->code != MPI_SUCCESS) /* a receive cannot fail so */
            xmpi_host.Comm_call_errhandler(xmpi_comm_handle(pending->comm),
                                           pending->code);
    }
    xmpi_work_end();
    pthread_mutex_lock(&pending_lock);
    pending->is_active = 0;
    is_left = pending->is_left;
    pthread_mutex_unlock(&pending_lock);
    /* From here on the program may start it again, or `pending` be gone. */
    if (is_persistent) {
        xmpi_host.Send(NULL, 0, MPI_BYTE, 0, tag, self);
        host_kick();
    } else {
        xmpi_host.Grequest_complete(handle);
    }
    if (is_left) {
        xmpi_host.Request_free(&handle);
        if (is_persistent)
            pending_end(pending);
    }
}

/* ---- nonblocking ---- */

/* It is planned, and its input is packed. */
static xylem_status_t pending_start(pending_t *pending, xmpi_comm_t *comm)
{
    xylem_status_t status;

    if (xmpi_host.Grequest_start(grequest_query, grequest_free, grequest_cancel,
                                 pending, &pending->handle) != MPI_SUCCESS) {
        pending_end(pending);
        (void)xylem_team_abort(comm->team, "no memory for a call of MPI's");
        return XYLEM_ERR_NO_MEMORY;
    }
    pending->is_active = 1;
    pending->runs_on = comm->team;
    /* Nobody finishes what is not started. */
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
        if (pending->comm != NULL)
            xmpi_comm_drop(pending->comm);
        xmpi_plan_drop(&pending->plan);
        xmpi_host.Grequest_complete(handle);
        xmpi_host.Request_free(&handle);
    }
    return status;
}

/* ---- persistent ---- */

/* All ranks of the communicator are here, in the same order. */
static xylem_status_t pending_join(pending_t *pending, xmpi_comm_t *comm)
{
    xylem_request_t *request;
    xylem_status_t status =
        xylem_team_idup(comm->team, &pending->team, &request);

    if (status != XYLEM_OK)
        return status;
    status = request_wait(request);
    xylem_request_free(request);
    return status;
}

static xylem_status_t pending_persist(pending_t *pending, xmpi_comm_t *comm)
{
    xylem_status_t status = pending_join(pending, comm);
    uint64_t tag = XMPI_TAGS;

    if (status == XYLEM_OK)
        status = xylem_coll_init(pending->team, &pending->plan.args,
                                 &pending->request);
    if (status != XYLEM_OK && pending->team != NULL)
        status =
            xmpi_hints_leave(comm, xylem_coll_init, pending->team,
                             &pending->plan.args, status, &pending->request);

    if (status == XYLEM_OK) {
        pthread_mutex_lock(&pending_lock);
        tag = xyl_bits_take(tags_taken, XMPI_TAGS);
        if (tag != XMPI_TAGS)
            pending->tag = (int)tag;
        pending->self = xmpi_state.self;
        pthread_mutex_unlock(&pending_lock);
        if (tag == XMPI_TAGS ||
            xmpi_host.Recv_init(NULL, 0, MPI_BYTE, 0, pending->tag,
                                pending->self, &pending->handle) != MPI_SUCCESS)
            status = XYLEM_ERR_NO_RESOURCE;
    }
    if (status != XYLEM_OK) {
        if (pending->team != NULL) /* others may have theirs */
            (void)xylem_team_abort(pending->team, "a rank has no request");
        pending_end(pending);
        return status;
    }
    if (pending->comm == NULL)
        xmpi_comm_hold(comm);
    pending->comm = comm;
    pending->is_persistent = 1;
    atomic_fetch_add_explicit(&persistent_count, 1, memory_order_relaxed);
    return XYLEM_OK;
}

int xmpi_take(const xmpi_call_t *call, xmpi_form_t form, xmpi_comm_t *comm,
              MPI_Request *request, xmpi_fate_t *fate_out)
{
    pending_t *pending;
    xylem_status_t status;
    int code;

    if (form == XMPI_BLOCKING)
        return take_blocking(call, comm, fate_out);
    *fate_out = XMPI_TAKEN;
    pending = pending_new();
    if (pending == NULL)
        return call_fail(call, comm, MPI_ERR_NO_MEM);
    if (!call_plan(&pending->plan, call, comm, form, fate_out, &code)) {
        pending_release(pending);
        return code;
    }
    pending->work.task.run = pending_finish;
    pending->plan.args.on_complete = xmpi_work_done;
    pending->plan.args.arg = pending;
    pending->coll = call->coll;
    if (xmpi_state.is_watched) {
        pending->begin = xmpi_now();
        pending->comm = comm;
        xmpi_comm_hold(comm);
    }
    status = form == XMPI_NONBLOCKING ? pending_start(pending, comm)
                                      : pending_persist(pending, comm);
    if (status != XYLEM_OK)
        return xmpi_comm_fail(call->comm, status);
    *request = pending->handle;
    if (form == XMPI_NONBLOCKING)
        xmpi_hook();
    return MPI_SUCCESS;
}

/* ---- MPI_Start, MPI_Startall ---- */

int xmpi_Start(MPI_Request *request)
{
    pending_t *pending = NULL;
    xylem_status_t status;
    int code;

    if (atomic_load_explicit(&persistent_count, memory_order_relaxed) != 0 &&
        request != NULL && *request != MPI_REQUEST_NULL) {
        pthread_mutex_lock(&pending_lock);
        pending = pending_find(*request);
        pthread_mutex_unlock(&pending_lock);
    }
    code = xmpi_host.Start(request);
    if (pending == NULL || code != MPI_SUCCESS)
        return code;
    pending->is_active = 1;
    pending->begin = xmpi_state.is_watched ? xmpi_now() : 0;
    code = xmpi_plan_pack(&pending->plan);
    if (code != MPI_SUCCESS)
        (void)xylem_team_abort(pending->team, "MPI_Pack has failed");
    xmpi_work_begin();
    status = xylem_request_start(pending->request);
    xmpi_work_begun();
    if (status != XYLEM_OK)
        xmpi_work_done(pending, status);
    return code;
}

int xmpi_Startall(int count, MPI_Request requests[])
{
    int i, code = MPI_SUCCESS;

    if (atomic_load_explicit(&persistent_count, memory_order_relaxed) == 0 ||
        count < 0 || requests == NULL)
        return xmpi_host.Startall(count, requests);
    for (i = 0; i < count && code == MPI_SUCCESS; i++)
        code = xmpi_Start(&requests[i]);
    return code;
}

/* ---- MPI_Request_free ---- */

/* MPICH does not let go of a generalized request that is under way, and what
 * Open MPI lets go of is not ours to complete; so it is freed at its end. */
int xmpi_Request_free(MPI_Request *request)
{
    pending_t *pending = NULL;
    int code, is_left = 0, is_persistent = 0;

    if (request != NULL && *request != MPI_REQUEST_NULL &&
        (xmpi_work_is_active() ||
         atomic_load_explicit(&persistent_count, memory_order_relaxed) != 0)) {
        pthread_mutex_lock(&pending_lock);
        pending = pending_find(*request);
        if (pending != NULL) {
            is_left = pending->is_left = pending->is_active;
            is_persistent = pending->is_persistent;
        }
        pthread_mutex_unlock(&pending_lock);
    }
    if (is_left) {
        *request = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    code = xmpi_host.Request_free(request);
    if (is_persistent)
        pending_end(pending);
    return code;
}

/* ---- the end ---- */

void xmpi_requests_revoke(const xmpi_comm_t *comm)
{
    pending_t *pending;

    pthread_mutex_lock(&pending_lock);
    LIST_FOREACH(pending, &pending_all, others)
    if (pending->comm == comm && pending->team != NULL)
        xylem_team_revoke(pending->team);
    pthread_mutex_unlock(&pending_lock);
}

void xmpi_requests_close(void)
{
    pending_t *pending, *next;
    uint32_t turns = 0;

    /* What the program has left under way still moves. */
    while (xmpi_work_is_active() && turns++ < CLOSE_TURNS_MAX) {
        xmpi_hook();
        xmpi_progress();
        if (turns % 64 == 0)
            sched_yield();
    }
    for (pending = LIST_FIRST(&pending_all); pending != NULL; pending = next) {
        next = LIST_NEXT(pending, others);
        if (pending->is_persistent && !pending->is_active) {
            xmpi_host.Request_free(&pending->handle);
            pending_end(pending);
        }
    }
    while ((pending = LIST_FIRST(&pending_spare)) != NULL) {
        LIST_REMOVE(pending, others);
        free(pending);
    }
}
