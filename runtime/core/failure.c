#include "runtime/core/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/agreement.h"
#include "runtime/core/context_leave.h"
#include "runtime/core/notice.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"
#include "runtime/core/watch.h"

/* ---- teams ---- */

/* Fails the operations of teams that have failed, and modules' work on them. */
static void operations_fail(xylem_context_t *context)
{
    xyl_operation_t *operation = LIST_FIRST(&context->operations), *older;

    while (operation != NULL) {
        older = LIST_NEXT(operation, others);
        if (xyl_team_has_failed(operation->request.team))
            xyl_operation_give_up(operation,
                                  operation->request.team->failure.status);
        operation = older;
    }
    xyl_modules_teams_failed(context);
}

/* 1: the team has not failed before. */
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

    if (notice == NULL)
        return NULL;
    notice->status = team->failure.status;
    notice->about = team->failure.rank;
    memcpy(notice->text, team->failure.text, sizeof notice->text);
    return notice;
}

void xyl_team_tell_failure(const xylem_team_t *team, uint32_t rank)
{
    xyl_notice_t *notice = notice_of(team);

    if (notice != NULL)
        xyl_notice_send(team->context, rank, notice);
    xyl_notice_free(team->context, notice);
}

void xyl_team_fail(xylem_team_t *team, xylem_status_t status, uint32_t rank,
                   const char *text)
{
    xyl_notice_t *notice;

    if (!failure_note(team, status, rank, text))
        return;
    notice = notice_of(team);
    if (notice != NULL)
        xyl_notice_send_all(team, notice);
    xyl_notice_free(team->context, notice);
    operations_fail(team->context);
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

    xyl_team_fail(fail->team, fail->status, fail->team->context->rank,
                  fail->text);
    xyl_team_unreference(fail->team);
    free(fail);
}

xylem_status_t xyl_team_fail_later(xylem_team_t *team, xylem_status_t status,
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

xylem_team_t *xyl_team_listed(xylem_context_t *context, uint64_t key)
{
    xylem_team_t *team;

    LIST_FOREACH(team, &context->teams, others)
    if (team->key == key)
        break;
    return team;
}

xylem_team_t *xyl_team_find(xylem_context_t *context, uint64_t key)
{
    xylem_team_t *team;

    pthread_mutex_lock(&context->lock);
    team = xyl_team_listed(context, key);
    if (team != NULL && !xyl_team_reference_if_used(team))
        team = NULL;
    pthread_mutex_unlock(&context->lock);
    return team;
}

void xyl_team_differs(xylem_team_t *team, uint32_t one, uint64_t first,
                      uint32_t other, uint64_t second)
{
    const xylem_context_t *context = team->context;
    char first_in_words[XYL_CALL_WORDS], second_in_words[XYL_CALL_WORDS];
    char text[XYL_FAILURE_TEXT];

    xyl_context_call_in_words(context, first, first_in_words,
                              sizeof first_in_words);
    xyl_context_call_in_words(context, second, second_in_words,
                              sizeof second_in_words);
    if (strcmp(first_in_words, second_in_words) == 0)
        snprintf(text, sizeof text,
                 "ranks %u and %u of the job have made different calls before "
                 "this %s",
                 one, other, first_in_words);
    else
        snprintf(text, sizeof text,
                 "rank %u of the job calls %s and rank %u calls %s", one,
                 first_in_words, other, second_in_words);
    xyl_team_fail(team, XYLEM_ERR_MISMATCH, other, text);
}

/* Another rank has failed the team; this one passes the news on. */
static void failed_elsewhere(xylem_context_t *context,
                             const xyl_notice_t *notice)
{
    xylem_team_t *team;
    int is_news = 0;

    pthread_mutex_lock(&context->lock);
    team = xyl_team_listed(context, notice->team);
    if (team != NULL)
        is_news = failure_note(team, (xylem_status_t)notice->status,
                               notice->about, notice->text);
    if (is_news)
        xyl_notice_spread(context, team, notice);
    pthread_mutex_unlock(&context->lock);
    if (is_news)
        operations_fail(context);
}

/* ---- teams that are being made ---- */

static const char unmade_text[] = "a rank could not make the team";

/* The lock is held. 1: a team has failed that had not before. */
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

/* Children that are begun later fail, too. 1: `number` is news. */
static int unmade_note(xylem_team_t *parent, uint32_t number)
{
    if (parent->unmade != 0 && parent->unmade <= number)
        return 0;
    parent->unmade = number;
    return 1;
}

static void unmade_elsewhere(xylem_context_t *context,
                             const xyl_notice_t *notice)
{
    xylem_team_t *parent;
    int is_news;

    if (notice->number == 0 || notice->number > UINT32_MAX)
        return; /* no child has this number; 0 would be news for ever */
    pthread_mutex_lock(&context->lock);
    is_news = child_fail(context, notice->team, notice->number, notice->about);
    parent = xyl_team_listed(context, notice->team);
    if (parent != NULL && unmade_note(parent, (uint32_t)notice->number))
        is_news = 1;
    if (parent != NULL && is_news)
        xyl_notice_spread(context, parent, notice);
    pthread_mutex_unlock(&context->lock);
    if (is_news)
        operations_fail(context);
}

void xyl_team_unmade(xylem_team_t *parent, uint32_t number)
{
    xyl_notice_t *notice =
        xyl_notice_new(parent->context, XYL_NOTICE_UNMADE, parent);

    (void)unmade_note(parent, number);
    if (notice == NULL)
        return;
    notice->number = number;
    notice->about = parent->context->rank;
    xyl_notice_send_all(parent, notice);
    xyl_notice_free(parent->context, notice);
}

void xyl_team_made(xylem_team_t *team)
{
    const xylem_context_t *context = team->context;
    uint32_t i, rank;

    for (i = 0; i < team->size; i++) {
        rank = xyl_team_world_rank(team, i);
        if (xyl_peer_is_dead(&context->peers[rank]))
            (void)failure_note(team, XYLEM_ERR_PROC_FAILED, rank,
                               "a rank of the team has died before");
    }
}

void xyl_team_is_child(xylem_team_t *team, const xylem_team_t *parent,
                       uint32_t number)
{
    team->parent_key = parent->key;
    team->child_number = number;
    if (parent->unmade != 0 && parent->unmade <= number)
        (void)failure_note(team, XYLEM_ERR_PROC_FAILED, UINT32_MAX,
                           unmade_text);
}

/* ---- processes that die ---- */

void xyl_context_suspect(xylem_context_t *context, uint32_t peer)
{
    context->peers[peer].is_suspected = 1;
    if (context->failure_is_queued)
        return;
    context->failure_is_queued = 1;
    xyl_fifo_push(&context->engine.ready, &context->failure_event);
}

void xyl_context_peer_failed(void *arg, uint32_t peer)
{
    xyl_context_suspect(arg, peer);
}

static void tell_death(xylem_context_t *context, uint32_t rank)
{
    xyl_notice_t *notice = xyl_notice_new(context, XYL_NOTICE_DEAD, NULL);

    if (notice == NULL)
        return;
    notice->about = rank;
    /* A process on another machine may live: then it gives the others up. */
    if (!context->peers[rank].is_local)
        xyl_notice_send(context, rank, notice);
    atomic_store_explicit(&context->peers[rank].has_failed, 1,
                          memory_order_relaxed);
    xyl_notice_spread(context, NULL, notice);
    xyl_notice_free(context, notice);
}

static void rank_has_died(xylem_context_t *context, uint32_t rank)
{
    char text[XYL_FAILURE_TEXT];
    xylem_team_t *team;

    /* A rank that has passed the fence at the end may exit first. */
    if (!context->is_leaving) {
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
    if (context->peers[rank].is_local)
        context->has_local_dead = 1;
    xyl_watch_start(context);
}

void xyl_context_suspects_look(xylem_context_t *context)
{
    uint32_t rank;

    for (rank = 0; rank < context->ranks; rank++)
        if (context->peers[rank].is_suspected &&
            !xyl_peer_is_dead(&context->peers[rank]))
            rank_has_died(context, rank);
    operations_fail(context);
    xyl_agreements_look(context);
}

static void suspicion_handle(xyl_event_t *event)
{
    xylem_context_t *context =
        XYL_HOLDER(xylem_context_t, failure_event, event);

    context->failure_is_queued = 0;
    xyl_context_suspects_look(context);
}

/* The other ranks have given this one up, and it gives them up. */
static void is_given_up(xylem_context_t *context)
{
    uint32_t rank;

    xyl_log(XYL_LOG_WARN, "other ranks take this one for dead");
    for (rank = 0; rank < context->ranks; rank++)
        if (rank != context->rank)
            xyl_context_suspect(context, rank);
}

void xyl_failure_notice(xylem_context_t *context, xyl_notice_t *notice)
{
    switch ((xyl_notice_kind_t)notice->kind) {
    case XYL_NOTICE_DEAD:
        if (notice->about == context->rank)
            is_given_up(context);
        else if (notice->about < context->ranks)
            xyl_context_suspect(context, notice->about);
        return;
    case XYL_NOTICE_FAILED:
        failed_elsewhere(context, notice);
        return;
    case XYL_NOTICE_UNMADE:
        unmade_elsewhere(context, notice);
        return;
    case XYL_NOTICE_CALL:
        xyl_called_hear(context, notice);
        return;
    case XYL_NOTICE_VALUE:
    case XYL_NOTICE_OUTCOME:
        xyl_agreement_notice(context, notice);
        return;
    case XYL_NOTICE_LEAVING:
        xyl_context_leave_hear(context, notice);
        return;
    case XYL_NOTICE_MISSING: /* for stages: notice.c calls their readers */
    case XYL_NOTICE_OFFER:
    case XYL_NOTICE_TAKE:
    case XYL_NOTICE_DECLINE:
        return;
    }
}

void xyl_failures_init(xylem_context_t *context)
{
    context->failure_event.handle = suspicion_handle;
}
