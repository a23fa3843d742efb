/* MPI_Alloc_mem hands out memory of xylem_alloc, which the ranks of a node read
 * where it lies. The host serves requests with an info, requests before the
 * ranks are connected, and those for which xylem has no memory. */
#include <pthread.h>
#include <search.h>
#include <stdint.h>

#include "bindings/mpi/call.h"

static struct {
    pthread_mutex_t lock;
    void *blocks; /* memory of xylem_alloc: a tree of addresses */
} handed_out = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int address_compare(const void *left, const void *right)
{
    return ((uintptr_t)left > (uintptr_t)right) -
           ((uintptr_t)left < (uintptr_t)right);
}

static int address_note(const void *memory)
{
    const void *noted;

    pthread_mutex_lock(&handed_out.lock);
    noted = tsearch(memory, &handed_out.blocks, address_compare);
    pthread_mutex_unlock(&handed_out.lock);
    return noted != NULL;
}

/* Forgets memory that was handed out here. 0: it was not. */
static int address_drop(const void *memory)
{
    const void *found;

    pthread_mutex_lock(&handed_out.lock);
    found = tdelete(memory, &handed_out.blocks, address_compare);
    pthread_mutex_unlock(&handed_out.lock);
    return found != NULL;
}

int xmpi_Alloc_mem(MPI_Aint bytes, MPI_Info info, void *memory_out)
{
    xylem_context_t *context = xmpi_context();
    void *memory;
    int code;

    if (context != NULL && bytes >= 0 && info == MPI_INFO_NULL &&
        memory_out != NULL &&
        xylem_alloc(context, (size_t)bytes, &memory) == XYLEM_OK) {
        if (address_note(memory)) {
            *(void **)memory_out = memory;
            return MPI_SUCCESS;
        }
        (void)xylem_free(context, memory);
    }
    code = xmpi_host.Alloc_mem(bytes, info, memory_out);
    /* The end of a context frees memory; its addresses may come again. */
    if (code == MPI_SUCCESS && memory_out != NULL)
        (void)address_drop(*(void **)memory_out);
    return code;
}

int xmpi_Free_mem(void *memory)
{
    xylem_context_t *context = xmpi_context();

    if (memory == NULL || !address_drop(memory))
        return xmpi_host.Free_mem(memory);
    if (context != NULL) /* the end of the context has freed all its memory */
        (void)xylem_free(context, memory);
    return MPI_SUCCESS;
}
