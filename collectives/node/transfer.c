/* Steps that hand a block from one seat to another. A long block goes by the
 * protocol of parcel.c. */
#include "collectives/node/stage_inside.h"

#include <assert.h>
#include <stddef.h>

#include "runtime/base/clock.h"
#include "runtime/base/copy.h"
#include "runtime/base/holder.h"
#include "runtime/core/context.h"

/* ---- forms ---- */

typedef enum block_place {
    IN_LINE,
    IN_CELL,
    BEHIND_HEAD, /* of the cell */
    IN_PARTS,
    AT_PEER,
    ELSEWHERE /* other steps move it */
} block_place_t;

/* Where the receiver finds the length of the block, and the count that says
 * that the length is there. */
typedef enum told_by {
    BY_LINE, /* both in the parcel's line */
    BY_SEAT, /* both in the line of the sender's seat */
    BY_HEAD, /* in the head of the cell; the sender's seat posts the count */
    BY_OFFER /* in the line of the offer; the sender's seat posts the count */
} told_by_t;

static const struct form {
    block_place_t block;
    told_by_t told;
} forms[] = {
    [XYL_FORM_INLINE] = {IN_LINE, BY_LINE},
    [XYL_FORM_CELL] = {IN_CELL, BY_LINE},
    [XYL_FORM_PARTS] = {IN_PARTS, BY_LINE},
    [XYL_FORM_PEER] = {AT_PEER, BY_LINE},
    [XYL_FORM_LENGTH] = {ELSEWHERE, BY_LINE},
    [XYL_FORM_BETWEEN_CELL] = {BEHIND_HEAD, BY_HEAD},
    [XYL_FORM_BETWEEN_LENGTH] = {ELSEWHERE, BY_HEAD},
    [XYL_FORM_BETWEEN_PEER] = {AT_PEER, BY_OFFER},
    [XYL_FORM_TOLD_PEER] = {AT_PEER, BY_SEAT},
};

static block_place_t block_of(const xyl_step_t *step)
{
    return forms[step->transfer.form].block;
}

static const xyl_position_t *through(const xyl_step_t *step)
{
    return step->kind == XYL_STEP_TAKE ? &step->from : &step->to;
}

static uint32_t sender_of(const xyl_node_stage_t *node, const xyl_step_t *step)
{
    return step->kind == XYL_STEP_TAKE ? step->transfer.seat
                                       : node->board->seats.own;
}

/* A seat has two lines for a piece: one in the slot (xyl_board_line), in which
 * it says its call, and one for parcels (xyl_parcel_line). If a parcel goes by
 * the sender's line for parcels, the sender writes count, length and short
 * block into its line of the slot, because it says its call there anyway. The
 * line for parcels then has only the words of parts and offers. In a program
 * that is cut late, the line of the slot has other uses, so all goes by the
 * line for parcels. */
static told_by_t told_by(const xyl_node_stage_t *node, const xyl_step_t *step)
{
    told_by_t told = forms[step->transfer.form].told;

    return told == BY_LINE && through(step)->seat == sender_of(node, step) &&
                   !node->program.is_cut_late
               ? BY_SEAT
               : told;
}

int xyl_node_is_told_by_line(const xyl_node_stage_t *node,
                             const xyl_step_t *step)
{
    return told_by(node, step) == BY_LINE;
}

/* ---- moving ---- */

/* Moves bytes to or from the parcel's memory, for some microseconds; 1: all of
 * the part are moved. */
static int parcel_move(xyl_node_stage_t *node, const xyl_step_t *step,
                       xyl_strand_t *strand)
{
    const xyl_parcel_t *parcel = &strand->parcel;
    char *there;
    uint64_t most = xyl_node_turn_bytes(node);
    size_t bytes = (size_t)(parcel->end - strand->done);
    int is_done;

    if (bytes == 0)
        return 1;
    if (bytes > most)
        bytes = (size_t)most;
    there = parcel->memory + (strand->done - parcel->begin);
    if (step->kind == XYL_STEP_HAND)
        is_done =
            xyl_buffers_pack(&node->buffers, strand->work, step->from.buffer,
                             step->from.at + strand->done, bytes, there);
    else
        is_done =
            xyl_buffers_unpack(&node->buffers, strand->work, step->to.buffer,
                               step->to.at + strand->done, bytes, there);
    *node->moved += bytes;
    if (!xyl_stage_worked(&node->stage, is_done)) {
        strand->is_waiting = 1;
        strand->pending = bytes;
        return 0;
    }
    strand->done += bytes;
    return strand->done == parcel->end;
}

static xyl_parcel_way_t way_of_parcel(const xyl_node_stage_t *node,
                                      const xyl_node_piece_t *piece,
                                      const xyl_step_t *step)
{
    const xyl_node_program_t *program = &node->program;
    xyl_parcel_way_t way = {
        .board = node->board,
        .number = piece->number,
        .line =
            xyl_parcel_line(node->board, piece->number, through(step)->seat),
        .cell = program->cell == 0
                    ? NULL
                    : piece->window + through(step)->seat * program->cells +
                          through(step)->at,
        .cell_bytes = program->cell,
        .bytes = step->cut.total,
        .other = step->transfer.seat};

    if (xyl_form_has_offer(step->transfer.form)) {
        way.line = (xyl_parcel_line_t *)(void *)way.cell;
        way.cell += sizeof *way.line;
        way.cell_bytes =
            (program->between != 0 ? program->between : program->cell) -
            sizeof *way.line;
    }
    return way;
}

static xyl_board_line_t *line_of_sender(const xyl_node_stage_t *node,
                                        const xyl_node_piece_t *piece,
                                        const xyl_step_t *step)
{
    return xyl_board_line(piece->slot, sender_of(node, step));
}

_Static_assert(offsetof(xyl_parcel_head_t, length) ==
                   offsetof(xyl_parcel_line_t, count),
               "whoever expects a head finds the length of what is offered");

static xyl_parcel_head_t *head_of(const xyl_parcel_way_t *way)
{
    return (xyl_parcel_head_t *)(void *)way->cell;
}

/* The shared memory that the step has for the whole block; NULL: none. */
static char *whole_of(const xyl_node_stage_t *node,
                      const xyl_node_piece_t *piece, const xyl_step_t *step,
                      const xyl_parcel_way_t *way)
{
    switch (block_of(step)) {
    case IN_LINE:
        assert(way->bytes <= XYL_PARCEL_SHORT);
        return told_by(node, step) == BY_SEAT
                   ? line_of_sender(node, piece, step)->bytes
                   : way->line->is.bytes;
    case IN_CELL:
        assert(way->bytes <= way->cell_bytes);
        return way->cell;
    case BEHIND_HEAD:
        assert(way->bytes + sizeof(xyl_parcel_head_t) <= way->cell_bytes);
        return head_of(way)->bytes;
    case IN_PARTS:
    case AT_PEER:
    case ELSEWHERE:
        break;
    }
    return NULL;
}

/* ---- handing ---- */

/* Writes this seat's call into its line and posts there, without waking a seat.
 * A seat that has made a different call and waits for the line then finds the
 * difference. */
static void say_in_own_line(const xyl_node_stage_t *node,
                            const xyl_node_piece_t *piece)
{
    const xyl_seats_t *seats = &node->board->seats;
    _Atomic uint64_t *count = &xyl_board_line(piece->slot, seats->own)->count;
    uint64_t value = xyl_board_value(piece->number, 1);

    if (atomic_load_explicit(count, memory_order_relaxed) >= value)
        return;
    xyl_node_share_say(node, piece);
    seats->shm->ops->set(seats->shm, count, value, NULL, 0);
}

/* Tells the receiver the length; posts the parcel's count, if there is one. */
static void parcel_post(const xyl_node_stage_t *node,
                        const xyl_node_piece_t *piece, const xyl_step_t *step,
                        const xyl_parcel_way_t *way)
{
    const told_by_t told = told_by(node, step);
    xyl_board_line_t *own = line_of_sender(node, piece, step);

    /* Partners: the loads in length_of and in parcel_is_alike. */
    if (told == BY_HEAD) { /* the count comes later, for all blocks */
        atomic_store_explicit(&head_of(way)->length, way->bytes,
                              memory_order_relaxed);
        return;
    }
    if (told == BY_SEAT) {
        xyl_node_share_say(node, piece);
        atomic_store_explicit(&own->handed, way->bytes, memory_order_relaxed);
        xyl_board_set(node->board, &own->count,
                      xyl_board_value(piece->number, 1), way->other);
        return;
    }
    say_in_own_line(node, piece);
    atomic_store_explicit(&way->line->longest, node->program.largest,
                          memory_order_relaxed);
    atomic_store_explicit(&way->line->past, node->share.past,
                          memory_order_relaxed);
    atomic_store_explicit(&way->line->length, way->bytes, memory_order_relaxed);
    xyl_board_set(node->board, &way->line->count,
                  xyl_board_value(piece->number, 1), way->other);
}

/* The address of this seat's block, if `pull` can read or write the block;
 * NULL: there is no `pull`, the block has gaps, or an executor moves it. */
static char *plain_block(const xyl_node_stage_t *node,
                         const xyl_strand_t *strand, xyl_position_t spot)
{
    if (node->board->seats.shm->ops->pull == NULL || strand->work != NULL ||
        node->buffers.layout[spot.buffer] != NULL)
        return NULL;
    return xyl_buffers_address(&node->buffers, spot.buffer, spot.at);
}

/* An offer is the name of memory of xylem_alloc, marked, or an address. */
#define NAMED (UINT64_C(1) << 63)

/* This seat's offer of the block; 0: none (see plain_block). */
static uint64_t offer_of(const xyl_node_stage_t *node,
                         const xyl_strand_t *strand, xyl_position_t spot,
                         uint64_t bytes)
{
    xyl_shm_t *shm = node->board->seats.shm;
    const char *block = plain_block(node, strand, spot);
    uint64_t name = 0;

    if (block != NULL && shm->ops->share != NULL)
        name = shm->ops->share(shm, block, bytes);
    if (name != 0)
        return name | NAMED;
    return bytes < node->program.pull_from ? 0 : (uint64_t)(uintptr_t)block;
}

int xyl_node_offer_run(const xyl_node_stage_t *node,
                       const xyl_node_piece_t *piece, const xyl_step_t *step,
                       const xyl_strand_t *strand, unsigned *did)
{
    const xyl_parcel_way_t way = way_of_parcel(node, piece, step);

    ++*did;
    xyl_parcel_prepare(&way, offer_of(node, strand, step->from, way.bytes));
    /* `count` of this line is the length of the block: a receiver that expects
     * a head in place of the line finds the length there, too. Partner:
     * length_of. */
    atomic_store_explicit(&way.line->count, way.bytes, memory_order_relaxed);
    return 1;
}

/* 0: the block has an offer, and this seat has not posted its count yet. */
static int parcel_begin(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                        const xyl_step_t *step, xyl_strand_t *strand,
                        const xyl_parcel_way_t *way)
{
    const xylem_context_t *context = node->stage.operation->request.context;
    const xyl_board_t *board = node->board;

    if (xyl_form_has_offer(step->transfer.form) &&
        xyl_board_get(board,
                      &xyl_board_line(piece->slot, board->seats.own)->count) <
            xyl_board_value(piece->number, 1))
        return 0;
    strand->parcel.has_begun = 1;
    strand->parcel.since = xyl_clock_now(context->engine.clock);
    if (xyl_form_has_offer(step->transfer.form))
        return 1;
    xyl_parcel_prepare(way, block_of(step) == AT_PEER
                                ? offer_of(node, strand, step->from, way->bytes)
                                : 0);
    parcel_post(node, piece, step, way);
    return 1;
}

void xyl_node_looks_again(xyl_timer_t *timer, uint64_t now_ns)
{
    xyl_node_stage_t *node = XYL_HOLDER(xyl_node_stage_t, leaves, timer);

    (void)now_ns;
    node->stage.operation->request.context->engine.polled++;
}

/* 1: the time `end` has come. 0: a timer has the engine poll the stage again,
 * at `end` or before. */
static int has_waited_until(xyl_node_stage_t *node, uint64_t end)
{
    xyl_engine_t *engine = &node->stage.operation->request.context->engine;

    if (xyl_clock_now(engine->clock) >= end)
        return 1;
    if (!node->leaves.is_running)
        xyl_timer_start(&engine->timers, &node->leaves, end);
    return 0;
}

/* The time when a sender ends its wait for the receiver. If the receiver has
 * not come, the sender waits about as long as it would need to copy the block;
 * if the receiver reads, the sender waits for `held_up_us`. A sender that takes
 * offered blocks itself, in a program that is not sparse, measures how long its
 * takes last. After its last take it waits for as long again, but not less than
 * the first of the two times, and not more than the second. The seats that
 * offered these blocks have come, and a receiver that is not held up needs no
 * longer for its takes. */
static uint64_t patience_end(const xyl_node_stage_t *node,
                             const xyl_node_piece_t *piece,
                             const xyl_parcel_way_t *way,
                             const xyl_parcel_t *parcel,
                             xyl_parcel_claim_t claim)
{
    uint64_t copying = (way->bytes >> 10) / node->limits->parcel_patience_kib;
    uint64_t least = 1000 * (node->limits->parcel_patience_us + copying);
    uint64_t most = 1000 * node->limits->held_up_us, own;
    uint64_t begin =
        piece->taken_at > parcel->since ? piece->taken_at : parcel->since;

    if (least > most)
        least = most;
    if (node->program.takes == 0 || node->program.is_sparse)
        return begin + (claim == XYL_PARCEL_OFFERED ? least : most);
    own = begin - parcel->since;
    if (own > most)
        own = most;
    return begin + (own < least ? least : own);
}

/* 1: the receiver has the block, or may still read it. 0: the block goes in
 * parts. */
static int is_with_receiver(xyl_node_stage_t *node,
                            const xyl_node_piece_t *piece,
                            const xyl_parcel_way_t *way,
                            const xyl_parcel_t *parcel)
{
    xyl_parcel_claim_t claim = xyl_parcel_claimed(way);

    if (claim == XYL_PARCEL_KEPT || claim == XYL_PARCEL_REFUSED)
        return 0;
    if (claim == XYL_PARCEL_READ || piece->takes_left != 0)
        return 1;
    if (!has_waited_until(node, patience_end(node, piece, way, parcel, claim)))
        return 1;
    return !xyl_parcel_keep(way) && xyl_parcel_claimed(way) == XYL_PARCEL_READ;
}

static int hand_in_parts(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                         const xyl_step_t *step, xyl_strand_t *strand,
                         const xyl_parcel_way_t *way, unsigned *did)
{
    xyl_parcel_t *parcel = &strand->parcel;

    if (!parcel->has_begun) {
        if (!parcel_begin(node, piece, step, strand, way))
            return 0;
        ++*did;
        if (block_of(step) == AT_PEER)
            return 0; /* the stage looks again when all blocks are offered */
    }
    if (is_with_receiver(node, piece, way, parcel))
        return xyl_parcel_claimed(way) == XYL_PARCEL_READ;
    if (parcel->begin == parcel->end) {
        if (!xyl_parcel_send_next(way, node->limits->parcel_part,
                                  node->program.room, parcel))
            return 0;
    }
    ++*did;
    if (parcel_move(node, step, strand))
        xyl_parcel_sent(way, parcel);
    return parcel->begin == way->bytes;
}

/* Hands the whole block, or its length alone. */
static int hand_at_once(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                        const xyl_step_t *step, xyl_strand_t *strand,
                        const xyl_parcel_way_t *way, unsigned *did)
{
    char *whole = whole_of(node, piece, step, way);

    ++*did;
    strand->parcel.memory = whole;
    strand->parcel.end = whole == NULL ? 0 : way->bytes;
    if (!parcel_move(node, step, strand))
        return 0;
    if (node->program.leaves_caches && block_of(step) == IN_CELL)
        xyl_copy_leave_caches(whole, way->bytes);
    parcel_post(node, piece, step, way);
    return 1;
}

int xyl_node_hand_run(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                      const xyl_step_t *step, xyl_strand_t *strand,
                      unsigned *did)
{
    const xyl_parcel_way_t way = way_of_parcel(node, piece, step);

    if (block_of(step) == IN_PARTS || block_of(step) == AT_PEER)
        return hand_in_parts(node, piece, step, strand, &way, did);
    return hand_at_once(node, piece, step, strand, &way, did);
}

void xyl_node_hand_take_back(xyl_node_stage_t *node)
{
    const xyl_node_program_t *program = &node->program;
    uint32_t i, k;

    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        for (k = node->strands_begin;
             k < node->strands_end && node->active[i].strands_left != 0; k++) {
            const xyl_node_piece_t *piece = &node->active[i];
            const xyl_strand_t *strand = &piece->strands[k];
            const xyl_step_t *step = &program->steps[strand->step];
            if (strand->step < program->strand_ends[k] &&
                step->kind == XYL_STEP_HAND && block_of(step) == AT_PEER &&
                (strand->parcel.has_begun ||
                 xyl_form_has_offer(step->transfer.form))) {
                const xyl_parcel_way_t way = way_of_parcel(node, piece, step);
                (void)xyl_parcel_keep(&way);
            }
        }
}

/* ---- taking ---- */

static int parcel_is_alike(xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece,
                           const xyl_step_t *step, const xyl_parcel_way_t *way)
{
    const xyl_board_line_t *line = xyl_board_line(piece->slot, way->other);
    uint64_t longest;

    if (told_by(node, step) != BY_LINE)
        return xyl_node_is_alike(&node->share, line, way->other);
    /* Partners: the stores in parcel_post. */
    if (atomic_load_explicit(&way->line->past, memory_order_relaxed) !=
        node->share.past) {
        xyl_node_share_differs(&node->share, line, way->other);
        return 0;
    }
    longest = atomic_load_explicit(&way->line->longest, memory_order_relaxed);
    if (node->program.is_cut_late && longest > node->largest)
        node->largest = longest;
    return 1;
}

/* The count that the sender posts for this block. */
static const _Atomic uint64_t *count_of(const xyl_node_stage_t *node,
                                        const xyl_node_piece_t *piece,
                                        const xyl_step_t *step,
                                        const xyl_parcel_way_t *way)
{
    return told_by(node, step) == BY_LINE
               ? &way->line->count
               : &line_of_sender(node, piece, step)->count;
}

static void say_cannot_see(xyl_node_stage_t *node, const xyl_parcel_way_t *way,
                           uint64_t length)
{
    node->share.cannot_see = way->other;
    node->share.length = length;
    node->share.length_known = way->bytes;
}

/* Partners: the stores in parcel_post, and in xyl_node_offer_run. */
static uint64_t length_of(const xyl_node_stage_t *node,
                          const xyl_node_piece_t *piece, const xyl_step_t *step,
                          const xyl_parcel_way_t *way)
{
    const _Atomic uint64_t *length = NULL;

    switch (told_by(node, step)) {
    case BY_LINE:
        length = &way->line->length;
        break;
    case BY_SEAT:
        length = &line_of_sender(node, piece, step)->handed;
        break;
    case BY_HEAD:
        length = &head_of(way)->length;
        break;
    case BY_OFFER:
        length = &way->line->count;
        break;
    }
    return atomic_load_explicit(length, memory_order_relaxed);
}

/* 1: the sender makes the same call, and its block has the expected length. */
static int head_is_good(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                        const xyl_step_t *step, const xyl_parcel_way_t *way)
{
    uint64_t length;

    if (!parcel_is_alike(node, piece, step, way))
        return 0;
    if (step->transfer.form == XYL_FORM_TOLD_PEER &&
        !xyl_parcel_is_prepared(way)) {
        say_cannot_see(node, way, 0); /* the sender has no block here */
        return 0;
    }
    length = length_of(node, piece, step, way);
    if (length == way->bytes)
        return 1;
    say_cannot_see(node, way, length);
    return 0;
}

/* Pulls some of the block out of the sender's process. 1: all of it. */
static int pull_some(xyl_node_stage_t *node, const xyl_step_t *step,
                     xyl_strand_t *strand, const xyl_parcel_way_t *way)
{
    const xyl_seats_t *seats = &way->board->seats;
    xyl_parcel_t *parcel = &strand->parcel;
    uint64_t most = node->limits->turn, bytes;
    char *to = plain_block(node, strand, step->to);

    bytes = way->bytes - strand->done;
    bytes = bytes < most ? bytes : most;
    if (!seats->shm->ops->pull(seats->shm, seats->ranks[way->other],
                               to + strand->done, parcel->lies + strand->done,
                               bytes)) {
        xyl_parcel_refuse(way);
        parcel->reads = 0;
    }
    *node->moved += bytes;
    strand->done += bytes;
    return parcel->reads && strand->done == way->bytes;
}

/* Reads some of the block in the sender's memory. 1: all of it is read. */
static int read_there(xyl_node_stage_t *node, const xyl_step_t *step,
                      xyl_strand_t *strand, const xyl_parcel_way_t *way)
{
    xyl_parcel_t *parcel = &strand->parcel;
    int is_read = parcel->memory != NULL ? parcel_move(node, step, strand)
                                         : pull_some(node, step, strand, way);

    if (parcel->reads && !is_read)
        return 0;
    if (parcel->reads && xyl_parcel_was_read(way))
        return 1;
    parcel->reads = 0;
    parcel->memory = NULL;
    parcel->end = strand->done = 0;
    return 0;
}

/* Claims the block in order to read it in the sender's memory, or refuses it.
 */
static void claim_to_read(const xyl_node_stage_t *node, const xyl_step_t *step,
                          xyl_strand_t *strand, const xyl_parcel_way_t *way)
{
    const xyl_seats_t *seats = &way->board->seats;
    xyl_parcel_t *parcel = &strand->parcel;

    if (plain_block(node, strand, step->to) == NULL)
        xyl_parcel_refuse(way);
    else
        parcel->reads = xyl_parcel_claim(way, &parcel->lies);
    if (!parcel->reads || (parcel->lies & NAMED) == 0)
        return;
    parcel->memory =
        (char *)seats->shm->ops->view(seats->shm, seats->ranks[way->other],
                                      parcel->lies & ~NAMED, way->bytes);
    parcel->end = way->bytes;
    if (parcel->memory == NULL) {
        xyl_parcel_refuse(way);
        parcel->reads = 0;
        parcel->end = 0;
    }
}

static int take_some(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                     const xyl_step_t *step, xyl_strand_t *strand,
                     unsigned *did)
{
    const xyl_parcel_way_t way = way_of_parcel(node, piece, step);
    xyl_parcel_t *parcel = &strand->parcel;

    if (!parcel->has_begun) {
        if (xyl_board_get(node->board, count_of(node, piece, step, &way)) <
                xyl_board_value(piece->number, 1) ||
            !head_is_good(node, piece, step, &way))
            return 0;
        parcel->has_begun = 1;
        parcel->memory = whole_of(node, piece, step, &way);
        parcel->end = parcel->memory == NULL ? 0 : way.bytes;
        if (block_of(step) == AT_PEER)
            claim_to_read(node, step, strand, &way);
    }
    if (parcel->reads) {
        ++*did;
        return read_there(node, step, strand, &way);
    }
    if (block_of(step) != IN_PARTS && block_of(step) != AT_PEER) {
        ++*did;
        return parcel_move(node, step, strand);
    }
    if (parcel->begin == parcel->end && !xyl_parcel_take_next(&way, parcel))
        return 0;
    ++*did;
    if (parcel_move(node, step, strand))
        xyl_parcel_taken(&way, parcel);
    return parcel->begin == way.bytes;
}

int xyl_node_take_run(xyl_node_stage_t *node, xyl_node_piece_t *piece,
                      const xyl_step_t *step, xyl_strand_t *strand,
                      unsigned *did)
{
    const xylem_context_t *context = node->stage.operation->request.context;

    if (!take_some(node, piece, step, strand, did))
        return 0;
    if (block_of(step) == AT_PEER && --piece->takes_left == 0)
        piece->taken_at = xyl_clock_now(context->engine.clock);
    return 1;
}
