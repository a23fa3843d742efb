/* The directory of a node's shared memory: the range of each key. It lives in
 * the shared memory itself; all zeros are an empty directory. Any process may
 * be killed at any moment: at worst the entry that it was entering or leaving
 * is lost, and no other process ever waits for it. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    XYL_SHM_NODE_ENTRIES = 1 << 18, /* a power of two */
    XYL_SHM_NODE_LINE = 128         /* a pair of cache lines */
};

typedef struct xyl_shm_node_entry {
    _Atomic uint64_t word; /* state, users and generation */
    _Atomic uint64_t key;  /* written by the process that reserves the entry */
} xyl_shm_node_entry_t;

/* Counts one more user of `key`. Returns its entry; XYL_SHM_NODE_ENTRIES: all
 * entries are taken. */
uint32_t xyl_shm_node_enter(xyl_shm_node_entry_t *entries, uint64_t key);

/* Counts one user less. 1: it was the last. From then on no process finds the
 * entry; the caller clears its range and then calls xyl_shm_node_release. */
int xyl_shm_node_leave(xyl_shm_node_entry_t *entries, uint32_t index);
void xyl_shm_node_release(xyl_shm_node_entry_t *entries, uint32_t index);
