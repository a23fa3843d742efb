/* Allgather(v): every rank sends its block to every other, first to the next,
 * then to the one after that; many are under way at once. One message per pair
 * of ranks, nothing waits for anything: for few ranks, or ranks that arrive at
 * different times.
 * Thakur, Rabenseifner, Gropp, Optimization of collective communication
 * operations in MPICH, 2005, section 4.3, which does so for alltoall. */
#include "collectives/schedules/algorithm.h"

enum { MESSAGES_UNDER_WAY = 64 };

static void allgather_linear(const xyl_problem_t *problem,
                             xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, step, peer;
    uint64_t count = xyl_block_count(problem, problem->recv_counts, rank);
    uint64_t their_count;
    xyl_position_t place = xyl_position(
        XYL_BUFFER_RECV, xyl_block_at(problem, problem->recv_displs, rank));
    xyl_position_t own =
        problem->is_in_place ? place : xyl_position(XYL_BUFFER_SEND, 0);

    schedule->flight_max = MESSAGES_UNDER_WAY;
    for (step = 1; step < ranks; step++) {
        peer = (rank + ranks - step) % ranks;
        their_count = xyl_block_count(problem, problem->recv_counts, peer);
        if (their_count != 0)
            xyl_schedule_recv(
                schedule, peer, 0,
                xyl_position(XYL_BUFFER_RECV,
                             xyl_block_at(problem, problem->recv_displs, peer)),
                their_count, XYL_ACTION_NONE);
        if (count != 0)
            xyl_schedule_send(schedule, (rank + step) % ranks, 0, own, count,
                              XYL_ACTION_NONE);
    }
    if (!problem->is_in_place && count != 0)
        xyl_schedule_copy(schedule, place, own, count, XYL_ACTION_NONE);
}

const xyl_algorithm_t xyl_algorithm_allgather_linear = {
    .name = "linear",
    .help = "each straight to all others (Thakur et al. 2005)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
    .write = allgather_linear,
};
