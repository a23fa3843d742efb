/* The queue of a proxy when several post at once and it is full most of the
 * time: one of those who post and who reads runs at a time, and before each
 * access to shared memory chance decides which. No record may be lost, doubled
 * or torn. */
#include <pthread.h>
#include <stdlib.h>

#include "simulator/random.h"
#include "tests/support/check.h"

enum { POSTERS = 3, ACTORS = POSTERS + 1, POSTS = 7, SCHEDULES = 300 };

/* Whose turn it is; all else is touched by whoever has it. */
typedef struct stage {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t turn;
    uint32_t present; /* bits */
    uint64_t random;
} stage_t;

static stage_t stage = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
static _Thread_local uint32_t self = UINT32_MAX; /* no actor: free to go */

static void hand_over(void)
{
    uint32_t next;

    do
        next = random_below(&stage.random, ACTORS);
    while ((stage.present >> next & 1) == 0);
    stage.turn = next;
    pthread_cond_broadcast(&stage.changed);
}

static void await_turn(void)
{
    while (stage.turn != self)
        pthread_cond_wait(&stage.changed, &stage.lock);
}

static void interleave(void)
{
    if (self == UINT32_MAX)
        return;
    hand_over();
    await_turn();
}

#define XYLEM_DEVICE_STEP_() interleave()
#include "runtime/core/proxy.c"

static xylem_context_t *context;
static xylem_proxy_t *proxy;

/* Tag and index say who posts, counts which of the posts. */
static void post_all(uint32_t poster)
{
    uint32_t i;

    for (i = 0; i < POSTS; i++)
        while (xylem_device_post(&proxy->queue, poster, i, 1 + i, 0) !=
               XYLEM_OK)
            ;
}

static void *act(void *arg)
{
    uint32_t me = (uint32_t)(uintptr_t)arg;

    self = me;
    pthread_mutex_lock(&stage.lock);
    await_turn();
    if (me < POSTERS)
        post_all(me);
    else
        while (proxy->taken != (uint64_t)POSTERS * POSTS)
            (void)proxy_poll(proxy);
    stage.present &= ~(1u << me);
    if (stage.present != 0)
        hand_over();
    pthread_mutex_unlock(&stage.lock);
    return NULL;
}

static void check_taken(void)
{
    uint32_t poster, i;

    CHECK_EQ(proxy->taken, POSTERS * POSTS);
    CHECK_EQ(*proxy->tail, POSTERS * POSTS);
    CHECK_EQ(proxy->queue.places->head, POSTERS * POSTS);
    for (poster = 0; poster < POSTERS; poster++) {
        CHECK(proxy->tag[poster].early_count >= POSTS);
        for (i = 0; i < proxy->tag[poster].early_count; i++)
            CHECK_EQ(proxy->tag[poster].early[i], i < POSTS ? 1 + i : 0);
    }
}

static void run_schedule(uint32_t schedule)
{
    xylem_proxy_args_t args = {.struct_bytes = sizeof args,
                               .records = 1u << schedule % 3,
                               .tags = POSTERS};
    pthread_t actors[ACTORS];
    uint32_t i;

    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_OK);
    stage.random = schedule;
    stage.present = (1u << ACTORS) - 1;
    stage.turn = random_below(&stage.random, ACTORS);
    for (i = 0; i < ACTORS; i++)
        if (pthread_create(&actors[i], NULL, act, (void *)(uintptr_t)i) != 0)
            abort();
    for (i = 0; i < ACTORS; i++)
        pthread_join(actors[i], NULL);
    check_taken();
    CHECK_EQ(xylem_proxy_destroy(proxy), XYLEM_OK);
}

/* As much of a context as a proxy looks at. */
static void test_schedules(void)
{
    static xylem_context_t frame;
    uint32_t schedule;

    context = &frame;
    context->magic = XYL_CONTEXT_MAGIC;
    xyl_pool_init(&context->pool, xyl_allocator_system(), 0);
    pthread_mutex_init(&context->lock, NULL);
    xyl_engine_init(&context->engine, NULL);
    for (schedule = 0; schedule < check_cases(SCHEDULES); schedule++)
        run_schedule(schedule);
    pthread_mutex_destroy(&context->lock);
    xyl_pool_fini(&context->pool);
}

static const check_case_t cases[] = {{"schedules", test_schedules}};

CHECK_MAIN(cases)
