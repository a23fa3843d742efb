/* Every collective by every registered algorithm, run by the library's engine
 * over the simulated net: random numbers of ranks, roots, counts, types,
 * segments, protocols and delays; nonblocking, persistent, several at once. And
 * calls that must be refused. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "simulator/random.h"
#include "tests/support/call_algorithm.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/schedules.h"

/* Drawn. */
#define CASES_PER_ALGORITHM check_cases(40)
#define CASES_BY_CHOICE     check_cases(60)
#define MIXED_WORLDS        check_cases(40)

enum { RANKS_MAX = 17, STARTS_MAX = 3, MIXED_OPERATIONS = 6 };

static fabric_t *random_fabric(uint64_t seed, uint32_t ranks)
{
    static const size_t eager[] = {0, 64, 1024, SIZE_MAX};
    uint64_t random = random_mix(seed);
    fabric_options_t options = {
        .seed = seed, .delay_max = random_below(&random, 40), .reorder = 1};

    options.eager_bytes_max = eager[random_below(&random, 4)];
    return fabric_create(ranks, &options);
}

/* ---- one at a time ---- */

static void one_case(const call_case_t *c, uint64_t seed)
{
    fabric_t *fabric = random_fabric(seed, c->ranks);
    uint64_t random = random_mix(seed);
    uint32_t start, starts;
    call_run_t run;

    call_run_init(&run, fabric, NULL, c);
    run.is_persistent = random_below(&random, 2) == 0;
    run.drops_types = random_below(&random, 2) == 0;
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

/* 1: the algorithm can do the case. */
static int fits(const xyl_algorithm_t *algorithm, const call_case_t *c)
{
    xyl_problem_t problem = {.coll = c->coll,
                             .ranks = c->ranks,
                             .count = c->count,
                             .element_bytes = 8,
                             .is_in_place = c->in_place,
                             .is_commutative = !c->is_ordered};

    return xyl_algorithm_fits(algorithm, &problem, NULL);
}

static void name_of(const xyl_algorithm_t *algorithm, uint64_t *random,
                    char *name, size_t bytes)
{
    uint32_t most = algorithm->radix.most, radix = 0;

    if (most != 0)
        switch (random_below(random, 4)) {
        case 0:
            break;
        case 1:
            radix = most;
            break;
        default:
            radix = random_between(random, 2, most < 9 ? most : 9);
        }
    if (radix != 0)
        snprintf(name, bytes, "%s:%u", algorithm->name, radix);
    else
        snprintf(name, bytes, "%s", algorithm->name);
}

static void test_every_algorithm(void)
{
    static schedule_entry_t all[SCHEDULES_MAX];
    size_t i, count = schedules_find(all);
    uint64_t random = random_mix(7);
    uint32_t n;

    for (i = 0; i < count; i++)
        for (n = 0; n < CASES_PER_ALGORITHM; n++) {
            call_case_t c = call_case_random(
                &random, all[i].coll, random_between(&random, 1, RANKS_MAX));
            if (!fits(all[i].algorithm, &c))
                continue;
            name_of(all[i].algorithm, &random, c.algorithm, sizeof c.algorithm);
            one_case(&c, random_next(&random));
        }
}

static void test_by_choice(void)
{
    uint64_t random = random_mix(8);
    xylem_coll_t coll;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES_BY_CHOICE; n++) {
            call_case_t c = call_case_random(
                &random, coll, random_between(&random, 1, RANKS_MAX));
            one_case(&c, random_next(&random));
        }
}

/* Trees, and alltoallw by name. */
static void test_by_draw(void)
{
    static const xylem_coll_t colls[] = {XYLEM_COLL_BCAST, XYLEM_COLL_REDUCE,
                                         XYLEM_COLL_ALLREDUCE,
                                         XYLEM_COLL_ALLTOALLW};
    uint64_t random = random_mix(10);
    uint32_t i, n;

    for (i = 0; i < sizeof colls / sizeof *colls; i++)
        for (n = 0; n < CASES_BY_CHOICE; n++) {
            call_case_t c = call_case_random(
                &random, colls[i], random_between(&random, 1, RANKS_MAX));
            call_algorithm_draw(&random, &c);
            one_case(&c, random_next(&random));
        }
}

/* Ranks with and without gaps choose alike, and cut the message alike. */
static void test_bcast_types_differ(void)
{
    uint64_t random = random_mix(11);
    uint32_t n;

    for (n = 0; n < 2 * CASES_BY_CHOICE; n++) {
        call_case_t c = call_case_random(&random, XYLEM_COLL_BCAST,
                                         random_between(&random, 2, RANKS_MAX));
        c.types = CALL_TYPES_TWO;
        c.count = random_below(&random, 3000);
        if (n % 2 != 0)
            call_algorithm_draw(&random, &c);
        one_case(&c, random_next(&random));
    }
}

/* ---- many at once ---- */

static void test_many_at_once(void)
{
    call_run_t runs[MIXED_OPERATIONS];
    uint64_t random = random_mix(9);
    uint32_t world, i, ranks;

    for (world = 0; world < MIXED_WORLDS; world++) {
        fabric_t *fabric;
        ranks = random_between(&random, 1, RANKS_MAX);
        fabric = random_fabric(random_next(&random), ranks);
        for (i = 0; i < MIXED_OPERATIONS; i++) {
            call_case_t c = call_case_random(
                &random, (xylem_coll_t)random_below(&random, XYLEM_COLL_COUNT),
                ranks);
            call_algorithm_draw(&random, &c);
            call_run_init(&runs[i], fabric, NULL, &c);
            runs[i].is_persistent = i % 2 == 0;
            runs[i].drops_types = i % 3 == 0;
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

static const check_case_t cases[] = {
    {"every_algorithm", test_every_algorithm},
    {"by_choice", test_by_choice},
    {"by_draw", test_by_draw},
    {"bcast_types_differ", test_bcast_types_differ},
    {"many_at_once", test_many_at_once},
};
CHECK_MAIN(cases)
