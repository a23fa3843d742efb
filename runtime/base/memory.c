#include "runtime/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_ALIGN = 16,
    ARENA_ALIGN_BIG_BYTES = 4096,
    ARENA_BLOCK_BYTES = 4096 /* the smallest block */
};

/* Every arena block begins with this, padded to XYL_MEMORY_ALIGN. */
typedef struct xyl_arena_block {
    struct xyl_arena_block *older;
    size_t bytes;
} arena_block_t;

static void *system_alloc(void *arg, size_t bytes)
{
    size_t mask = XYL_MEMORY_ALIGN - 1;

    (void)arg;
    if (bytes > SIZE_MAX - mask)
        return NULL;
    return aligned_alloc(XYL_MEMORY_ALIGN, (bytes + mask) & ~mask);
}

static void system_release(void *arg, void *block)
{
    (void)arg;
    free(block);
}

const xyl_allocator_t *xyl_allocator_system(void)
{
    static const xyl_allocator_t allocator = {system_alloc, system_release,
                                              NULL};

    return &allocator;
}

void xyl_pool_init(xyl_pool_t *pool, const xyl_allocator_t *allocator,
                   size_t kept_bytes_max)
{
    *pool = (xyl_pool_t){.allocator = allocator,
                         .kept_bytes_max = kept_bytes_max,
                         .block_bytes_max = 64 << 20};
    pthread_mutex_init(&pool->lock, NULL);
}

void xyl_pool_fini(xyl_pool_t *pool)
{
    unsigned class;

    for (class = 0; class < XYL_MEMORY_CLASS_COUNT; class ++) {
        void *block = pool->kept[class];
        while (block != NULL) {
            void *next = *(void **)block;
            pool->allocator->release(pool->allocator->arg, block);
            block = next;
        }
    }
    pthread_mutex_destroy(&pool->lock);
}

/* The class that holds `bytes`; XYL_MEMORY_CLASS_COUNT: too large to keep. */
static unsigned class_of(const xyl_pool_t *pool, size_t bytes)
{
    unsigned bits;

    if (bytes > pool->block_bytes_max)
        return XYL_MEMORY_CLASS_COUNT;
    if (bytes <= (size_t)1 << XYL_MEMORY_CLASS_MIN)
        return 0;
    bits = 64u - (unsigned)__builtin_clzll(bytes - 1);
    return bits > XYL_MEMORY_CLASS_MAX ? XYL_MEMORY_CLASS_COUNT
                                       : bits - XYL_MEMORY_CLASS_MIN;
}

static size_t class_bytes(unsigned class)
{
    return (size_t)1 << (class + XYL_MEMORY_CLASS_MIN);
}

void *xyl_pool_acquire(xyl_pool_t *pool, size_t bytes)
{
    unsigned class = class_of(pool, bytes);
    void *block;

    if (class == XYL_MEMORY_CLASS_COUNT)
        return pool->allocator->alloc(pool->allocator->arg, bytes);
    pthread_mutex_lock(&pool->lock);
    block = pool->kept[class];
    if (block != NULL) {
        pool->kept[class] = *(void **)block;
        pool->kept_bytes -= class_bytes(class);
    }
    pthread_mutex_unlock(&pool->lock);
    if (block != NULL)
        return block;
    return pool->allocator->alloc(pool->allocator->arg, class_bytes(class));
}

void xyl_pool_release(xyl_pool_t *pool, void *block, size_t bytes)
{
    unsigned class = class_of(pool, bytes);

    if (block == NULL)
        return;
    if (class < XYL_MEMORY_CLASS_COUNT) {
        pthread_mutex_lock(&pool->lock);
        if (pool->kept_bytes + class_bytes(class) <= pool->kept_bytes_max) {
            *(void **)block = pool->kept[class];
            pool->kept[class] = block;
            pool->kept_bytes += class_bytes(class);
            block = NULL;
        }
        pthread_mutex_unlock(&pool->lock);
    }
    if (block != NULL)
        pool->allocator->release(pool->allocator->arg, block);
}

void xyl_arena_init(xyl_arena_t *arena, xyl_pool_t *pool)
{
    *arena = (xyl_arena_t){.pool = pool};
}

void xyl_arena_fini(xyl_arena_t *arena)
{
    arena_block_t *block = arena->blocks;

    while (block != NULL) {
        arena_block_t *older = block->older;
        xyl_pool_release(arena->pool, block, block->bytes);
        block = older;
    }
    arena->blocks = NULL;
}

size_t xyl_arena_bytes(const xyl_arena_t *arena)
{
    const arena_block_t *block;
    size_t bytes = 0;

    for (block = arena->blocks; block != NULL; block = block->older)
        bytes += block->bytes;
    return bytes;
}

static int arena_grow(xyl_arena_t *arena, size_t bytes)
{
    size_t block_bytes = bytes + XYL_MEMORY_ALIGN;
    arena_block_t *block;

    if (block_bytes < bytes)
        return 0;
    if (block_bytes < ARENA_BLOCK_BYTES)
        block_bytes = ARENA_BLOCK_BYTES;
    block = xyl_pool_acquire(arena->pool, block_bytes);
    if (block == NULL)
        return 0;
    block->older = arena->blocks;
    block->bytes = block_bytes;
    arena->blocks = block;
    arena->used = XYL_MEMORY_ALIGN;
    return 1;
}

void *xyl_arena_alloc(xyl_arena_t *arena, size_t bytes)
{
    size_t align =
        bytes >= ARENA_ALIGN_BIG_BYTES ? XYL_MEMORY_ALIGN : ARENA_ALIGN;
    size_t at = (arena->used + align - 1) & ~(align - 1);

    if (arena->blocks == NULL || at > arena->blocks->bytes ||
        bytes > arena->blocks->bytes - at) {
        if (!arena_grow(arena, bytes))
            return NULL;
        at = arena->used;
    }
    arena->used = at + bytes;
    assert(arena->used <= arena->blocks->bytes);
    return (char *)arena->blocks + at;
}

void *xyl_arena_array(xyl_arena_t *arena, size_t count, size_t bytes)
{
    void *array;

    if (bytes != 0 && count > SIZE_MAX / bytes)
        return NULL;
    array = xyl_arena_alloc(arena, count * bytes);
    if (array != NULL)
        memset(array, 0, count * bytes);
    return array;
}
