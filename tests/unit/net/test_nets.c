/* The contract of progress/net/net.h on every net of the library, in a job of
 * one rank that sends to itself. */
#include <string.h>

#include "progress/net/nets.h"
#include "runtime/base/log.h"
#include "tests/support/check.h"

enum {
    TURNS_MAX = 10000000,
    TAG = 7,
    WORDS = 1 << 16, /* more than any net sends at once */
    PAIRS = 3
};

typedef struct job {
    xyl_net_t *net;
    xyl_fifo_t ready;
} job_t;

static void nothing(xyl_event_t *event)
{
    (void)event;
}

static xyl_event_t fresh(void)
{
    return (xyl_event_t){.handle = nothing};
}

static void begin(job_t *job, const xyl_net_ops_t *ops)
{
    const xyl_net_params_t params = {.ranks = 1, .ready = &job->ready};
    const uint8_t is_local = 1;
    const void *address;
    size_t bytes;

    xyl_fifo_init(&job->ready);
    CHECK_EQ(xyl_nets_create(ops->name, &params, &job->net), XYLEM_OK);
    CHECK(job->net->ops == ops);
    CHECK_EQ(ops->address == NULL, ops->connect == NULL);
    if (ops->connect == NULL)
        return;
    address = ops->address(job->net, &bytes);
    CHECK(bytes != 0);
    CHECK_EQ(ops->connect(job->net, 1, &address, &is_local, 1), XYLEM_OK);
}

/* Takes `count` events; no more come with them. */
static void take(job_t *job, unsigned count)
{
    unsigned turns, taken = 0;

    for (turns = 0; turns < TURNS_MAX && taken < count; turns++) {
        (void)job->net->ops->progress(job->net);
        while (xyl_fifo_pop(&job->ready) != NULL)
            taken++;
    }
    CHECK_EQ(taken, count);
}

static void end(job_t *job)
{
    unsigned turns = 0;

    while (!job->net->ops->is_flushed(job->net) && turns++ < TURNS_MAX)
        (void)job->net->ops->progress(job->net);
    CHECK(turns < TURNS_MAX);
    job->net->ops->destroy(job->net);
}

#define FOR_EACH_NET(ops)                                                      \
    for (const xyl_net_ops_t *const *ops = xyl_nets; *(ops) != NULL; (ops)++)

/* ---- messages ---- */

static uint64_t sent[WORDS], received[WORDS];

static void send_words(job_t *job, uint64_t tag, size_t words,
                       xyl_event_t *event)
{
    *event = fresh();
    job->net->ops->send(job->net, 0, tag, sent, words * sizeof *sent, event);
}

static void recv_words(job_t *job, uint64_t tag, size_t words,
                       xyl_event_t *event)
{
    *event = fresh();
    job->net->ops->recv(job->net, tag, received, words * sizeof *received,
                        event);
}

static void check_message(job_t *job, size_t words, int sends_first)
{
    xyl_event_t send, recv;
    size_t i;

    for (i = 0; i < words; i++) {
        sent[i] = i * 3 + words;
        received[i] = 0;
    }
    if (sends_first)
        send_words(job, TAG, words, &send);
    recv_words(job, TAG, words, &recv);
    if (!sends_first)
        send_words(job, TAG, words, &send);
    take(job, 2);
    CHECK_EQ(send.status, XYLEM_OK);
    CHECK_EQ(recv.status, XYLEM_OK);
    CHECK(memcmp(sent, received, words * sizeof *sent) == 0);
}

static void test_message(void)
{
    static const size_t words[] = {0, 1, 100, WORDS};
    unsigned i;

    FOR_EACH_NET(ops)
    {
        job_t job;
        begin(&job, *ops);
        for (i = 0; i < 2 * sizeof words / sizeof words[0]; i++)
            check_message(&job, words[i / 2], i % 2);
        end(&job);
    }
}

/* Messages with equal tags match in order, others by their tags. */
static void test_matching(void)
{
    static const uint64_t tags[PAIRS] = {TAG, TAG + 1, TAG};

    FOR_EACH_NET(ops)
    {
        static const uint64_t values[PAIRS] = {10, 11, 12};
        xyl_event_t sends[PAIRS], recvs[PAIRS];
        uint64_t got[PAIRS] = {0};
        unsigned i;
        job_t job;

        begin(&job, *ops);
        for (i = 0; i < PAIRS; i++) {
            sends[i] = fresh();
            job.net->ops->send(job.net, 0, tags[i], &values[i],
                               sizeof values[i], &sends[i]);
        }
        for (i = PAIRS; i-- > 0;) {
            recvs[i] = fresh();
            job.net->ops->recv(job.net, tags[i], &got[i], sizeof got[i],
                               &recvs[i]);
        }
        take(&job, 2 * PAIRS);
        CHECK_EQ(got[2], values[0]);
        CHECK_EQ(got[1], values[1]);
        CHECK_EQ(got[0], values[2]);
        end(&job);
    }
}

static void test_too_long(void)
{
    FOR_EACH_NET(ops)
    {
        xyl_event_t send, recv;
        job_t job;

        begin(&job, *ops);
        received[1] = 5;
        recv_words(&job, TAG, 1, &recv);
        send_words(&job, TAG, 2, &send);
        take(&job, 2);
        CHECK_EQ(send.status, XYLEM_OK);
        CHECK_EQ(recv.status, XYLEM_ERR_TRUNCATED);
        CHECK_EQ(received[1], 5);
        end(&job);
    }
}

static void test_too_short(void)
{
    FOR_EACH_NET(ops)
    {
        xyl_event_t send, recv;
        int is_early;

        for (is_early = 0; is_early < 2; is_early++) {
            job_t job;
            begin(&job, *ops);
            if (is_early)
                recv_words(&job, TAG, 2, &recv);
            send_words(&job, TAG, 1, &send);
            (void)job.net->ops->progress(job.net);
            if (!is_early)
                recv_words(&job, TAG, 2, &recv);
            take(&job, 2);
            CHECK_EQ(send.status, XYLEM_OK);
            CHECK_EQ(recv.status, XYLEM_ERR_MISMATCH);
            end(&job);
        }
    }
}

/* The length that a receive for messages of several lengths reports. */
static void test_may_be_shorter(void)
{
    static const size_t words[] = {0, 1, 100, WORDS - 1, WORDS};
    unsigned i;

    FOR_EACH_NET(ops)
    {
        job_t job;
        begin(&job, *ops);
        for (i = 0; i < 2 * sizeof words / sizeof words[0]; i++) {
            xyl_event_t send, recv = fresh();
            size_t count = words[i / 2];

            sent[0] = i;
            received[0] = ~UINT64_C(0);
            recv.takes_shorter = 1;
            if (i % 2 == 0)
                send_words(&job, TAG, count, &send);
            (*ops)->recv(job.net, TAG, received, sizeof received, &recv);
            if (i % 2 != 0)
                send_words(&job, TAG, count, &send);
            take(&job, 2);
            CHECK_EQ(recv.status, XYLEM_OK);
            CHECK_EQ(recv.net_bytes, count * sizeof *sent);
            CHECK_EQ(received[0], count == 0 ? ~UINT64_C(0) : i);
        }
        end(&job);
    }
}

static void test_cancel(void)
{
    FOR_EACH_NET(ops)
    {
        xyl_event_t recv;
        job_t job;

        begin(&job, *ops);
        recv_words(&job, TAG, 1, &recv);
        (*ops)->cancel(job.net, &recv);
        take(&job, 1);
        CHECK_EQ(recv.status, XYLEM_ERR_CANCELED);
        check_message(&job, 1, 0); /* is matched by no other */
        end(&job);
    }
}

/* Dropped messages hold up no sender; the others stay. */
static void test_drop(void)
{
    FOR_EACH_NET(ops)
    {
        xyl_event_t unwanted, wanted, recv;
        job_t job;

        if ((*ops)->drop == NULL)
            continue;
        begin(&job, *ops);
        send_words(&job, TAG, WORDS, &unwanted);
        send_words(&job, TAG + 1, WORDS, &wanted);
        (void)job.net->ops->progress(job.net);
        (*ops)->drop(job.net, TAG, UINT64_MAX);
        take(&job, 1);
        CHECK_EQ(unwanted.status, XYLEM_OK);
        recv_words(&job, TAG + 1, WORDS, &recv);
        take(&job, 2);
        CHECK_EQ(recv.status, XYLEM_OK);
        end(&job);
    }
}

/* ---- the list ---- */

static void test_choice(void)
{
    xyl_fifo_t ready;
    xyl_net_params_t params = {.ranks = 1, .ready = &ready};
    xyl_net_t *net;

    xyl_log_level_set(XYL_LOG_NONE); /* failures print messages */
    xyl_fifo_init(&ready);
    CHECK_EQ(xyl_nets_create(NULL, &params, &net), XYLEM_OK);
    CHECK(net->ops == xyl_nets[0]);
    net->ops->destroy(net);
    params.ranks = 2;
    CHECK_EQ(xyl_nets_create(NULL, &params, &net), XYLEM_OK);
    CHECK(net->ops->capabilities & XYL_NET_REACHES_OTHERS);
    net->ops->destroy(net);
    CHECK_EQ(xyl_nets_create("self", &params, &net), XYLEM_ERR_CONFIG);
    CHECK_EQ(xyl_nets_create("pigeons", &params, &net), XYLEM_ERR_CONFIG);
}

static const check_case_t cases[] = {
    {"nets: messages of all lengths, whichever half comes first", test_message},
    {"nets: matching by tags, in order", test_matching},
    {"nets: a message longer than its buffer", test_too_long},
    {"nets: a message shorter than its buffer", test_too_short},
    {"nets: a receive that takes shorter messages, too", test_may_be_shorter},
    {"nets: a receive that is given up", test_cancel},
    {"nets: messages that nobody wants", test_drop},
    {"nets: which one a job takes", test_choice},
};

CHECK_MAIN(cases)
