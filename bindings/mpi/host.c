#include "bindings/mpi/host.h"

#include <dlfcn.h>
#include <stdio.h>

xmpi_host_t xmpi_host;
static const char *first_missing;

/* Stores a function's address; 0: it is there. */
static int find(void *library, const char *name, void *where)
{
    void *found = dlsym(library, name);

    *(void **)where = found;
    if (found == NULL && first_missing == NULL)
        first_missing = name;
    return found == NULL;
}

static int find_others(void *library)
{
    int missing = 0;

#define FIND(name) missing += find(library, "PMPI_" #name, &xmpi_host.name);
    XMPI_HOST_FUNCTIONS(FIND)
#undef FIND
    return missing;
}

static int find_collectives(void *library)
{
    int missing = 0;

#define FIND(ID, coll, name, iname, ...)                                       \
    missing += find(library, "PMPI_" #name, &xmpi_host.name);                  \
    missing += find(library, "PMPI_" #iname, &xmpi_host.iname);
    XYL_COLL_MPI_MAP(FIND)
#undef FIND
    return missing;
}

static int find_persistent(void *library)
{
    int missing = 0;

#define WORD_(text) #text
#define WORD(text)  WORD_(text)
#define FIND(ID, coll, name, iname, ...)                                       \
    missing += find(library, WORD(XMPI_PERSISTENT(PMPI, name)),                \
                    &xmpi_host.name##_init);
    XYL_COLL_MPI_MAP(FIND)
#undef FIND
#undef WORD
#undef WORD_
    return missing;
}

static int find_large(void *library)
{
    int missing = 0;

#if XMPI_HAS_LARGE_COUNTS
#define FIND(ID, coll, name, iname, ...)                                       \
    missing += find(library, "PMPI_" #name "_c", &xmpi_host.name##_c);         \
    missing += find(library, "PMPI_" #iname "_c", &xmpi_host.iname##_c);       \
    missing += find(library, "PMPI_" #name "_init_c", &xmpi_host.name##_init_c);
    XYL_COLL_MPI_DATA_MAP(FIND)
#undef FIND
#else
    (void)library;
#endif
    return missing;
}

int xmpi_host_find(void *library)
{
    int missing;

    *(void **)(void *)&xmpi_host.progress_register =
        dlsym(library, "opal_progress_register");
    *(void **)(void *)&xmpi_host.progress_unregister =
        dlsym(library, "opal_progress_unregister");
    *(void **)(void *)&xmpi_host.progress = dlsym(library, "opal_progress");
    missing = find_others(library) + find_collectives(library) +
              find_persistent(library) + find_large(library);
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
