/* Scan and exscan. Short: every seat publishes its contribution and combines
 * those of the seats before it, a scan also its own. Long: from seat to seat,
 * piece by piece; each combines once and publishes the sum up to itself. */
#include "collectives/node/programs/parts.h"

static int is_scan(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_SCAN;
}

static void scan_plan(const xyl_problem_t *problem, uint64_t piece_bytes,
                      xyl_node_program_t *program)
{
    xyl_problem_t cut = *problem;

    if (cut.node.window_bytes > piece_bytes * cut.ranks)
        cut.node.window_bytes = piece_bytes * cut.ranks;
    xyl_node_plan_inputs(&cut, program, xyl_problem_bytes(problem));
}

/* ---- short ---- */

static void write_wait(xyl_node_program_t *program, uint32_t seat)
{
    const xyl_position_t nowhere = {XYL_BUFFER_LINE, 0, 0};
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);

    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = seat;
    step->wait_for = 1;
}

static void write_all(const xyl_problem_t *problem, xyl_node_program_t *program)
{
    uint32_t end = problem->rank + (uint32_t)is_scan(problem);
    xyl_step_t *step;
    uint32_t seat;

    scan_plan(problem, problem->node.limits->scan_piece, program);
    xyl_node_publish(problem, program, xyl_position_of(XYL_BUFFER_SEND, 0, 0),
                     xyl_problem_bytes(problem), XYL_BOARD_ALL);
    for (seat = 0; seat < end; seat++)
        write_wait(program, seat);
    step = xyl_node_step(program, XYL_STEP_REDUCE,
                         xyl_position_of(XYL_BUFFER_RECV, 0, 0),
                         xyl_node_published(program, 0), program->piece_bytes);
    step->total = xyl_problem_bytes(problem);
    step->end_seat = end;
}

/* ---- long ---- */

/* RECV = what a seat has published. */
static void write_copy(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t seat)
{
    xyl_step_t *step = xyl_node_step(
        program, XYL_STEP_COPY, xyl_position_of(XYL_BUFFER_RECV, 0, 0),
        xyl_position_of(XYL_BUFFER_INPUT, seat, 0), program->piece_bytes);

    step->total = xyl_problem_bytes(problem);
}

/* `to` = the sum up to the seat before, with this seat's own behind. */
static void write_scan_sum(const xyl_problem_t *problem,
                           xyl_node_program_t *program, xyl_position_t to)
{
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_REDUCE, to,
                      xyl_position_of(XYL_BUFFER_INPUT, problem->rank - 1, 0),
                      program->piece_bytes);

    step->total = xyl_problem_bytes(problem);
    step->first_seat = problem->rank - 1;
    step->end_seat = problem->rank + 1;
    step->takes_send = 1;
    if (to.buffer != XYL_BUFFER_INPUT)
        return;
    step->post = XYL_POST_COUNT;
    step->post_value = 1;
    step->post_seat = problem->rank + 1;
}

/* Short enough that the last seat does not wait long for the first piece, and
 * long enough that a piece costs more than to say that it is there. */
static uint64_t chain_piece(const xyl_problem_t *problem)
{
    const xyl_limits_t *limits = problem->node.limits;
    uint64_t piece = xyl_problem_bytes(problem) / limits->scan_chain_pieces;

    if (piece < limits->scan_chain_piece_min)
        return limits->scan_chain_piece_min;
    return piece < limits->scan_chain_piece_max ? piece
                                                : limits->scan_chain_piece_max;
}

/* The sum goes on to the next seat before this one keeps what it needs. */
static void write_chain(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    const xyl_position_t published = {XYL_BUFFER_INPUT, problem->rank, 0};
    int is_last = problem->rank + 1 == problem->ranks;

    scan_plan(problem, chain_piece(problem), program);
    if (problem->rank == 0) {
        xyl_node_publish(problem, program,
                         xyl_position_of(XYL_BUFFER_SEND, 0, 0),
                         xyl_problem_bytes(problem), 1);
    } else {
        write_wait(program, problem->rank - 1);
        if (!is_last)
            write_scan_sum(problem, program, published);
        else if (is_scan(problem))
            write_scan_sum(problem, program,
                           xyl_position_of(XYL_BUFFER_RECV, 0, 0));
    }
    if (!is_scan(problem) && problem->rank != 0)
        write_copy(problem, program, problem->rank - 1);
    else if (is_scan(problem) && !is_last)
        write_copy(problem, program, problem->rank);
}

/* Else the last seat reads the input of all. */
static int goes_from_seat_to_seat(const xyl_problem_t *problem)
{
    const xyl_limits_t *limits = problem->node.limits;
    uint64_t bytes = xyl_problem_bytes(problem);

    return problem->ranks > 2 && bytes >= limits->scan_chain &&
           bytes >= limits->scan_chain_all / problem->ranks;
}

static void scan_write(const xyl_problem_t *problem,
                       xyl_node_program_t *program)
{
    if (goes_from_seat_to_seat(problem))
        write_chain(problem, program);
    else
        write_all(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_scan = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(SCAN) | XYL_COLL_BIT(EXSCAN),
    .program = scan_write,
};
