/* Alltoall(v), each block sent once, straight to where it belongs: in step i
 * every rank sends to the i-th after it and receives from the i-th before it;
 * none waits for the step before. Pairwise, a few steps are under way at once:
 * for long blocks. Linear, many: for middle ones, when their number of messages
 * is still worth while.
 *
 * In place a block has to be put aside before the one that replaces it is
 * received. So that few are at a time, the partner of a step is the same in
 * both directions there: those two ranks whose sum modulo the number of ranks
 * is the step. As many blocks are aside as steps are under way.
 *
 * Thakur, Rabenseifner, Gropp, Optimization of collective communication
 * operations in MPICH, 2005, section 4.3. */
#include "collectives/schedules/algorithm.h"

enum { PAIRWISE_UNDER_WAY = 8, LINEAR_UNDER_WAY = 64 };

static xyl_position_t recv_block(const xyl_problem_t *problem, uint32_t rank)
{
    return xyl_position(XYL_BUFFER_RECV,
                        xyl_block_at(problem, problem->recv_displs, rank));
}

static xyl_position_t send_block(const xyl_problem_t *problem, uint32_t rank)
{
    return xyl_position(XYL_BUFFER_SEND,
                        xyl_block_at(problem, problem->send_displs, rank));
}

static void exchange(const xyl_problem_t *problem, xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, step, peer;
    uint64_t count;

    for (step = 1; step < ranks; step++) {
        peer = (rank + ranks - step) % ranks;
        count = xyl_block_count(problem, problem->recv_counts, peer);
        if (count != 0)
            xyl_schedule_recv(schedule, peer, 0, recv_block(problem, peer),
                              count, XYL_ACTION_NONE);
        peer = (rank + step) % ranks;
        count = xyl_block_count(problem, problem->send_counts, peer);
        if (count != 0)
            xyl_schedule_send(schedule, peer, 0, send_block(problem, peer),
                              count, XYL_ACTION_NONE);
    }
    count = xyl_block_count(problem, problem->recv_counts, rank);
    if (count != 0)
        xyl_schedule_copy(schedule, recv_block(problem, rank),
                          send_block(problem, rank), count, XYL_ACTION_NONE);
}

static uint64_t longest_block(const xyl_problem_t *problem)
{
    uint64_t longest = 0, count;
    uint32_t i;

    for (i = 0; i < problem->ranks; i++) {
        count = xyl_block_count(problem, problem->recv_counts, i);
        if (longest < count)
            longest = count;
    }
    return longest;
}

/* What is to be sent lies in RECV, by its counts, which are those of both
 * directions. A block is put aside where the one `aside_max` exchanges before
 * was, when that has been sent. */
static void exchange_in_place(const xyl_problem_t *problem,
                              xyl_schedule_t *schedule, uint32_t aside_max)
{
    uint32_t ranks = problem->ranks, step, peer, slot = 0;
    uint64_t longest = longest_block(problem), count;
    xyl_position_t aside[LINEAR_UNDER_WAY], block;
    xyl_action_t sent[LINEAR_UNDER_WAY], saved;

    if (aside_max > ranks - 1)
        aside_max = ranks - 1;
    for (slot = 0; slot < aside_max; slot++) {
        sent[slot] = XYL_ACTION_NONE;
        aside[slot] = xyl_schedule_temp(schedule, longest);
    }
    if (aside_max == 0)
        return; /* alone */
    slot = 0;
    for (step = 0; step < ranks; step++) {
        peer = (step + ranks - problem->rank) % ranks;
        count = xyl_block_count(problem, problem->recv_counts, peer);
        if (peer == problem->rank || count == 0)
            continue;
        block = recv_block(problem, peer);
        saved =
            xyl_schedule_copy(schedule, aside[slot], block, count, sent[slot]);
        sent[slot] =
            xyl_schedule_send(schedule, peer, 0, aside[slot], count, saved);
        xyl_schedule_recv(schedule, peer, 0, block, count, saved);
        slot = (slot + 1) % aside_max;
    }
}

static void alltoall(const xyl_problem_t *problem, xyl_schedule_t *schedule,
                     uint32_t under_way)
{
    schedule->flight_max = under_way;
    if (problem->is_in_place)
        exchange_in_place(problem, schedule, under_way);
    else
        exchange(problem, schedule);
}

static void alltoall_pairwise(const xyl_problem_t *problem,
                              xyl_schedule_t *schedule)
{
    alltoall(problem, schedule, PAIRWISE_UNDER_WAY);
}

static void alltoall_linear(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    alltoall(problem, schedule, LINEAR_UNDER_WAY);
}

const xyl_algorithm_t xyl_algorithm_alltoall_pairwise = {
    .name = "pairwise",
    .help = "one partner per step (Thakur 2005)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
    .write = alltoall_pairwise,
};

const xyl_algorithm_t xyl_algorithm_alltoall_linear = {
    .name = "linear",
    .help = "all at once, straight (Thakur et al. 2005)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
    .write = alltoall_linear,
};
