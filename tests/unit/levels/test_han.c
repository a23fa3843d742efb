/* Collectives of several levels on simulated nodes: random numbers of nodes and
 * of ranks on each, ranks that fill node after node or lie anywhere, several
 * leaders, with and without memory that a node's ranks share, in windows so
 * small that little fits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/choose/registry.h"
#include "collectives/levels/team_levels.h"
#include "simulator/random.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

/* Drawn. */
#define CASES        check_cases(18)
#define MIXED_WORLDS check_cases(24)
#define DEATHS       check_cases(40)

enum {
    RANKS_MAX = 17,
    NODES_MAX = 6,
    STARTS_MAX = 3,
    LEADERS_MAX = 8,
    MIXED_OPERATIONS = 5,
    DYING_OPERATIONS = 3,
    NOTICE_MAX = 50 /* microseconds */
};

/* ---- worlds ---- */

typedef enum mapping { MAP_BLOCKS, MAP_ROUND, MAP_ANY, MAPPINGS } mapping_t;

static void place_ranks(uint64_t *random, xylem_place_t *places, uint32_t ranks)
{
    mapping_t mapping = (mapping_t)random_below(random, MAPPINGS);
    uint32_t nodes = random_between(random, 1, NODES_MAX), i, node = 0;

    for (i = 0; i < ranks; i++) {
        if (mapping == MAP_ROUND)
            node = i % nodes;
        else if (mapping == MAP_ANY)
            node = random_below(random, nodes);
        else if (i > 0 && random_below(random, ranks) < nodes)
            node++;
        places[i] = (xylem_place_t){node, 0, 0, 0, i};
    }
}

/* Fills in the name of a file with any switches above the nodes. */
static void write_network(uint64_t *random, char *path)
{
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    uint32_t node;

    if (file == NULL)
        abort();
    fputs("{\"switches\": [{\"name\": \"top\", \"switches\": [\"1\"]}", file);
    for (node = 0; node < NODES_MAX / 2; node++) {
        fprintf(file, ", {\"name\": \"%u\"", node);
        if (random_below(random, 4) != 0)
            fprintf(file, ", \"nodes\": [\"node%u\", \"node%u\"]", node,
                    node + NODES_MAX / 2);
        fputs("}", file);
    }
    fputs("]}", file);
    if (fclose(file) != 0)
        abort();
}

typedef struct world {
    xylem_place_t places[RANKS_MAX];
    fabric_t *fabric;
} world_t;

static void world_init(world_t *world, uint64_t seed, uint32_t ranks,
                       const char *order)
{
    static const size_t eager[] = {0, 64, 1024, SIZE_MAX};
    static const char *const budgets[] = {
        "NOISE_BUDGET=64K", "NOISE_BUDGET=512K", "NOISE_BUDGET=16M"};
    uint64_t random = random_mix(seed);
    char topology[] = "TOPOLOGY=/tmp/xylem-han-XXXXXX";
    static const char *const bypasses[] = {"BYPASS_US=0", "BYPASS_US=1",
                                           "BYPASS_US=30"};
    static const char *const detach[] = {"DETACH_BYTES=1", "DETACH_BYTES=0"};
    const char *settings[] = {budgets[random_below(&random, 3)],
                              order,
                              "SHARE_BYTES=1K",
                              seed % 4 < 2 ? "NODE_GROUPS=off"
                                           : "NODE_GROUPS=2",
                              bypasses[seed % 3],
                              detach[seed % 4 == 3],
                              NULL,
                              NULL};
    char *path = strchr(topology, '/');
    fabric_options_t options = {.seed = seed,
                                .delay_max = random_below(&random, 40),
                                .reorder = 1,
                                .places = world->places,
                                .shares_memory = random_below(&random, 4) != 0,
                                .sees_memory = random_below(&random, 2) == 0,
                                .settings = settings};

    options.eager_bytes_max = eager[random_below(&random, 4)];
    place_ranks(&random, world->places, ranks);
    if (random_below(&random, 2) == 0) {
        write_network(&random, path);
        settings[6] = topology;
    }
    world->fabric = fabric_create(ranks, &options);
    if (settings[6] != NULL)
        unlink(path);
}

/* ---- one at a time ---- */

static int has_levels(xylem_coll_t coll)
{
    return xyl_algorithm_find(coll, "han") != NULL;
}

static int takes_leaders(xylem_coll_t coll)
{
    return has_levels(coll) && xyl_algorithm_find(coll, "han")->radix.most != 0;
}

/* Operations that do not commute, and scans, need ranks that fill node after
 * node. */
static int fits(world_t *world, const call_case_t *c)
{
    int is_in_order = c->is_ordered || c->coll == XYLEM_COLL_SCAN ||
                      c->coll == XYLEM_COLL_EXSCAN;

    return !is_in_order ||
           xyl_levels_of_team(fabric_world(world->fabric, 0))->order == NULL;
}

static void run_case(world_t *world, const call_case_t *c, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t start, starts;
    call_run_t run;

    call_run_init(&run, world->fabric, NULL, c);
    run.is_persistent = random_below(&random, 2) == 0;
    starts = run.is_persistent ? random_between(&random, 1, STARTS_MAX) : 1;
    for (start = 0; start < starts; start++) {
        call_run_refill(&run);
        call_run_start_all(&run);
        if (call_run_finish(&run))
            call_run_check(&run);
    }
    fabric_run_dry(world->fabric);
    call_run_fini(&run);
}

/* Any that can go between nodes. */
static void draw_between(uint64_t *random, call_case_t *c)
{
    const xyl_algorithm_t *const *all, *between;
    const xyl_radix_t *radix;
    size_t count, length = strlen(c->algorithm);

    all = xyl_algorithms(&count);
    do
        between = all[random_below(random, (uint32_t)count)];
    while (!xyl_algorithm_goes_between(c->coll, between));
    radix = xyl_algorithm_radix(between);
    snprintf(c->algorithm + length, sizeof c->algorithm - length,
             radix->most != 0 ? "/%s:%u" : "/%s", between->name,
             random_between(random, radix->least, radix->most));
}

/* Draws the segments of the levels: one a multiple of the other, if both are
 * named. */
static void draw_segments(uint64_t *random, call_case_t *c, size_t length)
{
    uint32_t within = random_between(random, 8, 4096), segment = within;

    if (random_below(random, 3) == 0)
        return;
    if (random_below(random, 2) == 0)
        within *= random_between(random, 1, 9);
    else
        segment *= random_between(random, 1, 9);
    if (random_below(random, 3) == 0)
        snprintf(c->algorithm + length, sizeof c->algorithm - length,
                 ",within_segment=%u", within);
    else
        snprintf(c->algorithm + length, sizeof c->algorithm - length,
                 ",within_segment=%u,segment=%u", within, segment);
}

/* And within nodes: it need not be there for each level, nor fit. */
static void name_parts(uint64_t *random, uint32_t leaders, call_case_t *c)
{
    static const char *const within[] = {
        "node_direct",   "node_pairs", "node_accumulator", "ucx",
        "node_groups:3", "knomial:3",  "inorder",          "chain"};
    static const char *const between[] = {"binomial", "flat", "double"};
    const char *name =
        within[random_below(random, sizeof within / sizeof *within)];
    size_t length;

    if (c->coll == XYLEM_COLL_BCAST && (strcmp(name, "node_pairs") == 0 ||
                                        strcmp(name, "node_accumulator") == 0))
        name = "node_direct"; /* those have no broadcast */
    length = (size_t)snprintf(c->algorithm, sizeof c->algorithm,
                              "han:within=%s,leaders=%u,between=%s", name,
                              leaders, between[random_below(random, 3)]);
    draw_segments(random, c, length);
}

static call_case_t random_case(uint64_t *random, xylem_coll_t coll,
                               uint32_t ranks)
{
    call_case_t c = call_case_random(random, coll, ranks);
    uint32_t leaders = random_below(random, LEADERS_MAX + 1);

    if (random_below(random, 3) == 0)
        c.count = random_below(random, 20000) /
                  (c.types == CALL_TYPES_PLAIN ? 1 : CALL_QUANTUM);
    if (c.segment_bytes == 0 && random_below(random, 2) == 0)
        c.segment_bytes = random_between(random, 8, 4096);
    if (leaders == 0 || !takes_leaders(c.coll))
        snprintf(c.algorithm, sizeof c.algorithm, "han");
    else
        snprintf(c.algorithm, sizeof c.algorithm, "han:%u", leaders);
    if (takes_leaders(c.coll) && leaders != 0 && random_below(random, 2) == 0)
        name_parts(random, leaders, &c);
    else if (takes_leaders(c.coll) && random_below(random, 2) == 0)
        draw_between(random, &c);
    return c;
}

static void cases_of(uint64_t seed, const char *order)
{
    uint64_t random = random_mix(seed);
    xylem_coll_t coll;
    world_t world;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES && has_levels(coll); n++) {
            call_case_t c = random_case(&random, coll,
                                        random_between(&random, 1, RANKS_MAX));
            uint64_t own = random_next(&random);
            world_init(&world, own, c.ranks, order);
            if (fits(&world, &c))
                run_case(&world, &c, own);
            fabric_destroy(world.fabric);
        }
}

static void test_fixed_order(void)
{
    cases_of(31, "REDUCE_ORDER=fixed");
}

static void test_order_of_arrival(void)
{
    cases_of(32, "REDUCE_ORDER=arrival");
}

/* The choice of selection itself. */
static void test_by_choice(void)
{
    uint64_t random = random_mix(33);
    xylem_coll_t coll;
    world_t world;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES / 4; n++) {
            call_case_t c = random_case(&random, coll,
                                        random_between(&random, 1, RANKS_MAX));
            uint64_t own = random_next(&random);
            c.algorithm[0] = '\0';
            world_init(&world, own, c.ranks, "REDUCE_ORDER=fixed");
            run_case(&world, &c, own);
            fabric_destroy(world.fabric);
        }
}

/* ---- several at once ---- */

/* Draws a case that fits the world. */
static call_case_t mixed_case(uint64_t *random, world_t *world, uint32_t ranks)
{
    xylem_coll_t coll;
    call_case_t c;

    do {
        coll = (xylem_coll_t)random_below(random, XYLEM_COLL_COUNT);
        c = random_case(random, coll, ranks);
    } while (!has_levels(coll) || !fits(world, &c));
    return c;
}

static void test_many_at_once(void)
{
    call_run_t runs[MIXED_OPERATIONS];
    uint64_t random = random_mix(34);
    uint32_t n, i, ranks;
    world_t world;

    for (n = 0; n < MIXED_WORLDS; n++) {
        ranks = random_between(&random, 2, RANKS_MAX);
        world_init(&world, random_next(&random), ranks, "REDUCE_ORDER=arrival");
        for (i = 0; i < MIXED_OPERATIONS; i++) {
            call_case_t c = mixed_case(&random, &world, ranks);
            call_run_init(&runs[i], world.fabric, NULL, &c);
            runs[i].is_persistent = i % 2 == 0;
        }
        fabric_label(world.fabric, "many at once");
        call_run_start_mixed(runs, MIXED_OPERATIONS, &random);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            if (call_run_finish(&runs[i]))
                call_run_check(&runs[i]);
        fabric_run_dry(world.fabric);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            call_run_fini(&runs[i]);
        fabric_destroy(world.fabric);
    }
}

/* Everything is there for a rank when it comes, in the call that starts. */
static void test_one_is_late(void)
{
    uint64_t random = random_mix(35);
    uint32_t n, ranks, late, rank;
    world_t world;
    call_run_t run;

    for (n = 0; n < CASES; n++) {
        call_case_t c;
        ranks = random_between(&random, 2, RANKS_MAX);
        late = random_below(&random, ranks);
        world_init(&world, random_next(&random), ranks, "REDUCE_ORDER=fixed");
        c = mixed_case(&random, &world, ranks);
        call_run_init(&run, world.fabric, NULL, &c);
        for (rank = 0; rank < ranks; rank++)
            if (rank != late)
                CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
        fabric_run_dry(world.fabric);
        CHECK_EQ(call_run_start(&run, late), XYLEM_OK);
        if (call_run_finish(&run))
            call_run_check(&run);
        fabric_run_dry(world.fabric);
        call_run_fini(&run);
        fabric_destroy(world.fabric);
    }
}

/* A gatherv's root may end although ranks without data for it have not come;
 * but those of its own node must have. */
static void test_nothing_to_gather(void)
{
    enum { RANKS = 6, HERE = 2 };
    call_case_t c = {.coll = XYLEM_COLL_GATHERV,
                     .ranks = RANKS,
                     .root = 1,
                     .algorithm = "han"};
    xylem_place_t places[RANKS];
    fabric_options_t options = {
        .seed = 36, .places = places, .shares_memory = 1};
    fabric_t *fabric;
    call_run_t run;
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        places[rank] = (xylem_place_t){rank / HERE, 0, 0, 0, rank};
    fabric = fabric_create(RANKS, &options);
    call_run_init(&run, fabric, NULL, &c);
    for (rank = 0; rank < HERE; rank++)
        CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    fabric_run_dry(fabric);
    for (rank = 0; rank < HERE; rank++)
        CHECK_EQ(run.all[rank].completions, 1);
    for (rank = HERE; rank < RANKS; rank++)
        CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    if (call_run_finish(&run))
        call_run_check(&run);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

/* ---- death ---- */

static void one_dies(uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t ranks = random_between(&random, 3, RANKS_MAX), i;
    uint32_t victim = random_below(&random, ranks);
    call_run_t runs[DYING_OPERATIONS];
    world_t world;

    world_init(&world, seed, ranks, "REDUCE_ORDER=arrival");
    for (i = 0; i < DYING_OPERATIONS; i++) {
        call_case_t c = mixed_case(&random, &world, ranks);
        c.types = CALL_TYPES_PLAIN;
        call_run_init(&runs[i], world.fabric, NULL, &c);
        runs[i].expects_failure = 1;
        call_run_start_all(&runs[i]);
    }
    sim_world_run(fabric_sim(world.fabric), SIM_NEVER,
                  random_below(&random, 200));
    fabric_kill(world.fabric, victim, NOTICE_MAX);
    for (i = 0; i < DYING_OPERATIONS; i++)
        CHECK(call_run_finish(&runs[i]));
    fabric_run_dry(world.fabric);
    fabric_isolate(world.fabric, victim);
    fabric_run_dry(world.fabric);
    for (i = 0; i < DYING_OPERATIONS; i++) {
        call_run_check_survivors(&runs[i], victim);
        call_run_fini(&runs[i]);
    }
    fabric_destroy(world.fabric);
}

static void test_one_dies(void)
{
    uint64_t seed;

    for (seed = 1; seed <= DEATHS; seed++)
        one_dies(seed);
}

static const check_case_t cases[] = {
    {"fixed_order", test_fixed_order},
    {"order_of_arrival", test_order_of_arrival},
    {"by_choice", test_by_choice},
    {"many_at_once", test_many_at_once},
    {"one_is_late", test_one_is_late},
    {"nothing_to_gather", test_nothing_to_gather},
    {"one_dies", test_one_dies},
};
CHECK_MAIN(cases)
