#include "collectives/levels/relay.h"

#include <assert.h>
#include <string.h>

#include "collectives/levels/relay_state.h"
#include "collectives/node/node.h"
#include "collectives/node/stage.h"
#include "runtime/base/bits.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { WORD_LABEL = XYL_TEAM_SEGMENT_TAGS /* behind the labels of segments */ };

static xyl_relay_t *relay_of(xyl_stage_t *stage)
{
    return (xyl_relay_t *)(void *)stage;
}

/* ---- segments ---- */

static void word_expect(xyl_relay_word_t *word)
{
    xyl_relay_t *relay = word->relay;
    xyl_stage_message_t message = {.peer =
                                       relay->edges.children[word->child].peer,
                                   .label = WORD_LABEL,
                                   .event = &word->event};

    word->is_posted = 1;
    xyl_stage_post_recv(&relay->stage, &message);
}

static void word_heard(xyl_event_t *event)
{
    xyl_relay_word_t *word = (xyl_relay_word_t *)(void *)event;
    xyl_relay_t *relay = word->relay;

    word->is_posted = 0;
    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    if (++word->pieces != relay->pieces)
        word_expect(word);
    xyl_relay_moved(relay);
    xyl_relay_check(relay);
}

/* Tells the parent that the next piece is here; one message is under way at a
 * time. */
static void word_say(xyl_relay_t *relay)
{
    xyl_relay_word_t *word = &relay->own;
    xyl_stage_message_t message = {.peer = relay->edges.parent.peer,
                                   .self = relay->edges.parent.self,
                                   .label = WORD_LABEL,
                                   .event = &word->event};

    if (!xyl_relay_leads(relay) || !relay->edges.has_parent ||
        word->is_posted || word->pieces == relay->pieces ||
        !xyl_relay_has_piece(relay, word->pieces))
        return;
    word->pieces++;
    word->is_posted = 1;
    xyl_stage_post_send(&relay->stage, &message);
}

static void word_said(xyl_event_t *event)
{
    xyl_relay_word_t *word = (xyl_relay_word_t *)(void *)event;
    xyl_relay_t *relay = word->relay;

    word->is_posted = 0;
    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    word_say(relay);
    xyl_relay_check(relay);
}

/* Marks segment `index`, which is in its place, and sends it on. */
static void relay_take(xyl_relay_t *relay, uint64_t index)
{
    uint32_t i;

    if (xyl_bits_test(relay->ready, index))
        return;
    xyl_bits_set(relay->ready, index);
    relay->arrived++;
    xyl_relay_help_arrived(relay);
    word_say(relay);
    for (i = 0; xyl_relay_leads(relay) && i < relay->edges.child_count; i++)
        xyl_relay_send(relay, &relay->edges.children[i]);
    xyl_relay_help_send(relay);
}

/* The user's buffer has segment `index`. */
static void relay_emit(xyl_relay_t *relay, uint64_t index)
{
    relay->emitted++;
    xyl_stage_emit(&relay->stage, index);
}

static void segment_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *edge = slot->edge;
    xyl_relay_t *relay = relay_of(edge->stage);
    uint64_t index = slot->index;
    int is_new;

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    is_new = !xyl_bits_test(relay->ready, index);
    if (is_new && relay->spec.node != NULL)
        xyl_node_stage_publish(relay->spec.node, index);
    xyl_relay_beat(relay, index);
    xyl_edge_finish(edge, index);
    xyl_relay_receive(relay, edge);
    relay_take(relay, index);
    if (is_new && relay->spec.node == NULL)
        relay_emit(relay, index);
    xyl_relay_moved(relay);
    xyl_relay_check(relay);
}

static void segment_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *edge = slot->edge;
    xyl_relay_t *relay = relay_of(edge->stage);

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    xyl_relay_beat(relay, slot->index);
    xyl_edge_finish(edge, slot->index);
    xyl_relay_send(relay, edge);
    xyl_relay_moved(relay);
    xyl_relay_check(relay);
}

/* This seat has copied segment `index` to the user's buffer. */
static void relay_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    xyl_relay_t *relay = relay_of(stage);

    relay_take(relay, index);
    relay_emit(relay, index);
    xyl_relay_check(relay);
}

/* ---- the window ---- */

static void relay_open(xyl_relay_t *relay, uint64_t end)
{
    relay->open = end;
    if (xyl_relay_leads(relay) && relay->edges.has_parent)
        xyl_relay_receive(relay, &relay->edges.parent);
    xyl_relay_help_receive(relay);
}

/* The gate of the node's stage, called while `piece` has a window. 1: the piece
 * may give the window back. */
static int window_may_go(void *arg, uint64_t piece, unsigned *did)
{
    xyl_relay_t *relay = arg;
    uint64_t end = xyl_relay_piece_end(relay, piece);

    if (end > relay->open) {
        relay_open(relay, end);
        xyl_relay_beat(relay, end - 1);
        ++*did;
    }
    if (!xyl_relay_is_past(relay, piece))
        return 0;
    ++*did;
    if (xyl_relay_leads(relay))
        xyl_node_stage_let_go(relay->spec.node, piece);
    relay->passed++;
    xyl_relay_check(relay);
    return 1;
}

/* ---- the stage ---- */

static void relay_start(xyl_stage_t *stage)
{
    xyl_relay_t *relay = relay_of(stage);
    uint32_t i;

    xyl_edges_reset(&relay->edges);
    memset(relay->ready, 0, xyl_bits_words(stage->count) * sizeof(uint64_t));
    relay->open = relay->arrived = relay->emitted = relay->passed = 0;
    for (i = 0; xyl_relay_leads(relay) && i < relay->edges.child_count; i++) {
        relay->words[i].pieces = 0;
        word_expect(&relay->words[i]);
    }
    relay->own.pieces = 0;
    xyl_relay_help_start(relay);
    if (relay->spec.node == NULL)
        relay_open(relay, stage->count);
}

static void relay_cancel(xyl_stage_t *stage)
{
    xyl_relay_t *relay = relay_of(stage);
    xyl_net_t *net = xyl_relay_context(relay)->net;
    uint32_t i;

    if (stage->is_complete)
        return;
    xyl_relay_help_cancel(relay);
    xyl_edges_cancel(&relay->edges, stage, 1, 0);
    for (i = 0; xyl_relay_leads(relay) && i < relay->edges.child_count; i++)
        if (relay->words[i].is_posted)
            net->ops->cancel(net, &relay->words[i].event);
}

static void relay_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)reads;
    relay_of(stage)->buf = writes;
}

/* Windows of the node hold the message for a detached relay. */
static void relay_hold(const xyl_stage_t *stage, xyl_hold_t *hold)
{
    if (((const xyl_relay_t *)(const void *)stage)->spec.node != NULL)
        hold->detaches = 1;
}

static const xyl_stage_ops_t relay_ops = {
    .name = "relay",
    .start = relay_start,
    .segment_ready = relay_segment_ready,
    .cancel = relay_cancel,
    .bind = relay_bind,
    .hold = relay_hold,
};

/* ---- planning ---- */

static xylem_status_t relay_allocate(xyl_relay_t *relay)
{
    xyl_operation_t *operation = relay->stage.operation;
    xylem_status_t status =
        xyl_relay_help_init(relay, segment_sent, segment_received);
    uint32_t i;

    relay->ready =
        xyl_arena_array(&operation->request.arena,
                        xyl_bits_words(relay->stage.count), sizeof(uint64_t));
    relay->words =
        xyl_arena_array(&operation->request.arena, relay->edges.child_count,
                        sizeof *relay->words);
    if (status != XYLEM_OK || relay->ready == NULL || relay->words == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    relay->own =
        (xyl_relay_word_t){.event = {.handle = word_said}, .relay = relay};
    for (i = 0; i < relay->edges.child_count; i++)
        relay->words[i] = (xyl_relay_word_t){
            .event = {.handle = word_heard}, .relay = relay, .child = i};
    return XYLEM_OK;
}

/* Cuts pieces alike on all nodes, with windows or without. */
static void relay_cut(xyl_relay_t *relay)
{
    const xyl_operation_t *operation = relay->stage.operation;
    xyl_node_program_t program = {.segment_bytes = operation->segment_bytes};

    xyl_node_cut_segments(&program,
                          relay->stage.count * operation->segment_bytes,
                          xyl_node_window_bytes(operation->request.team));
    relay->segments = program.segments;
    if (relay->spec.node != NULL)
        relay->segments = xyl_node_stage_segments(relay->spec.node);
    relay->pieces =
        (relay->stage.count + relay->segments - 1) / relay->segments;
}

xylem_status_t xyl_relay_stage_add(xyl_operation_t *operation,
                                   const xyl_stage_spec_t *stage,
                                   const xyl_relay_spec_t *spec)
{
    xyl_tree_edges_params_t params = {
        .tree = spec->tree,
        .parent_limit = xyl_collective_of(operation)->plan.recv_window,
        .child_limit = xyl_collective_of(operation)->plan.send_window,
        .parent_handle = segment_received,
        .child_handle = segment_sent,
    };
    xyl_relay_t *relay = (xyl_relay_t *)(void *)xyl_operation_add_stage(
        operation, stage, &relay_ops, sizeof *relay, 2);
    xyl_node_gate_t gate = {.may_go = window_may_go, .arg = relay};
    xylem_status_t status;

    if (relay == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    assert(relay->stage.count != 0);
    relay->spec = *spec;
    relay_cut(relay);
    status = xyl_edges_init(&relay->edges, &relay->stage, &params);
    if (status == XYLEM_OK)
        status = relay_allocate(relay);
    if (status == XYLEM_OK && spec->node != NULL)
        xyl_node_stage_set_gate(spec->node, &gate);
    return status;
}
