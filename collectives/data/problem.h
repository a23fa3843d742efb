/* The problem of a collective, as one rank sees it: the blocks of each rank,
 * their lengths and their places. It is found once for a call (data/call.h);
 * writers of schedules and of node programs read it, and levels make smaller
 * ones of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

struct xyl_limits;

/* Where the buffers of a call lie, as far as all its ranks know alike. */
typedef enum xyl_memory {
    XYL_MEMORY_HOST, /* a rank with buffers elsewhere uses mirrors, and tells
                        nobody */
    /* On some ranks in memory of GPUs; ranks tell each other: */
    XYL_MEMORY_GPUS,      /* some may take turns on a GPU */
    XYL_MEMORY_GPUS_APART /* their kernels run side by side */
} xyl_memory_t;

/* Facts of a call beside its arguments, alike on all ranks; all 0: nothing
 * particular. */
typedef struct xyl_way {
    uint16_t memory;    /* xyl_memory_t */
    uint16_t has_board; /* its tag has a board: node/tagged.h */
} xyl_way_t;

static inline int xyl_way_is_plain(xyl_way_t way)
{
    return (way.memory | way.has_board) == 0;
}

static inline int xyl_way_is(xyl_way_t a, xyl_way_t b)
{
    return ((a.memory ^ b.memory) | (a.has_board ^ b.has_board)) == 0;
}

/* The node's part of a problem, for a program in the memory of a node. Equal on
 * its ranks. */
typedef struct xyl_problem_on_node {
    const struct xyl_limits *limits; /* data/limits.h */
    uint64_t window_bytes;           /* at most, for one piece */
    uint64_t long_window_bytes;      /* the same where two windows suffice */
    uint64_t share_bytes; /* from this length on input may be read where it
                             lies; 0: never */
    /* [ranks] the lowest rank of each one's group; NULL: there is one group */
    const uint32_t *group_of;
    int roots_in_turn; /* each lane has another rank as its root */
    int is_level;      /* a level: seats have a part of the data */
    int is_for_one;    /* a level: one rank of all nodes gets the result */
    /* With relays (levels/relay.h): the root is on this node; this seat has a
     * relay. */
    int is_at_root, has_relay;
} xyl_problem_on_node_t;

/* Lengths and places are in elements where contributions are combined, and in
 * packed bytes (elements of one byte) in all other collectives.
 *
 *   bcast, reduce, allreduce, scan, exscan    count: of the message
 *   gather, allgather, scatter, alltoall      count: of each rank's block
 *   reduce_scatter_block                      count: of each rank's block
 *   the v forms, reduce_scatter               counts, displs: of each block
 *
 * Block i lies in the large buffer at i * count, or at displs[i]; the small
 * buffer begins at 0. In place, the small buffer's block lies in its place of
 * the large one. The whole input of a reduce_scatter then lies where the result
 * goes, at the beginning of RECV; an alltoall sends a rank's block from where
 * that rank's block is received. */
typedef struct xyl_problem {
    xylem_coll_t coll;
    /* The call's, for parameters that only its collective has; borrowed. NULL:
     * levels have made the problem, or there is no call. */
    const xylem_coll_args_t *args;
    uint32_t rank, ranks, root; /* of those that take part */
    uint64_t count;
    /* [ranks] of the side that has blocks, if this rank knows them; NULL:
     * regular. Counts or displs alone may be NULL. Borrowed. */
    const uint64_t *send_counts, *send_displs;
    const uint64_t *recv_counts, *recv_displs;
    size_t element_bytes; /* packed */
    int is_in_place;
    int is_commutative;   /* any order that is always the same will do */
    int in_arrival_order; /* contributions may be combined as they come */
    int combines_sums;    /* made of the user's numbers, see data/binned.h */
    int has_tag;          /* nothing may depend on the order of calls */
    int tag_has_board;    /* on one node: node/tagged.h */
    uint32_t labels_max;  /* of the messages of a schedule; 0: any number */
    int shares_memory;    /* all ranks are on one node and share memory */
    int on_device; /* ranks also tell each other of buffers in memory of GPUs,
                      where kernels may run the collective */
    /* Why on_device is 0, a static string that follows an algorithm's name;
     * NULL: no buffers are there. */
    const char *off_device;
    int side_by_side;       /* no ranks take turns on a GPU */
    int is_unasked;         /* the user says where all buffers lie */
    int fills_nodes;        /* ranks are numbered node after node */
    uint32_t radix;         /* 0: the algorithm's own choice */
    uint64_t segment_bytes; /* 0: not cut, or the algorithm's own choice */
    xyl_problem_on_node_t node;
} xyl_problem_t;

/* Bytes of the message, or of each block. */
static inline uint64_t xyl_problem_bytes(const xyl_problem_t *problem)
{
    return problem->count * problem->element_bytes;
}

/* 1 if this rank knows of blocks that may differ. */
static inline int xyl_problem_varies(const xyl_problem_t *problem)
{
    return problem->send_counts != NULL || problem->recv_counts != NULL;
}

/* ---- one side's blocks ---- */

static inline uint64_t xyl_block_count(const xyl_problem_t *problem,
                                       const uint64_t *counts, uint32_t rank)
{
    return counts == NULL ? problem->count : counts[rank];
}

static inline uint64_t xyl_block_at(const xyl_problem_t *problem,
                                    const uint64_t *displs, uint32_t rank)
{
    return displs == NULL ? problem->count * rank : displs[rank];
}

/* ---- blocks of the large buffer: received, if any have arrays ---- */

static inline uint64_t xyl_problem_block(const xyl_problem_t *problem,
                                         uint32_t rank)
{
    const uint64_t *counts = problem->recv_counts != NULL
                                 ? problem->recv_counts
                                 : problem->send_counts;

    return xyl_block_count(problem, counts, rank);
}

static inline uint64_t xyl_problem_block_at(const xyl_problem_t *problem,
                                            uint32_t rank)
{
    const uint64_t *displs = problem->recv_displs != NULL
                                 ? problem->recv_displs
                                 : problem->send_displs;

    return xyl_block_at(problem, displs, rank);
}
