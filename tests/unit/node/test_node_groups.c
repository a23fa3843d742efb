/* Groups of seats, and collectives by groups. test_node_programs.c finds
 * mistakes in the programs. */
#include <string.h>

#include "collectives/node/groups.h"
#include "runtime/base/config.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/program_case.h"

enum { ORDERS_MAX = 4000 };

#define UNKNOWN UINT32_MAX

typedef struct grouping {
    uint64_t setting;
    uint32_t seats, groups;
    xylem_place_t places[8];
    uint32_t group_of[8];
} grouping_t;

static const grouping_t groupings[] = {
    /* By caches, of which one has one seat. */
    {XYL_CONFIG_GROUPS_AUTO,
     6,
     3,
     {{.l3 = 7}, {.l3 = 2}, {.l3 = 7}, {.l3 = 3}, {.l3 = 2}, {.l3 = 7}},
     {0, 1, 0, 3, 1, 0}},
    /* By memory: a cache is not known, or each has its own. */
    {XYL_CONFIG_GROUPS_AUTO,
     6,
     2,
     {{.l3 = UNKNOWN}, {0}, {0}, {.numa = 1}, {.numa = 1}, {.numa = 1}},
     {0, 0, 0, 3, 3, 3}},
    {XYL_CONFIG_GROUPS_AUTO,
     6,
     2,
     {{.l3 = 0},
      {.l3 = 1},
      {.l3 = 2},
      {.l3 = 3, .numa = 1},
      {.l3 = 4, .numa = 1},
      {.l3 = 5, .numa = 1}},
     {0, 0, 0, 3, 3, 3}},
    /* One cache, whatever else differs; few; nothing is known of one. */
    {XYL_CONFIG_GROUPS_AUTO,
     6,
     1,
     {{0}, {.numa = 1}, {0}, {.numa = 1}, {0}, {.numa = 1}},
     {0, 0, 0, 0, 0, 0}},
    {XYL_CONFIG_GROUPS_AUTO,
     5,
     2,
     {{0}, {0}, {0}, {.l3 = 1}, {.l3 = 1}},
     {0, 0, 0, 3, 3}},
    {XYL_CONFIG_GROUPS_AUTO,
     6,
     1,
     {{0},
      {0},
      {0},
      {.l3 = 1},
      {.l3 = 1},
      {0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
     {0, 0, 0, 0, 0, 0}},
    {0, 4, 1, {{0}, {.l3 = 1}}, {0, 0, 0, 0}},
    {1, 4, 1, {{0}}, {0, 0, 0, 0}},
    {4, 4, 1, {{0}}, {0, 0, 0, 0}},
    {UINT32_MAX, 4, 1, {{0}}, {0, 0, 0, 0}},
    {3, 4, 2, {{0}}, {0, 0, 0, 3}},
    {2, 8, 4, {{0}}, {0, 0, 2, 2, 4, 4, 6, 6}},
};

static void test_found(void)
{
    uint32_t group_of[8];
    size_t i;

    for (i = 0; i < sizeof groupings / sizeof groupings[0]; i++) {
        const grouping_t *g = &groupings[i];
        CHECK_EQ(
            xyl_node_groups_find(g->places, g->seats, g->setting, group_of),
            g->groups);
        CHECK(memcmp(group_of, g->group_of, g->seats * sizeof *group_of) == 0);
    }
}

/* In one piece, from each root; the smallest in many orders. */
static void groups_of(program_case_t *c, uint64_t *random)
{
    static const uint64_t counts[] = {0, 1, 14, 15, 256};
    uint32_t n;

    c->element_bytes = program_case_is_of_bytes(c->coll) ? 1 : 8;
    for (n = 0; n < 5 * c->seats; n++) {
        c->root = n % c->seats;
        c->count = counts[n / c->seats];
        c->groups =
            n % 2 == 0 ? PROGRAM_GROUPS_RANGES : PROGRAM_GROUPS_SCATTERED;
        c->in_place = random_below(random, 2) == 0;
        c->in_arrival_order = random_below(random, 2) == 0;
        c->salt = random_next(random);
        (void)program_case_try(c, n, c->seats <= 4 ? ORDERS_MAX : 0);
    }
}

static void test_programs(void)
{
    uint64_t random = random_mix(35);
    program_case_t c = {.window_bytes = 1 << 20, .algorithm = "node_groups"};

    for (c.coll = 0; c.coll < XYLEM_COLL_COUNT; c.coll++)
        for (c.seats = 3; c.seats <= 8 && program_case_has_groups(c.coll);
             c.seats++)
            groups_of(&c, &random);
}

/* The same for every root, wherever groups lie. */
static void test_order(void)
{
    program_case_t c = {.count = 9,
                        .element_bytes = 8,
                        .seats = 8,
                        .window_bytes = 1 << 20,
                        .shows_order = 1,
                        .algorithm = "node_groups"};

    for (c.salt = 0; c.salt < 40; c.salt++) {
        c.groups =
            c.salt % 2 == 0 ? PROGRAM_GROUPS_RANGES : PROGRAM_GROUPS_SCATTERED;
        c.in_place = c.salt % 3 == 0;
        c.root = (uint32_t)c.salt % c.seats;
        c.coll = XYLEM_COLL_REDUCE;
        (void)program_case_try(&c, c.salt, 0);
        c.coll = XYLEM_COLL_ALLREDUCE;
        (void)program_case_try(&c, c.salt, 0);
    }
}

/* Groups of groups, with each root: at some levels the root comes first in its
 * group, at others it combines in another place than at the level below. */
static void test_levels(void)
{
    program_case_t c = {.element_bytes = 8,
                        .window_bytes = 1 << 20,
                        .algorithm = "node_groups"};

    for (c.seats = 3; c.seats <= PROGRAM_SEATS_MAX; c.seats++)
        for (c.radix = 2; c.radix < c.seats && c.radix <= 4; c.radix++)
            for (c.root = 0; c.root < c.seats; c.root++) {
                c.salt = c.seats * 100 + c.radix * 20 + c.root;
                c.in_place = c.salt % 2 == 0;
                c.shows_order = 1;
                c.count = c.salt % 3 == 0 ? 3 : 900;
                c.segment_bytes = c.salt % 5 == 0 ? 1024 : 0;
                c.coll = XYLEM_COLL_REDUCE;
                (void)program_case_try(&c, c.salt, 0);
                c.segment_bytes = 0;
                c.coll = XYLEM_COLL_ALLREDUCE;
                (void)program_case_try(&c, c.salt, 0);
                c.shows_order = 0; /* its operands may not change places */
                (void)program_case_try(&c, c.salt, 0);
                c.coll = XYLEM_COLL_BCAST;
                (void)program_case_try(&c, c.salt, 0);
                c.coll = XYLEM_COLL_BARRIER;
                (void)program_case_try(&c, c.salt, 0);
            }
}

static const check_case_t cases[] = {
    {"groups: by places and by setting", test_found},
    {"groups: what goes by them", test_programs},
    {"groups: the order of combining", test_order},
    {"groups: of groups", test_levels},
};
CHECK_MAIN(cases)
