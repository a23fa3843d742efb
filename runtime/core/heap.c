#include "runtime/core/heap.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "progress/shm/shm.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { ALIGN = 64, PAGE_BYTES = 4096, LARGE_BYTES = 2 << 20 };

typedef struct block {
    void *memory;
    xyl_shm_t *shm; /* owns the memory; NULL: the system does */
} block_t;

static int block_compare(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)((const block_t *)left)->memory;
    uintptr_t b = (uintptr_t)((const block_t *)right)->memory;

    return (a > b) - (a < b);
}

void xyl_heap_init(xyl_heap_t *heap)
{
    *heap = (xyl_heap_t){.shm = NULL};
    pthread_mutex_init(&heap->lock, NULL);
}

/* ---- one block ---- */

static void *heap_alloc_system(size_t bytes)
{
    size_t align = bytes >= LARGE_BYTES ? PAGE_BYTES : ALIGN;

    if (bytes > SIZE_MAX - align)
        return NULL;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static block_t *block_create(xyl_shm_t *shm, size_t bytes)
{
    block_t *block = calloc(1, sizeof *block);

    if (block == NULL)
        return NULL;
    if (shm != NULL && shm->ops->heap_alloc != NULL)
        block->memory = shm->ops->heap_alloc(shm, bytes);
    if (block->memory != NULL)
        block->shm = shm;
    else
        block->memory = heap_alloc_system(bytes);
    if (block->memory != NULL)
        return block;
    free(block);
    return NULL;
}

static void block_destroy(void *arg)
{
    block_t *block = arg;

    if (block->shm != NULL)
        block->shm->ops->heap_free(block->shm, block->memory);
    else
        free(block->memory);
    free(block);
}

void xyl_heap_fini(xyl_heap_t *heap)
{
    tdestroy(heap->blocks, block_destroy);
    pthread_mutex_destroy(&heap->lock);
}

/* ---- the public functions ---- */

xylem_status_t xylem_alloc(xylem_context_t *context, size_t bytes,
                           void **memory_out)
{
    xylem_status_t status = xyl_context_check(context, "xylem_alloc");
    block_t *block;
    void *kept = NULL;

    if (status != XYLEM_OK)
        return status;
    if (memory_out == NULL)
        return xyl_refuse("xylem_alloc", "memory_out is NULL");
    block = block_create(context->heap.shm, bytes == 0 ? 1 : bytes);
    if (block != NULL) {
        pthread_mutex_lock(&context->heap.lock);
        kept = tsearch(block, &context->heap.blocks, block_compare);
        pthread_mutex_unlock(&context->heap.lock);
        if (kept == NULL)
            block_destroy(block);
    }
    if (kept == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "xylem_alloc: no %zu bytes left",
                        bytes);
    *memory_out = block->memory;
    return XYLEM_OK;
}

xylem_status_t xylem_free(xylem_context_t *context, void *memory)
{
    const block_t wanted = {memory, NULL};
    xylem_status_t status = xyl_context_check(context, "xylem_free");
    block_t **found, *block = NULL;

    if (status != XYLEM_OK || memory == NULL)
        return status;
    pthread_mutex_lock(&context->heap.lock);
    found = tfind(&wanted, &context->heap.blocks, block_compare);
    if (found != NULL) {
        block = *found;
        tdelete(block, &context->heap.blocks, block_compare);
    }
    pthread_mutex_unlock(&context->heap.lock);
    if (block == NULL)
        return xyl_refuse("xylem_free",
                          "%p is not what xylem_alloc returned for this "
                          "context, or it has been freed",
                          memory);
    block_destroy(block);
    return XYLEM_OK;
}
