/* Blocking and nonblocking calls, and their progress.
 *
 * A nonblocking call is a generalized request of the host's, so that it mixes
 * with all other requests in every function that takes some. What completes it
 * is in hook.c.
 *
 * A blocking call looks after the host from time to time while it waits: the
 * rank it waits for may wait for a message of this one's.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "bindings/mpi/call.h"

enum {
    SLICE_US = 20,     /* of a wait, until the host is looked after */
    SLICES_SHORT = 50, /* then a rank may sleep */
    SLICE_LONG_US = 1000,
    CLOSE_TURNS_MAX = 1 << 20
};

/* ---- blocking ---- */

static xylem_status_t wait_for(xylem_request_t *request)
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

/* What a failed operation may still write into is not given back. */
static int conclude(xmpi_plan_t *plan, xylem_status_t status, int *code_out)
{
    if (status != XYLEM_OK)
        return 1;
    *code_out = xmpi_plan_unpack(plan);
    xmpi_plan_drop(plan);
    return 0;
}

int xmpi_blocking(const xmpi_call_t *call, xmpi_comm_t *comm,
                  xmpi_fate_t *fate_out)
{
    xmpi_plan_t plan;
    xylem_request_t *request;
    xylem_status_t status;
    int code;

    *fate_out = xmpi_plan_make(&plan, call, comm, &code);
    if (*fate_out != XMPI_TAKEN)
        return MPI_SUCCESS;
    if (code == MPI_SUCCESS) {
        code = xmpi_plan_pack(&plan);
        if (code != MPI_SUCCESS)
            xmpi_plan_drop(&plan);
    }
    if (code != MPI_SUCCESS) {
        xmpi_host.Comm_call_errhandler(call->comm, code);
        return code;
    }
    status = xylem_coll_start(comm->team, &plan.args, &request);
    if (status != XYLEM_OK) {
        xmpi_plan_drop(&plan);
        return xmpi_comm_fail(call->comm, status);
    }
    status = wait_for(request);
    xylem_request_free(request);
    if (conclude(&plan, status, &code))
        return xmpi_comm_fail(call->comm, status);
    if (code != MPI_SUCCESS)
        xmpi_host.Comm_call_errhandler(call->comm, code);
    return code;
}

/* ---- nonblocking ---- */

typedef struct operation {
    xmpi_work_t work; /* first */
    xmpi_plan_t plan;
    xylem_request_t *request;
    MPI_Request handle;
    int code;      /* the outcome, as MPI names it */
    int is_active; /* not finished yet */
    int is_left;   /* freed by the program before its end */
    struct operation *older, *newer;
} operation_t;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static operation_t *newest;
static operation_t *spare; /* linked by `older` */

static operation_t *operation_new(void)
{
    operation_t *operation;

    pthread_mutex_lock(&list_lock);
    operation = spare;
    if (operation != NULL)
        spare = operation->older;
    pthread_mutex_unlock(&list_lock);
    if (operation == NULL)
        operation = malloc(sizeof *operation);
    return operation;
}

static void list_add(operation_t *operation)
{
    pthread_mutex_lock(&list_lock);
    operation->newer = NULL;
    operation->older = newest;
    if (newest != NULL)
        newest->newer = operation;
    newest = operation;
    pthread_mutex_unlock(&list_lock);
}

/* Out of the list, and kept for another. */
static void operation_release(operation_t *operation)
{
    pthread_mutex_lock(&list_lock);
    if (operation->newer != NULL)
        operation->newer->older = operation->older;
    else
        newest = operation->older;
    if (operation->older != NULL)
        operation->older->newer = operation->newer;
    operation->older = spare;
    spare = operation;
    pthread_mutex_unlock(&list_lock);
}

static int query(void *extra, MPI_Status *status)
{
    const operation_t *operation = extra;

    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    xmpi_host.Status_set_elements(status, MPI_BYTE, 0);
    xmpi_host.Status_set_cancelled(status, 0);
    return operation->code;
}

static int forget(void *extra)
{
    operation_release(extra);
    return MPI_SUCCESS;
}

static int cannot_cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

/* MPI's code for a status, without telling an error handler: that is done by
 * the function that waits. */
static int code_of(xylem_status_t status)
{
    if (status == XYLEM_OK)
        return MPI_SUCCESS;
    return status == XYLEM_ERR_NO_MEMORY   ? MPI_ERR_NO_MEM
           : status == XYLEM_ERR_TRUNCATED ? MPI_ERR_TRUNCATE
                                           : MPI_ERR_OTHER;
}

static void finish(xmpi_work_t *work)
{
    operation_t *operation = (operation_t *)(void *)work;
    MPI_Request handle = operation->handle;
    int is_left;

    operation->code = code_of(work->status);
    xylem_request_free(operation->request);
    if (work->status == XYLEM_OK) {
        operation->code = xmpi_plan_unpack(&operation->plan);
        xmpi_plan_drop(&operation->plan);
    }
    xmpi_work_end();
    pthread_mutex_lock(&list_lock);
    operation->is_active = 0;
    is_left = operation->is_left;
    pthread_mutex_unlock(&list_lock);
    xmpi_host.Grequest_complete(handle); /* then `operation` may be gone */
    if (is_left)
        xmpi_host.Request_free(&handle);
}

/* The operation is planned and its input packed. */
static xylem_status_t start(operation_t *operation, xmpi_comm_t *comm)
{
    xylem_coll_args_t *args = &operation->plan.args;
    xylem_status_t status;

    args->on_complete = xmpi_work_done;
    args->arg = operation;
    operation->work.finish = finish;
    operation->is_active = 1;
    operation->is_left = 0;
    operation->code = MPI_SUCCESS;
    if (xmpi_host.Grequest_start(query, forget, cannot_cancel, operation,
                                 &operation->handle) != MPI_SUCCESS)
        return XYLEM_ERR_NO_MEMORY;
    list_add(operation);
    /* Nobody finishes what is not started. */
    xmpi_work_begin();
    status = xylem_coll_start(comm->team, args, &operation->request);
    xmpi_work_begun();
    if (status != XYLEM_OK) {
        MPI_Request handle = operation->handle;
        xmpi_work_end();
        operation->is_active = 0;
        xmpi_host.Grequest_complete(handle);
        xmpi_host.Request_free(&handle);
    }
    return status;
}

int xmpi_nonblocking(const xmpi_call_t *call, xmpi_comm_t *comm,
                     MPI_Request *request, xmpi_fate_t *fate_out)
{
    operation_t *operation = operation_new();
    xylem_status_t status;
    int code;

    *fate_out = XMPI_TAKEN;
    if (operation == NULL)
        return xmpi_comm_fail(call->comm, XYLEM_ERR_NO_MEMORY);
    *fate_out = xmpi_plan_make(&operation->plan, call, comm, &code);
    if (*fate_out != XMPI_TAKEN || code != MPI_SUCCESS) {
        free(operation);
        if (code != MPI_SUCCESS)
            xmpi_host.Comm_call_errhandler(call->comm, code);
        return code;
    }
    code = xmpi_plan_pack(&operation->plan);
    if (code != MPI_SUCCESS) {
        xmpi_plan_drop(&operation->plan);
        free(operation);
        xmpi_host.Comm_call_errhandler(call->comm, code);
        return code;
    }
    status = start(operation, comm);
    if (status != XYLEM_OK)
        return xmpi_comm_fail(call->comm, status);
    *request = operation->handle;
    xmpi_hook();
    return MPI_SUCCESS;
}

/* ---- MPI_Request_free ---- */

int xmpi_Request_free(MPI_Request *request);

/* MPICH does not let go of a generalized request that is under way, and what
 * Open MPI lets go of is not ours to complete; so it is freed at its end. */
static int leave(MPI_Request *request)
{
    operation_t *operation;
    int is_left = 0;

    if (!xmpi_work_is_active())
        return 0;
    pthread_mutex_lock(&list_lock);
    for (operation = newest; operation != NULL; operation = operation->older)
        if (operation->handle == *request && operation->is_active) {
            operation->is_left = is_left = 1;
            break;
        }
    pthread_mutex_unlock(&list_lock);
    if (is_left)
        *request = MPI_REQUEST_NULL;
    return is_left;
}

int xmpi_Request_free(MPI_Request *request)
{
    int code;

    if (request == NULL || *request == MPI_REQUEST_NULL)
        return xmpi_host.Request_free(request);
    if (xmpi_persistent_free(request, &code))
        return code;
    return leave(request) ? MPI_SUCCESS : xmpi_host.Request_free(request);
}

/* ---- the end ---- */

void xmpi_requests_close(void)
{
    operation_t *operation, *older;
    uint32_t turns = 0;

    /* What the program has left under way still moves. */
    while (xmpi_work_is_active() && turns++ < CLOSE_TURNS_MAX) {
        xmpi_hook();
        xmpi_progress();
        if (turns % 64 == 0)
            sched_yield();
    }
    for (operation = spare; operation != NULL; operation = older) {
        older = operation->older;
        free(operation);
    }
    spare = NULL;
}
