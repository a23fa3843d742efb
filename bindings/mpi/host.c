#include "bindings/mpi/call.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

xmpi_host_t xmpi_host;
const xmpi_front_t *xmpi_front;

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
