/* Shared memory of the processes of a node: the backend of progress/shm/shm.h
 * for real jobs.
 *
 * Each process makes a file of memory without a name, so that a killed process
 * leaves nothing behind, and a pipe through which others wake the process. It
 * tells the others the numbers of both descriptors; the others open these
 * through /proc. The first member's file holds the memory that all share:
 *
 *   header | line of each member | directory | ranges, one per entry
 *          `- 1: the member sleeps             |<- stride ->|
 *
 * The file is sparse: a page takes memory when a process first writes to it. A
 * range belongs to the key of its entry (directory.h). Each process has its
 * heap in its own file, behind the place of the ranges (heap.h).
 *
 *   create    before the processes know each other
 *   offer     the facts of this process that the others need
 *   join      with the offers of all
 */
#pragma once

#include "progress/shm/shm.h"

typedef struct xyl_shm_node xyl_shm_node_t;

/* Why there is no shared memory. Processes send each other this value. */
typedef enum xyl_shm_trouble {
    XYL_SHM_FINE,
    XYL_SHM_NO_MEMORY,
    XYL_SHM_NO_FILE,
    XYL_SHM_FILE_SIZE,
    XYL_SHM_NO_PIPE,
    XYL_SHM_NO_PROC,
    XYL_SHM_NO_MAP,
    XYL_SHM_LAYOUT,
    XYL_SHM_TROUBLES
} xyl_shm_trouble_t;

/* Equal for all members. */
typedef struct xyl_shm_node_params {
    uint64_t region_bytes_max;
    uint32_t ranks; /* of the job; a node has no more members */
} xyl_shm_node_params_t;

typedef struct xyl_shm_member {
    uint32_t rank;
    int32_t pid;
    int32_t memory_fd; /* descriptors of `pid`; -1: it has none */
    int32_t wake_fd;
    uint64_t memory_inode; /* show that a descriptor's number is reused */
    uint64_t wake_inode;
    uint64_t space; /* the namespace of `pid`; 0: unknown */
} xyl_shm_member_t;

/* Returns owned (free with xyl_shm_node_destroy); NULL: no memory.
 * xyl_shm_node_join reports all other trouble, since all members must learn of
 * it. */
xyl_shm_node_t *xyl_shm_node_create(const xyl_shm_node_params_t *params);
/* These three accept NULL for `node`. */
void xyl_shm_node_destroy(xyl_shm_node_t *node);
void xyl_shm_node_offer(const xyl_shm_node_t *node,
                        xyl_shm_member_t *member_out);
/* `members`, which are copied, are all processes that share memory, in the
 * order of ranks. The first member's process must neither end nor destroy its
 * node before all have joined. After trouble the node can only be destroyed. */
xyl_shm_trouble_t xyl_shm_node_join(xyl_shm_node_t *node,
                                    const xyl_shm_member_t *members,
                                    uint32_t count, uint32_t own_rank);

/* Says that this member may sleep. Called after joining, before this member
 * reports its success to the others. */
void xyl_shm_node_allow_sleep(xyl_shm_node_t *node);
/* Called when all members have joined. */
void xyl_shm_node_settle(xyl_shm_node_t *node);

/* After joining. Borrowed. */
xyl_shm_t *xyl_shm_node_shm(xyl_shm_node_t *node);
/* Readable when another member has woken this one; `sleeps` empties it. */
int xyl_shm_node_wake_fd(const xyl_shm_node_t *node);

const char *xyl_shm_trouble_text(xyl_shm_trouble_t trouble);
