/* Alltoall(v, w) and allgather(v) that send each block straight to its
 * receiver: in step i every rank sends to the i-th rank after it and receives
 * from the i-th before it; no step waits for the step before. Pairwise has a
 * few steps under way at once: for long blocks. Linear has many: for middle
 * blocks, for few ranks, or for ranks that arrive at different times.
 *
 * In place a block of an alltoall has to be put aside before the block that
 * replaces it is received. So that few blocks are aside at a time, a step there
 * has one partner for both directions: the sum of the two ranks, modulo the
 * number of ranks, is the step. As many blocks are aside as steps are under
 * way.
 *
 * Thakur, Rabenseifner, Gropp, Optimization of collective communication
 * operations in MPICH, 2005, section 4.3: there of an alltoall. */
#include "collectives/schedules/algorithm.h"

enum { PAIRWISE_UNDER_WAY = 8, LINEAR_UNDER_WAY = 64 };

/* The block that goes to a rank; in an allgather the same block goes to all. */
static xyl_position_t block_for_peer(const xyl_problem_t *problem,
                                     uint32_t peer, uint64_t *count_out)
{
    int is_alltoall = problem->coll != XYLEM_COLL_ALLGATHER &&
                      problem->coll != XYLEM_COLL_ALLGATHERV;

    if (!is_alltoall) {
        *count_out = xyl_recv_count(problem, problem->rank);
        return problem->is_in_place ? xyl_recv_block(problem, problem->rank)
                                    : xyl_in_send(0);
    }
    *count_out = xyl_block_count(problem, problem->send_counts, peer);
    return xyl_in_send(xyl_block_at(problem, problem->send_displs, peer));
}

static void write_steps(const xyl_problem_t *problem, xyl_schedule_t *schedule,
                        uint32_t under_way)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, step, peer;
    xyl_position_t from;
    uint64_t count;

    schedule->flight_max = under_way;
    for (step = 1; step < ranks; step++) {
        peer = (rank + ranks - step) % ranks;
        xyl_schedule_recv(schedule, peer, 0, xyl_recv_block(problem, peer),
                          xyl_recv_count(problem, peer), XYL_ACTION_NONE);
        peer = (rank + step) % ranks;
        from = block_for_peer(problem, peer, &count);
        xyl_schedule_send(schedule, peer, 0, from, count, XYL_ACTION_NONE);
    }
    from = block_for_peer(problem, rank, &count);
    if (!problem->is_in_place)
        xyl_schedule_copy(schedule, xyl_recv_block(problem, rank), from, count,
                          XYL_ACTION_NONE);
}

static uint64_t longest_block(const xyl_problem_t *problem)
{
    uint64_t longest = 0, count;
    uint32_t i;

    for (i = 0; i < problem->ranks; i++) {
        count = xyl_recv_count(problem, i);
        if (longest < count)
            longest = count;
    }
    return longest;
}

/* The blocks to be sent lie in RECV, whose counts hold for both directions. A
 * block is put aside into the place of the block `aside_max` exchanges before,
 * when that block has been sent. */
static void write_in_place(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule, uint32_t aside_max)
{
    uint32_t ranks = problem->ranks, step, peer, slot = 0;
    uint64_t longest = longest_block(problem), count;
    xyl_position_t aside[LINEAR_UNDER_WAY], block;
    xyl_action_t sent[LINEAR_UNDER_WAY], saved;

    schedule->flight_max = aside_max;
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
        count = xyl_recv_count(problem, peer);
        if (peer == problem->rank || count == 0)
            continue;
        block = xyl_recv_block(problem, peer);
        saved =
            xyl_schedule_copy(schedule, aside[slot], block, count, sent[slot]);
        sent[slot] =
            xyl_schedule_send(schedule, peer, 0, aside[slot], count, saved);
        xyl_schedule_recv(schedule, peer, 0, block, count, saved);
        slot = (slot + 1) % aside_max;
    }
}

/* In place, an allgather needs no such care: its own block lies where no
 * message comes. */
static void write_straight(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule, uint32_t under_way)
{
    if (problem->is_in_place && problem->coll != XYLEM_COLL_ALLGATHER &&
        problem->coll != XYLEM_COLL_ALLGATHERV)
        write_in_place(problem, schedule, under_way);
    else
        write_steps(problem, schedule, under_way);
}

static void alltoall_pairwise(const xyl_problem_t *problem,
                              xyl_schedule_t *schedule)
{
    write_straight(problem, schedule, PAIRWISE_UNDER_WAY);
}

static void straight_linear(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    write_straight(problem, schedule, LINEAR_UNDER_WAY);
}

const xyl_algorithm_t xyl_algorithm_alltoall_pairwise = {
    .name = "pairwise",
    .help = "one partner per step (Thakur 2005)",
    XYL_BY_SCHEDULE(alltoall_pairwise),
    .colls = XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
};

const xyl_algorithm_t xyl_algorithm_straight_linear = {
    .name = "linear",
    .help = "each straight to all others (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(straight_linear),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV) |
             XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
};
