/* Allgather(v): each rank passes on to the next what it got from the one
 * before, ranks - 1 times; a block goes on as soon as it is there, whatever
 * the others do. Empty blocks are left out on both sides. For long blocks.
 * Thakur, Rabenseifner, Gropp, 2005, section 4.1. */
#include "collectives/schedules/algorithm.h"

static xyl_position_t block(const xyl_problem_t *problem, uint32_t rank)
{
    return xyl_position(XYL_BUFFER_RECV,
                        xyl_block_at(problem, problem->recv_displs, rank));
}

static void allgather_ring(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, round, which;
    uint32_t next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    uint64_t count = xyl_block_count(problem, problem->recv_counts, rank);
    xyl_position_t from = block(problem, rank);
    xyl_action_t ready = XYL_ACTION_NONE;

    schedule->labels = ranks; /* whichever blocks are empty */
    if (!problem->is_in_place) {
        from = xyl_position(XYL_BUFFER_SEND, 0);
        if (count != 0)
            xyl_schedule_copy(schedule, block(problem, rank), from, count,
                              XYL_ACTION_NONE);
    }
    for (round = 0; round + 1 < ranks; round++) {
        if (count != 0)
            xyl_schedule_send(schedule, next, round, from, count, ready);
        which = (before + ranks - round) % ranks;
        from = block(problem, which);
        count = xyl_block_count(problem, problem->recv_counts, which);
        ready = XYL_ACTION_NONE;
        if (count != 0)
            ready = xyl_schedule_recv(schedule, before, round, from, count,
                                      XYL_ACTION_NONE);
    }
}

const xyl_algorithm_t xyl_algorithm_allgather_ring = {
    .name = "ring",
    .help = "from neighbour to neighbour (Thakur 2005)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
    .write = allgather_ring,
};
