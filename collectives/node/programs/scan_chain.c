/* Scan and exscan of long messages: sums go from seat to seat, piece by piece.
 * Each seat combines once and publishes the sum up to itself. */
#include "collectives/node/programs/parts.h"

/* `to` = (sum up to the seat before) op (this seat's contribution). */
static void write_scan_sum(const xyl_problem_t *problem,
                           xyl_node_program_t *program, xyl_position_t to)
{
    xyl_step_t *step = xyl_node_block_step(
        program, XYL_STEP_REDUCE, to,
        xyl_position_of(XYL_BUFFER_INPUT, problem->rank - 1, 0),
        xyl_problem_bytes(problem));

    step->first_seat = problem->rank - 1;
    step->end_seat = problem->rank + 1;
    step->takes_send = 1;
    if (to.buffer == XYL_BUFFER_INPUT)
        step->post = xyl_post_count(1, problem->rank + 1);
}

/* Pieces are so short that the last seat does not wait long for the first one,
 * and so long that a piece costs more than its post. Measured with 4, 8 and 16
 * ranks; the most simulated with 4 to 64 ranks on a node, Nov 2026. */
static const xyl_node_cut_t chain_cut = {8, 2 << 10, 16 << 10};

/* A seat publishes its sum for the next one before it copies its result. */
static void scan_chain_write(const xyl_problem_t *problem,
                             xyl_node_program_t *program)
{
    const xyl_position_t published = {XYL_BUFFER_INPUT, problem->rank, 0};
    xyl_position_t copied = published;
    int is_last = problem->rank + 1 == problem->ranks;

    xyl_node_scan_plan(
        problem, xyl_node_cut_length(xyl_problem_bytes(problem), chain_cut),
        program);
    program->input_bytes = xyl_board_whole_lines(program->piece_bytes);
    if (problem->rank == 0) {
        xyl_node_publish(problem, program, xyl_in_send(0),
                         xyl_problem_bytes(problem), 1);
    } else {
        (void)xyl_node_signal(program, xyl_wait_count(problem->rank - 1, 1),
                              xyl_post_nothing());
        if (!is_last)
            write_scan_sum(problem, program, published);
        else if (xyl_node_is_scan(problem))
            write_scan_sum(problem, program, xyl_in_recv(0));
    }
    if (!xyl_node_is_scan(problem))
        copied.seat--; /* the sum of the seat before */
    if (xyl_node_is_scan(problem) ? !is_last : problem->rank != 0)
        (void)xyl_node_block_step(program, XYL_STEP_COPY, xyl_in_recv(0),
                                  copied, xyl_problem_bytes(problem));
}

const xyl_algorithm_t xyl_algorithm_node_scan_chain = {
    .name = "node_chain",
    .help = "sums go from rank to rank in pieces",
    XYL_BY_PROGRAM(scan_chain_write),
    .colls = XYL_COLL_BIT(SCAN) | XYL_COLL_BIT(EXSCAN),
};
