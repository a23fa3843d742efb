/* Broadcasts in levels whose leaders may be late, on random simulated nodes,
 * with random messages and protocols: ranks that are not late end without the
 * late ones; ranks come at any time, with other collectives in between; ranks
 * die. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/choose/registry.h"
#include "simulator/random.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"

/* Drawn. */
#define PASSED check_cases(60)
#define PACES  check_cases(40)
#define DEATHS check_cases(40)

enum {
    RANKS_MAX = 17,
    NODES_MAX = 5,
    OPERATIONS = 4,
    LEADERS_MAX = 4,
    ADVANCES_MAX = 200,
    STEPS_MAX = 40, /* between two starts */
    NOTICE_MAX = 50 /* microseconds */
};

/* ---- worlds ---- */

typedef struct world {
    uint32_t ranks, nodes;
    xylem_place_t places[RANKS_MAX];
    fabric_t *fabric;
    call_run_t runs[OPERATIONS];
} world_t;

/* Nodes of at least two; block by block, or one after the other. The last
 * `alone` ranks have a node each. */
static void place_ranks(world_t *world, uint64_t *random, uint32_t alone)
{
    int in_turn = random_below(random, 2) == 0;
    uint32_t i, node;

    world->ranks = random_between(random, 4, RANKS_MAX);
    world->nodes = random_between(random, 2, NODES_MAX);
    if (world->nodes > world->ranks / 2)
        world->nodes = world->ranks / 2;
    for (i = 0; i < world->ranks; i++) {
        node = in_turn ? i % world->nodes : i * world->nodes / world->ranks;
        if (i + alone >= world->ranks)
            node = i + NODES_MAX;
        world->places[i] = (xylem_place_t){node, 0, 0, 0, i};
    }
}

static void world_init(world_t *world, uint64_t seed, uint64_t *random,
                       uint32_t alone, uint32_t timer_tick)
{
    static const char *const waits[] = {"BYPASS_US=1", "BYPASS_US=20",
                                        "BYPASS_US=300"};
    static const size_t eager[] = {64, 1024, SIZE_MAX};
    const char *settings[] = {waits[random_below(random, 3)], "DETACH_BYTES=1",
                              NULL};
    fabric_options_t options = {.seed = seed,
                                .delay_max = random_below(random, 40),
                                .reorder = 1,
                                .timer_tick = timer_tick,
                                .eager_bytes_max =
                                    eager[random_below(random, 3)],
                                .places = world->places,
                                .shares_memory = 1,
                                .settings = settings};

    place_ranks(world, random, alone);
    world->fabric = fabric_create(world->ranks, &options);
}

static call_case_t random_case(const world_t *world, uint64_t *random,
                               xylem_coll_t coll)
{
    call_case_t c = call_case_random(random, coll, world->ranks);

    if (random_below(random, 3) == 0)
        c.count = random_below(random, 20000) /
                  (c.types == CALL_TYPES_PLAIN ? 1 : CALL_QUANTUM);
    if (xyl_algorithm_find(coll, "han")->radix.most != 0)
        snprintf(c.algorithm, sizeof c.algorithm, "han:%u",
                 random_between(random, 1, LEADERS_MAX));
    else
        snprintf(c.algorithm, sizeof c.algorithm, "han");
    return c;
}

static void runs_fini(world_t *world)
{
    uint32_t i;

    fabric_run_dry(world->fabric);
    for (i = 0; i < OPERATIONS; i++)
        call_run_fini(&world->runs[i]);
    fabric_destroy(world->fabric);
}

/* ---- one rank is late ---- */

static int others_are_done(const world_t *world, uint32_t late)
{
    uint32_t i, rank;

    for (i = 0; i < OPERATIONS; i++)
        for (rank = 0; rank < world->ranks; rank++)
            if (rank != late && world->runs[i].all[rank].completions == 0)
                return 0;
    return 1;
}

/* All ranks except one, which is no root, start and end. Then that one does. */
static void pass(uint64_t seed, uint32_t timer_tick, int roots_come_later)
{
    uint64_t random = random_mix(seed);
    uint32_t i, rank, late, root = 0;
    world_t world;

    world_init(&world, seed, &random, 0, timer_tick);
    late = random_below(&random, world.ranks);
    for (i = 0; i < OPERATIONS; i++) {
        call_case_t c = random_case(&world, &random, XYLEM_COLL_BCAST);
        if (c.root == late)
            c.root = late == 0 ? 1 : late - 1;
        c.types = CALL_TYPES_PLAIN; /* others do not detach */
        c.segment_bytes = 0;        /* and pieces are few */
        c.count += c.count == 0;
        if (i == 0)
            root = c.root;
        c.root = roots_come_later ? root : c.root;
        call_run_init(&world.runs[i], world.fabric, NULL, &c);
        for (rank = 0; rank < world.ranks; rank++)
            if (rank != late && (!roots_come_later || rank != root))
                CHECK_EQ(call_run_start(&world.runs[i], rank), XYLEM_OK);
    }
    for (i = 0; i < OPERATIONS && roots_come_later; i++) {
        fabric_advance(world.fabric, 20000 * SIM_MS);
        CHECK_EQ(call_run_start(&world.runs[i], root), XYLEM_OK);
    }
    for (i = 0; i < ADVANCES_MAX && !others_are_done(&world, late); i++) {
        fabric_run_dry(world.fabric);
        fabric_advance(world.fabric, SIM_MS);
    }
    CHECK(others_are_done(&world, late));
    for (i = 0; i < OPERATIONS; i++)
        CHECK_EQ(call_run_start(&world.runs[i], late), XYLEM_OK);
    for (i = 0; i < OPERATIONS; i++)
        if (call_run_finish(&world.runs[i]))
            call_run_check(&world.runs[i]);
    runs_fini(&world);
}

static void test_late_is_passed(void)
{
    uint64_t seed;

    for (seed = 1; seed <= PASSED; seed++)
        pass(seed, 0, 0);
}

/* A rank that sleeps is woken milliseconds too late, every time. */
static void test_late_is_passed_asleep(void)
{
    uint64_t seed;

    for (seed = 1; seed <= PASSED; seed++)
        pass(seed, 1500, 0);
}

/* No rank can help for a long time: the root has not come either. */
static void test_late_is_passed_after_root(void)
{
    uint64_t seed;

    for (seed = 1; seed <= PASSED; seed++)
        pass(seed, 0, 1);
}

/* ---- at any pace ---- */

/* Broadcasts, with others among them. */
static void make_runs(world_t *world, uint64_t *random, int expects_failure)
{
    static const xylem_coll_t others[] = {
        XYLEM_COLL_BARRIER, XYLEM_COLL_ALLREDUCE, XYLEM_COLL_ALLGATHER};
    uint32_t i;

    for (i = 0; i < OPERATIONS; i++) {
        xylem_coll_t coll = random_below(random, 3) == 0
                                ? others[random_below(random, 3)]
                                : XYLEM_COLL_BCAST;
        call_case_t c = random_case(world, random, coll);
        c.is_ordered = 0;
        if (expects_failure)
            c.types = CALL_TYPES_PLAIN; /* others do not detach */
        c.segment_bytes = 0;            /* and pieces are few */
        c.count += c.count == 0;
        call_run_init(&world->runs[i], world->fabric, NULL, &c);
        world->runs[i].is_persistent = random_below(random, 2) == 0;
        world->runs[i].expects_failure = expects_failure;
    }
}

/* Every rank starts all of them, in the same order, sooner or later. */
static void start_apart(world_t *world, uint64_t *random, uint32_t starts)
{
    uint32_t next[RANKS_MAX] = {0}, rank;

    while (starts != 0) {
        rank = random_below(random, world->ranks);
        if (next[rank] == OPERATIONS)
            continue;
        CHECK_EQ(call_run_start(&world->runs[next[rank]++], rank), XYLEM_OK);
        starts--;
        if (random_below(random, 2) == 0)
            sim_world_run(fabric_sim(world->fabric), SIM_NEVER,
                          random_below(random, STEPS_MAX));
        else if (random_below(random, 8) == 0)
            fabric_advance(world->fabric, SIM_MS);
    }
}

static uint64_t come_apart(uint64_t seed, uint32_t alone)
{
    uint64_t random = random_mix(seed), trace;
    world_t world;
    uint32_t i;

    world_init(&world, seed, &random, alone, 0);
    make_runs(&world, &random, 0);
    start_apart(&world, &random, world.ranks * OPERATIONS);
    for (i = 0; i < OPERATIONS; i++)
        if (call_run_finish(&world.runs[i]))
            call_run_check(&world.runs[i]);
    trace = fabric_trace(world.fabric);
    runs_fini(&world);
    return trace;
}

static void test_any_pace(void)
{
    uint64_t seed;

    for (seed = 1; seed <= PACES; seed++)
        come_apart(seed, 0);
}

/* A rank without a window learns from the ranks that it offered help that
 * others have helped, when nothing else is left to come. */
static void test_alone(void)
{
    uint64_t seed;

    for (seed = 1; seed <= PACES; seed++)
        come_apart(seed, 2);
}

static void test_replays(void)
{
    CHECK_EQ(come_apart(7, 0), come_apart(7, 0));
}

/* ---- death ---- */

/* Some have not come yet. */
static void one_dies(uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t i, rank, victim;
    world_t world;

    world_init(&world, seed, &random, 0, 0);
    victim = random_below(&random, world.ranks);
    make_runs(&world, &random, 1);
    start_apart(&world, &random,
                random_below(&random, world.ranks * OPERATIONS));
    fabric_kill(world.fabric, victim, NOTICE_MAX);
    for (rank = 0; rank < world.ranks; rank++)
        for (i = 0; i < OPERATIONS && rank != victim; i++)
            if (world.runs[i].all[rank].starts == 0)
                CHECK_EQ(call_run_start(&world.runs[i], rank), XYLEM_OK);
    for (i = 0; i < OPERATIONS; i++)
        CHECK(call_run_finish(&world.runs[i]));
    fabric_run_dry(world.fabric);
    fabric_isolate(world.fabric, victim);
    fabric_run_dry(world.fabric);
    for (i = 0; i < OPERATIONS; i++)
        call_run_check_survivors(&world.runs[i], victim);
    runs_fini(&world);
}

static void test_one_dies(void)
{
    uint64_t seed;

    for (seed = 1; seed <= DEATHS; seed++)
        one_dies(seed);
}

static const check_case_t cases[] = {
    {"late_is_passed", test_late_is_passed},
    {"late_is_passed_asleep", test_late_is_passed_asleep},
    {"late_is_passed_after_root", test_late_is_passed_after_root},
    {"call_pace", test_any_pace},
    {"alone", test_alone},
    {"replays", test_replays},
    {"one_dies", test_one_dies},
};
CHECK_MAIN(cases)
