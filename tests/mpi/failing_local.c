/* Preloaded: the MPI library's MPI_Reduce_local as the binding finds it fails
 * on rank 0. The binding asks dlsym for it. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

static int fails(const void *in, void *inout, int count, MPI_Datatype type,
                 MPI_Op op)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0 ? MPI_ERR_INTERN
                     : PMPI_Reduce_local(in, inout, count, type, op);
}

void *dlsym(void *library, const char *name)
{
    static void *(*real)(void *library, const char *name);
    int (*failing)(const void *, void *, int, MPI_Datatype, MPI_Op) = fails;
    void *found;

    if (real == NULL) {
        void *symbol = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (symbol == NULL)
            symbol = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        memcpy(&real, &symbol, sizeof real);
    }
    if (strcmp(name, "PMPI_Reduce_local") != 0)
        return real(library, name);
    memcpy(&found, &failing, sizeof found);
    return found;
}
