/* Gather: up a k-nomial tree of places counted from the root, all blocks of a
 * subtree in one message. They are collected in the temporary buffer, except
 * at the root, where each message lands in place: the one whose ranks go past
 * the last and on from 0 comes in two. For short blocks.
 * Chan, Heimlich, Purkayastha, van de Geijn, Collective communication: theory,
 * practice, and experience, 2007: the gather on a minimum spanning tree, here
 * with a radix. */
#include "collectives/schedules/algorithm.h"

#include <assert.h>

#include "collectives/schedules/knomial.h"

enum { LABEL_FIRST, LABEL_REST };

static void gather_root(const xyl_problem_t *problem, xyl_schedule_t *schedule)
{
    uint64_t ranks = problem->ranks, count = problem->count, child, weight;
    uint64_t turn = ranks - problem->root, span, first;
    uint32_t radix = problem->radix, peer;

    if (!problem->is_in_place)
        xyl_schedule_copy(
            schedule, xyl_position(XYL_BUFFER_RECV, count * problem->root),
            xyl_position(XYL_BUFFER_SEND, 0), count, XYL_ACTION_NONE);
    for (weight = xyl_knomial_weight(0, ranks, radix) / radix; weight != 0;
         weight /= radix)
        for (child = weight; child < ranks && child < radix * weight;
             child += weight) {
            peer = (uint32_t)((child + problem->root) % ranks);
            span = xyl_knomial_span(child, ranks, weight);
            first = child < turn && child + span > turn ? turn - child : span;
            xyl_schedule_recv(schedule, peer, LABEL_FIRST,
                              xyl_position(XYL_BUFFER_RECV, count * peer),
                              count * first, XYL_ACTION_NONE);
            if (first < span)
                xyl_schedule_recv(schedule, peer, LABEL_REST,
                                  xyl_position(XYL_BUFFER_RECV, 0),
                                  count * (span - first), XYL_ACTION_NONE);
        }
}

/* Of an inner place: collects what lies below it; ready[0] is when the first
 * `first` blocks are there, ready[1] when the rest is. */
static xyl_position_t collect(const xyl_problem_t *problem,
                              xyl_schedule_t *schedule, uint64_t place,
                              uint64_t top, uint64_t first,
                              xyl_action_t ready[2])
{
    uint64_t ranks = problem->ranks, count = problem->count, child, weight;
    uint32_t radix = problem->radix;
    xyl_position_t all = xyl_schedule_temp(
        schedule, count * xyl_knomial_span(place, ranks, top));

    ready[0] =
        xyl_schedule_copy(schedule, all, xyl_position(XYL_BUFFER_SEND, 0),
                          count, XYL_ACTION_NONE);
    ready[1] = XYL_ACTION_NONE;
    for (weight = top / radix; weight != 0; weight /= radix)
        for (child = place + weight;
             child < ranks && child < place + radix * weight; child += weight) {
            uint64_t at = child - place;
            uint64_t span = xyl_knomial_span(child, ranks, weight);
            xyl_action_t recv = xyl_schedule_recv(
                schedule, (uint32_t)((child + problem->root) % ranks),
                LABEL_FIRST, xyl_position_plus(all, count * at), count * span,
                XYL_ACTION_NONE);
            if (at < first)
                ready[0] = xyl_schedule_join(schedule, ready[0], recv);
            if (at + span > first)
                ready[1] = xyl_schedule_join(schedule, ready[1], recv);
        }
    return all;
}

static void gather_knomial(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule)
{
    uint64_t ranks = problem->ranks, count = problem->count;
    uint64_t place = (problem->rank + ranks - problem->root) % ranks;
    uint64_t top, above, span, first;
    xyl_position_t all = xyl_position(XYL_BUFFER_SEND, 0);
    xyl_action_t ready[2] = {XYL_ACTION_NONE, XYL_ACTION_NONE};
    uint32_t parent;

    assert(problem->radix >= 2);
    if (count == 0)
        return;
    if (place == 0) {
        gather_root(problem, schedule);
        return;
    }
    top = xyl_knomial_weight(place, ranks, problem->radix);
    span = first = xyl_knomial_span(place, ranks, top);
    above = xyl_knomial_parent(place, top, problem->radix);
    parent = (uint32_t)((above + problem->root) % ranks);
    if (above == 0 && problem->rank + span > ranks)
        first = ranks - problem->rank;
    if (span > 1)
        all = collect(problem, schedule, place, top, first, ready);
    xyl_schedule_send(schedule, parent, LABEL_FIRST, all, count * first,
                      ready[0]);
    if (first < span)
        xyl_schedule_send(schedule, parent, LABEL_REST,
                          xyl_position_plus(all, count * first),
                          count * (span - first), ready[1]);
}

const xyl_algorithm_t xyl_algorithm_gather_knomial = {
    .name = "knomial",
    .help = "up a tree, subtrees in one message (Chan et al. 2007)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(GATHER),
    .radix = {2, 2, 64},
    .write = gather_knomial,
};
