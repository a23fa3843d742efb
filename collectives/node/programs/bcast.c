/* Broadcast: the root copies the message into the window, segment by segment,
 * and leaves; the others copy out what is there, or where it lies. A short one
 * goes by groups if there are any. */
#include "collectives/node/programs/parts.h"

enum { SEGMENT_UNIT = 64 /* whole elements of most types */ };

static void write_short(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    const xyl_position_t line = {XYL_BUFFER_LINE, problem->root, 0};
    const xyl_position_t message = {XYL_BUFFER_RECV, 0, 0};
    int is_root = problem->rank == problem->root;
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_COPY, is_root ? line : message,
                      is_root ? message : line, xyl_problem_bytes(problem));

    step->emits = 0;
    if (is_root) {
        step->wait = XYL_WAIT_SEGMENT;
        step->post = XYL_POST_COUNT;
        step->post_value = 1;
    } else {
        step->wait = XYL_WAIT_COUNT;
        step->wait_seat = problem->root;
        step->wait_for = 1;
    }
}

/* ---- by groups ---- */

static int bcast_goes_by_groups(const xyl_problem_t *problem,
                                const xyl_node_program_t *program)
{
    return xyl_problem_bytes(problem) <= problem->node.limits->bcast_groups &&
           xyl_problem_bytes(problem) <= program->segment_bytes &&
           xyl_board_whole_lines(xyl_problem_bytes(problem)) <=
               problem->node.window_bytes / problem->ranks &&
           xyl_node_has_groups(problem);
}

static void write_bcast_groups(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    program->piece_bytes = program->segment_bytes;
    program->segments = 1;
    if (xyl_problem_bytes(problem) > XYL_BOARD_INLINE_BYTES)
        program->input_bytes =
            xyl_board_whole_lines(xyl_problem_bytes(problem));
    xyl_node_fan_out(problem, program, problem->root, 1);
}

/* ---- in segments ---- */

xyl_step_t *xyl_node_bcast_segment(const xyl_problem_t *problem,
                                   xyl_node_program_t *program,
                                   uint32_t segment, int publishes)
{
    const uint64_t at = segment * program->segment_bytes;
    const xyl_position_t input = {XYL_BUFFER_INPUT, problem->root, at};
    const xyl_position_t message = {XYL_BUFFER_RECV, 0, at};
    xyl_step_t *step =
        xyl_node_step(program, publishes ? XYL_STEP_PUBLISH : XYL_STEP_COPY,
                      publishes ? input : message, publishes ? message : input,
                      program->segment_bytes);

    step->within = at;
    step->total = xyl_problem_bytes(problem);
    step->emits = segment;
    step->wait = publishes ? XYL_WAIT_SEGMENT : XYL_WAIT_WORD;
    step->wait_for = segment;
    if (publishes) {
        step->post = XYL_POST_WORD;
        step->post_value = segment;
    } else if (program->shares && segment + 1 == program->segments) {
        step->post = XYL_POST_COUNT; /* it has read all */
        step->post_value = 1;
        step->post_seat = problem->root;
    }
    return step;
}

/* As wanted, if a piece has room; else so that copies in and out overlap. */
static uint64_t bcast_segment_of(const xyl_problem_t *problem, uint64_t room)
{
    uint64_t bytes = problem->segment_bytes;

    if (bytes == 0)
        bytes = (xyl_problem_bytes(problem) < room ? xyl_problem_bytes(problem)
                                                   : room) /
                problem->node.limits->bcast_segments;
    if (bytes < problem->node.limits->bcast_segment &&
        problem->segment_bytes == 0)
        bytes = problem->node.limits->bcast_segment;
    if (problem->segment_bytes == 0)
        bytes = (bytes + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

static void cut(const xyl_problem_t *problem, xyl_node_program_t *program)
{
    xyl_node_cut_segments(program, xyl_problem_bytes(problem),
                          problem->node.window_bytes);
    program->board_bytes = program->piece_bytes;
}

void xyl_node_bcast_cut(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    program->segment_bytes =
        bcast_segment_of(problem, problem->node.window_bytes);
    cut(problem, program);
}

static void bcast_write(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    uint32_t segment;

    program->segment_bytes =
        bcast_segment_of(problem, problem->node.window_bytes);
    if (bcast_goes_by_groups(problem, program)) {
        write_bcast_groups(problem, program);
        return;
    }
    if (xyl_problem_bytes(problem) <= XYL_BOARD_INLINE_BYTES &&
        xyl_problem_bytes(problem) <= program->segment_bytes) {
        program->piece_bytes = program->segment_bytes;
        program->segments = 1;
        write_short(problem, program);
        return;
    }
    cut(problem, program);
    program->shares =
        xyl_node_shares(problem, xyl_problem_bytes(problem) /
                                     problem->node.limits->bcast_share);
    for (segment = 0; segment < program->segments; segment++)
        xyl_node_bcast_segment(problem, program, segment,
                               problem->rank == problem->root);
    if (program->shares && problem->rank == problem->root)
        xyl_node_until_read(program, 1);
}

const xyl_algorithm_t xyl_algorithm_node_bcast = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BCAST),
    .program = bcast_write,
};
