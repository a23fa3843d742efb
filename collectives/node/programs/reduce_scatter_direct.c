/* Reduce-scatter: every seat publishes its whole input, and combines its own
 * block of all inputs. */
#include "collectives/node/programs/parts.h"

enum { TURN_BLOCK = 2 << 10, TURN_INPUT = 256 << 10 };

/* The operand with which this seat begins. If all seats begin with the operand
 * of seat 0, all read from one seat at a time. If each seat begins with its
 * own, blocks of 2 to 16 KiB took 0.66 to 0.94 of the time with 8 and 16 ranks,
 * but inputs of 512 KiB took 1.10 to 1.43 (measured on 32 cores, Nov 2026). */
static uint32_t reduce_scatter_turn(const xyl_problem_t *problem,
                                    const xyl_node_program_t *program)
{
    return problem->is_commutative && program->piece_bytes >= TURN_BLOCK &&
                   program->input_bytes <= TURN_INPUT
               ? problem->rank
               : 0;
}

/* In a seat's memory, blocks lie side by side at full length; in the window, at
 * the length of a piece. */
static uint64_t reduce_scatter_further(const xyl_problem_t *problem,
                                       const xyl_node_program_t *program,
                                       uint32_t seat)
{
    return xyl_node_block_at(problem, seat) - seat * program->piece_bytes;
}

/* In place, if blocks differ in length, the result of a piece overwrites input
 * of that piece and of earlier ones. That is harmless: the input of a piece is
 * so short that a seat copies it as soon as the piece begins, and pieces begin
 * one after the other. */
static void write_reduce_scatter_input(const xyl_problem_t *problem,
                                       xyl_node_program_t *program,
                                       uint32_t seat)
{
    xyl_step_t *step = xyl_node_block_step(
        program, problem->is_in_place ? XYL_STEP_COPY : XYL_STEP_PUBLISH,
        xyl_position_of(XYL_BUFFER_INPUT, problem->rank,
                        seat * program->piece_bytes),
        xyl_in_send(xyl_node_block_at(problem, seat)),
        xyl_node_block(problem, seat));

    step->further = reduce_scatter_further(problem, program, seat);
    if (seat + 1 == problem->ranks)
        step->post = xyl_post_count(1, XYL_BOARD_ALL);
}

static void reduce_scatter_direct_write(const xyl_problem_t *problem,
                                        xyl_node_program_t *program)
{
    uint64_t seats = problem->ranks;
    uint64_t room = xyl_node_room(problem, seats * seats);
    xyl_step_t *step;
    uint32_t seat;

    if (room > problem->node.limits->reduce_scatter_piece)
        room = problem->node.limits->reduce_scatter_piece;
    xyl_node_cut(program, xyl_node_block_max(problem), room,
                 problem->element_bytes);
    program->input_bytes = xyl_board_whole_lines(seats * program->piece_bytes);
    program->shares =
        xyl_node_shares(problem, xyl_node_block_max(problem) * seats);
    xyl_node_leave_caches(problem, program, xyl_node_block_max(problem) * seats,
                          xyl_node_block_max(problem));
    for (seat = 0; seat < seats; seat++)
        write_reduce_scatter_input(problem, program, seat);
    step = xyl_node_block_step(
        program, XYL_STEP_REDUCE, xyl_in_recv(0),
        xyl_position(XYL_BUFFER_INPUT, problem->rank * program->piece_bytes),
        xyl_node_block(problem, problem->rank));
    step->further = reduce_scatter_further(problem, program, problem->rank);
    step->end_seat = problem->ranks;
    step->turn = reduce_scatter_turn(problem, program);
    step->wait = xyl_wait_all(1);
    if (!program->shares)
        return;
    step->post = xyl_post_count(2, XYL_BOARD_ALL); /* this seat has read all */
    xyl_node_until_read(program, 2);
}

const xyl_algorithm_t xyl_algorithm_node_reduce_scatter_direct = {
    .name = "node_direct",
    .help = "each rank publishes its input and combines its own block of all",
    XYL_BY_PROGRAM(reduce_scatter_direct_write),
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
};
