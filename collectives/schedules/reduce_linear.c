/* Reduce: all ranks send their elements to the root. The root combines its own
 * elements first with those of the ranks before it, nearest first, then with
 * those of the ranks behind it. For few ranks, and a root that has time. */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/inbox.h"

static void reduce_linear(const xyl_problem_t *problem,
                          xyl_schedule_t *schedule)
{
    const xyl_position_t own = {XYL_BUFFER_SEND, 0, 0},
                         result = {XYL_BUFFER_RECV, 0, 0};
    uint32_t ranks = problem->ranks, root = problem->root, i, peer;
    uint64_t count = problem->count;
    xyl_action_t ready = XYL_ACTION_NONE, recv;
    xyl_position_t sum = own, theirs;
    xyl_inbox_t inbox;

    if (count == 0)
        return;
    if (problem->rank != root) {
        xyl_schedule_send(schedule, root, 0, own, count, XYL_ACTION_NONE);
        return;
    }
    if (ranks == 1)
        xyl_reduce_alone(problem, schedule, count);
    xyl_inbox_init(&inbox, schedule, count, ranks - 1);
    for (i = 1; i < ranks; i++) {
        peer = i <= root ? root - i : i;
        theirs = xyl_inbox_take(&inbox, &recv);
        recv = xyl_schedule_recv(schedule, peer, 0, theirs, count, recv);
        ready = xyl_schedule_join(schedule, ready, recv);
        ready = xyl_reduce_in_order(schedule, peer < root, result, theirs, sum,
                                    count, ready);
        sum = result;
        xyl_inbox_give(&inbox, ready);
    }
}

const xyl_algorithm_t xyl_algorithm_reduce_linear = {
    .name = "linear",
    .help = "each straight to the root (Gabriel et al. 2004)",
    XYL_BY_SCHEDULE(reduce_linear),
    .colls = XYL_COLL_BIT(REDUCE),
};
