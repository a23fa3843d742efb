/* The net over UCX as on several machines, where only its connections tell that
 * a peer, a process of this test, has died. With MOMENTS=FIRST,COUNT in the
 * environment peers also die at random moments, by so many seeds.
 *
 * The peer runs this program anew, with arguments of its own: UCX has a thread
 * from before main on, and a process forked from one with threads may find a
 * lock that no thread will ever release. */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/net/nets.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum {
    SELF = 0,
    PEER = 1,
    RANKS = 2,
    SENDS = 3,
    TAG = 7,
    WORDS = 1 << 16, /* more than UCX sends without being asked */
    TURN_US = 100,
    TURNS = 1000,
    TURNS_MAX = 1000000,
    WORD_BYTES = 24 /* of an argument */
};

typedef struct job {
    xyl_net_t *net;
    xyl_fifo_t ready;
    void *other; /* address */
    pid_t pid;   /* of the peer, as SELF knows it */
    uint32_t rank;
    int from, to;
    int is_told; /* that the other has died */
} job_t;

static uint64_t words[WORDS];

static void nothing(xyl_event_t *event)
{
    (void)event;
}

static void peer_failed(void *arg, uint32_t peer)
{
    job_t *job = arg;

    CHECK_EQ(peer, !job->rank);
    job->is_told = 1;
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

    job->rank = rank;
    xyl_fifo_init(&job->ready);
    CHECK_EQ(xyl_nets_create("ucx", &params, &job->net), XYLEM_OK);
    addresses[rank] = job->net->ops->address(job->net, &bytes);
    exchange(job, addresses[rank], bytes);
    addresses[!rank] = job->other;
    CHECK_EQ(
        job->net->ops->connect(job->net, RANKS, addresses, is_local, RANKS),
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
static void peer_speak(job_t *job, uint64_t speaks)
{
    static xyl_event_t event;

    join(job, PEER);
    if (speaks)
        post(job, SELF, WORDS, &event);
    CHECK(write(job->to, "", 1) == 1);
    for (;;)
        pause();
}

/* In the child of a fork, which does nothing else. */
static void peer_become(int from, int to, const char *role, uint64_t number)
{
    char from_word[WORD_BYTES], to_word[WORD_BYTES], number_word[WORD_BYTES];
    char path[PATH_MAX];
    /* The path, as valgrind stands between this process and the link. */
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length < 0)
        _exit(EXIT_FAILURE);
    path[length] = '\0';
    snprintf(from_word, sizeof from_word, "%d", from);
    snprintf(to_word, sizeof to_word, "%d", to);
    snprintf(number_word, sizeof number_word, "%" PRIu64, number);
    execl(path, path, role, from_word, to_word, number_word, (char *)NULL);
    _exit(EXIT_FAILURE);
}

/* Begins with a peer that plays a role of main until it is killed. */
static void begin(job_t *job, const char *role, uint64_t number)
{
    int down[2] = {-1, -1}, up[2] = {-1, -1};
    char byte;

    memset(job, 0, sizeof *job);
    CHECK(pipe(down) == 0 && pipe(up) == 0);
    job->pid = fork();
    CHECK(job->pid >= 0);
    if (job->pid == 0) {
        close(down[1]);
        close(up[0]);
        peer_become(down[0], up[1], role, number);
    }
    close(down[0]);
    close(up[1]);
    job->from = up[0];
    job->to = down[1];
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

/* Operations fail only after this side was told why. Returns how many have. */
static unsigned take_ends(job_t *job, unsigned count)
{
    unsigned i, taken = 0, failed = 0;

    for (i = 0; i < TURNS_MAX && taken < count; i++) {
        xyl_event_t *event;
        (void)job->net->ops->progress(job->net);
        while ((event = xyl_fifo_pop(&job->ready)) != NULL) {
            taken++;
            if (event->status == XYLEM_OK)
                continue;
            failed++;
            CHECK(job->is_told);
            CHECK(event->status == XYLEM_ERR_PROC_FAILED ||
                  event->status == XYLEM_ERR_NET);
        }
    }
    CHECK_EQ(taken, count);
    return failed;
}

/* Sends with connections of the peer that this side has accepted, or not yet.
 */
static void check_sends(unsigned speaks, int is_accepted, size_t count)
{
    xyl_event_t events[SENDS];
    unsigned i;
    job_t job;

    begin(&job, "speak", speaks);
    if (is_accepted)
        turns(&job);
    peer_kill(&job);
    for (i = 0; i < SENDS; i++)
        post(&job, PEER, count, &events[i]);
    CHECK_EQ(take_ends(&job, SENDS), SENDS);
    end(&job);
}

static void test_never_heard_of(void)
{
    check_sends(0, 0, 1);
    check_sends(0, 0, WORDS);
}

/* UCX 1.13 ends the process if it takes the peer's connection, learns by it
 * that the peer has gone, and connects itself while it waits. */
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
    unsigned speaks;

    for (speaks = 0; speaks < 2; speaks++) {
        xyl_event_t events[SENDS];
        unsigned i;
        job_t job;
        begin(&job, "speak", speaks);
        for (i = 0; i < SENDS; i++)
            post(&job, PEER, WORDS, &events[i]);
        turns(&job);
        peer_kill(&job);
        CHECK_EQ(take_ends(&job, SENDS), SENDS);
        end(&job);
    }
}

/* ---- at random ---- */

enum {
    MOMENT_SENDS = 4,
    LATE_US = 3000,
    DEATH_US = 1500,
    LATE_DEATH_US = 20000
};

typedef struct moment {
    size_t count[RANKS]; /* words of a message of each */
    unsigned sends[RANKS];
    unsigned death_us, stop_us, late_us; /* of the peer twice, of the other */
    int peer_looks, other_looks;         /* at the net, until then */
} moment_t;

static moment_t moment_of(uint64_t seed)
{
    static const size_t counts[] = {1, 40, 600, 2500, 25000};
    enum { COUNTS = sizeof counts / sizeof counts[0] };
    uint64_t random = random_mix(seed);
    moment_t moment = {
        .count = {counts[random_below(&random, COUNTS)],
                  counts[random_below(&random, COUNTS)]},
        .sends = {1 + (unsigned)random_below(&random, MOMENT_SENDS),
                  (unsigned)random_below(&random, SENDS)},
    };

    moment.death_us = (unsigned)random_below(
        &random, random_below(&random, 3) != 0 ? DEATH_US : LATE_DEATH_US);
    moment.stop_us = (unsigned)random_below(&random, 2 * DEATH_US);
    moment.late_us = random_below(&random, 2) == 0
                         ? 0
                         : (unsigned)random_below(&random, LATE_US);
    moment.peer_looks = random_below(&random, 4) != 0;
    moment.other_looks = random_below(&random, 2) == 0;
    return moment;
}

/* Lets time pass, with turns in the first part of it. */
static void pass(const job_t *job, unsigned turns_us, unsigned all_us)
{
    uint64_t begin = xyl_clock_now(xyl_clock_system()), now = begin;

    for (; now - begin < all_us * UINT64_C(1000);
         now = xyl_clock_now(xyl_clock_system()))
        if (now - begin < turns_us * UINT64_C(1000))
            (void)job->net->ops->progress(job->net);
}

static void posts(const job_t *job, uint32_t peer, const moment_t *moment,
                  xyl_event_t *events)
{
    unsigned i, mine = moment->sends[!peer];

    for (i = 0; i < mine; i++)
        post(job, peer, moment->count[!peer], &events[i]);
}

static void peer_die(job_t *job, uint64_t seed)
{
    static xyl_event_t events[SENDS];
    moment_t moment = moment_of(seed);

    join(job, PEER);
    CHECK(write(job->to, "", 1) == 1);
    posts(job, SELF, &moment, events);
    pass(job, moment.peer_looks ? moment.stop_us : 0, moment.death_us);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void check_moment(uint64_t seed)
{
    xyl_event_t events[MOMENT_SENDS];
    moment_t moment = moment_of(seed);
    job_t job;

    begin(&job, "die", seed);
    pass(&job, moment.other_looks ? moment.late_us : 0, moment.late_us);
    posts(&job, PEER, &moment, events);
    (void)take_ends(&job, moment.sends[SELF]);
    CHECK(waitpid(job.pid, NULL, 0) == job.pid);
    end(&job);
}

static void test_moments(void)
{
    const char *asked = getenv("MOMENTS");
    unsigned long long first = 0, count = 0, seed;

    if (asked != NULL)
        CHECK(sscanf(asked, "%llu,%llu", &first, &count) == 2);
    for (seed = first; seed < first + count; seed++)
        check_moment(seed);
}

static const check_case_t cases[] = {
    {"deaths: messages to a peer that never spoke", test_never_heard_of},
    {"deaths: messages to one that has", test_has_spoken},
    {"deaths: and was not heard before", test_has_spoken_unheard},
    {"deaths: messages that are under way", test_dies_meanwhile},
    {"deaths: at random moments", test_moments},
};

/* ROLE FROM TO NUMBER, as peer_become writes them. */
static int peer_main(char **role)
{
    job_t job = {.from = atoi(role[1]), .to = atoi(role[2])};
    uint64_t number = strtoull(role[3], NULL, 10);

    if (strcmp(role[0], "speak") == 0)
        peer_speak(&job, number);
    peer_die(&job, number);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    xyl_log_level_set(XYL_LOG_NONE); /* failures print messages */
    if (argc == 5)
        return peer_main(argv + 1);
    return check_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
