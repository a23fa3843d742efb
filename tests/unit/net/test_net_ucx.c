/* The net over UCX with messages that UCX gives up by itself. This file plays
 * UCX's messages and endpoints; the linker puts it between (--wrap). */
#include <ucp/api/ucp.h>

#include "progress/net/nets.h"
#include "tests/support/check.h"
#include "tests/support/failing_memory.h"

enum {
    PEER = 1,
    RANKS = 2,
    TAG = 7,
    LATE_TURN = 3000,
    TURNS_MAX = 1000000000,
    REASON_NS = 300000000,
    MESSAGES = 3 /* that wait for one connection */
};

typedef struct played {
    ucp_send_nbx_callback_t sent;
    ucp_tag_recv_nbx_callback_t received;
    void *user_data;
    int is_under_way;
} played_t;

static played_t message;   /* the one that is under way */
static int endpoint_place; /* its address stands for an endpoint */
static ucp_err_handler_t endpoint_error;
static unsigned ends_at, fails_at, turn;
static ucs_status_t end_status = UCS_ERR_CANCELED;
/* of a message */    /* turns; 0: never */
static unsigned told; /* deaths */
static int sends_end_at_once;
static ucp_tag_t sent_tags[MESSAGES]; /* of those, in order */
static unsigned sent;
static unsigned unexpected;       /* messages without a receive */
static unsigned coming;           /* of them, one in each of the next turns */
static ucp_request_param_t flush; /* of the endpoint; user_data NULL: none */
static int flush_takes_time;

/* ---- UCX ---- */

ucs_status_t __wrap_ucp_ep_create(ucp_worker_h worker,
                                  const ucp_ep_params_t *params,
                                  ucp_ep_h *endpoint_out);
ucs_status_ptr_t __wrap_ucp_ep_close_nbx(ucp_ep_h endpoint,
                                         const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_ep_flush_nbx(ucp_ep_h endpoint,
                                         const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_tag_send_nbx(ucp_ep_h endpoint, const void *buf,
                                         size_t count, ucp_tag_t tag,
                                         const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_tag_recv_nbx(ucp_worker_h worker, void *buf,
                                         size_t count, ucp_tag_t tag,
                                         ucp_tag_t mask,
                                         const ucp_request_param_t *param);
ucp_tag_message_h __wrap_ucp_tag_probe_nb(ucp_worker_h worker, ucp_tag_t tag,
                                          ucp_tag_t mask, int removes,
                                          ucp_tag_recv_info_t *info);
ucs_status_ptr_t __wrap_ucp_tag_msg_recv_nbx(ucp_worker_h worker, void *buf,
                                             size_t count,
                                             ucp_tag_message_h came,
                                             const ucp_request_param_t *param);
void __wrap_ucp_request_cancel(ucp_worker_h worker, void *request);
void __wrap_ucp_request_free(void *request);
unsigned __wrap_ucp_worker_progress(ucp_worker_h worker);
ucs_status_t __wrap_ucp_worker_arm(ucp_worker_h worker);

ucs_status_t __wrap_ucp_ep_create(ucp_worker_h worker,
                                  const ucp_ep_params_t *params,
                                  ucp_ep_h *endpoint_out)
{
    (void)worker;
    endpoint_error = params->err_handler;
    *endpoint_out = (void *)&endpoint_place;
    return UCS_OK;
}

ucs_status_ptr_t __wrap_ucp_ep_close_nbx(ucp_ep_h endpoint,
                                         const ucp_request_param_t *param)
{
    (void)endpoint;
    (void)param;
    return NULL;
}

ucs_status_ptr_t __wrap_ucp_ep_flush_nbx(ucp_ep_h endpoint,
                                         const ucp_request_param_t *param)
{
    CHECK(endpoint == (void *)&endpoint_place);
    if (!flush_takes_time)
        return NULL;
    flush = *param;
    return &flush;
}

static void flush_ends(ucs_status_t status)
{
    flush.cb.send(&flush, status, flush.user_data);
    flush.user_data = NULL;
}

static ucs_status_ptr_t message_take(played_t taken)
{
    CHECK(!message.is_under_way);
    message = taken;
    message.is_under_way = 1;
    return &message;
}

ucs_status_ptr_t __wrap_ucp_tag_send_nbx(ucp_ep_h endpoint, const void *buf,
                                         size_t count, ucp_tag_t tag,
                                         const ucp_request_param_t *param)
{
    (void)endpoint;
    (void)buf;
    (void)count;
    if (sends_end_at_once) {
        CHECK(sent < MESSAGES);
        sent_tags[sent++ % MESSAGES] = tag;
        return NULL;
    }
    return message_take(
        (played_t){.sent = param->cb.send, .user_data = param->user_data});
}

ucs_status_ptr_t __wrap_ucp_tag_recv_nbx(ucp_worker_h worker, void *buf,
                                         size_t count, ucp_tag_t tag,
                                         ucp_tag_t mask,
                                         const ucp_request_param_t *param)
{
    (void)worker;
    (void)buf;
    (void)count;
    (void)tag;
    (void)mask;
    return message_take(
        (played_t){.received = param->cb.recv, .user_data = param->user_data});
}

ucp_tag_message_h __wrap_ucp_tag_probe_nb(ucp_worker_h worker, ucp_tag_t tag,
                                          ucp_tag_t mask, int removes,
                                          ucp_tag_recv_info_t *info)
{
    (void)worker;
    (void)info;
    CHECK(removes);
    return unexpected != 0 && (TAG & mask) == tag
               ? (ucp_tag_message_h)(void *)&unexpected
               : NULL;
}

ucs_status_ptr_t __wrap_ucp_tag_msg_recv_nbx(ucp_worker_h worker, void *buf,
                                             size_t count,
                                             ucp_tag_message_h came,
                                             const ucp_request_param_t *param)
{
    (void)worker;
    (void)buf;
    (void)param;
    CHECK_EQ(count, 0);
    CHECK(came == (ucp_tag_message_h)(void *)&unexpected);
    unexpected--;
    return NULL;
}

static void message_ends(ucs_status_t status)
{
    const ucp_tag_recv_info_t info = {.length = 0};

    if (!message.is_under_way)
        return;
    message.is_under_way = 0;
    if (message.sent != NULL)
        message.sent(&message, status, message.user_data);
    else
        message.received(&message, status, &info, message.user_data);
}

void __wrap_ucp_request_cancel(ucp_worker_h worker, void *request)
{
    (void)worker;
    CHECK(request == &message);
    message_ends(UCS_ERR_CANCELED);
}

void __wrap_ucp_request_free(void *request)
{
    (void)request;
}

unsigned __wrap_ucp_worker_progress(ucp_worker_h worker)
{
    (void)worker;
    turn++;
    if (coming != 0) {
        coming--;
        unexpected++;
        return 1;
    }
    if (turn == ends_at)
        message_ends(end_status);
    if (turn == fails_at)
        endpoint_error.cb(endpoint_error.arg, (void *)&endpoint_place,
                          UCS_ERR_ENDPOINT_TIMEOUT);
    return turn == ends_at || turn == fails_at;
}

ucs_status_t __wrap_ucp_worker_arm(ucp_worker_h worker)
{
    (void)worker;
    return UCS_OK;
}

/* ---- the net ---- */

typedef struct job {
    xyl_net_t *net;
    xyl_fifo_t ready;
    xyl_event_t event;
    uint64_t word;
} job_t;

static void nothing(xyl_event_t *event)
{
    (void)event;
}

static void peer_failed(void *arg, uint32_t peer)
{
    (void)arg;
    CHECK_EQ(peer, PEER);
    told++;
}

static void send_post(job_t *job)
{
    job->event = (xyl_event_t){.handle = nothing};
    job->net->ops->send(job->net, PEER, TAG, &job->word, sizeof job->word,
                        &job->event);
}

static void net_begin(job_t *job, unsigned ends, unsigned fails)
{
    const xyl_net_params_t params = {
        .ranks = RANKS, .ready = &job->ready, .reason_ns = REASON_NS};
    const uint8_t is_local[RANKS] = {1, 0};
    const void *addresses[RANKS];
    size_t bytes;

    turn = told = sent = 0;
    ends_at = ends;
    fails_at = fails;
    message.is_under_way = 0;
    xyl_fifo_init(&job->ready);
    CHECK_EQ(xyl_nets_create("ucx", &params, &job->net), XYLEM_OK);
    addresses[0] = addresses[PEER] = job->net->ops->address(job->net, &bytes);
    CHECK_EQ(
        job->net->ops->connect(job->net, RANKS, addresses, is_local, RANKS),
        XYLEM_OK);
    job->net->peer_failed = peer_failed;
}

/* Begins a message that UCX reports as canceled in one turn; in another, or
 * never, it reports that the endpoint has failed. */
static void begin(job_t *job, int is_send, unsigned ends, unsigned fails)
{
    net_begin(job, ends, fails);
    sends_end_at_once = !is_send; /* then the send only makes the endpoint */
    send_post(job);
    if (is_send)
        return;
    CHECK(xyl_fifo_pop(&job->ready) == &job->event);
    job->event = (xyl_event_t){.handle = nothing};
    job->net->ops->recv(job->net, TAG, &job->word, sizeof job->word,
                        &job->event);
}

/* The message's event comes once, and no thread sleeps before. */
static xylem_status_t end(job_t *job)
{
    const xyl_net_ops_t *ops = job->net->ops;
    xyl_event_t *event = xyl_fifo_pop(&job->ready);
    unsigned i;

    for (i = 0; i < TURNS_MAX && event == NULL; i++) {
        (void)ops->progress(job->net);
        event = xyl_fifo_pop(&job->ready);
        if (event == NULL && !message.is_under_way) /* a sleeper would wait */
            CHECK_EQ(ops->arm(job->net), XYLEM_ERR_BUSY);
    }
    CHECK(event == &job->event);
    CHECK_EQ(ops->arm(job->net), XYLEM_OK);
    ops->destroy(job->net);
    CHECK(xyl_fifo_is_empty(&job->ready));
    return event == NULL ? XYLEM_ERR_INTERNAL : event->status;
}

/* UCX ends operations for a peer that refuses connections in this way, a turn
 * before it reports that the connection has failed. */
static void test_death_after_the_message(void)
{
    int is_send;

    for (is_send = 0; is_send < 2; is_send++) {
        job_t job;
        begin(&job, is_send, 1, 2);
        CHECK_EQ(end(&job), XYLEM_ERR_PROC_FAILED);
        CHECK_EQ(told, 1);
    }
}

/* UCX may also say that the endpoint is not connected. */
static void test_death_after_no_connection(void)
{
    end_status = UCS_ERR_NOT_CONNECTED;
    test_death_after_the_message();
    end_status = UCS_ERR_CANCELED;
}

/* Which is as long as it takes to connect once more, and to be refused. */
static void test_death_long_after_the_message(void)
{
    job_t job;

    begin(&job, 1, 1, LATE_TURN);
    CHECK_EQ(end(&job), XYLEM_ERR_PROC_FAILED);
    CHECK_EQ(turn, LATE_TURN);
}

static void test_death_before_the_message(void)
{
    job_t job;

    begin(&job, 1, 2, 1);
    CHECK_EQ(end(&job), XYLEM_ERR_PROC_FAILED);
    CHECK_EQ(told, 1);
}

static void test_nobody_dies(void)
{
    int is_send;

    for (is_send = 0; is_send < 2; is_send++) {
        job_t job;
        begin(&job, is_send, 1, 0);
        CHECK_EQ(end(&job), XYLEM_ERR_NET);
        CHECK_EQ(told, 0);
    }
}

static void test_asked_for(void)
{
    job_t job;

    begin(&job, 0, 0, 0);
    job.net->ops->cancel(job.net, &job.event);
    CHECK(!message.is_under_way);
    CHECK_EQ(end(&job), XYLEM_ERR_CANCELED);
    CHECK_EQ(turn, 0);
}

/* Events that wait for an explanation come in any case. */
static void test_end_meanwhile(void)
{
    job_t job;

    begin(&job, 1, 1, 0);
    (void)job.net->ops->progress(job.net);
    CHECK(xyl_fifo_is_empty(&job.ready));
    job.net->ops->destroy(job.net);
    CHECK(xyl_fifo_pop(&job.ready) == &job.event);
    CHECK(job.event.status != XYLEM_OK);
    CHECK(xyl_fifo_is_empty(&job.ready));
}

/* Nothing is given to UCX before its connection stands. */
static void test_first_messages(void)
{
    job_t job;

    flush_takes_time = 1;
    begin(&job, 1, 0, 0);
    CHECK(flush.user_data != NULL);
    (void)job.net->ops->progress(job.net);
    CHECK(!message.is_under_way);
    CHECK(!job.net->ops->is_flushed(job.net));
    flush_ends(UCS_OK);
    (void)job.net->ops->progress(job.net);
    CHECK(message.is_under_way);
    ends_at = turn + 1;
    fails_at = turn + 2;
    CHECK_EQ(end(&job), XYLEM_ERR_PROC_FAILED);
    flush_takes_time = 0;
}

static void test_end_before_the_connection(void)
{
    job_t job;

    flush_takes_time = 1;
    begin(&job, 1, 0, 0);
    job.net->ops->destroy(job.net);
    CHECK(!message.is_under_way);
    CHECK(xyl_fifo_pop(&job.ready) == &job.event);
    CHECK_EQ(job.event.status, XYLEM_ERR_CANCELED);
    CHECK(xyl_fifo_is_empty(&job.ready));
    flush_takes_time = 0;
}

/* Messages for a peer whose connection is being made. For one of them there is
 * no memory to keep it: only that one ends at once. */
static void held_begin(job_t *job, xyl_event_t *events, uint32_t failing)
{
    uint32_t i;

    net_begin(job, 0, 0);
    for (i = 0; i < MESSAGES; i++) {
        events[i] = (xyl_event_t){.handle = nothing};
        allocations_to_failure = i == failing;
        job->net->ops->send(job->net, PEER, TAG + i, &job->word,
                            sizeof job->word, &events[i]);
    }
    CHECK_EQ(allocations_to_failure, 0);
    CHECK(xyl_fifo_pop(&job->ready) == &events[failing]);
    CHECK_EQ(events[failing].status, XYLEM_ERR_NO_MEMORY);
    CHECK(xyl_fifo_is_empty(&job->ready));
    CHECK_EQ(sent, 0);
}

static void held_end(job_t *job, xyl_event_t *events, uint32_t failing,
                     xylem_status_t status)
{
    uint32_t i;

    for (i = 0; i < MESSAGES; i++)
        if (i != failing) {
            CHECK(xyl_fifo_pop(&job->ready) == &events[i]);
            CHECK_EQ(events[i].status, status);
        }
    CHECK(xyl_fifo_is_empty(&job->ready));
    CHECK_EQ(told, 0);
}

static void test_no_memory_to_wait(void)
{
    uint32_t failing, i, nth;

    flush_takes_time = sends_end_at_once = 1;
    for (failing = 0; failing < MESSAGES; failing++) {
        xyl_event_t events[MESSAGES];
        job_t job;
        held_begin(&job, events, failing);
        CHECK(!job.net->ops->is_flushed(job.net));
        flush_ends(UCS_OK);
        (void)job.net->ops->progress(job.net);
        CHECK_EQ(sent, MESSAGES - 1);
        for (i = nth = 0; i < MESSAGES; i++)
            if (i != failing)
                CHECK_EQ(sent_tags[nth++], TAG + i);
        held_end(&job, events, failing, XYLEM_OK);
        CHECK(job.net->ops->is_flushed(job.net));
        job.net->ops->send(job.net, PEER, TAG, &job.word, sizeof job.word,
                           &events[failing]); /* again, and needs none now */
        CHECK(xyl_fifo_pop(&job.ready) == &events[failing]);
        CHECK_EQ(events[failing].status, XYLEM_OK);
        job.net->ops->destroy(job.net);
        CHECK(xyl_fifo_is_empty(&job.ready));
    }
    flush_takes_time = 0;
}

static void test_no_memory_to_wait_at_the_end(void)
{
    uint32_t failing;

    flush_takes_time = sends_end_at_once = 1;
    for (failing = 0; failing < MESSAGES; failing++) {
        xyl_event_t events[MESSAGES];
        job_t job;
        held_begin(&job, events, failing);
        job.net->ops->destroy(job.net);
        CHECK_EQ(sent, 0);
        held_end(&job, events, failing, XYLEM_ERR_CANCELED);
    }
    flush_takes_time = 0;
}

/* Some messages come behind the last that was dropped: UCX must not have them
 * in the end. If none was dropped that is a mistake, which UCX is to name. */
static void test_drop(void)
{
    uint32_t drops;

    for (drops = 0; drops < 2; drops++) {
        job_t job;
        net_begin(&job, 0, 0);
        unexpected = 2;
        if (drops) {
            job.net->ops->drop(job.net, 0, 0);
            CHECK_EQ(unexpected, 0);
            unexpected = 1;
            coming = 3;
        }
        CHECK(job.net->ops->is_flushed(job.net));
        job.net->ops->destroy(job.net);
        CHECK_EQ(coming, 0);
        CHECK_EQ(unexpected, drops ? 0 : 2);
    }
    unexpected = 0;
}

/* UCX calls its worker flushed though its peer has not answered a message that
 * goes by rendezvous. */
static void test_flush(void)
{
    job_t job;

    begin(&job, 1, 2, 0);
    CHECK(!job.net->ops->is_flushed(job.net));
    (void)job.net->ops->progress(job.net);
    CHECK(!job.net->ops->is_flushed(job.net));
    (void)job.net->ops->progress(job.net);
    CHECK(!message.is_under_way);
    CHECK(job.net->ops->is_flushed(job.net));
    CHECK_EQ(end(&job), XYLEM_ERR_NET);
}

static const check_case_t cases[] = {
    {"ucx: a message is canceled a turn before its peer is found dead",
     test_death_after_the_message},
    {"ucx: a message lacks a connection a turn before its peer is found dead",
     test_death_after_no_connection},
    {"ucx: and many turns before", test_death_long_after_the_message},
    {"ucx: and a turn after", test_death_before_the_message},
    {"ucx: nobody is found dead", test_nobody_dies},
    {"ucx: a receive that is given up", test_asked_for},
    {"ucx: the net ends before it is known why", test_end_meanwhile},
    {"ucx: messages wait until their peer is connected", test_first_messages},
    {"ucx: the net ends before", test_end_before_the_connection},
    {"ucx: messages that nobody wants come at the end", test_drop},
    {"ucx: a flush ends before what was sent", test_flush},
    {"ucx: no memory for one to wait", test_no_memory_to_wait},
    {"ucx: and the net ends before", test_no_memory_to_wait_at_the_end},
};

CHECK_MAIN(cases)
