#include "runtime/faults/agreement.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/holder.h"
#include "runtime/base/status.h"
#include "runtime/core/team.h"
#include "runtime/faults/notice.h"
#include "runtime/modules.h"

/* The payload of values and outcomes; the bits of dead ranks are behind it. */
typedef struct ballot {
    uint64_t number; /* of the agreement */
    uint32_t collector, flags;
} ballot_t;

static ballot_t *ballot_of(const xyl_notice_t *notice)
{
    return XYL_NOTICE_AS(ballot_t, (xyl_notice_t *)(uintptr_t)notice);
}

/* The agreements of a team: `done` of them have an outcome on this rank, and
 * the next is under way. */
typedef struct agreements {
    _Atomic uint64_t done;
    xyl_notice_t *outcome; /* of the last; NULL: none */
    xyl_notice_t *mine;    /* this rank's value; NULL: it has not called yet */
    uint32_t asked;        /* team rank that `mine` went to; UINT32_MAX: none */
    xyl_notice_t *sum;     /* of the values that have come; NULL: none */
    uint64_t *heard;       /* bits: team ranks whose values have come; NULL:
                              the team has agreed on nothing yet */
} agreements_t;

XYL_STATE_OF_TEAM(agreements_t, agreements_of, XYL_MODULE_AGREEMENTS)

static xylem_status_t agreements_begin(xylem_team_t *team)
{
    agreements_t *agreements = agreements_of(team);

    if (agreements->heard != NULL)
        return XYLEM_OK;
    agreements->heard =
        calloc(xyl_bits_words(team->size), sizeof *agreements->heard);
    if (agreements->heard == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to agree");
    agreements->asked = UINT32_MAX;
    return XYLEM_OK;
}

static void notice_drop(const xylem_team_t *team, xyl_notice_t **notice)
{
    xyl_notice_free(team->context, *notice);
    *notice = NULL;
}

static uint64_t number_of(const agreements_t *agreements)
{
    return 1 + atomic_load_explicit(&agreements->done, memory_order_relaxed);
}

/* ---- the collector ---- */

static int is_living(const xylem_team_t *team, uint32_t rank)
{
    return !xyl_peer_is_dead(
        &team->context->peers[xyl_team_world_rank(team, rank)]);
}

static uint32_t collector_of(const xylem_team_t *team)
{
    uint32_t rank = 0;

    while (rank < team->rank && !is_living(team, rank))
        rank++;
    return rank;
}

static int all_are_heard(const xylem_team_t *team)
{
    uint32_t rank;

    for (rank = 0; rank < team->size; rank++)
        if (!xyl_bits_test(agreements_of(team)->heard, rank) &&
            is_living(team, rank))
            return 0;
    return 1;
}

/* ---- outcomes ---- */

static void values_forget(const xylem_team_t *team)
{
    agreements_t *agreements = agreements_of(team);

    notice_drop(team, &agreements->mine);
    notice_drop(team, &agreements->sum);
    memset(agreements->heard, 0,
           xyl_bits_words(team->size) * sizeof *agreements->heard);
    agreements->asked = UINT32_MAX;
}

/* Takes an outcome over. Sends it to others before this rank acts on it. */
static void outcome_adopt(xylem_team_t *team, xyl_notice_t *outcome)
{
    agreements_t *agreements = agreements_of(team);

    outcome->from = team->context->rank;
    if (collector_of(team) == team->rank) {
        ballot_of(outcome)->collector = team->rank;
        xyl_notice_send_all(team, outcome);
    } else {
        xyl_notice_spread(team->context, team, outcome);
    }
    notice_drop(team, &agreements->outcome);
    agreements->outcome = outcome;
    values_forget(team);
    /* Partner: the load in has_outcome. */
    atomic_store_explicit(&agreements->done, ballot_of(outcome)->number,
                          memory_order_release);
    xyl_driver_notify(&team->context->driver);
}

/* ---- values ---- */

static void value_add(xylem_team_t *team, uint32_t rank,
                      xyl_notice_t *const value)
{
    agreements_t *agreements = agreements_of(team);
    uint64_t i, *all, *own = xyl_notice_dead(value);

    if (agreements->sum == NULL) {
        agreements->sum =
            xyl_notice_new(team->context, XYL_NOTICE_OUTCOME, team);
        if (agreements->sum == NULL)
            return; /* as if the value had not come */
        ballot_of(agreements->sum)->number = number_of(agreements);
        ballot_of(agreements->sum)->flags = UINT32_MAX;
    }
    all = xyl_notice_dead(agreements->sum);
    for (i = 0; i < xyl_bits_words(team->context->ranks); i++)
        all[i] |= own[i];
    ballot_of(agreements->sum)->flags &= ballot_of(value)->flags;
    xyl_bits_set(agreements->heard, rank);
}

static void go_on(xylem_team_t *team)
{
    agreements_t *agreements = agreements_of(team);
    uint32_t collector = collector_of(team), rank;
    xyl_notice_t *outcome;

    if (agreements->mine != NULL && agreements->asked != collector) {
        agreements->asked = collector;
        if (collector == team->rank)
            value_add(team, team->rank, agreements->mine);
        else
            xyl_notice_send(team->context, xyl_team_world_rank(team, collector),
                            agreements->mine);
    }
    if (collector != team->rank || agreements->mine == NULL ||
        agreements->sum == NULL || !all_are_heard(team))
        return;
    outcome = agreements->sum;
    agreements->sum = NULL;
    for (rank = 0; rank < team->size; rank++)
        if (!is_living(team, rank))
            xyl_bits_set(xyl_notice_dead(outcome),
                         xyl_team_world_rank(team, rank));
    outcome_adopt(team, outcome);
}

static void value_came(xylem_team_t *team, xyl_notice_t *value)
{
    agreements_t *agreements = agreements_of(team);
    uint32_t rank = xyl_team_rank_of(team, value->from);

    if (rank == UINT32_MAX)
        return;
    if (ballot_of(value)->number == number_of(agreements)) {
        value_add(team, rank, value);
        go_on(team);
    } else if (agreements->outcome != NULL &&
               ballot_of(value)->number ==
                   ballot_of(agreements->outcome)->number) {
        ballot_of(agreements->outcome)->collector = team->rank;
        xyl_notice_send(team->context, value->from, agreements->outcome);
    }
}

static void outcome_came(xylem_team_t *team, const xyl_notice_t *outcome)
{
    agreements_t *agreements = agreements_of(team);
    xyl_notice_t *own;
    int is_late = agreements->asked != UINT32_MAX &&
                  ballot_of(outcome)->collector < agreements->asked &&
                  collector_of(team) != team->rank;

    if (ballot_of(outcome)->number != number_of(agreements) || is_late)
        return;
    own = xyl_notice_new(team->context, XYL_NOTICE_OUTCOME, team);
    if (own == NULL)
        return;
    ballot_of(own)->number = ballot_of(outcome)->number;
    ballot_of(own)->collector = ballot_of(outcome)->collector;
    ballot_of(own)->flags = ballot_of(outcome)->flags;
    memcpy(xyl_notice_dead(own), outcome + 1,
           xyl_bits_words(team->context->ranks) * sizeof(uint64_t));
    outcome_adopt(team, own);
}

static void notice_came(xylem_context_t *context, xyl_notice_t *notice)
{
    xylem_team_t *team = xyl_team_find(context, notice->team);

    if (team == NULL)
        return;
    if (agreements_begin(team) == XYLEM_OK) {
        if (notice->kind == XYL_NOTICE_VALUE)
            value_came(team, notice);
        else
            outcome_came(team, notice);
    }
    xyl_team_unreference(team);
}

/* Another rank may collect now, and may not have the last outcome. */
static void look_at(xylem_team_t *team)
{
    agreements_t *agreements = agreements_of(team);
    uint32_t collector = collector_of(team);

    if (agreements->outcome != NULL && collector != team->rank)
        xyl_notice_send(team->context, xyl_team_world_rank(team, collector),
                        agreements->outcome);
    go_on(team);
}

void xyl_agreements_look(xylem_context_t *context)
{
    xylem_team_t *team;

    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(team, &context->teams, others)
    if (agreements_of(team)->heard != NULL)
        look_at(team);
    pthread_mutex_unlock(&context->lock);
}

void xyl_agreements_repeat(xylem_context_t *context)
{
    xylem_team_t *team;

    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(team, &context->teams, others)
    if (agreements_of(team)->mine != NULL) {
        agreements_of(team)->asked = UINT32_MAX;
        go_on(team);
    }
    pthread_mutex_unlock(&context->lock);
}

/* ---- a rank's call ---- */

typedef struct ask {
    xyl_task_t task;
    xylem_team_t *team;
    xyl_agreement_t *agreed;
    uint64_t number;
    xylem_status_t status;
    _Atomic int is_asked;
} ask_t;

static void ask_run(xyl_task_t *task)
{
    ask_t *ask = XYL_HOLDER(ask_t, task, task);
    xylem_team_t *team = ask->team;
    agreements_t *agreements = agreements_of(team);
    xyl_notice_t *value = NULL;

    ask->status = agreements_begin(team);
    if (ask->status == XYLEM_OK) {
        value = xyl_notice_new(team->context, XYL_NOTICE_VALUE, team);
        if (value == NULL)
            ask->status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to agree");
    }
    if (value != NULL) {
        ask->number = ballot_of(value)->number = number_of(agreements);
        ballot_of(value)->flags = ask->agreed->flags;
        memcpy(xyl_notice_dead(value), ask->agreed->dead,
               xyl_bits_words(team->context->ranks) * sizeof(uint64_t));
        agreements->mine = value;
        go_on(team);
    }
    /* Partner: the load in has_outcome. */
    atomic_store_explicit(&ask->is_asked, 1, memory_order_release);
    xyl_driver_notify(&team->context->driver);
}

static int has_outcome(void *arg)
{
    ask_t *ask = arg;

    return atomic_load_explicit(&ask->is_asked, memory_order_acquire) &&
           (ask->status != XYLEM_OK ||
            atomic_load_explicit(&agreements_of(ask->team)->done,
                                 memory_order_acquire) >= ask->number);
}

xylem_status_t xyl_agreement_begin(xylem_team_t *team, xyl_agreement_t *agreed)
{
    xylem_context_t *context = team->context;
    ask_t ask = {.task.run = ask_run, .team = team, .agreed = agreed};
    xyl_notice_t *outcome;

    if (!xyl_notices_are_on(context)) /* alone */
        return XYLEM_OK;
    xyl_engine_submit(&context->engine, &ask.task);
    (void)xyl_driver_wait(&context->driver, has_outcome, &ask, UINT64_MAX);
    if (ask.status != XYLEM_OK)
        return ask.status;
    outcome = agreements_of(team)->outcome;
    agreed->flags = ballot_of(outcome)->flags;
    memcpy(agreed->dead, xyl_notice_dead(outcome),
           xyl_bits_words(context->ranks) * sizeof(uint64_t));
    return XYLEM_OK;
}

/* ---- the module ---- */

static xylem_status_t context_begins(xylem_context_t *context)
{
    xyl_notices_handle(context, XYL_NOTICE_VALUE, 1, notice_came);
    xyl_notices_handle(context, XYL_NOTICE_OUTCOME, 1, notice_came);
    return XYLEM_OK;
}

static void team_ends(xylem_team_t *team)
{
    agreements_t *agreements = agreements_of(team);

    notice_drop(team, &agreements->outcome);
    notice_drop(team, &agreements->mine);
    notice_drop(team, &agreements->sum);
    free(agreements->heard);
}

const xyl_module_t xyl_agreements_module = {
    .bytes = {[XYL_OWNER_TEAM] = sizeof(agreements_t)},
    .context_begins = context_begins,
    .ranks_died = xyl_agreements_look,
    .team_ends = team_ends,
};
