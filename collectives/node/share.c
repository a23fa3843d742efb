#include "collectives/node/stage_inside.h"

#include <assert.h>
#include <inttypes.h>

#include "collectives/data/call_word.h"
#include "collectives/data/description.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/mismatch.h"

/* Finds where in its buffer this seat's input begins and ends: each piece
 * publishes a part of it. If other seats may not read the input there,
 * `has_input` stays 0. */
void xyl_node_share_plan(xyl_node_stage_t *node)
{
    xyl_node_share_t *share = &node->share;
    uint32_t i;

    share->cannot_see = share->differs = XYL_BOARD_ALL;
    for (i = 0; i < node->program.count; i++) {
        const xyl_step_t *step = &node->program.steps[i];
        uint64_t at = step->from.at - step->to.at - step->further;
        uint64_t end = step->from.at - step->cut.within + step->cut.total;
        if ((step->kind != XYL_STEP_PUBLISH && step->kind != XYL_STEP_PAIR) ||
            !node->program.shares)
            continue;
        assert(!share->has_input ||
               (share->buffer == step->from.buffer && share->at == at));
        share->has_input = 1;
        share->buffer = step->from.buffer;
        share->at = at;
        if (end > share->end)
            share->end = end;
    }
}

static void explain(xyl_node_stage_t *node)
{
    const xyl_operation_t *operation = node->stage.operation;
    const char *path = "read where it lies: memory of xylem_alloc";

    if (!node->share.has_input || node->share.is_explained ||
        operation->request.context->config.verbose == 0)
        return;
    node->share.is_explained = 1;
    if (node->buffers.layout[node->share.buffer] != NULL)
        path = "copied through shared memory: its elements have gaps";
    else if (node->share.name == 0)
        path = "copied through shared memory: not memory of xylem_alloc";
    xyl_log(XYL_LOG_NONE, "select: %s: input of %" PRIu64 " bytes is %s",
            xyl_coll_traits(xyl_collective_of(operation)->key.args.coll)->name,
            node->share.end - node->share.at, path);
}

void xyl_node_share_start(xyl_node_stage_t *node)
{
    xyl_node_share_t *share = &node->share;
    xyl_shm_t *shm = node->board->seats.shm;
    xyl_buffer_t buffer = share->buffer;

    share->name = 0;
    if (share->has_input && node->buffers.layout[buffer] == NULL &&
        share->end > share->at && shm->ops->share != NULL)
        share->name =
            shm->ops->share(shm, node->buffers.base[buffer] + share->at,
                            share->end - share->at);
    explain(node);
}

/* The word of the call, with a generation in its upper bits, which tells apart
 * the pieces that have the same slot one after the other. */
static uint64_t says(const xyl_node_stage_t *node, uint64_t number)
{
    return node->stage.operation->call | number / XYL_BOARD_SLOTS
                                             << XYL_CALL_GENERATION;
}

/* Sets `past`. Once two seats have made different calls, here or over the net,
 * or have cut a call into different pieces, `past` differs between them, even
 * if no seat has noticed the difference. */
void xyl_node_share_number(xyl_node_stage_t *node)
{
    const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / 1.618 */
    xyl_board_extent_t *extent = &node->extent;
    uint64_t past = node->board->past;

    past = (past ^ past >> 32) + node->stage.operation->past;
    if (extent->is_pooled)
        past += extent->bytes * mix;
    past = (past + ((extent->pieces * extent->stride) << 32)) * mix;
    node->board->past = node->share.past = extent->past = past;
}

void xyl_node_share_piece(const xyl_node_stage_t *node, xyl_node_piece_t *piece)
{
    const xyl_node_share_t *share = &node->share;
    uint64_t from;

    piece->says = says(node, piece->number);
    piece->mark = xyl_board_mark(piece->number, share->past);
    piece->lies = NULL;
    piece->name = 0;
    if (share->name == 0)
        return;
    from = piece->piece * node->program.piece_bytes;
    piece->lies =
        node->buffers.base[share->buffer] + (ptrdiff_t)(share->at + from);
    piece->name = share->name + from;
    piece->length =
        share->end - share->at < from ? 0 : share->end - share->at - from;
}

int xyl_node_share_is_said(const xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece)
{
    const xyl_board_line_t *line =
        xyl_board_line(piece->slot, node->board->seats.own);

    return atomic_load_explicit(&line->call, memory_order_relaxed) ==
               piece->says &&
           atomic_load_explicit(&line->input.name, memory_order_relaxed) ==
               piece->name &&
           (piece->name == 0 ||
            atomic_load_explicit(&line->input.length, memory_order_relaxed) ==
                piece->length);
}

/* Stores the call last, because says_the_same reads it without a post. */
static void say(const xyl_node_stage_t *node, xyl_board_line_t *line,
                uint64_t call)
{
    /* Partners: the loads in xyl_node_is_alike, by seats that have seen the
     * next post of this seat; and the loads in says_the_same. */
    atomic_store_explicit(&line->past, node->share.past, memory_order_relaxed);
    atomic_store_explicit(&line->call, call, memory_order_release);
}

void xyl_node_share_say(const xyl_node_stage_t *node,
                        const xyl_node_piece_t *piece)
{
    xyl_board_line_t *line =
        xyl_board_line(piece->slot, node->board->seats.own);

    if (node->program.shares) {
        /* Partners: the loads in xyl_node_input. */
        atomic_store_explicit(&line->input.name, piece->name,
                              memory_order_relaxed);
        atomic_store_explicit(&line->input.length, piece->length,
                              memory_order_relaxed);
    }
    say(node, line, piece->says);
}

_Static_assert(4 * (int)XYL_NODE_RENEWED <= 1 << (64 - XYL_CALL_GENERATION),
               "no word outlives its generation's number");

void xyl_node_share_renew(const xyl_node_stage_t *node, uint64_t number)
{
    uint64_t end = number + node->extent.stride;

    for (; number < end; number++)
        if (number / XYL_BOARD_SLOTS % XYL_NODE_RENEWED == XYL_NODE_RENEWED - 1)
            say(node,
                xyl_board_line(xyl_board_slot(node->board, number),
                               node->board->seats.own),
                says(node, number));
}

void xyl_node_share_differs(xyl_node_share_t *share,
                            const xyl_board_line_t *line, uint32_t seat)
{
    share->cannot_see = share->differs = seat;
    share->differs_by = atomic_load_explicit(&line->call, memory_order_relaxed);
}

/* The address of another seat's input for this seat; NULL: there is none. */
static const char *input_there(xyl_node_stage_t *node, uint32_t seat,
                               const xyl_board_line_t *line, uint64_t at,
                               size_t bytes)
{
    xyl_shm_t *shm = node->board->seats.shm;
    /* Partners: the stores in xyl_node_share_say. */
    uint64_t name =
        atomic_load_explicit(&line->input.name, memory_order_relaxed);
    uint64_t length =
        atomic_load_explicit(&line->input.length, memory_order_relaxed);
    const char *there = NULL;

    if (at > length || bytes > length - at) {
        node->share.length = length;
        node->share.length_known = at + bytes;
    } else {
        there = shm->ops->view(shm, node->board->seats.ranks[seat], name + at,
                               bytes);
    }
    if (there == NULL)
        node->share.cannot_see = seat;
    return there;
}

const char *xyl_node_input(xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece, uint32_t seat,
                           uint64_t at, uint64_t further, size_t bytes)
{
    const xyl_board_t *board = node->board;
    const xyl_board_line_t *line;
    const char *window = piece->window + seat * node->program.input_bytes + at;

    if (!node->program.shares)
        return window;
    if (seat == board->seats.own)
        return piece->lies == NULL ? window
                                   : piece->lies + (ptrdiff_t)(at + further);
    line = xyl_board_line(piece->slot, seat);
    /* A seat in another call may have other bytes in place of the name. */
    if (!xyl_node_is_alike(&node->share, line, seat))
        return NULL;
    if (atomic_load_explicit(&line->input.name, memory_order_relaxed) == 0)
        return window;
    return input_there(node, seat, line, at + further, bytes);
}

static void fail_by_difference(xyl_node_stage_t *node, uint32_t seat,
                               uint64_t theirs)
{
    xylem_team_t *team = node->stage.operation->request.team;

    xyl_mismatch_fail(team, team->context->rank, node->stage.operation->call,
                      node->board->seats.ranks[seat], theirs);
}

/* Fails as a message of a wrong length does. */
static void fail_by_length(xyl_node_stage_t *node, uint32_t seat)
{
    const xyl_node_share_t *share = &node->share;
    xylem_status_t status = share->length > share->length_known
                                ? XYLEM_ERR_TRUNCATED
                                : XYLEM_ERR_MISMATCH;

    xyl_failure_raise_for(node->stage.operation,
                          xyl_fail(status,
                                   "rank %u has sent a block of %" PRIu64
                                   " bytes, not %" PRIu64,
                                   node->board->seats.ranks[seat],
                                   share->length, share->length_known));
}

int xyl_node_share_failed(xyl_node_stage_t *node)
{
    uint32_t seat = node->share.cannot_see;

    if (seat == XYL_BOARD_ALL)
        return 0;
    node->share.cannot_see = XYL_BOARD_ALL;
    if (node->share.differs == seat)
        fail_by_difference(node, seat, node->share.differs_by);
    else if (node->share.length != node->share.length_known)
        fail_by_length(node, seat);
    else
        xyl_failure_raise_for(
            node->stage.operation,
            xyl_fail(XYLEM_ERR_NO_RESOURCE,
                     "cannot see the memory of xylem_alloc of rank %u",
                     node->board->seats.ranks[seat]));
    return 1;
}

/* Writes the word of a refused call into this seat's line of the next piece,
 * unless other seats may still look there for an older call. The next call that
 * is not refused overwrites the word. */
void xyl_node_share_refusal(xyl_board_t *board, uint64_t call)
{
    uint64_t number = board->next;

    if (board->unnumbered != NULL ||
        number >= board->done_by_all + XYL_BOARD_SLOTS)
        return;
    /* Partner: the load in says_the_same. */
    atomic_store_explicit(
        &xyl_board_line(xyl_board_slot(board, number), board->seats.own)->call,
        call | number / XYL_BOARD_SLOTS << XYL_CALL_GENERATION,
        memory_order_relaxed);
}

/* 1: `word` says that a seat's call was refused, but the seats may still agree.
 * Either this seat has waited for a few seconds only, and the other seat may
 * make the call again. Or equally many calls of the two seats were refused. */
static int may_be_made_again(const xyl_operation_t *operation, uint64_t word)
{
    const uint64_t call = (UINT64_C(1) << XYL_CALL_GENERATION) - 1;
    uint32_t refusals = xyl_history_refusals(operation->request.team);

    return xyl_word_is_nothing(word) &&
           (operation->looks_without_event < XYL_HISTORY_REFUSED_LOOKS ||
            (word & call) == xyl_word_of_nothing(refusals));
}

/* 1: the seat's line has the same call as this seat, or none yet. *word_out:
 * the word of that call. */
static int says_the_same(const xyl_node_stage_t *node,
                         const xyl_board_line_t *line, uint64_t number,
                         uint64_t *word_out)
{
    uint64_t mine = says(node, number);
    /* Partner: the store in say. */
    uint64_t word = atomic_load_explicit(&line->call, memory_order_acquire);

    *word_out = word;
    if (word == 0 || (word ^ mine) >> XYL_CALL_GENERATION != 0)
        return 1; /* of an earlier piece */
    return word == mine &&
           atomic_load_explicit(&line->past, memory_order_relaxed) ==
               node->share.past;
}

/* Fails the operation if a seat's line has a different call in a piece that
 * this seat has begun, or is about to begin. */
static void compare_in(xyl_node_stage_t *node, uint64_t piece)
{
    uint64_t number = xyl_board_number(&node->extent, piece), word;
    char *slot = xyl_board_slot(node->board, number);
    uint32_t seat;

    for (seat = 0; seat < node->board->seats.count; seat++)
        if (seat != node->board->seats.own &&
            !says_the_same(node, xyl_board_line(slot, seat), number, &word) &&
            !may_be_made_again(node->stage.operation, word)) {
            fail_by_difference(node, seat, word);
            return;
        }
}

void xyl_node_compare(xyl_stage_t *stage)
{
    xyl_node_stage_t *node = (xyl_node_stage_t *)(void *)stage;
    uint32_t i;

    if (node->state == XYL_NODE_NEW)
        return;
    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        if (node->active[i].strands_left != 0) {
            xyl_node_share_say(node, &node->active[i]); /* without a post */
            compare_in(node, node->active[i].piece);
        }
    if (node->pieces_begun < node->extent.pieces)
        compare_in(node, node->pieces_begun);
}
