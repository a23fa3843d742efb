/* Messages of a rank to itself. The half of a message that comes first, send or
 * receive, waits in a list for the other half, in the order of the calls. The
 * lists are made for few waiting halves. */
#include "progress/net/nets.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/status.h"

/* A send or a receive. */
typedef struct half {
    struct half *next;
    uint64_t tag;
    union {
        const void *from;
        void *to;
    } buf;
    size_t bytes;
    xyl_event_t *event;
} half_t;

enum { SENDS, RECEIVES };

typedef struct net_self {
    xyl_net_t net;
    half_t *waiting[2]; /* oldest first */
    half_t *unused;
} net_self_t;

static net_self_t *self_of(xyl_net_t *net)
{
    return (net_self_t *)(void *)net;
}

/* ---- messages ---- */

/* Takes a half out of its list; its contents last until the next half waits. */
static half_t *half_take(net_self_t *self, half_t **link)
{
    half_t *half = *link;

    *link = half->next;
    half->next = self->unused;
    self->unused = half;
    return half;
}

static void half_wait(net_self_t *self, half_t **list, half_t contents)
{
    half_t *half = self->unused;

    if (half != NULL)
        self->unused = half->next;
    else
        half = malloc(sizeof *half);
    while (*list != NULL)
        list = &(*list)->next;
    *list = half;
    if (half != NULL)
        *half = contents;
    else
        xyl_net_complete(&self->net, contents.event, XYLEM_ERR_NO_MEMORY);
}

static void halves_meet(net_self_t *self, const half_t *send,
                        const half_t *receive)
{
    xylem_status_t status =
        xyl_net_length_status(receive->event, send->bytes, receive->bytes);

    if (status == XYLEM_OK && send->bytes != 0)
        memcpy(receive->buf.to, send->buf.from, send->bytes);
    xyl_net_complete(&self->net, send->event, XYLEM_OK);
    xyl_net_complete(&self->net, receive->event, status);
}

static void half_post(xyl_net_t *net, int kind, half_t half)
{
    net_self_t *self = self_of(net);
    half_t **link = &self->waiting[!kind], *other;

    half.event->net = net;
    half.event->net_request = NULL;
    while (*link != NULL && (*link)->tag != half.tag)
        link = &(*link)->next;
    if (*link == NULL) {
        half_wait(self, &self->waiting[kind], half);
        return;
    }
    other = half_take(self, link);
    if (kind == SENDS)
        halves_meet(self, &half, other);
    else
        halves_meet(self, other, &half);
}

static void self_send(xyl_net_t *net, uint32_t peer, uint64_t tag,
                      const void *buf, size_t bytes, xyl_event_t *event)
{
    (void)peer;
    half_post(net, SENDS, (half_t){NULL, tag, {.from = buf}, bytes, event});
}

static void self_recv(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                      xyl_event_t *event)
{
    half_post(net, RECEIVES, (half_t){NULL, tag, {.to = buf}, bytes, event});
}

static void self_cancel(xyl_net_t *net, xyl_event_t *event)
{
    half_t **link = &self_of(net)->waiting[RECEIVES];

    while (*link != NULL && (*link)->event != event)
        link = &(*link)->next;
    if (*link == NULL)
        return; /* too late */
    (void)half_take(self_of(net), link);
    xyl_net_complete(net, event, XYLEM_ERR_CANCELED);
}

/* Sends and receives do all work in their calls; no other rank sends here. */
static unsigned self_progress(xyl_net_t *net)
{
    (void)net;
    return 0;
}

/* ---- life ---- */

static int self_is_flushed(xyl_net_t *net)
{
    return self_of(net)->waiting[SENDS] == NULL;
}

static void halves_free(half_t *half)
{
    while (half != NULL) {
        half_t *next = half->next;
        free(half);
        half = next;
    }
}

static void self_destroy(xyl_net_t *net)
{
    halves_free(self_of(net)->waiting[SENDS]);
    halves_free(self_of(net)->waiting[RECEIVES]);
    halves_free(self_of(net)->unused);
    free(net);
}

static xylem_status_t self_create(const xyl_net_params_t *params,
                                  xyl_net_t **net_out)
{
    net_self_t *self = calloc(1, sizeof *self);

    if (self == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for the net");
    self->net = (xyl_net_t){.ops = &xyl_net_self, .ready = params->ready};
    *net_out = &self->net;
    return XYLEM_OK;
}

const xyl_net_ops_t xyl_net_self = {
    .name = "self",
    .create = self_create,
    .send = self_send,
    .recv = self_recv,
    .cancel = self_cancel,
    .progress = self_progress,
    .is_flushed = self_is_flushed,
    .destroy = self_destroy,
};
