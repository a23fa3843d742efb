/* Node stages, from planning to completion. The engine polls the stages that
 * are under way on the boards of a context, in the order of their starts. */
#include "collectives/node/stage_inside.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "collectives/node/state.h"
#include "collectives/stages/messages.h"
#include "runtime/base/bits.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

enum {
    POLLS_WHEN_BUSY = 16 /* in an idle turn */
};

static xyl_node_stage_t *self(xyl_stage_t *stage)
{
    return (xyl_node_stage_t *)(void *)stage;
}

/* ---- the stage ---- */

/* Sets how often the engine polls in an idle turn: several times while stages
 * wait. But the engine polls once if other threads want the core, if the net
 * matters most, or if memory is simulated and so does not change between polls.
 */
static void set_polls(xylem_context_t *context)
{
    const xyl_node_context_t *boards = xyl_node_of_context(context);
    int waits = !LIST_EMPTY(&boards->busy) && boards->hasty_stages == 0 &&
                context->engine.shm != NULL &&
                !context->driver.params.shares_cores;

    context->engine.polls = waits ? POLLS_WHEN_BUSY : 1;
}

static void list_add(xyl_node_stage_t *node)
{
    xylem_context_t *context = node->stage.operation->request.context;
    xyl_node_context_t *boards = xyl_node_of_context(context);
    xyl_board_t *board = node->board;

    node->is_listed = 1;
    boards->hasty_stages += (unsigned)node->is_hasty;
    if (TAILQ_EMPTY(&board->stages))
        LIST_INSERT_HEAD(&boards->busy, board, others);
    TAILQ_INSERT_TAIL(&board->stages, node, others);
    if (board->unnumbered == NULL && node->state != XYL_NODE_NUMBERED)
        board->unnumbered = node;
    set_polls(context);
}

static void list_remove(xyl_node_stage_t *node)
{
    xylem_context_t *context = node->stage.operation->request.context;
    xyl_node_context_t *boards = xyl_node_of_context(context);
    xyl_board_t *board = node->board;

    if (!node->is_listed)
        return;
    node->is_listed = 0;
    xyl_timer_stop(&context->engine.timers, &node->leaves);
    boards->hasty_stages -= (unsigned)node->is_hasty;
    if (board->unnumbered == node)
        board->unnumbered = TAILQ_NEXT(node, others);
    TAILQ_REMOVE(&board->stages, node, others);
    if (TAILQ_EMPTY(&board->stages))
        LIST_REMOVE(board, others);
    set_polls(context);
}

static unsigned begin_pieces(xyl_node_stage_t *node)
{
    unsigned i, did = 0;

    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++) {
        xyl_node_piece_t *piece = &node->active[i];
        while (piece->strands_left == 0 &&
               node->pieces_begun < node->program.pieces &&
               *node->moved < node->enough) {
            if (!xyl_board_begin(node->board, &node->extent, node->pieces_begun,
                                 &piece->window))
                return did;
            xyl_node_piece_begin(node, piece);
            did++;
            if (piece->strands_left != 0)
                did += xyl_node_piece_run(node, piece);
        }
    }
    return did;
}

/* ---- keeping ---- */

/* 1: the stage sums the user's input for a rank on another node. */
static int node_may_keep(const xyl_stage_t *stage)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_node_program_t *program = &node->program;

    if (stage->reads == XYL_ROLE_SCRATCH || stage->writes != XYL_ROLE_SCRATCH ||
        program->count == 0)
        return 0;
    return program->steps[0].kind == XYL_STEP_PAIR ||
           (program->steps[0].kind == XYL_STEP_COLLECT && program->count == 1 &&
            node->buffers.binned[XYL_BUFFER_RECV] == NULL);
}

/* The next poll of the stage copies what it still needs of its input. */
static void node_keep(xyl_stage_t *stage)
{
    stage->operation->request.context->engine.polled++;
}

/* All pieces have begun, and none needs this seat's contribution. */
static int node_has_kept(const xyl_node_stage_t *node)
{
    const xyl_step_t *step = &node->program.steps[0];
    uint32_t i;

    if (node->pieces_begun < node->program.pieces)
        return 0;
    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++) {
        const xyl_node_piece_t *piece = &node->active[i];
        uint64_t bytes = xyl_node_bytes_of(node, piece, step);
        uint32_t segments = (uint32_t)((bytes + step->sum.slice_bytes - 1) /
                                       step->sum.slice_bytes);
        if (piece->strands_left == 0)
            continue;
        if (step->kind == XYL_STEP_PAIR
                ? piece->pairs->added != UINT64_MAX >> (64 - segments)
                : !xyl_node_collect_has_kept(&piece->strands[0].sums, segments))
            return 0;
    }
    return 1;
}

static unsigned stage_poll(xyl_node_stage_t *node)
{
    unsigned i, did = 0;

    if (!node->has_input || node->state != XYL_NODE_NUMBERED)
        return (unsigned)xyl_node_share_failed(node);
    if (node->is_skipped)
        did += xyl_node_skip_pieces(node, node->program.pieces);
    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        if (node->active[i].strands_left != 0)
            did += xyl_node_piece_run(node, &node->active[i]);
    if (!node->is_skipped && node->pieces_begun < node->program.pieces)
        did += begin_pieces(node);
    if (xyl_node_share_failed(node))
        return did + 1;
    if (did != 0)
        node->stage.operation->looks_without_event = 0;
    if (node->pieces_left != 0) {
        if (node->stage.shall_keep && !node->stage.is_released &&
            node_has_kept(node))
            xyl_stage_release(&node->stage);
        return did;
    }
    list_remove(node);
    /* A stage that node_settle has left out of the run emits nothing. */
    if (node->program.segments == 0 && node->stage.count != 0 &&
        !(node->is_skipped && node->stage.awaits))
        xyl_stage_emit(&node->stage, 0);
    xyl_stage_complete(&node->stage);
    return did + 1;
}

/* Polls a board's stages at places [from, to). 1: a stage has moved enough and
 * ends the turn; the stage behind it comes first in the next turn. */
static int board_poll(xyl_board_t *board, unsigned from, unsigned to,
                      unsigned *did)
{
    xyl_node_stage_t *node, *next;
    unsigned place;

    for (node = TAILQ_FIRST(&board->stages), place = 0;
         node != NULL && place < to; node = next, place++) {
        next = TAILQ_NEXT(node, others);
        if (!node->is_listed)
            continue; /* it ended while an earlier stage ran */
        if (place >= from)
            *did += stage_poll(node);
        if (!node->is_listed)
            continue;
        if (place >= from && node->program.ends_turns &&
            *node->moved >= node->enough) {
            board->polls_from = place + 1;
            return 1;
        }
        /* If a stage may not begin, the stages behind it may not either. */
        if (node->state != XYL_NODE_NUMBERED ||
            (node->has_input && node->pieces_begun == 0))
            break;
    }
    return 0;
}

unsigned xyl_node_stages_poll(void *arg)
{
    xyl_node_context_t *boards = arg;
    xyl_board_t *board = LIST_FIRST(&boards->busy), *next_board;
    unsigned did = 0, from;

    boards->moved = 0;
    for (; board != NULL; board = next_board) {
        next_board = LIST_NEXT(board, others);
        did += xyl_node_number(board);
        from = board->polls_from;
        board->polls_from = 0;
        if (!board_poll(board, from, UINT_MAX, &did) && from != 0)
            (void)board_poll(board, 0, from, &did);
    }
    return did;
}

/* Runs the stage as far as it goes at once; then the engine polls it. */
static void stage_begin(xyl_node_stage_t *node)
{
    xyl_engine_t *engine = &node->stage.operation->request.context->engine;

    if (node->state != XYL_NODE_NUMBERED)
        engine->polled++; /* the next poll runs its first piece */
    engine->polled += stage_poll(node);
}

/* An executor has ended its work for a strand. */
static void strand_worked(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    xyl_node_stage_t *node = self(work->stage);
    uint32_t strands = node->program.strands;
    xyl_strand_t *strand =
        &node->active[work->number / strands].strands[work->number % strands];

    if (!xyl_stage_arrived(&node->stage, event))
        return;
    strand->is_waiting = 0;
    strand->done += strand->pending;
    strand->sums.done += strand->sums.pending;
    strand->pending = strand->sums.pending = 0;
    stage_begin(node);
}

/* Forgets the works that executors had in the previous run. */
static void reset_works(const xyl_node_stage_t *node)
{
    uint32_t i, k;

    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        for (k = 0; k < node->program.strands; k++) {
            xyl_strand_t *strand = &node->active[i].strands[k];
            strand->is_waiting = 0;
            strand->pending = strand->sums.pending = 0;
            strand->operands = 0;
        }
}

/* Back to the state before the first piece. */
static void reset(xyl_node_stage_t *node)
{
    xyl_stage_t *stage = &node->stage;
    int is_level = xyl_node_is_level(stage);
    uint32_t i;

    node->state = XYL_NODE_NEW;
    node->is_skipped = node->has_helped = 0;
    node->enough = is_level ? node->limits->level_turn : UINT64_MAX;
    /* Repeated polls delay the net, which matters most to a short message. A
     * poll that asks a GPU for its works lasts longer than a call of the net.
     */
    node->is_hasty =
        is_level && (stage->operation->bytes <= node->limits->level_first ||
                     xyl_collective_is_mirrored(stage->operation));
    node->pieces_begun = 0;
    /* A result that another stage reads next is better left in the caches. */
    node->buffers.past_caches =
        stage->writes == XYL_ROLE_RESULT &&
        xyl_collective_of(stage->operation)->written >=
            stage->operation->request.context->sizes.past_caches;
    if (node->share.has_input)
        xyl_node_share_start(node);
    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        node->active[i].strands_left = 0;
}

/* 1: the run may detach, and the stage uses no buffer of the user's: it only
 * gives other ranks data that lie in the operation's own memory. */
static int is_for_others(const xyl_stage_t *stage)
{
    return stage->operation->detach.is_holding &&
           stage->reads == XYL_ROLE_SCRATCH &&
           stage->writes == XYL_ROLE_NOTHING;
}

static void find_input(xyl_node_stage_t *node)
{
    node->has_input = !node->is_unsettled &&
                      (node->input_left == 0 || node->program.segments != 0);
}

static void node_start(xyl_stage_t *stage)
{
    xyl_node_stage_t *node = self(stage);
    const xyl_node_program_t *program = &node->program;

    reset(node);
    if (node->works != NULL)
        reset_works(node);
    if (program->segments != 0)
        memset(node->input, 0,
               xyl_bits_words(stage->count) * sizeof *node->input);
    node->input_left = stage->inputs;
    node->is_unsettled = stage->awaits;
    find_input(node);
    list_add(node);
    stage->operation->request.context->engine.polled +=
        xyl_node_number(node->board);
    if (node->gate.may_go != NULL)
        stage->operation->request.context->engine.polled++; /* it may be open */
    if (is_for_others(stage))
        xyl_stage_release(stage);
    if (!node->has_input || node->input_left != 0)
        return;
    if (stage->next == NULL)
        stage_begin(node);
    else
        stage->operation->request.context->engine.polled++; /* poll it soon */
}

static void node_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    xyl_node_stage_t *node = self(stage);

    if (node->program.segments != 0)
        xyl_bits_set(node->input, index);
    if (--node->input_left != 0)
        return;
    find_input(node);
    stage_begin(node);
}

/* The next poll begins or retires pieces. */
static void node_settle(xyl_stage_t *stage, int is_left_out)
{
    xyl_node_stage_t *node = self(stage);

    node->is_unsettled = 0;
    node->is_skipped = is_left_out;
    find_input(node);
    node->has_input |= is_left_out;
    stage->operation->request.context->engine.polled++;
}

static void node_cancel(xyl_stage_t *stage)
{
    list_remove(self(stage));
    xyl_node_hand_take_back(self(stage));
}

static void node_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_buffers_bind(&self(stage)->buffers, xyl_stage_offset(stage), reads,
                     writes);
}

/* 1: this seat of a sparse program waits for `seat`. */
static int is_neighbor(const xyl_node_program_t *program, uint32_t seat)
{
    const xyl_step_t *step = program->steps, *end = step + program->count;

    for (; step < end; step++)
        if ((step->kind == XYL_STEP_TAKE ||
             (step->kind == XYL_STEP_HAND &&
              xyl_form_has_offer(step->transfer.form))) &&
            step->transfer.seat == seat)
            return 1;
    return 0;
}

/* 1: `seat` has not posted in the piece. If the program begins with a block
 * that this seat takes by a line, the sender posts in the parcel's line. */
static int is_missing(const xyl_node_stage_t *node,
                      const xyl_node_piece_t *piece, uint32_t seat)
{
    const xyl_board_t *board = node->board;
    const xyl_step_t *step = node->program.steps;
    const _Atomic uint64_t *count = &xyl_board_line(piece->slot, seat)->count;

    if (node->program.is_sparse && !is_neighbor(&node->program, seat))
        return 0;
    if (step->kind == XYL_STEP_TAKE && xyl_node_is_told_by_line(node, step)) {
        if (step->from.seat == board->seats.own && seat != step->transfer.seat)
            return 0;
        count = &xyl_parcel_line(board, piece->number,
                                 step->from.seat == board->seats.own
                                     ? board->seats.own
                                     : seat)
                     ->count;
    }
    return seat != board->seats.own &&
           xyl_board_get(board, count) < xyl_board_value(piece->number, 1);
}

static int is_gate_alone(const xyl_node_stage_t *node)
{
    return node->gate_strand != XYL_NODE_NO_STRAND && node->own_strands == 0;
}

/* Names the ranks of seats that have not posted in the first active piece. */
static void node_describe(const xyl_stage_t *stage, char *text, size_t bytes)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_board_t *board = node->board;
    const xyl_node_piece_t *piece = &node->active[0];
    size_t at = (size_t)snprintf(text, bytes, "%llu of %llu pieces begun%s",
                                 (unsigned long long)node->pieces_begun,
                                 (unsigned long long)node->program.pieces,
                                 is_gate_alone(node) ? ", at its gate"
                                                     : ", no word from rank");
    uint32_t seat;

    if (!node->is_listed || piece->strands_left == 0 ||
        is_gate_alone(node)) /* another stage knows whom it waits for */
        return;
    for (seat = 0; seat < board->seats.count && at + 12 < bytes; seat++)
        if (is_missing(node, piece, seat))
            at += (size_t)snprintf(text + at, bytes - at, " %u",
                                   board->seats.ranks[seat]);
}

static const xyl_stage_ops_t node_ops = {
    .name = "node",
    .start = node_start,
    .segment_ready = node_segment_ready,
    .cancel = node_cancel,
    .bind = node_bind,
    .settle = node_settle,
    .compare = xyl_node_compare,
    .may_keep = node_may_keep,
    .keep = node_keep,
    .describe = node_describe,
};

void xyl_node_stages_move(const xyl_operation_t *operation, xyl_board_t *board)
{
    uint32_t i;

    for (i = 0; i < operation->stages; i++)
        if (operation->stage[i]->ops == &node_ops)
            self(operation->stage[i])->board = board;
}

/* ---- inside a call ---- */

int xyl_node_stage_is_brief(const xyl_stage_t *stage)
{
    const xyl_node_stage_t *node = (const void *)stage;

    if (stage->ops != &node_ops)
        return 0;
    return (node->program.is_cut_late ? node->program.largest == 0
                                      : node->program.pieces == 1) &&
           node->program.handed <= node->limits->inside_call &&
           !node->program.offers && node->works == NULL;
}

int xyl_node_stage_run(xyl_stage_t *stage, unsigned looks)
{
    xyl_node_stage_t *node = self(stage);
    xyl_node_piece_t *piece = &node->active[0];

    assert(TAILQ_EMPTY(&node->board->stages) && stage->next == NULL);
    reset(node);
    *node->moved = 0;      /* as xyl_node_stages_poll does */
    stage->shall_keep = 0; /* as a start does */
    node->input_left = 0;
    node->has_input = 1;
    if (node->program.is_cut_late)
        xyl_node_take_first(node);
    else
        xyl_node_number_pieces(node);
    if (xyl_board_begin(node->board, &node->extent, 0, &piece->window)) {
        xyl_node_piece_begin(node, piece);
        for (; piece->strands_left != 0 && looks != 0; looks--)
            (void)xyl_node_piece_run(node, piece);
        if (piece->strands_left == 0 &&
            (!node->program.is_cut_late || xyl_node_first_ends(node)))
            return 1;
    }
    list_add(node);
    return 0;
}

int xyl_node_stage_is_next(const xyl_stage_t *stage)
{
    const xyl_board_t *board =
        ((const xyl_node_stage_t *)(const void *)stage)->board;

    return TAILQ_EMPTY(&board->stages);
}

uint64_t xyl_node_stage_number(const xyl_stage_t *stage)
{
    return ((const xyl_node_stage_t *)(const void *)stage)->board->next;
}

/* ---- planning ---- */

/* The bytes that a step moves in all pieces, at most. */
static uint64_t bytes_in_all(const xyl_node_program_t *program,
                             const xyl_step_t *step)
{
    uint64_t left = step->cut.total < step->cut.within
                        ? 0
                        : step->cut.total - step->cut.within;

    if (program->is_cut_late || left / program->pieces < step->cut.bytes)
        return left;
    return step->cut.bytes * program->pieces;
}

static int allocate(xyl_node_stage_t *node, const xyl_node_program_t *program,
                    int needs_pairs)
{
    xyl_arena_t *arena = &node->stage.operation->request.arena;
    xyl_strand_t *strands;
    xyl_pairs_t *pairs = NULL;
    size_t i;

    node->program.steps =
        xyl_arena_array(arena, program->count, sizeof *program->steps);
    node->program.strand_ends =
        xyl_arena_array(arena, program->strands, sizeof *program->strand_ends);
    node->input = xyl_arena_array(arena, xyl_bits_words(node->stage.count),
                                  sizeof *node->input);
    if (program->temp_bytes != 0) {
        node->buffers.base[XYL_BUFFER_TEMP] =
            xyl_arena_alloc(arena, program->temp_bytes);
        if (node->buffers.base[XYL_BUFFER_TEMP] == NULL)
            return 0;
    }
    strands = xyl_arena_array(
        arena, (size_t)XYL_NODE_ACTIVE_MAX * program->strands, sizeof *strands);
    if (needs_pairs)
        pairs = xyl_arena_array(arena, XYL_NODE_ACTIVE_MAX, sizeof *pairs);
    if (strands == NULL || (needs_pairs && pairs == NULL))
        return 0;
    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++) {
        node->active[i].strands = strands + i * program->strands;
        node->active[i].pairs = needs_pairs ? &pairs[i] : NULL;
    }
    return node->program.steps != NULL && node->program.strand_ends != NULL &&
           node->input != NULL;
}

/* 1: this seat writes where other seats may write as well: to windows, to words
 * of sums, to another seat's parcel line. */
static int step_marks(const xyl_step_t *step, uint32_t own)
{
    if (step->kind == XYL_STEP_HAND)
        return step->to.seat != own || step->transfer.form != XYL_FORM_INLINE;
    return step->kind == XYL_STEP_COLLECT || step->kind == XYL_STEP_GATE ||
           step->to.buffer == XYL_BUFFER_INPUT ||
           step->to.buffer == XYL_BUFFER_BOARD;
}

/* Sets is_plain and marks_pieces by the program's steps, and counts the bytes
 * that the steps copy to the result. 1: a step has pairs. */
static int survey(xyl_node_stage_t *node, const xyl_node_program_t *program)
{
    const xyl_step_t *step = program->steps, *end = step + program->count;
    int has_pairs = 0;

    node->is_plain = 1;
    for (; step < end; step++) {
        node->is_plain &= step->kind < XYL_STEP_CLAIM && !step->or_itself;
        node->marks_pieces |= step_marks(step, node->board->seats.own);
        has_pairs |= step->kind == XYL_STEP_PAIR;
        if ((step->kind == XYL_STEP_COPY || step->kind == XYL_STEP_TAKE) &&
            step->to.buffer == XYL_BUFFER_RECV)
            xyl_collective_of(node->stage.operation)->written +=
                bytes_in_all(program, step);
    }
    return has_pairs;
}

/* Counts the strands that have steps; a gate's strand does not count. */
static void strands_count(xyl_node_stage_t *node)
{
    uint32_t i, first = node->program.first_steps, end;

    node->strands_end = node->program.strands;
    node->gate_strand = XYL_NODE_NO_STRAND;
    for (i = node->program.first_strands; i < node->program.strands;
         i++, first = end) {
        end = node->program.strand_ends[i];
        if (first == end)
            continue;
        if (node->program.steps[first].kind == XYL_STEP_GATE)
            node->gate_strand = i;
        else
            node->own_strands++;
    }
}

/* Adds a work for each strand, by which an executor serves the strand. */
static xylem_status_t add_works(xyl_node_stage_t *node)
{
    uint32_t i, k, strands = node->program.strands;
    xylem_status_t status =
        xyl_stage_works_add(&node->stage, (size_t)XYL_NODE_ACTIVE_MAX * strands,
                            strand_worked, &node->works);

    for (i = 0; status == XYLEM_OK && i < XYL_NODE_ACTIVE_MAX; i++)
        for (k = 0; k < strands; k++)
            node->active[i].strands[k].work =
                xyl_stage_work(node->works, (size_t)i * strands + k);
    return status;
}

xylem_status_t
xyl_node_stage_add(xyl_operation_t *operation, const xyl_stage_spec_t *spec,
                   xyl_board_t *board, const xyl_node_program_t *program,
                   const xyl_layouts_t *layouts, xyl_stage_t **stage_out)
{
    xyl_node_stage_t *node =
        (xyl_node_stage_t *)(void *)xyl_operation_add_stage(
            operation, spec, &node_ops, sizeof *node, 0 /* no messages */);

    assert(program->status == XYLEM_OK);
    if (node == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    *stage_out = &node->stage;
    node->buffers.layout[XYL_BUFFER_SEND] = layouts->send;
    node->buffers.layout[XYL_BUFFER_RECV] = layouts->recv;
    node->board = board;
    node->first = node;
    node->together = 1;
    node->limits = xyl_limits_of(operation->request.context);
    node->moved = &xyl_node_of_context(operation->request.context)->moved;
    node->program = *program;
    node->buffers.exec = xyl_collective_of(operation)->exec;
    if (!allocate(node, program, survey(node, program)))
        return xyl_fail(XYLEM_ERR_NO_MEMORY,
                        "no memory for a program of %u steps", program->count);
    if (program->count != 0)
        memcpy(node->program.steps, program->steps,
               program->count * sizeof *program->steps);
    if (program->strands != 0)
        memcpy(node->program.strand_ends, program->strand_ends,
               program->strands * sizeof *program->strand_ends);
    strands_count(node);
    node->leaves.fire =
        program->offers ? xyl_node_looks_again : xyl_node_stop_helping;
    xyl_node_share_plan(node);
    return add_works(node);
}

void xyl_node_stage_join(xyl_stage_t *stage, xyl_stage_t *beside)
{
    xyl_node_stage_t *node = self(stage), *first = self(beside)->first;
    const xyl_node_program_t *last = &self(beside)->program;
    uint32_t words = last->first_word + last->segments;
    uint64_t at = xyl_board_whole_lines(last->window_at + last->board_bytes);

    assert(node->board == first->board && last->input_bytes == 0);
    if (node->program.pieces != 1 || last->pieces != 1 ||
        words + node->program.segments > XYL_BOARD_WORDS ||
        at + node->program.board_bytes > node->board->layout.reserve_bytes)
        return;
    node->first = first;
    first->together++;
    first->marks_pieces |= node->marks_pieces;
    xyl_node_program_move(&node->program, words, at);
    first->program.board_bytes = at + node->program.board_bytes;
}

/* 1: all steps are COMBINE, COLLECT, or copies from the window. */
static int adds_up(const xyl_node_program_t *program)
{
    const xyl_step_t *step;
    uint32_t i, sums = 0;

    for (i = 0; i < program->count; i++) {
        step = &program->steps[i];
        if (step->kind == XYL_STEP_COMBINE || step->kind == XYL_STEP_COLLECT)
            sums++;
        else if (step->kind != XYL_STEP_COPY ||
                 step->from.buffer != XYL_BUFFER_BOARD)
            return 0;
    }
    return sums != 0;
}

void xyl_node_stage_make_sums(xyl_stage_t *stage, int is_alone)
{
    xyl_node_stage_t *node = self(stage);
    xyl_collective_t *collective = xyl_collective_of(stage->operation);
    const xyl_binned_t *binned = collective->combiner.binned;

    if (binned == NULL || stage->reads != XYL_ROLE_INPUT ||
        !adds_up(&node->program))
        return;
    stage->reads_user = 1;
    stage->writes_user = is_alone || stage->writes == XYL_ROLE_NOTHING;
    node->buffers.binned[XYL_BUFFER_SEND] = binned;
    if (!is_alone)
        return;
    node->buffers.binned[XYL_BUFFER_RECV] = binned;
    collective->written = xyl_binned_elements(binned, collective->written);
}

void xyl_node_stage_set_gate(xyl_stage_t *stage, const xyl_node_gate_t *gate)
{
    self(stage)->gate = *gate;
}

void xyl_node_stage_skip(xyl_stage_t *stage, int is_skipped)
{
    assert(stage->ops == &node_ops && self(stage)->pieces_begun == 0);
    self(stage)->is_skipped = is_skipped;
}

uint64_t xyl_node_stage_segments(const xyl_stage_t *stage)
{
    return ((const xyl_node_stage_t *)(const void *)stage)->program.segments;
}
