/* Triggers over the fabric: counters that release segments, start requests,
 * call functions and count up each other; early counts, many runs, failures,
 * and calls at the wrong moment. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "runtime/core/team.h"
#include "runtime/triggers/trigger.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum { RANKS = 7, COUNT = 900, ROOT = 2, SEGMENT_BYTES = 512, PIECES = 13 };

typedef struct member {
    xylem_request_t *request;
    xylem_trigger_t *start, *segments;
    uint64_t started, word; /* words of the two */
    uint32_t completions, segments_told;
    xylem_status_t status; /* of the last */
    uint32_t send[COUNT], recv[COUNT];
} member_t;

typedef struct job {
    fabric_t *fabric;
    xylem_coll_t coll;
    uint64_t random, runs;
    member_t all[RANKS];
} job_t;

static int has_input(const job_t *job, uint32_t rank)
{
    return job->coll != XYLEM_COLL_BCAST || rank == ROOT;
}

static void completed(void *arg, xylem_status_t status)
{
    member_t *member = arg;

    member->completions++;
    member->status = status;
}

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    member_t *member = arg;

    CHECK(segment < COUNT && offset + bytes <= sizeof member->recv);
    member->segments_told++;
}

static void init_member(job_t *job, uint32_t rank, const char *algorithm)
{
    member_t *member = &job->all[rank];
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = job->coll,
                              .flags = XYLEM_FLAG_PARTS,
                              .recv = member->recv,
                              .count = COUNT,
                              .type = XYLEM_UINT32,
                              .root = ROOT,
                              .on_complete = completed,
                              .on_segment = segment_told,
                              .arg = member,
                              .segment_bytes = SEGMENT_BYTES,
                              .algorithm = algorithm};
    uint32_t i;

    for (i = 0; i < COUNT; i++)
        member->send[i] = i * 3 + rank;
    if (job->coll == XYLEM_COLL_BCAST)
        args.recv = rank == ROOT ? member->send : member->recv;
    else
        args.send = member->send;
    if (job->coll == XYLEM_COLL_ALLREDUCE)
        args.root = 0;
    CHECK_EQ(xylem_coll_init(fabric_world(job->fabric, rank), &args,
                             &member->request),
             XYLEM_OK);
}

static void add_triggers(job_t *job, uint32_t rank)
{
    member_t *member = &job->all[rank];
    xylem_context_t *context = fabric_context(job->fabric, rank);
    xylem_trigger_args_t args = {.struct_bytes = sizeof args,
                                 .action = XYLEM_TRIGGER_START,
                                 .request = member->request,
                                 .threshold = 2,
                                 .word = &member->started};

    CHECK_EQ(xylem_trigger_create(context, &args, &member->start), XYLEM_OK);
    if (!has_input(job, rank))
        return;
    args.action = XYLEM_TRIGGER_SEGMENTS;
    args.threshold = 0;
    args.word = &member->word;
    CHECK_EQ(xylem_trigger_create(context, &args, &member->segments), XYLEM_OK);
}

static void job_create(job_t *job, xylem_coll_t coll, const char *algorithm,
                       uint64_t seed, int shares)
{
    xylem_place_t places[RANKS];
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = seed % 2 == 0 ? 0 : 300,
                                .delay_max = 20,
                                .reorder = 1,
                                .places = places,
                                .tells_failures = 1,
                                .shares_memory = shares};
    uint32_t i;

    memset(job, 0, sizeof *job);
    job->coll = coll;
    job->random = seed;
    for (i = 0; i < RANKS; i++)
        places[i] = (xylem_place_t){.node = shares ? 0 : i / 2, .core = i};
    job->fabric = fabric_create(RANKS, &options);
    for (i = 0; i < RANKS; i++) {
        init_member(job, i, algorithm);
        add_triggers(job, i);
    }
}

static void job_destroy(job_t *job)
{
    uint32_t i;

    fabric_run_dry(job->fabric);
    for (i = 0; i < RANKS; i++) {
        CHECK_EQ(xylem_request_free(job->all[i].request), XYLEM_ERR_BUSY);
        CHECK_EQ(xylem_trigger_destroy(job->all[i].segments), XYLEM_OK);
        CHECK_EQ(xylem_trigger_destroy(job->all[i].start), XYLEM_OK);
        CHECK_EQ(xylem_request_free(job->all[i].request), XYLEM_OK);
    }
    fabric_destroy(job->fabric);
}

/* ---- many runs, counted in any order ---- */

/* Counts that are left on one rank: pieces of the input, and starts, each once
 * per run. */
typedef struct feed {
    job_t *job;
    uint64_t left[RANKS][PIECES + 1];
} feed_t;

static size_t piece_at(uint32_t piece)
{
    return sizeof((member_t *)0)->send * piece / PIECES / 7 * 7;
}

static void count_piece(member_t *member, uint32_t piece)
{
    size_t begin = piece_at(piece), end = piece_at(piece + 1);

    if (piece + 1 == PIECES)
        end = sizeof member->send;
    CHECK_EQ(xylem_trigger_bytes(member->segments, begin, end - begin),
             XYLEM_OK);
}

/* Makes a few of the counts that are left, drawn, whatever the requests do. */
static unsigned feed_some(void *arg)
{
    feed_t *feed = arg;
    job_t *job = feed->job;
    unsigned acts = 0, tries;

    for (tries = 0; tries < 12; tries++) {
        uint32_t rank = random_below(&job->random, RANKS);
        uint32_t piece = random_below(&job->random, PIECES + 1);
        member_t *member = &job->all[rank];

        while (piece < PIECES && feed->left[rank][piece] == 0)
            piece++;
        if (feed->left[rank][piece] == 0)
            continue;
        feed->left[rank][piece]--;
        acts++;
        if (piece == PIECES)
            CHECK_EQ(xylem_trigger_count(member->start, 0, 1), XYLEM_OK);
        else
            count_piece(member, piece);
    }
    return acts;
}

static int is_fed(const feed_t *feed)
{
    uint32_t rank, piece;

    for (rank = 0; rank < RANKS; rank++)
        for (piece = 0; piece <= PIECES; piece++)
            if (feed->left[rank][piece] != 0)
                return 0;
    return 1;
}

static int all_have_run(void *arg)
{
    const feed_t *feed = arg;
    const job_t *job = feed->job;
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        if (job->all[i].started != job->runs << 8)
            return 0;
    return is_fed(feed);
}

/* Tries again if nothing was counted: a draw may find nothing left. */
static unsigned feed_act(void *arg)
{
    unsigned acts = 0;

    while (acts == 0 && !is_fed(arg))
        acts = feed_some(arg);
    return acts;
}

static uint32_t expected(const job_t *job, uint32_t i)
{
    return job->coll == XYLEM_COLL_BCAST
               ? i * 3 + ROOT
               : RANKS * i * 3 + RANKS * (RANKS - 1) / 2;
}

static void check_job(const job_t *job)
{
    uint32_t rank, i, wrong = 0;

    for (rank = 0; rank < RANKS; rank++) {
        const member_t *member = &job->all[rank];
        CHECK_EQ(XYLEM_WORD_TIMES(member->started), job->runs);
        CHECK_EQ(XYLEM_WORD_STATUS(member->started), XYLEM_OK);
        CHECK_EQ(XYLEM_WORD_TIMES(member->word),
                 has_input(job, rank) ? job->runs : 0);
        CHECK_EQ(member->completions, job->runs);
        CHECK(job->coll == XYLEM_COLL_REDUCE ||
              member->segments_told >= job->runs);
        if ((job->coll == XYLEM_COLL_REDUCE && rank != ROOT) ||
            (job->coll == XYLEM_COLL_BCAST && rank == ROOT))
            continue;
        for (i = 0; i < COUNT; i++)
            wrong += member->recv[i] != expected(job, i);
    }
    CHECK_EQ(wrong, 0);
}

static void run_runs(xylem_coll_t coll, const char *algorithm, uint64_t seed,
                     int shares)
{
    static job_t job;
    feed_t feed = {.job = &job};
    fabric_script_t script = {all_have_run, feed_act, &feed};
    uint32_t rank, piece;

    job_create(&job, coll, algorithm, seed, shares);
    fabric_label(job.fabric, algorithm);
    job.runs = 1 + seed % 5;
    for (rank = 0; rank < RANKS; rank++) {
        for (piece = 0; has_input(&job, rank) && piece < PIECES; piece++)
            feed.left[rank][piece] = job.runs;
        feed.left[rank][PIECES] = 2 * job.runs; /* the threshold is 2 */
    }
    if (fabric_run_until(job.fabric, &script))
        check_job(&job);
    job_destroy(&job);
}

static void test_segments_of_many_runs(void)
{
    static const xylem_coll_t colls[] = {XYLEM_COLL_BCAST, XYLEM_COLL_REDUCE,
                                         XYLEM_COLL_ALLREDUCE};
    size_t count, i, coll;
    const xyl_algorithm_t *const *all = xyl_algorithms(&count);
    uint64_t seed = 0;

    for (coll = 0; coll < 3; coll++)
        for (i = 0; i < count; i++)
            if (xyl_algorithm_does(all[i], colls[coll]) &&
                (all[i]->needs & XYL_NEEDS_DEVICE) == 0 &&
                all[i]->lacks == NULL)
                run_runs(colls[coll], all[i]->name, seed++,
                         all[i]->kind == XYL_ALGORITHM_NODE);
    for (; seed < 60 + check_cases(60); seed++)
        run_runs(colls[seed % 3], "auto", seed, seed % 2 == 0);
}

/* ---- chains and calls ---- */

typedef struct called {
    uint32_t calls;
    xylem_trigger_t *trigger; /* destroyed in the call */
} called_t;

static void call(void *arg)
{
    called_t *called = arg;

    called->calls++;
    if (called->trigger != NULL)
        CHECK_EQ(xylem_trigger_destroy(called->trigger), XYLEM_OK);
}

/* Four counts, two of the first, one call: all at once, then one by one. */
static void test_chain(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    called_t called = {0, NULL};
    uint64_t words[3] = {0, 0, 0};
    xylem_trigger_t *last, *middle, *first;
    xylem_trigger_args_t args = {.struct_bytes = sizeof args,
                                 .action = XYLEM_TRIGGER_CALL,
                                 .fn = call,
                                 .arg = &called,
                                 .word = &words[2]};
    uint32_t i;

    CHECK_EQ(xylem_trigger_create(context, &args, &last), XYLEM_OK);
    args = (xylem_trigger_args_t){.struct_bytes = sizeof args,
                                  .threshold = 2,
                                  .then = last,
                                  .word = &words[1]};
    CHECK_EQ(xylem_trigger_create(context, &args, &middle), XYLEM_OK);
    args.threshold = 4;
    args.then = middle;
    args.word = &words[0];
    CHECK_EQ(xylem_trigger_create(context, &args, &first), XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(first, 0, 83), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(words[0], 20 << 8);
    CHECK_EQ(words[1], 10 << 8);
    CHECK_EQ(words[2], 10 << 8);
    for (i = 0; i < 45; i++)
        CHECK_EQ(xylem_trigger_count(first, 0, 1), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(words[0], 32 << 8);
    CHECK_EQ(words[2], 16 << 8);
    CHECK_EQ(called.calls, 16);
    CHECK_EQ(xylem_trigger_destroy(last), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_trigger_destroy(first), XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(first, 0, 1), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_trigger_destroy(middle), XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(last, 0, 1), XYLEM_OK);
    called.trigger = last;
    fabric_run_dry(fabric);
    CHECK_EQ(called.calls, 17);
    CHECK_EQ(words[2], 16 << 8);
    fabric_destroy(fabric);
}

/* Counting up a trigger without a counter touches nothing. */
static void test_chain_to_no_segment(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    xylem_coll_args_t call_args = {.struct_bytes = sizeof call_args,
                                   .coll = XYLEM_COLL_ALLREDUCE,
                                   .flags = XYLEM_FLAG_PARTS,
                                   .type = XYLEM_UINT32};
    xylem_trigger_args_t args = {.struct_bytes = sizeof args,
                                 .action = XYLEM_TRIGGER_SEGMENTS,
                                 .threshold = 1};
    xylem_trigger_t *segments, *first;

    CHECK_EQ(
        xylem_coll_init(fabric_world(fabric, 0), &call_args, &args.request),
        XYLEM_OK);
    CHECK_EQ(xylem_trigger_create(context, &args, &segments), XYLEM_OK);
    CHECK_EQ(segments->counters, 0);
    /* Blocks of the pool are longer. */
    atomic_store(&segments->counter[0].left, 7);
    CHECK_EQ(
        xylem_trigger_create(context,
                             &(xylem_trigger_args_t){
                                 .struct_bytes = sizeof args, .then = segments},
                             &first),
        XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(first, 0, 3), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(atomic_load(&segments->counter[0].left), 7);
    CHECK_EQ(xylem_trigger_destroy(first), XYLEM_OK);
    CHECK_EQ(xylem_trigger_destroy(segments), XYLEM_OK);
    CHECK_EQ(xylem_request_free(args.request), XYLEM_OK);
    fabric_destroy(fabric);
}

enum { THREADS = 4, FIRST = 7, SECOND = 3 };

typedef struct counting {
    pthread_t thread;
    xylem_trigger_t *trigger;
    uint64_t counts;
    _Atomic uint32_t *running;
} counting_t;

static void *count_many(void *arg)
{
    counting_t *counting = arg;
    uint64_t i;

    for (i = 0; i < counting->counts; i++)
        CHECK_EQ(xylem_trigger_count(counting->trigger, 0, 1 + i % 2),
                 XYLEM_OK);
    atomic_fetch_sub(counting->running, 1);
    return NULL;
}

static void create_chain(xylem_context_t *context, called_t *called,
                         uint64_t words[2], xylem_trigger_t *triggers[2])
{
    xylem_trigger_args_t args = {.struct_bytes = sizeof args,
                                 .action = XYLEM_TRIGGER_CALL,
                                 .fn = call,
                                 .arg = called,
                                 .threshold = SECOND,
                                 .word = &words[1]};

    CHECK_EQ(xylem_trigger_create(context, &args, &triggers[1]), XYLEM_OK);
    args = (xylem_trigger_args_t){.struct_bytes = sizeof args,
                                  .threshold = FIRST,
                                  .then = triggers[1],
                                  .word = &words[0]};
    CHECK_EQ(xylem_trigger_create(context, &args, &triggers[0]), XYLEM_OK);
}

/* Threads count while another thread progresses, and while none does. */
static void test_threads(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    called_t called = {0, NULL};
    uint64_t words[2] = {0, 0}, all;
    _Atomic uint32_t running = THREADS;
    xylem_trigger_t *triggers[2];
    counting_t counting[THREADS];
    uint32_t i;

    create_chain(context, &called, words, triggers);
    for (i = 0; i < THREADS; i++) {
        counting[i] = (counting_t){.trigger = triggers[0],
                                   .counts = check_cases(20000) / 2 * 2,
                                   .running = &running};
        if (pthread_create(&counting[i].thread, NULL, count_many,
                           &counting[i]) != 0)
            abort();
    }
    while (atomic_load(&running) > 1)
        if (xylem_progress(context) == 0)
            sched_yield();
    for (i = 0; i < THREADS; i++)
        pthread_join(counting[i].thread, NULL);
    fabric_run_dry(fabric);
    all = THREADS * counting[0].counts / 2 * 3;
    CHECK_EQ(words[0], all / FIRST << 8);
    CHECK_EQ(words[1], all / FIRST / SECOND << 8);
    CHECK_EQ(called.calls, all / FIRST / SECOND);
    CHECK_EQ(xylem_trigger_destroy(triggers[0]), XYLEM_OK);
    CHECK_EQ(xylem_trigger_destroy(triggers[1]), XYLEM_OK);
    fabric_destroy(fabric);
}

/* ---- failures ---- */

static int survivors_know(void *arg)
{
    const job_t *job = arg;
    uint32_t i;

    for (i = 1; i < RANKS; i++)
        if (job->all[i].completions == 0)
            return 0;
    return 1;
}

/* Rank 0 dies with its triggers armed: the others' runs end with the status,
 * and so do their words, their chains, and what they count later. */
static void test_death(void)
{
    static job_t job;
    uint64_t seed;
    uint32_t i;

    for (seed = 0; seed < check_cases(20); seed++) {
        fabric_script_t script = {survivors_know, NULL, &job};
        job_create(&job, XYLEM_COLL_ALLREDUCE, "knomial:2", seed, 0);
        for (i = 0; i < RANKS; i++)
            CHECK_EQ(xylem_trigger_count(job.all[i].start, 0, 2), XYLEM_OK);
        for (i = 1; i < RANKS; i++)
            CHECK_EQ(xylem_trigger_bytes(job.all[i].segments, 0,
                                         sizeof job.all[i].send),
                     XYLEM_OK);
        fabric_kill(job.fabric, 0, 30);
        CHECK(fabric_run_until(job.fabric, &script));
        for (i = 1; i < RANKS; i++) {
            const member_t *member = &job.all[i];
            CHECK_EQ(member->status, XYLEM_ERR_PROC_FAILED);
            CHECK_EQ(member->word, XYLEM_ERR_PROC_FAILED);
            CHECK_EQ(member->started, XYLEM_ERR_PROC_FAILED);
            CHECK_EQ(xylem_trigger_count(member->start, 0, 2),
                     XYLEM_ERR_PROC_FAILED);
            CHECK_EQ(xylem_trigger_status(member->segments),
                     XYLEM_ERR_PROC_FAILED);
        }
        fabric_isolate(job.fabric, 0);
        fabric_run_dry(job.fabric);
        CHECK_EQ(XYLEM_WORD_TIMES(job.all[0].started), 0);
        CHECK(XYLEM_WORD_STATUS(job.all[0].started) != XYLEM_OK);
        job_destroy(&job);
    }
}

/* The team fails before anything is started: what is armed says so at once, and
 * nothing comes of what fires then. */
static void test_armed_in_a_team_that_fails(void)
{
    static job_t job;
    uint64_t word = 0;
    xylem_trigger_t *first;
    xylem_trigger_args_t args = {.struct_bytes = sizeof args, .word = &word};

    job_create(&job, XYLEM_COLL_BCAST, "chain", 5, 0);
    args.then = job.all[1].start;
    CHECK_EQ(xylem_trigger_create(fabric_context(job.fabric, 1), &args, &first),
             XYLEM_OK);
    CHECK_EQ(xylem_team_abort(fabric_world(job.fabric, 0), "enough"), XYLEM_OK);
    fabric_run_dry(job.fabric);
    CHECK_EQ(job.all[1].started, XYLEM_ERR_ABORTED);
    CHECK_EQ(xylem_trigger_status(job.all[1].start), XYLEM_ERR_ABORTED);
    CHECK_EQ(xylem_trigger_count(first, 0, 2), XYLEM_OK);
    fabric_run_dry(job.fabric);
    CHECK_EQ(word, 2 << 8);
    CHECK_EQ(job.all[1].started, XYLEM_ERR_ABORTED);
    CHECK_EQ(xylem_trigger_destroy(first), XYLEM_OK);
    /* So does one that is registered later. */
    args = (xylem_trigger_args_t){.struct_bytes = sizeof args,
                                  .action = XYLEM_TRIGGER_START,
                                  .request = job.all[1].request,
                                  .word = &word};
    CHECK_EQ(xylem_trigger_create(fabric_context(job.fabric, 1), &args, &first),
             XYLEM_OK);
    CHECK_EQ(word, (2 << 8) + XYLEM_ERR_ABORTED);
    CHECK_EQ(xylem_trigger_destroy(first), XYLEM_OK);
    job_destroy(&job);
}

/* ---- the wrong moment ---- */

static void test_refused(void)
{
    static job_t job;
    xylem_context_t *context;
    member_t *member = &job.all[ROOT];
    xylem_trigger_t *trigger;
    xylem_trigger_args_t args = {.struct_bytes = sizeof args};
    uint64_t words[2] = {0, 0};

    job_create(&job, XYLEM_COLL_BCAST, "flat", 1, 0);
    context = fabric_context(job.fabric, ROOT);
    CHECK_EQ(xylem_trigger_create(NULL, &args, &trigger),
             XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_trigger_create(context, &args, NULL), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_trigger_create(context, NULL, &trigger),
             XYLEM_ERR_INVALID_ARG);
    args.threshold = (UINT64_C(1) << 48) + 1;
    CHECK_EQ(xylem_trigger_create(context, &args, &trigger),
             XYLEM_ERR_INVALID_ARG);
    args.threshold = 1;
    args.word = (uint64_t *)(void *)((char *)words + 4);
    CHECK_EQ(xylem_trigger_create(context, &args, &trigger),
             XYLEM_ERR_INVALID_ARG);
    args.word = NULL;
    args.action = XYLEM_TRIGGER_CALL; /* without fn */
    CHECK_EQ(xylem_trigger_create(context, &args, &trigger),
             XYLEM_ERR_INVALID_ARG);
    args.action = XYLEM_TRIGGER_SEGMENTS;
    args.request = job.all[0].request; /* of another context */
    CHECK_EQ(xylem_trigger_create(context, &args, &trigger),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(
        xylem_trigger_create(fabric_context(job.fabric, 0), &args, &trigger),
        XYLEM_ERR_INVALID_ARG); /* no input there */
    CHECK_EQ(xylem_request_start(member->request), XYLEM_OK);
    args.request = member->request;
    CHECK_EQ(xylem_trigger_create(context, &args, &trigger), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_trigger_count(member->start, 1, 1), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_trigger_count(member->start, 0, (UINT64_C(1) << 48) + 1),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_trigger_bytes(member->start, 0, 1), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_trigger_bytes(member->segments, sizeof member->send, 1),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_trigger_bytes(member->segments, 0, sizeof member->send),
             XYLEM_OK);
    CHECK_EQ(xylem_trigger_status(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_trigger_destroy(NULL), XYLEM_OK);
    for (job.runs = 0; job.runs < RANKS; job.runs++)
        if (job.runs != ROOT)
            CHECK_EQ(xylem_request_start(job.all[job.runs].request), XYLEM_OK);
    job_destroy(&job);
}

/* ---- destroyed while it is told ---- */

typedef struct teller {
    xylem_trigger_t *start, *then;
    int takes_both;
} teller_t;

static void told(void *arg, xylem_status_t status)
{
    teller_t *teller = arg;

    CHECK_EQ(status, XYLEM_OK);
    CHECK_EQ(xylem_trigger_destroy(teller->start), XYLEM_OK);
    if (teller->takes_both)
        CHECK_EQ(xylem_trigger_destroy(teller->then), XYLEM_OK);
}

/* Whoever is told that the request has completed destroys the trigger that has
 * started it: what it counts up fires all the same, or goes with it. */
static void destroy_as_told(int takes_both)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    teller_t teller = {NULL, NULL, takes_both};
    xylem_coll_args_t barrier = {.struct_bytes = sizeof barrier,
                                 .coll = XYLEM_COLL_BARRIER,
                                 .on_complete = told,
                                 .arg = &teller};
    uint64_t word = 0, other_word = 0;
    xylem_trigger_args_t args = {.struct_bytes = sizeof args, .word = &word};
    xylem_trigger_t *other;
    xylem_request_t *request;

    CHECK_EQ(xylem_coll_init(fabric_world(fabric, 0), &barrier, &request),
             XYLEM_OK);
    CHECK_EQ(xylem_trigger_create(context, &args, &teller.then), XYLEM_OK);
    args.action = XYLEM_TRIGGER_START;
    args.request = request;
    args.then = teller.then;
    args.word = NULL;
    CHECK_EQ(xylem_trigger_create(context, &args, &teller.start), XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(teller.start, 0, 1), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(word, takes_both ? 0 : 1 << 8);
    args = (xylem_trigger_args_t){.struct_bytes = sizeof args,
                                  .word = &other_word};
    CHECK_EQ(xylem_trigger_create(context, &args, &other), XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(other, 0, 1), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(other_word, 1 << 8);
    CHECK_EQ(xylem_trigger_destroy(other), XYLEM_OK);
    if (!takes_both)
        CHECK_EQ(xylem_trigger_destroy(teller.then), XYLEM_OK);
    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
    fabric_destroy(fabric);
}

static void test_destroyed_as_told(void)
{
    destroy_as_told(0);
    destroy_as_told(1);
}

/* Done as often as counted, in no more time than once. */
static void test_most_at_once(void)
{
    const uint64_t most = UINT64_C(1) << 48;
    fabric_options_t options = {.seed = 1};
    fabric_t *fabric = fabric_create(1, &options);
    xylem_context_t *context = fabric_context(fabric, 0);
    uint64_t first_word = 0, last_word = 0;
    xylem_trigger_args_t args = {
        .struct_bytes = sizeof args, .threshold = 3, .word = &last_word};
    xylem_trigger_t *first, *last;

    CHECK_EQ(xylem_trigger_create(context, &args, &last), XYLEM_OK);
    args.threshold = 1;
    args.then = last;
    args.word = &first_word;
    CHECK_EQ(xylem_trigger_create(context, &args, &first), XYLEM_OK);
    CHECK_EQ(xylem_trigger_count(first, 0, most), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(XYLEM_WORD_TIMES(first_word), most);
    CHECK_EQ(XYLEM_WORD_TIMES(last_word), most / 3);
    CHECK_EQ(xylem_trigger_count(first, 0, 2), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(XYLEM_WORD_TIMES(first_word), most + 2);
    CHECK_EQ(XYLEM_WORD_TIMES(last_word), (most + 2) / 3);
    CHECK_EQ(xylem_trigger_destroy(first), XYLEM_OK);
    CHECK_EQ(xylem_trigger_destroy(last), XYLEM_OK);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"segments of many runs", test_segments_of_many_runs},
    {"chain", test_chain},
    {"triggers: a chain to a request without segments",
     test_chain_to_no_segment},
    {"threads", test_threads},
    {"death", test_death},
    {"armed in a team that fails", test_armed_in_a_team_that_fails},
    {"refused", test_refused},
    {"destroyed while its request tells", test_destroyed_as_told},
    {"triggers: as many counts at once as there may be", test_most_at_once},
};

CHECK_MAIN(cases)
