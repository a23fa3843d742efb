/* Allreduce by the first seat, which combines all contributions in the order of
 * seats and publishes the result. For very short messages. */
#include "collectives/node/programs/parts.h"

static void write_allreduce_first(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    const xyl_position_t result = xyl_in_recv(0);
    xyl_position_t own = xyl_node_published(program, 0);
    xyl_step_t *step;

    (void)xyl_node_step(program, XYL_STEP_COPY, own, xyl_in_send(0),
                        xyl_problem_bytes(problem));
    step = xyl_node_step(program, XYL_STEP_REDUCE, result, own,
                         xyl_problem_bytes(problem));
    step->end_seat = problem->ranks;
    step->wait = xyl_wait_all(1);
    xyl_node_step(program, XYL_STEP_COPY, own, result,
                  xyl_problem_bytes(problem))
        ->post = xyl_post_count(1, XYL_BOARD_ALL);
}

static void write_allreduce_other(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    xyl_node_publish(problem, program, xyl_in_send(0),
                     xyl_problem_bytes(problem), 0);
    xyl_node_step(program, XYL_STEP_COPY, xyl_in_recv(0),
                  xyl_node_published(program, 0), xyl_problem_bytes(problem))
        ->wait = xyl_wait_count(0, 1);
}

static void allreduce_first_write(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
    xyl_node_leave_caches(problem, program, xyl_problem_bytes(problem),
                          xyl_problem_bytes(problem));
    if (problem->rank == 0)
        write_allreduce_first(problem, program);
    else
        write_allreduce_other(problem, program);
}

const char *xyl_node_whole_lacks(const xyl_problem_t *problem)
{
    uint64_t bytes = xyl_problem_bytes(problem);

    if (problem->segment_bytes != 0 && bytes > problem->segment_bytes)
        return "takes no segments";
    return bytes <= xyl_node_room(problem, problem->ranks + 1)
               ? NULL
               : xyl_node_lacks_room;
}

const xyl_algorithm_t xyl_algorithm_node_allreduce_first = {
    .name = "node_first",
    .help = "the first rank combines the input of all, all read the result",
    XYL_BY_PROGRAM(allreduce_first_write),
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .lacks = xyl_node_whole_lacks,
};
