/* Runs node programs: polled by the engine, each strand of each piece goes on
 * until it has to wait. Long steps are worked off in parts, so that the net and
 * other strands are looked after in between. */
#include "collectives/node_stage.h"

#include <assert.h>
#include <string.h>

#include "collectives/buffers.h"
#include "collectives/node_combine.h"
#include "runtime/base/bits.h"
#include "runtime/base/status.h"
#include "runtime/context.h"
#include "runtime/team.h"

enum {
    ACTIVE_MAX = 3, /* pieces of a stage under way */
    PART_BYTES = 128 << 10,
    POLLS_WHEN_BUSY = 16, /* in an idle turn */
    REDUCE_BYTES = 8 << 10 /* a result that stays in the first cache */
};

typedef struct xyl_node_stage node_stage_t;

/* Where a strand of a piece is. */
typedef struct strand {
    uint32_t step;
    uint32_t seen; /* seats whose counts are there */
    int has_slice;
    uint32_t slice; /* claimed */
    uint64_t done;  /* bytes of the step, or of the slice */
    xyl_node_combine_t sums;
} strand_t;

typedef struct node_piece {
    uint64_t piece, number;
    char *slot, *window;
    strand_t *strands;
    uint32_t strands_left; /* 0: not active */
} node_piece_t;

struct xyl_node_stage {
    xyl_stage_t stage;
    xyl_board_t *board;
    node_stage_t *previous, *next; /* on the board */
    int is_listed;
    xyl_node_program_t program;
    xyl_board_extent_t extent;
    xyl_buffers_t buffers;
    /* The run. */
    int has_input;       /* all that the first piece waits for is there */
    uint64_t input_left; /* segments */
    uint64_t *input;     /* bits, where segments come singly */
    uint64_t pieces_begun, pieces_left;
    node_piece_t active[ACTIVE_MAX];
};

static node_stage_t *self(xyl_stage_t *stage)
{
    return (node_stage_t *)(void *)stage;
}

/* ---- places ---- */

static char *shared_address(const node_stage_t *node, const node_piece_t *piece,
                            xyl_space_t space, uint32_t seat, uint64_t at)
{
    if (space == XYL_SPACE_LINE)
        return xyl_board_line(piece->slot, seat)->bytes + at;
    if (space == XYL_SPACE_BOARD)
        seat = node->board->seats;
    return piece->window + seat * node->program.input_bytes + at;
}

static int is_private(xyl_space_t space)
{
    return space == XYL_SPACE_SEND || space == XYL_SPACE_RECV;
}

static xyl_buffer_t buffer_of(xyl_space_t space)
{
    return space == XYL_SPACE_SEND ? XYL_BUFFER_SEND : XYL_BUFFER_RECV;
}

/* Of a private spot, in the piece. */
static uint64_t private_at(const node_stage_t *node, const node_piece_t *piece,
                           uint64_t at)
{
    return at + piece->piece * node->program.piece_bytes;
}

/* Bytes of the step that the block still has in this piece. */
static uint64_t bytes_of(const node_stage_t *node, const node_piece_t *piece,
                         const xyl_step_t *step)
{
    uint64_t before = piece->piece * node->program.piece_bytes + step->within;

    if (step->total <= before)
        return 0;
    return step->total - before < step->bytes ? step->total - before
                                              : step->bytes;
}

/* ---- moving and combining ---- */

static void copy_part(const node_stage_t *node, const node_piece_t *piece,
                      const xyl_step_t *step, uint64_t from, size_t bytes)
{
    xyl_spot_t to = step->to, source = step->from;
    const xyl_buffers_t *buffers = &node->buffers;

    if (is_private(to.space) && is_private(source.space))
        xyl_buffers_copy(buffers, buffer_of(to.space),
                         private_at(node, piece, to.at + from),
                         buffer_of(source.space),
                         private_at(node, piece, source.at + from), bytes);
    else if (is_private(to.space))
        xyl_buffers_unpack(buffers, buffer_of(to.space),
                           private_at(node, piece, to.at + from), bytes,
                           shared_address(node, piece, source.space,
                                          source.seat, source.at + from));
    else if (is_private(source.space))
        xyl_buffers_pack(
            buffers, buffer_of(source.space),
            private_at(node, piece, source.at + from), bytes,
            shared_address(node, piece, to.space, to.seat, to.at + from));
    else if (xyl_copies_begin(buffers->copies, bytes))
        memcpy(shared_address(node, piece, to.space, to.seat, to.at + from),
               shared_address(node, piece, source.space, source.seat,
                              source.at + from),
               bytes);
}

static char *plain_address(const node_stage_t *node, const node_piece_t *piece,
                           xyl_spot_t spot, uint64_t from)
{
    if (is_private(spot.space))
        return xyl_buffers_address(&node->buffers, buffer_of(spot.space),
                                   private_at(node, piece, spot.at + from));
    return shared_address(node, piece, spot.space, spot.seat, spot.at + from);
}

/* What a seat contributes, from `from` on. */
static const char *operand(const node_stage_t *node, const node_piece_t *piece,
                           const xyl_step_t *step, uint32_t seat, uint64_t from)
{
    if (step->takes_send && seat == node->board->seat)
        return plain_address(node, piece,
                             xyl_spot(XYL_SPACE_SEND, 0, step->within), from);
    return shared_address(node, piece, step->from.space, seat,
                          step->from.at + from);
}

/* Combines what the step's seats have from `from` on, in their order. */
static void reduce_part(const node_stage_t *node, const node_piece_t *piece,
                        const xyl_step_t *step, uint64_t from, size_t bytes)
{
    size_t count = bytes / node->program.element_bytes;
    char *to = plain_address(node, piece, step->to, from);
    uint32_t seat = step->first_seat;
    const char *left = operand(node, piece, step, seat, from);

    if (seat + 1 == step->end_seat &&
        xyl_copies_begin(node->buffers.copies, bytes))
        memcpy(to, left, bytes);
    for (seat++; seat < step->end_seat; seat++) {
        xyl_combiner_apply(&node->stage.operation->combiner, to, left,
                           operand(node, piece, step, seat, from), count);
        left = to;
    }
}

static size_t reduce_unit(const node_stage_t *node)
{
    size_t element = node->program.element_bytes;

    return element >= REDUCE_BYTES ? element : REDUCE_BYTES / element * element;
}

/* Goes on with bytes [at, end) of a step, for at most about PART_BYTES of
 * reading; returns how far it came. */
static uint64_t work(const node_stage_t *node, const node_piece_t *piece,
                     const xyl_step_t *step, uint64_t at, uint64_t end)
{
    size_t unit, part;
    uint64_t read = 0;

    if (step->kind == XYL_STEP_COPY || step->kind == XYL_STEP_PUBLISH) {
        part = end - at < PART_BYTES ? (size_t)(end - at) : PART_BYTES;
        if (part != 0)
            copy_part(node, piece, step, at, part);
        return at + part;
    }
    if (step->first_seat == step->end_seat)
        return end;
    unit = reduce_unit(node);
    for (; at < end && read < PART_BYTES; at += part) {
        part = end - at < unit ? (size_t)(end - at) : unit;
        reduce_part(node, piece, step, at, part);
        read += (uint64_t)part * (step->end_seat - step->first_seat);
    }
    return at;
}

/* ---- waiting and posting ---- */

/* `but` is not looked at. */
static int has_counts(const node_stage_t *node, const node_piece_t *piece,
                      uint32_t count, uint32_t *seen, uint32_t but)
{
    uint64_t wanted = xyl_board_value(piece->number, count);
    uint32_t seats = node->board->seats;

    while (*seen < seats &&
           (*seen == but ||
            xyl_board_get(node->board, &xyl_board_line(piece->slot, *seen)
                                            ->count) >= wanted))
        ++*seen;
    return *seen == seats;
}

/* There is nothing beyond the last. */
static int has_segment(const node_stage_t *node, uint64_t index)
{
    return index >= node->stage.count || xyl_bits_test(node->input, index);
}

static int may_go(const node_stage_t *node, const node_piece_t *piece,
                  const xyl_step_t *step, strand_t *strand)
{
    switch (step->wait) {
    case XYL_WAIT_NOTHING:
        return 1;
    case XYL_WAIT_COUNT:
        return xyl_board_get(
                   node->board,
                   &xyl_board_line(piece->slot, step->wait_seat)->count) >=
               xyl_board_value(piece->number, step->wait_for);
    case XYL_WAIT_ALL_COUNTS:
        return has_counts(node, piece, step->wait_for, &strand->seen,
                          node->board->seat);
    case XYL_WAIT_WORD:
        return xyl_board_get(
                   node->board,
                   xyl_board_word(node->board, piece->slot, step->wait_for)) >=
               xyl_board_value(piece->number, 1);
    case XYL_WAIT_SEGMENT:
        return has_segment(node, piece->piece * node->program.segments +
                                     step->wait_for);
    }
    return 0;
}

static void post(const node_stage_t *node, const node_piece_t *piece,
                 const xyl_step_t *step)
{
    const xyl_board_t *board = node->board;

    if (step->post == XYL_POST_COUNT)
        xyl_board_set(board, &xyl_board_line(piece->slot, board->seat)->count,
                      xyl_board_value(piece->number, step->post_value),
                      step->post_seat);
    else if (step->post == XYL_POST_WORD)
        xyl_board_set(board,
                      xyl_board_word(board, piece->slot, step->post_value),
                      xyl_board_value(piece->number, 1), step->post_seat);
}

static void emit(node_stage_t *node, const node_piece_t *piece,
                 uint32_t segment)
{
    uint64_t index = piece->piece * node->program.segments + segment;

    if (index < node->stage.count)
        xyl_stage_emit(&node->stage, index);
}

/* ---- claims ---- */

/* Takes a ticket of the piece; `slices` when none is left. */
static uint32_t take_ticket(const node_stage_t *node, const node_piece_t *piece,
                            uint32_t slices)
{
    xyl_shm_t *shm = node->board->shm;
    _Atomic uint64_t *word = xyl_board_ticket(node->board, piece->slot);
    uint64_t base = xyl_board_value(piece->number, 0);
    uint64_t old = xyl_board_get(node->board, word), ticket;

    do {
        ticket = old < base ? 0 : old - base;
        if (ticket >= slices)
            return slices;
    } while (!shm->ops->swap(shm, word, &old, base + ticket + 1));
    return (uint32_t)ticket;
}

/* Goes on with the slice that the strand has; 1: it is combined. */
static int slice_run(const node_stage_t *node, const node_piece_t *piece,
                     const xyl_step_t *step, strand_t *strand)
{
    uint64_t bytes = bytes_of(node, piece, step);
    uint64_t at = strand->slice * step->slice_bytes;
    uint64_t end =
        at + step->slice_bytes < bytes ? at + step->slice_bytes : bytes;

    if (at + strand->done < end)
        strand->done = work(node, piece, step, at + strand->done, end) - at;
    return at + strand->done >= end;
}

/* 1: there is no slice left. */
static int claim(const node_stage_t *node, const node_piece_t *piece,
                 const xyl_step_t *step, strand_t *strand, unsigned *did)
{
    if (!strand->has_slice) {
        strand->slice = take_ticket(node, piece, step->slices);
        strand->has_slice = 1;
        strand->seen = 0;
        strand->done = 0;
        ++*did;
    }
    if (strand->slice == step->slices)
        return 1;
    if (!has_counts(node, piece, strand->slice + 1, &strand->seen,
                    node->board->seats))
        return 0;
    ++*did;
    if (!slice_run(node, piece, step, strand))
        return 0;
    xyl_board_set(node->board,
                  xyl_board_word(node->board, piece->slot, strand->slice),
                  xyl_board_value(piece->number, 1), step->post_seat);
    strand->has_slice = 0;
    return 0;
}

/* ---- sums ---- */

/* 1: this seat has done its part of the piece. */
static int add_up(node_stage_t *node, const node_piece_t *piece,
                  const xyl_step_t *step, strand_t *strand, unsigned *did)
{
    xyl_node_sum_t sum = {
        .board = node->board,
        .step = step,
        .number = piece->number,
        .slot = piece->slot,
        .cells = shared_address(node, piece, XYL_SPACE_BOARD, 0, 0),
        .own = plain_address(node, piece, step->from, 0),
        .result = plain_address(node, piece, step->to, 0),
        .bytes = bytes_of(node, piece, step),
        .ready = node->input_left == 0
                     ? UINT64_MAX
                     : xyl_bits_from(node->input,
                                     piece->piece * node->program.segments),
        .combiner = &node->stage.operation->combiner,
        .element_bytes = node->program.element_bytes,
        .copies = node->buffers.copies};
    int is_done = step->kind == XYL_STEP_COMBINE
                      ? xyl_node_combine_run(&sum, &strand->sums, did)
                      : xyl_node_collect_run(&sum, &strand->sums, did);

    for (; sum.finished != 0; sum.finished &= sum.finished - 1)
        emit(node, piece, (uint32_t)__builtin_ctzll(sum.finished));
    return is_done;
}

/* ---- strands ---- */

/* One step's worth. 1: it is done. `*did` counts what was worked. */
static int step_run(node_stage_t *node, node_piece_t *piece,
                    const xyl_step_t *step, strand_t *strand, unsigned *did)
{
    uint64_t bytes;

    if (step->kind == XYL_STEP_CLAIM)
        return claim(node, piece, step, strand, did);
    if (step->kind == XYL_STEP_COMBINE || step->kind == XYL_STEP_COLLECT)
        return add_up(node, piece, step, strand, did);
    if (!may_go(node, piece, step, strand))
        return 0;
    ++*did;
    if (step->kind != XYL_STEP_NOTHING) {
        bytes = bytes_of(node, piece, step);
        strand->done = work(node, piece, step, strand->done, bytes);
        if (strand->done < bytes)
            return 0;
    }
    return 1;
}

/* Returns the number of things done. */
static unsigned strand_run(node_stage_t *node, node_piece_t *piece,
                           uint32_t number)
{
    strand_t *strand = &piece->strands[number];
    uint32_t end = node->program.strand_ends[number];
    unsigned did = 0;

    if (strand->step == end)
        return 0;
    while (step_run(node, piece, &node->program.steps[strand->step], strand,
                    &did)) {
        const xyl_step_t *step = &node->program.steps[strand->step];
        post(node, piece, step);
        if (step->emits != XYL_NO_SEGMENT)
            emit(node, piece, step->emits);
        *strand = (strand_t){.step = strand->step + 1};
        if (strand->step == end) {
            piece->strands_left--;
            break;
        }
    }
    return did;
}

static unsigned piece_run(node_stage_t *node, node_piece_t *piece)
{
    unsigned did = 0;
    uint32_t i;

    for (i = 0; i < node->program.strands; i++)
        did += strand_run(node, piece, i);
    if (piece->strands_left != 0)
        return did;
    xyl_board_retire(node->board, piece->number);
    node->pieces_left--;
    return did + 1;
}

static void piece_begin(node_stage_t *node, node_piece_t *piece)
{
    uint32_t i, first = 0;

    piece->piece = node->pieces_begun++;
    piece->number = node->extent.number + piece->piece;
    piece->slot = xyl_board_slot(node->board, piece->number);
    piece->window = xyl_board_window(
        node->board, node->extent.ring,
        xyl_board_at(node->board, &node->extent, piece->piece));
    piece->strands_left = 0;
    for (i = 0; i < node->program.strands; i++) {
        piece->strands[i] = (strand_t){.step = first};
        piece->strands_left += first != node->program.strand_ends[i];
        first = node->program.strand_ends[i];
    }
    if (piece->strands_left == 0) { /* this seat has nothing to do */
        xyl_board_retire(node->board, piece->number);
        node->pieces_left--;
    }
}

/* ---- the stage ---- */

static void list_add(node_stage_t *node)
{
    xylem_context_t *context = node->stage.operation->request.context;
    xyl_board_t *board = node->board;

    node->next = NULL;
    node->previous = board->last;
    node->is_listed = 1;
    board->last = node;
    if (node->previous != NULL) {
        node->previous->next = node;
        return;
    }
    board->first = node;
    board->previous_busy = NULL;
    board->next_busy = context->busy_boards;
    if (board->next_busy != NULL)
        board->next_busy->previous_busy = board;
    context->busy_boards = board;
    if (context->engine.shm != NULL) /* simulated memory does not change */
        context->engine.polls = POLLS_WHEN_BUSY;
}

static void board_rests(xylem_context_t *context, xyl_board_t *board)
{
    if (board->previous_busy != NULL)
        board->previous_busy->next_busy = board->next_busy;
    else
        context->busy_boards = board->next_busy;
    if (board->next_busy != NULL)
        board->next_busy->previous_busy = board->previous_busy;
    if (context->busy_boards == NULL)
        context->engine.polls = 1;
}

static void list_remove(node_stage_t *node)
{
    xyl_board_t *board = node->board;

    if (!node->is_listed)
        return;
    node->is_listed = 0;
    if (node->previous != NULL)
        node->previous->next = node->next;
    else
        board->first = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    else
        board->last = node->previous;
    if (board->first == NULL)
        board_rests(node->stage.operation->request.context, board);
}

/* Begins what may begin. */
static unsigned begin_pieces(node_stage_t *node)
{
    unsigned i, did = 0;

    for (i = 0; i < ACTIVE_MAX; i++) {
        node_piece_t *piece = &node->active[i];
        while (piece->strands_left == 0 &&
               node->pieces_begun < node->program.pieces) {
            if (!xyl_board_is_free(node->board, &node->extent,
                                   node->pieces_begun))
                return did;
            piece_begin(node, piece);
            did++;
            if (piece->strands_left != 0)
                did += piece_run(node, piece);
        }
    }
    return did;
}

static unsigned stage_poll(node_stage_t *node)
{
    unsigned i, did = 0;

    if (!node->has_input)
        return 0;
    for (i = 0; i < ACTIVE_MAX; i++)
        if (node->active[i].strands_left != 0)
            did += piece_run(node, &node->active[i]);
    if (node->pieces_begun < node->program.pieces)
        did += begin_pieces(node);
    if (node->pieces_left != 0)
        return did;
    list_remove(node);
    if (node->program.segments == 0 && node->stage.count != 0)
        xyl_stage_emit(&node->stage, 0);
    xyl_stage_complete(&node->stage);
    return did + 1;
}

unsigned xyl_node_stages_poll(void *arg)
{
    xylem_context_t *context = arg;
    xyl_board_t *board = context->busy_boards, *next_board;
    node_stage_t *node, *next;
    unsigned did = 0;

    for (; board != NULL; board = next_board) {
        next_board = board->next_busy;
        for (node = board->first; node != NULL; node = next) {
            next = node->next;
            did += stage_poll(node);
            /* Those behind one that may not begin may not either. */
            if (node->is_listed && node->has_input && node->pieces_begun == 0)
                break;
        }
    }
    return did;
}

/* As far as it goes at once; then it is the engine's. */
static void begin(node_stage_t *node)
{
    node->stage.operation->request.context->engine.polled += stage_poll(node);
}

static void node_start(xyl_stage_t *stage)
{
    node_stage_t *node = self(stage);
    const xyl_node_program_t *program = &node->program;
    uint32_t i;

    node->extent = xyl_board_take(node->board, program->pieces,
                                  node->board->seats * program->input_bytes +
                                      program->board_bytes);
    if (node->extent.bytes != 0)
        xyl_board_prepare(node->board, node->extent.ring);
    node->pieces_begun = 0;
    node->pieces_left = program->pieces;
    for (i = 0; i < ACTIVE_MAX; i++)
        node->active[i].strands_left = 0;
    if (program->segments != 0)
        memset(node->input, 0,
               xyl_bits_words(stage->count) * sizeof *node->input);
    node->input_left = stage->operation->has_input ? stage->count : 0;
    node->has_input = node->input_left == 0 || program->segments != 0;
    list_add(node);
    if (node->has_input && node->input_left == 0)
        begin(node);
}

static void node_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    node_stage_t *node = self(stage);

    if (node->program.segments != 0)
        xyl_bits_set(node->input, index);
    if (--node->input_left == 0)
        node->has_input = 1;
    if (node->input_left == 0)
        begin(node);
}

static void node_cancel(xyl_stage_t *stage)
{
    list_remove(self(stage));
}

static const xyl_stage_ops_t node_ops = {
    .name = "node",
    .start = node_start,
    .segment_ready = node_segment_ready,
    .cancel = node_cancel,
};

/* ---- planning ---- */

static int allocate(node_stage_t *node, const xyl_node_program_t *program)
{
    xyl_arena_t *arena = &node->stage.operation->request.arena;
    uint32_t i;

    node->program.steps =
        xyl_arena_array(arena, program->count, sizeof *program->steps);
    node->program.strand_ends =
        xyl_arena_array(arena, program->strands, sizeof *program->strand_ends);
    node->input = xyl_arena_array(arena, xyl_bits_words(node->stage.count),
                                  sizeof *node->input);
    for (i = 0; i < ACTIVE_MAX; i++) {
        node->active[i].strands = xyl_arena_array(
            arena, program->strands, sizeof *node->active[i].strands);
        if (node->active[i].strands == NULL)
            return 0;
    }
    return node->program.steps != NULL && node->program.strand_ends != NULL &&
           node->input != NULL;
}

xylem_status_t xyl_node_stage_add(xyl_operation_t *operation,
                                  xyl_board_t *board,
                                  const xyl_node_program_t *program)
{
    node_stage_t *node = (node_stage_t *)(void *)xyl_operation_add_stage(
        operation, 0, &node_ops, sizeof *node);

    assert(xyl_node_program_status(program) == XYLEM_OK);
    if (node == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    node->board = board;
    node->program = *program;
    node->buffers.copies = operation->request.context->copies;
    if (!allocate(node, program))
        return xyl_fail(XYLEM_ERR_NO_MEMORY,
                        "no memory for a program of %u steps", program->count);
    if (program->count != 0)
        memcpy(node->program.steps, program->steps,
               program->count * sizeof *program->steps);
    if (program->strands != 0)
        memcpy(node->program.strand_ends, program->strand_ends,
               program->strands * sizeof *program->strand_ends);
    return XYLEM_OK;
}

void xyl_node_stage_layouts(xyl_stage_t *stage, const xyl_layout_t *send,
                            const xyl_layout_t *recv)
{
    self(stage)->buffers.layout[XYL_BUFFER_SEND] = send;
    self(stage)->buffers.layout[XYL_BUFFER_RECV] = recv;
}

void xyl_node_stage_bind(xyl_stage_t *stage, const void *send, void *recv)
{
    union {
        const void *constant;
        char *plain;
    } address = {send};

    /* Programs only read it, unless it is the receive buffer as well. */
    self(stage)->buffers.base[XYL_BUFFER_SEND] = address.plain;
    self(stage)->buffers.base[XYL_BUFFER_RECV] = recv;
}
