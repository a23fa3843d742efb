#include "runtime/faults/notice.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/clock.h"
#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/team.h"
#include "runtime/modules.h"

enum {
    EARLY_MAX = 1024,
    REPEATS_MAX = 100,  /* of a notice that could not be sent */
    REPEAT_NS = 1000000 /* before repeat n: n times as long */
};

/* A notice that is being sent, or that came too early. */
typedef struct stored {
    xyl_event_t event;
    xylem_context_t *context;
    LIST_ENTRY(stored) others;
    xyl_timer_t timer; /* until it is sent again */
    uint32_t peer, repeats;
    xyl_notice_t notice;
} stored_t;
LIST_HEAD(stored_list, stored);

typedef struct notices {
    xylem_context_t *context;
    int are_on;
    struct {
        xyl_notice_fn handle; /* NULL: its module is not there */
        int is_of_team;
    } kinds[XYL_NOTICE_KINDS];
    xyl_event_t arrival;
    int is_posted;
    struct stored_list under_way;
    /* Notices about teams that this rank is still making. */
    struct stored_list early;
    _Atomic uint32_t teams_begun; /* that others may have made already */
    uint32_t early_count;
    xyl_task_t early_task;
    _Atomic int early_task_is_queued;
    LIST_HEAD(, xyl_notice_reader) readers;
    xyl_notice_t *arrived;
} notices_t;

XYL_STATE_OF_CONTEXT(notices_t, notices_of, XYL_MODULE_NOTICES)

static size_t notice_bytes(const xylem_context_t *context)
{
    return sizeof(xyl_notice_t) +
           xyl_bits_words(context->ranks) * sizeof(uint64_t);
}

static size_t stored_bytes(const xylem_context_t *context)
{
    return offsetof(stored_t, notice) + notice_bytes(context);
}

static const uint64_t notice_tag = (uint64_t)XYL_SLOT_NOTICES << XYL_SLOT_AT;

/* Puts a copy on the list. NULL: no memory. */
static stored_t *notice_store(xylem_context_t *context,
                              struct stored_list *list,
                              const xyl_notice_t *notice)
{
    stored_t *stored = xyl_pool_acquire(&context->pool, stored_bytes(context));

    if (stored == NULL)
        return NULL;
    stored->context = context;
    stored->timer.is_running = 0;
    stored->repeats = 0;
    memcpy(&stored->notice, notice, notice_bytes(context));
    LIST_INSERT_HEAD(list, stored, others);
    return stored;
}

/* The notice is off its list. */
static void stored_free(stored_t *stored)
{
    xyl_timer_stop(&stored->context->engine.timers, &stored->timer);
    xyl_pool_release(&stored->context->pool, stored,
                     stored_bytes(stored->context));
}

static void stored_list_free(struct stored_list *list)
{
    stored_t *stored;

    while ((stored = LIST_FIRST(list)) != NULL) {
        LIST_REMOVE(stored, others);
        stored_free(stored);
    }
}

/* ---- notices about teams that are being made ---- */

/* 1: the notice is kept until this rank has made the notice's team. A rank that
 * is making no team has, or has had, every team that notices name, as each
 * member takes part in making a team. */
static int early_keep(notices_t *notices, const xyl_notice_t *notice)
{
    xylem_context_t *context = notices->context;
    int is_early = notices->kinds[notice->kind].is_of_team;

    pthread_mutex_lock(&context->lock);
    if (atomic_load_explicit(&notices->teams_begun, memory_order_relaxed) ==
        0) {
        stored_list_free(&notices->early);
        notices->early_count = 0;
        is_early = 0;
    }
    is_early = is_early && xyl_team_listed(context, notice->team) == NULL &&
               notices->early_count < EARLY_MAX &&
               notice_store(context, &notices->early, notice) != NULL;
    notices->early_count += (uint32_t)is_early;
    pthread_mutex_unlock(&context->lock);
    return is_early;
}

static void notice_handle(notices_t *notices, xyl_notice_t *notice)
{
    xyl_notice_fn handle = notices->kinds[notice->kind].handle;

    if (handle != NULL)
        handle(notices->context, notice);
}

void xyl_notices_team_begins(xylem_context_t *context)
{
    atomic_fetch_add_explicit(&notices_of(context)->teams_begun, 1,
                              memory_order_relaxed);
}

void xyl_notices_team_ended(xylem_context_t *context)
{
    atomic_fetch_sub_explicit(&notices_of(context)->teams_begun, 1,
                              memory_order_relaxed);
}

/* Removes an early notice whose team is there now. NULL: none. */
static stored_t *early_take(notices_t *notices)
{
    xylem_context_t *context = notices->context;
    stored_t *stored;

    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(stored, &notices->early, others)
    if (xyl_team_listed(context, stored->notice.team) != NULL)
        break;
    if (stored != NULL) {
        LIST_REMOVE(stored, others);
        notices->early_count--;
    }
    pthread_mutex_unlock(&context->lock);
    return stored;
}

static void early_read(xyl_task_t *task)
{
    notices_t *notices = XYL_HOLDER(notices_t, early_task, task);
    stored_t *stored;

    /* Partner: the exchange in team_made. */
    atomic_store_explicit(&notices->early_task_is_queued, 0,
                          memory_order_release);
    while ((stored = early_take(notices)) != NULL) {
        notice_handle(notices, &stored->notice);
        stored_free(stored);
    }
}

static void team_made(xylem_team_t *team)
{
    xylem_context_t *context = team->context;
    notices_t *notices = notices_of(context);
    int is_awaited;

    if (!notices->are_on)
        return;
    pthread_mutex_lock(&context->lock);
    is_awaited = notices->early_count != 0;
    pthread_mutex_unlock(&context->lock);
    /* Partner: the store in early_read. */
    if (is_awaited && atomic_exchange_explicit(&notices->early_task_is_queued,
                                               1, memory_order_acquire) == 0)
        xyl_engine_submit(&context->engine, &notices->early_task);
}

/* ---- receiving ---- */

static void notice_expect(notices_t *notices)
{
    xylem_context_t *context = notices->context;

    notices->is_posted = 1;
    context->net->ops->recv(context->net, notice_tag, notices->arrived,
                            notice_bytes(context), &notices->arrival);
}

/* Hands a notice to its stage; if no stage listens, sends it back to a stage
 * that wants an answer. */
static void stage_hear(xylem_context_t *context, xyl_notice_t *notice)
{
    xyl_notice_to_stage_t *to = XYL_NOTICE_AS(xyl_notice_to_stage_t, notice);
    uint32_t from = notice->from;
    xyl_notice_reader_t *reader;

    LIST_FOREACH(reader, &notices_of(context)->readers, others)
    if (reader->team == notice->team && reader->stage == to->stage) {
        reader->read(reader, notice);
        return;
    }
    if (!to->wants_answer)
        return;
    to->wants_answer = 0;
    to->is_unread = 1;
    notice->from = context->rank;
    xyl_notice_send(context, from, notice);
}

static void notice_arrived(xyl_event_t *event)
{
    notices_t *notices = XYL_HOLDER(notices_t, arrival, event);

    notices->is_posted = 0;
    if (event->status == XYLEM_ERR_CANCELED)
        return;
    if (event->status != XYLEM_OK ||
        notices->arrived->kind >= XYL_NOTICE_KINDS ||
        notices->arrived->from >= notices->context->ranks)
        xyl_log(XYL_LOG_INFO, "a notice came that is none");
    else if (!early_keep(notices, notices->arrived))
        notice_handle(notices, notices->arrived);
    notice_expect(notices);
}

/* ---- sending ---- */

static void notice_post(stored_t *outgoing)
{
    xylem_context_t *context = outgoing->context;

    context->net->ops->send(context->net, outgoing->peer, notice_tag,
                            &outgoing->notice, notice_bytes(context),
                            &outgoing->event);
}

static void notice_drop_sent(stored_t *outgoing)
{
    LIST_REMOVE(outgoing, others);
    stored_free(outgoing);
}

static void notice_repeat(xyl_timer_t *timer, uint64_t now_ns)
{
    stored_t *outgoing = XYL_HOLDER(stored_t, timer, timer);

    (void)now_ns;
    if (xyl_peer_is_dead(&outgoing->context->peers[outgoing->peer]))
        notice_drop_sent(outgoing);
    else
        notice_post(outgoing);
}

/* A send that failed is repeated: there may be memory for it later. */
static void notice_sent(xyl_event_t *event)
{
    stored_t *outgoing = XYL_HOLDER(stored_t, event, event);
    xyl_engine_t *engine = &outgoing->context->engine;

    if (event->status == XYLEM_OK || event->status == XYLEM_ERR_CANCELED ||
        event->status == XYLEM_ERR_PROC_FAILED ||
        ++outgoing->repeats > REPEATS_MAX) {
        notice_drop_sent(outgoing);
        return;
    }
    xyl_timer_start(&engine->timers, &outgoing->timer,
                    xyl_clock_now(engine->clock) +
                        (uint64_t)outgoing->repeats * REPEAT_NS);
}

xyl_notice_t *xyl_notice_new(xylem_context_t *context, xyl_notice_kind_t kind,
                             const xylem_team_t *team)
{
    xyl_notice_t *notice = NULL;

    if (xyl_notices_are_on(context))
        notice = xyl_pool_acquire(&context->pool, notice_bytes(context));
    if (notice == NULL)
        return NULL;
    memset(notice, 0, notice_bytes(context));
    notice->kind = kind;
    notice->from = context->rank;
    if (team != NULL)
        notice->team = team->key;
    return notice;
}

void xyl_notice_free(xylem_context_t *context, xyl_notice_t *notice)
{
    if (notice != NULL)
        xyl_pool_release(&context->pool, notice, notice_bytes(context));
}

void xyl_notice_send(xylem_context_t *context, uint32_t peer,
                     const xyl_notice_t *notice)
{
    stored_t *outgoing;

    if (peer == context->rank || xyl_peer_is_dead(&context->peers[peer]))
        return;
    outgoing = notice_store(context, &notices_of(context)->under_way, notice);
    if (outgoing == NULL)
        return; /* other ranks tell the peer, or it sees this rank's end */
    outgoing->event = (xyl_event_t){.handle = notice_sent};
    outgoing->timer.fire = notice_repeat;
    outgoing->peer = peer;
    notice_post(outgoing);
}

void xyl_notice_send_all(const xylem_team_t *team, const xyl_notice_t *notice)
{
    uint32_t i;

    for (i = 1; i < team->size; i++)
        xyl_notice_send(
            team->context,
            xyl_team_world_rank(team, (team->rank + i) % team->size), notice);
}

void xyl_notice_spread(xylem_context_t *context, const xylem_team_t *team,
                       const xyl_notice_t *notice)
{
    uint32_t size = team != NULL ? team->size : context->ranks;
    uint32_t rank = team != NULL ? team->rank : context->rank, hop;

    for (hop = 1; hop < size; hop *= 2) {
        uint32_t to = (uint32_t)(((uint64_t)rank + hop) % size);
        xyl_notice_send(
            context, team != NULL ? xyl_team_world_rank(team, to) : to, notice);
    }
}

/* ---- stages ---- */

void xyl_notice_listen(xylem_context_t *context, xyl_notice_reader_t *reader)
{
    reader->listens = xyl_notices_are_on(context);
    if (reader->listens)
        LIST_INSERT_HEAD(&notices_of(context)->readers, reader, others);
}

void xyl_notice_leave(xyl_notice_reader_t *reader)
{
    if (reader->listens)
        LIST_REMOVE(reader, others);
    reader->listens = 0;
}

/* ---- start and end ---- */

int xyl_notices_are_on(const xylem_context_t *context)
{
    return notices_of(context)->are_on;
}

void xyl_notices_handle(xylem_context_t *context, xyl_notice_kind_t kind,
                        int is_of_team, xyl_notice_fn handle)
{
    notices_of(context)->kinds[kind].handle = handle;
    notices_of(context)->kinds[kind].is_of_team = is_of_team;
}

xylem_status_t xyl_notices_start(xylem_context_t *context)
{
    notices_t *notices = notices_of(context);

    if (context->ranks == 1)
        return XYLEM_OK;
    notices->arrived = malloc(notice_bytes(context));
    if (notices->arrived == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to hear of failures");
    notices->context = context;
    notices->arrival.handle = notice_arrived;
    notices->early_task.run = early_read;
    xyl_notices_handle(context, XYL_NOTICE_STAGE, 0, stage_hear);
    notices->are_on = 1;
    notice_expect(notices);
    return XYLEM_OK;
}

int xyl_notices_are_sent(const xylem_context_t *context)
{
    return LIST_EMPTY(&notices_of(context)->under_way);
}

void xyl_notices_stop(xylem_context_t *context)
{
    notices_t *notices = notices_of(context);

    notices->are_on = 0;
    if (notices->is_posted)
        context->net->ops->cancel(context->net, &notices->arrival);
}

static void context_ends(xylem_context_t *context)
{
    notices_t *notices = notices_of(context);

    stored_list_free(&notices->under_way);
    stored_list_free(&notices->early);
    free(notices->arrived);
}

const xyl_module_t xyl_notices_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(notices_t)},
    .context_ends = context_ends,
    .team_made = team_made,
};
