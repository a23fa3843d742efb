/* Barrier: every rank tells its parent in a k-nomial tree that its subtree is
 * there, then hears from it that all are. Twice as long as dissemination, but
 * with 2 * (ranks - 1) messages in all. Any number of ranks.
 * Hensgen, Finkel, Manber, Two algorithms for barrier synchronization, 1988:
 * the tournament barrier, here with a radix. */
#include "collectives/schedules/algorithm.h"

#include <assert.h>

#include "collectives/schedules/knomial.h"

enum { LABEL_UP, LABEL_DOWN };

static void barrier_knomial(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    const xyl_position_t none = {XYL_BUFFER_TEMP, 0, 0};
    uint64_t ranks = problem->ranks, rank = problem->rank, child;
    uint32_t radix = problem->radix, parent;
    uint64_t top = xyl_knomial_weight(rank, ranks, radix), weight;
    xyl_action_t heard = XYL_ACTION_NONE, recv;

    assert(radix >= 2);
    for (weight = top / radix; weight != 0; weight /= radix)
        for (child = rank + weight;
             child < ranks && child < rank + radix * weight; child += weight) {
            recv = xyl_schedule_recv(schedule, (uint32_t)child, LABEL_UP, none,
                                     0, XYL_ACTION_NONE);
            heard = xyl_schedule_join(schedule, heard, recv);
        }
    if (rank != 0) {
        parent = (uint32_t)xyl_knomial_parent(rank, top, radix);
        xyl_schedule_send(schedule, parent, LABEL_UP, none, 0, heard);
        heard = xyl_schedule_recv(schedule, parent, LABEL_DOWN, none, 0,
                                  XYL_ACTION_NONE);
    }
    for (weight = top / radix; weight != 0; weight /= radix)
        for (child = rank + weight;
             child < ranks && child < rank + radix * weight; child += weight)
            xyl_schedule_send(schedule, (uint32_t)child, LABEL_DOWN, none, 0,
                              heard);
}

const xyl_algorithm_t xyl_algorithm_barrier_knomial = {
    .name = "knomial",
    .help = "up a tree and down again (Hensgen et al. 1988)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(BARRIER),
    .radix = {2, 2, 64},
    .write = barrier_knomial,
};
