/* Barrier: all tell the first seat, which tells all; a few tell each other. By
 * groups: leaders stand between. */
#include "collectives/node/programs/parts.h"

static xyl_step_t *nothing(const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    const xyl_position_t nowhere = {XYL_BUFFER_LINE, problem->rank, 0};

    return xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);
}

static void write_each(const xyl_problem_t *problem,
                       xyl_node_program_t *program)
{
    xyl_step_t *step = nothing(problem, program);

    step->post = XYL_POST_COUNT;
    step->post_value = 1;
    step = nothing(problem, program);
    step->wait = XYL_WAIT_ALL_COUNTS;
    step->wait_for = 1;
}

static void write_barrier_first(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_step_t *step = nothing(problem, program);

    step->wait = XYL_WAIT_ALL_COUNTS;
    step->wait_for = 1;
    step->post = XYL_POST_COUNT;
    step->post_value = 1;
}

static void write_barrier_other(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_step_t *step = nothing(problem, program);

    step->post = XYL_POST_COUNT;
    step->post_value = 1;
    step->post_seat = 0;
    step = nothing(problem, program);
    step->wait = XYL_WAIT_COUNT;
    step->wait_for = 1;
}

static void write_barrier_groups(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    xyl_problem_t signal = *problem;

    signal.count = 0;
    xyl_node_fan_in(&signal, program, 0);
    xyl_node_fan_out(&signal, program, 0, 2);
}

static void barrier_write(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    if (xyl_node_has_groups(problem))
        write_barrier_groups(problem, program);
    else if (problem->ranks <= problem->node.limits->barrier_all_seats)
        write_each(problem, program);
    else if (problem->rank == 0)
        write_barrier_first(problem, program);
    else
        write_barrier_other(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_barrier = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BARRIER),
    .program = barrier_write,
};
