/* Algorithms: who sends what to whom in a collective, written as schedules by
 * pure functions of the problem, one file each in collectives/schedules/. The
 * table of all of them, with what each demands, is what selection, the tuner
 * and `xylem-bench --algorithm list` read. Everything here is constant; any
 * thread.
 */
#ifndef XYL_COLLECTIVES_SCHEDULES_ALGORITHM_H
#define XYL_COLLECTIVES_SCHEDULES_ALGORITHM_H

#include "collectives/data/problem.h"
#include "collectives/data/schedule.h"
#include "runtime/base/parts.h"

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

/* Elements of a segment, as is asked for; 0: not cut. */
static inline uint64_t xyl_segment_count(const xyl_problem_t *problem)
{
    return problem->segment_bytes / problem->element_bytes;
}

#endif
