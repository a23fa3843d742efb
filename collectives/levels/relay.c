#include "collectives/levels/relay.h"

#include <assert.h>
#include <string.h>

#include "collectives/levels/election.h"
#include "progress/engine/timer.h"
#include "runtime/base/bits.h"
#include "runtime/base/clock.h"
#include "runtime/base/holder.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { WORD_LABEL = XYL_TEAM_SEGMENT_TAGS /* the number behind segments' */ };

typedef struct relay relay_t;

/* "It is me": the rank that leads a node. */
typedef struct word {
    xyl_event_t event; /* first */
    relay_t *relay;
    uint32_t rank;
    uint32_t child; /* of a word that a child's node says */
    int is_expected;
    int is_there;
} word_t;

/* A word of this rank on its way. */
typedef struct told {
    xyl_event_t event; /* first */
    relay_t *relay;
} told_t;

typedef struct child {
    uint32_t should_lead; /* rank */
    uint32_t seats;       /* that may */
    uint32_t may_lead[XYL_RELAY_SEATS];
    told_t told[XYL_RELAY_SEATS];
    word_t word;
} child_t;

struct relay {
    xyl_stage_t stage;
    xyl_relay_spec_t spec;
    xyl_tree_edges_t edges;
    child_t *children; /* as in `edges` */
    char *buf;
    /* The run. */
    uint64_t *ready;     /* indexes that are in `buf` */
    uint64_t arrived;    /* and have been emitted */
    int is_open, stands; /* for election */
    int is_decided, leads;
    uint32_t children_left; /* that do not have everything yet; if it leads */
    uint32_t words_left;    /* of this rank, not sent yet */
    uint32_t own_word;
    word_t parent_word;
    told_t parent_told;
    xyl_timer_t timer;
    xyl_election_t election; /* where the node's stage holds one */
};

static relay_t *relay_of(xyl_stage_t *stage)
{
    return (relay_t *)(void *)stage;
}

/* As which this node's messages are sent: the seat that should lead. */
static uint32_t relay_sender(const relay_t *relay)
{
    return xyl_group_rank(&relay->stage.group, relay->stage.group.rank);
}

static void relay_check(relay_t *relay)
{
    int is_known = !relay->edges.has_parent || relay->parent_word.is_there;

    if (relay->arrived == relay->stage.count && relay->is_decided && is_known &&
        relay->words_left == 0 && relay->children_left == 0 &&
        !relay->stage.is_complete)
        xyl_stage_complete(&relay->stage);
}

/* ---- standing for election ---- */

static void late(xyl_timer_t *timer, uint64_t now_ns)
{
    relay_t *relay = XYL_HOLDER(relay_t, timer, timer);

    (void)now_ns;
    xyl_election_claim(&relay->election);
}

/* Not before there is something to do, so that nobody leads who is held up
 * until then. */
static void stand(relay_t *relay)
{
    xyl_engine_t *engine = &relay->stage.operation->request.context->engine;
    uint64_t wait_ns = relay->spec.wait_ns * relay->spec.place;
    int has_cause = relay->edges.has_parent ? relay->parent_word.is_there
                                            : relay->arrived != 0;

    if (!relay->is_open || !has_cause || relay->stands || relay->is_decided)
        return;
    relay->stands = 1;
    if (wait_ns == 0)
        xyl_election_claim(&relay->election);
    else
        xyl_timer_start(&engine->timers, &relay->timer,
                        xyl_clock_now(engine->clock) + wait_ns);
}

/* Claims may be made from now on. */
static void opened(void *arg)
{
    relay_t *relay = arg;

    relay->is_open = 1;
    stand(relay);
}

/* ---- segments ---- */

static void relay_send(relay_t *relay, xyl_edge_t *edge)
{
    if (relay->children[edge->number].word.is_there)
        xyl_stage_send_open(&relay->stage, edge, relay->ready, relay->buf);
}

static void relay_receive(relay_t *relay)
{
    xyl_stage_recv_open(&relay->stage, &relay->edges.parent, relay->buf);
}

/* Index `index` is in the buffer, and goes on to the children's nodes. */
static void relay_take(relay_t *relay, uint64_t index)
{
    uint32_t i;

    if (xyl_bits_test(relay->ready, index))
        return;
    xyl_bits_set(relay->ready, index);
    for (i = 0; relay->leads && i < relay->edges.child_count; i++)
        relay_send(relay, &relay->edges.children[i]);
}

/* The seats of the node have it, or take it from where it is. */
static void relay_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    relay_t *relay = relay_of(stage);

    relay_take(relay, index);
    relay->arrived++;
    stand(relay);
    xyl_stage_emit(stage, index);
    relay_check(relay);
}

static void segment_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    relay_t *relay = relay_of(slot->edge->stage);
    uint64_t index = slot->index;

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    xyl_edge_finish(&relay->edges.parent, index);
    relay_receive(relay);
    relay_take(relay, index);
    if (relay->stage.supplies != NULL)
        xyl_stage_supply(&relay->stage, index); /* and it comes from there */
    else
        relay_segment_ready(&relay->stage, index);
}

static void segment_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *edge = slot->edge;
    relay_t *relay = relay_of(edge->stage);

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    xyl_edge_finish(edge, slot->index);
    if (edge->base != relay->stage.count) {
        relay_send(relay, edge);
        return;
    }
    relay->children_left--;
    relay_check(relay);
}

/* ---- words ---- */

static void word_expect(word_t *word, uint32_t from)
{
    xyl_stage_message_t message = {.peer = from,
                                   .label = WORD_LABEL,
                                   .buf = &word->rank,
                                   .bytes = sizeof word->rank,
                                   .event = &word->event};

    word->is_expected = 1;
    xyl_stage_post_recv(&word->relay->stage, &message);
}

static void word_cancel(word_t *word)
{
    xyl_net_t *net = word->relay->stage.operation->request.context->net;

    if (word->is_expected)
        net->ops->cancel(net, &word->event);
}

static void word_say(told_t *told, uint32_t to)
{
    relay_t *relay = told->relay;
    xyl_stage_message_t message = {.peer = to,
                                   .self = relay_sender(relay),
                                   .label = WORD_LABEL,
                                   .buf = &relay->own_word,
                                   .bytes = sizeof relay->own_word,
                                   .event = &told->event};

    xyl_stage_post_send(&relay->stage, &message);
}

static void word_said(xyl_event_t *event)
{
    relay_t *relay = ((told_t *)(void *)event)->relay;

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    relay->words_left--;
    relay_check(relay);
}

static void parent_heard(xyl_event_t *event)
{
    word_t *word = (word_t *)(void *)event;
    relay_t *relay = word->relay;

    word->is_expected = 0;
    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    word->is_there = 1;
    if (relay->leads)
        word_say(&relay->parent_told, word->rank);
    else
        stand(relay);
    relay_check(relay);
}

static void child_heard(xyl_event_t *event)
{
    word_t *word = (word_t *)(void *)event;
    relay_t *relay = word->relay;
    xyl_edge_t *edge = &relay->edges.children[word->child];

    word->is_expected = 0;
    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    word->is_there = 1;
    edge->peer = word->rank;
    relay_send(relay, edge);
}

/* ---- who leads ---- */

static void lead(relay_t *relay)
{
    uint32_t i, k;

    relay->leads = 1;
    relay->children_left = relay->edges.child_count;
    for (i = 0; i < relay->edges.child_count; i++) {
        child_t *child = &relay->children[i];
        relay->words_left += child->seats;
        word_expect(&child->word, child->should_lead);
        for (k = 0; k < child->seats; k++)
            word_say(&child->told[k], child->may_lead[k]);
    }
    if (!relay->edges.has_parent)
        return;
    relay->words_left++;
    relay_receive(relay);
    if (relay->parent_word.is_there)
        word_say(&relay->parent_told, relay->parent_word.rank);
}

static void decided(void *arg, uint32_t seat)
{
    relay_t *relay = arg;
    xyl_engine_t *engine = &relay->stage.operation->request.context->engine;

    relay->is_decided = 1;
    xyl_timer_stop(&engine->timers, &relay->timer);
    if (seat == relay->spec.seat)
        lead(relay);
    relay_check(relay);
}

/* ---- the stage ---- */

static void relay_start(xyl_stage_t *stage)
{
    relay_t *relay = relay_of(stage);
    uint32_t i;

    xyl_tree_edges_reset(&relay->edges);
    memset(relay->ready, 0, xyl_bits_words(stage->count) * sizeof(uint64_t));
    relay->arrived = 0;
    xyl_election_reset(&relay->election);
    relay->is_open = relay->stands = 0;
    relay->is_decided = relay->leads = 0;
    relay->children_left = relay->words_left = 0;
    relay->parent_word.is_there = 0;
    for (i = 0; i < relay->edges.child_count; i++)
        relay->children[i].word.is_there = 0;
    if (relay->edges.has_parent)
        word_expect(&relay->parent_word, relay->edges.parent.peer);
    if (relay->spec.node != NULL)
        return; /* which holds an election */
    relay->is_decided = 1;
    if (relay->spec.place == 0)
        lead(relay);
}

static void relay_cancel(xyl_stage_t *stage)
{
    relay_t *relay = relay_of(stage);
    uint32_t i;

    xyl_timer_stop(&stage->operation->request.context->engine.timers,
                   &relay->timer);
    xyl_tree_edges_cancel(&relay->edges, stage, 1, 0);
    word_cancel(&relay->parent_word);
    for (i = 0; i < relay->edges.child_count; i++)
        word_cancel(&relay->children[i].word);
}

static void relay_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)reads;
    relay_of(stage)->buf = writes;
}

static const xyl_stage_ops_t relay_ops = {
    .name = "relay",
    .start = relay_start,
    .segment_ready = relay_segment_ready,
    .cancel = relay_cancel,
    .bind = relay_bind,
};

/* ---- planning ---- */

static void events_init(relay_t *relay)
{
    uint32_t i, k;

    relay->timer.fire = late;
    relay->parent_told = (told_t){{.handle = word_said}, relay};
    relay->parent_word =
        (word_t){.event = {.handle = parent_heard}, .relay = relay};
    for (i = 0; i < relay->edges.child_count; i++) {
        child_t *child = &relay->children[i];
        child->word = (word_t){
            .event = {.handle = child_heard}, .relay = relay, .child = i};
        for (k = 0; k < child->seats; k++)
            child->told[k] = (told_t){{.handle = word_said}, relay};
    }
}

/* Who may lead the children's nodes. */
static void children_find(relay_t *relay)
{
    const xyl_levels_t *levels = relay->spec.levels;
    uint32_t i, k, node, seat;

    for (i = 0; i < relay->edges.child_count; i++) {
        child_t *child = &relay->children[i];
        child->should_lead = relay->edges.children[i].peer;
        xyl_levels_find(levels, child->should_lead, &node, &seat);
        child->seats = xyl_relay_seats(levels, node);
        for (k = 0; k < child->seats; k++)
            child->may_lead[k] = xyl_levels_rank(
                levels, node, (seat + k) % xyl_levels_seats(levels, node));
    }
}

static xylem_status_t relay_allocate(relay_t *relay)
{
    xyl_arena_t *arena = &relay->stage.operation->request.arena;

    relay->ready = xyl_arena_array(arena, xyl_bits_words(relay->stage.count),
                                   sizeof(uint64_t));
    relay->children = xyl_arena_array(arena, relay->edges.child_count,
                                      sizeof *relay->children);
    if (relay->ready == NULL || relay->children == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    return XYLEM_OK;
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
    relay_t *relay = (relay_t *)(void *)xyl_operation_add_stage(
        operation, stage, &relay_ops, sizeof *relay, 2);
    xylem_status_t status;

    if (relay == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    assert(relay->stage.count != 0);
    relay->spec = *spec;
    status = xyl_tree_edges_init(&relay->edges, &relay->stage, &params);
    if (status == XYLEM_OK)
        status = relay_allocate(relay);
    if (status != XYLEM_OK)
        return status;
    relay->own_word = operation->request.team->rank;
    children_find(relay);
    events_init(relay);
    if (spec->node == NULL)
        return XYLEM_OK;
    relay->election = (xyl_election_t){.stage = spec->node,
                                       .opened = opened,
                                       .decided = decided,
                                       .arg = relay};
    xyl_election_hold(&relay->election);
    return XYLEM_OK;
}
