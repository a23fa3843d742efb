/* Scatter: down a k-nomial tree of places counted from the root, all blocks of
 * a subtree in one message, largest subtrees first. They go on from the
 * temporary buffer, except at the root, which sends from where they are: those
 * of ranks that go past the last and on from 0 in two messages. For short
 * blocks.
 * Chan, Heimlich, Purkayastha, van de Geijn, Collective communication: theory,
 * practice, and experience, 2007: the scatter on a minimum spanning tree, here
 * with a radix. */
#include "collectives/schedules/algorithm.h"

#include <assert.h>

#include "collectives/schedules/knomial.h"

enum { LABEL_FIRST, LABEL_REST };

static void scatter_root(const xyl_problem_t *problem, xyl_schedule_t *schedule)
{
    uint64_t ranks = problem->ranks, count = problem->count, child, weight;
    uint64_t turn = ranks - problem->root, span, first;
    uint32_t radix = problem->radix, peer;

    for (weight = xyl_knomial_weight(0, ranks, radix) / radix; weight != 0;
         weight /= radix)
        for (child = weight; child < ranks && child < radix * weight;
             child += weight) {
            peer = (uint32_t)((child + problem->root) % ranks);
            span = xyl_knomial_span(child, ranks, weight);
            first = child < turn && child + span > turn ? turn - child : span;
            xyl_schedule_send(schedule, peer, LABEL_FIRST,
                              xyl_position(XYL_BUFFER_SEND, count * peer),
                              count * first, XYL_ACTION_NONE);
            if (first < span)
                xyl_schedule_send(schedule, peer, LABEL_REST,
                                  xyl_position(XYL_BUFFER_SEND, 0),
                                  count * (span - first), XYL_ACTION_NONE);
        }
    if (!problem->is_in_place)
        xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, 0),
                          xyl_position(XYL_BUFFER_SEND, count * problem->root),
                          count, XYL_ACTION_NONE);
}

/* Of an inner place: what lies below it, from `all`; the first `first` blocks
 * are there after ready[0], the rest after ready[1]. */
static void hand_down(const xyl_problem_t *problem, xyl_schedule_t *schedule,
                      uint64_t place, xyl_position_t all, uint64_t first,
                      const xyl_action_t ready[2])
{
    uint64_t ranks = problem->ranks, count = problem->count, child, weight;
    uint32_t radix = problem->radix;
    xyl_action_t send;

    for (weight = xyl_knomial_weight(place, ranks, radix) / radix; weight != 0;
         weight /= radix)
        for (child = place + weight;
             child < ranks && child < place + radix * weight; child += weight) {
            uint64_t at = child - place;
            uint64_t span = xyl_knomial_span(child, ranks, weight);
            send = xyl_schedule_send(
                schedule, (uint32_t)((child + problem->root) % ranks),
                LABEL_FIRST, xyl_position_plus(all, count * at), count * span,
                at < first ? ready[0] : ready[1]);
            if (at < first && at + span > first)
                xyl_schedule_order(schedule, send, ready[1]);
        }
    xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, 0), all, count,
                      ready[0]);
}

static void scatter_knomial(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    uint64_t ranks = problem->ranks, count = problem->count;
    uint64_t place = (problem->rank + ranks - problem->root) % ranks;
    uint64_t top, above, span, first;
    xyl_position_t all = xyl_position(XYL_BUFFER_RECV, 0);
    xyl_action_t ready[2] = {XYL_ACTION_NONE, XYL_ACTION_NONE};
    uint32_t parent;

    assert(problem->radix >= 2);
    if (count == 0)
        return;
    if (place == 0) {
        scatter_root(problem, schedule);
        return;
    }
    top = xyl_knomial_weight(place, ranks, problem->radix);
    span = first = xyl_knomial_span(place, ranks, top);
    above = xyl_knomial_parent(place, top, problem->radix);
    parent = (uint32_t)((above + problem->root) % ranks);
    if (above == 0 && problem->rank + span > ranks)
        first = ranks - problem->rank;
    if (span > 1)
        all = xyl_schedule_temp(schedule, count * span);
    ready[0] = xyl_schedule_recv(schedule, parent, LABEL_FIRST, all,
                                 count * first, XYL_ACTION_NONE);
    if (first < span)
        ready[1] = xyl_schedule_recv(schedule, parent, LABEL_REST,
                                     xyl_position_plus(all, count * first),
                                     count * (span - first), XYL_ACTION_NONE);
    if (span > 1)
        hand_down(problem, schedule, place, all, first, ready);
}

const xyl_algorithm_t xyl_algorithm_scatter_knomial = {
    .name = "knomial",
    .help = "down a tree, subtrees in one message (Chan et al. 2007)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(SCATTER),
    .radix = {2, 2, 64},
    .write = scatter_knomial,
};
