/* Proxies: records of many threads reach the triggers that tags stand for; full
 * queues, wrap-around, early and wrong records, fair service, and collectives
 * over the fabric that are driven by records alone. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "include/xylem_device.h"
#include "runtime/core/context.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

static xylem_proxy_t *proxy_make(xylem_context_t *context, uint32_t records,
                                 uint32_t tags, xylem_device_queue_t *queue)
{
    xylem_proxy_args_t args = {
        .struct_bytes = sizeof args, .records = records, .tags = tags};
    xylem_proxy_t *proxy = NULL;

    queue->struct_bytes = sizeof *queue;
    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_OK);
    CHECK_EQ(xylem_proxy_queue(proxy, queue), XYLEM_OK);
    return proxy;
}

static xylem_trigger_t *trigger_make(xylem_context_t *context,
                                     uint64_t threshold, uint64_t *word)
{
    xylem_trigger_args_t args = {
        .struct_bytes = sizeof args, .threshold = threshold, .word = word};
    xylem_trigger_t *trigger = NULL;

    CHECK_EQ(xylem_trigger_create(context, &args, &trigger), XYLEM_OK);
    return trigger;
}

/* ---- many threads ---- */

enum { POSTERS = 4, TAGS = 1000, THRESHOLD = 3 };

typedef struct poster {
    pthread_t thread;
    const xylem_device_queue_t *queue;
    xylem_device_counter_t *counter;
    _Atomic uint32_t *running;
    uint64_t seed, posts;
    uint64_t counted[TAGS];
} poster_t;

/* At random tags, by random counts, directly or by a counter on the device. */
static void *post_many(void *arg)
{
    poster_t *poster = arg;
    uint64_t i, n;
    uint32_t tag;

    for (i = 0; i < poster->posts; i++) {
        tag = random_below(&poster->seed, TAGS);
        n = random_below(&poster->seed, 5);
        poster->counted[tag] += n;
        while (xylem_device_block_post(poster->queue, tag, 0, n, 100) !=
               XYLEM_OK)
            sched_yield(); /* full */
        if (xylem_device_block_count(poster->queue, poster->counter, 1, 10,
                                     TAGS, 0, 0) == XYLEM_OK)
            continue;
        while (xylem_device_post(poster->queue, TAGS, 0, 1, 100) != XYLEM_OK)
            sched_yield();
    }
    atomic_fetch_sub(poster->running, 1);
    return NULL;
}

/* Everything that was posted has been read. */
static int is_read(const xylem_device_queue_t *queue)
{
    return __atomic_load_n(queue->tail, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(&queue->places->head, __ATOMIC_ACQUIRE);
}

/* Half of the tags have triggers when the threads begin, the others get theirs
 * meanwhile or at the end; the queue is short, so that it is full and wraps all
 * the time. */
static void run_many(uint32_t records, uint64_t posts)
{
    static poster_t posters[POSTERS];
    static uint64_t words[TAGS + 1];
    static xylem_trigger_t *triggers[TAGS + 1];
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = records});
    xylem_context_t *context = fabric_context(fabric, 0);
    xylem_device_counter_t counter = {0};
    xylem_device_queue_t queue;
    xylem_proxy_t *proxy = proxy_make(context, records, TAGS + 1, &queue);
    _Atomic uint32_t running = POSTERS;
    uint64_t counted, looks = 0;
    uint32_t i, tag, bound = 0;

    memset(words, 0, sizeof words);
    for (tag = 0; tag <= TAGS; tag++)
        triggers[tag] =
            trigger_make(context, tag == TAGS ? 1 : THRESHOLD, &words[tag]);
    for (; bound < TAGS / 2; bound++)
        CHECK_EQ(xylem_proxy_bind(proxy, bound, triggers[bound]), XYLEM_OK);
    CHECK_EQ(xylem_proxy_arm(proxy, 1), XYLEM_OK);
    for (i = 0; i < POSTERS; i++) {
        posters[i] = (poster_t){.queue = &queue,
                                .counter = &counter,
                                .running = &running,
                                .seed = i + 1,
                                .posts = posts};
        if (pthread_create(&posters[i].thread, NULL, post_many, &posters[i]) !=
            0)
            abort();
    }
    /* A thread that has counted may still have to post, and need room. */
    while (atomic_load(&running) != 0 || !is_read(&queue)) {
        if (xylem_progress(context) == 0)
            sched_yield();
        if (++looks % 8 == 0 && bound < TAGS)
            CHECK_EQ(xylem_proxy_bind(proxy, bound, triggers[bound]), XYLEM_OK);
        bound += looks % 8 == 0 && bound < TAGS;
    }
    for (i = 0; i < POSTERS; i++)
        pthread_join(posters[i].thread, NULL);
    for (; bound <= TAGS; bound++)
        CHECK_EQ(xylem_proxy_bind(proxy, bound, triggers[bound]), XYLEM_OK);
    while (!is_read(&queue) || xylem_progress(context) != 0)
        xylem_progress(context);
    for (tag = 0; tag < TAGS; tag++) {
        for (i = 0, counted = 0; i < POSTERS; i++)
            counted += posters[i].counted[tag];
        CHECK_EQ(words[tag], counted / THRESHOLD << 8);
    }
    CHECK_EQ(words[TAGS], POSTERS * posts / 10 << 8);
    CHECK_EQ(xylem_proxy_status(proxy), XYLEM_OK);
    CHECK_EQ(xylem_trigger_destroy(triggers[3]), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_proxy_destroy(proxy), XYLEM_OK);
    for (tag = 0; tag <= TAGS; tag++)
        CHECK_EQ(xylem_trigger_destroy(triggers[tag]), XYLEM_OK);
    fabric_run_dry(fabric);
    fabric_destroy(fabric);
}

static void test_threads(void)
{
    uint64_t posts = check_cases(75) * UINT64_C(1000) / POSTERS / 10 * 10;

    run_many(4, posts / 5);
    run_many(1, posts / 50);
    run_many(256, posts);
}

/* ---- one thread ---- */

static void test_full_and_disarmed(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    xylem_device_queue_t queue;
    xylem_proxy_t *proxy = proxy_make(context, 8, 2, &queue);
    uint64_t word = 0, round;
    xylem_trigger_t *trigger = trigger_make(context, 1, &word);
    uint32_t i;

    CHECK_EQ(xylem_proxy_bind(proxy, 1, trigger), XYLEM_OK);
    for (round = 1; round < 5; round++) {
        for (i = 0; i < 8; i++)
            CHECK_EQ(xylem_device_post(&queue, 1, 0, 1, 0), XYLEM_OK);
        CHECK_EQ(xylem_device_post(&queue, 1, 0, 1, 3), XYLEM_ERR_TIMED_OUT);
        xylem_progress(context); /* the queue is not read */
        CHECK_EQ(xylem_device_wait(&word, round * 8, 3), XYLEM_ERR_TIMED_OUT);
        CHECK_EQ(xylem_proxy_arm(proxy, 1), XYLEM_OK);
        fabric_run_dry(fabric);
        while (xylem_progress(context) != 0)
            ;
        CHECK_EQ(xylem_device_wait(&word, round * 8, 0), XYLEM_OK);
        CHECK_EQ(xylem_proxy_arm(proxy, 0), XYLEM_OK);
        CHECK_EQ(context->engine.restless, 0);
    }
    /* A tag that has no trigger any more keeps its counts for the next. */
    CHECK_EQ(xylem_proxy_bind(proxy, 1, NULL), XYLEM_OK);
    CHECK_EQ(xylem_device_post(&queue, 1, 0, 5, 0), XYLEM_OK);
    CHECK_EQ(xylem_proxy_arm(proxy, 1), XYLEM_OK);
    while (xylem_progress(context) != 0)
        ;
    CHECK_EQ(word, 32 << 8);
    CHECK_EQ(xylem_proxy_bind(proxy, 1, trigger), XYLEM_OK);
    CHECK_EQ(word, 37 << 8);
    CHECK_EQ(xylem_proxy_destroy(proxy), XYLEM_OK);
    CHECK_EQ(xylem_trigger_destroy(trigger), XYLEM_OK);
    fabric_destroy(fabric);
}

static void test_wrong_records(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    static const struct {
        uint32_t tag, index;
        uint64_t count;
    } wrong[] = {{2, 0, 1},
                 {UINT32_MAX, 0, 1},
                 {0, 1, 1},
                 {0, 0, UINT64_MAX},
                 {1, 0x7fffffff, 1}};
    xylem_device_queue_t queue;
    uint64_t word = 0;
    xylem_trigger_t *trigger = trigger_make(context, 1, &word);
    uint32_t i;

    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        xylem_proxy_t *proxy = proxy_make(context, 8, 2, &queue);
        CHECK_EQ(xylem_proxy_bind(proxy, 0, trigger), XYLEM_OK);
        CHECK_EQ(xylem_proxy_bind(proxy, 2, trigger), XYLEM_ERR_INVALID_ARG);
        CHECK_EQ(xylem_proxy_arm(proxy, 1), XYLEM_OK);
        CHECK_EQ(xylem_device_post(&queue, wrong[i].tag, wrong[i].index,
                                   wrong[i].count, 0),
                 XYLEM_OK);
        CHECK_EQ(xylem_device_post(&queue, 0, 0, 1, 0), XYLEM_OK);
        CHECK_EQ(xylem_proxy_status(proxy), XYLEM_OK);
        while (xylem_progress(context) != 0)
            ;
        CHECK_EQ(xylem_proxy_status(proxy), XYLEM_ERR_INVALID_ARG);
        CHECK_EQ(word, (i + 1) << 8); /* the others are served */
        CHECK_EQ(xylem_proxy_destroy(proxy), XYLEM_OK);
    }
    CHECK_EQ(xylem_trigger_destroy(trigger), XYLEM_OK);
    fabric_destroy(fabric);
}

static void test_refused(void)
{
    fabric_t *fabric = fabric_create(2, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    xylem_trigger_t *other = trigger_make(fabric_context(fabric, 1), 1, NULL);
    _Alignas(256) char memory[256];
    xylem_device_queue_t queue = {.struct_bytes = 8};
    xylem_proxy_args_t args = {.struct_bytes = sizeof args, .records = 3};
    xylem_proxy_t *proxy;

    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_ERR_INVALID_ARG);
    args.records = 1u << 21;
    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_ERR_INVALID_ARG);
    args.records = 0;
    args.memory = memory + 8;
    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_ERR_INVALID_ARG);
    args.memory = NULL;
    CHECK_EQ(xylem_proxy_create(context, &args, NULL), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_proxy_create(NULL, &args, &proxy), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_OK);
    CHECK_EQ(xylem_proxy_queue(proxy, &queue), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_proxy_queue(proxy, NULL), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_proxy_arm(NULL, 1), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_proxy_status(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_proxy_destroy(NULL), XYLEM_OK);
    CHECK_EQ(xylem_proxy_bind(proxy, 0, other), XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_trigger_destroy(other), XYLEM_OK);
    /* A proxy that is left ends with its context. */
    CHECK_EQ(xylem_proxy_arm(proxy, 1), XYLEM_OK);
    fabric_destroy(fabric);
}

/* A queue that is always full does not keep a record of another one waiting. */
static void test_fair(void)
{
    enum { QUEUES = 5 };
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});
    xylem_context_t *context = fabric_context(fabric, 0);
    xylem_device_queue_t queues[QUEUES];
    xylem_proxy_t *proxies[QUEUES];
    uint64_t words[QUEUES] = {0};
    xylem_trigger_t *triggers[QUEUES];
    uint32_t i, turn;

    for (i = 0; i < QUEUES; i++) {
        proxies[i] = proxy_make(context, 1024, 1, &queues[i]);
        triggers[i] = trigger_make(context, 1, &words[i]);
        CHECK_EQ(xylem_proxy_bind(proxies[i], 0, triggers[i]), XYLEM_OK);
        CHECK_EQ(xylem_proxy_arm(proxies[i], 1), XYLEM_OK);
    }
    for (turn = 1; turn < 100; turn++) {
        for (i = 0; i < QUEUES; i++)
            do /* two are flooded */
                (void)xylem_device_post(&queues[i], 0, 0, 1, 0);
            while (i % 2 == 1 &&
                   xylem_device_post(&queues[i], 0, 0, 1, 0) == XYLEM_OK);
        xylem_progress(context);
        for (i = 0; i < QUEUES; i += 2)
            CHECK_EQ(words[i], turn << 8);
    }
    for (i = 0; i < QUEUES; i++) {
        CHECK_EQ(xylem_proxy_destroy(proxies[i]), XYLEM_OK);
        CHECK_EQ(xylem_trigger_destroy(triggers[i]), XYLEM_OK);
    }
    fabric_run_dry(fabric);
    fabric_destroy(fabric);
}

/* ---- collectives that records drive ---- */

enum { RANKS = 6, COUNT = 600, TILES = 24, START = 0, SEGMENTS = 1 };

typedef struct rank {
    xylem_proxy_t *proxy;
    xylem_device_queue_t queue;
    xylem_request_t *request;
    xylem_trigger_t *triggers[2];
    uint64_t word;
    uint32_t tiles[TILES + 1], posted; /* in the order of their records */
    uint32_t send[COUNT], recv[COUNT];
} rank_t;

typedef struct ranks {
    fabric_t *fabric;
    uint64_t random;
    rank_t all[RANKS];
} ranks_t;

/* Segments of as many tiles each, which are counted up tile by tile. */
static void rank_make(ranks_t *ranks, uint32_t i)
{
    rank_t *rank = &ranks->all[i];
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLREDUCE,
                              .flags = XYLEM_FLAG_PARTS,
                              .send = rank->send,
                              .recv = rank->recv,
                              .count = COUNT,
                              .type = XYLEM_UINT32,
                              .segment_bytes = sizeof rank->send / 6};
    xylem_trigger_args_t trigger = {.struct_bytes = sizeof trigger,
                                    .action = XYLEM_TRIGGER_START};
    uint64_t segments;
    size_t bytes;
    uint32_t k, other;

    for (k = 0; k < COUNT; k++)
        rank->send[k] = k + i;
    CHECK_EQ(
        xylem_coll_init(fabric_world(ranks->fabric, i), &args, &rank->request),
        XYLEM_OK);
    CHECK_EQ(xylem_request_segments(rank->request, &segments, &bytes),
             XYLEM_OK);
    trigger.request = rank->request;
    CHECK_EQ(xylem_trigger_create(fabric_context(ranks->fabric, i), &trigger,
                                  &rank->triggers[START]),
             XYLEM_OK);
    trigger.action = XYLEM_TRIGGER_SEGMENTS;
    trigger.threshold = TILES / segments;
    trigger.word = &rank->word;
    CHECK_EQ(xylem_trigger_create(fabric_context(ranks->fabric, i), &trigger,
                                  &rank->triggers[SEGMENTS]),
             XYLEM_OK);
    for (k = 0; k <= TILES; k++)
        rank->tiles[k] = k < TILES ? (uint32_t)(k * segments / TILES)
                                   : UINT32_MAX; /* the start */
    for (k = TILES; k > 0; k--) {
        other = random_below(&ranks->random, k + 1);
        uint32_t tile = rank->tiles[k];
        rank->tiles[k] = rank->tiles[other];
        rank->tiles[other] = tile;
    }
}

/* Registered when half of the records are there; a record at a time. */
static unsigned ranks_post(void *arg)
{
    ranks_t *ranks = arg;
    uint32_t i = random_below(&ranks->random, RANKS), tile;
    rank_t *rank = &ranks->all[i];

    if (rank->posted == TILES / 2) {
        CHECK_EQ(xylem_proxy_bind(rank->proxy, START, rank->triggers[START]),
                 XYLEM_OK);
        CHECK_EQ(
            xylem_proxy_bind(rank->proxy, SEGMENTS, rank->triggers[SEGMENTS]),
            XYLEM_OK);
    }
    if (rank->posted <= TILES) {
        tile = rank->tiles[rank->posted];
        rank->posted += xylem_device_post(
                            &rank->queue, tile == UINT32_MAX ? START : SEGMENTS,
                            tile == UINT32_MAX ? 0 : tile, 1, 0) == XYLEM_OK;
    }
    for (i = 0; i < RANKS; i++) /* a record wakes no thread */
        xylem_progress(fabric_context(ranks->fabric, i));
    return 1;
}

static int ranks_are_done(void *arg)
{
    const ranks_t *ranks = arg;
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        if (ranks->all[i].word == 0)
            return 0;
    return 1;
}

static void run_ranks(uint64_t seed)
{
    static ranks_t ranks;
    fabric_script_t script = {ranks_are_done, ranks_post, &ranks};
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = seed % 2 == 0 ? 0 : 300,
                                .delay_max = 20,
                                .reorder = 1};
    uint32_t i, k, wrong = 0;

    memset(&ranks, 0, sizeof ranks);
    ranks.random = seed;
    ranks.fabric = fabric_create(RANKS, &options);
    for (i = 0; i < RANKS; i++) {
        rank_t *rank = &ranks.all[i];
        rank->proxy = proxy_make(fabric_context(ranks.fabric, i),
                                 2u << seed % 4, 2, &rank->queue);
        rank_make(&ranks, i);
        CHECK_EQ(xylem_proxy_arm(rank->proxy, 1), XYLEM_OK);
    }
    CHECK(fabric_run_until(ranks.fabric, &script));
    fabric_run_dry(ranks.fabric);
    for (i = 0; i < RANKS; i++) {
        rank_t *rank = &ranks.all[i];
        CHECK_EQ(rank->word, 1 << 8);
        for (k = 0; k < COUNT; k++)
            wrong += rank->recv[k] != RANKS * k + RANKS * (RANKS - 1) / 2;
        CHECK_EQ(xylem_proxy_status(rank->proxy), XYLEM_OK);
        CHECK_EQ(xylem_proxy_destroy(rank->proxy), XYLEM_OK);
        CHECK_EQ(xylem_trigger_destroy(rank->triggers[SEGMENTS]), XYLEM_OK);
        CHECK_EQ(xylem_trigger_destroy(rank->triggers[START]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(rank->request), XYLEM_OK);
    }
    CHECK_EQ(wrong, 0);
    fabric_destroy(ranks.fabric);
}

static void test_collectives(void)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(60); seed++)
        run_ranks(seed);
}

static const check_case_t cases[] = {
    {"threads", test_threads},
    {"full and disarmed", test_full_and_disarmed},
    {"wrong records", test_wrong_records},
    {"refused", test_refused},
    {"fair", test_fair},
    {"collectives", test_collectives},
};

CHECK_MAIN(cases)
