/* Barrier: every rank tells its parent in a k-nomial tree that its subtree is
 * there, then hears from its parent that all are. Twice as long as
 * dissemination, but with 2 * (ranks - 1) messages in all. Any number of ranks.
 * Hensgen, Finkel, Manber, Two algorithms for barrier synchronization, 1988:
 * the tournament barrier, here with a radix. */
#include "collectives/schedules/algorithm.h"

enum { LABEL_UP, LABEL_DOWN };

static void barrier_knomial(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    const xyl_shape_t shape = {&xyl_tree_knomial, problem->radix};
    uint32_t children[XYL_DISTANCES_MAX], i;
    uint32_t count = xyl_tree_children(shape, 0, problem->ranks, problem->rank,
                                       0, children, XYL_DISTANCES_MAX);
    uint32_t parent =
        xyl_tree_parent(shape, 0, problem->ranks, problem->rank, 0);
    xyl_action_t heard = XYL_ACTION_NONE, recv;

    for (i = 0; i < count; i++) {
        recv = xyl_schedule_hear(schedule, children[i], LABEL_UP);
        heard = xyl_schedule_join(schedule, heard, recv);
    }
    if (parent != XYL_TREE_NONE) {
        xyl_schedule_tell(schedule, parent, LABEL_UP, heard);
        heard = xyl_schedule_hear(schedule, parent, LABEL_DOWN);
    }
    for (i = 0; i < count; i++)
        xyl_schedule_tell(schedule, children[i], LABEL_DOWN, heard);
}

const xyl_algorithm_t xyl_algorithm_barrier_knomial = {
    .name = "knomial",
    .help = "up a tree and down again (Hensgen et al. 1988)",
    XYL_BY_SCHEDULE(barrier_knomial),
    .colls = XYL_COLL_BIT(BARRIER),
    .radix = {2, 2, 64},
};
