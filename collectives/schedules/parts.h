/* A vector cut into one part per rank. In an allreduce or reduce, parts differ
 * in length by at most one element. In a reduce_scatter the parts are the
 * blocks, one behind the other. */
#pragma once

#include "collectives/schedules/algorithm.h"

/* Where a part begins; part `ranks`: the end of the vector. */
static inline uint64_t xyl_parts_at(const xyl_problem_t *problem, uint32_t part)
{
    uint32_t last = problem->ranks - 1;

    if (problem->coll == XYLEM_COLL_ALLREDUCE ||
        problem->coll == XYLEM_COLL_REDUCE)
        return xyl_part_at(problem->count, problem->ranks, part);
    if (part <= last)
        return xyl_block_at(problem, problem->recv_displs, part);
    return xyl_block_at(problem, problem->recv_displs, last) +
           xyl_recv_count(problem, last);
}

static inline uint64_t xyl_parts_count(const xyl_problem_t *problem,
                                       uint32_t first, uint32_t end)
{
    return xyl_parts_at(problem, end) - xyl_parts_at(problem, first);
}

/* 1: the result comes to its place only at the end. In place, a reduce_scatter
 * writes its result over other ranks' blocks at the beginning of SEND. */
static inline int xyl_parts_result_is_late(const xyl_problem_t *problem)
{
    return problem->is_in_place && problem->coll != XYLEM_COLL_ALLREDUCE &&
           problem->coll != XYLEM_COLL_REDUCE;
}
