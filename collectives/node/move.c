#include "collectives/node/stage_inside.h"

#include "runtime/base/copy.h"

enum { REDUCE_BYTES = 8 << 10 /* a result that stays in the first cache */ };

/* ---- places ---- */

static char *shared_address(const xyl_node_stage_t *node,
                            const xyl_node_piece_t *piece, xyl_buffer_t buffer,
                            uint32_t seat, uint64_t at)
{
    if (buffer == XYL_BUFFER_LINE)
        return xyl_board_line(piece->slot, seat)->bytes + at;
    if (buffer == XYL_BUFFER_BOARD)
        seat = node->board->seats.count;
    return piece->window + seat * node->program.input_bytes + at;
}

/* Where byte `at` of a step lies in a private buffer, for this piece. */
static uint64_t private_at(const xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece, uint64_t at)
{
    return at + piece->piece * node->program.piece_bytes;
}

uint64_t xyl_node_bytes_of(const xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece,
                           const xyl_step_t *step)
{
    uint64_t before =
        piece->piece * node->program.piece_bytes + step->cut.within;

    if (step->cut.total <= before)
        return 0;
    return step->cut.total - before < step->cut.bytes ? step->cut.total - before
                                                      : step->cut.bytes;
}

/* ---- moving and combining ---- */

/* Where a step reads shared bytes; NULL: this seat cannot see them. */
static const char *source_of(xyl_node_stage_t *node,
                             const xyl_node_piece_t *piece,
                             const xyl_step_t *step, uint32_t seat,
                             uint64_t from, size_t bytes)
{
    uint64_t at = step->from.at + from;

    if (step->from.buffer == XYL_BUFFER_INPUT)
        return xyl_node_input(node, piece, seat, at, step->further, bytes);
    return shared_address(node, piece, step->from.buffer, seat, at);
}

/* Takes note of what an executor returned for the step's next `bytes`: the
 * strand waits if the work is under way. */
static int strand_did(const xyl_node_stage_t *node, xyl_strand_t *strand,
                      int is_done, uint64_t bytes)
{
    if (xyl_stage_worked(&node->stage, is_done))
        return 1;
    strand->is_waiting = 1;
    strand->pending = bytes;
    return 0;
}

static void leave_caches(const xyl_node_stage_t *node, xyl_buffer_t buffer,
                         const void *memory, size_t bytes)
{
    if (node->program.leaves_caches &&
        (buffer == XYL_BUFFER_INPUT || buffer == XYL_BUFFER_BOARD))
        xyl_copy_leave_caches(memory, bytes);
}

static int copy_private(const xyl_node_stage_t *node,
                        const xyl_node_piece_t *piece, const xyl_step_t *step,
                        xyl_strand_t *strand, uint64_t from, size_t bytes)
{
    xyl_position_t to = step->to, source = step->from;
    uint64_t at = private_at(node, piece, source.at + from);
    char *shared;
    int is_done = 1;

    if (xyl_buffer_is_private(to.buffer)) {
        is_done = xyl_buffers_copy(&node->buffers, strand->work, to.buffer,
                                   private_at(node, piece, to.at + from),
                                   source.buffer, at, bytes);
    } else if (step->kind != XYL_STEP_PUBLISH || piece->lies == NULL) {
        shared = shared_address(node, piece, to.buffer, to.seat, to.at + from);
        is_done = xyl_buffers_pack(&node->buffers, strand->work, source.buffer,
                                   at, bytes, shared);
        leave_caches(node, to.buffer, shared, bytes);
    }
    return strand_did(node, strand, is_done, bytes);
}

/* 0: this seat cannot see the source, or the copy is under way. */
static int copy_part(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                     const xyl_step_t *step, xyl_strand_t *strand,
                     uint64_t from, size_t bytes)
{
    xyl_position_t to = step->to;
    const char *source;
    int is_done;

    if (xyl_buffer_is_private(step->from.buffer))
        return copy_private(node, piece, step, strand, from, bytes);
    source = source_of(node, piece, step, step->from.seat, from, bytes);
    if (source == NULL)
        return 0;
    if (xyl_buffer_is_private(to.buffer) &&
        node->buffers.binned[to.buffer] != NULL) /* numbers, side by side */
        is_done = xyl_buffers_put(
            &node->buffers, strand->work, to.buffer,
            private_at(node, piece, to.at + from), bytes,
            source - from +
                xyl_buffers_length(&node->buffers, to.buffer, from));
    else if (xyl_buffer_is_private(to.buffer))
        is_done = xyl_buffers_unpack(&node->buffers, strand->work, to.buffer,
                                     private_at(node, piece, to.at + from),
                                     bytes, source);
    else
        is_done = xyl_exec_copy(
            node->buffers.exec, strand->work,
            shared_address(node, piece, to.buffer, to.seat, to.at + from),
            source, bytes);
    return strand_did(node, strand, is_done, bytes);
}

char *xyl_node_address(const xyl_node_stage_t *node,
                       const xyl_node_piece_t *piece, xyl_position_t spot,
                       uint64_t from)
{
    if (xyl_buffer_is_private(spot.buffer))
        return xyl_buffers_address(&node->buffers, spot.buffer,
                                   private_at(node, piece, spot.at + from));
    return shared_address(node, piece, spot.buffer, spot.seat, spot.at + from);
}

/* A seat's contribution from `from` on; NULL: this seat cannot see it. */
static const char *operand(xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece,
                           const xyl_step_t *step, uint32_t seat, uint64_t from,
                           size_t bytes)
{
    if (step->takes_send && seat == node->board->seats.own)
        return xyl_node_address(node, piece, xyl_in_send(step->cut.within),
                                from);
    return source_of(node, piece, step, seat, from, bytes);
}

static int reduce(const xyl_node_stage_t *node, xyl_strand_t *strand, void *to,
                  const void *left, const void *right, size_t bytes)
{
    return xyl_exec_reduce(node->buffers.exec, strand->work,
                           &xyl_collective_of(node->stage.operation)->combiner,
                           to, left, right,
                           bytes / node->program.element_bytes);
}

/* The seat whose operand has that number in the step. */
static uint32_t seat_of(const xyl_step_t *step, uint32_t operand)
{
    return step->first_seat +
           (step->turn + operand) % (step->end_seat - step->first_seat);
}

/* Combines the operands of the step's seats from `from` on, in their order,
 * beginning with the first that is not combined yet. 0: this seat cannot see
 * one of them, or the work is under way. */
static int reduce_part(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                       const xyl_step_t *step, xyl_strand_t *strand,
                       uint64_t from, size_t bytes)
{
    char *to = xyl_node_address(node, piece, step->to, from);
    uint32_t i = strand->operands, count = step->end_seat - step->first_seat;
    const char *left = to, *right;

    if (i == 0) {
        left = operand(node, piece, step, seat_of(step, i), from, bytes);
        if (left == NULL)
            return 0;
        if (++i == count)
            return strand_did(node, strand,
                              xyl_exec_copy(node->buffers.exec, strand->work,
                                            to, left, bytes),
                              bytes);
    }
    for (; i < count; i++) {
        int is_last = i + 1 == count;
        right = operand(node, piece, step, seat_of(step, i), from, bytes);
        if (right == NULL)
            return 0;
        strand->operands = is_last ? 0 : i + 1;
        if (!strand_did(node, strand,
                        reduce(node, strand, to, left, right, bytes),
                        is_last ? bytes : 0))
            return 0;
        left = to;
    }
    leave_caches(node, step->to.buffer, to, bytes);
    return 1;
}

/* Combines `from` into `to`, where an earlier step has copied an operand. */
static int join_part(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                     const xyl_step_t *step, xyl_strand_t *strand,
                     uint64_t from, size_t bytes)
{
    char *to = xyl_node_address(node, piece, step->to, from);
    const char *right = xyl_node_address(node, piece, step->from, from);

    return strand_did(node, strand, reduce(node, strand, to, to, right, bytes),
                      bytes);
}

/* Whole elements, of about `bytes`. */
static uint64_t whole_elements(const xyl_node_stage_t *node, uint64_t bytes)
{
    size_t element = node->program.element_bytes;

    return element >= bytes ? element : bytes / element * element;
}

uint64_t xyl_node_work(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                       const xyl_step_t *step, xyl_strand_t *strand,
                       uint64_t at, uint64_t end)
{
    size_t unit, part;
    uint64_t read = 0, most = xyl_node_turn_bytes(node);
    uint32_t operands;

    if (step->kind == XYL_STEP_COPY || step->kind == XYL_STEP_PUBLISH) {
        if (node->buffers.binned[XYL_BUFFER_RECV] != NULL) /* whole sums */
            most = whole_elements(node, most);
        part = (size_t)(end - at < most ? end - at : most);
        if (part != 0 && !copy_part(node, piece, step, strand, at, part))
            return at;
        *node->moved += part;
        return at + part;
    }
    operands =
        step->kind == XYL_STEP_JOIN ? 1 : step->end_seat - step->first_seat;
    if (operands == 0)
        return end;
    unit = (size_t)whole_elements(node, REDUCE_BYTES);
    for (; at < end && read < most; at += part) {
        part = end - at < unit ? (size_t)(end - at) : unit;
        if (step->kind == XYL_STEP_JOIN
                ? !join_part(node, piece, step, strand, at, part)
                : !reduce_part(node, piece, step, strand, at, part))
            return at;
        read += (uint64_t)part * operands;
    }
    *node->moved += read;
    return at;
}
