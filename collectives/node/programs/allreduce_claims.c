/* Allreduce by claims, after HAN's SOLO (Luo et al. 2020, fig. 5.4): each seat
 * combines the next slice that no seat has claimed, and copies out all slices.
 * Contributions are combined in the order of seats, and read in their seats'
 * memory if that is memory of xylem_alloc. */
#include "collectives/node/programs/parts.h"

enum { SLICE_LEAST = 1 << 10 };

/* Publishes this seat's slices one by one, as they come. */
static void write_claims_inputs(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        xyl_step_t *step = xyl_node_segment_step(
            program, problem,
            problem->is_in_place ? XYL_STEP_COPY : XYL_STEP_PUBLISH,
            xyl_position_of(XYL_BUFFER_INPUT, problem->rank, 0),
            xyl_position_of(XYL_BUFFER_SEND, 0, 0), slice);
        step->wait = xyl_wait_segment(slice);
        step->post = xyl_post_count(slice + 1, XYL_BOARD_ALL);
    }
}

static void write_claims(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    xyl_step_t *step;

    xyl_node_strand(program);
    step = xyl_node_step(
        program, XYL_STEP_CLAIM, xyl_position_of(XYL_BUFFER_BOARD, 0, 0),
        xyl_position_of(XYL_BUFFER_INPUT, 0, 0), program->piece_bytes);
    step->cut.total = xyl_problem_bytes(problem);
    step->end_seat = problem->ranks;
    step->sum.slices = program->segments;
    step->sum.slice_bytes = program->segment_bytes;
    if (!program->shares)
        return;
    xyl_node_has_read(program, xyl_wait_count(problem->rank, program->segments),
                      program->segments + 1);
    xyl_node_until_read(program, XYL_BOARD_ALL, program->segments + 1);
}

/* The slice that the call asks for, or one per seat; a piece has room for
 * it. */
static uint64_t claims_slice_of(const xyl_problem_t *problem, uint64_t room)
{
    uint64_t bytes = problem->segment_bytes;

    if (bytes == 0)
        bytes = ((xyl_problem_bytes(problem) < room ? xyl_problem_bytes(problem)
                                                    : room) +
                 problem->ranks - 1) /
                problem->ranks;
    if (bytes < SLICE_LEAST && problem->segment_bytes == 0)
        bytes = SLICE_LEAST;
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

/* Bytes of a piece. A message that is somewhat longer goes in as many pieces as
 * are under way at once: a seat that has published all input keeps no seat
 * waiting. */
static uint64_t piece_of(const xyl_problem_t *problem)
{
    uint64_t least = problem->node.limits->allreduce_piece;
    uint64_t bytes = xyl_board_whole_lines(
        xyl_problem_bytes(problem) / XYL_NODE_ACTIVE_MAX + 1);

    return bytes < least ? least : bytes < 2 * least ? bytes : 2 * least;
}

static uint64_t claims_room(const xyl_problem_t *problem)
{
    return problem->node.window_bytes / (problem->ranks + 1) /
           XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES;
}

/* A piece waits for all seats, so all pieces must have room to be under way. */
static const char *claims_lack(const xyl_problem_t *problem)
{
    return xyl_problem_bytes(problem) >
                   XYL_NODE_ACTIVE_MAX * claims_room(problem)
               ? xyl_node_lacks_room
               : NULL;
}

static void claims_write(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    uint64_t room = claims_room(problem);

    if (room > piece_of(problem) && problem->segment_bytes < piece_of(problem))
        room = piece_of(problem);
    program->segment_bytes = claims_slice_of(problem, room);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem), room);
    program->input_bytes = xyl_board_whole_lines(program->piece_bytes);
    program->board_bytes = program->piece_bytes;
    program->shares = xyl_node_shares(problem, xyl_problem_bytes(problem));
    write_claims_inputs(problem, program);
    write_claims(problem, program);
    xyl_node_write_results(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_allreduce_claims = {
    .name = "node_claims",
    .help = "each rank combines the next slice that nobody has taken",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .lacks = claims_lack,
    .program = claims_write,
};
