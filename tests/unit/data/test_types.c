/* The functions that make types: refusals, how compact the layouts of regular
 * types are, how long types live, tables of thousands of them, threads, and
 * every allocation that can fail. test_layout.c tests layouts. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"
#include "tests/support/failing_memory.h"

#define MUST(call) CHECK_EQ(call, XYLEM_OK)

/* ------------------------------------------------------------------------ */
/* Common to cases                                                          */

enum { UNTOUCHED = 77 };

static xylem_context_t *context;

static fabric_t *fabric_start(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});

    context = fabric_context(fabric, 0);
    return fabric;
}

/* 1 when the call that returned `status` failed with a text that has `words`
 * in it. */
static int refused(xylem_status_t status, xylem_status_t wanted,
                   const char *words)
{
    CHECK_EQ(status, wanted);
    return status == wanted && strstr(xylem_last_error(), words) != NULL;
}

static xylem_type_t column_of(uint64_t count, int64_t stride)
{
    xylem_type_t type = 0;

    MUST(xylem_type_vector(context, count, 1, stride, XYLEM_INT32, &type));
    return type;
}

/* ------------------------------------------------------------------------ */
/* Refusals                                                                 */

static void test_arguments(void)
{
    const xylem_type_part_t part = {0, 1, XYLEM_INT32};
    const uint64_t one = 1;
    const int64_t zero = 0;
    fabric_t *fabric = fabric_start();
    xylem_type_t type = UNTOUCHED;

    CHECK(refused(xylem_type_create(NULL, &part, 1, 4, &type),
                  XYLEM_ERR_INVALID_HANDLE, "context is NULL"));
    CHECK(refused(xylem_type_create(context, &part, 1, 4, NULL),
                  XYLEM_ERR_INVALID_ARG, "type_out"));
    CHECK(refused(xylem_type_create(context, NULL, 1, 4, &type),
                  XYLEM_ERR_INVALID_ARG, "parts is NULL"));
    CHECK(refused(xylem_type_contiguous(NULL, 1, XYLEM_INT32, &type),
                  XYLEM_ERR_INVALID_HANDLE, "xylem_type_contiguous"));
    CHECK(refused(xylem_type_contiguous(context, 1, XYLEM_INT32, NULL),
                  XYLEM_ERR_INVALID_ARG, "type_out"));
    CHECK(refused(xylem_type_vector(NULL, 1, 1, 4, XYLEM_INT32, &type),
                  XYLEM_ERR_INVALID_HANDLE, "xylem_type_vector"));
    CHECK(refused(xylem_type_vector(context, 1, 1, 4, XYLEM_INT32, NULL),
                  XYLEM_ERR_INVALID_ARG, "type_out"));
    CHECK(
        refused(xylem_type_indexed(context, 1, NULL, &zero, XYLEM_INT32, &type),
                XYLEM_ERR_INVALID_ARG, "counts"));
    CHECK(
        refused(xylem_type_indexed(context, 1, &one, NULL, XYLEM_INT32, &type),
                XYLEM_ERR_INVALID_ARG, "offsets"));
    CHECK(
        refused(xylem_type_indexed(context, 1, &one, &zero, XYLEM_INT32, NULL),
                XYLEM_ERR_INVALID_ARG, "type_out"));
    CHECK(refused(xylem_type_query(NULL, XYLEM_INT32, NULL, NULL),
                  XYLEM_ERR_INVALID_HANDLE, "xylem_type_query"));
    CHECK(refused(xylem_type_destroy(NULL, XYLEM_INT32),
                  XYLEM_ERR_INVALID_HANDLE, "xylem_type_destroy"));
    CHECK_EQ(type, UNTOUCHED);
    fabric_destroy(fabric);
}

static void test_handles(void)
{
    static const xylem_type_t none[] = {
        XYLEM_TYPE_COUNT,         XYL_USER_TYPE_BASE - 1,
        XYL_USER_TYPE_BASE,       XYL_USER_TYPE_BASE + 5,
        XYL_USER_TYPE_BASE + 500, XYL_USER_TYPE_BASE + XYL_USER_TYPES_MAX,
        XYLEM_TYPE_BLOCK(0)};
    fabric_t *fabric = fabric_start();
    xylem_type_t type = UNTOUCHED, mine;
    const xyl_layout_t *layout = NULL;
    uint64_t bytes = UNTOUCHED;
    int64_t extent = UNTOUCHED;
    size_t i;

    mine = column_of(3, 8); /* there is a table */
    CHECK_EQ(mine, XYL_USER_TYPE_BASE);
    MUST(xylem_type_destroy(context, mine));
    for (i = 0; i < sizeof none / sizeof none[0]; i++) {
        xylem_type_part_t part = {0, 1, none[i]};
        CHECK(refused(xylem_type_create(context, &part, 1, 4, &type),
                      XYLEM_ERR_INVALID_ARG, "no type"));
        CHECK(refused(xylem_type_vector(context, 1, 1, 4, none[i], &type),
                      XYLEM_ERR_INVALID_ARG, "no type"));
        CHECK(refused(xylem_type_query(context, none[i], &bytes, &extent),
                      XYLEM_ERR_INVALID_ARG, "no type"));
        CHECK(refused(xyl_types_find_layout(context, none[i], &bytes, &layout),
                      XYLEM_ERR_INVALID_ARG, "no type"));
        CHECK(refused(xylem_type_destroy(context, none[i]),
                      XYLEM_ERR_INVALID_HANDLE, "of the user's"));
    }
    CHECK(refused(xylem_type_destroy(context, XYLEM_INT32),
                  XYLEM_ERR_INVALID_HANDLE, "of the user's"));
    CHECK_EQ(xylem_type_bytes(mine), 0);
    CHECK(type == UNTOUCHED && bytes == UNTOUCHED && extent == UNTOUCHED);
    CHECK(layout == NULL);
    fabric_destroy(fabric);
}

static void test_overflows(void)
{
    const uint64_t much = UINT64_C(1) << 60;
    const int64_t far = INT64_C(1) << 62;
    const xylem_type_part_t apart[] = {{far + far / 2, 1, XYLEM_BYTE},
                                       {-far - far / 2, 1, XYLEM_BYTE}};
    const xylem_type_part_t beyond = {INT64_MAX - 3, 1, XYLEM_INT32};
    const xylem_type_part_t below = {-far, 3, XYLEM_TYPE_BLOCK(1)};
    fabric_t *fabric = fabric_start();
    xylem_type_t type = UNTOUCHED, half = 0, backward = 0;

    MUST(xylem_type_contiguous(context, much, XYLEM_INT32, &half));
    CHECK(refused(xylem_type_contiguous(context, much, XYLEM_FLOAT64, &type),
                  XYLEM_ERR_INVALID_ARG, "beyond 2^63"));
    CHECK(refused(xylem_type_contiguous(context, UINT64_MAX, XYLEM_BYTE, &type),
                  XYLEM_ERR_INVALID_ARG, "beyond 2^63"));
    CHECK(refused(xylem_type_contiguous(context, 2, half, &type),
                  XYLEM_ERR_INVALID_ARG, "beyond 2^63"));
    CHECK(refused(xylem_type_vector(context, 3, 1, far, XYLEM_BYTE, &type),
                  XYLEM_ERR_INVALID_ARG, "beyond 2^63"));
    CHECK(refused(xylem_type_vector(context, 3, 1, -far - 1, XYLEM_BYTE, &type),
                  XYLEM_ERR_INVALID_ARG, "beyond 2^63"));
    CHECK(refused(xylem_type_create(context, apart, 2, 1, &type),
                  XYLEM_ERR_INVALID_ARG, "apart"));
    CHECK(refused(xylem_type_create(context, &beyond, 1, 1, &type),
                  XYLEM_ERR_INVALID_ARG, "part 0"));
    /* The data fit, but there are too many of the same. */
    MUST(xylem_type_create(context, &below, 1, 0, &backward));
    CHECK(
        refused(xylem_type_contiguous(context, UINT64_MAX / 2, backward, &type),
                XYLEM_ERR_INVALID_ARG, "beyond 2^63"));
    CHECK_EQ(type, UNTOUCHED);
    /* The longest that are possible. */
    MUST(xylem_type_contiguous(context, INT64_MAX, XYLEM_BYTE, &type));
    MUST(xylem_type_vector(context, 2, 1, INT64_MAX - 1, XYLEM_BYTE, &type));
    fabric_destroy(fabric);
}

static void test_too_many_blocks(void)
{
    const xylem_type_part_t gaps[] = {{0, 1, XYLEM_INT32},
                                      {8, 1, XYLEM_FLOAT64}};
    const uint64_t many[] = {XYL_LAYOUT_BLOCKS_MAX / 2, 1};
    const int64_t offsets[] = {0, -100};
    fabric_t *fabric = fabric_start();
    xylem_type_t type = UNTOUCHED, structure = 0, nest = 0;
    int depth;

    MUST(xylem_type_create(context, gaps, 2, 24, &structure));
    CHECK(
        refused(xylem_type_indexed(context, 2, many, offsets, structure, &type),
                XYLEM_ERR_NO_RESOURCE, "blocks"));
    /* A structure alone is a pattern; so it is in a type of one part. */
    MUST(xylem_type_contiguous(context, UINT64_C(1) << 40, structure, &nest));
    CHECK(refused(xylem_type_indexed(context, 2, (const uint64_t[]){1, 1},
                                     offsets, nest, &type),
                  XYLEM_ERR_NO_RESOURCE, "blocks"));
    CHECK_EQ(type, UNTOUCHED);
    /* It is not if the nest is too deep to be kept. */
    MUST(xylem_type_vector(context, XYL_LAYOUT_BLOCKS_MAX, 1, 32, structure,
                           &nest));
    for (depth = 0; depth < XYL_LAYOUT_LEVELS_MAX - 2; depth++)
        MUST(xylem_type_vector(context, 2, 1, INT64_C(1000000001) << depth * 2,
                               nest, &nest));
    CHECK(refused(xylem_type_vector(context, 2, 1, 1, nest, &type),
                  XYLEM_ERR_NO_RESOURCE, "blocks"));
    CHECK_EQ(type, UNTOUCHED);
    fabric_destroy(fabric);
}

/* ------------------------------------------------------------------------ */
/* How compact layouts are                                                  */

static const xyl_layout_t *layout_of(xylem_type_t type)
{
    const xyl_layout_t *layout = NULL;
    uint64_t bytes;

    MUST(xyl_types_find_layout(context, type, &bytes, &layout));
    return layout;
}

/* A regular type is a few words, however many elements it has. */
static void test_compact(void)
{
    const uint64_t million = 1000000;
    const xylem_type_part_t pair[] = {{0, 1, XYLEM_INT32},
                                      {8, 1, XYLEM_FLOAT64}};
    const xylem_type_part_t joined[] = {
        {0, 2, XYLEM_INT16}, {4, 1, XYLEM_INT32}, {8, 8, XYLEM_BYTE}};
    fabric_t *fabric = fabric_start();
    xylem_type_t column = 0, pairs = 0, structure = 0, plain = 0, box = 0;
    const xyl_layout_t *layout;

    MUST(xylem_type_vector(context, million, 1, 24, XYLEM_FLOAT64, &column));
    layout = layout_of(column);
    CHECK(layout->block_count == 1 && layout->level_count == 1);
    CHECK(layout->blocks[0].repeat == million &&
          layout->blocks[0].stride == 24);
    xyl_layout_release(layout);

    MUST(xylem_type_create(context, pair, 2, 32, &structure));
    MUST(xylem_type_vector(context, million, 3, 200, structure, &pairs));
    layout = layout_of(pairs);
    CHECK(layout->block_count == 2 && layout->level_count == 3);
    CHECK_EQ(layout->bytes, million * 3 * 12);
    xyl_layout_release(layout);

    /* Rows of a plane, planes of a box: one block and a level. */
    MUST(xylem_type_vector(context, 100, 7, 1000, XYLEM_FLOAT32, &plain));
    MUST(xylem_type_vector(context, 200, 1, 500000, plain, &box));
    layout = layout_of(box);
    CHECK(layout->block_count == 1 && layout->level_count == 2);
    CHECK_EQ(layout->blocks[0].bytes, 28);
    xyl_layout_release(layout);

    MUST(xylem_type_create(context, joined, 3, XYLEM_EXTENT_AUTO, &plain));
    CHECK(layout_of(plain) == NULL);
    MUST(xylem_type_vector(context, million, 4, 16, XYLEM_INT32, &plain));
    CHECK(layout_of(plain) == NULL);
    fabric_destroy(fabric);
}

/* A list of blocks at equal distances is found to be that. */
static void test_patterns_are_found(void)
{
    enum { N = 1000 };
    static uint64_t counts[N];
    static int64_t offsets[N];
    fabric_t *fabric = fabric_start();
    const xyl_layout_t *layout;
    xylem_type_t type = 0;
    size_t i;

    for (i = 0; i < N; i++) {
        counts[i] = 2;
        offsets[i] = 5000 - (int64_t)i * 12;
    }
    MUST(xylem_type_indexed(context, N, counts, offsets, XYLEM_INT32, &type));
    layout = layout_of(type);
    CHECK(layout->block_count == 1 && layout->blocks[0].repeat == N &&
          layout->blocks[0].stride == -12);
    xyl_layout_release(layout);
    /* Rows that touch in pairs. */
    for (i = 0; i < N; i++)
        offsets[i] = (int64_t)(i / 2 * 100 + i % 2 * 8);
    MUST(xylem_type_indexed(context, N, counts, offsets, XYLEM_INT32, &type));
    layout = layout_of(type);
    CHECK(layout->block_count == 1 && layout->blocks[0].bytes == 16 &&
          layout->blocks[0].repeat == N / 2);
    xyl_layout_release(layout);
    fabric_destroy(fabric);
}

/* ------------------------------------------------------------------------ */
/* How long types live                                                      */

static void test_destroy_in_use(void)
{
    const xyl_layout_t *held = NULL, *other = NULL;
    int32_t from[16], packed[4] = {0};
    fabric_t *fabric = fabric_start();
    xylem_type_t column = column_of(4, 16), twice = 0, next = 0;
    uint64_t bytes = 0;
    int i;

    for (i = 0; i < 16; i++)
        from[i] = i;
    MUST(xylem_type_contiguous(context, 2, column, &twice));
    MUST(xyl_types_find_layout(context, column, &bytes, &held));
    MUST(xylem_type_destroy(context, column));
    CHECK_EQ(xylem_type_query(context, column, &bytes, NULL),
             XYLEM_ERR_INVALID_ARG);
    /* A new type with the same number is another type. */
    next = column_of(2, 100);
    CHECK_EQ(next, column);
    MUST(xyl_types_find_layout(context, next, &bytes, &other));
    CHECK_EQ(bytes, 8);
    xyl_layout_release(other);
    xyl_layout_pack(held, from, 0, sizeof packed, packed);
    for (i = 0; i < 4; i++)
        CHECK_EQ(packed[i], 4 * i);
    MUST(xylem_type_query(context, twice, &bytes, NULL));
    CHECK_EQ(bytes, 32);
    /* A holder may be the last one of all. */
    fabric_destroy(fabric);
    xyl_layout_pack(held, from, 4, 4, packed);
    CHECK_EQ(packed[0], 4);
    xyl_layout_release(held);
}

static void test_no_data(void)
{
    const xylem_type_part_t none[] = {{40, 0, XYLEM_INT32},
                                      {-8, 3, XYLEM_TYPE_BLOCK(1)}};
    fabric_t *fabric = fabric_start();
    const xyl_layout_t *layout = NULL;
    xylem_type_t empty = 0, marker = 0, type = 0;
    uint64_t bytes = UNTOUCHED;
    int64_t extent = UNTOUCHED;

    MUST(xylem_type_create(context, NULL, 0, XYLEM_EXTENT_AUTO, &empty));
    MUST(xylem_type_query(context, empty, &bytes, &extent));
    CHECK(bytes == 0 && extent == 0);
    MUST(xyl_types_find_layout(context, empty, &bytes, &layout));
    CHECK(bytes == 0 && layout == NULL);
    /* A type without data, but with an extent, which counts in types of it. */
    MUST(xylem_type_create(context, NULL, 0, 100, &marker));
    MUST(xylem_type_contiguous(context, 3, marker, &type));
    MUST(xylem_type_query(context, type, &bytes, &extent));
    CHECK(bytes == 0 && extent == 300);
    /* Parts that are none leave the extent alone. */
    MUST(xylem_type_create(context, none, 2, XYLEM_EXTENT_AUTO, &type));
    MUST(xylem_type_query(context, type, NULL, &extent));
    MUST(xylem_type_query(context, type, &bytes, NULL));
    CHECK(bytes == 3 && extent == 3);
    MUST(xylem_type_vector(context, 0, 5, 8, XYLEM_INT32, &type));
    MUST(xylem_type_indexed(context, 0, NULL, NULL, XYLEM_INT32, &type));
    MUST(xylem_type_query(context, XYLEM_FLOAT64, &bytes, &extent));
    CHECK(bytes == 8 && extent == 8);
    fabric_destroy(fabric);
}

/* Types that are not destroyed end with the context. */
static void test_thousands(void)
{
    enum { N = 5000 };
    static xylem_type_t types[N];
    fabric_t *fabric = fabric_start();
    uint64_t bytes = 0;
    size_t i;

    for (i = 0; i < N; i++)
        types[i] = column_of(i + 2, 8);
    for (i = 0; i < N; i += 2)
        MUST(xylem_type_destroy(context, types[i]));
    for (i = 0; i < N; i += 4)
        types[i] = column_of(i + 3, 8);
    for (i = 0; i < N; i++) {
        CHECK(types[i] - XYL_USER_TYPE_BASE < N);
        if (i % 4 == 2)
            continue;
        MUST(xylem_type_query(context, types[i], &bytes, NULL));
        CHECK_EQ(bytes, 4 * (i + (i % 4 == 0 ? 3 : 2)));
    }
    fabric_destroy(fabric);
}

/* ------------------------------------------------------------------------ */
/* Threads                                                                  */

typedef struct worker {
    pthread_t thread;
    uint64_t count; /* of its own columns: no two workers' are equal */
    xylem_type_t shared;
} worker_t;

enum { WORKERS = 4, TURNS = 500, KEPT = 7 };

static void *worker_run(void *arg)
{
    worker_t *worker = arg;
    xylem_type_t kept[KEPT] = {0}, nest = 0;
    const xyl_layout_t *layout = NULL;
    uint64_t bytes = 0;
    int turn;

    for (turn = 0; turn < TURNS; turn++) {
        xylem_type_t *type = &kept[turn % KEPT];
        if (*type != 0)
            MUST(xylem_type_destroy(context, *type));
        *type = column_of(worker->count, 16);
        MUST(xylem_type_contiguous(context, 2, worker->shared, &nest));
        MUST(xyl_types_find_layout(context, nest, &bytes, &layout));
        MUST(xylem_type_destroy(context, nest));
        CHECK_EQ(layout->bytes, 2 * 12);
        xyl_layout_release(layout);
        MUST(xylem_type_query(context, kept[0], &bytes, NULL));
        CHECK_EQ(bytes, 4 * worker->count);
    }
    return NULL;
}

static void test_threads(void)
{
    fabric_t *fabric = fabric_start();
    worker_t workers[WORKERS];
    xylem_type_t shared = column_of(3, 8);
    uint64_t i;

    for (i = 0; i < WORKERS; i++) {
        workers[i].count = 2 + i;
        workers[i].shared = shared;
        CHECK_EQ(
            pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]),
            0);
    }
    for (i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    fabric_destroy(fabric);
}

/* ------------------------------------------------------------------------ */
/* Without memory                                                           */

/* Makes a type in each of the ways; the first failure. */
static xylem_status_t make_all(xylem_type_t *type_out)
{
    static const uint64_t counts[] = {1, 2, 3, 1, 5, 6, 1};
    static const uint64_t displs[] = {0, 100, 500, 900, 2000, 3000, 9000};
    static const int64_t offsets[] = {0, 100, 500, 900, 2000, 3000, 9000};
    xylem_type_part_t parts[2] = {{0, 3, 0}, {7000, 2, 0}};
    xylem_type_t types[7], deep = XYLEM_INT32, mixed = 0;
    const xyl_layout_t *layout = NULL;
    xylem_status_t status;
    int64_t stride;
    size_t i;

    status =
        xylem_type_indexed(context, 7, counts, offsets, XYLEM_INT32, type_out);
    for (i = 0; i < 2; i++)
        parts[i].type = *type_out;
    if (status == XYLEM_OK)
        status = xylem_type_create(context, parts, 2, 1, &mixed);
    for (i = 0; i < 7; i++)
        types[i] = XYLEM_INT16;
    if (status == XYLEM_OK)
        status = xyl_types_layout_of_blocks(context, 7, counts, displs, types,
                                            NULL, &layout);
    xyl_layout_release(layout);
    /* Deeper than a layout has levels. */
    for (stride = 5; stride < 1000000 && status == XYLEM_OK; stride *= 4)
        status = xylem_type_vector(context, 2, 1, stride, deep, &deep);
    if (status == XYLEM_OK)
        status = xylem_type_vector(context, 9, 1, 5000000, *type_out, &deep);
    for (stride = 7; stride < 100000 && status == XYLEM_OK; stride *= 5)
        status = xylem_type_vector(context, 2, 1, stride, deep, &deep);
    return status;
}

static void test_allocations(void)
{
    fabric_t *fabric = fabric_start();
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;
    xylem_type_t type = 0;
    uint64_t nth;

    for (nth = 1; status != XYLEM_OK && nth < 1000; nth++) {
        type = UNTOUCHED;
        allocations_to_failure = nth;
        status = make_all(&type);
        CHECK(status == XYLEM_OK || status == XYLEM_ERR_NO_MEMORY);
        CHECK((allocations_to_failure == 0) == (status != XYLEM_OK));
        allocations_to_failure = 0;
    }
    CHECK(nth > 20 && status == XYLEM_OK);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"types: arguments that are refused", test_arguments},
    {"types: handles of no type", test_handles},
    {"types: beyond 63 bits", test_overflows},
    {"types: more blocks than the limit", test_too_many_blocks},
    {"types: regular ones are compact", test_compact},
    {"types: lists of equal distances are compact", test_patterns_are_found},
    {"types: destroyed while in use", test_destroy_in_use},
    {"types: without data", test_no_data},
    {"types: thousands", test_thousands},
    {"types: threads", test_threads},
    {"types: every allocation fails once", test_allocations},
};

CHECK_MAIN(cases)
