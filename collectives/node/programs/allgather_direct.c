/* Allgather: every seat publishes its block and copies out the other seats'
 * blocks as they come. It begins with its neighbour's block, so that the seats
 * do not all read the same block at once. */
#include "collectives/node/programs/parts.h"

static void allgather_direct_write(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    uint32_t i;
    xyl_position_t place =
        xyl_in_recv(xyl_node_block_at(problem, problem->rank));
    xyl_position_t from = xyl_in_send(0);

    xyl_node_plan_inputs(problem, program, xyl_node_block_max(problem));
    program->shares = program->input_bytes != 0 &&
                      xyl_node_shares(problem, xyl_node_block_max(problem));
    xyl_node_strand(program);
    xyl_node_publish(problem, program, problem->is_in_place ? place : from,
                     xyl_node_block(problem, problem->rank), XYL_BOARD_ALL);
    xyl_node_copy_own(problem, program, place, from, program->piece_bytes);
    for (i = 1; i < problem->ranks; i++)
        xyl_node_fetch(problem, program, (problem->rank + i) % problem->ranks);
    xyl_node_end_reading(program, xyl_wait_strands(), 2);
}

const xyl_algorithm_t xyl_algorithm_node_allgather_direct = {
    .name = "node_direct",
    .help = "each rank publishes its block and reads all others",
    XYL_BY_PROGRAM(allgather_direct_write),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
};
