/* Functions that wait for requests, or test them. The binding takes them over
 *
 *   - from the first nonblocking collective on, so that a rank which waits for
 *     one moves xylem's data more often than the host would;
 *   - from the first persistent collective on, as the host takes even a started
 *     one for inactive (persistent.c);
 *   - if the host does not call the hook while it makes progress: then these
 *     functions finish operations that xylem has completed, while a thread of
 *     hook.c moves the data.
 *
 * In all other cases the front leads to the library. The functions of MPI-4.1,
 * which older libraries lack, are always the binding's. */
#include <sched.h>

#include "bindings/mpi/call.h"

static _Atomic int polls;

static int is_polling(void)
{
    return atomic_load_explicit(&polls, memory_order_relaxed);
}

/* ---- statuses ---- */

/* Does nothing if the program ignores the status. */
static void status_empty(MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    xmpi_host.Status_set_elements(status, MPI_BYTE, 0);
    xmpi_host.Status_set_cancelled(status, 0);
}

static MPI_Status *status_at(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* ---- the host's requests ---- */

/* Calls the hook if the host does not. Called before each call of the host. */
static void hook_poll(void)
{
    if (is_polling())
        xmpi_hook();
}

/* Whether the host's function may wait. If not, it is asked again and again,
 * with turns of the hook in between. */
static int host_may_wait(void)
{
    return !is_polling() || !xmpi_work_is_active();
}

/* ---- persistent collectives among the requests ---- */

/* Tells the program that the call is over, which makes it idle. Returns MPI's
 * code. */
static int tell(xmpi_persistent_t *persistent, MPI_Status *status)
{
    status_empty(status);
    return xmpi_persistent_end(persistent);
}

/* The index of the first started collective from `from` on, over or not;
 * `count`: there is none. */
static int next_started(int count, const MPI_Request requests[], int from)
{
    int i = from;

    while (requests != NULL && i < count &&
           xmpi_persistent_started(requests[i]) == NULL)
        i++;
    return requests == NULL || i > count ? count : i;
}

/* The index of the first started collective that is over, or is not (`is_over`
 * 0); `count`: there is none. */
static int first_of(int count, const MPI_Request requests[], int is_over)
{
    int i = next_started(count, requests, 0);

    while (i < count && xmpi_persistent_is_over(
                            xmpi_persistent_started(requests[i])) != is_over)
        i = next_started(count, requests, i + 1);
    return i;
}

static int all_are_over(int count, const MPI_Request requests[])
{
    return first_of(count, requests, 0) >= count;
}

/* Writes the failure of request i into its status. If the host's function has
 * succeeded (`code`), all other requests are marked as good. */
static int note_failure(int count, MPI_Status statuses[], int i, int failure,
                        int code)
{
    int k;

    for (k = 0;
         statuses != MPI_STATUSES_IGNORE && code == MPI_SUCCESS && k < count;
         k++)
        statuses[k].MPI_ERROR = MPI_SUCCESS;
    if (statuses != MPI_STATUSES_IGNORE)
        statuses[i].MPI_ERROR = failure;
    return MPI_ERR_IN_STATUS;
}

/* Some of the requests are under way: moves the data of both libraries. */
static void both_move(void)
{
    xmpi_progress();
    xmpi_hook();
    if (xmpi_state.shares_cores)
        sched_yield();
}

/* Clears `*flag` if the host has found no active request (MPI_UNDEFINED), but
 * some persistent collectives are started, of which the host does not know. */
static void hide_end(int code, int count, const MPI_Request requests[],
                     int index, int *flag)
{
    if (code != MPI_SUCCESS || !*flag || index != MPI_UNDEFINED ||
        next_started(count, requests, 0) >= count)
        return;
    *flag = 0;
    both_move();
}

/* ---- MPI's functions ---- */

static int taken_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    xmpi_persistent_t *persistent =
        request == NULL ? NULL : xmpi_persistent_started(*request);

    if (persistent == NULL) {
        hook_poll();
        return xmpi_host.Test(request, flag, status);
    }
    *flag = xmpi_persistent_is_over(persistent);
    if (*flag)
        return tell(persistent, status);
    both_move();
    return MPI_SUCCESS;
}

static int taken_Wait(MPI_Request *request, MPI_Status *status)
{
    xmpi_persistent_t *persistent =
        request == NULL ? NULL : xmpi_persistent_started(*request);
    int code, flag = 0;

    if (persistent == NULL && request != NULL)
        (void)xmpi_pending_hasten(*request);
    if (persistent == NULL && host_may_wait())
        return xmpi_host.Wait(request, status);
    if (persistent != NULL) {
        code = xmpi_persistent_wait(persistent);
        status_empty(status);
        return code;
    }
    do
        code = taken_Test(request, &flag, status);
    while (code == MPI_SUCCESS && !flag);
    return code;
}

/* Tells the program of started collectives that are over, after the host's
 * function has returned `code`; waits for the others. */
static int tell_all(int count, const MPI_Request requests[],
                    MPI_Status statuses[], int code)
{
    int failure, i = next_started(count, requests, 0);

    for (; i < count; i = next_started(count, requests, i + 1)) {
        xmpi_persistent_t *persistent = xmpi_persistent_started(requests[i]);
        failure = xmpi_persistent_wait(persistent);
        if (failure != MPI_SUCCESS)
            code = note_failure(count, statuses, i, failure, code);
    }
    return code;
}

static int taken_Testall(int count, MPI_Request requests[], int *flag,
                         MPI_Status statuses[])
{
    int code;

    if (!all_are_over(count, requests)) {
        *flag = 0;
        both_move();
        return MPI_SUCCESS;
    }
    hook_poll();
    code = xmpi_host.Testall(count, requests, flag, statuses);
    return *flag ? tell_all(count, requests, statuses, code) : code;
}

/* While the host waits for its requests, the hook moves the others. */
static int taken_Waitall(int count, MPI_Request requests[],
                         MPI_Status statuses[])
{
    int code, flag = 0, i;

    /* The last of xylem's calls most often ends last. */
    for (i = count; requests != NULL && i > 0; i--)
        if (xmpi_pending_hasten(requests[i - 1]))
            break;
    if (host_may_wait())
        code = xmpi_host.Waitall(count, requests, statuses);
    else
        do {
            xmpi_hook();
            code = xmpi_host.Testall(count, requests, &flag, statuses);
        } while (code == MPI_SUCCESS && !flag);
    return tell_all(count, requests, statuses, code);
}

static int taken_Testany(int count, MPI_Request requests[], int *index,
                         int *flag, MPI_Status *status)
{
    int code, i = first_of(count, requests, 1);

    if (i < count) {
        *index = i;
        *flag = 1;
        return tell(xmpi_persistent_started(requests[i]), status);
    }
    hook_poll();
    code = xmpi_host.Testany(count, requests, index, flag, status);
    hide_end(code, count, requests, *index, flag);
    return code;
}

static int taken_Waitany(int count, MPI_Request requests[], int *index,
                         MPI_Status *status)
{
    int code, flag = 0;

    if (host_may_wait() && next_started(count, requests, 0) >= count)
        return xmpi_host.Waitany(count, requests, index, status);
    do
        code = taken_Testany(count, requests, index, &flag, status);
    while (code == MPI_SUCCESS && !flag);
    return code;
}

/* Adds collectives that are over behind the host's `*done` requests, which is
 * MPI_UNDEFINED if the host has no active one. */
static int add_over(int count, const MPI_Request requests[], int *done,
                    int indices[], MPI_Status statuses[], int code)
{
    int failure, found = *done == MPI_UNDEFINED ? 0 : *done;
    int i = next_started(count, requests, 0);

    for (; i < count; i = next_started(count, requests, i + 1)) {
        if (!xmpi_persistent_is_over(xmpi_persistent_started(requests[i])))
            continue;
        failure = tell(xmpi_persistent_started(requests[i]),
                       status_at(statuses, found));
        indices[found] = i;
        if (failure != MPI_SUCCESS)
            code = note_failure(found, statuses, found, failure, code);
        found++;
    }
    *done = found;
    return code;
}

static int taken_Testsome(int count, MPI_Request requests[], int *done,
                          int indices[], MPI_Status statuses[])
{
    int code;

    hook_poll();
    code = xmpi_host.Testsome(count, requests, done, indices, statuses);
    if ((code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) ||
        next_started(count, requests, 0) >= count)
        return code;
    code = add_over(count, requests, done, indices, statuses, code);
    if (*done == 0)
        both_move();
    return code;
}

static int taken_Waitsome(int count, MPI_Request requests[], int *done,
                          int indices[], MPI_Status statuses[])
{
    int code;

    if (host_may_wait() && next_started(count, requests, 0) >= count)
        return xmpi_host.Waitsome(count, requests, done, indices, statuses);
    do
        code = taken_Testsome(count, requests, done, indices, statuses);
    while (code == MPI_SUCCESS && *done == 0);
    return code;
}

static int taken_Request_get_status(MPI_Request request, int *flag,
                                    MPI_Status *status)
{
    xmpi_persistent_t *persistent = xmpi_persistent_started(request);

    if (persistent == NULL) {
        hook_poll();
        return xmpi_host.Request_get_status(request, flag, status);
    }
    *flag = xmpi_persistent_is_over(persistent);
    if (!*flag)
        both_move();
    else
        status_empty(status);
    return MPI_SUCCESS;
}

/* ---- functions of MPI-4.1, also for a host that lacks them ---- */

/* Whether the host's function, if there is one, knows all of the requests. */
static int is_hosts(int has_function, int count, const MPI_Request requests[])
{
    if (!has_function || next_started(count, requests, 0) < count)
        return 0;
    hook_poll();
    return 1;
}

/* The host takes an inactive persistent request of its own for active. */
static int is_active(MPI_Request request)
{
    return request != MPI_REQUEST_NULL &&
           (xmpi_persistent_find(request) == NULL ||
            xmpi_persistent_started(request) != NULL);
}

int xmpi_Request_get_status_all(int count, MPI_Request requests[], int *flag,
                                MPI_Status statuses[])
{
    int code = MPI_SUCCESS, i;

    if (is_hosts(xmpi_host.Request_get_status_all != NULL, count, requests))
        return xmpi_host.Request_get_status_all(count, requests, flag,
                                                statuses);
    *flag = 1;
    for (i = 0; code == MPI_SUCCESS && *flag && i < count; i++)
        code =
            taken_Request_get_status(requests[i], flag, status_at(statuses, i));
    return code;
}

int xmpi_Request_get_status_any(int count, MPI_Request requests[], int *index,
                                int *flag, MPI_Status *status)
{
    int code = MPI_SUCCESS, has_some = 0, i;

    if (is_hosts(xmpi_host.Request_get_status_any != NULL, count, requests))
        return xmpi_host.Request_get_status_any(count, requests, index, flag,
                                                status);
    *index = MPI_UNDEFINED;
    *flag = 0;
    for (i = 0; code == MPI_SUCCESS && !*flag && i < count; i++) {
        if (!is_active(requests[i]))
            continue;
        has_some = 1;
        code = taken_Request_get_status(requests[i], flag, status);
        if (code == MPI_SUCCESS && *flag)
            *index = i;
    }
    if (!has_some) {
        *flag = 1;
        status_empty(status);
    }
    return code;
}

int xmpi_Request_get_status_some(int count, MPI_Request requests[], int *done,
                                 int indices[], MPI_Status statuses[])
{
    int code = MPI_SUCCESS, has_some = 0, found = 0, flag, i;

    if (is_hosts(xmpi_host.Request_get_status_some != NULL, count, requests))
        return xmpi_host.Request_get_status_some(count, requests, done, indices,
                                                 statuses);
    for (i = 0; code == MPI_SUCCESS && i < count; i++) {
        if (!is_active(requests[i]))
            continue;
        has_some = 1;
        code = taken_Request_get_status(requests[i], &flag,
                                        status_at(statuses, found));
        if (code == MPI_SUCCESS && flag)
            indices[found++] = i;
    }
    *done = has_some ? found : MPI_UNDEFINED;
    return code;
}

void xmpi_waits_take(int shall_poll)
{
    static _Atomic int are_taken;

    if (shall_poll)
        atomic_store_explicit(&polls, 1, memory_order_relaxed);
    if (atomic_load_explicit(&are_taken, memory_order_relaxed) ||
        atomic_exchange_explicit(&are_taken, 1, memory_order_relaxed))
        return;
#define X(name, ...) xmpi_front->take(#name, (xmpi_function_t)taken_##name);
    XMPI_WAITS_OF_3(X)
#undef X
}
