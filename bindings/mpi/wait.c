/* Under a library that calls nobody while it makes progress, the functions that
 * wait for requests, or ask after them, finish what xylem has completed. The
 * thread of hook.c moves the data meanwhile, whatever function the program is
 * in.
 *
 * They are taken over only there; elsewhere the front leads to the library. */
#include "bindings/mpi/call.h"

#define WAITS_UNTIL(done, ASK, WAIT)                                           \
    int code = MPI_SUCCESS;                                                    \
                                                                               \
    if (!xmpi_work_is_active())                                                \
        return xmpi_host.WAIT;                                                 \
    do {                                                                       \
        xmpi_hook();                                                           \
        code = xmpi_host.ASK;                                                  \
    } while (code == MPI_SUCCESS && !(done));                                  \
    return code

#define ASKS(ASK)                                                              \
    xmpi_hook();                                                               \
    return xmpi_host.ASK

static int polled_Wait(MPI_Request *request, MPI_Status *status)
{
    int flag = 0;

    WAITS_UNTIL(flag, Test(request, &flag, status), Wait(request, status));
}

static int polled_Waitall(int count, MPI_Request requests[],
                          MPI_Status statuses[])
{
    int flag = 0;

    WAITS_UNTIL(flag, Testall(count, requests, &flag, statuses),
                Waitall(count, requests, statuses));
}

static int polled_Waitany(int count, MPI_Request requests[], int *index,
                          MPI_Status *status)
{
    int flag = 0;

    WAITS_UNTIL(flag, Testany(count, requests, index, &flag, status),
                Waitany(count, requests, index, status));
}

static int polled_Waitsome(int count, MPI_Request requests[], int *done,
                           int indices[], MPI_Status statuses[])
{
    WAITS_UNTIL(*done != 0, Testsome(count, requests, done, indices, statuses),
                Waitsome(count, requests, done, indices, statuses));
}

static int polled_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    ASKS(Test(request, flag, status));
}

static int polled_Testall(int count, MPI_Request requests[], int *flag,
                          MPI_Status statuses[])
{
    ASKS(Testall(count, requests, flag, statuses));
}

static int polled_Testany(int count, MPI_Request requests[], int *index,
                          int *flag, MPI_Status *status)
{
    ASKS(Testany(count, requests, index, flag, status));
}

static int polled_Testsome(int count, MPI_Request requests[], int *done,
                           int indices[], MPI_Status statuses[])
{
    ASKS(Testsome(count, requests, done, indices, statuses));
}

static int polled_Request_get_status(MPI_Request request, int *flag,
                                     MPI_Status *status)
{
    ASKS(Request_get_status(request, flag, status));
}

static int polled_Request_get_status_all(int count, MPI_Request requests[],
                                         int *flag, MPI_Status statuses[])
{
    ASKS(Request_get_status_all(count, requests, flag, statuses));
}

static int polled_Request_get_status_any(int count, MPI_Request requests[],
                                         int *index, int *flag,
                                         MPI_Status *status)
{
    ASKS(Request_get_status_any(count, requests, index, flag, status));
}

static int polled_Request_get_status_some(int count, MPI_Request requests[],
                                          int *done, int indices[],
                                          MPI_Status statuses[])
{
    ASKS(Request_get_status_some(count, requests, done, indices, statuses));
}

void xmpi_waits_take(void)
{
#define X(name)                                                                \
    if (xmpi_host.name != NULL)                                                \
        xmpi_front->take(#name, (xmpi_function_t)polled_##name);
    XMPI_WAITS(X)
#undef X
}
