#include "bindings/mpi/host.h"

#include <dlfcn.h>
#include <stdio.h>

xmpi_host_t xmpi_host;

/* Stores a function's address; 0: it is there. */
static int find(void *library, const char *name, void *where)
{
    void *found = dlsym(library, name);

    *(void **)where = found;
    if (found == NULL)
        fprintf(stderr, "xylem-mpi: the MPI library has no %s\n", name);
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
    XYL_COLL_MAP(FIND)
#undef FIND
    return missing;
}

static int find_mpi4(void *library)
{
    int missing = 0;

#if XMPI_HOST_HAS_MPI4
#define FIND(ID, coll, name, iname, ...)                                       \
    missing += find(library, "PMPI_" #name "_init", &xmpi_host.name##_init);
    XYL_COLL_MAP(FIND)
#undef FIND
#define FIND(ID, coll, name, iname, ...)                                       \
    missing += find(library, "PMPI_" #name "_c", &xmpi_host.name##_c);         \
    missing += find(library, "PMPI_" #iname "_c", &xmpi_host.iname##_c);       \
    missing += find(library, "PMPI_" #name "_init_c", &xmpi_host.name##_init_c);
    XYL_COLL_DATA_MAP(FIND)
#undef FIND
#else
#define FIND(ID, coll, name, iname, ...)                                       \
    missing += find(library, "PMPIX_" #name "_init", &xmpi_host.name##_init);
    XYL_COLL_MAP(FIND)
#undef FIND
#endif
    return missing;
}

int xmpi_host_find(void *library)
{
    *(void **)(void *)&xmpi_host.progress_register =
        dlsym(library, "opal_progress_register");
    *(void **)(void *)&xmpi_host.progress_unregister =
        dlsym(library, "opal_progress_unregister");
    *(void **)(void *)&xmpi_host.progress = dlsym(library, "opal_progress");
    return find_others(library) + find_collectives(library) +
           find_mpi4(library);
}
