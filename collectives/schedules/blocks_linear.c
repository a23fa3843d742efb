/* Gather(v) and scatter(v): every block goes straight between its rank and the
 * root, which has a few under way at once. One message per rank, no copies: for
 * long blocks and few ranks.
 * The linear gather and scatter of Open MPI: Gabriel et al., Open MPI: goals,
 * concept, and design of a next generation MPI implementation, 2004. */
#include "collectives/schedules/algorithm.h"

enum { MESSAGES_OF_ROOT = 32 };

static void blocks_linear(const xyl_problem_t *problem,
                          xyl_schedule_t *schedule)
{
    int is_down = problem->coll == XYLEM_COLL_SCATTER ||
                  problem->coll == XYLEM_COLL_SCATTERV;
    const xyl_position_t small =
        xyl_position(is_down ? XYL_BUFFER_RECV : XYL_BUFFER_SEND, 0);
    xyl_position_t large =
        xyl_position(is_down ? XYL_BUFFER_SEND : XYL_BUFFER_RECV, 0);
    uint32_t ranks = problem->ranks, step, peer;

    if (problem->rank != problem->root) {
        xyl_schedule_pass(schedule, !is_down, problem->root, 0, small,
                          problem->count, XYL_ACTION_NONE);
        return;
    }
    schedule->flight_max = MESSAGES_OF_ROOT;
    for (step = 0; step < ranks; step++) {
        peer = (uint32_t)(((uint64_t)problem->root + step) % ranks);
        large.at = xyl_problem_block_at(problem, peer);
        if (step != 0)
            xyl_schedule_pass(schedule, is_down, peer, 0, large,
                              xyl_problem_block(problem, peer),
                              XYL_ACTION_NONE);
        else if (!problem->is_in_place)
            xyl_schedule_copy(
                schedule, is_down ? small : large, is_down ? large : small,
                xyl_problem_block(problem, peer), XYL_ACTION_NONE);
    }
}

const xyl_algorithm_t xyl_algorithm_blocks_linear = {
    .name = "linear",
    .help = "straight between the root and each (Gabriel et al. 2004)",
    XYL_BY_SCHEDULE(blocks_linear),
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(GATHERV) |
             XYL_COLL_BIT(SCATTER) | XYL_COLL_BIT(SCATTERV),
};
