/* Remote tasks on the simulated net: each runs exactly once, functions that
 * were not registered never run, senders are told, and a death ends all with a
 * status; with random protocols, orders and delays. */
#include <stdlib.h>
#include <string.h>

#include "collectives/tasks/table.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum {
    RANKS_MAX = 6,
    TASKS = 60, /* that a rank starts */
    IN_FLIGHT = 24,
    POOL = RANKS_MAX * TASKS,
    LONG_MAX = 5000,
    FAILING = 1000, /* status of a task that fails: and its number more */
    PAYLOAD_MAX = 4000
};

/* The entries of the table. */
enum {
    PLAIN,
    GAP,
    PLACED,
    HANDED,
    REVOKED, /* sooner or later */
    FAILS,
    FULL,   /* has no place for payloads */
    QUEUED, /* has no function: others end it */
    ENTRIES,
    BEYOND = ENTRIES + 3,
    KINDS
};

typedef struct job job_t;

typedef struct sent {
    job_t *job;
    xylem_request_t *request;
    uint32_t kind, rank;
    int waits;  /* until it has run */
    int is_bad; /* the receiver must refuse it: with this status */
    xylem_status_t refusal;
    uint32_t told; /* how often */
    xylem_status_t status;
    uint32_t ran;     /* how often */
    uint32_t dropped; /* how often its memory was dropped */
    size_t payload_bytes;
    char payload[PAYLOAD_MAX];
} sent_t;

typedef struct args {
    uint32_t number; /* among all */
    uint32_t check;
} args_t;

struct job {
    fabric_t *fabric;
    uint32_t ranks;
    uint64_t random;
    xylem_tasks_t *tasks[RANKS_MAX];
    xylem_request_t *requests[RANKS_MAX]; /* of opening and closing */
    uint32_t started[RANKS_MAX];
    uint32_t completed[RANKS_MAX];
    uint32_t in_flight[RANKS_MAX];
    sent_t *sent; /* [ranks * TASKS] */
    xylem_task_t *pool[POOL];
    uint32_t pooled;
    int is_ending;   /* the dead are back, alone */
    uint32_t misses; /* tasks that came with wrong bytes */
};

static job_t *the_job; /* one at a time */

/* ---- at the receiver ---- */

static char byte_of(uint32_t number, size_t at)
{
    return (char)(number * 7 + at * 13);
}

static sent_t *sent_of(const xylem_task_t *task)
{
    job_t *job = the_job;
    args_t args;

    memcpy(&args, task->args, sizeof args);
    if (args.check != ~args.number || args.number >= job->ranks * TASKS ||
        args.number / TASKS != task->source) {
        job->misses++;
        return &job->sent[0];
    }
    return &job->sent[args.number];
}

static void check_payload(const xylem_task_t *task)
{
    sent_t *sent = sent_of(task);
    uint32_t number = (uint32_t)(sent - the_job->sent);
    const char *payload = task->payload;
    size_t i;

    the_job->misses +=
        sent->payload_bytes != task->payload_bytes || sent->kind != task->index;
    for (i = 0; i < task->payload_bytes; i++)
        the_job->misses += payload[i] != byte_of(number, i);
}

static xylem_status_t run_plain(void *arg, const xylem_task_t *task)
{
    check_payload(task);
    sent_of(task)->ran++;
    if (arg != NULL) /* placed */
        free(task->payload);
    return XYLEM_OK;
}

static xylem_status_t run_failing(void *arg, const xylem_task_t *task)
{
    (void)run_plain(arg, task);
    return (xylem_status_t)(FAILING + task->payload_bytes);
}

static void *place(void *arg, const xylem_task_t *task)
{
    void *memory = malloc(task->payload_bytes);

    (void)arg;
    CHECK(task->payload == NULL);
    memset(memory, 0x55, task->payload_bytes);
    return memory;
}

static void *place_none(void *arg, const xylem_task_t *task)
{
    (void)arg;
    (void)task;
    return NULL;
}

static void drop(void *arg, void *payload, size_t bytes)
{
    (void)arg;
    CHECK(bytes != 0);
    free(payload);
}

static void hand_over(void *arg, xylem_task_t *task)
{
    (void)arg;
    check_payload(task);
    the_job->pool[the_job->pooled++] = task;
}

static const xylem_task_entry_t entries[ENTRIES] = {
#define ENTRY .struct_bytes = sizeof(xylem_task_entry_t)
#define SIZES                                                                  \
    .args_min = sizeof(args_t), .args_max = 200, .payload_max = PAYLOAD_MAX
    [PLAIN] = {ENTRY, .run = run_plain, SIZES},
    [GAP] = {ENTRY, SIZES},
    [PLACED] = {ENTRY, .run = run_plain, .place = place, .drop = drop,
                .arg = &the_job, SIZES},
    [HANDED] = {ENTRY, .run = run_plain, .hand_over = hand_over, SIZES},
    [REVOKED] = {ENTRY, .run = run_plain, .place = place, .drop = drop,
                 .arg = &the_job, SIZES},
    [FAILS] = {ENTRY, .run = run_failing, SIZES},
    [FULL] = {ENTRY, .run = run_plain, .place = place_none, SIZES},
    [QUEUED] = {ENTRY, .hand_over = hand_over, SIZES},
};

/* ---- at the sender ---- */

static void told(void *arg, xylem_status_t status)
{
    sent_t *sent = arg;
    uint32_t source = (uint32_t)(sent - sent->job->sent) / TASKS;

    sent->told++;
    sent->status = status;
    sent->job->completed[source]++;
    sent->job->in_flight[source]--;
    if (sent->request != NULL)
        CHECK_EQ(xylem_request_free(sent->request), XYLEM_OK);
}

static size_t draw_bytes(job_t *job)
{
    switch (random_below(&job->random, 4)) {
    case 0:
        return 0;
    case 1:
        return random_below(&job->random, 64);
    case 2:
        return random_between(&job->random, XYLEM_TASK_SHORT_MAX - 2,
                              XYLEM_TASK_SHORT_MAX + 2);
    default:
        return random_below(&job->random, PAYLOAD_MAX);
    }
}

/* Spoils the arguments, so that the task cannot be taken. */
static void spoil(sent_t *sent, xylem_task_args_t *args)
{
    static const char much[LONG_MAX];

    sent->is_bad = 1;
    if (sent->payload_bytes % 3 == 0) {
        args->args_bytes = sizeof(args_t) - 1;
        sent->refusal = XYLEM_ERR_INVALID_ARG;
    } else if (sent->payload_bytes % 3 == 1) {
        args->args = much;
        args->args_bytes = 201;
        sent->refusal = XYLEM_ERR_TRUNCATED;
    } else {
        args->payload = much;
        args->payload_bytes = PAYLOAD_MAX + 1;
        sent->refusal = XYLEM_ERR_TRUNCATED;
    }
}

static void start_one(job_t *job, uint32_t rank)
{
    uint32_t number = rank * TASKS + job->started[rank]++;
    sent_t *sent = &job->sent[number];
    args_t args = {number, ~number};
    xylem_task_args_t call = XYLEM_TASK_ARGS_INIT;
    int has_request;
    size_t i;

    sent->job = job;
    sent->kind = (uint32_t)random_below(&job->random, KINDS);
    sent->rank = (uint32_t)random_below(&job->random, job->ranks);
    sent->payload_bytes = draw_bytes(job);
    for (i = 0; i < sent->payload_bytes; i++)
        sent->payload[i] = byte_of(number, i);
    call.rank = sent->rank;
    call.index = sent->kind;
    call.args = &args;
    call.args_bytes = sizeof args;
    call.payload = sent->payload;
    call.payload_bytes = sent->payload_bytes;
    call.on_complete = told;
    call.arg = sent;
    sent->waits = (int)random_below(&job->random, 2);
    if (sent->waits)
        call.flags |= XYLEM_FLAG_RAN;
    if (random_below(&job->random, 8) == 0)
        spoil(sent, &call);
    has_request = (int)random_below(&job->random, 2);
    if (!has_request)
        call.flags |= XYLEM_FLAG_AUTOFREE;
    job->in_flight[rank]++;
    CHECK_EQ(xylem_task_start(job->tasks[rank], &call,
                              has_request ? &sent->request : NULL),
             XYLEM_OK);
}

/* ---- the job ---- */

static void run_pool(job_t *job)
{
    uint32_t at = (uint32_t)random_below(&job->random, job->pooled);
    xylem_task_t *task = job->pool[at];

    if (fabric_is_dead(job->fabric, sent_of(task)->rank) && !job->is_ending)
        return;
    job->pool[at] = job->pool[--job->pooled];
    if (task->index == HANDED) {
        xylem_task_run(task);
        return;
    }
    sent_of(task)->ran++;
    xylem_task_end(task, XYLEM_OK);
}

static unsigned act(void *arg)
{
    job_t *job = arg;
    unsigned done = 0;
    uint32_t rank;

    for (rank = 0; rank < job->ranks; rank++) {
        if (fabric_is_dead(job->fabric, rank) || job->started[rank] == TASKS ||
            job->in_flight[rank] >= IN_FLIGHT)
            continue;
        done++;
        if (random_below(&job->random, 3) == 0)
            continue;
        start_one(job, rank);
        if (job->started[rank] == TASKS / 2)
            (void)xylem_tasks_revoke(job->tasks[rank], REVOKED);
    }
    for (rank = 0; job->pooled != 0 && random_below(&job->random, 2) != 0;
         rank++, done++)
        run_pool(job);
    return done + (job->pooled != 0);
}

static int some_are_told(void *arg)
{
    const job_t *job = arg;

    return job->completed[0] >= TASKS / 3;
}

static int all_are_told(void *arg)
{
    const job_t *job = arg;
    uint32_t rank;

    for (rank = 0; rank < job->ranks; rank++)
        if (!fabric_is_dead(job->fabric, rank) && job->completed[rank] != TASKS)
            return 0;
    return 1;
}

static int requests_are_over(void *arg)
{
    const job_t *job = arg;
    uint32_t rank;

    for (rank = 0; rank < job->ranks; rank++)
        if ((!fabric_is_dead(job->fabric, rank) || job->is_ending) &&
            xylem_request_test(job->requests[rank]) == XYLEM_IN_PROGRESS)
            return 0;
    return 1;
}

static void job_begin(job_t *job, uint64_t seed, uint32_t ranks, int tells)
{
    static const size_t eager[] = {0, 60, 1500, SIZE_MAX};
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = eager[seed % 4],
                                .delay_max = seed % 3 == 0 ? 0 : 20,
                                .reorder = seed % 5 != 0,
                                .shares_memory = seed % 7 == 0,
                                .tells_failures = tells};
    uint32_t rank;

    memset(job, 0, sizeof *job);
    the_job = job;
    job->ranks = ranks;
    job->random = random_mix(seed + 77);
    job->fabric = fabric_create(ranks, &options);
    fabric_label(job->fabric, "tasks");
    job->sent = calloc((size_t)ranks * TASKS, sizeof *job->sent);
    for (rank = 0; rank < ranks; rank++) {
        xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
        params.entries = entries;
        params.entry_count = ENTRIES;
        params.credits = (uint32_t)random_between(&job->random, 1, 8);
        CHECK_EQ(xylem_tasks_iopen(fabric_world(job->fabric, rank), &params,
                                   &job->tasks[rank], &job->requests[rank]),
                 XYLEM_OK);
    }
}

static void free_requests(job_t *job, xylem_status_t status)
{
    uint32_t rank;

    for (rank = 0; rank < job->ranks; rank++) {
        CHECK_EQ(xylem_request_test(job->requests[rank]), status);
        CHECK_EQ(xylem_request_free(job->requests[rank]), XYLEM_OK);
    }
}

static void job_opened(job_t *job)
{
    const fabric_script_t script = {requests_are_over, NULL, job};

    CHECK(fabric_run_until(job->fabric, &script));
    free_requests(job, XYLEM_OK);
}

static unsigned act_pool(void *arg)
{
    job_t *job = arg;
    unsigned done;

    for (done = 0; job->pooled != 0; done++)
        run_pool(job);
    return done;
}

static void job_end(job_t *job, xylem_status_t status)
{
    const fabric_script_t script = {requests_are_over, act_pool, job};
    uint32_t rank;

    for (rank = 0; rank < job->ranks; rank++)
        CHECK_EQ(xylem_tasks_iclose(job->tasks[rank], &job->requests[rank]),
                 XYLEM_OK);
    CHECK(fabric_run_until(job->fabric, &script));
    free_requests(job, status);
    fabric_run_dry(job->fabric);
    fabric_destroy(job->fabric);
    CHECK_EQ(job->misses, 0);
    CHECK_EQ(job->pooled, 0);
    free(job->sent);
}

/* Checks that the sender's status agrees with the events. */
static void check_one(const sent_t *sent)
{
    xylem_status_t status = sent->status;

    CHECK_EQ(sent->told, 1);
    CHECK(sent->ran <= 1);
    if (sent->kind == GAP || sent->kind >= ENTRIES) {
        CHECK_EQ(status, XYLEM_ERR_INVALID_ARG);
        CHECK_EQ(sent->ran, 0);
    } else if (sent->is_bad) {
        CHECK_EQ(status, sent->refusal);
        CHECK_EQ(sent->ran, 0);
    } else if (sent->kind == REVOKED) {
        CHECK(status == XYLEM_OK || status == XYLEM_ERR_REVOKED);
        CHECK_EQ(sent->ran, status == XYLEM_OK);
    } else if (sent->kind == FULL && sent->payload_bytes != 0) {
        CHECK_EQ(status, XYLEM_ERR_NO_RESOURCE);
        CHECK_EQ(sent->ran, 0);
    } else {
        CHECK_EQ(sent->ran, 1);
        CHECK_EQ(status, sent->kind == FAILS
                             ? (xylem_status_t)(FAILING + sent->payload_bytes)
                             : XYLEM_OK);
    }
}

static void one_seed(uint64_t seed)
{
    const fabric_script_t script = {all_are_told, act, NULL};
    fabric_script_t all = script;
    uint32_t i, ranks = 1 + (uint32_t)(seed % RANKS_MAX);
    job_t job;

    job_begin(&job, seed, ranks, 0);
    job_opened(&job);
    all.arg = &job;
    CHECK(fabric_run_until(job.fabric, &all));
    (void)act_pool(&job); /* tasks for which no sender waits */
    fabric_run_dry(job.fabric);
    for (i = 0; i < ranks * TASKS; i++)
        check_one(&job.sent[i]);
    job_end(&job, XYLEM_OK);
}

/* Checks properties of a task that hold whatever has happened to it. */
static void check_survivor(const sent_t *sent, xylem_status_t failure)
{
    if (sent->job == NULL)
        return; /* not started */
    CHECK_EQ(sent->told, 1);
    CHECK(sent->ran <= 1);
    if (sent->status == XYLEM_OK && sent->waits)
        CHECK_EQ(sent->ran, 1);
    if (sent->kind != GAP && sent->kind < ENTRIES && !sent->is_bad)
        return;
    CHECK_EQ(sent->ran, 0);
    if (sent->status != failure)
        check_one(sent);
}

typedef void (*fail_fn)(job_t *job, uint64_t seed);

/* The team fails in the middle of tasks; then all end. */
static void one_failure(uint64_t seed, fail_fn fail, xylem_status_t failure)
{
    fabric_script_t some = {some_are_told, act, NULL};
    fabric_script_t all = {all_are_told, act, NULL};
    uint32_t i, ranks = 2 + (uint32_t)(seed % (RANKS_MAX - 1));
    job_t job;

    job_begin(&job, seed, ranks, 1);
    job_opened(&job);
    some.arg = all.arg = &job;
    CHECK(fabric_run_until(job.fabric, &some));
    fail(&job, seed);
    CHECK(fabric_run_until(job.fabric, &all));
    fabric_run_dry(job.fabric);
    for (i = 0; i < ranks; i++)
        if (fabric_is_dead(job.fabric, i))
            fabric_isolate(job.fabric, i);
    job.is_ending = 1;
    fabric_run_dry(job.fabric);
    (void)act_pool(&job);
    fabric_run_dry(job.fabric);
    for (i = 0; i < ranks * TASKS; i++)
        check_survivor(&job.sent[i], failure);
    job_end(&job, failure);
}

static void kill_one(job_t *job, uint64_t seed)
{
    fabric_kill(job->fabric, 1 + (uint32_t)(seed % (job->ranks - 1)), 10);
}

static void abort_it(job_t *job, uint64_t seed)
{
    CHECK_EQ(
        xylem_team_abort(
            fabric_world(job->fabric, (uint32_t)(seed % job->ranks)), "enough"),
        XYLEM_OK);
}

static void fail_a_send(job_t *job, uint64_t seed)
{
    sim_world_fail_send(fabric_sim(job->fabric), 1 + seed % 5, XYLEM_ERR_NET);
}

static void fail_a_receive(job_t *job, uint64_t seed)
{
    sim_world_fail_recv(fabric_sim(job->fabric), 1 + seed % 5, XYLEM_ERR_NET);
}

static void test_failures(fail_fn fail, xylem_status_t failure)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(100) && check_failures() == 0; seed++)
        one_failure(seed, fail, failure);
}

static void test_death(void)
{
    test_failures(kill_one, XYLEM_ERR_PROC_FAILED);
}

static void test_abort(void)
{
    test_failures(abort_it, XYLEM_ERR_ABORTED);
}

static void test_net_fails(void)
{
    test_failures(fail_a_send, XYLEM_ERR_NET);
    test_failures(fail_a_receive, XYLEM_ERR_NET);
}

/* Ranks that have a table close it; the others have been told why there is
 * none.
 */
static void close_opened(job_t *job, xylem_status_t failure)
{
    uint32_t rank;

    for (rank = 0; rank < job->ranks; rank++) {
        xylem_status_t status = xylem_request_test(job->requests[rank]);
        CHECK(status == XYLEM_OK || status == failure);
        CHECK_EQ(status == XYLEM_OK, job->tasks[rank] != NULL);
        if (status == XYLEM_OK) /* or no rank tells it any more */
            CHECK(job->tasks[rank]->has_failed);
        CHECK_EQ(xylem_request_free(job->requests[rank]), XYLEM_OK);
        job->requests[rank] = NULL;
        if (status == XYLEM_OK)
            CHECK_EQ(xylem_tasks_iclose(job->tasks[rank], &job->requests[rank]),
                     XYLEM_OK);
    }
    fabric_run_dry(job->fabric);
    for (rank = 0; rank < job->ranks; rank++)
        if (job->requests[rank] != NULL) {
            CHECK_EQ(xylem_request_test(job->requests[rank]), failure);
            CHECK_EQ(xylem_request_free(job->requests[rank]), XYLEM_OK);
        }
}

/* The team is aborted while tables open. */
static void one_failed_opening(uint64_t seed)
{
    enum { OPENING_HALF_US = 60 };
    fabric_script_t script = {requests_are_over, NULL, NULL};
    uint32_t ranks = 2 + (uint32_t)(seed % (RANKS_MAX - 1));
    job_t job;

    job_begin(&job, seed, ranks, 1);
    script.arg = &job;
    fabric_advance(job.fabric,
                   random_below(&job.random, OPENING_HALF_US) * SIM_US / 2);
    abort_it(&job, seed);
    CHECK(fabric_run_until(job.fabric, &script));
    fabric_run_dry(job.fabric);
    close_opened(&job, XYLEM_ERR_ABORTED);
    fabric_run_dry(job.fabric);
    fabric_destroy(job.fabric);
    free(job.sent);
}

static void test_failed_opening(void)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(300) && check_failures() == 0; seed++)
        one_failed_opening(seed);
}

static void test_each_once(void)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(200) && check_failures() == 0; seed++)
        one_seed(seed);
}

static const check_case_t cases[] = {
    {"tasks: each runs once, or its sender is told why not", test_each_once},
    {"tasks: the team is aborted while they open", test_failed_opening},
    {"tasks: a rank dies", test_death},
    {"tasks: the team is aborted", test_abort},
    {"tasks: a message fails", test_net_fails},
};

CHECK_MAIN(cases)
