/* Gather(v): every seat publishes its block, and the root copies out each block
 * as it comes. No block is read in its seat's memory: the root alone reads, so
 * that would save the other seats' copies and no time, and they would wait for
 * the root. */
#include "collectives/node/programs/parts.h"

static void gather_direct_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint32_t i;

    if (xyl_node_is_cut_late(problem)) {
        xyl_node_plan_blocks(problem, program,
                             problem->node.window_bytes / problem->ranks);
        program->input_bytes = program->piece_bytes;
    } else {
        xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
    }
    xyl_node_leave_caches(problem, program, xyl_problem_bytes(problem),
                          xyl_problem_bytes(problem));
    if (problem->rank != problem->root) {
        xyl_node_publish(problem, program, xyl_in_send(0),
                         xyl_problem_bytes(problem), problem->root);
        return;
    }
    if (!problem->is_in_place)
        xyl_node_strand(program);
    xyl_node_copy_own(problem, program,
                      xyl_in_recv(xyl_node_block_at(problem, problem->rank)),
                      xyl_in_send(0), program->piece_bytes);
    for (i = 1; i < problem->ranks; i++)
        xyl_node_fetch(problem, program, (problem->root + i) % problem->ranks);
}

const xyl_algorithm_t xyl_algorithm_node_gather_direct = {
    .name = "node_direct",
    .help = "each rank publishes its block, the root reads them",
    XYL_BY_PROGRAM(gather_direct_write),
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(GATHERV),
    .lacks = xyl_node_lengths_lack,
};
