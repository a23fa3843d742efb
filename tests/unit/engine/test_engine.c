/* The engine: the queue under several threads, timers, the order of phases,
 * bounded batches, no nesting, exactly once. */
#include "progress/engine/engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"

static uint64_t test_now;

static uint64_t now_ns(void *arg)
{
    (void)arg;
    return test_now;
}

static const xyl_clock_t test_clock = {now_ns, NULL};

/* ---- the queue ---- */

enum { THREADS = 4, TASKS_PER_THREAD = 20000 };

typedef struct numbered {
    xyl_task_t task;
    uint32_t thread, number;
} numbered_t;

static numbered_t *numbered_make(void)
{
    numbered_t *tasks =
        calloc((size_t)THREADS * TASKS_PER_THREAD, sizeof *tasks);
    uint32_t i;

    for (i = 0; i < THREADS * TASKS_PER_THREAD; i++) {
        tasks[i].thread = i / TASKS_PER_THREAD;
        tasks[i].number = i % TASKS_PER_THREAD;
    }
    return tasks;
}

/* The next of its thread each time: nothing is lost, doubled or overtaken. */
typedef struct tally {
    uint32_t next[THREADS];
    uint32_t total;
} tally_t;

static tally_t tally;

static void tally_add(const numbered_t *task)
{
    CHECK_EQ(task->number, tally.next[task->thread]);
    tally.next[task->thread] = task->number + 1;
    tally.total++;
}

typedef struct producer {
    xyl_queue_t *queue;   /* either this */
    xyl_engine_t *engine; /* or this */
    numbered_t *tasks;
} producer_t;

static void *produce(void *arg)
{
    producer_t *producer = arg;
    uint32_t i;

    for (i = 0; i < TASKS_PER_THREAD; i++)
        if (producer->queue != NULL)
            xyl_queue_push(producer->queue, &producer->tasks[i].task);
        else
            xyl_engine_submit(producer->engine, &producer->tasks[i].task);
    return NULL;
}

static void producers_start(producer_t *producers, pthread_t *threads,
                            numbered_t *tasks)
{
    uint32_t i;

    memset(&tally, 0, sizeof tally);
    for (i = 0; i < THREADS; i++) {
        producers[i].tasks = tasks + (size_t)i * TASKS_PER_THREAD;
        CHECK_EQ(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
}

static void producers_join(pthread_t *threads)
{
    uint32_t i;

    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_queue(void)
{
    producer_t producers[THREADS];
    pthread_t threads[THREADS];
    numbered_t *tasks = numbered_make();
    xyl_queue_t queue = {NULL};
    uint32_t i;

    CHECK(xyl_queue_take(&queue) == NULL && xyl_queue_is_empty(&queue));
    for (i = 0; i < THREADS; i++)
        producers[i] = (producer_t){.queue = &queue};
    producers_start(producers, threads, tasks);
    while (tally.total < THREADS * TASKS_PER_THREAD) {
        xyl_task_t *task = xyl_queue_take(&queue);
        if (task == NULL)
            sched_yield();
        for (; task != NULL; task = task->next)
            tally_add((const numbered_t *)(const void *)task);
    }
    producers_join(threads);
    CHECK(xyl_queue_take(&queue) == NULL && xyl_queue_is_empty(&queue));
    free(tasks);
}

static void numbered_run(xyl_task_t *task)
{
    /* Runs on the engine's owner: one at a time, ordered by ownership. */
    tally_add((const numbered_t *)(const void *)task);
}

/* Tasks run inside the submitting calls or in turns, never twice, never two at
 * once, each thread's in order. */
static void test_submit(void)
{
    producer_t producers[THREADS];
    pthread_t threads[THREADS];
    numbered_t *tasks = numbered_make();
    xyl_engine_t *engine = aligned_alloc(128, sizeof *engine);
    uint32_t i, done = 0;

    xyl_engine_init(engine, &test_clock);
    for (i = 0; i < THREADS * TASKS_PER_THREAD; i++)
        tasks[i].task.run = numbered_run;
    for (i = 0; i < THREADS; i++)
        producers[i] = (producer_t){.engine = engine};
    producers_start(producers, threads, tasks);
    while (done < THREADS * TASKS_PER_THREAD)
        if (xyl_engine_try_own(engine)) {
            xyl_engine_turn(engine);
            done = tally.total;
            xyl_engine_disown(engine);
        } else {
            sched_yield();
        }
    producers_join(threads);
    CHECK_EQ(tally.total, THREADS * TASKS_PER_THREAD);
    CHECK(xyl_engine_is_idle(engine));
    free(engine);
    free(tasks);
}

/* ---- timers ---- */

typedef struct alarm {
    xyl_timer_t timer;
    int again; /* starts itself again at the same time */
} alarm_t;

enum { ALARMS = 500 };

static const alarm_t *fired[ALARMS];
static uint32_t fired_count;
static xyl_timers_t timers;

static void alarm_fire(xyl_timer_t *timer, uint64_t now)
{
    alarm_t *alarm = (alarm_t *)(void *)timer;

    CHECK(timer->at_ns <= now);
    CHECK(!timer->is_running);
    fired[fired_count++] = alarm;
    if (alarm->again)
        xyl_timer_start(&timers, timer, now);
}

static void alarms_init(alarm_t *alarms, uint32_t count)
{
    uint32_t i;

    xyl_timers_init(&timers);
    fired_count = 0;
    memset(alarms, 0, count * sizeof *alarms);
    for (i = 0; i < count; i++)
        alarms[i].timer.fire = alarm_fire;
}

static void test_timer_order(void)
{
    static alarm_t alarms[ALARMS];
    uint64_t random = 1;
    uint32_t i, stopped = 0;

    alarms_init(alarms, ALARMS);
    CHECK_EQ(xyl_timers_next_ns(&timers), UINT64_MAX);
    for (i = 0; i < ALARMS; i++) /* many equal times */
        xyl_timer_start(&timers, &alarms[i].timer,
                        100 + random_below(&random, 9));
    for (i = 0; i < ALARMS; i += 5, stopped++)
        xyl_timer_stop(&timers, &alarms[i].timer);
    xyl_timer_stop(&timers, &alarms[0].timer); /* twice is harmless */
    CHECK_EQ(xyl_timers_fire(&timers, 99), 0);
    CHECK_EQ(xyl_timers_fire(&timers, 104) + xyl_timers_fire(&timers, 200),
             ALARMS - stopped);
    CHECK_EQ(fired_count, ALARMS - stopped);
    for (i = 1; i < fired_count; i++) {
        const xyl_timer_t *a = &fired[i - 1]->timer, *b = &fired[i]->timer;
        CHECK(a->at_ns < b->at_ns ||
              (a->at_ns == b->at_ns && fired[i - 1] < fired[i]));
    }
    CHECK_EQ(timers.count, 0);
}

/* A timer that starts itself again waits for the next look. */
static void test_timer_again(void)
{
    alarm_t alarms[2];

    alarms_init(alarms, 2);
    alarms[0].again = 1;
    xyl_timer_start(&timers, &alarms[0].timer, 5);
    xyl_timer_start(&timers, &alarms[1].timer, 5);
    CHECK_EQ(xyl_timers_fire(&timers, 10), 2);
    CHECK(fired[0] == &alarms[0] && fired[1] == &alarms[1]);
    CHECK_EQ(xyl_timers_next_ns(&timers), 10);
    CHECK_EQ(xyl_timers_fire(&timers, 10), 1);
    xyl_timer_stop(&timers, &alarms[0].timer);
    CHECK_EQ(xyl_timers_fire(&timers, UINT64_MAX), 0);
}

/* ---- phases ---- */

static char order[64];

static void note(char phase)
{
    size_t length = strlen(order);

    if (length + 1 < sizeof order)
        order[length] = phase;
}

typedef struct stage_set {
    xyl_engine_t engine;
    xyl_net_t net;
    xyl_event_t ready, callback;
    xyl_timer_t timer;
    xyl_task_t task;
} stage_set_t;

static stage_set_t *set;

static unsigned net_progress(xyl_net_t *net)
{
    (void)net;
    note('n');
    return 1;
}

static unsigned source_poll(void *arg)
{
    (void)arg;
    note('s');
    return 1;
}

static void task_run(xyl_task_t *task)
{
    (void)task;
    note('t');
    xyl_fifo_push(&set->engine.ready, &set->ready);
}

static void ready_handle(xyl_event_t *event)
{
    (void)event;
    note('r');
    xyl_fifo_push(&set->engine.callbacks, &set->callback);
}

static void callback_handle(xyl_event_t *event)
{
    (void)event;
    note('c');
    CHECK(xyl_engine_in_callback(&set->engine));
}

static void timer_fire(xyl_timer_t *timer, uint64_t now)
{
    (void)timer;
    (void)now;
    note('i');
}

static const xyl_net_ops_t net_ops = {.name = "none", .progress = net_progress};

static void test_phases(void)
{
    set = aligned_alloc(128, (sizeof *set + 127) / 128 * 128);
    memset(order, 0, sizeof order);
    memset(set, 0, sizeof *set);
    xyl_engine_init(&set->engine, &test_clock);
    set->net.ops = &net_ops;
    set->engine.net = &set->net;
    set->task.run = task_run;
    set->ready.handle = ready_handle;
    set->callback.handle = callback_handle;
    set->timer.fire = timer_fire;
    CHECK_EQ(
        xyl_engine_source_add(&set->engine, (xyl_source_t){source_poll, NULL}),
        XYLEM_OK);
    xyl_timer_start(&set->engine.timers, &set->timer, 0);
    CHECK(xyl_engine_try_own(&set->engine));
    CHECK(!xyl_engine_try_own(&set->engine));
    xyl_engine_submit(&set->engine, &set->task); /* waits for the owner */
    CHECK_EQ(strlen(order), 0);
    CHECK_EQ(xyl_engine_turn(&set->engine), 6);
    CHECK(strcmp(order, "ntsric") == 0);
    CHECK(!xyl_engine_in_callback(&set->engine));
    CHECK_EQ(xyl_engine_turn(&set->engine), 2);
    xyl_engine_disown(&set->engine);
    free(set);
}

static void test_sources_are_limited(void)
{
    xyl_engine_t *engine = aligned_alloc(128, sizeof *engine);
    unsigned i;

    xyl_engine_init(engine, &test_clock);
    for (i = 0; i < XYL_ENGINE_SOURCES_MAX; i++)
        CHECK_EQ(
            xyl_engine_source_add(engine, (xyl_source_t){source_poll, NULL}),
            XYLEM_OK);
    CHECK_EQ(xyl_engine_source_add(engine, (xyl_source_t){source_poll, NULL}),
             XYLEM_ERR_NO_RESOURCE);
    free(engine);
}

/* ---- handlers that make work ---- */

typedef struct chain {
    xyl_event_t event;
    xyl_fifo_t *fifo;
    unsigned handled, depth, depth_max, left;
} chain_t;

static void chain_handle(xyl_event_t *event)
{
    chain_t *chain = (chain_t *)(void *)event;

    if (++chain->depth > chain->depth_max)
        chain->depth_max = chain->depth;
    chain->handled++;
    if (--chain->left > 0)
        xyl_fifo_push(chain->fifo, event);
    chain->depth--;
}

/* An event that pushes itself is handled again, never inside itself, and one
 * turn handles no more than a batch. */
static void test_trampoline(void)
{
    xyl_engine_t *engine = aligned_alloc(128, sizeof *engine);
    chain_t chain = {.event.handle = chain_handle,
                     .left = 3 * XYL_ENGINE_BATCH_MAX + 1};

    xyl_engine_init(engine, &test_clock);
    chain.fifo = &engine->ready;
    xyl_fifo_push(chain.fifo, &chain.event);
    CHECK_EQ(xyl_engine_turn(engine), XYL_ENGINE_BATCH_MAX);
    CHECK_EQ(chain.handled, XYL_ENGINE_BATCH_MAX);
    while (xyl_engine_turn(engine) != 0)
        continue;
    CHECK_EQ(chain.handled, 3 * XYL_ENGINE_BATCH_MAX + 1);
    CHECK_EQ(chain.depth_max, 1);
    /* Callbacks that are pushed by callbacks wait for the next turn. */
    chain = (chain_t){
        .event.handle = chain_handle, .fifo = &engine->callbacks, .left = 3};
    xyl_fifo_push(chain.fifo, &chain.event);
    CHECK_EQ(xyl_engine_turn(engine), 1);
    CHECK(!xyl_engine_is_idle(engine));
    CHECK_EQ(xyl_engine_turn(engine), 1);
    CHECK_EQ(xyl_engine_turn(engine), 1);
    CHECK(xyl_engine_is_idle(engine));
    CHECK_EQ(chain.depth_max, 1);
    free(engine);
}

typedef struct counted {
    xyl_event_t event;
    unsigned handled;
    uint32_t number;
} counted_t;

static uint32_t next_number;

static void counted_handle(xyl_event_t *event)
{
    counted_t *counted = (counted_t *)(void *)event;

    counted->handled++;
    CHECK_EQ(counted->number, next_number);
    next_number++;
}

static void test_exactly_once(void)
{
    enum { EVENTS = 1000 };
    xyl_engine_t *engine = aligned_alloc(128, sizeof *engine);
    counted_t *events = calloc(EVENTS, sizeof *events);
    unsigned handled = 0;
    uint32_t i;

    xyl_engine_init(engine, &test_clock);
    next_number = 0;
    for (i = 0; i < EVENTS; i++) {
        events[i].event.handle = counted_handle;
        events[i].number = i;
        xyl_fifo_push(&engine->ready, &events[i].event);
        if (i % 300 == 0) /* pushed while others are handled */
            handled += xyl_engine_turn(engine);
    }
    while (handled < EVENTS)
        handled += xyl_engine_turn(engine);
    CHECK_EQ(xyl_engine_turn(engine), 0);
    for (i = 0; i < EVENTS; i++)
        CHECK_EQ(events[i].handled, 1);
    free(events);
    free(engine);
}

static const check_case_t cases[] = {
    {"queue: several producers, one consumer", test_queue},
    {"engine: several threads submit", test_submit},
    {"timers: order, limit, stop", test_timer_order},
    {"timers: started again while firing", test_timer_again},
    {"engine: order of phases", test_phases},
    {"engine: sources are limited", test_sources_are_limited},
    {"engine: handlers do not nest", test_trampoline},
    {"engine: each event is handled once, in order", test_exactly_once},
};

CHECK_MAIN(cases)
