/* Allreduce by claims, after HAN's SOLO (Luo et al. 2020, fig. 5.4): each seat
 * combines the next slice that no seat has claimed, and copies out all slices.
 * Contributions are combined in the order of seats, and read in their seats'
 * memory if that is memory of xylem_alloc. */
#include "collectives/node/programs/parts.h"

enum { SLICE_LEAST = 1 << 10 };

static void write_claims(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    xyl_step_t *step;

    xyl_node_strand(program);
    step = xyl_node_block_step(
        program, XYL_STEP_CLAIM, xyl_position(XYL_BUFFER_BOARD, 0),
        xyl_position(XYL_BUFFER_INPUT, 0), xyl_problem_bytes(problem));
    step->end_seat = problem->ranks;
    step->sum.slices = program->segments;
    step->sum.slice_bytes = program->segment_bytes;
    xyl_node_end_reading(program,
                         xyl_wait_count(problem->rank, program->segments),
                         program->segments + 1);
}

/* Bytes of a piece: so many that all pieces can be under way at once, but at
 * least `allreduce_piece` and at most twice that. If all pieces are under way,
 * a seat that has published all its input keeps no seat waiting. */
static uint64_t piece_of(const xyl_problem_t *problem)
{
    uint64_t least = problem->node.limits->allreduce_piece;
    uint64_t bytes = xyl_board_whole_lines(
        xyl_problem_bytes(problem) / XYL_NODE_ACTIVE_MAX + 1);

    return bytes < least ? least : bytes < 2 * least ? bytes : 2 * least;
}

/* A piece waits for all seats, so all pieces need room to be under way at once.
 */
static const char *claims_lack(const xyl_problem_t *problem)
{
    return xyl_problem_bytes(problem) >
                   XYL_NODE_ACTIVE_MAX *
                       xyl_node_room(problem, problem->ranks + 1)
               ? xyl_node_lacks_room
               : NULL;
}

static void claims_write(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    uint64_t room = xyl_node_room(problem, problem->ranks + 1);
    const xyl_node_cut_t cut = {problem->ranks, SLICE_LEAST, UINT64_MAX};
    uint64_t total = xyl_problem_bytes(problem);
    uint64_t bytes = problem->segment_bytes;

    if (room > piece_of(problem) && problem->segment_bytes < piece_of(problem))
        room = piece_of(problem);
    /* Bytes of a slice, at most `room`: as the call asks, or one slice per
     * seat. */
    if (bytes == 0)
        bytes = xyl_node_cut_length(total < room ? total : room, cut);
    program->segment_bytes =
        xyl_node_segment(bytes, room, problem->element_bytes);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem), room);
    program->input_bytes = xyl_board_whole_lines(program->piece_bytes);
    program->board_bytes = program->piece_bytes;
    program->shares = xyl_node_shares(problem, xyl_problem_bytes(problem));
    xyl_node_strand(program);
    xyl_node_reduce_inputs(problem, program);
    write_claims(problem, program);
    xyl_node_write_results(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_allreduce_claims = {
    .name = "node_claims",
    .help = "each rank combines the next slice that nobody has taken",
    XYL_BY_PROGRAM(claims_write),
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .lacks = claims_lack,
};
