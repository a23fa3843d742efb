/* Scan and exscan: each rank gets the sum of all ranks before it from its
 * neighbour, combines the sum with its own elements, and passes the new sum on.
 * With many segments all ranks work at once. For long messages and few ranks.
 */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/inbox.h"

typedef struct chain {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    int has_next;
    xyl_inbox_t inbox;
} chain_t;

static xyl_action_t pass_sum(const chain_t *chain, uint32_t label,
                             xyl_position_t sum, uint64_t count,
                             xyl_action_t ready)
{
    if (!chain->has_next)
        return ready;
    return xyl_schedule_send(chain->schedule, chain->problem->rank + 1, label,
                             sum, count, ready);
}

/* Passes the result on. The sum that comes is received in the result's place,
 * unless the own elements lie there. */
static void scan_segment(chain_t *chain, uint32_t label, uint64_t at,
                         uint64_t count)
{
    xyl_schedule_t *schedule = chain->schedule;
    uint32_t rank = chain->problem->rank;
    xyl_position_t own = xyl_in_send(at);
    xyl_position_t result = xyl_in_recv(at), theirs = result;
    xyl_action_t ready = XYL_ACTION_NONE;

    if (rank == 0) {
        if (!chain->problem->is_in_place)
            xyl_schedule_copy(schedule, result, own, count, ready);
        pass_sum(chain, label, own, count, ready);
        return;
    }
    if (chain->problem->is_in_place)
        theirs = xyl_inbox_take(&chain->inbox, &ready);
    ready = xyl_schedule_recv(schedule, rank - 1, label, theirs, count, ready);
    ready = xyl_schedule_reduce(schedule, result, theirs, own, count, ready);
    if (chain->problem->is_in_place)
        xyl_inbox_give(&chain->inbox, ready);
    pass_sum(chain, label, result, count, ready);
}

/* The sum that comes is the result. The sum that is passed on is made in the
 * inbox. In place, the sum that comes is received in the inbox, and the other
 * is made in the result's place. */
static void exscan_segment(chain_t *chain, uint32_t label, uint64_t at,
                           uint64_t count)
{
    xyl_schedule_t *schedule = chain->schedule;
    uint32_t rank = chain->problem->rank;
    int is_in_place = chain->problem->is_in_place;
    xyl_position_t own = xyl_in_send(at);
    xyl_position_t result = xyl_in_recv(at), theirs, sum;
    xyl_action_t ready, reduce, send;

    if (rank == 0) {
        pass_sum(chain, label, own, count, XYL_ACTION_NONE);
        return;
    }
    if (!chain->has_next && !is_in_place) {
        xyl_schedule_recv(schedule, rank - 1, label, result, count,
                          XYL_ACTION_NONE);
        return;
    }
    sum = xyl_inbox_take(&chain->inbox, &ready);
    if (!is_in_place) {
        theirs = result;
        reduce = xyl_schedule_recv(schedule, rank - 1, label, theirs, count,
                                   XYL_ACTION_NONE);
        reduce = xyl_schedule_join(schedule, reduce, ready);
        reduce = xyl_schedule_reduce(schedule, sum, theirs, own, count, reduce);
        xyl_inbox_give(&chain->inbox,
                       pass_sum(chain, label, sum, count, reduce));
        return;
    }
    /* The own elements become the sum and go on; then the result takes their
     * place. */
    theirs = sum;
    ready = xyl_schedule_recv(schedule, rank - 1, label, theirs, count, ready);
    send = ready;
    if (chain->has_next) {
        reduce =
            xyl_schedule_reduce(schedule, result, theirs, own, count, ready);
        send = pass_sum(chain, label, result, count, reduce);
    }
    xyl_inbox_give(&chain->inbox,
                   xyl_schedule_copy(schedule, result, theirs, count, send));
}

static void scan_linear(const xyl_problem_t *problem, xyl_schedule_t *schedule)
{
    chain_t chain = {.problem = problem, .schedule = schedule};
    uint64_t segment = xyl_segment_count(problem, problem->count);
    uint64_t at, count, segments;
    int is_aside;
    uint32_t label = 0;

    if (problem->count == 0)
        return;
    segments = (problem->count + segment - 1) / segment;
    schedule->labels = (uint32_t)segments;
    chain.has_next = problem->rank + 1 < problem->ranks;
    is_aside = problem->is_in_place ||
               (problem->coll == XYLEM_COLL_EXSCAN && chain.has_next);
    xyl_inbox_init(&chain.inbox, schedule, segment, is_aside ? segments : 0);
    for (at = 0; at < problem->count; at += segment, label++) {
        count = problem->count - at < segment ? problem->count - at : segment;
        if (problem->coll == XYLEM_COLL_SCAN)
            scan_segment(&chain, label, at, count);
        else
            exscan_segment(&chain, label, at, count);
    }
}

const xyl_algorithm_t xyl_algorithm_scan_linear = {
    .name = "linear",
    .help = "from rank to rank, in segments",
    XYL_BY_SCHEDULE(scan_linear),
    .colls = XYL_COLL_BIT(SCAN) | XYL_COLL_BIT(EXSCAN),
    .needs = XYL_TAKES_SEGMENTS,
};
