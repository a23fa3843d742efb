/* Barrier by all to all: each seat tells all others. For few seats. */
#include "collectives/node/programs/parts.h"

static void barrier_direct_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    (void)problem;
    (void)xyl_node_signal(program, xyl_wait_nothing(),
                          xyl_post_count(1, XYL_BOARD_ALL));
    (void)xyl_node_signal(program, xyl_wait_all(1), xyl_post_nothing());
}

const xyl_algorithm_t xyl_algorithm_node_barrier_direct = {
    .name = "node_direct",
    .help = "each rank tells all others",
    XYL_BY_PROGRAM(barrier_direct_write),
    .colls = XYL_COLL_BIT(BARRIER),
};
