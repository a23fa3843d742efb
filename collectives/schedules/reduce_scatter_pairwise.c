/* Reduce_scatter(_block): every rank sends each other rank the block of that
 * rank, and combines the blocks that it gets from the ranks before it, nearest
 * first, and from those behind it, farthest first. The two sums are joined in
 * the end, so operations need not be commutative. For long blocks.
 * Thakur, Rabenseifner, Gropp, 2005, section 4.4. */
#include "collectives/schedules/inbox.h"
#include "collectives/schedules/parts.h"

enum { STEPS_UNDER_WAY = XYL_INBOX_PLACES };

typedef struct pairwise {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    uint64_t count;
    xyl_inbox_t inbox;
    xyl_position_t sum; /* place for the sum up to this rank */
    /* Present places: of `sum`, and of the sum of the ranks behind this one. */
    xyl_position_t low, high;
    xyl_action_t low_ready, high_ready;
    xyl_action_t sent; /* in place: sends from the result's place */
} pairwise_t;

static void send_write(pairwise_t *pairwise, uint32_t peer)
{
    uint64_t at = xyl_parts_at(pairwise->problem, peer);
    uint64_t count = xyl_parts_count(pairwise->problem, peer, peer + 1);
    xyl_action_t send = xyl_schedule_send(
        pairwise->schedule, peer, 0, xyl_in_send(at), count, XYL_ACTION_NONE);

    if (pairwise->problem->is_in_place && at < pairwise->count)
        pairwise->sent =
            xyl_schedule_join(pairwise->schedule, pairwise->sent, send);
}

/* Receives a block, and combines it in front of one of the sums. */
static void recv_write(pairwise_t *pairwise, uint32_t peer)
{
    xyl_schedule_t *schedule = pairwise->schedule;
    uint32_t rank = pairwise->problem->rank;
    uint64_t count = pairwise->count;
    xyl_position_t theirs;
    xyl_action_t ready;

    if (peer + 1 == pairwise->problem->ranks) {
        pairwise->high_ready = xyl_schedule_recv(
            schedule, peer, 0, pairwise->high, count, XYL_ACTION_NONE);
        return;
    }
    theirs = xyl_inbox_take(&pairwise->inbox, &ready);
    ready = xyl_schedule_recv(schedule, peer, 0, theirs, count, ready);
    if (peer > rank) {
        ready = xyl_schedule_join(schedule, pairwise->high_ready, ready);
        pairwise->high_ready = ready = xyl_schedule_reduce(
            schedule, pairwise->high, theirs, pairwise->high, count, ready);
    } else {
        ready = xyl_schedule_join(schedule, pairwise->low_ready, ready);
        pairwise->low_ready = ready = xyl_schedule_reduce(
            schedule, pairwise->sum, theirs, pairwise->low, count, ready);
        pairwise->low = pairwise->sum;
    }
    xyl_inbox_give(&pairwise->inbox, ready);
}

/* Joins the sums. In place the result waits until the blocks there are sent. */
static void join_sums(pairwise_t *pairwise)
{
    const xyl_problem_t *problem = pairwise->problem;
    xyl_schedule_t *schedule = pairwise->schedule;
    xyl_position_t result = {XYL_BUFFER_RECV, 0, 0}, sum = pairwise->low;
    xyl_action_t ready = pairwise->low_ready;

    if (problem->rank + 1 < problem->ranks) {
        sum = problem->is_in_place ? pairwise->high : result;
        ready = xyl_schedule_join(schedule, ready, pairwise->high_ready);
        ready = xyl_schedule_reduce(schedule, sum, pairwise->low,
                                    pairwise->high, pairwise->count, ready);
    }
    if (problem->is_in_place ? problem->ranks == 1
                             : sum.buffer == XYL_BUFFER_RECV)
        return;
    ready = xyl_schedule_copy(schedule, result, sum, pairwise->count, ready);
    xyl_schedule_order(schedule, ready, pairwise->sent);
}

static void reduce_scatter_pairwise(const xyl_problem_t *problem,
                                    xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, step;
    pairwise_t pairwise = {.problem = problem,
                           .schedule = schedule,
                           .count = xyl_parts_count(problem, rank, rank + 1),
                           .low_ready = XYL_ACTION_NONE,
                           .high_ready = XYL_ACTION_NONE,
                           .sent = XYL_ACTION_NONE};

    pairwise.low = xyl_in_send(xyl_parts_at(problem, rank));
    pairwise.sum = xyl_in_recv(0);
    if (problem->is_in_place && rank != 0)
        pairwise.sum = xyl_schedule_temp(schedule, pairwise.count);
    if (rank + 1 < ranks)
        pairwise.high = xyl_schedule_temp(schedule, pairwise.count);
    xyl_inbox_init(&pairwise.inbox, schedule, pairwise.count, ranks - 1);
    schedule->flight_max = STEPS_UNDER_WAY;
    for (step = 1; step < ranks; step++) {
        send_write(&pairwise, (rank + step) % ranks);
        recv_write(&pairwise, (rank + ranks - step) % ranks);
    }
    join_sums(&pairwise);
}

const xyl_algorithm_t xyl_algorithm_reduce_scatter_pairwise = {
    .name = "pairwise",
    .help = "one partner per step (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(reduce_scatter_pairwise),
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
};
