#include "collectives/levels/relay_state.h"

#include <string.h>

#include "collectives/stages/collective.h"
#include "runtime/base/bits.h"
#include "runtime/base/clock.h"
#include "runtime/base/holder.h"
#include "runtime/core/context.h"

enum {
    GAPS = 4,   /* gaps between segments, after which a segment is missing */
    SOONER = 4, /* divides the wait if the call before needed help */
    /* The wait before a question doubles until it is LONGEST_NS or more, as it
     * may be long before any rank has the segment. A rank asks at most
     * ASKED_MAX times in vain. */
    LONGEST_NS = 100000000,
    ASKED_MAX = 10000
};

#define NO_RANK UINT32_MAX

/* The words that relays say to one another: */
typedef enum word {
    MISSING, /* I lack the segments from `index` on */
    OFFER,   /* I can send them */
    TAKE,    /* send me the segments from `index` on */
    DECLINE  /* I need no segments any more */
} word_t;

/* The content of `said` of a notice. */
typedef struct saying {
    uint32_t word;
    uint32_t rank; /* the rank in the team that says the word */
    uint64_t index;
} saying_t;
_Static_assert(sizeof(saying_t) <=
                   sizeof((xyl_notice_to_stage_t){.stage = 0}.said),
               "what relays say fits into a notice");

/* Measures the usual gap between segments: it is longer on a slow net. */
static void note_pace(xyl_relay_t *relay)
{
    uint64_t now_ns = xyl_clock_now(xyl_relay_context(relay)->engine.clock);

    if (relay->arrived == 1)
        relay->first_ns = now_ns;
    else
        relay->gap_ns =
            (3 * relay->gap_ns + (now_ns - relay->first_ns) / relay->arrived) /
            4;
}

/* After a call with help, this rank asks sooner in the next one. */
static void note_help(const xyl_relay_t *relay)
{
    uint32_t lane = UINT32_C(1) << relay->spec.lane;

    if (relay->helpers_used != 0)
        *relay->spec.levels->helped |= lane;
    else
        *relay->spec.levels->helped &= ~lane;
}

void xyl_relay_beat(const xyl_relay_t *relay, uint64_t index)
{
    if (xyl_relay_leads(relay) && relay->spec.node != NULL)
        xyl_node_stage_beat(relay->spec.node, index);
}

/* 1: this rank leads, or its leader has been silent since the last look. */
static int leader_is_silent(xyl_relay_t *relay, uint64_t index, uint64_t *seen)
{
    uint64_t before = *seen;

    if (xyl_relay_leads(relay))
        return 1;
    *seen = xyl_node_stage_beats(relay->spec.node, index);
    return *seen == before;
}

/* ---- segments that are missing ---- */

static uint64_t first_missing(const xyl_relay_t *relay)
{
    uint64_t index = 0;

    while (index < relay->stage.count &&
           (xyl_bits_test(relay->ready, index) ||
            (relay->spec.node != NULL &&
             xyl_node_stage_is_published(relay->spec.node, index))))
        index++;
    return index;
}

/* Says a word to the same stage of `peer`, a rank of the job. */
static void relay_tell(const xyl_relay_t *relay, uint32_t peer, word_t word,
                       uint64_t index)
{
    const xylem_team_t *team = relay->stage.operation->request.team;
    xyl_notice_t *notice =
        xyl_notice_new(team->context, XYL_NOTICE_STAGE, team);
    const saying_t saying = {word, team->rank, index};
    xyl_notice_to_stage_t *to;

    if (notice == NULL)
        return;
    to = XYL_NOTICE_AS(xyl_notice_to_stage_t, notice);
    to->stage = relay->stage.sequence;
    to->wants_answer = word == OFFER;
    memcpy(to->said, &saying, sizeof saying);
    xyl_notice_send(team->context, peer, notice);
    xyl_notice_free(team->context, notice);
}

/* Asks all seats of the parent's node that may have the missing segment. */
static void ask(xyl_relay_t *relay, uint64_t index)
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
                   MISSING, index);
}

static void timer_start(xyl_relay_t *relay)
{
    xyl_engine_t *engine = &xyl_relay_context(relay)->engine;

    if (relay->seen != relay->arrived) {
        relay->asked = 0;
        relay->wait_ns = relay->spec.wait_ns;
        if ((*relay->spec.levels->helped >> relay->spec.lane & 1) != 0)
            relay->wait_ns /= SOONER;
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

/* 1: the timer fired late, so this rank first looks at the segments that came;
 * only once. */
static int looks_first(xyl_relay_t *relay, uint64_t late_ns)
{
    relay->looks = !relay->looks && late_ns >= relay->spec.wait_ns;
    return relay->looks;
}

static void look_for_missing(xyl_timer_t *timer, uint64_t now_ns)
{
    xyl_relay_t *relay = XYL_HOLDER(xyl_relay_t, timer, timer);
    uint64_t missing;

    if (relay->arrived == relay->stage.count || relay->asked == ASKED_MAX)
        return;
    if (!looks_first(relay, now_ns - timer->at_ns) &&
        relay->seen == relay->arrived) {
        missing = first_missing(relay);
        xyl_relay_beat(relay, missing);
        if (missing != relay->stage.count &&
            leader_is_silent(relay, missing, &relay->beats_seen)) {
            ask(relay, missing);
            relay->asked++;
            if (relay->wait_ns < LONGEST_NS)
                relay->wait_ns *= 2;
        }
    }
    timer_start(relay);
}

/* ---- notices ---- */

/* The edge with that rank; for NO_RANK, a free edge. NULL: there is none. */
static xyl_aside_t *aside_find(xyl_aside_t *asides, uint32_t count,
                               uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (asides[i].state == ASIDE_FREE ? rank == NO_RANK
                                          : asides[i].edge.peer == rank)
            return &asides[i];
    return NULL;
}

static void aside_begin(xyl_aside_t *aside, uint32_t rank, uint64_t index)
{
    xyl_edge_reset(&aside->edge);
    aside->edge.base = index;
    aside->edge.peer = rank;
}

/* 1: `rank` is a child, which gets all segments anyway. */
static int is_served(const xyl_relay_t *relay, uint32_t rank)
{
    uint32_t i;

    for (i = 0; xyl_relay_leads(relay) && i < relay->edges.child_count; i++)
        if (relay->edges.children[i].peer == rank)
            return 1;
    return 0;
}

static void offer(xyl_relay_t *relay, uint32_t from, const saying_t *saying)
{
    xyl_aside_t *aside =
        aside_find(relay->helped, XYL_RELAY_HELPED_MAX, NO_RANK);
    uint64_t index = saying->index;

    if (aside == NULL || index >= relay->stage.count ||
        !xyl_bits_test(relay->ready, index) ||
        xyl_relay_place(relay, index) == NULL ||
        is_served(relay, saying->rank) ||
        !leader_is_silent(relay, index, &relay->beats_answered) ||
        aside_find(relay->helped, XYL_RELAY_HELPED_MAX, saying->rank) != NULL)
        return;
    aside_begin(aside, saying->rank, index);
    aside->state = ASIDE_OFFERED;
    relay_tell(relay, from, OFFER, 0);
}

static void decide(xyl_relay_t *relay, uint32_t from, const saying_t *saying)
{
    xyl_aside_t *aside =
        aside_find(relay->helpers, XYL_RELAY_HELPERS_MAX, NO_RANK);
    uint64_t index = first_missing(relay);

    if (!relay->asks || aside == NULL || index == relay->stage.count ||
        aside_find(relay->helpers, XYL_RELAY_HELPERS_MAX, saying->rank) !=
            NULL) {
        relay_tell(relay, from, DECLINE, 0);
        return;
    }
    relay->asks = 0;
    relay->helpers_used++;
    note_help(relay);
    aside_begin(aside, saying->rank, index);
    aside->state = ASIDE_GOES;
    xyl_relay_receive(relay, &aside->edge);
    relay_tell(relay, from, TAKE, index);
}

static void help(xyl_relay_t *relay, uint32_t from, const saying_t *saying)
{
    uint32_t i;

    for (i = 0; i < XYL_RELAY_HELPED_MAX; i++) {
        xyl_aside_t *aside = &relay->helped[i];
        xylem_team_t *team = relay->stage.operation->request.team;
        if (aside->state != ASIDE_OFFERED ||
            xyl_team_world_rank(team, aside->edge.peer) != from)
            continue;
        if (saying->word == DECLINE) {
            aside->state = ASIDE_FREE;
        } else {
            aside_begin(aside, aside->edge.peer, saying->index);
            aside->state = ASIDE_GOES;
            xyl_relay_send(relay, &aside->edge);
        }
    }
    xyl_relay_moved(relay);
    xyl_relay_check(relay); /* the stage may have waited for this alone */
}

/* An offer that comes back has found no stage: the rank that asked needs no
 * segments any more. */
static void relay_read(xyl_notice_reader_t *reader, xyl_notice_t *notice)
{
    xyl_relay_t *relay = XYL_HOLDER(xyl_relay_t, reader, reader);
    const xyl_notice_to_stage_t *to =
        XYL_NOTICE_AS(xyl_notice_to_stage_t, notice);
    saying_t saying;

    memcpy(&saying, to->said, sizeof saying);
    if (to->is_unread)
        saying.word = DECLINE;
    if (relay->stage.operation->failure != XYLEM_OK ||
        saying.rank >= relay->stage.operation->request.team->size)
        return;
    if (saying.word == MISSING)
        offer(relay, notice->from, &saying);
    else if (saying.word == OFFER)
        decide(relay, notice->from, &saying);
    else
        help(relay, notice->from, &saying);
}

static xylem_status_t asides_init(xyl_relay_t *relay, xyl_aside_t *asides,
                                  uint32_t count, uint32_t limit,
                                  xyl_event_fn handle)
{
    const xyl_operation_t *operation = relay->stage.operation;
    uint32_t most = xyl_collective_of(operation)->plan.recv_window, i;
    uint64_t all = relay->stage.count;
    xylem_status_t status = XYLEM_OK;

    for (i = 0; i < count && status == XYLEM_OK; i++) {
        asides[i].edge.self = operation->request.team->rank;
        status = xyl_edges_init_one(&asides[i].edge, &relay->stage,
                                    most < all ? most : (uint32_t)all, limit,
                                    handle);
    }
    return status;
}

/* ---- with the stage ---- */

xylem_status_t xyl_relay_help_init(xyl_relay_t *relay, xyl_event_fn sent,
                                   xyl_event_fn received)
{
    const xyl_plan_t *plan = &xyl_collective_of(relay->stage.operation)->plan;
    xylem_status_t status = asides_init(
        relay, relay->helped, XYL_RELAY_HELPED_MAX, plan->send_window, sent);

    if (status == XYLEM_OK)
        status = asides_init(relay, relay->helpers, XYL_RELAY_HELPERS_MAX,
                             plan->recv_window, received);
    relay->timer.fire = look_for_missing;
    relay->reader.read = relay_read;
    return status;
}

void xyl_relay_help_start(xyl_relay_t *relay)
{
    const xylem_team_t *team = relay->stage.operation->request.team;
    uint32_t i;

    relay->asks = relay->looks = 0;
    relay->helpers_used = 0;
    relay->beats_seen = relay->beats_answered = 0;
    for (i = 0; i < XYL_RELAY_HELPED_MAX; i++)
        relay->helped[i].state = ASIDE_FREE;
    for (i = 0; i < XYL_RELAY_HELPERS_MAX; i++)
        relay->helpers[i].state = ASIDE_FREE;
    relay->reader.team = team->key;
    relay->reader.stage = relay->stage.sequence;
    xyl_notice_listen(team->context, &relay->reader);
    relay->seen = UINT64_MAX;
    timer_start(relay);
}

void xyl_relay_help_cancel(xyl_relay_t *relay)
{
    uint32_t i;

    xyl_relay_stop_asking(relay);
    for (i = 0; i < XYL_RELAY_HELPERS_MAX; i++)
        if (relay->helpers[i].state == ASIDE_GOES)
            xyl_stage_cancel_edge(&relay->stage, &relay->helpers[i].edge);
}

void xyl_relay_help_arrived(xyl_relay_t *relay)
{
    if (relay->arrived == 1 || relay->arrived == relay->stage.count)
        note_pace(relay);
    if (relay->arrived == relay->stage.count)
        note_help(relay);
}

void xyl_relay_help_send(xyl_relay_t *relay)
{
    uint32_t i;

    for (i = 0; i < XYL_RELAY_HELPED_MAX; i++)
        if (relay->helped[i].state == ASIDE_GOES)
            xyl_relay_send(relay, &relay->helped[i].edge);
}

void xyl_relay_help_receive(xyl_relay_t *relay)
{
    uint32_t i;

    for (i = 0; i < XYL_RELAY_HELPERS_MAX; i++)
        if (relay->helpers[i].state == ASIDE_GOES)
            xyl_relay_receive(relay, &relay->helpers[i].edge);
}
