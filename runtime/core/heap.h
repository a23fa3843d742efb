/* What xylem_alloc has handed out: of the memory that the ranks of the node see
 * where there is some, else of the system's. Any thread. */
#ifndef XYL_RUNTIME_CORE_HEAP_H
#define XYL_RUNTIME_CORE_HEAP_H

#include <pthread.h>
#include <stddef.h>

struct xyl_shm;

typedef struct xyl_heap {
    struct xyl_shm *shm; /* NULL, or without a heap: the system's memory */
    void *blocks;        /* by address: a tree of tsearch's */
    pthread_mutex_t lock;
} xyl_heap_t;

void xyl_heap_init(xyl_heap_t *heap);
/* Frees what is left. `shm` is still there. */
void xyl_heap_fini(xyl_heap_t *heap);

#endif
