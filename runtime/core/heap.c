#include "runtime/core/heap.h"

#include <stdint.h>
#include <stdlib.h>

#include "progress/shm/shm.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { ALIGN = 64, PAGE_BYTES = 4096, LARGE_BYTES = 2 << 20 };

typedef struct xyl_heap_block {
    struct xyl_heap_block *next; /* in its bucket */
    void *memory;
    int is_shared;
} block_t;

void xyl_heap_init(xyl_heap_t *heap)
{
    *heap = (xyl_heap_t){.shm = NULL};
    pthread_mutex_init(&heap->lock, NULL);
}

static block_t **bucket_of(xyl_heap_t *heap, const void *memory)
{
    uint64_t line = (uint64_t)(uintptr_t)memory / ALIGN;

    return &heap->buckets[(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
                          XYL_HEAP_BUCKETS];
}

/* ---- one block ---- */

static void *system_alloc(size_t bytes)
{
    size_t align = bytes >= LARGE_BYTES ? PAGE_BYTES : ALIGN;

    if (bytes > SIZE_MAX - align)
        return NULL;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static block_t *block_create(const xyl_heap_t *heap, size_t bytes)
{
    xyl_shm_t *shm = heap->shm;
    block_t *block = calloc(1, sizeof *block);

    if (block == NULL)
        return NULL;
    if (shm != NULL && shm->ops->heap_alloc != NULL)
        block->memory = shm->ops->heap_alloc(shm, bytes);
    block->is_shared = block->memory != NULL;
    if (!block->is_shared)
        block->memory = system_alloc(bytes);
    if (block->memory != NULL)
        return block;
    free(block);
    return NULL;
}

static void block_destroy(const xyl_heap_t *heap, block_t *block)
{
    if (block->is_shared)
        heap->shm->ops->heap_free(heap->shm, block->memory);
    else
        free(block->memory);
    free(block);
}

void xyl_heap_fini(xyl_heap_t *heap)
{
    unsigned i;

    for (i = 0; i < XYL_HEAP_BUCKETS; i++)
        while (heap->buckets[i] != NULL) {
            block_t *block = heap->buckets[i];
            heap->buckets[i] = block->next;
            block_destroy(heap, block);
        }
    pthread_mutex_destroy(&heap->lock);
}

/* ---- the public functions ---- */

xylem_status_t xylem_alloc(xylem_context_t *context, size_t bytes,
                           void **memory_out)
{
    xylem_status_t status = xyl_context_check(context, "xylem_alloc");
    block_t *block, **bucket;

    if (status != XYLEM_OK)
        return status;
    if (memory_out == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_alloc: memory_out is NULL");
    block = block_create(&context->heap, bytes == 0 ? 1 : bytes);
    if (block == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "xylem_alloc: no %zu bytes left",
                        bytes);
    pthread_mutex_lock(&context->heap.lock);
    bucket = bucket_of(&context->heap, block->memory);
    block->next = *bucket;
    *bucket = block;
    pthread_mutex_unlock(&context->heap.lock);
    *memory_out = block->memory;
    return XYLEM_OK;
}

xylem_status_t xylem_free(xylem_context_t *context, void *memory)
{
    xylem_status_t status = xyl_context_check(context, "xylem_free");
    block_t *block, **link;

    if (status != XYLEM_OK || memory == NULL)
        return status;
    pthread_mutex_lock(&context->heap.lock);
    link = bucket_of(&context->heap, memory);
    while (*link != NULL && (*link)->memory != memory)
        link = &(*link)->next;
    block = *link;
    if (block != NULL)
        *link = block->next;
    pthread_mutex_unlock(&context->heap.lock);
    if (block == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_free: %p is not what xylem_alloc returned for "
                        "this context, or it has been freed",
                        memory);
    block_destroy(&context->heap, block);
    return XYLEM_OK;
}
