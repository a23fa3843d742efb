/* Broadcast and reduce over the fabric: every shape, window, segment size and
 * protocol, with results compared to a reference on every rank. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"
#include "trees/tree.h"

/* Drawn. */
#define RANDOM_CASES check_cases(4000)
#define LARGE_CASES  check_cases(120)

enum {
    RANKS_SMALL = 6, /* every root */
    RANKS_SWEPT = 17
};

/* Rendezvous for all, eager for all, or something between. */
static size_t random_eager(uint64_t *random, const coll_case_t *c)
{
    switch (random_below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return SIZE_MAX;
    case 2:
        return c->segment_bytes - 1; /* only a short last segment is eager */
    default:
        return random_below(random, 400);
    }
}

static fabric_options_t options_of(uint64_t seed)
{
    uint64_t random = random_mix(seed);

    return (fabric_options_t){
        .seed = seed, .delay_max = random_below(&random, 60), .reorder = 1};
}

static void run_case(const coll_case_t *c, uint32_t ranks,
                     const fabric_options_t *options)
{
    fabric_t *fabric = fabric_create(ranks, options);
    coll_run_t run;

    coll_run_init(&run, fabric, NULL, ranks, c, options->seed);
    coll_run_start_all(&run);
    if (coll_run_finish(&run))
        coll_run_check(&run);
    fabric_run_dry(fabric);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

/* ---- sweeps ---- */

static void sweep_ranks(xylem_coll_t coll, coll_data_t data, uint32_t ranks,
                        size_t tree, uint32_t radix)
{
    coll_case_t c = {.coll = coll,
                     .data = data,
                     .count = 13,
                     .segment_bytes = 3 * 8,
                     .send_window = 2,
                     .recv_window = 3};
    uint32_t step = ranks <= RANKS_SMALL ? 1 : ranks / 3;
    fabric_options_t options;

    coll_case_tree(&c, tree, radix);
    for (c.root = 0; c.root < ranks; c.root += step) {
        options = options_of(ranks * 1000 + c.root);
        options.eager_bytes_max = c.root % 2 == 0 ? 0 : 20;
        run_case(&c, ranks, &options);
    }
}

static void sweep_trees(xylem_coll_t coll, coll_data_t data)
{
    uint32_t ranks, tree;

    for (ranks = 1; ranks <= RANKS_SWEPT; ranks++)
        for (tree = 0; tree < coll_case_trees(); tree++)
            sweep_ranks(coll, data, ranks, tree, 2 + (ranks + tree) % 3);
}

static void test_bcast_trees(void)
{
    sweep_trees(XYLEM_COLL_BCAST, COLL_BYTES);
}

static void test_reduce_trees(void)
{
    sweep_trees(XYLEM_COLL_REDUCE, COLL_UINT32);
}

static void test_rank_order(void)
{
    sweep_trees(XYLEM_COLL_REDUCE, COLL_AFFINE);
}

static void test_radices(void)
{
    uint32_t radix;
    size_t tree;

    for (radix = 1; radix <= 8; radix++)
        for (tree = 1; tree < coll_case_trees(); tree++) {
            sweep_ranks(XYLEM_COLL_BCAST, COLL_BYTES, 11, tree, radix);
            sweep_ranks(XYLEM_COLL_REDUCE, COLL_UINT32, 11, tree, radix);
            sweep_ranks(XYLEM_COLL_REDUCE, COLL_AFFINE, 11, tree, radix);
        }
}

static void test_windows(void)
{
    coll_case_t c = {.data = COLL_UINT32,
                     .algorithm = "kary:3",
                     .count = 70,
                     .segment_bytes = 4,
                     .root = 2};
    fabric_options_t options;
    uint32_t m, n;

    for (m = 1; m <= 9; m++)
        for (n = 1; n <= (m == 9 ? 64 : m); n += m == 9 ? 21 : 1) {
            c.recv_window = m == 9 ? 64 : m;
            c.send_window = n;
            c.coll = n % 2 == 0 ? XYLEM_COLL_BCAST : XYLEM_COLL_REDUCE;
            c.flags = m % 2 == 0 ? XYLEM_FLAG_PARTS : 0;
            options = options_of(m * 100 + n);
            run_case(&c, 7, &options);
        }
}

static void test_sizes(void)
{
    static const size_t counts[] = {0, 1, 2, 9, 10, 11, 19, 20, 21, 1000};
    coll_case_t c = {.data = COLL_UINT32, .root = 1, .segment_bytes = 40};
    fabric_options_t options;
    size_t i, tree;

    for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (c.coll = 0; c.coll <= XYLEM_COLL_REDUCE; c.coll++)
            for (tree = 0; tree < coll_case_trees(); tree++) {
                coll_case_tree(&c, tree, 2);
                c.count = counts[i];
                options = options_of(i + tree);
                run_case(&c, 5, &options);
            }
}

/* ---- random ---- */

static void random_cases(uint32_t cases, uint64_t first_seed,
                         uint32_t ranks_max)
{
    uint32_t i;

    for (i = 0; i < cases; i++) {
        uint64_t seed = first_seed + i, random = random_mix(~seed);
        uint32_t ranks = random_between(&random, 1, ranks_max);
        coll_case_t c = coll_case_random(&random, ranks);
        fabric_options_t options = options_of(seed);
        options.eager_bytes_max = random_eager(&random, &c);
        run_case(&c, ranks, &options);
    }
}

static void test_random(void)
{
    random_cases(RANDOM_CASES, 1, RANKS_SWEPT);
}

static void test_random_many_ranks(void)
{
    random_cases(LARGE_CASES, 900000, 64);
}

static void test_large(void)
{
    coll_case_t c = {.data = COLL_UINT32,
                     .root = 3,
                     .count = 200003,
                     .algorithm = "double",
                     .segment_bytes = 16384};
    fabric_options_t options = options_of(5);

    for (c.coll = 0; c.coll <= XYLEM_COLL_REDUCE; c.coll++)
        run_case(&c, 9, &options);
}

/* ---- the window rule ---- */

/* Chooses the order in which segments become ready. */
typedef struct adverse {
    coll_run_t run;
    uint64_t released;
} adverse_t;

static int adverse_is_done(void *arg)
{
    adverse_t *adverse = arg;

    return coll_run_is_done(&adverse->run);
}

static unsigned adverse_act(void *arg)
{
    adverse_t *adverse = arg;
    coll_run_t *run = &adverse->run;
    uint64_t segment, nth = adverse->released++;
    uint32_t i;

    if (nth >= run->segments)
        return 0;
    for (i = 0; i < run->ranks; i++) {
        /* Even ranks release from the end, odd ranks from the start. */
        segment = i % 2 == 0 ? run->segments - 1 - nth : nth;
        CHECK_EQ(xylem_segment_ready(run->all[i].request, segment), XYLEM_OK);
    }
    return 1;
}

/* Segments travel in the order in which they become ready, receives are posted
 * in the order of their numbers. Without the window rule this deadlocks:
 *
 *   A rank with M = N = 2 and three children combines segments 8 and 9 first,
 *   because its children released their segments from the end. It sends both;
 *   they fill its window. Its parent has receives for 0 and 1 posted and posts
 *   2 only when 0 has come. With rendezvous neither send ends, the window stays
 *   full, 0 and 1 are never sent: all ranks wait.
 *
 * With the rule a segment s leaves only while s < base + M, base being the
 * number of segments at the beginning that are all finished, and the parent has
 * posted all of these or will. */
static void test_window_rule(void)
{
    static const uint32_t windows[][2] = {{1, 1}, {1, 2}, {2, 2}, {3, 4}};
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_UINT32,
                     .flags = XYLEM_FLAG_PARTS,
                     .algorithm = "kary:3",
                     .count = 23,
                     .segment_bytes = 4};
    size_t i;

    for (i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        fabric_options_t options = options_of(77 + i);
        fabric_t *fabric = fabric_create(13, &options);
        adverse_t adverse = {.released = 0};
        fabric_script_t script = {adverse_is_done, adverse_act, &adverse};

        c.send_window = windows[i][0];
        c.recv_window = windows[i][1];
        c.data = i % 2 == 0 ? COLL_UINT32 : COLL_AFFINE;
        coll_run_init(&adverse.run, fabric, NULL, 13, &c, i);
        coll_run_start_all(&adverse.run);
        if (fabric_run_until(fabric, &script))
            coll_run_check(&adverse.run);
        coll_run_fini(&adverse.run);
        fabric_destroy(fabric);
    }
}

/* ---- orders of combination ---- */

static void sum_of(const coll_case_t *c, uint64_t seed, size_t eager_bytes_max,
                   char *result)
{
    fabric_options_t options = options_of(seed);
    fabric_t *fabric;
    coll_run_t run;

    options.eager_bytes_max = eager_bytes_max;
    fabric = fabric_create(12, &options);
    coll_run_init(&run, fabric, NULL, 12, c, 4711);
    coll_run_start_all(&run);
    CHECK(coll_run_finish(&run));
    memcpy(result, run.all[c->root].recv, run.bytes);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

/* Sums whose bits tell how they were associated. */
static void test_deterministic(void)
{
    enum { COUNT = 40 };
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_FLOAT64,
                     .root = 5,
                     .count = COUNT,
                     .segment_bytes = 24,
                     .flags = XYLEM_FLAG_PARTS};
    double first[COUNT], again[COUNT];
    uint64_t seed;
    size_t tree;

    for (tree = 1; tree < coll_case_trees(); tree++) {
        coll_case_tree(&c, tree, 3);
        sum_of(&c, 1, 0, (char *)first);
        for (seed = 2; seed < 8; seed++) {
            c.in_place = seed % 2 == 0;
            sum_of(&c, seed, seed % 3 == 0 ? 0 : SIZE_MAX, (char *)again);
            CHECK(memcmp(first, again, sizeof first) == 0);
        }
    }
}

/* The association of a star: the root first, then its children, the last that
 * the tree lists ahead. */
static void test_association(void)
{
    enum { RANKS = 12, COUNT = 50 };
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_FLOAT64,
                     .count = COUNT,
                     .segment_bytes = 24,
                     .algorithm = "flat"};
    fabric_options_t options = options_of(9);
    fabric_t *fabric = fabric_create(RANKS, &options);
    uint32_t children[RANKS], i;
    double sum[COUNT], next[COUNT];
    coll_run_t run;
    size_t k;

    coll_run_init(&run, fabric, NULL, RANKS, &c, 12);
    coll_run_start_all(&run);
    CHECK(coll_run_finish(&run));
    CHECK_EQ(xyl_tree_children((xyl_shape_t){&xyl_tree_flat, 0}, 0, RANKS, 0, 0,
                               children, RANKS),
             RANKS - 1);
    memcpy(sum, run.all[0].send, sizeof sum);
    for (i = RANKS - 1; i-- > 0;) {
        memcpy(next, run.all[children[i]].send, sizeof next);
        for (k = 0; k < COUNT; k++)
            sum[k] += next[k];
    }
    CHECK(memcmp(run.all[0].recv, sum, sizeof sum) == 0);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

/* ---- the fabric itself ---- */

static uint64_t trace_of(uint64_t seed)
{
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_UINT32,
                     .count = 50,
                     .segment_bytes = 16,
                     .flags = XYLEM_FLAG_PARTS};
    fabric_options_t options = options_of(1);
    fabric_t *fabric;
    coll_run_t run;
    uint64_t trace;

    options.seed = seed;
    options.eager_bytes_max = 8;
    fabric = fabric_create(9, &options);
    coll_run_init(&run, fabric, NULL, 9, &c, 3);
    coll_run_start_all(&run);
    CHECK(coll_run_finish(&run));
    coll_run_fini(&run);
    trace = fabric_trace(fabric);
    fabric_destroy(fabric);
    return trace;
}

static void test_replay(void)
{
    CHECK(trace_of(42) == trace_of(42));
    CHECK(trace_of(42) != trace_of(43));
}

static const check_case_t cases[] = {
    {"fabric: equal seeds give equal runs", test_replay},
    {"bcast: every tree, every root", test_bcast_trees},
    {"reduce: every tree, every root", test_reduce_trees},
    {"reduce: rank order in every tree", test_rank_order},
    {"trees of every radix", test_radices},
    {"windows 1 to 8 and 64", test_windows},
    {"sizes around segment boundaries", test_sizes},
    {"window rule: adverse order under rendezvous", test_window_rule},
    {"reduce: sums are equal bit by bit", test_deterministic},
    {"reduce: one fixed association", test_association},
    {"large messages", test_large},
    {"random cases", test_random},
    {"random cases on many ranks", test_random_many_ranks},
};

CHECK_MAIN(cases)
