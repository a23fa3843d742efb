/* Algorithms: who sends what to whom in a collective, written as schedules by
 * pure functions of the problem, one file each in collectives/schedules/. The
 * table of all of them, with what each demands, is what selection, the tuner
 * and `xylem-bench --algorithm list` read. Everything here is constant; any
 * thread.
 */
#ifndef XYL_COLLECTIVES_SCHEDULES_ALGORITHM_H
#define XYL_COLLECTIVES_SCHEDULES_ALGORITHM_H

#include "collectives/data/schedule.h"
#include "runtime/base/parts.h"

/* What a schedule is to be written for: one rank's view. Counts are elements.
 *
 *   bcast, reduce, allreduce, scan, exscan    count: of the message
 *   gather, allgather, scatter, alltoall      count: of each rank's block
 *   reduce_scatter_block                      count: of each rank's block
 *   the v forms, reduce_scatter               counts, displs: of each block
 *
 * Block i lies in the large buffer at i * count, or at displs[i]; the small
 * buffer begins at 0. In place: what this rank would have in the small buffer
 * lies in its place of the large one; of a reduce_scatter the whole input lies
 * where the result goes, at the beginning of RECV. */
typedef struct xyl_problem {
    xylem_coll_t coll;
    uint32_t rank, ranks, root;
    uint64_t count;
    const uint64_t *send_counts, *send_displs; /* [ranks]; NULL: regular */
    const uint64_t *recv_counts, *recv_displs;
    size_t element_bytes; /* packed */
    int is_in_place;
    int is_commutative;
    int shares_memory;      /* all ranks live on one node and can */
    int fills_nodes;        /* ranks are numbered node after node */
    uint32_t radix;         /* 0: the algorithm's own choice */
    uint64_t segment_count; /* elements of a segment; 0: not cut */
} xyl_problem_t;

typedef void (*xyl_algorithm_fn)(const xyl_problem_t *problem,
                                 xyl_schedule_t *schedule);

enum {
    XYL_NEEDS_COMMUTATIVE = 1,      /* operations */
    XYL_NEEDS_POWER_OF_TWO = 2,     /* ranks */
    XYL_NEEDS_EVEN = 4,             /* ranks */
    XYL_NEEDS_ELEMENT_PER_RANK = 8, /* at least as many as ranks */
    XYL_TAKES_RADIX = 16,
    XYL_TAKES_SEGMENTS = 32,
    XYL_NEEDS_NODE = 64,    /* all ranks share memory */
    XYL_NEEDS_LEVELS = 128, /* to be composed of levels; what does not commute
                               needs ranks that fill node after node */
    XYL_NEEDS_FILLED_NODES = 256 /* whatever commutes */
};

typedef struct xyl_algorithm {
    xylem_coll_t coll;
    const char *name;
    const char *help;       /* with author and year of what it is after */
    xyl_algorithm_fn write; /* NULL: a node program, see node/program.h, or
                               levels, see han/han.h */
    uint32_t flags;
    uint32_t radix_default, radix_max; /* XYL_TAKES_RADIX: from 2 on */
} xyl_algorithm_t;

/* All, ordered by collective; *count_out of them. */
const xyl_algorithm_t *xyl_algorithms(size_t *count_out);
/* NULL: there is none of that name. */
const xyl_algorithm_t *xyl_algorithm_find(xylem_coll_t coll, const char *name);
/* 1 when it can solve the problem; else `why` (may be NULL) says what is
 * missing, a static string. */
int xyl_algorithm_fits(const xyl_algorithm_t *algorithm,
                       const xyl_problem_t *problem, const char **why);

/* ---- for those who write schedules ---- */

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

#endif
