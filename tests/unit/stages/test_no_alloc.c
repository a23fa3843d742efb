/* Once an operation is planned, its segments cost no allocation and no lock:
 * both are counted between start and completion, by taking the place of the
 * functions at link time (-Wl,--wrap). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum { RANKS = 7, STARTS = 5 };

static uint64_t allocations, locks;

/* The linker's names. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *block);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __wrap_free(void *block);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    allocations++;
    return __real_realloc(block, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return __real_aligned_alloc(align, bytes);
}

void __wrap_free(void *block)
{
    allocations++;
    __real_free(block);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    locks++;
    return __real_pthread_mutex_lock(mutex);
}

static void check_free_of_both(const coll_case_t *c, size_t eager_bytes_max)
{
    fabric_options_t options = {.seed = 4,
                                .eager_bytes_max = eager_bytes_max,
                                .delay_max = 9,
                                .reorder = 1,
                                .store_messages = 4000,
                                .store_payload_bytes = c->segment_bytes};
    fabric_t *fabric = fabric_create(RANKS, &options);
    uint64_t allocations_before = 0, locks_before = 0;
    uint32_t start;
    coll_run_t run;

    coll_run_init(&run, fabric, NULL, RANKS, c, 1);
    for (start = 0; start < STARTS; start++) {
        /* The first start plans. */
        if (start == 1) {
            allocations_before = allocations;
            locks_before = locks;
        }
        coll_run_start_all(&run);
        CHECK(coll_run_finish(&run));
    }
    CHECK_EQ(allocations - allocations_before, 0);
    CHECK_EQ(locks - locks_before, 0);
    coll_run_check(&run);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_segments(void)
{
    static const char *const trees[] = {"kary:2", "chain", "double",
                                        "topology:2"};
    coll_case_t c = {.data = COLL_UINT32,
                     .count = 3000,
                     .segment_bytes = 16,
                     .send_window = 4,
                     .recv_window = 8,
                     .persistent = 1};
    size_t i;

    for (i = 0; i < sizeof trees / sizeof trees[0]; i++)
        for (c.coll = 0; c.coll <= XYLEM_COLL_REDUCE; c.coll++) {
            snprintf(c.algorithm, sizeof c.algorithm, "%s", trees[i]);
            c.flags = i % 2 == 0 ? XYLEM_FLAG_PARTS : 0;
            check_free_of_both(&c, i % 2 == 0 ? 0 : SIZE_MAX);
        }
}

/* The counters count. */
static void test_counters(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint64_t allocations_before = allocations, locks_before = locks;
    void *volatile block = malloc(1);

    free(block);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    CHECK_EQ(allocations - allocations_before, 2);
    CHECK_EQ(locks - locks_before, 1);
}

static const check_case_t cases[] = {
    {"no allocation: the counters count", test_counters},
    {"no allocation and no lock per segment", test_segments},
};

CHECK_MAIN(cases)
