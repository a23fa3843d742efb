/* Helpers of the functions that write schedules. A schedule has the actions of
 * one rank in a collective. Each algorithm is a pure function of the problem,
 * in a file of its own. */
#pragma once

#include "collectives/data/algorithm.h"
#include "collectives/data/problem.h"
#include "collectives/data/schedule.h"
#include "runtime/base/parts.h"

/* A bound on how many numbers below 2^32 have the form digit * radix^i, for the
 * largest radix; smaller radices have fewer. These numbers are distances
 * between ranks, or children in a k-nomial tree. */
enum { XYL_DISTANCES_MAX = 6 * (XYL_TREE_RADIX_MAX - 1) };

/* Elements of a segment of a message, or block, of `count`: as many as the
 * problem asks for, or all. Segments are longer if there would be too few
 * labels: there are two for each segment and rank. */
static inline uint64_t xyl_segment_count(const xyl_problem_t *problem,
                                         uint64_t count)
{
    uint64_t segment = problem->segment_bytes / problem->element_bytes;
    uint64_t most = problem->labels_max / 2 / problem->ranks;

    if (segment == 0 || segment > count)
        return count;
    if (problem->labels_max != 0 && (most == 0 || segment < count / most + 1))
        segment = most == 0 ? count : count / most + 1;
    return segment;
}

static inline uint64_t xyl_recv_count(const xyl_problem_t *problem,
                                      uint32_t rank)
{
    return xyl_block_count(problem, problem->recv_counts, rank);
}

/* A rank's block in RECV, which has the blocks of all. */
static inline xyl_position_t xyl_recv_block(const xyl_problem_t *problem,
                                            uint32_t rank)
{
    return xyl_in_recv(xyl_block_at(problem, problem->recv_displs, rank));
}

/* Puts this rank's block of an allgather(v) into its place of RECV. Returns the
 * action after which the block is there. *own_out: where the block lies from
 * the start. */
static inline xyl_action_t xyl_own_block(const xyl_problem_t *problem,
                                         xyl_schedule_t *schedule,
                                         xyl_position_t *own_out)
{
    uint32_t rank = problem->rank;

    *own_out =
        problem->is_in_place ? xyl_recv_block(problem, rank) : xyl_in_send(0);
    if (problem->is_in_place)
        return XYL_ACTION_NONE;
    return xyl_schedule_copy(schedule, xyl_recv_block(problem, rank), *own_out,
                             xyl_recv_count(problem, rank), XYL_ACTION_NONE);
}

/* The input of a rank that is alone in a reduction is the result. */
static inline void xyl_reduce_alone(const xyl_problem_t *problem,
                                    xyl_schedule_t *schedule, uint64_t count)
{
    if (!problem->is_in_place)
        (void)xyl_schedule_copy(schedule, xyl_in_recv(0), xyl_in_send(0), count,
                                XYL_ACTION_NONE);
}

/* result = theirs op mine if `theirs` are of lower ranks, else the other way
 * round. */
static inline xyl_action_t
xyl_reduce_in_order(xyl_schedule_t *schedule, int theirs_are_lower,
                    xyl_position_t result, xyl_position_t theirs,
                    xyl_position_t mine, uint64_t count, xyl_action_t after)
{
    return theirs_are_lower ? xyl_schedule_reduce(schedule, result, theirs,
                                                  mine, count, after)
                            : xyl_schedule_reduce(schedule, result, mine,
                                                  theirs, count, after);
}

/* How many places the subtree of `place` has in a k-nomial tree
 * (trees/knomial.c); places are counted from the root. A subtree is a range of
 * places that begins with `place`. So its blocks lie together, except for the
 * step from the last rank to rank 0. */
static inline uint64_t xyl_knomial_span(uint64_t place, uint64_t places,
                                        uint32_t radix)
{
    uint64_t weight = 1;

    while (place == 0 ? weight < places : place % (weight * radix) == 0)
        weight *= radix;
    return weight < places - place ? weight : places - place;
}
