/* Barrier by the first seat: all seats tell it, and it tells all. */
#include "collectives/node/programs/parts.h"

static void write_barrier_first(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_step_t *step = xyl_node_signal(problem, program);

    step->wait = xyl_wait_all(1);
    step->post = xyl_post_count(1, XYL_BOARD_ALL);
}

static void write_barrier_other(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_step_t *step = xyl_node_signal(problem, program);

    step->post = xyl_post_count(1, 0);
    step = xyl_node_signal(problem, program);
    step->wait = xyl_wait_count(0, 1);
}

static void barrier_first_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    if (problem->rank == 0)
        write_barrier_first(problem, program);
    else
        write_barrier_other(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_barrier_first = {
    .name = "node_first",
    .help = "all ranks tell the first one, which tells all, in the memory of a "
            "node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BARRIER),
    .program = barrier_first_write,
};
