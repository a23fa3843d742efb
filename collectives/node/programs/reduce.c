/* Reduce, and long allreduce. Short, see reduce_alone.c. Long: seats are
 * combined in pairs and pairs with pairs, as they come and with the same bits
 * whoever comes last (pairs.h). In an allreduce all copy the result out. The
 * root of a reduce adds its own to the sum of all others, if the order of
 * operands does not matter or it is the first; else it copies out, too.
 *
 * Where the window has room for a good part of all inputs, or input comes in
 * parts, after HAN's SOLO (Luo et al. 2020, fig. 5.4), with claims: the seats
 * combine different slices at once, each the next that nobody has taken. Then
 * contributions are combined in the order of seats, and read where they lie if
 * that is memory of xylem_alloc.
 *
 * In the order of arrival there is one buffer in the window instead of one per
 * seat. In a reduce every seat but the root adds to it and leaves, and the root
 * adds last; in an allreduce all add, and copy out what is full. See
 * combine.h. */
#include "collectives/node/programs/parts.h"

enum { PAIR_SEGMENTS = XYL_PAIRS_SEGMENTS };

static int has_result(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_ALLREDUCE ||
           problem->rank == problem->root;
}

/* It stays as it is until the end. */
static int keeps_input(const xyl_problem_t *problem)
{
    return !problem->is_in_place || !has_result(problem);
}

/* Slices come one after the other, and are published so. */
static void write_reduce_inputs(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        uint64_t at = slice * program->segment_bytes;
        xyl_step_t *step = xyl_node_step(
            program, keeps_input(problem) ? XYL_STEP_PUBLISH : XYL_STEP_COPY,
            xyl_position_of(XYL_BUFFER_INPUT, problem->rank, at),
            xyl_position_of(XYL_BUFFER_SEND, 0, at), program->segment_bytes);
        step->within = at;
        step->total = xyl_problem_bytes(problem);
        step->wait = XYL_WAIT_SEGMENT;
        step->wait_for = slice;
        step->post = XYL_POST_COUNT;
        step->post_value = slice + 1;
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
    step->total = xyl_problem_bytes(problem);
    step->end_seat = problem->ranks;
    step->slices = program->segments;
    step->slice_bytes = program->segment_bytes;
    if (problem->coll == XYLEM_COLL_REDUCE)
        step->post_seat = problem->root;
    if (!program->shares)
        return;
    xyl_node_has_read(problem, program, XYL_WAIT_COUNT, program->segments,
                      program->segments + 1);
    xyl_node_until_read(program, program->segments + 1);
}

static void write_results(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        uint64_t at = slice * program->segment_bytes;
        xyl_step_t *step = xyl_node_step(
            program, XYL_STEP_COPY, xyl_position_of(XYL_BUFFER_RECV, 0, at),
            xyl_position_of(XYL_BUFFER_BOARD, 0, at), program->segment_bytes);
        step->within = at;
        step->total = xyl_problem_bytes(problem);
        step->or_itself = program->input_bytes != 0;
        step->wait = XYL_WAIT_WORD;
        step->wait_for = slice;
        step->emits = slice;
    }
}

/* ---- in the order of arrival ---- */

/* In a reduce of two seats one contributes, and nobody is in its way. */
static uint32_t spares_of(const xyl_problem_t *problem)
{
    if (problem->ranks <= 2)
        return 0;
    return problem->ranks < XYL_COMBINE_SPARES_MAX ? problem->ranks
                                                   : XYL_COMBINE_SPARES_MAX;
}

static uint64_t sum_segment_of(const xyl_problem_t *problem, uint64_t room)
{
    uint64_t bytes = problem->segment_bytes;
    uint64_t segments = problem->node.limits->sum_segments;

    if (bytes != 0)
        return xyl_node_segment(bytes, room, problem->element_bytes);
    bytes = (xyl_problem_bytes(problem) + segments - 1) / segments;
    if (bytes < problem->node.limits->sum_segment_min)
        bytes = problem->node.limits->sum_segment_min;
    if (bytes > problem->node.limits->sum_segment_max)
        bytes = problem->node.limits->sum_segment_max;
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

static void write_reduce_sum(const xyl_problem_t *problem,
                             xyl_node_program_t *program, uint32_t spares)
{
    int is_reduce = problem->coll == XYLEM_COLL_REDUCE;
    int collects = is_reduce && problem->rank == problem->root;
    xyl_step_t *step;

    xyl_node_strand(program);
    step = xyl_node_step(
        program, collects ? XYL_STEP_COLLECT : XYL_STEP_COMBINE,
        xyl_position_of(collects ? XYL_BUFFER_RECV : XYL_BUFFER_BOARD, 0, 0),
        xyl_position_of(XYL_BUFFER_SEND, 0, 0), program->piece_bytes);
    step->total = xyl_problem_bytes(problem);
    step->slices = program->segments;
    step->slice_bytes = program->segment_bytes;
    step->spares = spares;
    if (is_reduce)
        step->post_seat = problem->root;
}

/* Sums begin at multiples of a line, as do spares. */
static void write_as_they_come(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    uint64_t window = problem->node.window_bytes / 128 * 128, spare_bytes;
    uint32_t spares = spares_of(problem);

    program->segment_bytes =
        sum_segment_of(problem, window / (spares + 1) / 128 * 128);
    spare_bytes = xyl_board_whole_lines(program->segment_bytes);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem),
                          window - spares * spare_bytes);
    program->board_bytes =
        xyl_board_whole_lines(program->piece_bytes) + spares * spare_bytes;
    write_reduce_sum(problem, program, spares);
    if (problem->coll == XYLEM_COLL_ALLREDUCE)
        write_results(problem, program);
}

/* ---- by pairs ---- */

/* The fewest cells with which pairs make sense: homes, and some beside. */
static uint64_t cells_min(const xyl_problem_t *problem)
{
    const uint64_t each = XYL_PAIRS_CELLS_OF_WORD;

    return (xyl_pairs_homes(problem->ranks) / each + 2) * each;
}

/* Half of a window is for the result, or what it takes of it; the rest is for
 * cells, as many as there can be in use. */
static uint64_t pair_segment_of(const xyl_problem_t *problem)
{
    uint64_t room = problem->node.long_window_bytes / 2 / cells_min(problem);
    uint64_t bytes =
        (xyl_problem_bytes(problem) + PAIR_SEGMENTS - 1) / PAIR_SEGMENTS;

    if (problem->segment_bytes != 0) /* of a level: they come and go so */
        return xyl_node_segment(problem->segment_bytes, UINT64_MAX,
                                problem->element_bytes);
    if (bytes < problem->node.limits->pair_segment_min)
        bytes = problem->node.limits->pair_segment_min;
    if (bytes > problem->node.limits->pair_segment_max)
        bytes = problem->node.limits->pair_segment_max;
    if (bytes > room)
        bytes = room / XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES;
    bytes = xyl_board_whole_lines(bytes);
    return xyl_node_segment(bytes, bytes, problem->element_bytes);
}

/* Cells, and a result, fit into a window. */
static int pairs_fit(const xyl_problem_t *problem)
{
    return xyl_board_whole_lines(pair_segment_of(problem)) *
               cells_min(problem) <=
           problem->node.long_window_bytes / 2;
}

/* A claim waits for everybody, and without room for all inputs at once claims
 * do so again and again; by pairs, in a reduce, nobody waits for who is late
 * but the root. Where all get the result, and there is room, claims cost less.
 * In a level of a reduce whoever gets the result does so for another level,
 * which goes on detached. In one of an allreduce all wait for it anyway.
 * What lies in memory of xylem_alloc is copied then, as nobody knows where the
 * others' input lies. */
static int goes_by_pairs(const xyl_problem_t *problem)
{
    const xyl_limits_t *limits = problem->node.limits;
    uint64_t room = problem->node.window_bytes / (problem->ranks + 1);
    uint64_t bytes = xyl_problem_bytes(problem);
    int are_many = problem->ranks >= limits->many_seats;
    uint64_t pieces =
        are_many ? limits->claim_pieces_many : limits->claim_pieces;
    uint64_t reduces =
        are_many ? limits->reduce_pairs_many : limits->reduce_pairs;

    if (problem->node.is_for_one && problem->segment_bytes != 0)
        return bytes >= limits->level_pairs && pairs_fit(problem);
    return (bytes > pieces * room ||
            (problem->coll == XYLEM_COLL_REDUCE && bytes >= reduces)) &&
           problem->segment_bytes == 0 && !problem->node.in_parts &&
           pairs_fit(problem);
}

/* As many as there can be in use at any time. */
static uint32_t cells_of(const xyl_problem_t *problem,
                         const xyl_node_program_t *program)
{
    uint64_t most = cells_min(problem) + (uint64_t)program->segments *
                                             xyl_pairs_homes(problem->ranks);

    return most < XYL_PAIRS_CELLS_MAX ? (uint32_t)most
                                      : (uint32_t)XYL_PAIRS_CELLS_MAX;
}

/* Of these in the window: as many as are in use where nobody is late. */
static uint32_t near_cells_of(const xyl_problem_t *problem,
                              const xyl_node_program_t *program)
{
    uint64_t left = problem->node.long_window_bytes -
                    xyl_board_whole_lines(program->piece_bytes);
    uint64_t cells = left / xyl_board_whole_lines(program->segment_bytes);
    uint64_t wanted = cells_min(problem) + (uint64_t)program->segments *
                                               xyl_pairs_homes(problem->ranks) *
                                               problem->node.limits->pair_room /
                                               100;

    if (cells > wanted)
        cells = wanted;
    cells = cells / XYL_PAIRS_CELLS_OF_WORD * XYL_PAIRS_CELLS_OF_WORD;
    return cells < cells_of(problem, program) ? (uint32_t)cells
                                              : cells_of(problem, program);
}

/* The root takes no part in the tree, but adds its own to the sum of the
 * others: it alone has to wait, so in the tree it would be the last to come,
 * and would combine whatever lies between its leaf and the top, and copy. */
static int root_is_apart(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_REDUCE && problem->ranks > 2 &&
           (problem->is_commutative || problem->root == 0);
}

static void write_pairs(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    int is_apart = root_is_apart(problem);
    int collects = is_apart && problem->rank == problem->root;
    xyl_step_t *step;

    program->segment_bytes = pair_segment_of(problem);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem),
                          problem->node.long_window_bytes / 2);
    xyl_node_strand(program);
    step = xyl_node_step(
        program, collects ? XYL_STEP_COLLECT : XYL_STEP_PAIR,
        xyl_position_of(collects ? XYL_BUFFER_RECV : XYL_BUFFER_BOARD, 0, 0),
        xyl_position_of(XYL_BUFFER_SEND, 0, 0), program->piece_bytes);
    step->total = xyl_problem_bytes(problem);
    step->end_seat = problem->ranks - (uint32_t)is_apart;
    step->slices = program->segments;
    step->slice_bytes = program->segment_bytes;
    step->spares = near_cells_of(problem, program);
    step->cells = cells_of(problem, program);
    if (problem->coll == XYLEM_COLL_REDUCE)
        step->post_seat = problem->root;
    program->board_bytes =
        xyl_board_whole_lines(program->piece_bytes) +
        step->spares * xyl_board_whole_lines(program->segment_bytes);
    if (has_result(problem) && !is_apart)
        write_results(problem, program);
}

/* ---- in the order of seats ---- */

/* As wanted, if a piece has room; else as many slices as seats. */
static uint64_t reduce_slice_of(const xyl_problem_t *problem, uint64_t room)
{
    uint64_t least = problem->coll == XYLEM_COLL_REDUCE
                         ? problem->node.limits->reduce_slice
                         : problem->node.limits->allreduce_slice;
    uint64_t bytes = problem->segment_bytes;

    if (bytes == 0)
        bytes = ((xyl_problem_bytes(problem) < room ? xyl_problem_bytes(problem)
                                                    : room) +
                 problem->ranks - 1) /
                problem->ranks;
    if (bytes < least && problem->segment_bytes == 0)
        bytes = least;
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

/* Longer pieces in an allreduce, as all copy the results out. A message that is
 * somewhat longer goes in as many as are under way at once: a seat that has
 * published all of its input is not waited for any more. */
static uint64_t piece_of(const xyl_problem_t *problem)
{
    uint64_t least = problem->coll == XYLEM_COLL_REDUCE
                         ? problem->node.limits->reduce_piece
                         : problem->node.limits->allreduce_piece;
    uint64_t bytes = xyl_board_whole_lines(
        xyl_problem_bytes(problem) / XYL_NODE_ACTIVE_MAX + 1);

    return bytes < least ? least : bytes < 2 * least ? bytes : 2 * least;
}

void xyl_node_reduce(const xyl_problem_t *problem, xyl_node_program_t *program)
{
    uint64_t room =
        problem->node.window_bytes / (problem->ranks + 1) / 128 * 128;

    if (xyl_problem_bytes(problem) <= problem->node.limits->reduce_alone ||
        (problem->ranks <= problem->node.limits->reduce_alone_seats &&
         !problem->combines_sums)) {
        xyl_node_reduce_alone(problem, program);
        return;
    }
    if (problem->in_arrival_order) {
        write_as_they_come(problem, program);
        return;
    }
    if (goes_by_pairs(problem)) {
        write_pairs(problem, program);
        return;
    }
    if (problem->node.roots_in_turn) { /* shared work as it is */
        xyl_node_reduce_alone(problem, program);
        return;
    }
    if (room > piece_of(problem) && problem->segment_bytes < piece_of(problem))
        room = piece_of(problem);
    program->segment_bytes = reduce_slice_of(problem, room);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem), room);
    program->input_bytes = xyl_board_whole_lines(program->piece_bytes);
    program->board_bytes = program->piece_bytes;
    program->shares = xyl_node_shares(problem, xyl_problem_bytes(problem));
    write_reduce_inputs(problem, program);
    write_claims(problem, program);
    if (has_result(problem))
        write_results(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_reduce = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(REDUCE),
    .program = xyl_node_reduce,
};
