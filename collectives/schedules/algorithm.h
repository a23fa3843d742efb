/* What schedules are written for: who sends what to whom in a collective, by
 * pure functions of the problem, one file each in collectives/schedules/. */
#ifndef XYL_COLLECTIVES_SCHEDULES_ALGORITHM_H
#define XYL_COLLECTIVES_SCHEDULES_ALGORITHM_H

#include "collectives/data/algorithm.h"
#include "collectives/data/problem.h"
#include "collectives/data/schedule.h"
#include "runtime/base/parts.h"

/* ---- for those who write schedules ---- */

/* Elements of a segment, as is asked for; 0: not cut. */
static inline uint64_t xyl_segment_count(const xyl_problem_t *problem)
{
    return problem->segment_bytes / problem->element_bytes;
}

#endif
