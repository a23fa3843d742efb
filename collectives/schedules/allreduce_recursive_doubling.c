/* Allreduce: in round i ranks that differ in bit i exchange and combine all
 * they have. Of the ranks beyond the largest power of two, each first gives
 * its part to its even neighbour and in the end gets the result from it. Ranks
 * are combined in order, so operations need not be commutative. For short
 * messages.
 * Thakur, Rabenseifner, Gropp, Optimization of collective communication
 * operations in MPICH, 2005, section 4.5. */
#include "collectives/schedules/algorithm.h"

#include "collectives/schedules/fold.h"

enum { LABEL_FOLD, LABEL_UNFOLD, LABEL_ROUND };

static void allreduce_recursive_doubling(const xyl_problem_t *problem,
                                         xyl_schedule_t *schedule)
{
    const xyl_position_t result = {XYL_BUFFER_RECV, 0, 0};
    const xyl_position_t own = {XYL_BUFFER_SEND, 0, 0};
    xyl_fold_t fold = xyl_fold(problem->rank, problem->ranks);
    uint64_t count = problem->count;
    xyl_action_t ready = XYL_ACTION_NONE, send, recv;
    uint32_t bit, round = 0, peer;
    xyl_position_t theirs;

    if (count == 0)
        return;
    if (!fold.takes_part) {
        send = xyl_schedule_send(schedule, fold.partner, LABEL_FOLD, own, count,
                                 XYL_ACTION_NONE);
        /* In place the result comes to where `own` is sent from. */
        xyl_schedule_recv(schedule, fold.partner, LABEL_UNFOLD, result, count,
                          problem->is_in_place ? send : XYL_ACTION_NONE);
        return;
    }
    if (!problem->is_in_place)
        ready =
            xyl_schedule_copy(schedule, result, own, count, XYL_ACTION_NONE);
    if (fold.partner != problem->rank) {
        theirs = xyl_schedule_temp(schedule, count);
        recv = xyl_schedule_recv(schedule, fold.partner, LABEL_FOLD, theirs,
                                 count, XYL_ACTION_NONE);
        ready = xyl_schedule_join(schedule, ready, recv);
        ready =
            xyl_schedule_reduce(schedule, result, result, theirs, count, ready);
    }
    for (bit = 1; bit < fold.ranks; bit *= 2, round++) {
        peer = xyl_fold_rank(&fold, fold.place ^ bit);
        theirs = xyl_schedule_temp(schedule, count);
        send = xyl_schedule_send(schedule, peer, LABEL_ROUND + round, result,
                                 count, ready);
        recv = xyl_schedule_recv(schedule, peer, LABEL_ROUND + round, theirs,
                                 count, XYL_ACTION_NONE);
        ready = xyl_schedule_join(schedule, send, recv);
        ready = (fold.place & bit) == 0
                    ? xyl_schedule_reduce(schedule, result, result, theirs,
                                          count, ready)
                    : xyl_schedule_reduce(schedule, result, theirs, result,
                                          count, ready);
    }
    if (fold.partner != problem->rank)
        xyl_schedule_send(schedule, fold.partner, LABEL_UNFOLD, result, count,
                          ready);
}

const xyl_algorithm_t xyl_algorithm_allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .help = "all exchange all, log2 rounds (Thakur et al. 2005)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .write = allreduce_recursive_doubling,
};
