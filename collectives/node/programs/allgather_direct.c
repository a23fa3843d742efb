/* Allgather: every seat publishes its block and copies out the other seats'
 * blocks as they come, its neighbour's first, so that not all seats read
 * one. */
#include "collectives/node/programs/parts.h"

static void write_allgather_own(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_position_t place = {XYL_BUFFER_RECV, 0,
                            xyl_node_block_at(problem, problem->rank)};
    xyl_position_t from = {XYL_BUFFER_SEND, 0, 0};
    xyl_step_t *step;

    xyl_node_strand(program);
    xyl_node_publish(problem, program, problem->is_in_place ? place : from,
                     xyl_node_block(problem, problem->rank), XYL_BOARD_ALL);
    if (problem->is_in_place)
        return;
    step = xyl_node_step(program, XYL_STEP_COPY, place, from,
                         program->piece_bytes);
    step->cut.total = xyl_node_block(problem, problem->rank);
}

static void allgather_direct_write(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    uint32_t i;

    xyl_node_plan_inputs(problem, program, xyl_node_block_max(problem));
    program->shares = program->input_bytes != 0 &&
                      xyl_node_shares(problem, xyl_node_block_max(problem));
    write_allgather_own(problem, program);
    for (i = 1; i < problem->ranks; i++)
        xyl_node_fetch(problem, program, (problem->rank + i) % problem->ranks);
    if (!program->shares)
        return;
    xyl_node_strand(program);
    xyl_node_has_read(program, xyl_wait_strands(), 2);
    xyl_node_until_read(program, XYL_BOARD_ALL, 2);
}

const xyl_algorithm_t xyl_algorithm_node_allgather_direct = {
    .name = "node_direct",
    .help = "each rank publishes its block and reads all others",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
    .program = allgather_direct_write,
};
