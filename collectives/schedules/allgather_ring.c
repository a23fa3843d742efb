/* Allgather(v): each rank passes the block that it got from the rank before on
 * to the next rank, ranks - 1 times. A block goes on as soon as it is there.
 * Empty blocks are left out on both sides. For long blocks.
 * Thakur, Rabenseifner, Gropp, 2005, section 4.1. */
#include "collectives/schedules/algorithm.h"

static void allgather_ring(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, round, which;
    uint32_t next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    uint64_t count = xyl_recv_count(problem, rank);
    xyl_position_t from;
    xyl_action_t ready = XYL_ACTION_NONE;

    (void)xyl_own_block(problem, schedule, &from);
    schedule->labels = ranks; /* also for empty blocks */
    for (round = 0; round + 1 < ranks; round++) {
        xyl_schedule_send(schedule, next, round, from, count, ready);
        which = (before + ranks - round) % ranks;
        from = xyl_recv_block(problem, which);
        count = xyl_recv_count(problem, which);
        ready = xyl_schedule_recv(schedule, before, round, from, count,
                                  XYL_ACTION_NONE);
    }
}

const xyl_algorithm_t xyl_algorithm_allgather_ring = {
    .name = "ring",
    .help = "from neighbour to neighbour (Thakur 2005)",
    XYL_BY_SCHEDULE(allgather_ring),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
};
