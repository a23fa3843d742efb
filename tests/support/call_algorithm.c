#include "tests/support/call_algorithm.h"

#include <inttypes.h>
#include <stdio.h>

#include "collectives/schedules/algorithm.h"
#include "simulator/random.h"

static int is_of(const xyl_algorithm_t *algorithm, const call_case_t *c)
{
    /* An alltoallw is written as an alltoallv. */
    xylem_coll_t coll =
        c->coll == XYLEM_COLL_ALLTOALLW ? XYLEM_COLL_ALLTOALLV : c->coll;
    xyl_problem_t problem = {.coll = coll,
                             .ranks = c->ranks,
                             .count = c->count,
                             .element_bytes = CALL_ELEMENT,
                             .is_in_place = c->in_place,
                             .is_commutative = !c->is_ordered};

    return algorithm->coll == coll && algorithm->write != NULL &&
           xyl_algorithm_fits(algorithm, &problem, NULL);
}

static void name_it(uint64_t *random, const xyl_algorithm_t *algorithm,
                    call_case_t *c)
{
    uint32_t radix = random_between(random, 2, algorithm->radix_max);

    if ((algorithm->flags & XYL_TAKES_RADIX) == 0 ||
        random_below(random, 3) == 0)
        snprintf(c->algorithm, sizeof c->algorithm, "%s", algorithm->name);
    else
        snprintf(
            c->algorithm, sizeof c->algorithm, "%s:%" PRIu32, algorithm->name,
            random_below(random, 4) == 0 ? algorithm->radix_max
                                         : random_between(random, 2, radix));
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
    size_t i, count, fitting = 0;
    const xyl_algorithm_t *all = xyl_algorithms(&count), *drawn = NULL;

    c->algorithm[0] = '\0';
    if (random_below(random, 4) == 0)
        return;
    if (c->coll <= XYLEM_COLL_ALLREDUCE && random_below(random, 2) == 0) {
        draw_tree(random, c);
        return;
    }
    for (i = 0; i < count; i++)
        if (is_of(&all[i], c) && random_below(random, (uint32_t)++fitting) == 0)
            drawn = &all[i];
    if (drawn != NULL)
        name_it(random, drawn, c);
}
