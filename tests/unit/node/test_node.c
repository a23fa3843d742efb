/* Collectives in the shared memory of a node, run by the library's engine on
 * simulated ranks: random cases of every collective that has a node program,
 * with windows so small that all come in many pieces, ranks that run ahead, and
 * several operations and teams at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "collectives/node/program.h"
#include "progress/shm/shm.h"
#include "simulator/random.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

/* Drawn. */
#define CASES        check_cases(16)
#define MIXED_WORLDS check_cases(48)
#define DEATHS       check_cases(80)

enum {
    RANKS_MAX = 17,
    FEW_RANKS = 4,
    MANY_ELEMENTS = 20000, /* if ranks are few, and fewer if they are not */
    STARTS_MAX = 3,
    MIXED_OPERATIONS = 6,
    DYING_OPERATIONS = 3,
    NOTICE_MAX = 50, /* microseconds */
    SETTING_BYTES = 80,
    AHEAD = 50 /* operations */
};

/* Seats of three caches, in any order. */
static void draw_places(uint64_t *random, uint32_t ranks, xylem_place_t *places)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        places[i] = (xylem_place_t){.l3 = random_below(random, 3), .core = i};
}

/* Draws any algorithm in the memory of a node: a setting that does not fit a
 * call is passed over. */
static const char *draw_setting(uint64_t *random, xylem_coll_t coll,
                                char setting[SETTING_BYTES])
{
    const xyl_algorithm_t *const *all;
    size_t count, i, drawn = 0, found = 0;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        if (all[i]->kind == XYL_ALGORITHM_NODE &&
            xyl_algorithm_does(all[i], coll) &&
            random_below(random, (uint32_t)++found) == 0)
            drawn = i;
    snprintf(setting, SETTING_BYTES, "ALGORITHMS=%s=%s",
             xyl_coll_traits(coll)->name, all[drawn]->name);
    return setting;
}

/* `sees`: ranks read others' input in their memory. */
static fabric_t *random_fabric(uint64_t seed, xylem_coll_t coll, uint32_t ranks,
                               const char *order, int sees)
{
    static const char *const shares[] = {"SHARE_BYTES=1", "SHARE_BYTES=3K"};
    static const char *const budgets[] = {
        "NOISE_BUDGET=512K", "NOISE_BUDGET=1M", "NOISE_BUDGET=16M"};
    static const char *const groups[] = {"NODE_GROUPS=auto", "NODE_GROUPS=off",
                                         "NODE_GROUPS=2", "NODE_GROUPS=5"};
    uint64_t random = random_mix(seed);
    char algorithm[SETTING_BYTES];
    const char *settings[] = {budgets[random_below(&random, 3)],
                              draw_setting(&random, coll, algorithm),
                              order,
                              shares[random_below(&random, 4) == 0],
                              random_below(&random, 2) == 0 ? "PAST_CACHES=0"
                                                            : "PAST_CACHES=1",
                              groups[random_below(&random, 4)],
                              NULL};
    xylem_place_t places[RANKS_MAX];
    fabric_options_t options = {.seed = seed,
                                .delay_max = random_below(&random, 40),
                                .reorder = 1,
                                .shares_memory = 1,
                                .sees_memory = sees,
                                .places = places,
                                .settings = settings};

    draw_places(&random, ranks, places);
    return fabric_create(ranks, &options);
}

static call_case_t random_case(uint64_t *random, xylem_coll_t coll,
                               uint32_t ranks)
{
    call_case_t c = call_case_random(random, coll, ranks);

    if (random_below(random, 8) == 0) /* beyond one piece */
        c.count = random_below(random, ranks <= FEW_RANKS
                                           ? MANY_ELEMENTS
                                           : MANY_ELEMENTS * FEW_RANKS / ranks);
    c.algorithm[0] = '\0'; /* the setting's */
    return c;
}

static void one_case_of(const call_case_t *c, uint64_t seed, const char *order,
                        int sees)
{
    fabric_t *fabric = random_fabric(seed, c->coll, c->ranks, order, sees);
    uint64_t random = random_mix(seed);
    uint32_t start, starts;
    call_run_t run;

    call_run_init(&run, fabric, NULL, c);
    run.is_persistent = random_below(&random, 2) == 0;
    starts = run.is_persistent ? random_between(&random, 1, STARTS_MAX) : 1;
    for (start = 0; start < starts; start++) {
        call_run_refill(&run);
        call_run_start_all(&run);
        if (call_run_finish(&run))
            call_run_check(&run);
    }
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

static void one_case(const call_case_t *c, uint64_t seed, const char *order)
{
    one_case_of(c, seed, order, 0);
    one_case_of(c, seed, order, 1);
}

static void test_every_collective(void)
{
    uint64_t random = random_mix(21);
    xylem_coll_t coll;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES &&
                    xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) != NULL;
             n++) {
            call_case_t c = random_case(&random, coll,
                                        random_between(&random, 2, RANKS_MAX));
            one_case(&c, random_next(&random), "REDUCE_ORDER=fixed");
        }
}

static void test_order_of_arrival(void)
{
    uint64_t random = random_mix(23);
    uint32_t n;

    for (n = 0; n < 4 * CASES; n++) {
        call_case_t c = random_case(
            &random, n % 2 == 0 ? XYLEM_COLL_REDUCE : XYLEM_COLL_ALLREDUCE,
            random_between(&random, 2, RANKS_MAX));
        if (random_below(&random, 2) == 0)
            c.count = random_below(&random, 20000);
        c.is_ordered = random_below(&random, 8) == 0;
        one_case(&c, random_next(&random), "REDUCE_ORDER=arrival");
    }
}

/* Segments of reductions come and go singly, in orders by chance. */
static void one_parts_case(uint64_t *random, int sees)
{
    uint32_t ranks = random_between(random, 2, RANKS_MAX);
    uint64_t seed = random_next(random);
    fabric_t *fabric = random_fabric(seed, XYLEM_COLL_REDUCE, ranks,
                                     "REDUCE_ORDER=fixed", sees);
    coll_case_t c = coll_case_random(random, ranks);
    coll_run_t run;

    while (c.coll != XYLEM_COLL_REDUCE || c.count == 0)
        c = coll_case_random(random, ranks);
    c.flags |= XYLEM_FLAG_PARTS | XYLEM_FLAG_ARRIVAL_ORDER;
    c.algorithm[0] = '\0';
    if (c.count * coll_element_bytes(c.data) <= c.segment_bytes)
        c.count += c.segment_bytes / coll_element_bytes(c.data);
    coll_case_enlarge(&c, random_between(random, 1, 10));
    coll_run_init(&run, fabric, NULL, ranks, &c, seed);
    coll_run_start_all(&run);
    if (coll_run_finish(&run))
        coll_run_check(&run);
    fabric_run_dry(fabric);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_parts(void)
{
    uint64_t random = random_mix(24);
    uint32_t n;

    for (n = 0; n < 8 * CASES; n++)
        one_parts_case(&random, n % 2 == 1);
}

static call_case_t mixed_case(uint64_t *random, uint32_t ranks)
{
    xylem_coll_t coll;

    do
        coll = (xylem_coll_t)random_below(random, XYLEM_COLL_COUNT);
    while (xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) == NULL);
    return random_case(random, coll, ranks);
}

static void test_many_at_once(void)
{
    call_run_t runs[MIXED_OPERATIONS];
    uint64_t random = random_mix(22);
    uint32_t world, i, ranks;

    for (world = 0; world < MIXED_WORLDS; world++) {
        fabric_t *fabric;
        ranks = random_between(&random, 2, RANKS_MAX);
        fabric = random_fabric(
            random_next(&random),
            (xylem_coll_t)random_below(&random, XYLEM_COLL_COUNT), ranks,
            world % 2 == 0 ? "REDUCE_ORDER=fixed" : "REDUCE_ORDER=arrival",
            world / 2 % 2 == 1);
        for (i = 0; i < MIXED_OPERATIONS; i++) {
            call_case_t c = mixed_case(&random, ranks);
            call_run_init(&runs[i], fabric, NULL, &c);
            runs[i].is_persistent = i % 2 == 0;
        }
        fabric_label(fabric, "many at once");
        call_run_start_mixed(runs, MIXED_OPERATIONS, &random);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            if (call_run_finish(&runs[i]))
                call_run_check(&runs[i]);
        fabric_run_dry(fabric);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            call_run_fini(&runs[i]);
        fabric_destroy(fabric);
    }
}

/* ---- death ---- */

static void one_dies(uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t ranks = random_between(&random, 3, 8), i;
    uint32_t victim = random_below(&random, ranks);
    fabric_t *fabric = random_fabric(seed, XYLEM_COLL_REDUCE, ranks,
                                     "REDUCE_ORDER=arrival", seed % 2 == 1);
    call_run_t runs[DYING_OPERATIONS];

    for (i = 0; i < DYING_OPERATIONS; i++) {
        call_case_t c = i == 0 ? random_case(&random, XYLEM_COLL_REDUCE, ranks)
                               : mixed_case(&random, ranks);
        c.types = CALL_TYPES_PLAIN;
        if (c.coll != XYLEM_COLL_BARRIER)
            c.count += 2000;
        call_run_init(&runs[i], fabric, NULL, &c);
        runs[i].expects_failure = 1;
        call_run_start_all(&runs[i]);
    }
    sim_world_run(fabric_sim(fabric), SIM_NEVER, random_below(&random, 200));
    fabric_kill(fabric, victim, NOTICE_MAX);
    for (i = 0; i < DYING_OPERATIONS; i++)
        CHECK(call_run_finish(&runs[i]));
    fabric_run_dry(fabric);
    fabric_isolate(fabric, victim);
    fabric_run_dry(fabric);
    for (i = 0; i < DYING_OPERATIONS; i++) {
        call_run_check_survivors(&runs[i], victim);
        call_run_fini(&runs[i]);
    }
    fabric_destroy(fabric);
}

static void test_one_dies(void)
{
    uint64_t seed;

    for (seed = 1; seed <= DEATHS; seed++)
        one_dies(seed);
}

/* ---- memory that cannot be seen ---- */

static const void *sees_nothing(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                                size_t bytes)
{
    (void)shm;
    (void)rank;
    (void)name;
    (void)bytes;
    return NULL;
}

/* A rank cannot see the root's memory. The root relies on it, and fails with
 * it; ranks that have the message are done. */
static void test_cannot_see(void)
{
    static const char *const settings[] = {"SHARE_BYTES=1", NULL};
    fabric_options_t options = {.seed = 5,
                                .reorder = 1,
                                .shares_memory = 1,
                                .sees_memory = 1,
                                .settings = settings};
    call_case_t c = {.coll = XYLEM_COLL_BCAST,
                     .ranks = 3,
                     .count = 50000,
                     .salt = 9,
                     .algorithm = "node"};
    fabric_t *fabric = fabric_create(c.ranks, &options);
    xyl_shm_t *shm = fabric_context(fabric, 1)->shm;
    xyl_shm_ops_t blind = *shm->ops;
    call_run_t run;

    blind.view = sees_nothing;
    shm->ops = &blind;
    call_run_init(&run, fabric, NULL, &c);
    run.expects_failure = 1;
    call_run_start_all(&run);
    fabric_run_dry(fabric);
    CHECK_EQ(run.all[1].status, XYLEM_ERR_NO_RESOURCE);
    CHECK_EQ(run.all[2].status, XYLEM_OK);
    CHECK_EQ(run.all[0].status, XYLEM_ERR_NO_RESOURCE);
    CHECK(call_run_finish(&run));
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

/* ---- running ahead ---- */

static uint32_t completed(const call_run_t *runs, uint32_t rank)
{
    uint32_t i, count = 0;

    for (i = 0; i < AHEAD; i++)
        count += runs[i].all[rank].completions;
    return count;
}

static void start_all(call_run_t *runs, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < AHEAD; i++)
        CHECK_EQ(call_run_start(&runs[i], rank), XYLEM_OK);
}

/* Two add their part and leave, operation after operation, though neither the
 * root nor the third has begun; until the memory is full. Windows have 64 KiB
 * of sums and four spares of 8 KiB; part of the memory is for smaller ones. */
static void test_leaves_run_ahead(void)
{
    static const char *const settings[] = {"NOISE_BUDGET=4M",
                                           "REDUCE_ORDER=arrival", NULL};
    fabric_options_t options = {
        .seed = 3, .reorder = 1, .shares_memory = 1, .settings = settings};
    call_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .ranks = 4,
                     .count = 8192,
                     .salt = 9,
                     .algorithm = "node"};
    fabric_t *fabric = fabric_create(c.ranks, &options);
    call_run_t runs[AHEAD];
    uint32_t i, far;

    for (i = 0; i < AHEAD; i++)
        call_run_init(&runs[i], fabric, NULL, &c);
    start_all(runs, 1);
    fabric_run_dry(fabric);
    far = completed(runs, 1);
    CHECK(far >= 4096 / 96 * 3 / 4 && far <= 4096 / 96);
    start_all(runs, 2);
    fabric_run_dry(fabric);
    CHECK_EQ(completed(runs, 1), far);
    CHECK_EQ(completed(runs, 2), far);
    start_all(runs, 3);
    start_all(runs, 0);
    for (i = 0; i < AHEAD; i++)
        if (call_run_finish(&runs[i]))
            call_run_check(&runs[i]);
    fabric_run_dry(fabric);
    for (i = 0; i < AHEAD; i++)
        call_run_fini(&runs[i]);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"every_collective", test_every_collective},
    {"order_of_arrival", test_order_of_arrival},
    {"parts", test_parts},
    {"many_at_once", test_many_at_once},
    {"one_dies", test_one_dies},
    {"cannot_see", test_cannot_see},
    {"leaves_run_ahead", test_leaves_run_ahead},
};
CHECK_MAIN(cases)
