/* The queue of a proxy when several threads post at once and it is full most of
 * the time: one posting or reading thread runs at a time, and before each
 * access to shared memory chance decides which. No record may be lost, doubled
 * or torn. */
#include "tests/support/check.h"
#include "tests/support/turns.h"

enum { POSTERS = 3, ACTORS = POSTERS + 1, POSTS = 7, SCHEDULES = 300 };

#define XYLEM_DEVICE_STEP_() ((void)turns_pass())
#include "runtime/triggers/proxy.c"

static xylem_context_t *context;
static xylem_proxy_t *proxy;

/* Tag and index name the poster, the count numbers its posts. */
static void post_all(uint32_t poster)
{
    uint32_t i;

    for (i = 0; i < POSTS; i++)
        while (xylem_device_post(&proxy->queue, poster, i, 1 + i, 0) !=
               XYLEM_OK)
            ;
}

static void act(uint32_t self)
{
    if (self < POSTERS)
        post_all(self);
    else
        while (proxy->taken != (uint64_t)POSTERS * POSTS)
            (void)proxy_poll(proxy);
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

    CHECK_EQ(xylem_proxy_create(context, &args, &proxy), XYLEM_OK);
    turns_run(ACTORS, schedule, act);
    check_taken();
    CHECK_EQ(xylem_proxy_destroy(proxy), XYLEM_OK);
}

/* The members of a context that a proxy uses. */
static void test_schedules(void)
{
    static proxies_t proxies;
    static _Alignas(XYL_MEMORY_ALIGN) char
        frame[sizeof *context +
              XYL_MODULES_OF_RUNTIME * sizeof *context->attached];
    uint32_t schedule;

    context = (xylem_context_t *)(void *)frame;
    context->attached[XYL_MODULE_PROXIES] = &proxies;
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
