#include "tests/support/call_algorithm.h"

#include <inttypes.h>
#include <stdio.h>

#include "simulator/random.h"
#include "tests/support/schedules.h"

static int fits(const schedule_entry_t *entry, const call_case_t *c)
{
    xyl_problem_t problem = {.coll = c->coll,
                             .ranks = c->ranks,
                             .count = c->count,
                             .element_bytes = CALL_ELEMENT,
                             .is_in_place = c->in_place,
                             .is_commutative = !c->is_ordered};

    return entry->coll == c->coll &&
           xyl_algorithm_fits(entry->algorithm, &problem, NULL);
}

static void name_it(uint64_t *random, const xyl_algorithm_t *algorithm,
                    call_case_t *c)
{
    uint32_t most = algorithm->radix.most;

    if (most == 0 || random_below(random, 3) == 0)
        snprintf(c->algorithm, sizeof c->algorithm, "%s", algorithm->name);
    else
        snprintf(
            c->algorithm, sizeof c->algorithm, "%s:%" PRIu32, algorithm->name,
            random_below(random, 4) == 0
                ? most
                : random_between(random, 2, random_between(random, 2, most)));
}

static void draw_tree(uint64_t *random, call_case_t *c)
{
    static const char *const trees[] = {
        "flat",      "chain",   "kchain:2", "kary:2", "kary:3",  "knomial:2",
        "knomial:7", "inorder", "double",   "bine",   "topology"};

    snprintf(c->algorithm, sizeof c->algorithm, "%s",
             trees[random_below(random, sizeof trees / sizeof *trees)]);
}

void call_algorithm_draw(uint64_t *random, call_case_t *c)
{
    schedule_entry_t all[SCHEDULES_MAX];
    size_t i, count = schedules_find(all), fitting = 0;
    const xyl_algorithm_t *drawn = NULL;

    c->algorithm[0] = '\0';
    if (random_below(random, 4) == 0)
        return;
    if (c->coll <= XYLEM_COLL_ALLREDUCE && random_below(random, 2) == 0) {
        draw_tree(random, c);
        return;
    }
    for (i = 0; i < count; i++)
        if (fits(&all[i], c) && random_below(random, (uint32_t)++fitting) == 0)
            drawn = all[i].algorithm;
    if (drawn != NULL)
        name_it(random, drawn, c);
}
