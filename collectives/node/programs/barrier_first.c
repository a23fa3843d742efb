/* Barrier by the first seat: all seats tell it, and it tells all. */
#include "collectives/node/programs/parts.h"

static void barrier_first_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    if (problem->rank == 0) {
        (void)xyl_node_signal(program, xyl_wait_all(1),
                              xyl_post_count(1, XYL_BOARD_ALL));
        return;
    }
    (void)xyl_node_signal(program, xyl_wait_nothing(), xyl_post_count(1, 0));
    (void)xyl_node_signal(program, xyl_wait_count(0, 1), xyl_post_nothing());
}

const xyl_algorithm_t xyl_algorithm_node_barrier_first = {
    .name = "node_first",
    .help = "all ranks tell the first one, which tells all",
    XYL_BY_PROGRAM(barrier_first_write),
    .colls = XYL_COLL_BIT(BARRIER),
};
