/* Collectives in the shared memory of a node, run by the library's engine on
 * simulated ranks: random cases of every collective that has a node program,
 * with windows so small that all come in many pieces, ranks that run ahead, and
 * several operations and teams at once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/node_program.h"
#include "simulator/random.h"
#include "tests/support/any_run.h"
#include "tests/support/check.h"

enum {
    CASES = 60,
    RANKS_MAX = 17,
    STARTS_MAX = 3,
    MIXED_WORLDS = 60,
    MIXED_OPERATIONS = 6
};

static fabric_t *random_fabric(uint64_t seed, uint32_t ranks)
{
    static const char *const budgets[] = {
        "NOISE_BUDGET=512K", "NOISE_BUDGET=1M", "NOISE_BUDGET=16M"};
    uint64_t random = random_mix(seed);
    const char *settings[] = {budgets[random_below(&random, 3)], NULL};
    fabric_options_t options = {.seed = seed,
                                .delay_max = random_below(&random, 40),
                                .reorder = 1,
                                .shares_memory = 1,
                                .settings = settings};

    return fabric_create(ranks, &options);
}

static any_case_t random_case(uint64_t *random, xylem_coll_t coll,
                              uint32_t ranks)
{
    any_case_t c = any_case_random(random, coll, ranks);

    if (random_below(random, 8) == 0) /* beyond one piece */
        c.count = random_below(random, 20000);
    snprintf(c.algorithm, sizeof c.algorithm, "node");
    return c;
}

static void one_case(const any_case_t *c, uint64_t seed)
{
    fabric_t *fabric = random_fabric(seed, c->ranks);
    uint64_t random = random_mix(seed);
    uint32_t start, starts;
    any_run_t run;

    any_run_init(&run, fabric, NULL, c);
    run.is_persistent = random_below(&random, 2) == 0;
    starts = run.is_persistent ? random_between(&random, 1, STARTS_MAX) : 1;
    for (start = 0; start < starts; start++) {
        any_run_refill(&run);
        any_run_start_all(&run);
        if (any_run_finish(&run))
            any_run_check(&run);
    }
    fabric_run_dry(fabric);
    any_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_every_collective(void)
{
    uint64_t random = random_mix(21);
    xylem_coll_t coll;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES && xyl_node_algorithm(coll) != NULL; n++) {
            any_case_t c = random_case(&random, coll,
                                       random_between(&random, 2, RANKS_MAX));
            one_case(&c, random_next(&random));
        }
}

static any_case_t mixed_case(uint64_t *random, uint32_t ranks)
{
    xylem_coll_t coll;

    do
        coll = (xylem_coll_t)random_below(random, XYLEM_COLL_COUNT);
    while (xyl_node_algorithm(coll) == NULL);
    return random_case(random, coll, ranks);
}

/* The same order on each rank, at any pace. */
static void start_mixed(any_run_t *runs, uint32_t ranks, uint64_t *random)
{
    uint32_t next[RANKS_MAX] = {0}, left = ranks * MIXED_OPERATIONS, rank;

    while (left != 0) {
        rank = random_below(random, ranks);
        if (next[rank] == MIXED_OPERATIONS)
            continue;
        CHECK_EQ(any_run_start(&runs[next[rank]++], rank), XYLEM_OK);
        left--;
    }
}

static void test_many_at_once(void)
{
    any_run_t runs[MIXED_OPERATIONS];
    uint64_t random = random_mix(22);
    uint32_t world, i, ranks;

    for (world = 0; world < MIXED_WORLDS; world++) {
        fabric_t *fabric;
        ranks = random_between(&random, 2, RANKS_MAX);
        fabric = random_fabric(random_next(&random), ranks);
        for (i = 0; i < MIXED_OPERATIONS; i++) {
            any_case_t c = mixed_case(&random, ranks);
            any_run_init(&runs[i], fabric, NULL, &c);
            runs[i].is_persistent = i % 2 == 0;
        }
        fabric_label(fabric, "many at once");
        start_mixed(runs, ranks, &random);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            if (any_run_finish(&runs[i]))
                any_run_check(&runs[i]);
        fabric_run_dry(fabric);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            any_run_fini(&runs[i]);
        fabric_destroy(fabric);
    }
}

static const check_case_t cases[] = {
    {"every_collective", test_every_collective},
    {"many_at_once", test_many_at_once},
};
CHECK_MAIN(cases)
