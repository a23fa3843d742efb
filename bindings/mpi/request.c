/* Blocking and nonblocking calls, and their progress.
 *
 * A nonblocking call is a generalized request of the host's, so that it mixes
 * with all other requests in every function that takes some. xylem completes it
 * on whichever thread makes progress; there it is only put on a list. The
 * threads of the program finish it when they are in MPI: Open MPI calls
 * xmpi_hook in each turn of its progress, and under MPICH the front does so
 * after each turn of the UCX that MPICH runs on. So MPI's functions are only
 * called by threads that are in MPI anyway, and no thread level is needed.
 *
 * A blocking call looks after the host from time to time while it waits: the
 * rank it waits for may wait for a message of this one's.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/module.h"

enum {
    SLICE_US = 20,       /* of a wait, until the host is looked after */
    SLICES_SHORT = 50,   /* then a rank may sleep */
    SLICE_LONG_US = 1000,
    CALLS_PER_TURN = 16, /* of the hook, while nothing is under way */
    CLOSE_TURNS_MAX = 1 << 20
};

_Atomic uint32_t xmpi_work_active;

static _Atomic(xmpi_work_t *) done;
static atomic_flag hook_lock = ATOMIC_FLAG_INIT;

/* ---- progress ---- */

void xmpi_work_done(void *arg, xylem_status_t status)
{
    xmpi_work_t *work = arg;
    xmpi_work_t *first = atomic_load_explicit(&done, memory_order_relaxed);

    work->status = status;
    do
        work->next = first;
    /* Partner: the exchange in deliver. */
    while (!atomic_compare_exchange_weak_explicit(
        &done, &first, work, memory_order_release, memory_order_relaxed));
}

/* In the order in which they were completed. */
static void deliver(void)
{
    xmpi_work_t *work = atomic_exchange_explicit(&done, NULL,
                                                 memory_order_acquire);
    xmpi_work_t *first = NULL, *next;

    for (; work != NULL; work = next) {
        next = work->next;
        work->next = first;
        first = work;
    }
    for (; first != NULL; first = next) {
        next = first->next;
        first->finish(first);
    }
}

static unsigned hook(void)
{
    static unsigned calls;
    xylem_context_t *context;
    unsigned turned = 0;

    if (atomic_flag_test_and_set_explicit(&hook_lock, memory_order_acquire))
        return 0;
    context =
        atomic_load_explicit(&xmpi_state.context, memory_order_acquire);
    /* What was sent may need a turn now and then although nobody waits. */
    if (context != NULL &&
        (atomic_load_explicit(&xmpi_work_active, memory_order_relaxed) != 0 ||
         ++calls % CALLS_PER_TURN == 0)) {
        turned = xylem_progress(context);
        if (atomic_load_explicit(&done, memory_order_relaxed) != NULL)
            deliver();
    }
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
    return turned;
}

void xmpi_progress(void)
{
    int flag;

    if (xmpi_host.progress != NULL)
        xmpi_host.progress();
    else
        xmpi_host.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, xmpi_state.self, &flag,
                         MPI_STATUS_IGNORE);
}

/* ---- who calls the hook ---- */

static int hook_of_host(void)
{
    return (int)hook();
}

typedef struct code_range {
    const char *begin;
    size_t bytes;
    uintptr_t inside; /* what it is looked for by */
} code_range_t;

static int look_for_code(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    code_range_t *range = arg;
    uintptr_t begin, end = 0, low = UINTPTR_MAX;
    int i;

    (void)bytes;
    for (i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (begin < low)
            low = begin;
        if (begin + info->dlpi_phdr[i].p_memsz > end)
            end = begin + info->dlpi_phdr[i].p_memsz;
    }
    if (range->inside < low || range->inside >= end)
        return 0;
    range->begin = (const char *)low;
    range->bytes = end - low;
    return 1;
}

static _Atomic unsigned probes;

static unsigned probe(void)
{
    atomic_fetch_add_explicit(&probes, 1, memory_order_relaxed);
    return 0;
}

/* Turns of UCX's that are not xylem's own. */
static int hook_into_ucx(void)
{
    code_range_t own = {NULL, 0, (uintptr_t)&xylem_progress};
    unsigned i;

    if (xmpi_front == NULL || dl_iterate_phdr(look_for_code, &own) == 0)
        return 0;
    xmpi_front->hook_ucx(probe, own.begin, own.bytes);
    for (i = 0; i < 1000 && atomic_load(&probes) == 0; i++)
        xmpi_progress();
    if (atomic_load(&probes) == 0) {
        xmpi_front->hook_ucx(NULL, NULL, 0);
        return 0;
    }
    xmpi_front->hook_ucx(hook, own.begin, own.bytes);
    return 1;
}

int xmpi_hook_install(void)
{
    if (xmpi_host.progress_register != NULL)
        return xmpi_host.progress_register(hook_of_host) == 0;
    return hook_into_ucx();
}

void xmpi_hook_remove(void)
{
    if (xmpi_host.progress_unregister != NULL)
        xmpi_host.progress_unregister(hook_of_host);
    else if (xmpi_front != NULL)
        xmpi_front->hook_ucx(NULL, NULL, 0);
    /* Nobody is inside any more, and nobody will be. */
    while (atomic_flag_test_and_set_explicit(&hook_lock, memory_order_acquire))
        sched_yield();
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
}

/* ---- blocking ---- */

static xylem_status_t wait_for(xylem_request_t *request)
{
    xylem_status_t status = xylem_request_test(request);
    unsigned slices = 0;

    while (status == XYLEM_IN_PROGRESS) {
        status = xylem_request_wait_for(request, slices < SLICES_SHORT
                                                     ? SLICE_US
                                                     : SLICE_LONG_US);
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
    if (code == MPI_SUCCESS)
        code = xmpi_plan_pack(&plan);
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
    /* Its callback may not have returned yet, on another thread. */
    while (xylem_request_free(operation->request) == XYLEM_ERR_BUSY)
        sched_yield();
    if (work->status == XYLEM_OK) {
        operation->code = xmpi_plan_unpack(&operation->plan);
        xmpi_plan_drop(&operation->plan);
    }
    atomic_fetch_sub_explicit(&xmpi_work_active, 1, memory_order_relaxed);
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
    /* Held, so that nobody finishes what is not started. */
    atomic_fetch_add_explicit(&xmpi_work_active, 1, memory_order_relaxed);
    while (atomic_flag_test_and_set_explicit(&hook_lock, memory_order_acquire))
        sched_yield();
    status = xylem_coll_start(comm->team, args, &operation->request);
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
    if (status != XYLEM_OK) {
        MPI_Request handle = operation->handle;
        atomic_fetch_sub_explicit(&xmpi_work_active, 1, memory_order_relaxed);
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
    hook();
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

    if (atomic_load_explicit(&xmpi_work_active, memory_order_relaxed) == 0)
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
    while (atomic_load(&xmpi_work_active) != 0 && turns++ < CLOSE_TURNS_MAX) {
        hook();
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
