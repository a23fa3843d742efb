/* Barrier by all to all: each seat tells all others. For few seats. */
#include "collectives/node/programs/parts.h"

static void barrier_direct_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    xyl_step_t *step = xyl_node_signal(problem, program);

    step->post = xyl_post_count(1, XYL_BOARD_ALL);
    step = xyl_node_signal(problem, program);
    step->wait = xyl_wait_all(1);
}

const xyl_algorithm_t xyl_algorithm_node_barrier_direct = {
    .name = "node_direct",
    .help = "each rank tells all others, in the memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BARRIER),
    .program = barrier_direct_write,
};
