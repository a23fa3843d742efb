/* Broadcast: the root copies the message into the window, segment by segment,
 * and leaves; the other seats copy out the segments that are there. They read a
 * long message in the root's memory instead. */
#include "collectives/node/programs/parts.h"

enum {
    SEGMENT_UNIT = 64, /* whole elements of most types */
    /* Readers read a message in the root's memory if it is this many times as
     * long as XYLEM_SHARE_BYTES. Measured as bcast_cut. */
    SHARE_TIMES = 8
};

static void write_short(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    const xyl_position_t line = {XYL_BUFFER_LINE, problem->root, 0};
    const xyl_position_t message = xyl_in_recv(0);
    int is_root = problem->rank == problem->root;
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_COPY, is_root ? line : message,
                      is_root ? message : line, xyl_problem_bytes(problem));

    step->emits = 0;
    if (is_root) {
        step->wait = xyl_wait_segment(0);
        step->post = xyl_post_count(1, XYL_BOARD_ALL);
    } else {
        step->wait = xyl_wait_count(problem->root, 1);
    }
}

/* ---- in segments ---- */

xyl_step_t *xyl_node_bcast_segment(const xyl_problem_t *problem,
                                   xyl_node_program_t *program,
                                   uint32_t segment, int publishes)
{
    const xyl_position_t input = {XYL_BUFFER_INPUT, problem->root, 0};
    const xyl_position_t message = xyl_in_recv(0);
    xyl_step_t *step = xyl_node_segment_step(
        program, problem, publishes ? XYL_STEP_PUBLISH : XYL_STEP_COPY,
        publishes ? input : message, publishes ? message : input, segment);

    step->emits = segment;
    step->wait = publishes ? xyl_wait_segment(segment) : xyl_wait_word(segment);
    if (publishes) {
        step->post = xyl_post_word(segment, XYL_BOARD_ALL);
    } else if (program->shares && segment + 1 == program->segments) {
        step->post = xyl_post_count(1, problem->root); /* has read all */
    }
    return step;
}

/* Measured with 2 to 16 ranks on 16 cores, Nov 2026. */
static const xyl_node_cut_t bcast_cut = {16, 16 << 10, UINT64_MAX};

/* The call's segment, or one such that copies in and out overlap. */
uint64_t xyl_node_bcast_segment_bytes(const xyl_problem_t *problem)
{
    uint64_t room = problem->node.window_bytes;
    uint64_t bytes = problem->segment_bytes;

    if (bytes == 0)
        bytes = xyl_node_cut_length(xyl_problem_bytes(problem) < room
                                        ? xyl_problem_bytes(problem)
                                        : room,
                                    bcast_cut);
    if (problem->segment_bytes == 0)
        bytes = (bytes + SEGMENT_UNIT - 1) / SEGMENT_UNIT * SEGMENT_UNIT;
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

void xyl_node_bcast_cut(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    program->segment_bytes = xyl_node_bcast_segment_bytes(problem);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem),
                          problem->node.window_bytes);
    program->board_bytes = program->piece_bytes;
}

static void bcast_direct_write(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    uint32_t segment;

    xyl_node_bcast_cut(problem, program);
    if (xyl_problem_bytes(problem) <= XYL_BOARD_INLINE_BYTES &&
        xyl_problem_bytes(problem) <= program->segment_bytes) {
        program->piece_bytes = program->segment_bytes;
        program->segments = 1;
        program->board_bytes = 0;
        write_short(problem, program);
        return;
    }
    program->shares =
        xyl_node_shares(problem, xyl_problem_bytes(problem) / SHARE_TIMES);
    for (segment = 0; segment < program->segments; segment++)
        xyl_node_bcast_segment(problem, program, segment,
                               problem->rank == problem->root);
    if (program->shares && problem->rank == problem->root)
        xyl_node_until_read(program, 1);
}

const xyl_algorithm_t xyl_algorithm_node_bcast_direct = {
    .name = "node_direct",
    .help = "the root publishes segments, all others read them",
    XYL_BY_PROGRAM(bcast_direct_write),
    .colls = XYL_COLL_BIT(BCAST),
};
