#include "bindings/mpi/call.h"

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

xmpi_host_t xmpi_host;
const xmpi_front_t *xmpi_front;
xmpi_state_t xmpi_state = {
    .world = MPI_COMM_NULL, .self = MPI_COMM_NULL, .job_group = MPI_GROUP_NULL};

typedef struct wanted {
    const char *name;
    const char *other_name; /* its name in older libraries, or NULL */
    size_t at;              /* in xmpi_host */
    int is_optional;
} wanted_t;

#define MUST(member, label)                                                    \
    {                                                                          \
        label, NULL, offsetof(xmpi_host_t, member), 0                          \
    }
#define MAY(member, label, other)                                              \
    {                                                                          \
        label, other, offsetof(xmpi_host_t, member), 1                         \
    }

static const wanted_t wanted[] = {
#define WANTED(name, ...) MUST(name, "PMPI_" #name),
    XMPI_HOST_FUNCTIONS(WANTED)
#undef WANTED
#define WANTED(name, ...) MAY(name, "PMPI_" #name, NULL),
        XMPI_HOST_OPTIONAL(WANTED)
#undef WANTED
#define WANTED(ID, coll, name, iname, ...)                                     \
    MUST(name, "PMPI_" #name), MUST(iname, "PMPI_" #iname),                    \
        MAY(name##_init, "PMPI_" #name "_init", "PMPIX_" #name "_init"),       \
        MAY(name##_c, "PMPI_" #name "_c", NULL),                               \
        MAY(iname##_c, "PMPI_" #iname "_c", NULL),                             \
        MAY(name##_init_c, "PMPI_" #name "_init_c", NULL),
            XYL_COLL_MPI_MAP(WANTED) XMPI_NEIGHBORS(WANTED)
#undef WANTED
                MAY(Comm_revoke, "PMPIX_Comm_revoke", NULL),
    /* Open MPI's own. */
    MAY(progress_register, "opal_progress_register", NULL),
    MAY(progress_unregister, "opal_progress_unregister", NULL),
    MAY(progress, "opal_progress", NULL),
};

/* Stores the address of a function and returns it; NULL: there is none. */
static void *function_find(void *library, const wanted_t *function)
{
    void *found = dlsym(library, function->name);

    if (found == NULL && function->other_name != NULL)
        found = dlsym(library, function->other_name);
    memcpy((char *)&xmpi_host + function->at, &found, sizeof found);
    return found;
}

XMPI_EXPORTED int xmpi_module_open(const xmpi_front_t *front);

/* Returns how many functions are missing; prints the first of them. */
int xmpi_module_open(const xmpi_front_t *front)
{
    const char *first_missing = NULL;
    int missing = 0;
    size_t i;

    xmpi_front = front;
    for (i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (function_find(front->host, &wanted[i]) == NULL &&
            !wanted[i].is_optional && missing++ == 0)
            first_missing = wanted[i].name;
    xmpi_host.is_open_mpi = strstr(front->version, "Open MPI") != NULL;
    if (missing > 0)
        fprintf(stderr,
                "xylem-mpi: the MPI library has no %s (%d functions are "
                "missing)\n",
                first_missing, missing);
    return missing;
}

/* Open MPI from 5 on is known by the MPI_ names of persistent collectives. */
int xmpi_host_writes_to_requests(void)
{
    return xmpi_host.is_open_mpi &&
           dlsym(xmpi_front->host, "PMPI_Bcast_init") != NULL &&
           dlsym(RTLD_DEFAULT, "mpi_ialltoallw_") != NULL;
}

int xmpi_host_lacks(MPI_Comm comm)
{
    xmpi_host.Comm_call_errhandler(comm, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

void *xmpi_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);

    if (memory != NULL)
        return memory;
    fprintf(stderr, "xylem-mpi: no memory for %zu * %zu bytes\n", count, bytes);
    abort();
}

_Thread_local int xmpi_has_erred;

/* An error handler that returns. MPI_ERRORS_RETURN is not the same number in
 * all libraries that offer the standard ABI. */
static void error_return(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    xmpi_has_erred = 1;
}

int xmpi_errhandler_make(MPI_Errhandler *handler)
{
    return xmpi_host.Comm_create_errhandler(error_return, handler);
}

void xmpi_errors_return(MPI_Comm comm)
{
    MPI_Errhandler handler;

    if (xmpi_errhandler_make(&handler) != MPI_SUCCESS)
        return;
    xmpi_host.Comm_set_errhandler(comm, handler);
    xmpi_host.Errhandler_free(&handler);
}

/* ---- exchange ---- */

int xmpi_exchange_finish(MPI_Request *request)
{
    int code = MPI_SUCCESS, flag = 0;

    while (code == MPI_SUCCESS && !flag) {
        code = xmpi_host.Test(request, &flag, MPI_STATUS_IGNORE);
        if (!flag && xmpi_state.shares_cores)
            sched_yield();
    }
    return code;
}

int xmpi_gather_all(const void *mine, void *all, size_t bytes, MPI_Comm comm)
{
    MPI_Request request;
    int code;

    if (xmpi_host.progress != NULL)
        return xmpi_host.Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                                   MPI_BYTE, comm);
    code = xmpi_host.Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                                MPI_BYTE, comm, &request);
    return code == MPI_SUCCESS ? xmpi_exchange_finish(&request) : code;
}

int xmpi_reduce_all(const void *mine, void *all, int count, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm)
{
    MPI_Request request;
    int code;

    if (xmpi_host.progress != NULL)
        return xmpi_host.Allreduce(mine, all, count, type, op, comm);
    code = xmpi_host.Iallreduce(mine, all, count, type, op, comm, &request);
    return code == MPI_SUCCESS ? xmpi_exchange_finish(&request) : code;
}
