#include "runtime/core/notice.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/holder.h"
#include "runtime/base/status.h"
#include "runtime/core/failure.h"
#include "runtime/core/team.h"

/* One that is under way. */
typedef struct outgoing {
    xyl_event_t event;
    xylem_context_t *context;
    LIST_ENTRY(outgoing) others;
    xyl_notice_t notice;
} outgoing_t;

struct xyl_notices {
    xylem_context_t *context;
    xyl_event_t arrival;
    int is_posted;
    LIST_HEAD(, outgoing) under_way;
    LIST_HEAD(, xyl_notice_reader) readers;
    xyl_notice_t arrived;
};

static size_t notice_bytes(const xylem_context_t *context)
{
    return sizeof(xyl_notice_t) +
           xyl_bits_words(context->ranks) * sizeof(uint64_t);
}

static size_t outgoing_bytes(const xylem_context_t *context)
{
    return offsetof(outgoing_t, notice) + notice_bytes(context);
}

static const uint64_t notice_tag = (uint64_t)XYL_SLOT_NOTICES << 50;

/* ---- receiving ---- */

static void notice_expect(struct xyl_notices *notices)
{
    xylem_context_t *context = notices->context;

    notices->is_posted = 1;
    context->net->ops->recv(context->net, notice_tag, &notices->arrived,
                            notice_bytes(context), &notices->arrival);
}

/* To the stage that it is for; where that does not listen, nothing is wanted.
 */
static void notice_read(struct xyl_notices *notices)
{
    xyl_notice_t *notice = &notices->arrived;
    uint32_t from = notice->from;
    xyl_notice_reader_t *reader;

    for (reader = LIST_FIRST(&notices->readers); reader != NULL;
         reader = LIST_NEXT(reader, others))
        if (reader->team == notice->team && reader->stage == notice->ballot) {
            reader->read(reader, notice);
            return;
        }
    if (notice->kind != XYL_NOTICE_OFFER)
        return;
    notice->kind = XYL_NOTICE_DECLINE;
    notice->from = notices->context->rank;
    xyl_notice_send(notices->context, from, notice);
}

static void notice_arrived(xyl_event_t *event)
{
    struct xyl_notices *notices =
        XYL_HOLDER(struct xyl_notices, arrival, event);

    notices->is_posted = 0;
    if (event->status == XYLEM_ERR_CANCELED)
        return;
    if (event->status == XYLEM_OK &&
        notices->arrived.kind >= XYL_NOTICE_MISSING)
        notice_read(notices);
    else if (event->status == XYLEM_OK)
        xyl_failure_notice(notices->context, &notices->arrived);
    notice_expect(notices);
}

/* ---- sending ---- */

static void notice_sent(xyl_event_t *event)
{
    outgoing_t *outgoing = XYL_HOLDER(outgoing_t, event, event);

    LIST_REMOVE(outgoing, others);
    xyl_pool_release(&outgoing->context->pool, outgoing,
                     outgoing_bytes(outgoing->context));
}

xyl_notice_t *xyl_notice_new(xylem_context_t *context, xyl_notice_kind_t kind,
                             const xylem_team_t *team)
{
    xyl_notice_t *notice = NULL;

    if (context->notices != NULL)
        notice = xyl_pool_acquire(&context->pool, notice_bytes(context));
    if (notice == NULL)
        return NULL;
    memset(notice, 0, notice_bytes(context));
    notice->kind = kind;
    notice->from = context->rank;
    notice->about = UINT32_MAX;
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
    outgoing_t *outgoing;

    if (peer == context->rank || xyl_peer_is_dead(&context->peers[peer]))
        return;
    outgoing = xyl_pool_acquire(&context->pool, outgoing_bytes(context));
    if (outgoing == NULL)
        return; /* others tell it, or it learns of this rank's end */
    outgoing->context = context;
    outgoing->event = (xyl_event_t){.handle = notice_sent};
    memcpy(&outgoing->notice, notice, notice_bytes(context));
    LIST_INSERT_HEAD(&context->notices->under_way, outgoing, others);
    context->net->ops->send(context->net, peer, notice_tag, &outgoing->notice,
                            notice_bytes(context), &outgoing->event);
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
    reader->listens = context->notices != NULL;
    if (reader->listens)
        LIST_INSERT_HEAD(&context->notices->readers, reader, others);
}

void xyl_notice_leave(xyl_notice_reader_t *reader)
{
    if (reader->listens)
        LIST_REMOVE(reader, others);
    reader->listens = 0;
}

/* ---- start and end ---- */

xylem_status_t xyl_notices_start(xylem_context_t *context)
{
    struct xyl_notices *notices;

    if (context->ranks == 1)
        return XYLEM_OK;
    notices = calloc(1, offsetof(struct xyl_notices, arrived) +
                            notice_bytes(context));
    if (notices == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to hear of failures");
    notices->context = context;
    notices->arrival.handle = notice_arrived;
    LIST_INIT(&notices->under_way);
    LIST_INIT(&notices->readers);
    context->notices = notices;
    notice_expect(notices);
    return XYLEM_OK;
}

void xyl_notices_stop(xylem_context_t *context)
{
    if (context->notices != NULL && context->notices->is_posted)
        context->net->ops->cancel(context->net, &context->notices->arrival);
}

void xyl_notices_fini(xylem_context_t *context)
{
    struct xyl_notices *notices = context->notices;
    outgoing_t *outgoing;

    if (notices == NULL)
        return;
    while ((outgoing = LIST_FIRST(&notices->under_way)) != NULL) {
        LIST_REMOVE(outgoing, others);
        xyl_pool_release(&context->pool, outgoing, outgoing_bytes(context));
    }
    free(notices);
    context->notices = NULL;
}
