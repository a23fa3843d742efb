/* The pool and arenas: classes, reuse, the limit of kept blocks, alignment,
 * failure of the allocator, several threads. Copies past the caches. Sets of
 * numbers that are handed out. */
#include "runtime/base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/copy.h"
#include "simulator/random.h"
#include "tests/support/check.h"

typedef struct counting {
    uint64_t allocations, live, fail_at;
} counting_t;

static void *counting_alloc(void *arg, size_t bytes)
{
    counting_t *counting = arg;
    const xyl_allocator_t *system = xyl_allocator_system();

    if (++counting->allocations == counting->fail_at)
        return NULL;
    counting->live++;
    return system->alloc(system->arg, bytes);
}

static void counting_release(void *arg, void *block)
{
    counting_t *counting = arg;

    counting->live--;
    free(block);
}

static xyl_allocator_t allocator_of(counting_t *counting)
{
    return (xyl_allocator_t){counting_alloc, counting_release, counting};
}

static int is_aligned(const void *block, size_t align)
{
    return (uintptr_t)block % align == 0;
}

static void test_reuse(void)
{
    counting_t counting = {0};
    xyl_allocator_t allocator = allocator_of(&counting);
    void *first, *second;
    xyl_pool_t pool;

    xyl_pool_init(&pool, &allocator, (size_t)1 << 20);
    first = xyl_pool_acquire(&pool, 1);
    memset(first, 1, 1024); /* the smallest class */
    CHECK(is_aligned(first, XYL_MEMORY_ALIGN));
    xyl_pool_release(&pool, first, 1);
    second = xyl_pool_acquire(&pool, 1024); /* the same class */
    CHECK(second == first);
    first = xyl_pool_acquire(&pool, 1025); /* the next */
    memset(first, 1, 2048);
    CHECK_EQ(counting.allocations, 2);
    xyl_pool_release(&pool, first, 1025);
    xyl_pool_release(&pool, second, 1024);
    xyl_pool_release(&pool, NULL, 7);
    CHECK_EQ(counting.live, 2);
    xyl_pool_fini(&pool);
    CHECK_EQ(counting.live, 0);
}

static void test_classes(void)
{
    counting_t counting = {0};
    xyl_allocator_t allocator = allocator_of(&counting);
    xyl_pool_t pool;
    size_t bytes;

    xyl_pool_init(&pool, &allocator, SIZE_MAX);
    for (bytes = 1; bytes < (size_t)1 << 22; bytes = bytes * 2 - bytes / 3) {
        char *block = xyl_pool_acquire(&pool, bytes);
        uint64_t before = counting.allocations;
        CHECK(is_aligned(block, XYL_MEMORY_ALIGN));
        memset(block, 0x11, bytes);
        xyl_pool_release(&pool, block, bytes);
        CHECK(xyl_pool_acquire(&pool, bytes) == block);
        CHECK_EQ(counting.allocations, before);
        xyl_pool_release(&pool, block, bytes);
    }
    xyl_pool_fini(&pool);
    CHECK_EQ(counting.live, 0);
}

static void test_limit(void)
{
    counting_t counting = {0};
    xyl_allocator_t allocator = allocator_of(&counting);
    void *blocks[4], *large;
    xyl_pool_t pool;
    size_t i;

    xyl_pool_init(&pool, &allocator, 2048); /* two of the smallest */
    for (i = 0; i < 4; i++)
        blocks[i] = xyl_pool_acquire(&pool, 100);
    for (i = 0; i < 4; i++)
        xyl_pool_release(&pool, blocks[i], 100);
    CHECK_EQ(counting.live, 2);
    /* Beyond the largest class nothing is kept. */
    large = xyl_pool_acquire(&pool, pool.block_bytes_max + 1);
    CHECK_EQ(counting.live, 3);
    xyl_pool_release(&pool, large, pool.block_bytes_max + 1);
    CHECK_EQ(counting.live, 2);
    xyl_pool_fini(&pool);
    CHECK_EQ(counting.live, 0);
}

static void test_arena(void)
{
    counting_t counting = {0};
    xyl_allocator_t allocator = allocator_of(&counting);
    uint64_t random = 3, i;
    size_t bytes[300];
    char *blocks[300];
    xyl_arena_t arena;
    xyl_pool_t pool;

    xyl_pool_init(&pool, &allocator, 0);
    xyl_arena_init(&arena, &pool);
    CHECK_EQ(xyl_arena_bytes(&arena), 0);
    for (i = 0; i < 300; i++) {
        bytes[i] = random_below(&random, i % 10 == 0 ? 20000 : 200);
        blocks[i] = xyl_arena_alloc(&arena, bytes[i]);
        CHECK(is_aligned(blocks[i], bytes[i] >= 4096 ? XYL_MEMORY_ALIGN : 16));
        memset(blocks[i], (int)i, bytes[i]);
    }
    for (i = 0; i < 300; i++) /* no piece has overwritten another */
        CHECK(bytes[i] == 0 ||
              ((uint8_t)blocks[i][0] == (uint8_t)i &&
               (uint8_t)blocks[i][bytes[i] - 1] == (uint8_t)i));
    CHECK(xyl_arena_bytes(&arena) != 0);
    xyl_arena_fini(&arena);
    CHECK_EQ(counting.live, 0);
    xyl_pool_fini(&pool);
}

static void test_arena_arrays(void)
{
    uint64_t *words, i;
    xyl_arena_t arena;
    xyl_pool_t pool;

    xyl_pool_init(&pool, xyl_allocator_system(), (size_t)1 << 20);
    xyl_arena_init(&arena, &pool);
    memset(xyl_arena_alloc(&arena, 4000), 0xff, 4000);
    xyl_arena_fini(&arena);
    xyl_arena_init(&arena, &pool); /* the same block, not cleared */
    words = xyl_arena_array(&arena, 400, sizeof *words);
    for (i = 0; i < 400; i++)
        CHECK_EQ(words[i], 0);
    CHECK(xyl_arena_array(&arena, SIZE_MAX / 2, 3) == NULL);
    CHECK(xyl_arena_alloc(&arena, SIZE_MAX - 8) == NULL);
    CHECK(xyl_arena_array(&arena, 0, 8) != NULL);
    xyl_arena_fini(&arena);
    xyl_pool_fini(&pool);
}

static void test_no_memory(void)
{
    counting_t counting = {.fail_at = 2};
    xyl_allocator_t allocator = allocator_of(&counting);
    xyl_arena_t arena;
    xyl_pool_t pool;

    xyl_pool_init(&pool, &allocator, (size_t)1 << 20);
    xyl_arena_init(&arena, &pool);
    CHECK(xyl_arena_alloc(&arena, 100) != NULL);
    CHECK(xyl_arena_alloc(&arena, 100000) == NULL);
    CHECK(xyl_arena_alloc(&arena, 100) != NULL); /* the first block goes on */
    CHECK(xyl_arena_alloc(&arena, 100000) != NULL);
    xyl_arena_fini(&arena);
    xyl_pool_fini(&pool);
    CHECK_EQ(counting.live, 0);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 3000, HELD = 8 };

static void *worker(void *arg)
{
    xyl_pool_t *pool = arg;
    uint64_t random = (uintptr_t)&random, round;
    unsigned char *held[HELD] = {NULL};
    size_t bytes[HELD] = {0}, i;

    for (round = 0; round < ROUNDS; round++) {
        i = random_below(&random, HELD);
        if (held[i] != NULL) {
            CHECK(held[i][0] == (unsigned char)i &&
                  held[i][bytes[i] - 1] == (unsigned char)i);
            xyl_pool_release(pool, held[i], bytes[i]);
        }
        bytes[i] = 1 + random_below(&random, 5000);
        held[i] = xyl_pool_acquire(pool, bytes[i]);
        memset(held[i], (int)i, bytes[i]);
    }
    for (i = 0; i < HELD; i++)
        xyl_pool_release(pool, held[i], bytes[i]);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    xyl_pool_t pool;
    int i;

    xyl_pool_init(&pool, xyl_allocator_system(), 20000);
    for (i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, worker, &pool), 0);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(pool.kept_bytes <= 20000);
    xyl_pool_fini(&pool);
}

/* Copies of every length up to some lines, from and to every place in a line.
 */
static void test_copy_past(void)
{
    enum { BYTES = 200, PLACES = 64, ROOM = 3 * PLACES + BYTES };
    char from[ROOM], to[ROOM], expected[ROOM];
    size_t at, source, bytes;

    for (at = 0; at < ROOM; at++)
        from[at] = (char)(at * 7 + 1);
    for (at = 0; at < PLACES; at++)
        for (bytes = 0; bytes <= BYTES; bytes++) {
            source = (at * 5 + bytes) % PLACES;
            memset(to, 0, sizeof to);
            memset(expected, 0, sizeof expected);
            memcpy(expected + PLACES + at, from + source, bytes);
            xyl_copy_past(to + PLACES + at, from + source, bytes);
            CHECK(memcmp(to, expected, sizeof to) == 0);
        }
}

/* The lowest number that is free, up to any count. */
static void test_bits_take(void)
{
    enum { COUNT_MAX = 200 };
    uint64_t count, i;

    for (count = 0; count <= COUNT_MAX; count++) {
        uint64_t words[COUNT_MAX / 64 + 2] = {0};
        for (i = 0; i < count; i++)
            CHECK_EQ(xyl_bits_take_from(words, 0, count), i);
        CHECK_EQ(xyl_bits_take_from(words, 0, count), count);
        if (count == 0)
            continue;
        xyl_bits_clear(words, count / 2);
        CHECK_EQ(xyl_bits_take_from(words, 0, count), count / 2);
        CHECK_EQ(xyl_bits_take_from(words, 0, count), count);
    }
}

static const check_case_t cases[] = {
    {"pool: blocks are used again", test_reuse},
    {"pool: every class", test_classes},
    {"pool: what is kept is limited", test_limit},
    {"arena: alignment and no overlap", test_arena},
    {"arena: arrays are cleared", test_arena_arrays},
    {"arena: no memory", test_no_memory},
    {"pool: several threads", test_threads},
    {"copies past the caches: every alignment", test_copy_past},
    {"bits: numbers are handed out", test_bits_take},
};

CHECK_MAIN(cases)
