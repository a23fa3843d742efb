#include "bindings/mpi/call.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

xmpi_host_t xmpi_host;
const xmpi_front_t *xmpi_front;

typedef struct wanted {
    const char *name;
    size_t at; /* in xmpi_host */
} wanted_t;

#define TEXT_(text) #text
#define TEXT(text)  TEXT_(text)
#define WANTED_(name, label)                                                   \
    {                                                                          \
        label, offsetof(xmpi_host_t, name)                                     \
    }

static const wanted_t wanted[] = {
#define WANTED(name) WANTED_(name, "PMPI_" #name),
    XMPI_HOST_FUNCTIONS(WANTED)
#undef WANTED
#define WANTED(ID, coll, name, iname, ...)                                     \
    WANTED_(name, "PMPI_" #name), WANTED_(iname, "PMPI_" #iname),              \
        WANTED_(name##_init, TEXT(XMPI_PERSISTENT(PMPI, name))),
        XYL_COLL_MPI_MAP(WANTED)
#undef WANTED
#if XMPI_HAS_LARGE_COUNTS
#define WANTED(ID, coll, name, iname, ...)                                     \
    WANTED_(name##_c, "PMPI_" #name "_c"),                                     \
        WANTED_(iname##_c, "PMPI_" #iname "_c"),                               \
        WANTED_(name##_init_c, "PMPI_" #name "_init_c"),
            XYL_COLL_MPI_DATA_MAP(WANTED)
#undef WANTED
#endif
};

/* Open MPI's own. */
static const wanted_t extra[] = {
    WANTED_(progress_register, "opal_progress_register"),
    WANTED_(progress_unregister, "opal_progress_unregister"),
    WANTED_(progress, "opal_progress"),
};

/* Stores the address of a function; NULL: there is none. */
static void *function_find(void *library, const wanted_t *function)
{
    void *found = dlsym(library, function->name);

    memcpy((char *)&xmpi_host + function->at, &found, sizeof found);
    return found;
}

XMPI_EXPORTED int xmpi_module_open(const xmpi_front_t *front);

/* How many functions are missing; a line names the first of them. */
int xmpi_module_open(const xmpi_front_t *front)
{
    const char *first_missing = NULL;
    int missing = 0;
    size_t i;

    xmpi_front = front;
    for (i = 0; i < sizeof extra / sizeof *extra; i++)
        (void)function_find(front->host, &extra[i]);
    for (i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (function_find(front->host, &wanted[i]) == NULL && missing++ == 0)
            first_missing = wanted[i].name;
    if (missing > 0)
        fprintf(stderr,
                "xylem-mpi: the MPI library has no %s (%d functions are "
                "missing)\n",
                first_missing, missing);
    return missing;
}

int xmpi_host_writes_to_requests(void)
{
#if defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
    return dlsym(RTLD_DEFAULT, "mpi_ialltoallw_") != NULL;
#else
    return 0;
#endif
}
