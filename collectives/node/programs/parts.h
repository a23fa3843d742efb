/* Helpers of the functions that write node programs. */
#pragma once

#include "collectives/board/board.h"
#include "collectives/board/parcel.h"
#include "collectives/data/algorithm.h"
#include "collectives/data/limits.h"
#include "collectives/node/program.h"

/* Texts that `lacks` returns (see xyl_algorithm_t). */
#define xyl_node_lacks_data "needs a message that is not empty"
#define xyl_node_lacks_room "needs more room, see XYLEM_NOISE_BUDGET"

/* How an algorithm cuts a message: into about `segments` segments of at least
 * `least` and at most `most` bytes. A rule of the table, a setting or a call
 * may give another length, but not to a chain of a scan. */
typedef struct xyl_node_cut {
    uint32_t segments;
    uint64_t least, most;
} xyl_node_cut_t;

static inline uint64_t xyl_node_cut_length(uint64_t bytes, xyl_node_cut_t cut)
{
    bytes = (bytes + cut.segments - 1) / cut.segments;
    if (bytes < cut.least)
        return cut.least;
    return bytes < cut.most ? bytes : cut.most;
}

/* Bytes of a segment: as the problem asks, else by `cut`; at most `room`. */
static inline uint64_t xyl_node_segment_of(const xyl_problem_t *problem,
                                           xyl_node_cut_t cut, uint64_t room)
{
    uint64_t bytes = problem->segment_bytes;

    if (bytes == 0)
        bytes = xyl_node_cut_length(xyl_problem_bytes(problem), cut);
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

/* Adds a step for the piece's bytes of a block of `total` bytes. */
static inline xyl_step_t *
xyl_node_block_step(xyl_node_program_t *program, xyl_step_kind_t kind,
                    xyl_position_t to, xyl_position_t from, uint64_t total)
{
    xyl_step_t *step =
        xyl_node_step(program, kind, to, from, program->piece_bytes);

    step->cut.total = total;
    return step;
}

/* Adds a step for a segment of a message that begins at `to` and `from`. */
static inline xyl_step_t *
xyl_node_segment_step(xyl_node_program_t *program, const xyl_problem_t *problem,
                      xyl_step_kind_t kind, xyl_position_t to,
                      xyl_position_t from, uint32_t segment)
{
    uint64_t at = segment * program->segment_bytes;
    xyl_step_t *step;

    to.at += at;
    from.at += at;
    step = xyl_node_step(program, kind, to, from, program->segment_bytes);
    step->cut.within = at;
    step->cut.total = xyl_problem_bytes(problem);
    return step;
}

/* Bytes of a seat's block, and where it begins in the buffer of all blocks. */
static inline uint64_t xyl_node_block(const xyl_problem_t *problem,
                                      uint32_t seat)
{
    return xyl_problem_block(problem, seat) * problem->element_bytes;
}

static inline uint64_t xyl_node_block_at(const xyl_problem_t *problem,
                                         uint32_t seat)
{
    return xyl_problem_block_at(problem, seat) * problem->element_bytes;
}

/* The same for the buffer of sent blocks, where both buffers have several. */
static inline uint64_t xyl_node_send_block(const xyl_problem_t *problem,
                                           uint32_t seat)
{
    return problem->send_counts == NULL
               ? xyl_node_block(problem, seat)
               : problem->send_counts[seat] * problem->element_bytes;
}

static inline uint64_t xyl_node_send_at(const xyl_problem_t *problem,
                                        uint32_t seat)
{
    return problem->send_displs == NULL
               ? xyl_node_block_at(problem, seat)
               : problem->send_displs[seat] * problem->element_bytes;
}

static inline uint64_t xyl_node_block_max(const xyl_problem_t *problem)
{
    uint64_t most = 0;
    uint32_t seat;

    for (seat = 0; seat < problem->ranks; seat++)
        if (xyl_node_block(problem, seat) > most)
            most = xyl_node_block(problem, seat);
    return most;
}

/* Bytes of a block of `bytes` that go in pieces behind the first. */
static inline uint64_t xyl_node_left(const xyl_node_program_t *program,
                                     uint64_t bytes)
{
    return bytes > program->first_bytes && !xyl_node_is_offered(program, bytes)
               ? bytes
               : 0;
}

/* Bytes of one of `parts` equal parts of a window, in whole lines. */
static inline uint64_t xyl_node_room(const xyl_problem_t *problem,
                                     uint64_t parts)
{
    return problem->node.window_bytes / parts / XYL_BOARD_LINE_BYTES *
           XYL_BOARD_LINE_BYTES;
}

/* Cuts blocks into pieces with room for `room` bytes of each block, by
 * xyl_node_cut_late if each seat knows only its own blocks. Blocks that stay in
 * place do not count. */
static inline void xyl_node_plan_blocks(const xyl_problem_t *problem,
                                        xyl_node_program_t *program,
                                        uint64_t room)
{
    uint64_t recv, send;
    uint32_t seat;

    if (!xyl_node_is_cut_late(problem)) {
        xyl_node_cut(program, xyl_node_block_max(problem), room,
                     problem->element_bytes);
        return;
    }
    xyl_node_cut_late(program, room);
    for (seat = 0; seat < problem->ranks; seat++) {
        if (problem->is_in_place && seat == problem->rank)
            continue;
        recv = xyl_node_left(program, xyl_node_block(problem, seat));
        send = xyl_node_left(program, xyl_node_send_block(problem, seat));
        if (recv > program->largest)
            program->largest = recv;
        if (send > program->largest)
            program->largest = send;
    }
}

/* Sets `leaves_caches` for `bytes` of input that one seat, or few, combine or
 * copy out at once. Its blocks of `block` bytes must be long, because seats
 * that use blocks in one line disturb each other. */
static inline void xyl_node_leave_caches(const xyl_problem_t *problem,
                                         xyl_node_program_t *program,
                                         uint64_t bytes, uint64_t block)
{
    const xyl_limits_t *limits = problem->node.limits;

    program->leaves_caches = problem->ranks >= limits->hand_over_seats &&
                             bytes <= limits->hand_over &&
                             block >= limits->hand_over_block;
}

/* Where a seat's published bytes are. */
static inline xyl_position_t
xyl_node_published(const xyl_node_program_t *program, uint32_t seat)
{
    return xyl_position_of(program->input_bytes == 0 ? XYL_BUFFER_LINE
                                                     : XYL_BUFFER_INPUT,
                           seat, 0);
}

/* Adds the step that publishes this seat's block of `total` bytes, in its line
 * if the window has no inputs, and posts count 1 for `reader`. */
static inline void xyl_node_publish(const xyl_problem_t *problem,
                                    xyl_node_program_t *program,
                                    xyl_position_t from, uint64_t total,
                                    uint32_t reader)
{
    xyl_step_kind_t kind =
        program->input_bytes == 0 ? XYL_STEP_COPY : XYL_STEP_PUBLISH;

    xyl_node_block_step(program, kind,
                        xyl_node_published(program, problem->rank), from, total)
        ->post = xyl_post_count(1, reader);
}

/* Adds a strand that copies a seat's published block to its place in RECV. */
static inline void xyl_node_fetch(const xyl_problem_t *problem,
                                  xyl_node_program_t *program, uint32_t seat)
{
    xyl_node_strand(program);
    xyl_node_block_step(
        program, XYL_STEP_COPY, xyl_in_recv(xyl_node_block_at(problem, seat)),
        xyl_node_published(program, seat), xyl_node_block(problem, seat))
        ->wait = xyl_wait_count(seat, 1);
}

/* Cuts blocks of at most `total` bytes, and decides whether every seat
 * publishes its block in its line or in the window. */
static inline void xyl_node_plan_inputs(const xyl_problem_t *problem,
                                        xyl_node_program_t *program,
                                        uint64_t total)
{
    xyl_node_cut(program, total, xyl_node_room(problem, problem->ranks),
                 problem->element_bytes);
    if (total > XYL_BOARD_INLINE_BYTES)
        program->input_bytes = xyl_board_whole_lines(program->piece_bytes);
}

/* ---- blocks that are handed ---- */

/* Bytes that a piece may have beside the slots. */
static inline uint64_t xyl_node_unpooled(const xyl_problem_t *problem)
{
    return xyl_board_unpooled(problem->ranks, problem->node.long_window_bytes,
                              xyl_node_all_wait(problem));
}

/* Bytes of each seat's cell: at least a line; beside the slots if lines fit. */
static inline uint64_t xyl_node_cell(const xyl_problem_t *problem)
{
    const uint64_t line = XYL_BOARD_LINE_BYTES;
    uint64_t most = problem->node.limits->parcel_cell;
    uint64_t cell = xyl_node_unpooled(problem) / problem->ranks;

    cell = (cell < most ? cell : most) / line * line;
    return cell < line ? line : cell;
}

/* Plans one piece, with a cell for each seat. */
static inline void xyl_node_plan_parcels(const xyl_problem_t *problem,
                                         xyl_node_program_t *program)
{
    const uint64_t line = XYL_BOARD_LINE_BYTES;
    uint64_t room = xyl_node_room(problem, problem->ranks);

    program->cell = program->cells = program->input_bytes =
        xyl_node_cell(problem);
    program->room = room < line ? line : room;
    program->piece_bytes = line; /* no block is cut */
    program->pieces = 1;
}

/* The form of a block that goes whole, or in parts, by a line beside the slots
 * and the program's cells. */
static inline xyl_form_t xyl_node_form(const xyl_node_program_t *program,
                                       uint64_t bytes)
{
    if (bytes <= XYL_PARCEL_SHORT)
        return XYL_FORM_INLINE;
    return bytes <= program->cell ? XYL_FORM_CELL : XYL_FORM_PARTS;
}

/* The line beside the slots, or the cell, that belongs to a seat. */
static inline xyl_position_t xyl_node_line_of(uint32_t seat)
{
    return xyl_position_of(XYL_BUFFER_INPUT, seat, 0);
}

/* Hands the block at `from` to the transfer's seat, by the line or the cell at
 * `through`. */
static inline void xyl_node_hand(xyl_node_program_t *program,
                                 xyl_transfer_t transfer,
                                 xyl_position_t through, xyl_position_t from,
                                 uint64_t bytes)
{
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_HAND, through, from, bytes);

    step->transfer = transfer;
    program->handed += bytes;
}

/* Says in the line at `through` where the block lies, for a HAND that follows.
 */
static inline void xyl_node_offer(xyl_node_program_t *program,
                                  xyl_transfer_t transfer,
                                  xyl_position_t through, xyl_position_t from,
                                  uint64_t bytes)
{
    xyl_node_step(program, XYL_STEP_OFFER, through, from, bytes)->transfer =
        transfer;
    program->offers = 1;
}

static inline void xyl_node_take(xyl_node_program_t *program,
                                 xyl_transfer_t transfer,
                                 xyl_position_t through, xyl_position_t to,
                                 uint64_t bytes)
{
    xyl_node_step(program, XYL_STEP_TAKE, to, through, bytes)->transfer =
        transfer;
    program->takes += (uint32_t)xyl_form_is_offered(transfer.form);
}

/* ---- input that is read in its seat's memory ---- */

enum { XYL_NODE_READ_KIB_MAX = 1 << 30 };

/* The length from which on blocks are read in their seats' memory: K KiB in
 * node_read:K. */
static inline uint64_t xyl_node_read_from(const xyl_problem_t *problem,
                                          uint32_t preset)
{
    return (uint64_t)(problem->radix != 0 ? problem->radix : preset) << 10;
}

/* 1: inputs of at most `bytes` each are read in their seats' memory, not in the
 * window. That saves a copy, but a seat stays until its input has been read. */
static inline int xyl_node_shares(const xyl_problem_t *problem, uint64_t bytes)
{
    return problem->node.share_bytes != 0 && bytes >= problem->node.share_bytes;
}

/* This seat posts `count` after `wait`, to say that it reads no more input. */
static inline void xyl_node_has_read(xyl_node_program_t *program,
                                     xyl_wait_t wait, uint32_t count)
{
    (void)xyl_node_signal(program, wait, xyl_post_count(count, XYL_BOARD_ALL));
}

/* This seat waits until every other seat has posted `count`, if its input is
 * read in its own memory. */
static inline void xyl_node_until_read(xyl_node_program_t *program,
                                       uint32_t count)
{
    (void)xyl_node_signal(program, xyl_wait_readers(count), xyl_post_nothing());
}

/* Ends a program, if inputs are read in their seats' memory: after `wait` this
 * seat says, by `count`, that it reads no more input, and stays until all other
 * seats have said so. */
static inline void xyl_node_end_reading(xyl_node_program_t *program,
                                        xyl_wait_t wait, uint32_t count)
{
    if (!program->shares)
        return;
    if (wait.kind == XYL_WAIT_STRANDS)
        xyl_node_strand(program);
    xyl_node_has_read(program, wait, count);
    xyl_node_until_read(program, count);
}

/* ---- scan and exscan ---- */

static inline int xyl_node_is_scan(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_SCAN;
}

static inline void xyl_node_scan_plan(const xyl_problem_t *problem,
                                      uint64_t piece_bytes,
                                      xyl_node_program_t *program)
{
    xyl_problem_t cut = *problem;

    if (cut.node.window_bytes > piece_bytes * cut.ranks)
        cut.node.window_bytes = piece_bytes * cut.ranks;
    xyl_node_plan_inputs(&cut, program, xyl_problem_bytes(problem));
}

/* ---- needs (see xyl_algorithm_t.lacks) ---- */

/* For algorithms that hand blocks by parcels. */
static inline const char *xyl_node_parcels_lack(const xyl_problem_t *problem)
{
    return problem->node.is_level ? "is no level of several" : NULL;
}

/* For algorithms in which all seats must know the longest block. */
static inline const char *xyl_node_lengths_lack(const xyl_problem_t *problem)
{
    return xyl_node_hands(problem) ? "needs lengths that all ranks know" : NULL;
}

/* allreduce_first.c: for algorithms that do not cut messages. */
const char *xyl_node_whole_lacks(const xyl_problem_t *problem);
/* allgather_first.c */
const char *xyl_node_allgather_first_lacks(const xyl_problem_t *problem);

/* ---- a broadcast in segments: bcast_direct.c ---- */

uint64_t xyl_node_bcast_segment_bytes(const xyl_problem_t *problem);
void xyl_node_bcast_cut(const xyl_problem_t *problem,
                        xyl_node_program_t *program);
/* Adds the step that publishes a segment, or copies a published one out. */
xyl_step_t *xyl_node_bcast_segment(const xyl_problem_t *problem,
                                   xyl_node_program_t *program,
                                   uint32_t segment, int publishes);

/* ---- parts of other programs ---- */

/* Adds the step that copies this seat's own block, `bytes` per piece. */
static inline void xyl_node_copy_own(const xyl_problem_t *problem,
                                     xyl_node_program_t *program,
                                     xyl_position_t to, xyl_position_t from,
                                     uint64_t bytes)
{
    if (!problem->is_in_place)
        xyl_node_step(program, XYL_STEP_COPY, to, from, bytes)->cut.total =
            xyl_node_block(problem, problem->rank);
}

/* allgather_first.c: publishes this seat's block; the first seat puts all
 * blocks together in RECV. */
void xyl_node_allgather_in(const xyl_problem_t *problem,
                           xyl_node_program_t *program);
/* reduce_direct.c: each receiver combines all inputs by itself. */
void xyl_node_reduce_plan(const xyl_problem_t *problem,
                          xyl_node_program_t *program);
/* Publishes this seat's segments one by one, as they come. */
void xyl_node_reduce_inputs(const xyl_problem_t *problem,
                            xyl_node_program_t *program);

/* 1: this seat gets the result of a reduction. */
static inline int xyl_node_has_result(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_ALLREDUCE ||
           problem->rank == problem->root;
}

/* reduce_results.c: adds the step that sums slices of the program's segment, or
 * (COLLECT) collects such a sum in RECV. */
xyl_step_t *xyl_node_write_sum(const xyl_problem_t *problem,
                               xyl_node_program_t *program,
                               xyl_step_kind_t kind);
/* Copies out each segment of the result when its word is posted. */
void xyl_node_write_results(const xyl_problem_t *problem,
                            xyl_node_program_t *program);

/* 1: blocks of an alltoall may be read in their senders' memory. If lengths
 * vary, a receiver does not know where in that memory its block lies. */
static inline int xyl_node_alltoall_shares(const xyl_problem_t *problem)
{
    return !xyl_node_is_cut_late(problem) &&
           xyl_node_shares(problem,
                           xyl_problem_bytes(problem) * problem->ranks);
}
