/* Runs the strands of a piece. A strand goes on until it has to wait or has
 * moved enough bytes. It does a long step in parts; between two parts the
 * engine looks after the net and the other strands. */
#include "collectives/node/stage_inside.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/clock.h"
#include "runtime/base/holder.h"
#include "runtime/core/context.h"

_Static_assert(sizeof(uint64_t) <= XYL_BOARD_INLINE_BYTES,
               "a length lies beside a count");

enum {
    LOOKS_OF_CLOCK = 64, /* looks for a result per look at the clock */
    TURN = 7 /* slices by which a seat's first slice moves per piece */
};

/* ---- waiting and posting ---- */

/* 1: all seats but `but` have posted `count`. Seats below *seen are known to
 * have posted. */
static int has_counts(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                      uint32_t count, uint32_t *seen, uint32_t but)
{
    const uint64_t wanted = xyl_board_value(piece->number, count);
    const uint32_t seats = node->board->seats.count;
    xyl_shm_t *shm = node->board->seats.shm;
    const xyl_shm_get_fn get = shm->ops->get;
    uint32_t seat = *seen;
    const xyl_board_line_t *line = xyl_board_line(piece->slot, seat);

    for (; seat < seats; seat++, line++)
        if (seat != but && (xyl_shm_get_by(get, shm, &line->count) < wanted ||
                            !xyl_node_is_alike(&node->share, line, seat)))
            break;
    *seen = seat;
    return seat == seats;
}

/* 1: the segment is there, or beyond the last one. Segments that do not come
 * singly are all there by now. A stage without input gets no segment. */
static int has_segment(const xyl_node_stage_t *node, uint64_t index)
{
    return node->program.segments == 0 ||
           (node->stage.inputs != 0 && node->input_left == 0) ||
           index >= node->stage.count || xyl_bits_test(node->input, index);
}

static inline __attribute__((always_inline)) int
may_go(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
       const xyl_step_t *step, xyl_strand_t *strand)
{
    const xyl_board_line_t *line;

    switch (step->wait.kind) {
    case XYL_WAIT_NOTHING:
        return 1;
    case XYL_WAIT_COUNT:
        line = xyl_board_line(piece->slot, step->wait.seat);
        return xyl_board_get(node->board, &line->count) >=
                   xyl_board_value(piece->number, step->wait.value) &&
               xyl_node_is_alike(&node->share, line, step->wait.seat);
    case XYL_WAIT_READERS:
        if (piece->lies == NULL)
            return 1;
        /* fall through */
    case XYL_WAIT_ALL_COUNTS:
        return has_counts(node, piece, step->wait.value, &strand->seen,
                          node->board->seats.own);
    case XYL_WAIT_WORD: /* a segment beyond the last may have no word */
        return xyl_board_get(node->board,
                             xyl_board_word(node->board, piece->slot,
                                            step->wait.value)) ==
                   xyl_node_posted(piece) ||
               xyl_node_bytes_of(node, piece, step) == 0;
    case XYL_WAIT_STRANDS:
        return piece->strands_left == 1;
    case XYL_WAIT_SEGMENT:
        return has_segment(node, piece->piece * node->program.segments +
                                     step->wait.value);
    }
    return 0;
}

static void step_post(const xyl_node_stage_t *node,
                      const xyl_node_piece_t *piece, const xyl_step_t *step)
{
    const xyl_board_t *board = node->board;

    if (step->post.kind == XYL_POST_COUNT) {
        xyl_node_share_say(node, piece);
        xyl_board_set(
            board, &xyl_board_line(piece->slot, board->seats.own)->count,
            xyl_board_value(piece->number, step->post.value), step->post.seat);
    } else if (step->post.kind == XYL_POST_WORD) {
        if (node->program.shares && !xyl_node_share_is_said(node, piece))
            xyl_node_share_say(node, piece); /* once: others cache the line */
        xyl_board_set(board,
                      xyl_board_word(board, piece->slot, step->post.value),
                      xyl_node_posted(piece), step->post.seat);
    }
}

static void segment_emit(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                         uint32_t segment)
{
    uint64_t index = piece->piece * node->program.segments + segment;

    if (node->program.segments != 0 && index < node->stage.count)
        xyl_stage_emit(&node->stage, index);
}

/* ---- claims ---- */

static void slices_count_published(xyl_node_stage_t *node,
                                   const xyl_node_piece_t *piece,
                                   const xyl_step_t *step, xyl_strand_t *strand)
{
    uint64_t base = xyl_board_value(piece->number, 0), least = step->sum.slices;
    uint32_t seat, seats = node->board->seats.count;

    if (strand->published == step->sum.slices ||
        !has_counts(node, piece, strand->published + 1, &strand->seen, seats))
        return;
    for (seat = 0; seat < seats; seat++) {
        uint64_t count =
            xyl_board_get(node->board,
                          &xyl_board_line(piece->slot, seat)->count) -
            base;
        if (count < least)
            least = count;
    }
    strand->published = (uint32_t)least;
    strand->seen = 0;
}

/* Takes a published slice. A seat begins with its own share of the slices, a
 * different one in each piece, and goes on with slices that no other seat has
 * taken. 0: there is none at present. */
static int take_slice(const xyl_node_stage_t *node,
                      const xyl_node_piece_t *piece, const xyl_step_t *step,
                      xyl_strand_t *strand)
{
    const xyl_board_t *board = node->board;
    uint64_t share =
        (uint64_t)board->seats.own * step->sum.slices / board->seats.count;
    uint64_t first = share + piece->number * TURN;
    uint32_t i;

    for (i = 0; i < step->sum.slices; i++) {
        uint32_t slice = (uint32_t)((first + i) % step->sum.slices);
        _Atomic uint64_t *word = xyl_board_word(board, piece->slot, slice);
        uint64_t old;
        if (slice >= strand->published)
            continue;
        old = xyl_board_get(board, word);
        if (old < piece->mark &&
            board->seats.shm->ops->swap(board->seats.shm, word, &old,
                                        piece->mark)) {
            strand->slice = slice;
            return 1;
        }
    }
    return 0;
}

/* Goes on with the strand's slice; 1: the slice is combined. */
static int slice_run(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                     const xyl_step_t *step, xyl_strand_t *strand)
{
    uint64_t bytes = xyl_node_bytes_of(node, piece, step);
    uint64_t at = strand->slice * step->sum.slice_bytes;
    uint64_t end =
        at + step->sum.slice_bytes < bytes ? at + step->sum.slice_bytes : bytes;

    if (at + strand->done < end)
        strand->done =
            xyl_node_work(node, piece, step, strand, at + strand->done, end) -
            at;
    return at + strand->done >= end;
}

/* 1: there is no slice left. */
static int claim_run(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                     const xyl_step_t *step, xyl_strand_t *strand,
                     unsigned *did)
{
    if (!strand->has_slice) {
        slices_count_published(node, piece, step, strand);
        if (strand->swept == strand->published)
            return strand->published == step->sum.slices;
        if (!take_slice(node, piece, step, strand)) {
            strand->swept = strand->published;
            return strand->published == step->sum.slices;
        }
        strand->has_slice = 1;
        strand->done = 0;
    }
    ++*did;
    if (!slice_run(node, piece, step, strand))
        return 0;
    xyl_board_set(node->board,
                  xyl_board_word(node->board, piece->slot, strand->slice),
                  xyl_node_posted(piece), step->post.seat);
    strand->has_slice = 0;
    return 0;
}

/* ---- claims that are held up ---- */

/* 1: all inputs of the piece lie in its window. A seat whose input is read in
 * its own memory leaves when all seats have said that they have read it. This
 * seat says that after its own claims, and must not read the input later. */
static int all_are_copied(const xyl_node_stage_t *node,
                          const xyl_node_piece_t *piece)
{
    uint32_t seat;

    if (piece->lies != NULL)
        return 0;
    for (seat = 0; seat < node->board->seats.count; seat++)
        /* Partner: the store in xyl_node_share_say. */
        if (node->program.shares &&
            atomic_load_explicit(&xyl_board_line(piece->slot, seat)->input.name,
                                 memory_order_relaxed) != 0)
            return 0;
    return 1;
}

/* 1: all inputs of the piece have been in its window for `held_up_us`, without
 * a result. So the seat that makes the result is held up. */
static int is_held_up(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                      xyl_strand_t *strand)
{
    const xylem_context_t *context = node->stage.operation->request.context;
    uint32_t inputs = node->program.segments;
    uint64_t now;

    if (++strand->slice % LOOKS_OF_CLOCK != 0 ||
        !has_counts(node, piece, inputs == 0 ? 1 : inputs, &strand->complete,
                    node->board->seats.count))
        return 0;
    now = xyl_clock_now(context->engine.clock);
    if (strand->since == 0)
        strand->since = now;
    return now - strand->since >= 1000 * node->limits->held_up_us &&
           all_are_copied(node, piece);
}

/* 1: this seat makes, or has begun to make, the result by itself. */
static int goes_on_itself(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                          const xyl_step_t *step, xyl_strand_t *strand)
{
    if (strand->has_slice)
        return 1;
    if (!may_go(node, piece, step, strand))
        strand->has_slice = is_held_up(node, piece, strand);
    return strand->has_slice;
}

/* The step, with a COPY of the result replaced by a REDUCE of the inputs. */
static xyl_step_t as_reduction(const xyl_node_stage_t *node,
                               const xyl_step_t *step)
{
    xyl_step_t reduction = *step;

    if (step->kind != XYL_STEP_COPY)
        return reduction;
    reduction.kind = XYL_STEP_REDUCE;
    reduction.from.buffer = XYL_BUFFER_INPUT;
    reduction.end_seat = node->board->seats.count;
    return reduction;
}

/* ---- steps of a first piece ---- */

static void tell_run(const xyl_node_stage_t *node,
                     const xyl_node_piece_t *piece)
{
    xyl_board_line_t *line =
        xyl_board_line(piece->slot, node->board->seats.own);

    memcpy(line->bytes, &node->program.largest, sizeof node->program.largest);
}

/* 0: the seat has not told it. */
static int hear_of(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                   uint32_t seat, uint64_t *largest_out)
{
    const xyl_board_line_t *line = xyl_board_line(piece->slot, seat);

    if (seat == node->board->seats.own) {
        *largest_out = node->program.largest;
        return 1;
    }
    if (xyl_board_get(node->board, &line->count) <
            xyl_board_value(piece->number, 1) ||
        !xyl_node_is_alike(&node->share, line, seat))
        return 0;
    memcpy(largest_out, line->bytes, sizeof *largest_out);
    return 1;
}

static int hear_run(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                    xyl_strand_t *strand)
{
    const uint32_t seats = node->board->seats.count;
    uint64_t largest;

    for (; strand->seen < seats; strand->seen++) {
        if (!hear_of(node, piece, strand->seen, &largest))
            return 0;
        if (largest > node->largest)
            node->largest = largest;
        if (node->program.told != NULL)
            node->program.told[strand->seen] = largest;
    }
    return 1;
}

/* ---- sums ---- */

static int sums_up(const xyl_step_t *step)
{
    return step->kind == XYL_STEP_COMBINE || step->kind == XYL_STEP_COLLECT ||
           step->kind == XYL_STEP_PAIR;
}

/* The works of pairs (pairs.h) that this seat has done in its active pieces. */
static uint64_t works_of(const xyl_node_stage_t *node)
{
    uint64_t works = 0;
    uint32_t i;

    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        if (node->active[i].strands_left != 0)
            works += node->active[i].pairs->works;
    return works;
}

/* Lets this seat help other seats although no seat waits for this one. If each
 * seat left at once, the last seats to come would have all the work. This seat
 * leaves when it has found no work for `pair_patience_parts` times as long as
 * its own part took, but at most for `pair_patience_us`. If others read its
 * input where it lies, its part took no time, but inputs are copied when it
 * leaves; so it stays about as long in addition as these copies take. */
static void help_for_a_while(xyl_node_stage_t *node,
                             const xyl_node_piece_t *piece)
{
    xyl_engine_t *engine = &node->stage.operation->request.context->engine;
    uint64_t now, most = 1000 * node->limits->pair_patience_us;

    if (node->leaves.is_running)
        return;
    now = xyl_clock_now(engine->clock);
    node->patience_ns =
        (now - piece->begun_at) * node->limits->pair_patience_parts;
    if (piece->name != 0)
        node->patience_ns +=
            1000 * (piece->length >> 10) / node->limits->parcel_patience_kib;
    if (node->patience_ns > most)
        node->patience_ns = most;
    node->works_seen = works_of(node);
    xyl_timer_start(&engine->timers, &node->leaves, now + node->patience_ns);
}

void xyl_node_stop_helping(xyl_timer_t *timer, uint64_t now_ns)
{
    xyl_node_stage_t *node = XYL_HOLDER(xyl_node_stage_t, leaves, timer);
    xyl_engine_t *engine = &node->stage.operation->request.context->engine;
    uint64_t works = works_of(node);

    if (works != node->works_seen) {
        node->works_seen = works;
        xyl_timer_start(&engine->timers, timer, now_ns + node->patience_ns);
        return;
    }
    node->has_helped = 1;
    engine->polled++;
}

typedef struct input_arg {
    xyl_node_stage_t *node;
    const xyl_node_piece_t *piece;
} input_arg_t;

static const char *input_where_it_lies(void *arg, uint32_t seat, uint64_t at,
                                       size_t bytes)
{
    const input_arg_t *input = arg;

    return xyl_node_input(input->node, input->piece, seat, at, 0, bytes);
}

/* Runs a step that sums (sums_up). 1: this seat has done its part of the piece.
 */
static int add_up(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                  const xyl_step_t *step, xyl_strand_t *strand, unsigned *did)
{
    input_arg_t input = {node, piece};
    xyl_node_sum_t sum = {
        .board = node->board,
        .step = step,
        .number = piece->number,
        .slot = piece->slot,
        .cells = xyl_node_address(node, piece,
                                  xyl_position_of(XYL_BUFFER_BOARD, 0, 0), 0),
        .own = xyl_node_address(node, piece, step->from, 0),
        .lies = piece->name != 0,
        .input = input_where_it_lies,
        .input_arg = &input,
        .result = xyl_node_address(node, piece, step->to, 0),
        .bytes = xyl_node_bytes_of(node, piece, step),
        .full = xyl_node_posted(piece),
        .ready = node->input_left == 0
                     ? UINT64_MAX
                     : xyl_bits_from(node->input,
                                     piece->piece * node->program.segments),
        .combiner = &xyl_collective_of(node->stage.operation)->combiner,
        .own_has_numbers = node->buffers.binned[XYL_BUFFER_SEND] != NULL,
        .gives_numbers = node->buffers.binned[XYL_BUFFER_RECV] != NULL,
        .element_bytes = node->program.element_bytes,
        .exec = node->buffers.exec,
        .work = strand->work,
        .keeps = node->stage.shall_keep,
        .stays = !node->has_helped,
        .turn = node->enough < node->limits->turn ? node->enough
                                                  : node->limits->turn};
    int is_done;

    if (sum.lies && !xyl_node_share_is_said(node, piece))
        xyl_node_share_say(node, piece);
    if (step->kind == XYL_STEP_PAIR)
        is_done = xyl_node_pairs_run(&sum, piece->pairs, &strand->sums, did);
    else
        is_done = step->kind == XYL_STEP_COMBINE
                      ? xyl_node_combine_run(&sum, &strand->sums, did)
                      : xyl_node_collect_run(&sum, &strand->sums, did);

    *node->moved += sum.worked;
    if (step->kind == XYL_STEP_PAIR && !is_done && sum.stays &&
        xyl_node_pairs_has_added(&sum, piece->pairs))
        help_for_a_while(node, piece);
    if (strand->sums.pending != 0)
        strand->is_waiting = !xyl_stage_worked(&node->stage, 0);
    for (; sum.finished != 0; sum.finished &= sum.finished - 1)
        segment_emit(node, piece, (uint32_t)__builtin_ctzll(sum.finished));
    return is_done;
}

/* ---- strands ---- */

/* Runs a step that ignores its `wait` (kinds from XYL_STEP_CLAIM on). */
static int special_run(xyl_node_stage_t *node, xyl_node_piece_t *piece,
                       const xyl_step_t *step, xyl_strand_t *strand,
                       unsigned *did)
{
    if (step->kind == XYL_STEP_CLAIM)
        return claim_run(node, piece, step, strand, did);
    if (step->kind == XYL_STEP_OFFER)
        return xyl_node_offer_run(node, piece, step, strand, did);
    if (step->kind == XYL_STEP_HAND)
        return xyl_node_hand_run(node, piece, step, strand, did);
    if (step->kind == XYL_STEP_TAKE)
        return xyl_node_take_run(node, piece, step, strand, did);
    if (step->kind == XYL_STEP_TELL) {
        tell_run(node, piece);
        return 1;
    }
    if (step->kind == XYL_STEP_HEAR)
        return hear_run(node, piece, strand);
    if (step->kind == XYL_STEP_GATE)
        return node->gate.may_go(node->gate.arg, piece->piece, did);
    assert(sums_up(step));
    return add_up(node, piece, step, strand, did);
}

/* Goes on with the step. 1: the step is done. `*did` counts things done. */
static int step_run(xyl_node_stage_t *node, xyl_node_piece_t *piece,
                    const xyl_step_t *step, xyl_strand_t *strand, unsigned *did)
{
    xyl_step_t reduction;
    uint64_t bytes;

    if (step->kind >= XYL_STEP_CLAIM)
        return special_run(node, piece, step, strand, did);
    if (step->or_itself && goes_on_itself(node, piece, step, strand)) {
        reduction = as_reduction(node, step);
        step = &reduction;
    } else if (!may_go(node, piece, step, strand)) {
        return 0;
    }
    ++*did;
    if (step->kind != XYL_STEP_NOTHING) {
        bytes = xyl_node_bytes_of(node, piece, step);
        strand->done =
            xyl_node_work(node, piece, step, strand, strand->done, bytes);
        if (strand->done < bytes)
            return 0;
    }
    return 1;
}

static void strand_go_to(const xyl_node_stage_t *node, xyl_strand_t *strand,
                         uint32_t step)
{
    strand->step = step;
    strand->seen = 0;
    strand->has_slice = 0;
    strand->published = strand->swept = strand->complete = 0;
    strand->done = 0;
    if (step >= node->program.count ||
        node->program.steps[step].kind < XYL_STEP_CLAIM)
        return;
    strand->parcel = (xyl_parcel_t){0};
    if (sums_up(&node->program.steps[step]))
        strand->sums = (xyl_node_combine_t){0};
}

/* Releases a stage that has gates when all of its other strands have ended. */
static void strand_ended(xyl_node_stage_t *node, xyl_node_piece_t *piece,
                         uint32_t number)
{
    piece->strands_left--;
    if (node->gate_strand == XYL_NODE_NO_STRAND || number == node->gate_strand)
        return;
    if (--node->strands_left == 0)
        xyl_stage_release(&node->stage);
}

static unsigned plain_strand_run(xyl_node_stage_t *node,
                                 xyl_node_piece_t *piece, xyl_strand_t *strand,
                                 uint32_t end)
{
    const xyl_step_t *step = &node->program.steps[strand->step];
    unsigned did = 0;

    do {
        if (step->wait.kind != XYL_WAIT_NOTHING &&
            !may_go(node, piece, step, strand))
            return did;
        did++;
        if (step->kind != XYL_STEP_NOTHING) {
            uint64_t bytes = xyl_node_bytes_of(node, piece, step);
            strand->done =
                xyl_node_work(node, piece, step, strand, strand->done, bytes);
            if (strand->done < bytes)
                return did;
            strand->done = 0;
        }
        step_post(node, piece, step);
        if (step->emits != XYL_NO_SEGMENT)
            segment_emit(node, piece, step->emits);
        step++;
        strand->seen = 0;
        if (++strand->step == end) {
            piece->strands_left--;
            return did;
        }
    } while (*node->moved < node->enough);
    return did;
}

static unsigned strand_run(xyl_node_stage_t *node, xyl_node_piece_t *piece,
                           uint32_t number)
{
    xyl_strand_t *strand = &piece->strands[number];
    uint32_t end = node->program.strand_ends[number];
    unsigned did = 0;

    if (strand->step == end || strand->is_waiting)
        return 0;
    if (node->is_plain)
        return plain_strand_run(node, piece, strand, end);
    for (;;) {
        const xyl_step_t *step = &node->program.steps[strand->step];
        if (!step_run(node, piece, step, strand, &did))
            break;
        step_post(node, piece, step);
        if (step->emits != XYL_NO_SEGMENT)
            segment_emit(node, piece, step->emits);
        strand_go_to(node, strand, strand->step + 1);
        if (strand->step == end) {
            strand_ended(node, piece, number);
            break;
        }
        if (*node->moved >= node->enough)
            break;
    }
    return did;
}

/* Retires the piece when all stages that share it have done their parts. */
static void piece_retire(xyl_node_stage_t *node, uint64_t piece)
{
    node->pieces_left--;
    if (node->first->together == 1 || --node->first->together_left == 0)
        xyl_board_retire(node->board, &node->extent, piece);
}

unsigned xyl_node_skip_pieces(xyl_node_stage_t *node, uint64_t pieces)
{
    xyl_board_extent_t bare = node->extent;
    unsigned did = 0;

    bare.is_pooled = 0; /* no seat has a window of a skipped piece */
    for (; node->pieces_begun < pieces; node->pieces_begun++) {
        if (xyl_board_number(&bare, node->pieces_begun) + bare.stride >
            node->board->done + XYL_BOARD_SLOTS)
            break;
        xyl_board_retire(node->board, &bare, node->pieces_begun);
        node->pieces_left--;
        did++;
    }
    return did;
}

unsigned xyl_node_piece_run(xyl_node_stage_t *node, xyl_node_piece_t *piece)
{
    unsigned did = 0;
    uint32_t i;

    for (i = node->strands_begin; i < node->strands_end; i++)
        did += strand_run(node, piece, i);
    if (piece->strands_left != 0)
        return did;
    piece_retire(node, piece->piece);
    return did + 1;
}

void xyl_node_piece_begin(xyl_node_stage_t *node, xyl_node_piece_t *piece)
{
    uint32_t i, first = node->steps_begin;

    piece->piece = node->pieces_begun++;
    piece->number = xyl_board_number(&node->extent, piece->piece);
    piece->slot = xyl_board_slot(node->board, piece->number);
    xyl_node_share_piece(node, piece);
    if (xyl_node_may_renew(piece->number))
        xyl_node_share_renew(node, piece->number);
    if (piece->pairs != NULL) {
        *piece->pairs = (xyl_pairs_t){0};
        piece->begun_at =
            xyl_clock_now(node->stage.operation->request.context->engine.clock);
    }
    piece->takes_left = node->program.takes;
    piece->strands_left = 0;
    for (i = node->strands_begin; i < node->strands_end; i++) {
        xyl_strand_t *strand = &piece->strands[i];
        strand->step = first;
        strand->seen = 0;
        strand->done = 0;
        if (!node->is_plain) {
            strand->since = 0;
            strand_go_to(node, strand, first);
        }
        piece->strands_left += first != node->program.strand_ends[i];
        first = node->program.strand_ends[i];
    }
    if (piece->strands_left == 0) /* this seat has nothing to do */
        piece_retire(node, piece->piece);
}
