/* Memory: a pool of blocks in power-of-two classes over a replaceable
 * allocator, and arenas, which allocate from blocks of the pool and give all
 * back at once. Blocks are aligned to XYL_MEMORY_ALIGN. Any thread may use the
 * pool; an arena belongs to one object. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum {
    XYL_MEMORY_ALIGN = 128,    /* a pair of cache lines */
    XYL_MEMORY_CLASS_MIN = 10, /* smallest block: 2^10 bytes */
    XYL_MEMORY_CLASS_MAX = 39, /* largest block that is ever kept */
    XYL_MEMORY_CLASS_COUNT = XYL_MEMORY_CLASS_MAX - XYL_MEMORY_CLASS_MIN + 1
};

/* The source of blocks. Tests replace it to count allocations and to make them
 * fail. */
typedef struct xyl_allocator {
    /* Aligned to XYL_MEMORY_ALIGN. NULL: there is no memory. */
    void *(*alloc)(void *arg, size_t bytes);
    void (*release)(void *arg, void *block);
    void *arg;
} xyl_allocator_t;

const xyl_allocator_t *xyl_allocator_system(void);

typedef struct xyl_pool {
    const xyl_allocator_t *allocator;
    size_t kept_bytes;
    size_t kept_bytes_max; /* freed blocks beyond this go back to the system, */
    size_t block_bytes_max;             /* as do longer ones than this */
    void *kept[XYL_MEMORY_CLASS_COUNT]; /* freed blocks, linked */
    pthread_mutex_t lock;
} xyl_pool_t;

/* Sets `block_bytes_max` to 64 MiB. */
void xyl_pool_init(xyl_pool_t *pool, const xyl_allocator_t *allocator,
                   size_t kept_bytes_max);
/* All blocks must have been released. */
void xyl_pool_fini(xyl_pool_t *pool);
/* NULL: there is no memory. Release a block with the `bytes` of its
 * xyl_pool_acquire. */
void *xyl_pool_acquire(xyl_pool_t *pool, size_t bytes);
void xyl_pool_release(xyl_pool_t *pool, void *block, size_t bytes);

/* An arena: bump allocation from a chain of pool blocks. */
typedef struct xyl_arena {
    xyl_pool_t *pool;
    struct xyl_arena_block *blocks;
    size_t used; /* of the newest block */
} xyl_arena_t;

void xyl_arena_init(xyl_arena_t *arena, xyl_pool_t *pool);
void xyl_arena_fini(xyl_arena_t *arena);
/* The bytes that the arena has taken from the pool. */
size_t xyl_arena_bytes(const xyl_arena_t *arena);
/* Not cleared; aligned to 16 bytes, or to XYL_MEMORY_ALIGN from 4 KiB on. NULL:
 * there is no memory. */
void *xyl_arena_alloc(xyl_arena_t *arena, size_t bytes);
/* Cleared; NULL also when count * bytes overflows. */
void *xyl_arena_array(xyl_arena_t *arena, size_t count, size_t bytes);
