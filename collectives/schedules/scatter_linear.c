/* Scatter(v): the root sends every rank its block, a few at once. One message
 * per rank, no copies: for long blocks and few ranks.
 * The linear scatter of Open MPI: Gabriel et al., Open MPI: goals, concept, and
 * design of a next generation MPI implementation, 2004. */
#include "collectives/schedules/algorithm.h"

enum { SENDS_UNDER_WAY = 32 };

static void scatter_linear(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule)
{
    const xyl_position_t own = {XYL_BUFFER_RECV, 0, 0};
    uint32_t ranks = problem->ranks, step, peer;
    uint64_t count;
    xyl_position_t from;

    if (problem->rank != problem->root) {
        if (problem->count != 0)
            xyl_schedule_recv(schedule, problem->root, 0, own, problem->count,
                              XYL_ACTION_NONE);
        return;
    }
    schedule->flight_max = SENDS_UNDER_WAY;
    for (step = 0; step < ranks; step++) {
        peer = (uint32_t)(((uint64_t)problem->root + step) % ranks);
        count = xyl_block_count(problem, problem->send_counts, peer);
        from = xyl_position(XYL_BUFFER_SEND,
                            xyl_block_at(problem, problem->send_displs, peer));
        if (count == 0 || (step == 0 && problem->is_in_place))
            continue;
        if (step == 0)
            xyl_schedule_copy(schedule, own, from, count, XYL_ACTION_NONE);
        else
            xyl_schedule_send(schedule, peer, 0, from, count, XYL_ACTION_NONE);
    }
}

const xyl_algorithm_t xyl_algorithm_scatter_linear = {
    .name = "linear",
    .help = "from the root straight to each (Gabriel et al. 2004)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(SCATTER) | XYL_COLL_BIT(SCATTERV),
    .write = scatter_linear,
};
