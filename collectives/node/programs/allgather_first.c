/* Allgather by the first seat, which puts the blocks together: the other seats
 * wait for one seat, not for all. For short blocks, which are copied twice. */
#include "collectives/node/programs/parts.h"

void xyl_node_allgather_in(const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    uint32_t seat;

    if (problem->rank != 0) {
        xyl_node_publish(problem, program,
                         problem->is_in_place ? xyl_in_recv(xyl_node_block_at(
                                                    problem, problem->rank))
                                              : xyl_in_send(0),
                         xyl_problem_bytes(problem), 0);
        return;
    }
    xyl_node_copy_own(problem, program, xyl_in_recv(0), xyl_in_send(0),
                      xyl_problem_bytes(problem));
    for (seat = 1; seat < problem->ranks; seat++)
        xyl_node_step(program, XYL_STEP_COPY,
                      xyl_in_recv(xyl_node_block_at(problem, seat)),
                      xyl_node_published(program, seat),
                      xyl_problem_bytes(problem))
            ->wait = xyl_wait_count(seat, 1);
}

const char *xyl_node_allgather_first_lacks(const xyl_problem_t *problem)
{
    uint64_t all = xyl_problem_bytes(problem) * problem->ranks;

    if (xyl_problem_varies(problem))
        return "needs blocks of one length";
    return all + problem->ranks *
                           xyl_board_whole_lines(xyl_problem_bytes(problem)) <=
                   problem->node.window_bytes
               ? NULL
               : xyl_node_lacks_room;
}

static void allgather_first_write(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    const xyl_position_t board = {XYL_BUFFER_BOARD, 0, 0};
    const xyl_position_t result = xyl_in_recv(0);
    int is_first = problem->rank == 0;
    xyl_step_t *step;

    xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
    program->board_bytes = xyl_problem_bytes(problem) * problem->ranks;
    xyl_node_allgather_in(problem, program);
    step = xyl_node_step(program, XYL_STEP_COPY, is_first ? board : result,
                         is_first ? result : board, program->board_bytes);
    if (is_first)
        step->post = xyl_post_count(1, XYL_BOARD_ALL);
    else
        step->wait = xyl_wait_count(0, 1);
}

const xyl_algorithm_t xyl_algorithm_node_allgather_first = {
    .name = "node_first",
    .help = "the first rank puts the blocks together, all read them from it",
    XYL_BY_PROGRAM(allgather_first_write),
    .colls = XYL_COLL_BIT(ALLGATHER),
    .lacks = xyl_node_allgather_first_lacks,
};
