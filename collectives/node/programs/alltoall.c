/* Alltoall(v, w): every seat publishes its blocks, beginning with that for its
 * neighbour, and copies out those that the others have for it. */
#include "collectives/node/programs/parts.h"

/* The input of a seat has the blocks side by side. */
static xyl_spot_t block_in(const xyl_node_program_t *program, uint32_t from,
                           uint32_t to)
{
    return xyl_spot(XYL_SPACE_INPUT, from, to * program->piece_bytes);
}

static xyl_spot_t block_to(const xyl_node_problem_t *problem, uint32_t seat)
{
    return xyl_spot(XYL_SPACE_RECV, 0, xyl_node_block_at(problem, seat));
}

static xyl_spot_t block_from(const xyl_node_problem_t *problem, uint32_t seat)
{
    return problem->is_in_place
               ? block_to(problem, seat)
               : xyl_spot(XYL_SPACE_SEND, 0, xyl_node_send_at(problem, seat));
}

static void write_own(const xyl_node_problem_t *problem,
                      xyl_node_program_t *program)
{
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_COPY, block_to(problem, problem->seat),
                      block_from(problem, problem->seat), program->piece_bytes);

    if (step != NULL)
        step->total = xyl_node_block(problem, problem->seat);
}

/* The count of a seat says how many blocks it has published. */
static void write_inputs(const xyl_node_problem_t *problem,
                         xyl_node_program_t *program)
{
    uint32_t distance;

    xyl_node_strand(program);
    for (distance = 1; distance < problem->seats; distance++) {
        uint32_t seat = (problem->seat + distance) % problem->seats;
        xyl_step_t *step = xyl_node_step(
            program, XYL_STEP_COPY, block_in(program, problem->seat, seat),
            block_from(problem, seat), program->piece_bytes);
        if (step == NULL)
            return;
        step->total = xyl_node_send_block(problem, seat);
        step->post = XYL_POST_COUNT;
        step->post_value = distance;
        /* In place, what is copied out waits for this seat as well. */
        step->post_seat = problem->is_in_place ? XYL_BOARD_ALL : seat;
    }
    if (!problem->is_in_place)
        write_own(problem, program);
}

static void write_block(const xyl_node_problem_t *problem,
                        xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seats = problem->seats;
    uint32_t seat = (problem->seat + seats - distance) % seats;
    xyl_spot_t to = block_to(problem, seat);
    xyl_step_t *step;

    xyl_node_strand(program);
    if (problem->is_in_place) { /* the block there must have been published */
        step = xyl_node_step(program, XYL_STEP_NOTHING, to, to, 0);
        if (step == NULL)
            return;
        step->wait = XYL_WAIT_COUNT;
        step->wait_seat = problem->seat;
        step->wait_for = seats - distance;
    }
    step = xyl_node_step(program, XYL_STEP_COPY, to,
                         block_in(program, seat, problem->seat),
                         program->piece_bytes);
    if (step == NULL)
        return;
    step->total = xyl_node_block(problem, seat);
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = seat;
    step->wait_for = distance;
}

void xyl_node_alltoall(const xyl_node_problem_t *problem,
                       xyl_node_program_t *program)
{
    uint64_t seats = problem->seats;
    uint32_t distance;

    xyl_node_plan_blocks(problem, program,
                         problem->window_bytes / seats / seats / 128 * 128);
    program->input_bytes = (seats * program->piece_bytes + 127) / 128 * 128;
    write_inputs(problem, program);
    for (distance = 1; distance < problem->seats; distance++)
        write_block(problem, program, distance);
}
