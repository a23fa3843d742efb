/* Scatter(v): the root publishes one block after the other and leaves; each
 * seat copies out its own. */
#include "collectives/node/programs/parts.h"

static void write_block(const xyl_node_problem_t *problem,
                        xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->root + distance) % problem->seats;
    xyl_step_t *step = xyl_node_step(
        program, XYL_STEP_COPY,
        xyl_spot(XYL_SPACE_BOARD, 0, seat * program->piece_bytes),
        xyl_spot(XYL_SPACE_SEND, 0, xyl_node_block_at(problem, seat)),
        program->piece_bytes);

    if (step == NULL)
        return;
    step->total = xyl_node_block(problem, seat);
    step->post = XYL_POST_COUNT;
    step->post_value = distance;
    step->post_seat = seat;
}

static void write_own(const xyl_node_problem_t *problem,
                      xyl_node_program_t *program)
{
    xyl_step_t *step;

    if (problem->is_in_place)
        return;
    step = xyl_node_step(
        program, XYL_STEP_COPY, xyl_spot(XYL_SPACE_RECV, 0, 0),
        xyl_spot(XYL_SPACE_SEND, 0, xyl_node_block_at(problem, problem->seat)),
        program->piece_bytes);
    if (step != NULL)
        step->total = xyl_node_block(problem, problem->seat);
}

static void write_reader(const xyl_node_problem_t *problem,
                         xyl_node_program_t *program)
{
    xyl_step_t *step = xyl_node_step(
        program, XYL_STEP_COPY, xyl_spot(XYL_SPACE_RECV, 0, 0),
        xyl_spot(XYL_SPACE_BOARD, 0, problem->seat * program->piece_bytes),
        program->piece_bytes);

    if (step == NULL)
        return;
    step->total = xyl_node_block(problem, problem->seat);
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = problem->root;
    step->wait_for =
        (problem->seat + problem->seats - problem->root) % problem->seats;
}

void xyl_node_scatter(const xyl_node_problem_t *problem,
                      xyl_node_program_t *program)
{
    uint32_t distance;

    xyl_node_plan_blocks(problem, program,
                         problem->window_bytes / problem->seats);
    program->board_bytes = problem->seats * program->piece_bytes;
    if (problem->seat != problem->root) {
        write_reader(problem, program);
        return;
    }
    for (distance = 1; distance < problem->seats; distance++)
        write_block(problem, program, distance);
    write_own(problem, program);
}
