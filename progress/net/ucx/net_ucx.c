/* UCX behind the net interface. UCX's callbacks run inside UCX's functions, on
 * the progressing thread, and only push events or note what has happened. If a
 * send completes at once, UCX returns NULL and does not call its callback: this
 * file pushes the event instead. */
#include "progress/net/nets.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "progress/net/ucx/context.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

enum {
    /* Closing an endpoint by force takes a few turns, as do the last messages.
     */
    CLOSE_TURNS_MAX = 100000,
    UNASKED_TURNS = 1000 /* for which a message given up by UCX is kept */
};
/* A message given up by UCX is also kept for this time. UCX reports the reason
 * in one of the next turns, or when the peer's machine has refused a new
 * connection, which takes seconds if processes far outnumber cores there. */
static const uint64_t reason_ns = UINT64_C(10000000000);

/* A message for a peer whose connection is not ready yet. */
typedef struct held {
    STAILQ_ENTRY(held) others;
    uint64_t tag;
    const void *buf;
    size_t bytes;
    xyl_event_t *event;
} held_t;

typedef struct peer {
    ucp_ep_h endpoint; /* NULL until the first send */
    const void *address;
    struct net_ucx *net;
    struct peer *connected; /* the next in the net's list */
    STAILQ_HEAD(, held) held;
    uint8_t is_local, is_connecting;
    uint8_t has_refused; /* a connection; the log says so already */
} peer_t;

typedef struct net_ucx {
    xyl_net_t net;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    peer_t *peers;
    uint32_t peer_count;
    uint32_t under_way;     /* messages that UCX has a request for */
    uint32_t sends;         /* how many of these are sends */
    int has_dropped;        /* messages without a receive may come */
    uint32_t held;          /* messages that wait for a connection */
    peer_t *connected;      /* peers whose held messages can go; a list */
    xyl_fifo_t unasked;     /* given up by UCX, for a reason not known yet */
    uint32_t unasked_turns; /* turns for which these are still kept, */
    uint64_t unasked_until_ns, reason_ns; /* at least until this time */
    int an_endpoint_failed, is_ending;
    ucs_status_ptr_t flush; /* the request of the running flush */
    enum { FLUSH_NONE, FLUSH_RUNNING, FLUSH_DONE } flush_state;
    int is_flush_old; /* a message was sent after the flush began */
    int wakeup_fd;
} net_ucx_t;

static net_ucx_t *ucx_of(xyl_net_t *net)
{
    return (net_ucx_t *)(void *)net;
}

static xylem_status_t status_of_ucx(ucs_status_t status)
{
    switch ((int)status) {
    case UCS_OK:
        return XYLEM_OK;
    case UCS_ERR_CANCELED:
    case UCS_ERR_NOT_CONNECTED: /* the endpoint fails; see unasked_keep */
        return XYLEM_ERR_CANCELED;
    case UCS_ERR_MESSAGE_TRUNCATED:
        return XYLEM_ERR_TRUNCATED;
    case UCS_ERR_NO_MEMORY:
        return XYLEM_ERR_NO_MEMORY;
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_CONNECTION_RESET:
        return XYLEM_ERR_PROC_FAILED;
    default:
        return XYLEM_ERR_NET;
    }
}

/* ---- endpoints ---- */

static void endpoint_failed(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    peer_t *peer = arg;
    net_ucx_t *net = peer->net;

    (void)endpoint;
    (void)status;
    net->an_endpoint_failed = 1;
    if (!xyl_fifo_is_empty(&net->unasked)) {
        net->unasked_turns = 1;
        net->unasked_until_ns = 0;
    }
    if (net->net.peer_failed != NULL)
        net->net.peer_failed(net->net.peer_arg, (uint32_t)(peer - net->peers));
}

/* UCX uses shared memory only for endpoints without error handling. Local
 * processes are watched by other means (runtime/faults/liveness.h). */
static xylem_status_t endpoint_create(net_ucx_t *net, peer_t *peer)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = peer->address,
        .err_mode = peer->is_local ? UCP_ERR_HANDLING_MODE_NONE
                                   : UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = endpoint_failed, .arg = peer},
    };
    ucs_status_t status = ucp_ep_create(net->worker, &params, &peer->endpoint);

    if (status == UCS_OK)
        return XYLEM_OK;
    peer->endpoint = NULL;
    if (!peer->has_refused)
        (void)xyl_fail(XYLEM_ERR_NET, "cannot connect to rank %u: %s%s",
                       (unsigned)(peer - net->peers), ucs_status_string(status),
                       access("/proc/self", F_OK) == 0
                           ? ""
                           : "; UCX finds other processes by /proc, which is "
                             "not here");
    peer->has_refused = 1;
    return XYLEM_ERR_NET;
}

static int peer_lives(const net_ucx_t *net, uint32_t peer)
{
    return !net->peers[peer].is_local || net->net.peer_lives == NULL ||
           net->net.peer_lives(net->net.peer_arg, peer);
}

/* The first message from a process makes an endpoint inside UCX, and
 * ucp_ep_create returns that endpoint. If the process has died before UCX maps
 * its memory, the endpoint of UCX 1.13 has no transports. UCX says so only in
 * its next turn, and a send before that follows a null pointer. So this
 * function looks twice whether the peer lives: before it asks for an endpoint,
 * since UCX would complain of a dead peer, and before it uses the endpoint. */
static xylem_status_t endpoint_of_living(net_ucx_t *net, uint32_t peer)
{
    xylem_status_t status = XYLEM_ERR_PROC_FAILED;

    if (peer_lives(net, peer))
        status = endpoint_create(net, &net->peers[peer]);
    if (status == XYLEM_OK && !peer_lives(net, peer)) {
        net->peers[peer].endpoint = NULL; /* UCX frees it with the worker */
        status = XYLEM_ERR_PROC_FAILED;
    }
    return status;
}

/* A process on another machine counts as dead if no connection to it can be
 * made. Call this before the send fails, so that the operation reports the
 * death and not an error of the net. */
static void peer_give_up(net_ucx_t *net, uint32_t peer)
{
    if (!net->peers[peer].is_local && net->net.peer_failed != NULL)
        net->net.peer_failed(net->net.peer_arg, peer);
}

/* ---- messages ---- */

/* UCX cancels the messages of a failing endpoint, or says that it is not
 * connected, possibly before it reports the failure (1.13: UCX connects once
 * more, and is refused). The net keeps such a message until the report. */
static void unasked_keep(net_ucx_t *net, xyl_event_t *event)
{
    if (xyl_fifo_is_empty(&net->unasked)) {
        net->unasked_turns = UNASKED_TURNS;
        net->unasked_until_ns =
            xyl_clock_now(xyl_clock_system()) + net->reason_ns;
    }
    xyl_fifo_push(&net->unasked, event);
}

static int unasked_are_over(net_ucx_t *net)
{
    if (net->unasked_turns > 1) {
        net->unasked_turns--;
        return 0;
    }
    return net->unasked_until_ns == 0 ||
           xyl_clock_now(xyl_clock_system()) >= net->unasked_until_ns;
}

static void unasked_end(net_ucx_t *net)
{
    xylem_status_t status =
        net->an_endpoint_failed ? XYLEM_ERR_PROC_FAILED : XYLEM_ERR_NET;
    xyl_event_t *event;

    while ((event = xyl_fifo_pop(&net->unasked)) != NULL)
        xyl_net_complete(&net->net, event, status);
}

/* `was_asked`: the net itself has canceled the message (ucx_cancel). */
static void message_end(net_ucx_t *net, xylem_status_t status,
                        xyl_event_t *event, int was_asked)
{
    event->net_request = NULL;
    if (status == XYLEM_ERR_CANCELED && !was_asked && !net->is_ending)
        unasked_keep(net, event);
    else
        xyl_net_complete(&net->net, event, status);
}

static void message_finish(void *request, xylem_status_t status,
                           xyl_event_t *event)
{
    net_ucx_t *net = ucx_of(event->net);

    ucp_request_free(request);
    net->under_way--;
    message_end(net, status, event, event->net_request == NULL);
}

static void send_done(void *request, ucs_status_t status, void *arg)
{
    const xyl_event_t *event = arg;

    ucx_of(event->net)->sends--;
    message_finish(request, status_of_ucx(status), arg);
}

/* A message that is too long ends with a status of UCX. */
static xylem_status_t recv_status(ucs_status_t status, size_t arrived,
                                  xyl_event_t *event)
{
    return status == UCS_OK
               ? xyl_net_length_status(event, arrived, event->net_bytes)
               : status_of_ucx(status);
}

static void recv_done(void *request, ucs_status_t status,
                      const ucp_tag_recv_info_t *info, void *arg)
{
    message_finish(request, recv_status(status, info->length, arg), arg);
}

static void send_posted(net_ucx_t *net, ucs_status_ptr_t request,
                        xyl_event_t *event)
{
    if (request == NULL)
        xyl_net_complete(&net->net, event, XYLEM_OK);
    else if (UCS_PTR_IS_ERR(request))
        message_end(net, status_of_ucx(UCS_PTR_STATUS(request)), event, 0);
    else {
        event->net_request = request;
        net->under_way++;
        net->sends++;
    }
}

static ucp_request_param_t message_param(xyl_event_t *event)
{
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                 .user_data = event,
                                 .memory_type = UCS_MEMORY_TYPE_HOST};
}

static void message_send(peer_t *peer, uint64_t tag, const void *buf,
                         size_t bytes, xyl_event_t *event)
{
    ucp_request_param_t param = message_param(event);

    param.cb.send = send_done;
    peer->net->is_flush_old = 1;
    send_posted(peer->net,
                ucp_tag_send_nbx(peer->endpoint, buf, bytes, tag, &param),
                event);
}

/* ---- connections ---- */

static void connection_done(void *request, ucs_status_t status, void *arg)
{
    peer_t *peer = arg;

    (void)status; /* if the flush has failed, the sends will fail, too */
    ucp_request_free(request);
    peer->connected = peer->net->connected;
    peer->net->connected = peer;
}

/* Connects to a peer on another machine. UCX 1.13 ends the process if the peer
 * dies while messages wait inside UCX for the connection: for a long message
 * UCX asks for the peer's number, and cannot undo that request
 * (ucp_request.c:684). So the net holds messages back until a flush, which UCX
 * can end, has ended. */
static void connection_begin(peer_t *peer)
{
    const ucp_request_param_t param = {.op_attr_mask =
                                           UCP_OP_ATTR_FIELD_CALLBACK |
                                           UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send = connection_done,
                                       .user_data = peer};

    peer->is_connecting =
        UCS_PTR_IS_PTR(ucp_ep_flush_nbx(peer->endpoint, &param));
}

static void message_hold(peer_t *peer, uint64_t tag, const void *buf,
                         size_t bytes, xyl_event_t *event)
{
    held_t *held = malloc(sizeof *held);

    if (held == NULL) {
        xyl_net_complete(&peer->net->net, event, XYLEM_ERR_NO_MEMORY);
        return;
    }
    *held = (held_t){.tag = tag, .buf = buf, .bytes = bytes, .event = event};
    STAILQ_INSERT_TAIL(&peer->held, held, others);
    peer->net->held++;
}

static held_t held_take(peer_t *peer)
{
    held_t *held = STAILQ_FIRST(&peer->held), contents = *held;

    STAILQ_REMOVE_HEAD(&peer->held, others);
    peer->net->held--;
    free(held);
    return contents;
}

static void held_send(net_ucx_t *net)
{
    while (net->connected != NULL) {
        peer_t *peer = net->connected;
        net->connected = peer->connected;
        peer->is_connecting = 0;
        while (!STAILQ_EMPTY(&peer->held)) {
            held_t held = held_take(peer);
            message_send(peer, held.tag, held.buf, held.bytes, held.event);
        }
    }
}

/* ---- posting ---- */

static void ucx_send(xyl_net_t *base, uint32_t rank, uint64_t tag,
                     const void *buf, size_t bytes, xyl_event_t *event)
{
    net_ucx_t *net = ucx_of(base);
    peer_t *peer = &net->peers[rank];

    assert(rank < net->peer_count);
    event->net = base;
    event->net_request = NULL;
    if (peer->endpoint == NULL) {
        xylem_status_t status = endpoint_of_living(net, rank);
        if (status != XYLEM_OK) {
            peer_give_up(net, rank);
            xyl_net_complete(base, event, status);
            return;
        }
        if (!peer->is_local)
            connection_begin(peer);
    }
    if (peer->is_connecting)
        message_hold(peer, tag, buf, bytes, event);
    else
        message_send(peer, tag, buf, bytes, event);
}

static void ucx_recv(xyl_net_t *base, uint64_t tag, void *buf, size_t bytes,
                     xyl_event_t *event)
{
    net_ucx_t *net = ucx_of(base);
    ucp_request_param_t param = message_param(event);
    ucs_status_ptr_t request;

    /* UCX 1.13 tells the length of a message only to the callback. If the
     * message has come before, UCX calls the callback inside this call. */
    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = recv_done;
    event->net_request = event;
    event->net_bytes = bytes;
    event->net = base;
    net->under_way++;
    request =
        ucp_tag_recv_nbx(net->worker, buf, bytes, tag, UINT64_MAX, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        net->under_way--;
        event->net_request = NULL;
        xyl_net_complete(base, event, status_of_ucx(UCS_PTR_STATUS(request)));
    } else if (event->net_request != NULL) {
        event->net_request = request;
    }
}

static void ucx_cancel(xyl_net_t *base, xyl_event_t *event)
{
    void *request = event->net_request;

    event->net_request = NULL;
    if (request != NULL)
        ucp_request_cancel(ucx_of(base)->worker, request);
}

static void dropped(void *request, ucs_status_t status,
                    const ucp_tag_recv_info_t *info, void *arg)
{
    net_ucx_t *net = arg;

    (void)status; /* the message was too long for 0 bytes */
    (void)info;
    ucp_request_free(request);
    net->under_way--;
}

static void ucx_drop(xyl_net_t *base, uint64_t tag, uint64_t mask)
{
    net_ucx_t *net = ucx_of(base);
    const ucp_request_param_t param = {.op_attr_mask =
                                           UCP_OP_ATTR_FIELD_CALLBACK |
                                           UCP_OP_ATTR_FIELD_USER_DATA |
                                           UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                       .cb.recv = dropped,
                                       .user_data = net};
    ucp_tag_recv_info_t info;
    ucp_tag_message_h message;

    net->has_dropped = 1;
    while ((message = ucp_tag_probe_nb(net->worker, tag, mask, 1, &info)) !=
           NULL) {
        net->under_way++;
        if (!UCS_PTR_IS_PTR(
                ucp_tag_msg_recv_nbx(net->worker, NULL, 0, message, &param)))
            net->under_way--;
    }
}

static unsigned ucx_progress(xyl_net_t *base)
{
    net_ucx_t *net = ucx_of(base);
    unsigned done = ucp_worker_progress(net->worker);

    if (net->connected != NULL)
        held_send(net);
    if (xyl_fifo_is_empty(&net->unasked))
        return done;
    if (unasked_are_over(net))
        unasked_end(net);
    return done + 1;
}

/* ---- sleeping ---- */

static xylem_status_t ucx_arm(xyl_net_t *base)
{
    net_ucx_t *net = ucx_of(base);

    return xyl_fifo_is_empty(&net->unasked) &&
                   ucp_worker_arm(net->worker) == UCS_OK
               ? XYLEM_OK
               : XYLEM_ERR_BUSY;
}

static int ucx_wakeup_fd(xyl_net_t *base)
{
    return ucx_of(base)->wakeup_fd;
}

/* ---- the end ---- */

/* A flush of UCX does not wait for sends by rendezvous, so the net counts its
 * sends. */
static int ucx_is_flushed(xyl_net_t *base)
{
    static const ucp_request_param_t param = {.op_attr_mask = 0};
    net_ucx_t *net = ucx_of(base);

    if (net->held != 0)
        return 0;
    if (net->flush_state == FLUSH_DONE && net->is_flush_old)
        net->flush_state = FLUSH_NONE;
    if (net->flush_state == FLUSH_NONE) {
        net->is_flush_old = 0;
        net->flush = ucp_worker_flush_nbx(net->worker, &param);
        net->flush_state =
            UCS_PTR_IS_PTR(net->flush) ? FLUSH_RUNNING : FLUSH_DONE;
    }
    if (net->flush_state == FLUSH_RUNNING &&
        ucp_request_check_status(net->flush) != UCS_INPROGRESS) {
        ucp_request_free(net->flush);
        net->flush_state = FLUSH_DONE;
    }
    return net->flush_state == FLUSH_DONE && !net->is_flush_old &&
           net->sends == 0;
}

/* UCX ends the process if the worker is destroyed while sends are under way on
 * an endpoint with error handling. After a failure no flush ends such sends, so
 * this function gives up all sends that no receive will take; their events
 * come. */
static void give_up_sends(net_ucx_t *net)
{
    static const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE,
    };
    uint32_t i, turns;

    net->net.peer_failed = NULL;
    for (i = 0; i < net->peer_count; i++) {
        ucs_status_ptr_t request;
        if (net->peers[i].endpoint == NULL || net->peers[i].is_local)
            continue;
        request = ucp_ep_close_nbx(net->peers[i].endpoint, &param);
        net->peers[i].endpoint = NULL;
        for (turns = 0; turns < CLOSE_TURNS_MAX && UCS_PTR_IS_PTR(request) &&
                        ucp_request_check_status(request) == UCS_INPROGRESS;
             turns++)
            ucp_worker_progress(net->worker);
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    /* A running flush holds on to closed endpoints, and UCX ends the process if
     * the worker is destroyed meanwhile. */
    for (turns = 0;
         turns < CLOSE_TURNS_MAX && net->flush_state == FLUSH_RUNNING &&
         !ucx_is_flushed(&net->net);
         turns++)
        ucp_worker_progress(net->worker);
}

/* In a rendezvous the sender may see the end of a message before the receiver
 * does (1.18); the receiver's end comes within a few turns. After drops, more
 * messages without a receive may come, and UCX must hold none at the end. */
static void take_the_last(net_ucx_t *net)
{
    uint32_t turns;
    unsigned done = 1;

    for (turns = 0; turns < CLOSE_TURNS_MAX &&
                    (net->under_way != 0 || (net->has_dropped && done != 0));
         turns++) {
        done = ucp_worker_progress(net->worker);
        if (net->has_dropped)
            ucx_drop(&net->net, 0, 0);
    }
}

/* Between processes of one machine UCX can cancel neither a send nor a receive
 * that has met its message. If the other side has died, both stay under way for
 * ever and hold on to their registered memory. From 1.14 on ucp_cleanup ends
 * the process if it finds such memory, so the context is then left to the end
 * of the process. */
static void context_release(net_ucx_t *net)
{
    if (net->under_way == 0)
        ucp_cleanup(net->context);
    else
        xyl_log(XYL_LOG_WARN,
                "UCX cannot give up %u message%s of a process that has died; "
                "its context stays in memory",
                net->under_way, net->under_way == 1 ? "" : "s");
}

static void ucx_destroy(xyl_net_t *base)
{
    net_ucx_t *net = ucx_of(base);
    uint32_t i;

    net->is_ending = 1;
    unasked_end(net);
    for (i = 0; i < net->peer_count && net->held != 0; i++)
        while (!STAILQ_EMPTY(&net->peers[i].held)) {
            held_t held = held_take(&net->peers[i]);
            xyl_net_complete(&net->net, held.event, XYLEM_ERR_CANCELED);
        }
    if (net->flush_state == FLUSH_DONE && net->sends == 0)
        take_the_last(net);
    else
        give_up_sends(net);
    if (net->address != NULL)
        ucp_worker_release_address(net->worker, net->address);
    if (net->worker != NULL)
        ucp_worker_destroy(net->worker);
    if (net->context != NULL)
        context_release(net);
    free(net->peers);
    free(net);
}

/* ---- creation ---- */

static ucs_status_t create_worker(net_ucx_t *net, int can_sleep)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status =
        ucp_worker_create(net->context, &params, &net->worker);

    if (status == UCS_OK && can_sleep)
        status = ucp_worker_get_efd(net->worker, &net->wakeup_fd);
    return status;
}

static xylem_status_t ucx_create(const xyl_net_params_t *params,
                                 xyl_net_t **net_out)
{
    net_ucx_t *net = calloc(1, sizeof *net);
    ucs_status_t status;

    if (net == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for the net");
    net->net = (xyl_net_t){.ops = &xyl_net_ucx, .ready = params->ready};
    net->wakeup_fd = -1;
    net->reason_ns = params->reason_ns != 0 ? params->reason_ns : reason_ns;
    xyl_fifo_init(&net->unasked);
    status = xyl_ucx_context_create(params, &net->context);
    if (status == UCS_OK)
        status = create_worker(net, params->can_sleep);
    if (status == UCS_OK)
        status = ucp_worker_get_address(net->worker, &net->address,
                                        &net->address_bytes);
    if (status != UCS_OK) {
        ucx_destroy(&net->net);
        return xyl_fail(XYLEM_ERR_NET, "UCX cannot start: %s",
                        ucs_status_string(status));
    }
    *net_out = &net->net;
    return XYLEM_OK;
}

static const void *ucx_address(xyl_net_t *base, size_t *bytes_out)
{
    *bytes_out = ucx_of(base)->address_bytes;
    return ucx_of(base)->address;
}

/* All endpoints but that of `first` are created on the first send. */
static xylem_status_t ucx_connect(xyl_net_t *base, uint32_t peers,
                                  const void *const *addresses,
                                  const uint8_t *is_local, uint32_t first)
{
    net_ucx_t *net = ucx_of(base);
    uint32_t i;

    assert(net->peers == NULL);
    net->peers = calloc(peers, sizeof *net->peers);
    if (net->peers == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for %u peers", peers);
    net->peer_count = peers;
    for (i = 0; i < peers; i++) {
        net->peers[i] = (peer_t){
            .address = addresses[i], .net = net, .is_local = is_local[i]};
        STAILQ_INIT(&net->peers[i].held);
    }
    return first < peers ? endpoint_create(net, &net->peers[first]) : XYLEM_OK;
}

const xyl_net_ops_t xyl_net_ucx = {
    .name = "ucx",
    .capabilities = XYL_NET_REACHES_OTHERS,
    .create = ucx_create,
    .address = ucx_address,
    .connect = ucx_connect,
    .send = ucx_send,
    .recv = ucx_recv,
    .cancel = ucx_cancel,
    .drop = ucx_drop,
    .progress = ucx_progress,
    .arm = ucx_arm,
    .wakeup_fd = ucx_wakeup_fd,
    .is_flushed = ucx_is_flushed,
    .destroy = ucx_destroy,
};
