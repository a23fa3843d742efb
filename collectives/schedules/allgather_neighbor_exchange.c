/* Allgather(v): ranks exchange their blocks in pairs. Then each rank sends its
 * two neighbours, in turn, the two blocks that it got last, and gets two from
 * them. That takes half as many rounds as the ring. For an even number of ranks
 * and long blocks.
 *
 * Chen, Zhang, Zhang, Yuan, Performance evaluation of allgather algorithms on
 * terascale Linux cluster with fast Ethernet, 2005. */

#include "collectives/schedules/blocks.h"

static void allgather_neighbor_exchange(const xyl_problem_t *problem,
                                        xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, round, peer;
    uint32_t partner = rank ^ 1, pair = rank & ~UINT32_C(1), have = pair, away;
    xyl_action_t ready, recv;
    xyl_blocks_t blocks;
    xyl_store_t store;

    schedule->labels = ranks / 2; /* also for empty blocks */
    xyl_blocks_init(&blocks, problem, schedule);
    store = xyl_store_make(&blocks);
    ready = xyl_store_own(&store);
    xyl_store_send(&store, partner, 0, rank, rank + 1, XYL_ACTION_NONE);
    recv = xyl_store_recv(&store, partner, 0, partner, partner + 1);
    ready = xyl_schedule_join(schedule, ready, recv);
    for (round = 1; round < ranks / 2; round++) {
        /* Even ranks first turn to the left, odd ones to the right. Blocks from
         * a side come from one pair further away each time. */
        int is_left = (rank + round) % 2 == 1;
        peer = (rank + (is_left ? ranks - 1 : 1)) % ranks;
        away = (round + 1) / 2 * 2;
        xyl_store_send(&store, peer, round, have, have + 2, ready);
        have = (pair + (is_left ? ranks - away : away)) % ranks;
        ready = xyl_store_recv(&store, peer, round, have, have + 2);
    }
    xyl_blocks_fini(&blocks);
}

const xyl_algorithm_t xyl_algorithm_allgather_neighbor_exchange = {
    .name = "neighbor_exchange",
    .help = "pairs of blocks between neighbours (Chen et al. 2005)",
    XYL_BY_SCHEDULE(allgather_neighbor_exchange),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
    .needs = XYL_NEEDS_EVEN,
};
