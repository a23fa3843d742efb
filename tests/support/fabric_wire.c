/* The net of the fabric: sends and receives become things that happen later, in
 * an order that the seed decides.
 *
 *   send ──▶ arrival ──▶ matched ──▶ move ──▶ completion of the receive
 *              │            ▲          └────▶ completion of a rendezvous send
 *              ▼            │
 *          unexpected ── receive
 */
#include "tests/support/fabric_wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/random.h"

enum { GARBAGE = 0xa5 };

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* the test's own memory, not the library's */
    return memory;
}

static void trace(fabric_t *fabric, uint64_t what)
{
    fabric->trace = random_mix(fabric->trace ^ what);
}

/* ---- what is to happen ---- */

static int is_before(const happening_t *a, const happening_t *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void heap_add(fabric_t *fabric, happening_t what)
{
    size_t place = fabric->heap_count++;

    if (place == fabric->heap_capacity) {
        fabric->heap_capacity = 2 * place + 64;
        fabric->heap = must(realloc(fabric->heap, fabric->heap_capacity *
                                                      sizeof *fabric->heap));
    }
    what.order = fabric->decided++;
    while (place > 0 && is_before(&what, &fabric->heap[(place - 1) / 2])) {
        fabric->heap[place] = fabric->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    fabric->heap[place] = what;
}

static happening_t heap_take(fabric_t *fabric)
{
    happening_t first = fabric->heap[0];
    happening_t last = fabric->heap[--fabric->heap_count];
    size_t place = 0, below;

    while ((below = 2 * place + 1) < fabric->heap_count) {
        if (below + 1 < fabric->heap_count &&
            is_before(&fabric->heap[below + 1], &fabric->heap[below]))
            below++;
        if (!is_before(&fabric->heap[below], &last))
            break;
        fabric->heap[place] = fabric->heap[below];
        place = below;
    }
    fabric->heap[place] = last;
    return first;
}

/* Mostly short, now and then eight times as long. */
static uint64_t delay(fabric_t *fabric)
{
    uint32_t most = fabric->options.delay_max;

    if (!fabric->options.reorder)
        return most;
    if (random_below(&fabric->random, 8) == 0)
        most *= 8;
    return random_below(&fabric->random, most + 1);
}

/* ---- messages and receives ---- */

static message_t *message_make(fabric_t *fabric)
{
    message_t *message = must(calloc(1, sizeof *message));

    if (fabric->message_count == fabric->message_capacity) {
        fabric->message_capacity = 2 * fabric->message_capacity + 64;
        fabric->messages =
            must(realloc(fabric->messages,
                         fabric->message_capacity * sizeof *fabric->messages));
    }
    fabric->messages[fabric->message_count++] = message;
    return message;
}

static void payload_reserve(message_t *message, size_t bytes)
{
    if (message->payload_bytes >= bytes)
        return;
    message->payload = must(realloc(message->payload, bytes));
    message->payload_bytes = bytes;
}

static message_t *message_take(fabric_t *fabric)
{
    message_t *message = fabric->free_messages;

    if (message == NULL)
        return message_make(fabric);
    fabric->free_messages = message->next;
    return message;
}

static void message_free(fabric_t *fabric, message_t *message)
{
    message->next = fabric->free_messages;
    fabric->free_messages = message;
}

static receive_t *receive_make(fabric_t *fabric)
{
    receive_t *receive = must(calloc(1, sizeof *receive));

    if (fabric->receive_count == fabric->receive_capacity) {
        fabric->receive_capacity = 2 * fabric->receive_capacity + 64;
        fabric->receives =
            must(realloc(fabric->receives,
                         fabric->receive_capacity * sizeof *fabric->receives));
    }
    fabric->receives[fabric->receive_count++] = receive;
    return receive;
}

static receive_t *receive_take(fabric_t *fabric)
{
    receive_t *receive = fabric->free_receives;

    if (receive == NULL)
        return receive_make(fabric);
    fabric->free_receives = receive->next;
    return receive;
}

static void receive_free(fabric_t *fabric, receive_t *receive)
{
    receive->next = fabric->free_receives;
    fabric->free_receives = receive;
}

/* ---- completions ---- */

static void event_take(rank_net_t *self, xyl_event_t *event)
{
    if (event->net != NULL)
        check_failed(__FILE__, __LINE__, "an event was posted twice");
    event->net = &self->net;
    event->net_request = NULL;
}

static void push(rank_net_t *self, xyl_event_t *event, xylem_status_t status)
{
    trace(self->fabric, self->rank * 64 + (uint64_t)status);
    event->net = NULL;
    event->net_request = NULL;
    xyl_net_complete(&self->net, event, status);
}

static void complete_later(rank_net_t *self, xyl_event_t *event,
                           xylem_status_t status)
{
    event->net_request = NULL;
    heap_add(self->fabric,
             (happening_t){.due = self->fabric->now + delay(self->fabric),
                           .kind = HAPPENS_COMPLETION,
                           .rank = self->rank,
                           .status = status,
                           .event = event});
}

static void send_completes(fabric_t *fabric, message_t *message,
                           xylem_status_t status)
{
    xyl_event_t *event = message->send_event;

    if (event == NULL)
        return;
    message->send_event = NULL;
    if (status == XYLEM_OK &&
        memcmp(message->buf, message->payload, message->bytes) != 0)
        check_failed(__FILE__, __LINE__,
                     "a buffer was changed while it was being sent");
    complete_later(&fabric->nets[message->source], event, status);
}

/* A message that nobody will receive: its send fails, or hears nothing. */
static void message_lost(fabric_t *fabric, message_t *message)
{
    if (random_below(&fabric->random, 2) == 0)
        send_completes(fabric, message, XYLEM_ERR_PROC_FAILED);
    message_free(fabric, message);
}

/* ---- matching ---- */

static void matched(fabric_t *fabric, message_t *message, receive_t *receive)
{
    message->receive = receive;
    receive->message = message;
    memset(receive->buf, GARBAGE, receive->bytes);
    heap_add(fabric, (happening_t){.due = fabric->now + delay(fabric),
                                   .kind = HAPPENS_MOVE,
                                   .rank = message->destination,
                                   .message = message});
}

static void arrive(fabric_t *fabric, message_t *message)
{
    rank_net_t *to = &fabric->nets[message->destination];
    receive_t **link = &to->posted;

    if (to->is_dead ||
        (fabric->nets[message->source].is_dead && !message->is_eager)) {
        message_lost(fabric, message);
        return;
    }
    while (*link != NULL && (*link)->tag != message->tag)
        link = &(*link)->next;
    if (*link != NULL) {
        receive_t *receive = *link;
        *link = receive->next;
        if (*link == NULL)
            to->posted_end = link;
        matched(fabric, message, receive);
        return;
    }
    message->next = NULL;
    *to->unexpected_end = message;
    to->unexpected_end = &message->next;
}

static void move(fabric_t *fabric, message_t *message)
{
    rank_net_t *to = &fabric->nets[message->destination];
    receive_t *receive = message->receive;
    xylem_status_t status = XYLEM_OK;

    if (receive == NULL || to->is_dead) {
        if (receive != NULL)
            receive->message = NULL;
        message_lost(fabric, message);
        return;
    }
    if (fabric->nets[message->source].is_dead && !message->is_eager)
        status = XYLEM_ERR_PROC_FAILED;
    else if (message->bytes > receive->bytes)
        status = XYLEM_ERR_TRUNCATED;
    else if (message->bytes < receive->bytes)
        check_failed(__FILE__, __LINE__,
                     "a message is shorter than its buffer");
    if (status == XYLEM_OK)
        memcpy(receive->buf, message->payload, message->bytes);
    complete_later(to, receive->event, status);
    send_completes(fabric, message, XYLEM_OK);
    receive_free(fabric, receive);
    message_free(fabric, message);
}

/* ---- the net's functions ---- */

static rank_net_t *self_of(xyl_net_t *net)
{
    return (rank_net_t *)(void *)net;
}

/* 1 when this call is the one that fails; it then has. */
static int fails(rank_net_t *self, fabric_call_t call, xyl_event_t *event)
{
    fabric_t *fabric = self->fabric;

    if (fabric->calls_left[call] == 0 || --fabric->calls_left[call] != 0)
        return 0;
    fabric->failed_rank = self->rank;
    complete_later(self, event, fabric->call_status);
    return 1;
}

/* Equal tags do not overtake each other. */
static uint64_t arrival_time(fabric_t *fabric, uint32_t peer, uint64_t tag)
{
    uint64_t due = fabric->now + delay(fabric);
    size_t i;

    for (i = 0; i < fabric->heap_count; i++) {
        const happening_t *other = &fabric->heap[i];
        if (other->kind == HAPPENS_ARRIVAL && other->rank == peer &&
            other->message->tag == tag && other->due > due)
            due = other->due;
    }
    return due;
}

static void net_send(xyl_net_t *net, uint32_t peer, uint64_t tag,
                     const void *buf, size_t bytes, xyl_event_t *event)
{
    rank_net_t *self = self_of(net);
    fabric_t *fabric = self->fabric;
    message_t *message;

    assert(peer < fabric->ranks);
    fabric->sends++;
    trace(fabric, tag ^ bytes << 32 ^ peer);
    event_take(self, event);
    if (fails(self, FABRIC_SEND, event))
        return;
    message = message_take(fabric);
    payload_reserve(message, bytes);
    memcpy(message->payload, buf, bytes);
    message->source = self->rank;
    message->destination = peer;
    message->tag = tag;
    message->bytes = bytes;
    message->is_eager = fabric->options.eager_bytes_max != 0 &&
                        bytes <= fabric->options.eager_bytes_max;
    message->buf = buf;
    message->send_event = event;
    message->receive = NULL;
    heap_add(fabric, (happening_t){.due = arrival_time(fabric, peer, tag),
                                   .kind = HAPPENS_ARRIVAL,
                                   .rank = peer,
                                   .message = message});
    if (!message->is_eager)
        return;
    if (random_below(&fabric->random, 2) != 0) {
        send_completes(fabric, message, XYLEM_OK);
        return;
    }
    message->send_event = NULL;
    push(self, event, XYLEM_OK); /* inside the call */
}

static void net_recv(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                     xyl_event_t *event)
{
    rank_net_t *self = self_of(net);
    fabric_t *fabric = self->fabric;
    message_t **link = &self->unexpected, *message;
    receive_t *receive;

    trace(fabric, ~tag ^ bytes << 32);
    event_take(self, event);
    if (fails(self, FABRIC_RECV, event))
        return;
    receive = receive_take(fabric);
    *receive =
        (receive_t){.tag = tag, .buf = buf, .bytes = bytes, .event = event};
    event->net_request = receive;
    while (*link != NULL && (*link)->tag != tag)
        link = &(*link)->next;
    message = *link;
    if (message != NULL) {
        *link = message->next;
        if (*link == NULL)
            self->unexpected_end = link;
        matched(fabric, message, receive);
        return;
    }
    *self->posted_end = receive;
    self->posted_end = &receive->next;
}

/* A receive that is matched is given up only when its sender is dead. */
static void net_cancel(xyl_net_t *net, xyl_event_t *event)
{
    rank_net_t *self = self_of(net);
    receive_t **link = &self->posted, *receive = event->net_request;
    message_t *message;

    if (event->net == NULL || receive == NULL)
        return; /* its completion is on the way */
    message = receive->message;
    if (message != NULL && !self->fabric->nets[message->source].is_dead)
        return;
    if (message != NULL)
        message->receive = NULL;
    while (*link != NULL && *link != receive)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = receive->next;
        if (*link == NULL)
            self->posted_end = link;
    }
    receive_free(self->fabric, receive);
    complete_later(self, event, XYLEM_ERR_CANCELED);
}

static unsigned net_progress(xyl_net_t *net)
{
    rank_net_t *self = self_of(net);
    unsigned done = 0;
    uint32_t peer;

    while (self->back != NULL) {
        xyl_event_t *event = self->back;
        self->back = event->next;
        push(self, event, event->status);
        done++;
    }
    if (!self->has_notices)
        return done;
    self->has_notices = 0;
    for (peer = 0; peer < self->fabric->ranks; peer++)
        if (self->notices[peer]) {
            self->notices[peer] = 0;
            trace(self->fabric, peer);
            net->peer_failed(net->peer_failed_arg, peer);
            done++;
        }
    return done;
}

static xylem_status_t net_arm(xyl_net_t *net)
{
    (void)net;
    return XYLEM_ERR_BUSY;
}

static int net_wakeup_fd(xyl_net_t *net)
{
    (void)net;
    return -1;
}

static int net_is_flushed(xyl_net_t *net)
{
    (void)net;
    return 1;
}

static void net_destroy(xyl_net_t *net)
{
    (void)net; /* belongs to the fabric */
}

static const xyl_net_ops_t net_ops = {
    .name = "fabric",
    .send = net_send,
    .recv = net_recv,
    .cancel = net_cancel,
    .progress = net_progress,
    .arm = net_arm,
    .wakeup_fd = net_wakeup_fd,
    .is_flushed = net_is_flushed,
    .destroy = net_destroy,
};

/* ---- time ---- */

static void event_arrives(fabric_t *fabric, const happening_t *what)
{
    rank_net_t *rank = &fabric->nets[what->rank];
    xyl_event_t **link = &rank->back;

    what->event->status = what->status;
    if (random_below(&fabric->random, 2) == 0)
        while (*link != NULL)
            link = &(*link)->next;
    what->event->next = *link;
    *link = what->event;
}

static void happen(fabric_t *fabric, const happening_t *what)
{
    switch (what->kind) {
    case HAPPENS_ARRIVAL:
        arrive(fabric, what->message);
        return;
    case HAPPENS_MOVE:
        move(fabric, what->message);
        return;
    case HAPPENS_COMPLETION:
        event_arrives(fabric, what);
        return;
    case HAPPENS_NOTICE:
        fabric->nets[what->rank].notices[what->peer] = 1;
        fabric->nets[what->rank].has_notices = 1;
        return;
    }
}

void fabric_wire_advance(fabric_t *fabric)
{
    while (fabric->heap_count != 0 && fabric->heap[0].due <= fabric->now) {
        happening_t what = heap_take(fabric);
        happen(fabric, &what);
    }
}

int fabric_wire_next(const fabric_t *fabric, uint64_t *due_out)
{
    if (fabric->heap_count == 0)
        return 0;
    *due_out = fabric->heap[0].due;
    return 1;
}

void fabric_wire_kill(fabric_t *fabric, uint32_t rank, uint32_t notice_max)
{
    message_t *message = fabric->nets[rank].unexpected, *next;
    uint32_t peer;

    fabric->nets[rank].is_dead = 1;
    fabric->nets[rank].unexpected = NULL;
    fabric->nets[rank].unexpected_end = &fabric->nets[rank].unexpected;
    for (; message != NULL; message = next) {
        next = message->next;
        message_lost(fabric, message);
    }
    for (peer = 0; peer < fabric->ranks; peer++)
        if (peer != rank)
            heap_add(fabric, (happening_t){.due = fabric->now +
                                                  random_below(&fabric->random,
                                                               notice_max + 1),
                                           .kind = HAPPENS_NOTICE,
                                           .rank = peer,
                                           .peer = rank});
}

/* ---- life ---- */

xyl_net_t *fabric_net_create(void *arg, uint32_t rank, xyl_fifo_t *ready)
{
    fabric_t *fabric = arg;
    rank_net_t *self = &fabric->nets[rank];

    self->net.ops = &net_ops;
    self->net.ready = ready;
    return &self->net;
}

void fabric_wire_init(fabric_t *fabric)
{
    uint32_t i, count = fabric->options.store_messages;

    for (i = 0; i < fabric->ranks; i++) {
        fabric->nets[i].posted_end = &fabric->nets[i].posted;
        fabric->nets[i].unexpected_end = &fabric->nets[i].unexpected;
    }
    for (i = 0; i < count; i++) {
        message_t *message = message_make(fabric);
        payload_reserve(message, fabric->options.store_payload_bytes);
        message_free(fabric, message);
        receive_free(fabric, receive_make(fabric));
    }
    fabric->heap_capacity = 4 * (size_t)count + 64;
    fabric->heap = must(malloc(fabric->heap_capacity * sizeof *fabric->heap));
}

void fabric_wire_fini(fabric_t *fabric)
{
    size_t i;

    for (i = 0; i < fabric->message_count; i++) {
        free(fabric->messages[i]->payload);
        free(fabric->messages[i]);
    }
    for (i = 0; i < fabric->receive_count; i++)
        free(fabric->receives[i]);
    free(fabric->messages);
    free(fabric->receives);
    free(fabric->heap);
}
