/* Functions that wait for requests, or test them. The binding takes them over
 *
 *   - from the first persistent collective on, as the host takes even a started
 *     one for inactive (persistent.c);
 *   - if the host does not call the hook while it makes progress: then these
 *     functions finish operations that xylem has completed, while a thread of
 *     hook.c moves the data.
 *
 * Else the front leads to the library. The functions of MPI-4.1, which older
 * libraries lack, are always the binding's. */
#include <sched.h>

#include "bindings/mpi/call.h"

static _Atomic int polls;

static int is_polling(void)
{
    return atomic_load_explicit(&polls, memory_order_relaxed);
}

/* ---- statuses ---- */

static void status_empty(MPI_Status *status)
{
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

#define WAITS_UNTIL(done, ASK, WAIT)                                           \
    int code = MPI_SUCCESS;                                                    \
                                                                               \
    if (!is_polling() || !xmpi_work_is_active())                               \
        return xmpi_host.WAIT;                                                 \
    do {                                                                       \
        xmpi_hook();                                                           \
        code = xmpi_host.ASK;                                                  \
    } while (code == MPI_SUCCESS && !(done));                                  \
    return code

#define ASKS(ASK)                                                              \
    if (is_polling())                                                          \
        xmpi_hook();                                                           \
    return xmpi_host.ASK

static int hosts_Wait(MPI_Request *request, MPI_Status *status)
{
    int flag = 0;

    WAITS_UNTIL(flag, Test(request, &flag, status), Wait(request, status));
}

static int hosts_Waitall(int count, MPI_Request requests[],
                         MPI_Status statuses[])
{
    int flag = 0;

    WAITS_UNTIL(flag, Testall(count, requests, &flag, statuses),
                Waitall(count, requests, statuses));
}

static int hosts_Waitany(int count, MPI_Request requests[], int *index,
                         MPI_Status *status)
{
    int flag = 0;

    WAITS_UNTIL(flag, Testany(count, requests, index, &flag, status),
                Waitany(count, requests, index, status));
}

static int hosts_Waitsome(int count, MPI_Request requests[], int *done,
                          int indices[], MPI_Status statuses[])
{
    WAITS_UNTIL(*done != 0, Testsome(count, requests, done, indices, statuses),
                Waitsome(count, requests, done, indices, statuses));
}

static int hosts_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    ASKS(Test(request, flag, status));
}

static int hosts_Testall(int count, MPI_Request requests[], int *flag,
                         MPI_Status statuses[])
{
    ASKS(Testall(count, requests, flag, statuses));
}

static int hosts_Testany(int count, MPI_Request requests[], int *index,
                         int *flag, MPI_Status *status)
{
    ASKS(Testany(count, requests, index, flag, status));
}

static int hosts_Testsome(int count, MPI_Request requests[], int *done,
                          int indices[], MPI_Status statuses[])
{
    ASKS(Testsome(count, requests, done, indices, statuses));
}

static int hosts_Request_get_status(MPI_Request request, int *flag,
                                    MPI_Status *status)
{
    ASKS(Request_get_status(request, flag, status));
}

/* ---- functions of MPI-4.1, also for a host that lacks them ---- */

/* Whether the host knows the state of a request; an inactive persistent request
 * of the host's is complete for it. */
static int is_hosts(MPI_Request request)
{
    return request != MPI_REQUEST_NULL && xmpi_persistent_find(request) == NULL;
}

static int hosts_Request_get_status_all(int count, MPI_Request requests[],
                                        int *flag, MPI_Status statuses[])
{
    int code = MPI_SUCCESS, i;

    if (xmpi_host.Request_get_status_all != NULL) {
        ASKS(Request_get_status_all(count, requests, flag, statuses));
    }
    *flag = 1;
    for (i = 0; code == MPI_SUCCESS && *flag && i < count; i++)
        code =
            hosts_Request_get_status(requests[i], flag, status_at(statuses, i));
    return code;
}

static int hosts_Request_get_status_any(int count, MPI_Request requests[],
                                        int *index, int *flag,
                                        MPI_Status *status)
{
    int code = MPI_SUCCESS, has_some = 0, i;

    if (xmpi_host.Request_get_status_any != NULL) {
        ASKS(Request_get_status_any(count, requests, index, flag, status));
    }
    *index = MPI_UNDEFINED;
    for (i = 0; i < count; i++) {
        if (!is_hosts(requests[i]))
            continue;
        has_some = 1;
        code = hosts_Request_get_status(requests[i], flag, status);
        if (code == MPI_SUCCESS && *flag)
            *index = i;
        if (code != MPI_SUCCESS || *flag)
            return code;
    }
    *flag = !has_some;
    if (!has_some && status != MPI_STATUS_IGNORE)
        status_empty(status);
    return MPI_SUCCESS;
}

static int hosts_Request_get_status_some(int count, MPI_Request requests[],
                                         int *done, int indices[],
                                         MPI_Status statuses[])
{
    int code = MPI_SUCCESS, has_some = 0, found = 0, flag, i;

    if (xmpi_host.Request_get_status_some != NULL) {
        ASKS(Request_get_status_some(count, requests, done, indices, statuses));
    }
    for (i = 0; code == MPI_SUCCESS && i < count; i++) {
        if (!is_hosts(requests[i]))
            continue;
        has_some = 1;
        code = hosts_Request_get_status(requests[i], &flag,
                                        status_at(statuses, found));
        if (code == MPI_SUCCESS && flag)
            indices[found++] = i;
    }
    *done = has_some ? found : MPI_UNDEFINED;
    return code;
}

/* ---- persistent collectives among the requests ---- */

/* Tells the program that the call is over: it is idle. Returns MPI's code. */
static int tell(xmpi_persistent_t *persistent, MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE)
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

/* The index of the first started collective that is over; or `count`. */
static int first_over(int count, const MPI_Request requests[])
{
    int i = next_started(count, requests, 0);

    while (i < count &&
           !xmpi_persistent_is_over(xmpi_persistent_started(requests[i])))
        i = next_started(count, requests, i + 1);
    return i;
}

static int all_are_over(int count, const MPI_Request requests[])
{
    int i = next_started(count, requests, 0);

    while (i < count &&
           xmpi_persistent_is_over(xmpi_persistent_started(requests[i])))
        i = next_started(count, requests, i + 1);
    return i >= count;
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

static void host_moves(void)
{
    xmpi_progress();
    xmpi_hook();
    if (xmpi_state.shares_cores)
        sched_yield();
}

static int taken_Wait(MPI_Request *request, MPI_Status *status)
{
    xmpi_persistent_t *persistent =
        request == NULL ? NULL : xmpi_persistent_started(*request);
    int code;

    if (persistent == NULL)
        return hosts_Wait(request, status);
    code = xmpi_persistent_wait(persistent);
    if (status != MPI_STATUS_IGNORE)
        status_empty(status);
    return code;
}

/* While the host waits for its requests, the hook moves the others. */
static int taken_Waitall(int count, MPI_Request requests[],
                         MPI_Status statuses[])
{
    int code, failure, i = next_started(count, requests, 0);

    if (i >= count)
        return hosts_Waitall(count, requests, statuses);
    code = hosts_Waitall(count, requests, statuses);
    for (; i < count; i = next_started(count, requests, i + 1)) {
        failure = xmpi_persistent_wait(xmpi_persistent_started(requests[i]));
        if (failure != MPI_SUCCESS)
            code = note_failure(count, statuses, i, failure, code);
    }
    return code;
}

static int taken_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    xmpi_persistent_t *persistent =
        request == NULL ? NULL : xmpi_persistent_started(*request);

    if (persistent == NULL)
        return hosts_Test(request, flag, status);
    *flag = xmpi_persistent_is_over(persistent);
    if (*flag)
        return tell(persistent, status);
    host_moves();
    return MPI_SUCCESS;
}

static int taken_Testall(int count, MPI_Request requests[], int *flag,
                         MPI_Status statuses[])
{
    int code, failure, i = next_started(count, requests, 0);

    if (i >= count)
        return hosts_Testall(count, requests, flag, statuses);
    if (!all_are_over(count, requests)) {
        *flag = 0;
        host_moves();
        return MPI_SUCCESS;
    }
    code = hosts_Testall(count, requests, flag, statuses);
    for (; *flag && i < count; i = next_started(count, requests, i + 1)) {
        failure =
            tell(xmpi_persistent_started(requests[i]), status_at(statuses, i));
        if (failure != MPI_SUCCESS)
            code = note_failure(count, statuses, i, failure, code);
    }
    return code;
}

static int taken_Testany(int count, MPI_Request requests[], int *index,
                         int *flag, MPI_Status *status)
{
    int code, i = next_started(count, requests, 0);

    if (i >= count)
        return hosts_Testany(count, requests, index, flag, status);
    i = first_over(count, requests);
    if (i < count) {
        *index = i;
        *flag = 1;
        return tell(xmpi_persistent_started(requests[i]), status);
    }
    code = hosts_Testany(count, requests, index, flag, status);
    if (code == MPI_SUCCESS && *flag && *index == MPI_UNDEFINED) {
        *flag = 0; /* the host does not know that some are started */
        host_moves();
    }
    return code;
}

static int taken_Waitany(int count, MPI_Request requests[], int *index,
                         MPI_Status *status)
{
    int code, flag = 0;

    if (next_started(count, requests, 0) >= count)
        return hosts_Waitany(count, requests, index, status);
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

    if (next_started(count, requests, 0) >= count)
        return hosts_Testsome(count, requests, done, indices, statuses);
    code = hosts_Testsome(count, requests, done, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return code;
    code = add_over(count, requests, done, indices, statuses, code);
    if (*done == 0)
        host_moves();
    return code;
}

static int taken_Waitsome(int count, MPI_Request requests[], int *done,
                          int indices[], MPI_Status statuses[])
{
    int code;

    if (next_started(count, requests, 0) >= count)
        return hosts_Waitsome(count, requests, done, indices, statuses);
    do
        code = taken_Testsome(count, requests, done, indices, statuses);
    while (code == MPI_SUCCESS && *done == 0);
    return code;
}

static int taken_Request_get_status(MPI_Request request, int *flag,
                                    MPI_Status *status)
{
    xmpi_persistent_t *persistent = xmpi_persistent_started(request);

    if (persistent == NULL)
        return hosts_Request_get_status(request, flag, status);
    *flag = xmpi_persistent_is_over(persistent);
    if (!*flag)
        host_moves();
    else if (status != MPI_STATUS_IGNORE)
        status_empty(status);
    return MPI_SUCCESS;
}

int xmpi_Request_get_status_all(int count, MPI_Request requests[], int *flag,
                                MPI_Status statuses[])
{
    if (all_are_over(count, requests))
        return hosts_Request_get_status_all(count, requests, flag, statuses);
    *flag = 0;
    host_moves();
    return MPI_SUCCESS;
}

int xmpi_Request_get_status_any(int count, MPI_Request requests[], int *index,
                                int *flag, MPI_Status *status)
{
    int code, i = first_over(count, requests);

    if (i < count) {
        *index = i;
        *flag = 1;
        if (status != MPI_STATUS_IGNORE)
            status_empty(status);
        return MPI_SUCCESS;
    }
    code = hosts_Request_get_status_any(count, requests, index, flag, status);
    if (code == MPI_SUCCESS && *flag && *index == MPI_UNDEFINED &&
        next_started(count, requests, 0) < count) {
        *flag = 0;
        host_moves();
    }
    return code;
}

int xmpi_Request_get_status_some(int count, MPI_Request requests[], int *done,
                                 int indices[], MPI_Status statuses[])
{
    int i = next_started(count, requests, 0);
    int code =
        hosts_Request_get_status_some(count, requests, done, indices, statuses);

    if (i >= count || code != MPI_SUCCESS)
        return code;
    if (*done == MPI_UNDEFINED)
        *done = 0;
    for (; i < count; i = next_started(count, requests, i + 1)) {
        if (!xmpi_persistent_is_over(xmpi_persistent_started(requests[i])))
            continue;
        if (statuses != MPI_STATUSES_IGNORE)
            status_empty(&statuses[*done]);
        indices[(*done)++] = i;
    }
    return code;
}

void xmpi_waits_take(int shall_poll)
{
    static _Atomic int are_taken;

    if (shall_poll)
        atomic_store_explicit(&polls, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&are_taken, 1, memory_order_relaxed) != 0)
        return;
#define X(name, ...) xmpi_front->take(#name, (xmpi_function_t)taken_##name);
    XMPI_WAITS_OF_3(X)
#undef X
}
