/* Gather(v): every rank sends its block to the root, which has a few receives
 * under way at once. One message per rank, no copies: for long blocks and few
 * ranks.
 * The linear gather of Open MPI: Gabriel et al., Open MPI: goals, concept, and
 * design of a next generation MPI implementation, 2004. */
#include "collectives/schedules/algorithm.h"

enum { RECVS_UNDER_WAY = 32 };

static void gather_linear(const xyl_problem_t *problem,
                          xyl_schedule_t *schedule)
{
    const xyl_position_t own = {XYL_BUFFER_SEND, 0, 0};
    uint32_t ranks = problem->ranks, step, peer;
    uint64_t count;
    xyl_position_t to;

    if (problem->rank != problem->root) {
        if (problem->count != 0)
            xyl_schedule_send(schedule, problem->root, 0, own, problem->count,
                              XYL_ACTION_NONE);
        return;
    }
    schedule->flight_max = RECVS_UNDER_WAY;
    for (step = 0; step < ranks; step++) {
        peer = (uint32_t)(((uint64_t)problem->root + step) % ranks);
        count = xyl_block_count(problem, problem->recv_counts, peer);
        to = xyl_position(XYL_BUFFER_RECV,
                          xyl_block_at(problem, problem->recv_displs, peer));
        if (count == 0 || (step == 0 && problem->is_in_place))
            continue;
        if (step == 0)
            xyl_schedule_copy(schedule, to, own, count, XYL_ACTION_NONE);
        else
            xyl_schedule_recv(schedule, peer, 0, to, count, XYL_ACTION_NONE);
    }
}

const xyl_algorithm_t xyl_algorithm_gather_linear = {
    .name = "linear",
    .help = "each straight to the root (Gabriel et al. 2004)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(GATHERV),
    .write = gather_linear,
};
