/* The memory that xylem_alloc hands out: memory that the node's ranks share, if
 * there is any; else the system's. Any thread. */
#pragma once

#include <pthread.h>
#include <stddef.h>

struct xyl_shm;

typedef struct xyl_heap {
    struct xyl_shm *shm; /* NULL, or without heap_alloc: the system's memory */
    void *blocks;        /* by address: a tree of tsearch */
    pthread_mutex_t lock;
} xyl_heap_t;

void xyl_heap_init(xyl_heap_t *heap);
/* Frees the blocks that are left. Before `shm` ends. */
void xyl_heap_fini(xyl_heap_t *heap);
