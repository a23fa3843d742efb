/* Shared by the alltoalls on a node: a block's place, and how it is
 * published. */
#pragma once

#include "collectives/node/programs/parts.h"

/* An input in place is copied, because the result overwrites it. */
static inline xyl_step_kind_t
xyl_node_alltoall_publishes(const xyl_problem_t *problem)
{
    return problem->is_in_place ? XYL_STEP_COPY : XYL_STEP_PUBLISH;
}

static inline xyl_position_t xyl_node_alltoall_to(const xyl_problem_t *problem,
                                                  uint32_t seat)
{
    return xyl_in_recv(xyl_node_block_at(problem, seat));
}

static inline xyl_position_t
xyl_node_alltoall_from(const xyl_problem_t *problem, uint32_t seat)
{
    return problem->is_in_place ? xyl_node_alltoall_to(problem, seat)
                                : xyl_in_send(xyl_node_send_at(problem, seat));
}

/* `further` of a step: in a seat's memory, blocks lie side by side at full
 * length. Blocks that are read there all have one length. */
static inline uint64_t xyl_node_alltoall_further(const xyl_problem_t *problem,
                                                 const xyl_step_t *step,
                                                 xyl_position_t published,
                                                 uint32_t seat)
{
    return xyl_problem_bytes(problem) * seat + step->cut.within - published.at;
}

static inline void xyl_node_alltoall_own(const xyl_problem_t *problem,
                                         xyl_node_program_t *program)
{
    const uint32_t own = problem->rank;

    if (!problem->is_in_place)
        (void)xyl_node_block_step(
            program, XYL_STEP_COPY, xyl_node_alltoall_to(problem, own),
            xyl_node_alltoall_from(problem, own),
            xyl_node_left(program, xyl_node_block(problem, own)));
}
