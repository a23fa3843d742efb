/* Allgather: every seat publishes its block and copies out all others, each as
 * it comes, beginning with its neighbour so that they do not all read one. */
#include "collectives/node/parts.h"

static void write_own(const xyl_node_problem_t *problem,
                      xyl_node_program_t *program)
{
    xyl_spot_t place = {XYL_SPACE_RECV, 0,
                        xyl_node_block_at(problem, problem->seat)};
    xyl_spot_t from = {XYL_SPACE_SEND, 0, 0};
    xyl_step_t *step;

    xyl_node_strand(program);
    xyl_node_publish(problem, program, problem->is_in_place ? place : from,
                     xyl_node_block(problem, problem->seat), XYL_BOARD_ALL);
    if (problem->is_in_place)
        return;
    step = xyl_node_step(program, XYL_STEP_COPY, place, from,
                         program->piece_bytes);
    if (step != NULL)
        step->total = xyl_node_block(problem, problem->seat);
}

static void write_block(const xyl_node_problem_t *problem,
                        xyl_node_program_t *program, uint32_t seat)
{
    xyl_step_t *step;

    xyl_node_strand(program);
    step = xyl_node_step(
        program, XYL_STEP_COPY,
        xyl_spot(XYL_SPACE_RECV, 0, xyl_node_block_at(problem, seat)),
        xyl_node_published(program, seat), program->piece_bytes);
    if (step == NULL)
        return;
    step->total = xyl_node_block(problem, seat);
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = seat;
    step->wait_for = 1;
}

void xyl_node_allgather(const xyl_node_problem_t *problem,
                        xyl_node_program_t *program)
{
    uint32_t i;

    xyl_node_plan_inputs(problem, program, xyl_node_block_max(problem));
    write_own(problem, program);
    for (i = 1; i < problem->seats; i++)
        write_block(problem, program, (problem->seat + i) % problem->seats);
}
