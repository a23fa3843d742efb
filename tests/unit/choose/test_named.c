/* An algorithm that a call or a setting names is chosen if it fits, and all
 * ranks choose alike. */
#include <stdio.h>
#include <string.h>

#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "runtime/core/operation.h"
#include "simulator/random.h"
#include "tests/support/call_algorithm.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/decision.h"

static const shape_t named_shapes[] = {
    {.nodes = 1, .seats = 4}, {.nodes = 1, .seats = 5, .is_apart = 1},
    {.nodes = 2, .seats = 2}, {.nodes = 3, .seats = 3, .is_in_turn = 1},
    {.nodes = 4, .seats = 1},
};

enum { NAMED_SHAPES = sizeof named_shapes / sizeof *named_shapes };

static int is_obeyed(const xyl_choice_t *choice, const xyl_named_t *named)
{
    return (named->algorithm->needs & XYL_STANDS_FOR_KIND) != 0
               ? choice->algorithm->kind == named->algorithm->kind
               : choice->algorithm == named->algorithm &&
                     choice->radix == named->radix;
}

static void check_named(decision_t *decision, const char *text)
{
    static const uint64_t bytes[] = {0, 64, 4096, 1 << 20};
    decision_kind_t kind = {.name = text, .algorithm = text};
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;
    uint32_t i;
    int is_run;

    CHECK(xyl_algorithm_parse(decision->coll, text, &named, why));
    decision->kind = &kind;
    for (i = 0; i < 8; i++) {
        decision->bytes = bytes[i / 2];
        kind.is_ordered = i % 2 != 0;
        is_run = decision_make(decision);
        decision->problem.radix = named.radix;
        DECISION_CHECK(decision,
                       is_run == xyl_algorithm_fits(named.algorithm,
                                                    &decision->problem, NULL));
        if (is_run)
            DECISION_CHECK(decision, is_obeyed(&decision->choice, &named));
    }
    decision->kind = NULL;
}

static void check_algorithm(decision_t *decision,
                            const xyl_algorithm_t *algorithm)
{
    const xyl_radix_t *radix = xyl_algorithm_radix(algorithm);
    char text[XYL_ALGORITHM_TEXT_BYTES];

    check_named(decision, algorithm->name);
    if (radix->most == 0)
        return;
    snprintf(text, sizeof text, "%s:%u", algorithm->name, radix->least);
    check_named(decision, text);
    snprintf(text, sizeof text, "%s:%u", algorithm->name, radix->most);
    check_named(decision, text);
}

static void test_a_call_is_obeyed(void)
{
    const xyl_algorithm_t *const *all;
    decision_t decision;
    size_t count, i, k;

    all = xyl_algorithms(&count);
    for (i = 0; i < NAMED_SHAPES; i++) {
        fabric_t *fabric = shape_create(&named_shapes[i], NULL);
        decision = (decision_t){.shape = &named_shapes[i],
                                .team = fabric_world(fabric, 0)};
        for (decision.coll = 0; decision.coll < XYLEM_COLL_COUNT;
             decision.coll++)
            for (k = 0; k < count; k++)
                if (xyl_algorithm_does(all[k], decision.coll))
                    check_algorithm(&decision, all[k]);
        fabric_destroy(fabric);
    }
}

/* The setting names an algorithm for all collectives that it carries out; if it
 * does not fit, the decision is that of the table. */
static void check_setting(const shape_t *shape, xylem_team_t *by_table,
                          const xyl_algorithm_t *algorithm)
{
    static const decision_kind_t plain = {.name = "by setting"};
    char text[1024] = "ALGORITHMS=";
    const char *const settings[] = {text, NULL};
    decision_t decision = {.shape = shape, .kind = &plain, .bytes = 4096};
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;
    xyl_choice_t usual;
    fabric_t *fabric;
    int fits;

    for (decision.coll = 0; decision.coll < XYLEM_COLL_COUNT; decision.coll++)
        if (xyl_algorithm_does(algorithm, decision.coll))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%s",
                     strchr(text, ',') == NULL && text[11] == '\0' ? "" : ",",
                     xyl_coll_traits(decision.coll)->name, algorithm->name);
    fabric = shape_create(shape, settings);
    for (decision.coll = 0; decision.coll < XYLEM_COLL_COUNT; decision.coll++) {
        if (!xyl_algorithm_does(algorithm, decision.coll))
            continue;
        decision.team = by_table;
        CHECK(decision_make(&decision));
        usual = decision.choice;
        decision.team = fabric_world(fabric, 0);
        CHECK(decision_make(&decision));
        CHECK(xyl_algorithm_parse(decision.coll, algorithm->name, &named, why));
        decision.problem.radix = named.radix;
        fits = xyl_algorithm_fits(algorithm, &decision.problem, NULL);
        DECISION_CHECK(&decision, fits ? is_obeyed(&decision.choice, &named)
                                       : decision.choice.rule == usual.rule);
    }
    fabric_destroy(fabric);
}

static void test_a_setting_is_obeyed(void)
{
    const xyl_algorithm_t *const *all;
    size_t count, i, k;

    all = xyl_algorithms(&count);
    for (i = 0; i < NAMED_SHAPES; i++) {
        fabric_t *fabric = shape_create(&named_shapes[i], NULL);
        for (k = 0; k < count; k++)
            check_setting(&named_shapes[i], fabric_world(fabric, 0), all[k]);
        fabric_destroy(fabric);
    }
}

/* ---- all ranks alike ---- */

enum { LINE_BYTES = 1024, TAGS = 4 };

static char last_line[LINE_BYTES];
static unsigned lines;

static void keep_line(void *arg, const char *level, const char *line)
{
    (void)arg;
    (void)level;
    snprintf(last_line, sizeof last_line, "%s", line);
}

/* Draws arguments that are equal on all ranks, beside those of the case. */
static void args_draw(uint64_t *random, call_run_t *run, uint32_t *tag)
{
    static const uint32_t orders[] = {0, XYLEM_FLAG_ARRIVAL_ORDER,
                                      XYLEM_FLAG_REPRODUCIBLE};
    uint32_t flags = orders[random_below(random, 3)], rank;
    size_t segment_bytes = random_below(random, 4) == 0 ? 512 : 0;

    if (random_below(random, 4) == 0)
        *tag = *tag % TAGS + 1;
    for (rank = 0; rank < run->c.ranks; rank++) {
        xylem_coll_args_t *args = &run->all[rank].call.args;
        if (xyl_coll_traits(run->c.coll)->reduces)
            args->flags |= flags;
        args->segment_bytes = segment_bytes;
        args->tag = *tag;
        args->limit_s = random_below(random, 3);
    }
}

/* Types, buffers and counts are a rank's own. XYLEM_VERBOSE=select prints the
 * decisions, except for plans that are kept from an earlier case. */
static void check_agreement(const shape_t *shape, fabric_t *fabric,
                            uint64_t *random)
{
    uint32_t ranks = shape->nodes * shape->seats, rank, tag = 0;
    call_case_t c = call_case_random(
        random, (xylem_coll_t)random_below(random, XYLEM_COLL_COUNT), ranks);
    char first_line[LINE_BYTES] = "", text[3 * LINE_BYTES];
    call_run_t run;

    if (random_below(random, 3) == 0)
        call_algorithm_draw(random, &c);
    call_run_init(&run, fabric, NULL, &c);
    run.is_persistent = 1;
    args_draw(random, &run, &tag);
    for (rank = 0; rank < ranks; rank++) {
        last_line[0] = '\0';
        (void)call_run_plan(&run, rank);
        if (first_line[0] == '\0')
            memcpy(first_line, last_line, sizeof first_line);
        if (last_line[0] == '\0' || strcmp(last_line, first_line) == 0)
            continue;
        snprintf(text, sizeof text, "rank %u: %s; before it: %s", rank,
                 last_line, first_line);
        check_failed(__FILE__, __LINE__, text);
    }
    lines += first_line[0] != '\0';
    call_run_fini(&run);
}

static void test_all_ranks_decide_alike(void)
{
    static const shape_t teams[] = {{.nodes = 1, .seats = 5},
                                    {.nodes = 1, .seats = 4, .is_apart = 1},
                                    {.nodes = 3, .seats = 3},
                                    {.nodes = 2, .seats = 3, .is_in_turn = 1},
                                    {.nodes = 6, .seats = 1}};
    static const char *const settings[] = {"VERBOSE=select", NULL};
    uint64_t random = random_mix(11);
    uint32_t i, k;

    for (i = 0; i < sizeof teams / sizeof *teams; i++) {
        fabric_t *fabric = shape_create(&teams[i], settings);
        xylem_log_set(keep_line, NULL);
        for (k = check_cases(100); k > 0; k--)
            check_agreement(&teams[i], fabric, &random);
        xylem_log_set(NULL, NULL);
        fabric_destroy(fabric);
    }
    CHECK(lines > i);
}

static const check_case_t cases[] = {
    {"a call that names an algorithm is obeyed", test_a_call_is_obeyed},
    {"a setting that names an algorithm is obeyed", test_a_setting_is_obeyed},
    {"all ranks decide alike", test_all_ranks_decide_alike},
};
CHECK_MAIN(cases)
