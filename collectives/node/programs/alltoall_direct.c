/* Alltoall(v, w): every seat publishes its blocks, beginning with its
 * neighbour's, and copies out the blocks that the other seats have for it.
 *
 * Where lengths vary, blocks are handed in a first piece, in which each seat
 * has a cell for each other seat; only blocks longer than a cell go as above.
 * Two seats hand each other's block by their lines.
 *
 * In node_read a seat offers its blocks, and the receivers read them in the
 * seat's memory, neighbours first. An alltoall offers all blocks. An alltoallv
 * or alltoallw by node_read:K offers blocks of at least K KiB, by their cells
 * of the first piece. */
#include "collectives/node/programs/alltoall.h"

enum {
    CELL_LEAST = 32,
    CELL_LINE = 64 /* longer cells are whole lines */
};

/* The input of a seat in the window has its blocks side by side. */
static xyl_position_t alltoall_block_in(const xyl_node_program_t *program,
                                        uint32_t from, uint32_t to)
{
    return xyl_position_of(XYL_BUFFER_INPUT, from, to * program->piece_bytes);
}

/* The count by which a seat says that its block for the seat at `distance` is
 * published: one for each block, or one for all if they are short. */
static uint32_t count_of(const xyl_problem_t *problem, uint32_t distance)
{
    return !xyl_problem_varies(problem) &&
                   xyl_problem_bytes(problem) <
                       problem->node.limits->alltoall_each
               ? problem->ranks - 1
               : distance;
}

static void write_alltoall_inputs(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    uint32_t distance;

    for (distance = 1; distance < problem->ranks; distance++) {
        uint32_t seat = (problem->rank + distance) % problem->ranks;
        xyl_step_t *step = xyl_node_block_step(
            program, xyl_node_alltoall_publishes(problem),
            alltoall_block_in(program, problem->rank, seat),
            xyl_node_alltoall_from(problem, seat),
            xyl_node_left(program, xyl_node_send_block(problem, seat)));
        step->further =
            xyl_node_alltoall_further(problem, step, step->to, seat);
        if (count_of(problem, distance) != distance)
            continue;
        /* In place, this seat's copies out wait for the count as well. */
        step->post = xyl_post_count(distance, problem->is_in_place ||
                                                      count_of(problem, 1) != 1
                                                  ? XYL_BOARD_ALL
                                                  : seat);
    }
    xyl_node_alltoall_own(problem, program);
}

/* In place, a block is overwritten after this seat has posted its `count`. */
static void write_alltoall_wait(const xyl_problem_t *problem,
                                xyl_node_program_t *program, uint32_t count)
{
    if (problem->is_in_place)
        (void)xyl_node_signal(program, xyl_wait_count(problem->rank, count),
                              xyl_post_nothing());
}

static void write_alltoall_block(const xyl_problem_t *problem,
                                 xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seats = problem->ranks;
    uint32_t seat = (problem->rank + seats - distance) % seats;
    xyl_step_t *step;

    xyl_node_strand(program);
    /* the block there must have been published */
    write_alltoall_wait(problem, program, count_of(problem, seats - distance));
    step = xyl_node_block_step(
        program, XYL_STEP_COPY, xyl_node_alltoall_to(problem, seat),
        alltoall_block_in(program, seat, problem->rank),
        xyl_node_left(program, xyl_node_block(problem, seat)));
    step->further =
        xyl_node_alltoall_further(problem, step, step->from, problem->rank);
    step->wait = xyl_wait_count(seat, count_of(problem, distance));
}

/* ---- blocks that are read in their senders' memory ---- */

enum { OFFER_CELL = 1024, READ_KIB = 64 };

/* 1: cells have heads. If there are only two seats, each has one parcel, which
 * goes by a line. */
static int has_heads(const xyl_problem_t *problem)
{
    return problem->ranks > 2;
}

static int has_lines(const xyl_problem_t *problem)
{
    return has_heads(problem) || !xyl_node_is_cut_late(problem);
}

static uint64_t kept_bytes(const xyl_problem_t *problem,
                           const xyl_node_program_t *program, uint32_t end)
{
    uint64_t bytes = 0, block;
    uint32_t seat;

    for (seat = 0; seat < end && problem->is_in_place; seat++) {
        block = xyl_node_send_block(problem, seat);
        if (seat != problem->rank && xyl_node_is_offered(program, block))
            bytes += block;
    }
    return bytes;
}

/* In place, a seat offers a copy of the block, because the result overwrites
 * the block. */
static xyl_position_t offered_block(const xyl_problem_t *problem,
                                    const xyl_node_program_t *program,
                                    uint32_t seat)
{
    return problem->is_in_place
               ? xyl_position_of(XYL_BUFFER_TEMP, 0,
                                 kept_bytes(problem, program, seat))
               : xyl_node_alltoall_from(problem, seat);
}

/* The cell by which a seat's block goes to the seat at `distance`. */
static xyl_position_t cell_of(const xyl_node_program_t *program, uint32_t seat,
                              uint32_t distance)
{
    return xyl_position_of(XYL_BUFFER_INPUT, seat,
                           (distance - 1) * program->cell);
}

/* How a block goes to `seat`, or comes from it. */
static xyl_transfer_t alltoall_transfer(const xyl_problem_t *problem,
                                        const xyl_node_program_t *program,
                                        uint32_t seat, uint64_t bytes)
{
    int is_whole = bytes <= program->first_bytes;

    if (xyl_node_is_offered(program, bytes))
        return (xyl_transfer_t){
            has_lines(problem) ? XYL_FORM_BETWEEN_PEER : XYL_FORM_PEER, seat};
    if (has_heads(problem))
        return (xyl_transfer_t){
            is_whole ? XYL_FORM_BETWEEN_CELL : XYL_FORM_BETWEEN_LENGTH, seat};
    return (xyl_transfer_t){
        is_whole ? xyl_node_form(program, bytes) : XYL_FORM_LENGTH, seat};
}

static void keep_block(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t seat)
{
    if (problem->is_in_place)
        (void)xyl_node_step(program, XYL_STEP_COPY,
                            offered_block(problem, program, seat),
                            xyl_node_alltoall_from(problem, seat),
                            xyl_node_send_block(problem, seat));
}

static void offer_block(const xyl_problem_t *problem,
                        xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->rank + distance) % problem->ranks;
    uint64_t bytes = xyl_node_send_block(problem, seat);

    keep_block(problem, program, seat);
    xyl_node_offer(program, alltoall_transfer(problem, program, seat, bytes),
                   cell_of(program, problem->rank, distance),
                   offered_block(problem, program, seat), bytes);
}

/* Waits until an offered block was read, or sends it in parts. */
static void hand_offered(const xyl_problem_t *problem,
                         xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->rank + distance) % problem->ranks;
    uint64_t bytes = xyl_node_send_block(problem, seat);
    const xyl_transfer_t to_seat =
        alltoall_transfer(problem, program, seat, bytes);

    if (to_seat.form != XYL_FORM_BETWEEN_PEER)
        return;
    xyl_node_strand(program);
    xyl_node_hand(program, to_seat, cell_of(program, problem->rank, distance),
                  offered_block(problem, program, seat), bytes);
}

static void take_block(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seats = problem->ranks;
    uint32_t seat = (problem->rank + seats - distance) % seats;
    uint64_t bytes = xyl_node_block(problem, seat);
    int is_offered = xyl_node_is_offered(program, bytes);

    /* If two seats offer nothing, each takes in the strand in which it hands,
     * because no hand waits. */
    if (has_lines(problem) || is_offered || program->offers) {
        xyl_node_strand(program);
        write_alltoall_wait(problem, program, 1); /* its own block was handed */
    }
    xyl_node_take(program, alltoall_transfer(problem, program, seat, bytes),
                  cell_of(program, seat, distance),
                  xyl_node_alltoall_to(problem, seat), bytes);
    program->offers |= is_offered;
}

static void copy_long_own(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    uint64_t bytes = xyl_node_block(problem, problem->rank);

    if (problem->is_in_place || !xyl_node_is_offered(program, bytes))
        return;
    xyl_node_strand(program);
    xyl_node_copy_own(problem, program,
                      xyl_node_alltoall_to(problem, problem->rank),
                      xyl_node_alltoall_from(problem, problem->rank), bytes);
}

/* Bytes of the line and the cell from one seat to another: beside the slots if
 * they have room, else in a window of the pool; 0: neither has room. */
static uint64_t offer_bytes(const xyl_problem_t *problem)
{
    const uint64_t line = sizeof(xyl_parcel_line_t);
    const uint64_t pairs = (uint64_t)problem->ranks * (problem->ranks - 1);
    uint64_t each = xyl_node_unpooled(problem) / pairs / line * line;

    if (each >= XYL_PARCEL_BETWEEN_LEAST)
        return each < line + OFFER_CELL ? each : line + OFFER_CELL;
    each = XYL_PARCEL_BETWEEN_LEAST;
    return each * pairs <= problem->node.window_bytes ? each : 0;
}

/* Each block has its own strands, so that it waits only for its two seats. */
static void alltoall_read_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint32_t distance, seats = problem->ranks;

    xyl_node_plan_parcels(problem, program);
    program->cell = offer_bytes(problem);
    program->cells = program->input_bytes = (seats - 1) * program->cell;
    program->read_from = 1;
    program->temp_bytes = kept_bytes(problem, program, seats);
    for (distance = 1; distance < seats; distance++)
        offer_block(problem, program, distance);
    (void)xyl_node_signal(program, xyl_wait_nothing(),
                          xyl_post_count(1, XYL_BOARD_ALL));
    for (distance = 1; distance < seats; distance++)
        take_block(problem, program, distance);
    for (distance = 1; distance < seats; distance++)
        hand_offered(problem, program, distance);
    copy_long_own(problem, program);
}

/* ---- the first piece ---- */

/* Bytes of the cell for each of several other seats: whole lines of parcels if
 * that leaves room for offers. */
static uint64_t cell_for_each(const xyl_problem_t *problem)
{
    const uint64_t line = sizeof(xyl_parcel_line_t);
    uint64_t others = problem->ranks - 1;
    uint64_t cell = xyl_node_unpooled(problem) / problem->ranks /
                    XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES / others;

    if (cell > problem->node.limits->parcel_cell)
        cell = problem->node.limits->parcel_cell;
    if (cell >= XYL_PARCEL_BETWEEN_LEAST)
        return cell / line * line;
    return cell < CELL_LINE ? CELL_LEAST : cell / CELL_LINE * CELL_LINE;
}

static void plan_cells(const xyl_problem_t *problem,
                       xyl_node_program_t *program)
{
    if (has_heads(problem)) {
        program->cell = cell_for_each(problem);
        program->cells =
            xyl_board_whole_lines((problem->ranks - 1) * program->cell);
        program->first_bytes = program->cell - sizeof(xyl_parcel_head_t);
    } else {
        program->cells = program->cell = program->first_bytes =
            xyl_node_cell(problem);
    }
    if (program->read_from == 0)
        return;
    if (program->read_from <= program->first_bytes)
        program->read_from = program->first_bytes + 1;
    program->temp_bytes = kept_bytes(problem, program, problem->ranks);
}

static void hand_block(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->rank + distance) % problem->ranks;
    uint64_t bytes = xyl_node_send_block(problem, seat);
    int is_offered = xyl_node_is_offered(program, bytes);
    const xyl_transfer_t to_seat =
        alltoall_transfer(problem, program, seat, bytes);

    if (to_seat.form == XYL_FORM_BETWEEN_PEER) {
        offer_block(problem, program, distance);
        return;
    }
    if (is_offered)
        keep_block(problem, program, seat);
    xyl_node_hand(program, to_seat, cell_of(program, problem->rank, distance),
                  is_offered ? offered_block(problem, program, seat)
                             : xyl_node_alltoall_from(problem, seat),
                  bytes);
    program->offers |= is_offered;
}

static void write_first(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    uint64_t own = xyl_node_block(problem, problem->rank);
    uint32_t distance;

    plan_cells(problem, program);
    for (distance = 1; distance < problem->ranks; distance++)
        hand_block(problem, program, distance);
    if (has_heads(problem))
        xyl_node_tell(program);
    if (own <= program->first_bytes)
        xyl_node_copy_own(problem, program,
                          xyl_node_alltoall_to(problem, problem->rank),
                          xyl_node_alltoall_from(problem, problem->rank), own);
    for (distance = 1; distance < problem->ranks; distance++)
        take_block(problem, program, distance);
    for (distance = 1; distance < problem->ranks; distance++)
        hand_offered(problem, program, distance);
    copy_long_own(problem, program);
    if (has_heads(problem))
        xyl_node_hear(program);
}

/* ---- in windows ---- */

static void alltoall_direct_write(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    uint64_t seats = problem->ranks;
    uint32_t distance;

    program->shares = xyl_node_alltoall_shares(problem);
    if (xyl_node_is_cut_late(problem))
        write_first(problem, program);
    xyl_node_plan_blocks(problem, program,
                         xyl_node_room(problem, seats * seats));
    program->input_bytes = xyl_board_whole_lines(seats * program->piece_bytes);
    write_alltoall_inputs(problem, program);
    for (distance = 1; distance < problem->ranks; distance++)
        write_alltoall_block(problem, program, distance);
    xyl_node_end_reading(program, xyl_wait_strands(), problem->ranks);
}

const xyl_algorithm_t xyl_algorithm_node_alltoall_direct = {
    .name = "node_direct",
    .help = "each rank publishes its blocks, all read those for them",
    XYL_BY_PROGRAM(alltoall_direct_write),
    .colls = XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
};

static const char *offers_lack(const xyl_problem_t *problem, int has_room)
{
    const char *missing = xyl_node_parcels_lack(problem);

    if (missing == NULL && problem->segment_bytes != 0)
        missing = "takes no segments";
    return missing != NULL || has_room ? missing : xyl_node_lacks_room;
}

static const char *alltoall_read_lacks(const xyl_problem_t *problem)
{
    return problem->count == 0
               ? xyl_node_lacks_data
               : offers_lack(problem, offer_bytes(problem) != 0);
}

const xyl_algorithm_t xyl_algorithm_node_alltoall_read = {
    .name = "node_read",
    .help =
        "each rank reads its blocks where they lie in the memory of the others",
    XYL_BY_PROGRAM(alltoall_read_write),
    .colls = XYL_COLL_BIT(ALLTOALL),
    .lacks = alltoall_read_lacks,
};

static void alltoallv_read_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    program->read_from = xyl_node_read_from(problem, READ_KIB);
    alltoall_direct_write(problem, program);
}

static const char *alltoallv_read_lacks(const xyl_problem_t *problem)
{
    return offers_lack(problem,
                       !has_heads(problem) ||
                           cell_for_each(problem) >= XYL_PARCEL_BETWEEN_LEAST);
}

const xyl_algorithm_t xyl_algorithm_node_alltoallv_read = {
    .name = "node_read",
    .help = "each rank reads blocks of K KiB and more where they lie in the "
            "memory of the others",
    XYL_BY_PROGRAM(alltoallv_read_write),
    .colls = XYL_COLL_BIT(ALLTOALLV) | XYL_COLL_BIT(ALLTOALLW),
    .radix = {1, READ_KIB, XYL_NODE_READ_KIB_MAX},
    .lacks = alltoallv_read_lacks,
};
