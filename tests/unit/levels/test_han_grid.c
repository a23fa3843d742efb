/* All collectives in levels on a grid of worlds, 1 to 64 nodes of 1 to 48
 * ranks, which fill node after node or, in every other world, go round; in the
 * nightly tests all worlds do both. Right results, with random roots and
 * lengths. If many ranks exchange blocks with all, there are few
 * cases, and beyond some 500 ranks none; every world has two collectives
 * without blocks. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/choose/registry.h"
#include "simulator/random.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"

static const uint32_t nodes_of[] = {1, 2, 3, 5, 8, 16, 33, 64};
static const uint32_t seats_of[] = {1, 2, 3, 7, 16, 48};

enum {
    /* The last size has half of all ranks. */
    NODES = sizeof nodes_of / sizeof nodes_of[0] - CHECK_IS_SLOW,
    SEATS = sizeof seats_of / sizeof seats_of[0],
    RANKS_MAX = 64 * 48,
    ELEMENTS_MAX = 1000,
    STORE_MAX = CHECK_IS_SLOW ? 1 << 17 : 1 << 18, /* elements of all ranks */
    /* Worlds of more have some of the collectives. */
    RANKS_FOR_ALL = CHECK_IS_SLOW ? 64 : 200
};

static xylem_place_t places[RANKS_MAX];

static void place_ranks(uint32_t nodes, uint32_t seats, int in_turn)
{
    uint32_t i;

    for (i = 0; i < nodes * seats; i++)
        places[i] =
            (xylem_place_t){in_turn ? i % nodes : i / seats, 0, 0, 0, i};
}

/* 1: a rank has a block for each rank. */
static int has_blocks(xylem_coll_t coll)
{
    return coll != XYLEM_COLL_BCAST && coll != XYLEM_COLL_REDUCE &&
           coll != XYLEM_COLL_ALLREDUCE && coll != XYLEM_COLL_BARRIER &&
           coll != XYLEM_COLL_SCAN && coll != XYLEM_COLL_EXSCAN;
}

/* 0: too much. */
static int draw_case(uint64_t *random, xylem_coll_t coll, uint32_t ranks,
                     call_case_t *c)
{
    uint64_t each = has_blocks(coll) ? (uint64_t)ranks * ranks : ranks;
    uint64_t most = STORE_MAX / each;

    *c = call_case_random(random, coll, ranks);
    c->types = CALL_TYPES_PLAIN;
    c->is_ordered = 0;
    c->count = random_below(random, most < ELEMENTS_MAX ? (uint32_t)most + 1
                                                        : ELEMENTS_MAX);
    snprintf(c->algorithm, sizeof c->algorithm, "han");
    return most != 0;
}

static void run_case(fabric_t *fabric, const call_case_t *c)
{
    call_run_t run;

    call_run_init(&run, fabric, NULL, c);
    call_run_start_all(&run);
    if (call_run_finish(&run))
        call_run_check(&run);
    fabric_run_dry(fabric);
    call_run_fini(&run);
}

/* Scans in levels need ranks that fill node after node. */
static int fits(xylem_coll_t coll, int in_turn)
{
    return xyl_algorithm_find(coll, "han") != NULL &&
           !(in_turn && (coll == XYLEM_COLL_SCAN || coll == XYLEM_COLL_EXSCAN));
}

/* By turns one of bcast and allreduce, and one of reduce and barrier. */
static int is_due(xylem_coll_t coll, uint64_t seed)
{
    static const xylem_coll_t due[] = {XYLEM_COLL_BCAST, XYLEM_COLL_ALLREDUCE,
                                       XYLEM_COLL_REDUCE, XYLEM_COLL_BARRIER};

    return coll == due[seed % 2] || coll == due[2 + seed % 2];
}

static void run_world(uint32_t nodes, uint32_t seats, int in_turn,
                      uint64_t seed)
{
    static const char *const settings[] = {"BYPASS_US=10", NULL};
    uint64_t random = random_mix(seed);
    uint32_t ranks = nodes * seats;
    fabric_options_t options = {.seed = seed,
                                .delay_max = 5,
                                .reorder = 1,
                                .eager_bytes_max = 1024,
                                .places = places,
                                .shares_memory = 1,
                                .settings = seed % 2 == 0 ? NULL : settings};
    fabric_t *fabric;
    xylem_coll_t coll;
    call_case_t c;

    place_ranks(nodes, seats, in_turn);
    fabric = fabric_create(ranks, &options);
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        if (fits(coll, in_turn) && draw_case(&random, coll, ranks, &c) &&
            (is_due(coll, seed / 2 + (uint64_t)in_turn) ||
             random_below(&random, ranks) < RANKS_FOR_ALL))
            run_case(fabric, &c);
    fabric_destroy(fabric);
}

static void run_all(int in_turn)
{
    uint32_t n, s, worlds = (uint32_t)in_turn * NODES * SEATS;
    int does_both = check_cases(2) > 2;

    for (n = 0; n < NODES; n++)
        for (s = 0; s < SEATS; s++, worlds++)
            if (does_both || (n + s) % 2 == (uint32_t)in_turn)
                run_world(nodes_of[n], seats_of[s], in_turn, worlds);
}

static void test_block_by_block(void)
{
    run_all(0);
}

static void test_round(void)
{
    run_all(1);
}

static const check_case_t cases[] = {
    {"block_by_block", test_block_by_block},
    {"round", test_round},
};
CHECK_MAIN(cases)
