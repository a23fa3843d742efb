#include "runtime/faults/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"
#include "runtime/faults/notice.h"
#include "runtime/modules.h"

typedef struct failures {
    xylem_context_t *context;
    xyl_event_t event;
    int is_queued;
    int are_expected; /* deaths: the context is about to end */
} failures_t;

/* The payloads of notices. Ranks are those of the job. */
typedef struct dead_notice {
    uint32_t rank;
} dead_notice_t;

typedef struct failed_notice {
    uint32_t status, cause; /* UINT32_MAX: unknown */
    char text[XYL_FAILURE_TEXT];
} failed_notice_t;

typedef struct unmade_notice {
    uint32_t number, cause;
} unmade_notice_t;

XYL_STATE_OF_CONTEXT(failures_t, failures_of, XYL_MODULE_FAILURES)

/* ---- teams ---- */

/* Records a failure. 1: it is the first of the team. */
static int failure_note(xylem_team_t *team, xylem_status_t status,
                        uint32_t rank, const char *text)
{
    if (xyl_team_has_failed(team))
        return 0;
    team->failure.status = status;
    team->failure.rank = rank;
    snprintf(team->failure.text, sizeof team->failure.text, "%s", text);
    /* Partner: the load in xyl_team_has_failed. */
    atomic_store_explicit(&team->has_failed, 1, memory_order_release);
    atomic_fetch_add_explicit(&team->context->failed_teams, 1,
                              memory_order_relaxed);
    return 1;
}

static xyl_notice_t *notice_of(const xylem_team_t *team)
{
    xyl_notice_t *notice =
        xyl_notice_new(team->context, XYL_NOTICE_FAILED, team);
    failed_notice_t *failed;

    if (notice == NULL)
        return NULL;
    failed = XYL_NOTICE_AS(failed_notice_t, notice);
    failed->status = team->failure.status;
    failed->cause = team->failure.rank;
    memcpy(failed->text, team->failure.text, sizeof failed->text);
    return notice;
}

void xyl_failure_tell(const xylem_team_t *team, uint32_t rank)
{
    xyl_notice_t *notice = notice_of(team);

    if (notice != NULL)
        xyl_notice_send(team->context, rank, notice);
    xyl_notice_free(team->context, notice);
}

void xyl_failure_raise(xylem_team_t *team, xylem_status_t status, uint32_t rank,
                       const char *text)
{
    xyl_notice_t *notice;

    if (!failure_note(team, status, rank, text))
        return;
    notice = notice_of(team);
    if (notice != NULL)
        xyl_notice_send_all(team, notice);
    xyl_notice_free(team->context, notice);
    xyl_modules_teams_failed(team->context);
}

void xyl_failure_raise_for(xyl_operation_t *operation, xylem_status_t status)
{
    const xylem_context_t *context = operation->request.context;

    if (!xyl_operation_is_settled(operation))
        xyl_failure_raise(operation->request.team, status,
                          status == XYLEM_ERR_PROC_FAILED ? UINT32_MAX
                                                          : context->rank,
                          xylem_status_text(status));
}

typedef struct fail_task {
    xyl_task_t task;
    xylem_team_t *team;
    xylem_status_t status;
    char text[XYL_FAILURE_TEXT];
} fail_task_t;

static void fail_task_run(xyl_task_t *task)
{
    fail_task_t *fail = XYL_HOLDER(fail_task_t, task, task);

    xyl_failure_raise(fail->team, fail->status, fail->team->context->rank,
                      fail->text);
    xyl_team_unreference(fail->team);
    free(fail);
}

/* Submits a task that fails the team, with this rank as the cause.
 * XYLEM_ERR_NO_MEMORY: the team does not fail. */
static xylem_status_t fail_later(xylem_team_t *team, xylem_status_t status,
                                 const char *text)
{
    fail_task_t *fail = calloc(1, sizeof *fail);

    if (fail == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to fail a team");
    fail->task.run = fail_task_run;
    fail->team = team;
    fail->status = status;
    snprintf(fail->text, sizeof fail->text, "%s", text);
    xyl_team_reference(team);
    xyl_engine_submit(&team->context->engine, &fail->task);
    return XYLEM_OK;
}

static int may_be_cause(const xylem_context_t *context, uint32_t rank)
{
    return rank < context->ranks || rank == UINT32_MAX;
}

static void failed_elsewhere(xylem_context_t *context, xyl_notice_t *notice)
{
    failed_notice_t *failed = XYL_NOTICE_AS(failed_notice_t, notice);
    xylem_team_t *team;
    int is_news = 0;

    if (!may_be_cause(context, failed->cause))
        return;
    failed->text[sizeof failed->text - 1] = '\0';

    pthread_mutex_lock(&context->lock);
    team = xyl_team_listed(context, notice->team);
    if (team != NULL)
        is_news = failure_note(
            team, xyl_status_numbered(failed->status, XYLEM_ERR_NET),
            failed->cause, failed->text);
    if (is_news)
        xyl_notice_spread(context, team, notice);
    pthread_mutex_unlock(&context->lock);
    if (is_news)
        xyl_modules_teams_failed(context);
}

/* ---- teams that are being made ---- */

static const char unmade_text[] = "a rank could not make the team";

/* Fails the child, if this rank has it; the lock is held. 1: this is news. */
static int child_fail(xylem_context_t *context, uint64_t parent,
                      uint64_t number, uint32_t about)
{
    xylem_team_t *team;
    int is_news = 0;

    LIST_FOREACH(team, &context->teams, others)
    if (team->parent_key == parent && team->child_number == number)
        is_news |=
            failure_note(team, XYLEM_ERR_PROC_FAILED, about, unmade_text);
    return is_news;
}

/* Notes that child `number` of the parent fails, and so do all later children.
 * 1: this is news. */
static int unmade_note(xylem_team_t *parent, uint32_t number)
{
    if (parent->unmade != 0 && parent->unmade <= number)
        return 0;
    parent->unmade = number;
    return 1;
}

static void unmade_elsewhere(xylem_context_t *context, xyl_notice_t *notice)
{
    const unmade_notice_t *unmade = XYL_NOTICE_AS(unmade_notice_t, notice);
    xylem_team_t *parent;
    int is_news;

    if (unmade->number == 0 || !may_be_cause(context, unmade->cause))
        return; /* no child has the number 0, which would be news for ever */
    pthread_mutex_lock(&context->lock);
    is_news = child_fail(context, notice->team, unmade->number, unmade->cause);
    parent = xyl_team_listed(context, notice->team);
    if (parent != NULL && unmade_note(parent, unmade->number))
        is_news = 1;
    if (parent != NULL && is_news)
        xyl_notice_spread(context, parent, notice);
    pthread_mutex_unlock(&context->lock);
    if (is_news)
        xyl_modules_teams_failed(context);
}

void xyl_failure_unmade(xylem_team_t *parent, uint32_t number)
{
    xyl_notice_t *notice =
        xyl_notice_new(parent->context, XYL_NOTICE_UNMADE, parent);

    (void)unmade_note(parent, number);
    if (notice == NULL)
        return;
    *XYL_NOTICE_AS(unmade_notice_t, notice) =
        (unmade_notice_t){number, parent->context->rank};
    xyl_notice_send_all(parent, notice);
    xyl_notice_free(parent->context, notice);
}

static void team_made(xylem_team_t *team)
{
    xylem_context_t *context = team->context;
    uint32_t i, rank;

    pthread_mutex_lock(&context->lock);
    for (i = 0; i < team->size; i++) {
        rank = xyl_team_world_rank(team, i);
        if (xyl_peer_is_dead(&context->peers[rank]))
            (void)failure_note(team, XYLEM_ERR_PROC_FAILED, rank,
                               "a rank of the team has died before");
    }
    pthread_mutex_unlock(&context->lock);
}

void xyl_failure_inherit(xylem_team_t *team, const xylem_team_t *parent,
                         uint32_t number)
{
    team->parent_key = parent->key;
    team->child_number = number;
    if (parent->unmade != 0 && parent->unmade <= number)
        (void)failure_note(team, XYLEM_ERR_PROC_FAILED, UINT32_MAX,
                           unmade_text);
}

/* ---- processes that die ---- */

void xyl_failure_suspect(xylem_context_t *context, uint32_t peer)
{
    failures_t *failures = failures_of(context);

    context->peers[peer].is_suspected = 1;
    if (failures->is_queued)
        return;
    failures->is_queued = 1;
    xyl_fifo_push(&context->engine.ready, &failures->event);
}

void xyl_failure_expect(xylem_context_t *context)
{
    failures_of(context)->are_expected = 1;
}

void xyl_failure_of_peer(void *arg, uint32_t peer)
{
    xyl_failure_suspect(arg, peer);
}

static void tell_death(xylem_context_t *context, uint32_t rank)
{
    xyl_notice_t *notice = xyl_notice_new(context, XYL_NOTICE_DEAD, NULL);

    if (notice == NULL)
        return;
    XYL_NOTICE_AS(dead_notice_t, notice)->rank = rank;
    /* If the process lives, on another machine, it gives up the other ranks. */
    if (!context->peers[rank].is_local)
        xyl_notice_send(context, rank, notice);
    atomic_store_explicit(&context->peers[rank].has_failed, 1,
                          memory_order_relaxed);
    xyl_notice_spread(context, NULL, notice);
    xyl_notice_free(context, notice);
}

static void note_death(xylem_context_t *context, uint32_t rank)
{
    char text[XYL_FAILURE_TEXT];
    xylem_team_t *team;

    if (!failures_of(context)->are_expected) {
        xyl_log(XYL_LOG_WARN, "rank %u has died; its teams cannot go on", rank);
        tell_death(context, rank);
    }
    atomic_store_explicit(&context->peers[rank].has_failed, 1,
                          memory_order_relaxed);
    atomic_fetch_add_explicit(&context->failures, 1, memory_order_release);
    snprintf(text, sizeof text, "rank %u of the job has died", rank);
    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(team, &context->teams, others)
    if (xyl_team_contains(team, rank))
        (void)failure_note(team, XYLEM_ERR_PROC_FAILED, rank, text);
    pthread_mutex_unlock(&context->lock);
}

void xyl_failure_look(xylem_context_t *context)
{
    uint32_t rank;

    for (rank = 0; rank < context->ranks; rank++)
        if (context->peers[rank].is_suspected &&
            !xyl_peer_is_dead(&context->peers[rank]))
            note_death(context, rank);
    xyl_modules_teams_failed(context);
    xyl_modules_ranks_died(context);
}

static void suspicion_handle(xyl_event_t *event)
{
    failures_t *failures = XYL_HOLDER(failures_t, event, event);

    failures->is_queued = 0;
    xyl_failure_look(failures->context);
}

/* The other ranks take this rank for dead, so it takes them for dead. */
static void give_up_others(xylem_context_t *context)
{
    uint32_t rank;

    xyl_log(XYL_LOG_WARN, "other ranks take this one for dead");
    for (rank = 0; rank < context->ranks; rank++)
        if (rank != context->rank)
            xyl_failure_suspect(context, rank);
}

static void death_heard(xylem_context_t *context, xyl_notice_t *notice)
{
    uint32_t rank = XYL_NOTICE_AS(dead_notice_t, notice)->rank;

    if (rank == context->rank)
        give_up_others(context);
    else if (rank < context->ranks)
        xyl_failure_suspect(context, rank);
}

/* ---- failing by the user's word ---- */

static xylem_status_t check_may_fail(const xylem_team_t *team, const char *why,
                                     const char *call)
{
    xylem_status_t status = xyl_team_check(team, call);

    if (status == XYLEM_OK && why == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG, "%s: the text is NULL", call);
    return status;
}

xylem_status_t xylem_team_abort(xylem_team_t *team, const char *why)
{
    char text[XYL_FAILURE_TEXT];
    xylem_status_t status = check_may_fail(team, why, "xylem_team_abort");

    if (status != XYLEM_OK)
        return status;
    snprintf(text, sizeof text, "rank %u has aborted: %s", team->rank, why);
    return fail_later(team, XYLEM_ERR_ABORTED, text);
}

xylem_status_t xylem_team_revoke(xylem_team_t *team)
{
    char text[XYL_FAILURE_TEXT];
    xylem_status_t status = xyl_team_check(team, "xylem_team_revoke");

    if (status != XYLEM_OK)
        return status;
    snprintf(text, sizeof text, "rank %u has revoked the team", team->rank);
    return fail_later(team, XYLEM_ERR_REVOKED, text);
}

/* ---- the module ---- */

static xylem_status_t failures_begin(xylem_context_t *context)
{
    failures_t *failures = failures_of(context);

    failures->context = context;
    failures->event.handle = suspicion_handle;
    xyl_notices_handle(context, XYL_NOTICE_DEAD, 0, death_heard);
    xyl_notices_handle(context, XYL_NOTICE_FAILED, 1, failed_elsewhere);
    xyl_notices_handle(context, XYL_NOTICE_UNMADE, 0, unmade_elsewhere);
    return XYLEM_OK;
}

const xyl_module_t xyl_failures_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(failures_t)},
    .context_begins = failures_begin,
    .team_made = team_made,
};
