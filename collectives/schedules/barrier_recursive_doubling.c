/* Barrier: in round i ranks that differ in bit i tell each other. Each rank
 * that stands back (fold.h) first tells its even neighbour, and in the end
 * hears from it.
 *
 * Thakur, Rabenseifner, Gropp, Optimization of collective communication
 * operations in MPICH, 2005, section 4.5, with nothing to combine. */

#include "collectives/schedules/fold.h"

static void barrier_recursive_doubling(const xyl_problem_t *problem,
                                       xyl_schedule_t *schedule)
{
    xyl_fold_t fold = xyl_fold(problem->rank, problem->ranks);
    xyl_action_t heard = XYL_ACTION_NONE, recv;
    uint32_t bit, peer, label = XYL_ROUND_LABEL;

    if (!fold.takes_part) {
        xyl_schedule_tell(schedule, fold.partner, XYL_FOLD_LABEL,
                          XYL_ACTION_NONE);
        xyl_schedule_hear(schedule, fold.partner, XYL_UNFOLD_LABEL);
        return;
    }
    if (fold.partner != problem->rank)
        heard = xyl_schedule_hear(schedule, fold.partner, XYL_FOLD_LABEL);
    for (bit = 1; bit < fold.ranks; bit *= 2, label++) {
        peer = xyl_fold_rank(&fold, fold.place ^ bit);
        xyl_schedule_tell(schedule, peer, label, heard);
        recv = xyl_schedule_hear(schedule, peer, label);
        heard = xyl_schedule_join(schedule, heard, recv);
    }
    if (fold.partner != problem->rank)
        xyl_schedule_tell(schedule, fold.partner, XYL_UNFOLD_LABEL, heard);
}

const xyl_algorithm_t xyl_algorithm_barrier_recursive_doubling = {
    .name = "recursive_doubling",
    .help = "all tell all, log2 rounds (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(barrier_recursive_doubling),
    .colls = XYL_COLL_BIT(BARRIER),
};
