/* Allgather: every seat publishes its block and copies out all others, each as
 * it comes, beginning with its neighbour so that they do not all read one. */
#include "collectives/node/programs/parts.h"

static void write_allgather_own(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_position_t place = {XYL_BUFFER_RECV, 0,
                            xyl_node_block_at(problem, problem->rank)};
    xyl_position_t from = {XYL_BUFFER_SEND, 0, 0};
    xyl_step_t *step;

    xyl_node_strand(program);
    xyl_node_publish(problem, program, problem->is_in_place ? place : from,
                     xyl_node_block(problem, problem->rank), XYL_BOARD_ALL);
    if (problem->is_in_place)
        return;
    step = xyl_node_step(program, XYL_STEP_COPY, place, from,
                         program->piece_bytes);
    step->total = xyl_node_block(problem, problem->rank);
}

/* ---- short blocks: the first seat puts them together ---- */

static void write_gather(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    xyl_step_t *step;
    uint32_t seat;

    if (!problem->is_in_place)
        (void)xyl_node_step(
            program, XYL_STEP_COPY, xyl_position_of(XYL_BUFFER_RECV, 0, 0),
            xyl_position_of(XYL_BUFFER_SEND, 0, 0), xyl_problem_bytes(problem));
    for (seat = 1; seat < problem->ranks; seat++) {
        step = xyl_node_step(program, XYL_STEP_COPY,
                             xyl_position_of(XYL_BUFFER_RECV, 0,
                                             xyl_node_block_at(problem, seat)),
                             xyl_node_published(program, seat),
                             xyl_problem_bytes(problem));
        step->wait = XYL_WAIT_COUNT;
        step->wait_seat = seat;
        step->wait_for = 1;
    }
}

static void write_allgather_block(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    xyl_position_t place = {XYL_BUFFER_RECV, 0,
                            xyl_node_block_at(problem, problem->rank)};

    xyl_node_publish(
        problem, program,
        problem->is_in_place ? place : xyl_position_of(XYL_BUFFER_SEND, 0, 0),
        xyl_problem_bytes(problem), 0);
}

static void write_allgather_first(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    xyl_step_t *step;

    write_gather(problem, program);
    step = xyl_node_step(program, XYL_STEP_COPY,
                         xyl_position_of(XYL_BUFFER_BOARD, 0, 0),
                         xyl_position_of(XYL_BUFFER_RECV, 0, 0),
                         xyl_problem_bytes(problem) * problem->ranks);
    step->post = XYL_POST_COUNT;
    step->post_value = 1;
}

static void write_allgather_other(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    xyl_step_t *step;

    write_allgather_block(problem, program);
    step = xyl_node_step(program, XYL_STEP_COPY,
                         xyl_position_of(XYL_BUFFER_RECV, 0, 0),
                         xyl_position_of(XYL_BUFFER_BOARD, 0, 0),
                         xyl_problem_bytes(problem) * problem->ranks);
    step->wait = XYL_WAIT_COUNT;
    step->wait_for = 1;
}

/* Looking at one seat instead of all pays as long as there is little to copy
 * twice. */
static int goes_by_first(const xyl_problem_t *problem)
{
    uint64_t all = xyl_problem_bytes(problem) * problem->ranks;

    return !xyl_problem_varies(problem) &&
           problem->ranks >= problem->node.limits->allgather_first_seats &&
           xyl_problem_bytes(problem) <=
               problem->node.limits->allgather_first &&
           all <= problem->node.limits->allgather_first &&
           all + problem->ranks *
                       xyl_board_whole_lines(xyl_problem_bytes(problem)) <=
               problem->node.window_bytes;
}

/* The first seat gathers; what it has put together goes out by groups. */
static int allgather_goes_by_groups(const xyl_problem_t *problem)
{
    uint64_t all = xyl_problem_bytes(problem) * problem->ranks;

    return goes_by_first(problem) && xyl_node_has_groups(problem) &&
           xyl_board_whole_lines(all) <=
               problem->node.window_bytes / problem->ranks;
}

static void write_allgather_groups(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    xyl_problem_t whole = *problem;

    whole.count *= problem->ranks;
    if (xyl_problem_bytes(&whole) > XYL_BOARD_INLINE_BYTES)
        program->input_bytes = xyl_board_whole_lines(xyl_problem_bytes(&whole));
    if (problem->rank == 0)
        write_gather(problem, program);
    else
        write_allgather_block(problem, program);
    xyl_node_fan_out(&whole, program, 0, 2);
}

/* A seat's block is read by all others. */
static void write_allgather_end(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    xyl_node_strand(program);
    xyl_node_has_read(problem, program, XYL_WAIT_STRANDS, 0, 2);
    xyl_node_until_read(program, 2);
}

static void allgather_write(const xyl_problem_t *problem,
                            xyl_node_program_t *program)
{
    uint32_t i;

    xyl_node_plan_inputs(problem, program, xyl_node_block_max(problem));
    if (allgather_goes_by_groups(problem)) {
        write_allgather_groups(problem, program);
        return;
    }
    if (goes_by_first(problem)) {
        program->board_bytes = xyl_problem_bytes(problem) * problem->ranks;
        if (problem->rank == 0)
            write_allgather_first(problem, program);
        else
            write_allgather_other(problem, program);
        return;
    }
    program->shares = program->input_bytes != 0 &&
                      xyl_node_shares(problem, xyl_node_block_max(problem));
    write_allgather_own(problem, program);
    for (i = 1; i < problem->ranks; i++)
        xyl_node_fetch(problem, program, (problem->rank + i) % problem->ranks);
    if (program->shares)
        write_allgather_end(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_allgather = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
    .program = allgather_write,
};
