/* The net over UCX as on several machines, where only its connections tell that
 * a peer has died: a process of this test's. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/net/nets.h"
#include "runtime/base/log.h"
#include "tests/support/check.h"

enum {
    SELF = 0,
    PEER = 1,
    RANKS = 2,
    SENDS = 3,
    TAG = 7,
    WORDS = 1 << 16, /* more than UCX sends before it is asked for */
    TURN_US = 100,
    TURNS = 1000,
    TURNS_MAX = 1000000
};

typedef struct job {
    xyl_net_t *net;
    xyl_fifo_t ready;
    void *other; /* address */
    pid_t pid;   /* of the peer, as SELF knows it */
    int from, to;
    int is_told; /* that the peer has died */
} job_t;

static uint64_t words[WORDS];

static void nothing(xyl_event_t *event)
{
    (void)event;
}

static void peer_failed(void *arg, uint32_t peer)
{
    CHECK_EQ(peer, PEER);
    ((job_t *)arg)->is_told = 1;
}

static void exchange(job_t *job, const void *mine, size_t bytes)
{
    size_t others;

    CHECK(write(job->to, &bytes, sizeof bytes) == sizeof bytes);
    CHECK(write(job->to, mine, bytes) == (ssize_t)bytes);
    CHECK(read(job->from, &others, sizeof others) == sizeof others);
    job->other = malloc(others);
    CHECK(job->other != NULL);
    CHECK(read(job->from, job->other, others) == (ssize_t)others);
}

static void join(job_t *job, uint32_t rank)
{
    const xyl_net_params_t params = {
        .rank = rank, .ranks = RANKS, .ready = &job->ready};
    const uint8_t is_local[RANKS] = {rank == SELF, rank == PEER};
    const void *addresses[RANKS];
    size_t bytes;

    xyl_fifo_init(&job->ready);
    CHECK_EQ(xyl_net_create("ucx", &params, &job->net), XYLEM_OK);
    addresses[rank] = job->net->ops->address(job->net, &bytes);
    exchange(job, addresses[rank], bytes);
    addresses[!rank] = job->other;
    CHECK_EQ(job->net->ops->connect(job->net, RANKS, addresses, is_local),
             XYLEM_OK);
    job->net->peer_failed = peer_failed;
    job->net->peer_arg = job;
}

static void turns(const job_t *job)
{
    unsigned i;

    for (i = 0; i < TURNS; i++) {
        (void)job->net->ops->progress(job->net);
        usleep(TURN_US);
    }
}

static void post(const job_t *job, uint32_t peer, size_t count,
                 xyl_event_t *event)
{
    *event = (xyl_event_t){.handle = nothing};
    job->net->ops->send(job->net, peer, TAG, words, count * sizeof *words,
                        event);
}

/* Begins to connect, perhaps, and looks at nothing that comes. */
static _Noreturn void peer_run(job_t *job, int speaks)
{
    static xyl_event_t event;

    join(job, PEER);
    if (speaks)
        post(job, SELF, WORDS, &event);
    CHECK(write(job->to, "", 1) == 1);
    for (;;)
        pause();
}

static void begin(job_t *job, int speaks)
{
    int down[2], up[2];
    char byte;

    memset(job, 0, sizeof *job);
    CHECK(pipe(down) == 0 && pipe(up) == 0);
    job->pid = fork();
    CHECK(job->pid >= 0);
    job->from = job->pid == 0 ? down[0] : up[0];
    job->to = job->pid == 0 ? up[1] : down[1];
    close(job->pid == 0 ? down[1] : up[1]);
    close(job->pid == 0 ? up[0] : down[0]);
    if (job->pid == 0)
        peer_run(job, speaks);
    join(job, SELF);
    CHECK(read(job->from, &byte, 1) == 1);
}

static void peer_kill(const job_t *job)
{
    CHECK(kill(job->pid, SIGKILL) == 0);
    CHECK(waitpid(job->pid, NULL, 0) == job->pid);
}

static void end(job_t *job)
{
    job->net->ops->destroy(job->net);
    free(job->other);
    close(job->from);
    close(job->to);
}

/* They fail, and not before it is told why. */
static void take_failures(job_t *job)
{
    unsigned i, taken = 0;

    for (i = 0; i < TURNS_MAX && taken < SENDS; i++) {
        xyl_event_t *event;
        (void)job->net->ops->progress(job->net);
        while ((event = xyl_fifo_pop(&job->ready)) != NULL) {
            CHECK(job->is_told);
            CHECK(event->status == XYLEM_ERR_PROC_FAILED ||
                  event->status == XYLEM_ERR_NET);
            taken++;
        }
    }
    CHECK_EQ(taken, SENDS);
}

/* With connections of the peer's that this side has accepted, or not yet. */
static void check_sends(int speaks, int is_accepted, size_t count)
{
    xyl_event_t events[SENDS];
    unsigned i;
    job_t job;

    begin(&job, speaks);
    if (is_accepted)
        turns(&job);
    peer_kill(&job);
    for (i = 0; i < SENDS; i++)
        post(&job, PEER, count, &events[i]);
    take_failures(&job);
    end(&job);
}

static void test_never_heard_of(void)
{
    check_sends(0, 0, 1);
    check_sends(0, 0, WORDS);
}

/* UCX 1.13 ends the process where it takes the peer's connection, is told by
 * that that the peer has gone, and connects itself while it waits. */
static void test_has_spoken(void)
{
    check_sends(1, 1, 1);
    check_sends(1, 1, WORDS);
}

static void test_has_spoken_unheard(void)
{
    check_sends(1, 0, 1);
    check_sends(1, 0, WORDS);
}

/* Some turns later the first is on its way, and the peer does not answer. */
static void test_dies_meanwhile(void)
{
    int speaks;

    for (speaks = 0; speaks < 2; speaks++) {
        xyl_event_t events[SENDS];
        unsigned i;
        job_t job;
        begin(&job, speaks);
        for (i = 0; i < SENDS; i++)
            post(&job, PEER, WORDS, &events[i]);
        turns(&job);
        peer_kill(&job);
        take_failures(&job);
        end(&job);
    }
}

static const check_case_t cases[] = {
    {"deaths: messages to a peer that never spoke", test_never_heard_of},
    {"deaths: messages to one that has", test_has_spoken},
    {"deaths: and was not heard before", test_has_spoken_unheard},
    {"deaths: messages that are under way", test_dies_meanwhile},
};

int main(int argc, char **argv)
{
    xyl_log_level_set(XYL_LOG_NONE); /* what fails says so */
    return check_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
