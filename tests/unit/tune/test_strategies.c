/* The tuner's strategies on a machine that is a formula: at which cost they
 * find good plans. */
#include <stdio.h>

#include "tests/support/check.h"
#include "tests/support/formula_machine.h"

/* The model finds the same plans as measuring everything, for at most 23 % of
 * the cost, as in Luo's thesis. Heuristics do not know the formula. */
static void check_strategies(size_t near_bytes)
{
    struct tune_choice all[TUNE_SIZES_MAX], few[TUNE_SIZES_MAX];
    struct tune_options exhaustive = formula_options(1, 0),
                        tasks = formula_options(0, 0),
                        promising = formula_options(0, 1);
    struct tune_journal journals[3] = {
        {.file = NULL}, {.file = NULL}, {.file = NULL}};
    formula_machine_t machine = {.near_bytes = near_bytes};
    double cost, by_model;
    size_t s;

    formula_search(&exhaustive, &machine, &journals[0], all);
    cost = machine.us;
    formula_search(&tasks, &machine, &journals[1], few);
    by_model = machine.us;
    for (s = 0; s < tasks.bytes_count; s++)
        CHECK(few[s].is_known && few[s].us <= 1.05 * all[s].us);
    formula_search(&promising, &machine, &journals[2], few);
    printf("# by the model: %.1f %% of the cost, with heuristics %.1f %%\n",
           100 * by_model / cost, 100 * machine.us / cost);
    CHECK(by_model < 0.23 * cost);
    CHECK(machine.us < 0.23 * cost);
    for (s = 0; s < 3; s++)
        tune_journal_close(&journals[s]);
}

static void test_strategies(void)
{
    check_strategies(0);
}

/* Tasks that fit into caches say too little of messages that do not. */
static void test_caches(void)
{
    check_strategies((size_t)2 << 20);
}

static const check_case_t cases[] = {
    {"strategies", test_strategies},
    {"caches", test_caches},
};
CHECK_MAIN(cases)
