/* Shared memory of the processes of a node: see progress/shm/shm.h for what it
 * offers. The backend of real jobs.
 *
 * Every process makes a file of memory that has no name, so that nothing stays
 * behind whoever is killed, and a pipe through which others wake it. It tells
 * the others the numbers of both descriptors; they open them through /proc. The
 * first member's file holds what all share:
 *
 *   header | line of each member | directory | ranges, one per entry
 *          `- 1: it sleeps                     |<- stride ->|
 *
 * All of it is sparse: memory is taken where somebody writes. A range belongs
 * to the key of its entry, see directory.h. Behind the ranges each
 * process has its heap, in its own file, see heap.h.
 *
 *   create    before the processes know each other
 *   offer     what the others must know of this one
 *   join      with what all have offered
 */
#ifndef XYL_PROGRESS_SHM_NODE_H
#define XYL_PROGRESS_SHM_NODE_H

#include "progress/shm/shm.h"

typedef struct xyl_shm_node xyl_shm_node_t;

/* Why there is no shared memory. Travels between processes. */
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
    int32_t memory_fd; /* as its process numbers them; -1: it has none */
    int32_t wake_fd;
    uint64_t memory_inode; /* so that nothing is taken for them later */
    uint64_t wake_inode;
    uint64_t space; /* of process numbers, in which pid is one; 0: unknown */
} xyl_shm_member_t;

/* Returns owned (free with xyl_shm_node_destroy); NULL: no memory. What else
 * goes wrong is for xyl_shm_node_join to say, as the others must hear of it. */
xyl_shm_node_t *xyl_shm_node_create(const xyl_shm_node_params_t *params);
/* NULL is allowed, for these three. */
void xyl_shm_node_destroy(xyl_shm_node_t *node);
void xyl_shm_node_offer(const xyl_shm_node_t *node,
                        xyl_shm_member_t *member_out);
/* The members are all that share memory, in the order of ranks; they are
 * copied. The process of the first one must not have ended, or destroyed its
 * node, before all have joined. After trouble the node can only be destroyed.
 */
xyl_shm_trouble_t xyl_shm_node_join(xyl_shm_node_t *node,
                                    const xyl_shm_member_t *members,
                                    uint32_t count, uint32_t own_rank);

/* After joining, and before the others are told that it went well: this member
 * may sleep. */
void xyl_shm_node_may_sleep(xyl_shm_node_t *node);
/* When all have joined. */
void xyl_shm_node_settle(xyl_shm_node_t *node);

/* After joining. Borrowed. */
xyl_shm_t *xyl_shm_node_shm(xyl_shm_node_t *node);
/* Readable when this member was woken; `sleeps` empties it. */
int xyl_shm_node_wake_fd(const xyl_shm_node_t *node);

/* In words, for a warning. */
const char *xyl_shm_trouble_text(xyl_shm_trouble_t trouble);

#endif
