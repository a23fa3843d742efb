#include "collectives/levels/relay.h"

#include <assert.h>
#include <string.h>

#include "collectives/node/node.h"
#include "collectives/node/programs/parts.h"
#include "collectives/node/stage.h"
#include "progress/engine/timer.h"
#include "runtime/base/bits.h"
#include "runtime/base/clock.h"
#include "runtime/base/holder.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/notice.h"

enum {
    HELPED_MAX = 4,  /* ranks that get segments beside the children */
    HELPERS_MAX = 2, /* that send beside the parent */
    GAPS = 4,        /* between segments, after which one is missing */
    SOONER = 4,      /* if they did not come by themselves in the call before */
    ASKED_MAX = 16   /* times, each twice as long after the one before */
};

enum { WORD_LABEL = XYL_TEAM_SEGMENT_TAGS /* behind segments' */ };

typedef struct relay relay_t;

/* A child's node has a piece: said by its leader to the parent's, piece by
 * piece, as messages may be sent before they are taken. */
typedef struct word {
    xyl_event_t event; /* first */
    relay_t *relay;
    uint32_t child; /* that says it */
    int is_posted;
    uint64_t pieces; /* that it was said of */
} word_t;

/* Segments that go, or come, beside the tree. */
typedef struct aside {
    xyl_edge_t edge; /* first; from the first segment on */
    enum { ASIDE_FREE, ASIDE_OFFERED, ASIDE_GOES } state;
} aside_t;

struct relay {
    xyl_stage_t stage;
    xyl_relay_spec_t spec;
    xyl_tree_edges_t edges;
    char *buf;                 /* where there is no window */
    uint64_t pieces, segments; /* of a piece */
    aside_t helped[HELPED_MAX], helpers[HELPERS_MAX];
    word_t own;    /* to the parent */
    word_t *words; /* of the children, as in `edges` */
    /* The run. */
    uint64_t *ready; /* indexes that can be sent from here */
    uint64_t open;   /* there is a place for indexes below */
    uint64_t arrived, emitted, passed /* pieces that are let go */;
    uint64_t seen;    /* of `arrived`, when the timer was started */
    uint64_t wait_ns; /* from then on: longer after each question */
    int asks;
    uint64_t beats_seen, beats_answered; /* the leader's */
    uint32_t asked;                      /* since there was anything new */
    uint32_t helpers_used;
    uint64_t first_ns; /* when the first index had come */
    uint64_t gap_ns;   /* between two, as runs have been of late */
    xyl_timer_t timer;
    xyl_notice_reader_t reader;
};

static relay_t *relay_of(xyl_stage_t *stage)
{
    return (relay_t *)(void *)stage;
}

static xylem_context_t *relay_context(const relay_t *relay)
{
    return relay->stage.operation->request.context;
}

static int relay_leads(const relay_t *relay)
{
    return relay->spec.place == 0;
}

/* Gates may be open now. */
static void relay_moved(const relay_t *relay)
{
    relay_context(relay)->engine.polled++;
}

static char *place_of(const relay_t *relay, uint64_t index)
{
    return relay->spec.node != NULL
               ? xyl_node_stage_place(relay->spec.node, index)
               : xyl_stage_place(&relay->stage, index, relay->buf);
}

/* ---- segments ---- */

static void relay_send(relay_t *relay, xyl_edge_t *edge)
{
    for (;;) {
        uint64_t index =
            xyl_edge_pick(edge, xyl_bits_from(relay->ready, edge->base));
        if (index == XYL_EDGE_NO_INDEX)
            return;
        xyl_stage_send(&relay->stage, edge, index, place_of(relay, index));
    }
}

static void relay_receive(relay_t *relay, xyl_edge_t *edge)
{
    for (;;) {
        uint64_t index = xyl_edge_pick(edge, UINT64_MAX);
        if (index >= relay->open)
            return; /* XYL_EDGE_NO_INDEX, too */
        xyl_stage_recv(&relay->stage, edge, index, place_of(relay, index));
    }
}

/* All of a piece is in the window: one segment per word of a slot at most. */
static int piece_is_there(const relay_t *relay, uint64_t piece)
{
    uint64_t first = piece * relay->segments;
    uint64_t count = relay->stage.count - first;
    uint64_t all = UINT64_MAX >> (XYL_BOARD_WORDS - relay->segments);

    if (count < relay->segments)
        all = UINT64_MAX >> (XYL_BOARD_WORDS - count);
    return (xyl_bits_from(relay->ready, first) & all) == all;
}

static uint64_t piece_end(const relay_t *relay, uint64_t piece)
{
    uint64_t end = (piece + 1) * relay->segments;

    return end < relay->stage.count ? end : relay->stage.count;
}

/* 1: no edge needs indexes below `end` any more. */
static int asides_are_past(const aside_t *asides, uint32_t count, uint64_t end)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (asides[i].state == ASIDE_OFFERED ||
            (asides[i].state == ASIDE_GOES && asides[i].edge.base < end))
            return 0;
    return 1;
}

static int tree_is_past(const relay_t *relay, uint64_t piece, uint64_t end)
{
    uint32_t i;

    if (!relay_leads(relay)) /* the leader says so */
        return relay->edges.child_count == 0 ||
               xyl_node_stage_is_let_go(relay->spec.node, piece);
    if (relay->edges.has_parent && relay->edges.parent.base < end)
        return 0;
    for (i = 0; i < relay->edges.child_count; i++)
        if (relay->edges.children[i].base < end ||
            relay->words[i].pieces <= piece)
            return 0;
    return 1;
}

/* 1: nobody needs the piece of this rank any more. */
static int is_past(const relay_t *relay, uint64_t piece)
{
    uint64_t end = piece_end(relay, piece);

    return piece_is_there(relay, piece) && tree_is_past(relay, piece, end) &&
           asides_are_past(relay->helped, HELPED_MAX, end) &&
           asides_are_past(relay->helpers, HELPERS_MAX, end);
}

/* What others still need is in windows; without one all of it goes at once. */
static void relay_check(relay_t *relay)
{
    if (relay->emitted != relay->stage.count || relay->stage.is_complete)
        return;
    if (relay->spec.node == NULL && is_past(relay, relay->pieces - 1))
        relay->passed = relay->pieces;
    if (relay->passed == relay->pieces && !relay->own.is_posted) {
        xyl_timer_stop(&relay_context(relay)->engine.timers, &relay->timer);
        xyl_notice_leave(&relay->reader);
        xyl_stage_complete(&relay->stage);
    } else if (relay->spec.node != NULL && !relay->stage.is_released) {
        xyl_stage_release(&relay->stage);
    }
}

static void word_expect(word_t *word)
{
    relay_t *relay = word->relay;
    xyl_stage_message_t message = {.peer =
                                       relay->edges.children[word->child].peer,
                                   .label = WORD_LABEL,
                                   .event = &word->event};

    word->is_posted = 1;
    xyl_stage_post_recv(&relay->stage, &message);
}

static void word_heard(xyl_event_t *event)
{
    word_t *word = (word_t *)(void *)event;
    relay_t *relay = word->relay;

    word->is_posted = 0;
    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    if (++word->pieces != relay->pieces)
        word_expect(word);
    relay_moved(relay);
    relay_check(relay);
}

/* One at a time. */
static void word_say(relay_t *relay)
{
    word_t *word = &relay->own;
    xyl_stage_message_t message = {.peer = relay->edges.parent.peer,
                                   .self = relay->edges.parent.self,
                                   .label = WORD_LABEL,
                                   .event = &word->event};

    if (!relay_leads(relay) || !relay->edges.has_parent || word->is_posted ||
        word->pieces == relay->pieces || !piece_is_there(relay, word->pieces))
        return;
    word->pieces++;
    word->is_posted = 1;
    xyl_stage_post_send(&relay->stage, &message);
}

static void word_said(xyl_event_t *event)
{
    word_t *word = (word_t *)(void *)event;
    relay_t *relay = word->relay;

    word->is_posted = 0;
    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    word_say(relay);
    relay_check(relay);
}

/* On a slow net segments are not missing as soon as on a fast one. */
static void note_pace(relay_t *relay)
{
    uint64_t now_ns = xyl_clock_now(relay_context(relay)->engine.clock);

    if (relay->arrived == 1)
        relay->first_ns = now_ns;
    else
        relay->gap_ns =
            (3 * relay->gap_ns + (now_ns - relay->first_ns) / relay->arrived) /
            4;
}

/* Who is held up in one call may be so in the next: then nobody waits as long
 * as if it came as a surprise. In one where nobody has helped nobody had to. */
static void note_help(const relay_t *relay)
{
    uint32_t lane = UINT32_C(1) << relay->spec.lane;

    if (relay->helpers_used != 0)
        *relay->spec.levels->helped |= lane;
    else
        *relay->spec.levels->helped &= ~lane;
}

static int was_helped(const relay_t *relay)
{
    return (*relay->spec.levels->helped >> relay->spec.lane & 1) != 0;
}

/* Index `index` is in its place. */
static void relay_take(relay_t *relay, uint64_t index)
{
    uint32_t i;

    if (xyl_bits_test(relay->ready, index))
        return;
    xyl_bits_set(relay->ready, index);
    if (relay->arrived++ == 0 || relay->arrived == relay->stage.count)
        note_pace(relay);
    if (relay->arrived == relay->stage.count)
        note_help(relay);
    word_say(relay);
    for (i = 0; relay_leads(relay) && i < relay->edges.child_count; i++)
        relay_send(relay, &relay->edges.children[i]);
    for (i = 0; i < HELPED_MAX; i++)
        if (relay->helped[i].state == ASIDE_GOES)
            relay_send(relay, &relay->helped[i].edge);
}

/* So that those who stand by leave it alone. */
static void relay_beat(const relay_t *relay, uint64_t index)
{
    if (relay_leads(relay) && relay->spec.node != NULL)
        xyl_node_stage_beat(relay->spec.node, index);
}

/* 1: the leader has not been seen to be alive since the last look. */
static int leader_is_silent(relay_t *relay, uint64_t index, uint64_t *seen)
{
    uint64_t before = *seen;

    if (relay_leads(relay))
        return 1;
    *seen = xyl_node_stage_beats(relay->spec.node, index);
    return *seen == before;
}

/* The user of this rank has it. */
static void relay_emit(relay_t *relay, uint64_t index)
{
    relay->emitted++;
    xyl_stage_emit(&relay->stage, index);
}

static void segment_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *edge = slot->edge;
    relay_t *relay = relay_of(edge->stage);
    uint64_t index = slot->index;
    int is_new;

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    is_new = !xyl_bits_test(relay->ready, index);
    if (is_new && relay->spec.node != NULL)
        xyl_node_stage_publish(relay->spec.node, index);
    relay_beat(relay, index);
    xyl_edge_finish(edge, index);
    relay_receive(relay, edge);
    relay_take(relay, index);
    if (is_new && relay->spec.node == NULL)
        relay_emit(relay, index);
    relay_moved(relay);
    relay_check(relay);
}

static void segment_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *edge = slot->edge;
    relay_t *relay = relay_of(edge->stage);

    if (!xyl_stage_arrived(&relay->stage, event))
        return;
    relay_beat(relay, slot->index);
    xyl_edge_finish(edge, slot->index);
    relay_send(relay, edge);
    relay_moved(relay);
    relay_check(relay);
}

/* This seat has copied it. */
static void relay_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    relay_t *relay = relay_of(stage);

    relay_take(relay, index);
    relay_emit(relay, index);
    relay_check(relay);
}

/* ---- the window ---- */

static void relay_open(relay_t *relay, uint64_t end)
{
    uint32_t i;

    relay->open = end;
    if (relay_leads(relay) && relay->edges.has_parent)
        relay_receive(relay, &relay->edges.parent);
    for (i = 0; i < HELPERS_MAX; i++)
        if (relay->helpers[i].state == ASIDE_GOES)
            relay_receive(relay, &relay->helpers[i].edge);
}

/* The gate of the node's stage: the piece has its window; and may leave it. */
static int window_may_go(void *arg, uint64_t piece, unsigned *did)
{
    relay_t *relay = arg;
    uint64_t end = piece_end(relay, piece);

    if (end > relay->open) {
        relay_open(relay, end);
        relay_beat(relay, end - 1);
        ++*did;
    }
    if (!is_past(relay, piece))
        return 0;
    ++*did;
    if (relay_leads(relay))
        xyl_node_stage_let_go(relay->spec.node, piece);
    relay->passed++;
    relay_check(relay);
    return 1;
}

/* ---- segments that are missing ---- */

static uint64_t first_missing(const relay_t *relay)
{
    uint64_t index = 0;

    while (index < relay->stage.count &&
           (xyl_bits_test(relay->ready, index) ||
            (relay->spec.node != NULL &&
             xyl_node_stage_is_published(relay->spec.node, index))))
        index++;
    return index;
}

/* To the same stage of a rank of the job. */
static void relay_tell(const relay_t *relay, uint32_t peer,
                       xyl_notice_kind_t kind, uint64_t index)
{
    const xylem_team_t *team = relay->stage.operation->request.team;
    xyl_notice_t *notice = xyl_notice_new(team->context, kind, team);

    if (notice == NULL)
        return;
    notice->number = index;
    notice->ballot = relay->stage.sequence;
    notice->about = team->rank;
    xyl_notice_send(team->context, peer, notice);
    xyl_notice_free(team->context, notice);
}

/* Asks all who may have what is missing. */
static void ask(relay_t *relay, uint64_t index)
{
    const xylem_team_t *team = relay->stage.operation->request.team;
    const xyl_levels_t *levels = relay->spec.levels;
    uint32_t node, seat, seats, i;

    xyl_levels_find(levels, relay->edges.parent.peer, &node, &seat);
    seats = xyl_levels_seats(levels, node);
    relay->asks = 1;
    for (i = 0; i < seats && i < XYL_RELAY_SEATS; i++)
        relay_tell(relay,
                   xyl_team_world_rank(
                       team, xyl_levels_rank(levels, node, (seat + i) % seats)),
                   XYL_NOTICE_MISSING, index);
}

static void timer_start(relay_t *relay)
{
    xyl_engine_t *engine = &relay_context(relay)->engine;

    if (relay->seen != relay->arrived) {
        relay->asked = 0;
        relay->wait_ns = relay->spec.wait_ns / (was_helped(relay) ? SOONER : 1);
        if (relay->wait_ns < GAPS * relay->gap_ns)
            relay->wait_ns = GAPS * relay->gap_ns;
        relay->wait_ns *= relay->spec.place + 1;
    }
    relay->seen = relay->arrived;
    if (relay->spec.wait_ns != 0 && relay->reader.listens &&
        relay->edges.has_parent)
        xyl_timer_start(&engine->timers, &relay->timer,
                        xyl_clock_now(engine->clock) + relay->wait_ns);
}

/* Who was held up itself looks first what has come meanwhile. */
static void has_waited(xyl_timer_t *timer, uint64_t now_ns)
{
    relay_t *relay = XYL_HOLDER(relay_t, timer, timer);
    uint64_t missing;

    if (relay->arrived == relay->stage.count || relay->asked == ASKED_MAX)
        return;
    if (relay->seen == relay->arrived &&
        now_ns - timer->at_ns < relay->spec.wait_ns) {
        missing = first_missing(relay);
        relay_beat(relay, missing);
        if (missing != relay->stage.count &&
            leader_is_silent(relay, missing, &relay->beats_seen)) {
            ask(relay, missing);
            relay->asked++;
            relay->wait_ns *= 2;
        }
    }
    timer_start(relay);
}

/* ---- what the others say ---- */

static aside_t *aside_find(aside_t *asides, uint32_t count, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (asides[i].state != ASIDE_FREE && asides[i].edge.peer == rank)
            return &asides[i];
    return NULL;
}

static aside_t *aside_free(aside_t *asides, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (asides[i].state == ASIDE_FREE)
            return &asides[i];
    return NULL;
}

static void aside_begin(aside_t *aside, uint32_t rank, uint64_t index)
{
    xyl_edge_reset(&aside->edge);
    aside->edge.base = index;
    aside->edge.peer = rank;
}

/* Rank `rank` is a child that is served anyway. */
static int is_served(const relay_t *relay, uint32_t rank)
{
    uint32_t i;

    for (i = 0; relay_leads(relay) && i < relay->edges.child_count; i++)
        if (relay->edges.children[i].peer == rank)
            return 1;
    return 0;
}

static void offer(relay_t *relay, const xyl_notice_t *notice)
{
    aside_t *aside = aside_free(relay->helped, HELPED_MAX);
    uint64_t index = notice->number;

    if (aside == NULL || index >= relay->stage.count ||
        !xyl_bits_test(relay->ready, index) || place_of(relay, index) == NULL ||
        is_served(relay, notice->about) ||
        !leader_is_silent(relay, index, &relay->beats_answered) ||
        aside_find(relay->helped, HELPED_MAX, notice->about) != NULL)
        return;
    aside_begin(aside, notice->about, index);
    aside->state = ASIDE_OFFERED;
    relay_tell(relay, notice->from, XYL_NOTICE_OFFER, 0);
}

static void decide(relay_t *relay, const xyl_notice_t *notice)
{
    aside_t *aside = aside_free(relay->helpers, HELPERS_MAX);
    uint64_t index = first_missing(relay);

    if (!relay->asks || aside == NULL || index == relay->stage.count ||
        aside_find(relay->helpers, HELPERS_MAX, notice->about) != NULL) {
        relay_tell(relay, notice->from, XYL_NOTICE_DECLINE, 0);
        return;
    }
    relay->asks = 0;
    relay->helpers_used++;
    note_help(relay);
    aside_begin(aside, notice->about, index);
    aside->state = ASIDE_GOES;
    relay_receive(relay, &aside->edge);
    relay_tell(relay, notice->from, XYL_NOTICE_TAKE, index);
}

static void help(relay_t *relay, const xyl_notice_t *notice)
{
    uint32_t i;

    for (i = 0; i < HELPED_MAX; i++) {
        aside_t *aside = &relay->helped[i];
        xylem_team_t *team = relay->stage.operation->request.team;
        if (aside->state != ASIDE_OFFERED ||
            xyl_team_world_rank(team, aside->edge.peer) != notice->from)
            continue;
        if (notice->kind == XYL_NOTICE_DECLINE) {
            aside->state = ASIDE_FREE;
        } else {
            aside_begin(aside, aside->edge.peer, notice->number);
            aside->state = ASIDE_GOES;
            relay_send(relay, &aside->edge);
        }
    }
    relay_moved(relay);
    relay_check(relay); /* it may have waited for this alone */
}

static void relay_read(xyl_notice_reader_t *reader, const xyl_notice_t *notice)
{
    relay_t *relay = XYL_HOLDER(relay_t, reader, reader);

    if (relay->stage.operation->failure != XYLEM_OK)
        return;
    if (notice->kind == XYL_NOTICE_MISSING)
        offer(relay, notice);
    else if (notice->kind == XYL_NOTICE_OFFER)
        decide(relay, notice);
    else
        help(relay, notice);
}

/* ---- the stage ---- */

static void relay_start(xyl_stage_t *stage)
{
    relay_t *relay = relay_of(stage);
    xylem_team_t *team = stage->operation->request.team;
    uint32_t i;

    xyl_tree_edges_reset(&relay->edges);
    memset(relay->ready, 0, xyl_bits_words(stage->count) * sizeof(uint64_t));
    relay->open = relay->arrived = relay->emitted = relay->passed = 0;
    relay->asks = 0;
    relay->helpers_used = 0;
    relay->beats_seen = relay->beats_answered = 0;
    for (i = 0; relay_leads(relay) && i < relay->edges.child_count; i++) {
        relay->words[i].pieces = 0;
        word_expect(&relay->words[i]);
    }
    relay->own.pieces = 0;
    for (i = 0; i < HELPED_MAX; i++)
        relay->helped[i].state = ASIDE_FREE;
    for (i = 0; i < HELPERS_MAX; i++)
        relay->helpers[i].state = ASIDE_FREE;
    relay->reader.team = team->key;
    relay->reader.stage = stage->sequence;
    xyl_notice_listen(team->context, &relay->reader);
    relay->seen = UINT64_MAX;
    timer_start(relay);
    if (relay->spec.node == NULL)
        relay_open(relay, stage->count);
}

static void relay_cancel(xyl_stage_t *stage)
{
    relay_t *relay = relay_of(stage);
    xyl_net_t *net = relay_context(relay)->net;
    uint32_t i;

    if (stage->is_complete)
        return;
    xyl_timer_stop(&relay_context(relay)->engine.timers, &relay->timer);
    xyl_notice_leave(&relay->reader);
    xyl_tree_edges_cancel(&relay->edges, stage, 1, 0);
    for (i = 0; relay_leads(relay) && i < relay->edges.child_count; i++)
        if (relay->words[i].is_posted)
            net->ops->cancel(net, &relay->words[i].event);
    for (i = 0; i < HELPERS_MAX; i++)
        if (relay->helpers[i].state == ASIDE_GOES)
            xyl_stage_cancel_edge(stage, &relay->helpers[i].edge);
}

static void relay_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)reads;
    relay_of(stage)->buf = writes;
}

/* In the node's windows. */
static void relay_hold(const xyl_stage_t *stage, xyl_hold_t *hold)
{
    if (((const relay_t *)(const void *)stage)->spec.node != NULL)
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

static xylem_status_t asides_init(relay_t *relay, aside_t *asides,
                                  uint32_t count, uint32_t limit,
                                  xyl_event_fn handle)
{
    const xyl_operation_t *operation = relay->stage.operation;
    uint32_t most = xyl_collective_of(operation)->plan.recv_window, i;
    uint64_t all = relay->stage.count;
    xylem_status_t status = XYLEM_OK;

    for (i = 0; i < count && status == XYLEM_OK; i++) {
        asides[i].edge.self = operation->request.team->rank;
        status =
            xyl_edge_init(&asides[i].edge, &relay->stage,
                          most < all ? most : (uint32_t)all, limit, handle);
    }
    return status;
}

static xylem_status_t relay_allocate(relay_t *relay)
{
    xyl_operation_t *operation = relay->stage.operation;
    const xyl_plan_t *plan = &xyl_collective_of(operation)->plan;
    xylem_status_t status = asides_init(relay, relay->helped, HELPED_MAX,
                                        plan->send_window, segment_sent);
    uint32_t i;

    relay->ready =
        xyl_arena_array(&operation->request.arena,
                        xyl_bits_words(relay->stage.count), sizeof(uint64_t));
    relay->words =
        xyl_arena_array(&operation->request.arena, relay->edges.child_count,
                        sizeof *relay->words);
    if (status == XYLEM_OK)
        status = asides_init(relay, relay->helpers, HELPERS_MAX,
                             plan->recv_window, segment_received);
    if (status != XYLEM_OK || relay->ready == NULL || relay->words == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    relay->own = (word_t){.event = {.handle = word_said}, .relay = relay};
    for (i = 0; i < relay->edges.child_count; i++)
        relay->words[i] = (word_t){
            .event = {.handle = word_heard}, .relay = relay, .child = i};
    return XYLEM_OK;
}

/* Alike on all nodes, whether they have windows or not. */
static void relay_cut(relay_t *relay)
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
    relay_t *relay = (relay_t *)(void *)xyl_operation_add_stage(
        operation, stage, &relay_ops, sizeof *relay, 2);
    xyl_node_gate_t gate = {.may_go = window_may_go, .arg = relay};
    xylem_status_t status;

    if (relay == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    assert(relay->stage.count != 0);
    relay->spec = *spec;
    relay_cut(relay);
    relay->timer.fire = has_waited;
    relay->reader.read = relay_read;
    status = xyl_tree_edges_init(&relay->edges, &relay->stage, &params);
    if (status == XYLEM_OK)
        status = relay_allocate(relay);
    if (status == XYLEM_OK && spec->node != NULL)
        xyl_node_stage_set_gate(spec->node, &gate);
    return status;
}

/* ---- the programs ---- */

/* The root publishes; or, where segments come from the net, nobody but relays.
 * Input is not read where it lies, as it is sent on from the window. */
static void write_segments(const xyl_problem_t *problem,
                           xyl_node_program_t *program, int has_root)
{
    int publishes = has_root && problem->rank == problem->root;
    uint32_t segment;

    xyl_node_bcast_cut(problem, program);
    for (segment = 0; segment < program->segments; segment++)
        (void)xyl_node_bcast_segment(problem, program, segment, publishes);
}

static void write_gate(xyl_node_program_t *program)
{
    const xyl_position_t nowhere = {XYL_BUFFER_RECV, 0, 0};

    xyl_node_strand(program);
    (void)xyl_node_step(program, XYL_STEP_GATE, nowhere, nowhere, 0);
}

static void write_copies(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    write_segments(problem, program, 0);
}

static void write_copies_with_gate(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    write_segments(problem, program, 0);
    write_gate(program);
}

static void write_root(const xyl_problem_t *problem,
                       xyl_node_program_t *program)
{
    write_segments(problem, program, 1);
}

static void write_root_with_gate(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    write_segments(problem, program, 1);
    write_gate(program);
}

#define RELAY_PROGRAM(write)                                                   \
    {                                                                          \
        .name = "relay",                                                       \
        .help = "through the memory of a node, from where it is sent on",      \
        .kind = XYL_ALGORITHM_NODE, .colls = XYL_COLL_BIT(BCAST),              \
        .program = (write),                                                    \
    }

static const xyl_algorithm_t programs[2][2] = {
    {RELAY_PROGRAM(write_copies), RELAY_PROGRAM(write_copies_with_gate)},
    {RELAY_PROGRAM(write_root), RELAY_PROGRAM(write_root_with_gate)}};

const xyl_algorithm_t *xyl_relay_program(int is_at_root, int has_relay)
{
    return &programs[is_at_root][has_relay];
}
