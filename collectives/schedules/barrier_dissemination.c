/* Barrier: in round i every rank tells the ranks radix^i * j places behind it,
 * j = 1 ... radix - 1, and hears from as many before it. Any number of ranks.
 * Hensgen, Finkel, Manber, Two algorithms for barrier synchronization, 1988;
 * with a radix as in n-way dissemination, Hoefler et al., 2006. */
#include "collectives/schedules/algorithm.h"

static void barrier_dissemination(const xyl_problem_t *problem,
                                  xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank;
    uint32_t radix = problem->radix, label = 0, j;
    xyl_action_t heard = XYL_ACTION_NONE, round = XYL_ACTION_NONE;
    uint64_t step;

    for (step = 1; step < ranks; step *= radix) {
        /* Messages of a round may come before those of the round before. */
        round = xyl_schedule_join(schedule, round, heard);
        heard = XYL_ACTION_NONE;
        for (j = 1; j < radix && j * step < ranks; j++, label++)
            xyl_schedule_tell(schedule, (uint32_t)((rank + j * step) % ranks),
                              label, round);
        label -= j - 1;
        for (j = 1; j < radix && j * step < ranks; j++, label++) {
            uint32_t from = (uint32_t)((rank + ranks - j * step) % ranks);
            xyl_action_t recv = xyl_schedule_hear(schedule, from, label);
            if (heard == XYL_ACTION_NONE)
                heard = xyl_schedule_nothing(schedule, recv);
            else
                heard = xyl_schedule_join(schedule, heard, recv);
        }
    }
}

const xyl_algorithm_t xyl_algorithm_barrier_dissemination = {
    .name = "dissemination",
    .help = "radix - 1 partners per round (Hensgen et al. 1988)",
    XYL_BY_SCHEDULE(barrier_dissemination),
    .colls = XYL_COLL_BIT(BARRIER),
    .radix = {2, 2, 64},
};
