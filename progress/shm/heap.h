/* The heap of a process: memory that the other processes of the node can map.
 * The heap lies at the end of the process's own file and grows by chunks, which
 * never move. Its bytes are numbered through all chunks.
 *
 * Any thread allocates and frees. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "progress/shm/ranges.h"

typedef struct xyl_shm_node_chunk {
    struct xyl_shm_node_chunk *next;
    uint64_t begin; /* number of its first byte */
    uint64_t bytes;
    char *memory;
    xyl_ranges_t ranges;
} xyl_shm_node_chunk_t;

typedef struct xyl_shm_node_heap {
    int fd;           /* borrowed */
    uint64_t at;      /* byte of the file at which the heap begins */
    uint64_t bytes;   /* of all chunks */
    uint64_t reaches; /* bytes of the file from `at` on; never shrinks */
    xyl_shm_node_chunk_t *chunks;
    pthread_mutex_t lock;
} xyl_shm_node_heap_t;

void xyl_shm_node_heap_init(xyl_shm_node_heap_t *heap, int fd, uint64_t at);
void xyl_shm_node_heap_fini(xyl_shm_node_heap_t *heap);

/* NULL: no memory. Aligned to 64 bytes, large pieces to pages. */
void *xyl_shm_node_heap_alloc(xyl_shm_node_heap_t *heap, size_t bytes);
void xyl_shm_node_heap_free(xyl_shm_node_heap_t *heap, void *memory);

/* The number of the byte at `memory`, and the address of byte `number`.
 * UINT64_MAX and NULL: not all `bytes` are in one chunk. */
uint64_t xyl_shm_node_heap_number(xyl_shm_node_heap_t *heap, const void *memory,
                                  size_t bytes);
const void *xyl_shm_node_heap_place(xyl_shm_node_heap_t *heap, uint64_t number,
                                    size_t bytes);

/* Another process's heap, mapped in this process. */
typedef struct xyl_shm_node_view {
    struct xyl_shm_node_view *older; /* a smaller view, still in use */
    uint64_t bytes;
    uint64_t there; /* of `bytes`, known to be in the file */
    char *memory;
} xyl_shm_node_view_t;

/* The address of byte `number` of another process's heap, with `bytes` behind
 * it. The heap begins at `at` of the file `fd`. NULL: the heap cannot be
 * mapped, or the file is shorter: a read beyond its end would end this process.
 * Addresses stay valid until xyl_shm_node_view_fini. */
const void *xyl_shm_node_view(xyl_shm_node_view_t **view, int fd, uint64_t at,
                              uint64_t number, size_t bytes);
void xyl_shm_node_view_fini(xyl_shm_node_view_t **view);
