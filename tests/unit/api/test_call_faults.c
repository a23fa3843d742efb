/* Failures during all collectives over the simulated net: ranks that die at any
 * moment, sends and receives that fail, every allocation of a call. No rank
 * hangs, each operation completes once with a status that the failure explains,
 * ranks that succeed have the right data, and all memory comes back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/call_algorithm.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/failing_memory.h"

/* Drawn. */
#define DEATHS               check_cases(600)
#define CASES_WITHOUT_MEMORY check_cases(6)

enum {
    RANKS = 7,
    RUNS = 3,
    NOTICE_MAX = 400,
    CALLS = 400,
    ALLOCATIONS_MAX = 3000
};

/* ---- several operations at once ---- */

typedef struct scene {
    fabric_t *fabric;
    call_run_t runs[RUNS];
} scene_t;

static int are_done(void *arg)
{
    scene_t *scene = arg;
    uint32_t i;

    for (i = 0; i < RUNS; i++)
        if (!call_run_is_done(&scene->runs[i]))
            return 0;
    return 1;
}

static fabric_options_t options_of(uint64_t seed)
{
    return (fabric_options_t){.seed = seed,
                              .eager_bytes_max = seed % 3 == 0 ? 0 : 200,
                              .delay_max = 20,
                              .reorder = 1};
}

/* Draws a small case: only the moment of the failure matters. */
static call_case_t draw_case(uint64_t *random, uint32_t coll, uint32_t ranks)
{
    call_case_t c = call_case_random(random, (xylem_coll_t)coll, ranks);

    if (c.count > 300)
        c.count = random_below(random, 300);
    call_algorithm_draw(random, &c);
    return c;
}

/* Every collective in turn is the first. */
static void scene_start(scene_t *scene, fabric_t *fabric, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t i, coll = (uint32_t)(seed % XYLEM_COLL_COUNT);

    scene->fabric = fabric;
    for (i = 0; i < RUNS; i++) {
        call_case_t c = draw_case(&random, coll, RANKS);
        call_run_init(&scene->runs[i], fabric, NULL, &c);
        scene->runs[i].expects_failure = 1;
        scene->runs[i].is_persistent = random_below(&random, 2) == 0;
        scene->runs[i].drops_types = random_below(&random, 2) == 0;
        call_run_start_all(&scene->runs[i]);
        coll = random_below(&random, XYLEM_COLL_COUNT);
    }
}

static void scene_check(const scene_t *scene, uint32_t victim,
                        xylem_status_t failure)
{
    uint32_t i, rank;

    for (i = 0; i < RUNS; i++)
        for (rank = 0; rank < RANKS; rank++) {
            const call_member_t *member = &scene->runs[i].all[rank];
            if (rank == victim)
                continue;
            CHECK_EQ(member->completions, member->starts);
            if (member->status != XYLEM_OK)
                CHECK_EQ(member->status, failure);
            call_run_check_data(&scene->runs[i], rank);
        }
}

/* The victim's requests end, too, once it is alone; then all can be freed. */
static void scene_fini(scene_t *scene, uint32_t victim)
{
    uint32_t i;

    if (victim != UINT32_MAX && fabric_is_dead(scene->fabric, victim))
        fabric_isolate(scene->fabric, victim);
    fabric_run_dry(scene->fabric);
    for (i = 0; i < RUNS; i++)
        call_run_fini(&scene->runs[i]);
}

static void run_to_the_end(scene_t *scene)
{
    fabric_script_t script = {are_done, NULL, scene};

    CHECK(fabric_run_until(scene->fabric, &script));
    fabric_run_dry(scene->fabric); /* all have been told */
}

/* ---- deaths ---- */

/* New operations on the broken team complete at once, with the failure. */
static void check_refused(fabric_t *fabric, uint32_t victim, uint64_t seed)
{
    uint64_t random = random_mix(~seed);
    call_case_t c =
        draw_case(&random, (uint32_t)((seed + 5) % XYLEM_COLL_COUNT), RANKS);
    call_run_t run;
    uint32_t rank;

    call_run_init(&run, fabric, NULL, &c);
    run.expects_failure = 1;
    for (rank = 0; rank < RANKS; rank++)
        if (rank != victim)
            CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    CHECK(call_run_finish(&run));
    for (rank = 0; rank < RANKS; rank++)
        if (rank != victim)
            CHECK_EQ(run.all[rank].status, XYLEM_ERR_PROC_FAILED);
    call_run_fini(&run);
}

/* Returns 1 when the victim lived long enough to die. */
static int one_death(uint64_t seed, uint64_t step)
{
    fabric_options_t options = options_of(seed);
    uint64_t random = random_mix(seed ^ step);
    uint32_t victim = random_below(&random, RANKS);
    scene_t scene;
    int has_died;

    scene_start(&scene, fabric_create(RANKS, &options), seed);
    sim_world_kill_at_step(fabric_sim(scene.fabric), victim, step,
                           random_below(&random, NOTICE_MAX) * SIM_US);
    run_to_the_end(&scene);
    has_died = fabric_is_dead(scene.fabric, victim);
    if (has_died) {
        scene_check(&scene, victim, XYLEM_ERR_PROC_FAILED);
        check_refused(scene.fabric, victim, seed);
    } else {
        scene_check(&scene, UINT32_MAX, XYLEM_OK);
    }
    scene_fini(&scene, victim);
    fabric_destroy(scene.fabric);
    return has_died;
}

static void test_deaths(void)
{
    uint64_t seed, random = random_mix(1);
    int deaths = 0;

    for (seed = 0; seed < DEATHS; seed++)
        deaths += one_death(seed, 1 + random_below(&random, 1u << seed % 5));
    CHECK(3 * deaths > (int)DEATHS);
}

/* ---- teams beside the broken one ---- */

static void make_others(fabric_t *fabric, uint32_t victim, xylem_team_t **teams)
{
    xylem_request_t *requests[RANKS];
    xylem_team_t *made[RANKS] = {NULL};
    uint32_t i, count = 0;

    for (i = 0; i < RANKS; i++)
        CHECK_EQ(xylem_team_isplit(fabric_world(fabric, i),
                                   i == victim ? XYLEM_COLOR_NONE : 0,
                                   RANKS - i, &made[i], &requests[i]),
                 XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = RANKS; i-- > 0;) {
        CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
        if (made[i] != NULL)
            teams[count++] = made[i];
    }
}

/* A collective of the survivors, on a team of theirs and in another order. */
static void one_beside(uint64_t seed)
{
    fabric_options_t options = options_of(seed);
    fabric_t *fabric = fabric_create(RANKS, &options);
    uint64_t random = random_mix(seed);
    uint32_t i, victim = random_below(&random, RANKS);
    call_case_t c =
        draw_case(&random, (uint32_t)(seed % XYLEM_COLL_COUNT), RANKS - 1);
    xylem_team_t *teams[RANKS];
    scene_t scene;
    call_run_t run;

    make_others(fabric, victim, teams);
    scene_start(&scene, fabric, seed);
    call_run_init(&run, fabric, teams, &c);
    call_run_start_all(&run);
    sim_world_run(fabric_sim(fabric), SIM_NEVER, random_below(&random, 100));
    fabric_kill(fabric, victim, NOTICE_MAX);
    run_to_the_end(&scene);
    CHECK(call_run_finish(&run));
    call_run_check(&run);
    scene_check(&scene, victim, XYLEM_ERR_PROC_FAILED);
    scene_fini(&scene, victim);
    call_run_fini(&run);
    for (i = 0; i < RANKS - 1; i++)
        CHECK_EQ(xylem_team_destroy(teams[i]), XYLEM_OK);
    fabric_destroy(fabric);
}

static void test_beside_the_dead(void)
{
    uint64_t seed;

    for (seed = 0; seed < 4 * XYLEM_COLL_COUNT; seed++)
        one_beside(seed);
}

/* ---- the net fails ---- */

/* Returns 1 when there was such a call. */
static int one_failing_call(uint64_t seed, uint64_t nth)
{
    fabric_options_t options = options_of(seed);
    fabric_t *fabric = fabric_create(RANKS, &options);
    sim_world_t *sim = fabric_sim(fabric);
    uint32_t victim;
    scene_t scene;

    if (seed % 2 == 0)
        sim_world_fail_send(sim, nth, XYLEM_ERR_NET);
    else
        sim_world_fail_recv(sim, nth, XYLEM_ERR_NET);
    scene_start(&scene, fabric, seed);
    fabric_run_dry(fabric); /* as far as the ranks get */
    victim = sim_world_failed_rank(sim);
    if (victim != UINT32_MAX) { /* its peers cannot know but by its end */
        uint32_t i, failures = 0;
        for (i = 0; i < RUNS; i++)
            failures += scene.runs[i].all[victim].status == XYLEM_ERR_NET;
        CHECK(failures != 0); /* and the team's other operations */
        fabric_kill(fabric, victim, NOTICE_MAX);
    }
    run_to_the_end(&scene);
    scene_check(&scene, victim, XYLEM_ERR_PROC_FAILED);
    scene_fini(&scene, victim);
    fabric_destroy(fabric);
    return victim != UINT32_MAX;
}

static void test_failing_calls(void)
{
    uint64_t seed, random = random_mix(2);
    int failures = 0;

    for (seed = 0; seed < CALLS; seed++)
        failures += one_failing_call(
            seed, 1 + random_below(&random, 1u << seed / 2 % 8));
    CHECK(failures > CALLS / 2);
}

/* ---- no memory ---- */

/* The nth allocation of the pools, or of the C library in planning: starting
 * lets the simulator allocate. */
static xylem_status_t start_failing(call_run_t *run, uint32_t rank,
                                    uint64_t *nth, int is_pool)
{
    xylem_status_t status = XYLEM_OK;

    if (!is_pool) {
        allocations_to_failure = *nth;
        status = call_run_plan(run, rank);
        *nth = allocations_to_failure;
        allocations_to_failure = 0;
    }
    return status == XYLEM_OK ? call_run_start(run, rank) : status;
}

/* A call whose `nth` allocation fails leaves nothing behind: the same call
 * again succeeds, on all ranks. Returns 0 if there were fewer allocations. */
static int one_failing_allocation(const call_case_t *c, uint64_t seed,
                                  uint64_t nth, int is_pool)
{
    fabric_options_t options = options_of(seed);
    fabric_t *fabric = fabric_create(c->ranks, &options);
    uint32_t rank, failed = 0;
    call_run_t run;
    int has_failed;

    call_run_init(&run, fabric, NULL, c);
    run.is_persistent = !is_pool || seed % 2 == 0;
    if (is_pool)
        fabric_fail_allocation(fabric, nth);
    for (rank = 0; rank < c->ranks; rank++) {
        xylem_status_t status = start_failing(&run, rank, &nth, is_pool);
        if (status == XYLEM_OK)
            continue;
        CHECK_EQ(status, XYLEM_ERR_NO_MEMORY);
        if (strstr(xylem_last_error(), "memory") == NULL)
            check_failed(__FILE__, __LINE__, xylem_last_error());
        CHECK(run.all[rank].request == NULL);
        failed++;
        CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    }
    has_failed = is_pool ? fabric_allocation_failed(fabric) : nth == 0;
    fabric_fail_allocation(fabric, 0);
    /* A plan that the cache cannot keep is no failure of the call. */
    CHECK(failed <= (uint32_t)has_failed);
    if (call_run_finish(&run))
        call_run_check(&run);
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
    return has_failed;
}

static void test_failing_allocations(void)
{
    uint64_t random = random_mix(3), nth, seed;
    uint32_t coll, n;
    int is_pool;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES_WITHOUT_MEMORY; n++) {
            call_case_t c = draw_case(&random, coll, 1 + n);
            seed = random_next(&random);
            for (is_pool = 0; is_pool < 2; is_pool++) {
                nth = 1;
                while (nth < ALLOCATIONS_MAX &&
                       one_failing_allocation(&c, seed, nth, is_pool))
                    nth++;
                CHECK(nth < ALLOCATIONS_MAX);
                CHECK(!is_pool || nth > 1);
            }
        }
}

/* A rank without memory for the facts of its choice is refused, and does not
 * choose as if it lay on other nodes: an order depends on the nodes. */
static void one_choice_without_memory(uint64_t nth)
{
    enum { NODE_RANKS = 4, ALL = 2 * NODE_RANKS };
    xylem_place_t places[ALL];
    const fabric_options_t options = {
        .seed = 1, .places = places, .shares_memory = 1};
    const call_case_t c = {.coll = XYLEM_COLL_ALLREDUCE,
                           .ranks = ALL,
                           .count = 500,
                           .is_ordered = 1};
    fabric_t *fabric;
    call_run_t run;
    uint32_t rank;

    for (rank = 0; rank < ALL; rank++)
        places[rank] = (xylem_place_t){.node = rank / NODE_RANKS,
                                       .core = rank % NODE_RANKS};
    fabric = fabric_create(ALL, &options);
    call_run_init(&run, fabric, NULL, &c);
    run.is_persistent = 1;
    CHECK_EQ(start_failing(&run, 1, &nth, 0), XYLEM_ERR_NO_MEMORY);
    for (rank = 0; rank < ALL; rank++)
        if (run.all[rank].starts == 0)
            CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    if (call_run_finish(&run))
        call_run_check(&run);
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_choices_without_memory(void)
{
    enum { CHOICE_ALLOCATIONS = 3 }; /* the first ones */
    uint64_t nth;

    for (nth = 1; nth <= CHOICE_ALLOCATIONS; nth++)
        one_choice_without_memory(nth);
}

static const check_case_t cases[] = {
    {"any fault: a rank dies", test_deaths},
    {"any fault: teams beside the dead", test_beside_the_dead},
    {"any fault: a send or receive fails", test_failing_calls},
    {"any fault: no memory", test_failing_allocations},
    {"any fault: no memory to choose by", test_choices_without_memory},
};
CHECK_MAIN(cases)
