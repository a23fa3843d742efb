/* Failures over the fabric: dead peers, failing sends and receives, failing
 * allocations. No rank hangs, every operation completes, all memory comes back.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/plan_cache.h"
#include "runtime/core/request.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum { RANKS = 7, RUNS = 4, NOTICE_MAX = 400, DEATHS = 250 };

static fabric_options_t options_of(uint64_t seed)
{
    return (fabric_options_t){.seed = seed,
                              .eager_bytes_max = seed % 3 == 0 ? 0 : 60,
                              .delay_max = 20,
                              .reorder = 1};
}

/* Several operations at once, and a number of rounds to wait. */
typedef struct scene {
    fabric_t *fabric;
    coll_run_t runs[RUNS];
    uint32_t rounds_left;
} scene_t;

static int are_done(void *arg)
{
    scene_t *scene = arg;
    uint32_t i;

    for (i = 0; i < RUNS; i++)
        if (!coll_run_is_done(&scene->runs[i]))
            return 0;
    return 1;
}

static int has_waited(void *arg)
{
    scene_t *scene = arg;

    return scene->rounds_left == 0 || are_done(scene);
}

static unsigned act(void *arg)
{
    scene_t *scene = arg;
    unsigned done = 0;
    uint32_t i;

    if (scene->rounds_left > 0)
        scene->rounds_left--;
    for (i = 0; i < RUNS; i++)
        done += coll_run_act(&scene->runs[i]);
    return done;
}

static void scene_init(scene_t *scene, fabric_t *fabric, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t i;

    scene->fabric = fabric;
    for (i = 0; i < RUNS; i++) {
        coll_case_t c = coll_case_random(&random, RANKS);
        c.persistent = (c.flags & XYLEM_FLAG_AUTOFREE) == 0 && i % 2 == 0;
        coll_run_init(&scene->runs[i], fabric, NULL, RANKS, &c, seed + i);
        scene->runs[i].expects_failure = 1;
    }
    scene->rounds_left = random_below(&random, 60);
}

/* The victim's requests end, too, once it is alone; then all can be freed. */
static void scene_fini(scene_t *scene, uint32_t victim)
{
    uint32_t i;

    if (victim != UINT32_MAX)
        fabric_isolate(scene->fabric, victim);
    fabric_run_dry(scene->fabric);
    for (i = 0; i < RUNS; i++)
        coll_run_fini(&scene->runs[i]);
}

static void check_statuses(const scene_t *scene, uint32_t victim,
                           xylem_status_t failure)
{
    uint32_t i, rank;

    for (i = 0; i < RUNS; i++)
        for (rank = 0; rank < RANKS; rank++) {
            const coll_rank_t *of = &scene->runs[i].all[rank];
            if (rank == victim)
                continue;
            CHECK_EQ(of->completions, of->starts);
            if (of->status != XYLEM_OK)
                CHECK_EQ(of->status, failure);
        }
}

/* New operations on the broken team complete at once, with the failure. */
static void check_refused(fabric_t *fabric, uint32_t victim, uint64_t seed)
{
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_UINT32,
                     .count = 10,
                     .root = victim,
                     .segment_bytes = 8};
    uint32_t rank, failed = UINT32_MAX, count = 0;
    coll_run_t run;

    coll_run_init(&run, fabric, NULL, RANKS, &c, seed);
    run.expects_failure = 1;
    for (rank = 0; rank < RANKS; rank++)
        if (rank != victim)
            CHECK_EQ(coll_run_start(&run, rank), XYLEM_OK);
    CHECK(coll_run_finish(&run));
    for (rank = 0; rank < RANKS; rank++) {
        if (rank == victim)
            continue;
        CHECK_EQ(run.all[rank].status, XYLEM_ERR_PROC_FAILED);
        CHECK_EQ(
            xylem_team_failed(fabric_world(fabric, rank), &failed, 1, &count),
            XYLEM_OK);
        CHECK(count == 1 && failed == victim);
    }
    coll_run_fini(&run);
}

static int has_zombies(const xylem_context_t *context)
{
    const xylem_request_t *request;

    LIST_FOREACH(request, &context->requests, others)
    if (request->is_zombie)
        return 1;
    return 0;
}

/* Receives that no send will match are given back: nothing of a failed
 * operation is left, and late messages do not write into its buffer. */
static void test_receives_are_given_back(void)
{
    enum { LEAVES = 3, WORDS = 64 };
    fabric_options_t options = options_of(2);
    fabric_t *fabric = fabric_create(1 + LEAVES, &options);
    uint32_t words[1 + LEAVES][WORDS] = {{0}}, untouched[WORDS] = {0}, i;
    xylem_request_t *requests[1 + LEAVES];

    for (i = 1; i <= LEAVES; i++)
        CHECK_EQ(xylem_ibcast(fabric_world(fabric, i), words[i], WORDS,
                              XYLEM_UINT32, 0, &requests[i]),
                 XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = 1; i <= LEAVES; i++) /* the root is only thought to be dead */
        xyl_failure_suspect(fabric_context(fabric, i), 0);
    fabric_run_dry(fabric);
    for (i = 1; i <= LEAVES; i++) {
        CHECK_EQ(xylem_request_test(requests[i]), XYLEM_ERR_PROC_FAILED);
        CHECK_EQ(requests[i]->posted, 0);
        CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
        CHECK(!has_zombies(fabric_context(fabric, i)));
    }
    words[0][0] = 1;
    CHECK_EQ(xylem_ibcast(fabric_world(fabric, 0), words[0], WORDS,
                          XYLEM_UINT32, 0, &requests[0]),
             XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = 1; i <= LEAVES; i++)
        CHECK(memcmp(words[i], untouched, sizeof untouched) == 0);
    for (i = 1; i <= LEAVES; i++)
        xyl_failure_suspect(fabric_context(fabric, 0), i);
    fabric_run_dry(fabric);
    CHECK_EQ(xylem_request_free(requests[0]), XYLEM_OK);
    fabric_destroy(fabric);
}

/* ---- teams beside the broken one ---- */

typedef struct others {
    xylem_team_t *teams[RANKS]; /* by rank of the job */
    xylem_request_t *requests[RANKS];
} others_t;

static int others_are_made(void *arg)
{
    others_t *others = arg;
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        if (xylem_request_test(others->requests[i]) == XYLEM_IN_PROGRESS)
            return 0;
    return 1;
}

/* A team of all but the later victim. */
static void others_make(fabric_t *fabric, uint32_t victim, others_t *others)
{
    fabric_script_t script = {others_are_made, NULL, others};
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        CHECK_EQ(xylem_team_isplit(fabric_world(fabric, i),
                                   i == victim ? XYLEM_COLOR_NONE : 0, i,
                                   &others->teams[i], &others->requests[i]),
                 XYLEM_OK);
    CHECK(fabric_run_until(fabric, &script));
    for (i = 0; i < RANKS; i++)
        xylem_request_free(others->requests[i]);
}

static void others_go_on(fabric_t *fabric, uint32_t victim, others_t *others,
                         uint64_t seed)
{
    xylem_team_t *handles[RANKS - 1];
    uint64_t random = seed;
    coll_case_t c = coll_case_random(&random, RANKS - 1);
    uint32_t i;
    coll_run_t run;

    for (i = 0; i < RANKS - 1; i++)
        handles[i] = others->teams[i < victim ? i : i + 1];
    coll_run_init(&run, fabric, handles, RANKS - 1, &c, seed);
    coll_run_start_all(&run);
    CHECK(coll_run_finish(&run));
    coll_run_check(&run);
    fabric_run_dry(fabric);
    coll_run_fini(&run);
    for (i = 0; i < RANKS - 1; i++)
        CHECK_EQ(xylem_team_destroy(handles[i]), XYLEM_OK);
}

static void one_death(uint64_t seed)
{
    fabric_options_t options = options_of(seed);
    fabric_t *fabric = fabric_create(RANKS, &options);
    uint32_t i, victim = (uint32_t)(seed % RANKS);
    scene_t scene;
    fabric_script_t before = {has_waited, act, &scene};
    fabric_script_t after = {are_done, act, &scene};
    others_t others;

    others_make(fabric, victim, &others);
    scene_init(&scene, fabric, seed);
    for (i = 0; i < RUNS; i++)
        coll_run_start_all(&scene.runs[i]);
    CHECK(fabric_run_until(fabric, &before));
    fabric_kill(fabric, victim, NOTICE_MAX);
    CHECK(fabric_run_until(fabric, &after));
    fabric_run_dry(fabric); /* all have been told */
    check_statuses(&scene, victim, XYLEM_ERR_PROC_FAILED);
    check_refused(fabric, victim, seed);
    others_go_on(fabric, victim, &others, seed);
    scene_fini(&scene, victim);
    fabric_destroy(fabric);
}

static void test_deaths(void)
{
    uint64_t seed;

    for (seed = 0; seed < DEATHS; seed++)
        one_death(seed);
}

/* A team is being made while a rank dies. */
static void test_death_while_splitting(void)
{
    uint64_t seed;

    for (seed = 0; seed < 40; seed++) {
        fabric_options_t options = options_of(seed);
        fabric_t *fabric = fabric_create(RANKS, &options);
        xylem_request_t *requests[RANKS];
        xylem_team_t *teams[RANKS] = {NULL};
        uint32_t i, victim = (uint32_t)(seed % RANKS);

        for (i = 0; i < RANKS; i++)
            CHECK_EQ(xylem_team_idup(fabric_world(fabric, i), &teams[i],
                                     &requests[i]),
                     XYLEM_OK);
        sim_world_run(fabric_sim(fabric), SIM_NEVER, seed * 4);
        fabric_kill(fabric, victim, NOTICE_MAX);
        fabric_run_dry(fabric);
        fabric_isolate(fabric, victim);
        fabric_run_dry(fabric);
        for (i = 0; i < RANKS; i++) {
            xylem_status_t status = xylem_request_test(requests[i]);
            CHECK(status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED);
            CHECK_EQ(status == XYLEM_OK, teams[i] != NULL);
            CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
            xylem_team_destroy(teams[i]);
        }
        fabric_destroy(fabric);
    }
}

/* ---- the net fails ---- */

static void one_failing_call(uint64_t seed)
{
    fabric_options_t options = options_of(seed);
    fabric_t *fabric = fabric_create(RANKS, &options);
    sim_world_t *sim = fabric_sim(fabric);
    uint32_t i, victim;
    scene_t scene;
    fabric_script_t after = {are_done, act, &scene};

    scene_init(&scene, fabric, seed);
    if (seed % 2 == 0)
        sim_world_fail_send(sim, 1 + seed / 2, XYLEM_ERR_NET);
    else
        sim_world_fail_recv(sim, 1 + seed / 2, XYLEM_ERR_NET);
    for (i = 0; i < RUNS; i++)
        coll_run_start_all(&scene.runs[i]);
    do { /* until the failure, or the end without one */
        scene.rounds_left = 1;
        after.is_done = has_waited;
        CHECK(fabric_run_until(fabric, &after));
        victim = sim_world_failed_rank(sim);
    } while (victim == UINT32_MAX && !are_done(&scene));
    if (victim != UINT32_MAX) { /* its peers cannot know but by its end */
        xylem_progress(fabric_context(fabric, victim));
        fabric_kill(fabric, victim, NOTICE_MAX);
        after.is_done = are_done;
        CHECK(fabric_run_until(fabric, &after));
        check_statuses(&scene, victim, XYLEM_ERR_PROC_FAILED);
    }
    scene_fini(&scene, victim);
    fabric_destroy(fabric);
}

static void test_failing_calls(void)
{
    uint64_t seed;

    for (seed = 0; seed < 200; seed++)
        one_failing_call(seed);
}

/* The effect of a failing send on its own rank. */
static void test_failing_send_status(void)
{
    fabric_options_t options = options_of(1);
    fabric_t *fabric = fabric_create(2, &options);
    uint32_t word = 1;
    xylem_request_t *request;

    sim_world_fail_send(fabric_sim(fabric), 1, XYLEM_ERR_NET);
    CHECK_EQ(xylem_ibcast(fabric_world(fabric, 0), &word, 1, XYLEM_UINT32, 0,
                          &request),
             XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(sim_world_failed_rank(fabric_sim(fabric)), 0);
    CHECK_EQ(xylem_request_test(request), XYLEM_ERR_NET);
    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
    fabric_destroy(fabric);
}

/* A block is longer than its receiver says: its length is no part of the call's
 * name, as blocks may vary. */
static void test_truncation(void)
{
    fabric_options_t options = options_of(3);
    fabric_t *fabric = fabric_create(2, &options);
    const uint64_t counts[] = {1, 1}, displs[] = {0, 1};
    uint32_t words[4] = {1, 2, 3, 4}, gathered[2] = {0, 0};
    xylem_request_t *requests[2];

    CHECK_EQ(xylem_igatherv(fabric_world(fabric, 0), words, 1, gathered, counts,
                            displs, XYLEM_UINT32, 0, &requests[0]),
             XYLEM_OK);
    CHECK_EQ(xylem_igatherv(fabric_world(fabric, 1), words, 4, NULL, NULL, NULL,
                            XYLEM_UINT32, 0, &requests[1]),
             XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(xylem_request_test(requests[0]), XYLEM_ERR_TRUNCATED);
    CHECK_EQ(xylem_request_test(requests[1]), XYLEM_OK);
    xylem_request_free(requests[0]);
    xylem_request_free(requests[1]);
    fabric_destroy(fabric);
}

/* A request that the net still owes events does not hide an active one. */
static void test_destroy_with_active(void)
{
    fabric_options_t options = options_of(0); /* rendezvous */
    fabric_t *fabric = fabric_create(3, &options);
    xylem_context_t *context = fabric_context(fabric, 0);
    xylem_team_t *world = fabric_world(fabric, 0), *beside[3];
    xylem_request_t *sending, *active, *made[3];
    uint32_t word = 1, other = 2, i;

    for (i = 0; i < 3; i++)
        CHECK_EQ(xylem_team_idup(fabric_world(fabric, i), &beside[i], &made[i]),
                 XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = 0; i < 3; i++)
        CHECK_EQ(xylem_request_free(made[i]), XYLEM_OK);
    /* Sends to 1 and 2; one fails at once, the other is never taken. */
    sim_world_fail_send(fabric_sim(fabric), 1, XYLEM_ERR_NET);
    CHECK_EQ(xylem_ibcast(world, &word, 1, XYLEM_UINT32, 0, &sending),
             XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(xylem_request_test(sending), XYLEM_ERR_NET);
    CHECK_EQ(xylem_request_start(sending), XYLEM_ERR_NET);
    CHECK_EQ(xylem_request_free(sending), XYLEM_OK);
    CHECK_EQ(xylem_ibcast(beside[0], &other, 1, XYLEM_UINT32, 1, &active),
             XYLEM_OK);
    CHECK_EQ(xylem_context_destroy(context), XYLEM_ERR_BUSY);
    xyl_failure_suspect(context, 1);
    fabric_run_dry(fabric);
    CHECK_EQ(xylem_request_test(active), XYLEM_ERR_PROC_FAILED);
    CHECK_EQ(xylem_request_free(active), XYLEM_OK);
    fabric_destroy(fabric);
}

static int nothing_is_under_way(xylem_context_t *context)
{
    int are_under_way;

    return xyl_requests_look(context, &are_under_way) == 0 && !are_under_way;
}

/* Uses a kept plan as a blocking call does: it holds up its context neither
 * before its start, nor when it has failed with a send under way. */
static void test_kept_plan_fails(void)
{
    fabric_options_t options = options_of(0); /* rendezvous */
    fabric_t *fabric = fabric_create(3, &options);
    xylem_context_t *context = fabric_context(fabric, 0);
    uint32_t word[3] = {7, 0, 0}, i;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = &word[0],
                              .count = 1,
                              .type = XYLEM_UINT32};
    xylem_request_t *requests[3], *kept;

    for (i = 0; i < 3; i++)
        CHECK_EQ(xylem_ibcast(fabric_world(fabric, i), &word[i], 1,
                              XYLEM_UINT32, 0, &requests[i]),
                 XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = 0; i < 3; i++)
        CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
    kept =
        &xyl_plan_take(fabric_world(fabric, 0), &args, (xyl_way_t){0})->request;
    CHECK(nothing_is_under_way(context));
    sim_world_fail_send(fabric_sim(fabric), 1, XYLEM_ERR_NET);
    CHECK_EQ(xyl_request_start(kept), XYLEM_OK);
    fabric_run_dry(fabric);
    CHECK_EQ(kept->status, XYLEM_ERR_NET);
    CHECK(kept->is_zombie);
    CHECK(nothing_is_under_way(context));
    xyl_request_revive(kept);
    CHECK_EQ(xylem_request_free(kept), XYLEM_OK);
    CHECK(nothing_is_under_way(context));
    for (i = 1; i < 3; i++)
        xyl_failure_suspect(context, i);
    fabric_run_dry(fabric);
    CHECK(nothing_is_under_way(context));
    fabric_destroy(fabric);
}

/* ---- no memory ---- */

/* A job with teams and operations whose `nth` allocation fails; returns 0 when
 * there were fewer. */
static int one_failing_allocation(uint64_t nth)
{
    fabric_options_t options = options_of(nth % 5);
    fabric_t *fabric;
    scene_t scene;
    fabric_script_t after = {are_done, act, &scene};
    uint32_t i, rank, victim = UINT32_MAX;
    int failed;

    options.fail_allocation = nth;
    fabric = fabric_create(RANKS, &options);
    if (fabric == NULL)
        return 1;
    scene_init(&scene, fabric, 1);
    for (rank = 0; rank < RANKS && victim == UINT32_MAX; rank++)
        for (i = 0; i < RUNS && victim == UINT32_MAX; i++) {
            xylem_status_t status = coll_run_start(&scene.runs[i], rank);
            if (status != XYLEM_OK) {
                CHECK_EQ(status, XYLEM_ERR_NO_MEMORY);
                CHECK(strstr(xylem_last_error(), "memory") != NULL);
                victim = rank;
            }
        }
    failed = fabric_allocation_failed(fabric);
    CHECK_EQ(failed, victim != UINT32_MAX);
    if (victim != UINT32_MAX) /* gives up; so must ranks that wait for it */
        fabric_kill(fabric, victim, NOTICE_MAX);
    CHECK(fabric_run_until(fabric, &after));
    if (victim == UINT32_MAX)
        for (i = 0; i < RUNS; i++)
            coll_run_check(&scene.runs[i]);
    scene_fini(&scene, victim);
    fabric_destroy(fabric);
    return failed;
}

static void test_failing_allocations(void)
{
    enum { ALLOCATIONS_MAX = 5000 };
    uint64_t nth = 1;

    while (nth < ALLOCATIONS_MAX && one_failing_allocation(nth))
        nth++;
    CHECK(nth > RANKS * RUNS); /* it did fail often */
    CHECK(nth < ALLOCATIONS_MAX);
}

static void test_failing_team_allocations(void)
{
    uint64_t nth;
    int failed = 1;

    for (nth = 1; failed; nth++) {
        fabric_options_t options = options_of(nth);
        fabric_t *fabric = fabric_create(RANKS, &options);
        xylem_request_t *requests[RANKS] = {NULL};
        xylem_team_t *teams[RANKS] = {NULL};
        uint32_t i, victim = UINT32_MAX;

        fabric_fail_allocation(fabric, nth);
        for (i = 0; i < RANKS && victim == UINT32_MAX; i++)
            if (xylem_team_idup(fabric_world(fabric, i), &teams[i],
                                &requests[i]) != XYLEM_OK)
                victim = i;
        if (victim != UINT32_MAX)
            fabric_kill(fabric, victim, NOTICE_MAX);
        fabric_run_dry(fabric);
        failed = fabric_allocation_failed(fabric);
        for (i = 0; i < RANKS; i++) {
            if (requests[i] == NULL)
                continue;
            if (!failed)
                CHECK_EQ(xylem_request_test(requests[i]), XYLEM_OK);
            CHECK_EQ(xylem_request_test(requests[i]) == XYLEM_OK,
                     teams[i] != NULL);
            CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
            xylem_team_destroy(teams[i]);
        }
        fabric_destroy(fabric);
    }
    CHECK(nth > RANKS);
}

static xylem_status_t
wait_for_seconds(fabric_t *fabric, xylem_request_t *request, unsigned seconds)
{
    fabric_advance(fabric, seconds * SIM_S);
    return xylem_request_test(request);
}

/* After a death an operation that does not move fails, on any team; before
 * one it waits for as long as it takes. */
static void test_stall(void)
{
    static const char *const settings[] = {"STALL_S=8", NULL};
    fabric_options_t options = {.seed = 1, .reorder = 1, .settings = settings};
    fabric_t *fabric = fabric_create(RANKS, &options);
    xylem_request_t *making[RANKS], *waiting;
    xylem_team_t *teams[RANKS];
    uint32_t i, value;

    for (i = 0; i < RANKS; i++)
        CHECK_EQ(xylem_team_isplit(fabric_world(fabric, i), i == RANKS - 1, i,
                                   &teams[i], &making[i]),
                 XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = 0; i < RANKS; i++)
        CHECK_EQ(xylem_request_free(making[i]), XYLEM_OK);
    CHECK_EQ(xylem_ibcast(teams[0], &value, 1, XYLEM_UINT32, 1, &waiting),
             XYLEM_OK);
    CHECK_EQ(wait_for_seconds(fabric, waiting, 30), XYLEM_IN_PROGRESS);
    fabric_kill(fabric, RANKS - 1, 1);
    fabric_run_dry(fabric);
    CHECK_EQ(wait_for_seconds(fabric, waiting, 5), XYLEM_IN_PROGRESS);
    CHECK_EQ(wait_for_seconds(fabric, waiting, 10), XYLEM_ERR_NET);
    CHECK_EQ(xylem_request_free(waiting), XYLEM_OK);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"fault: what stalls after a death fails", test_stall},
    {"fault: a rank dies", test_deaths},
    {"fault: a rank dies while a team is made", test_death_while_splitting},
    {"fault: receives are given back", test_receives_are_given_back},
    {"fault: a send or receive fails", test_failing_calls},
    {"fault: the status of a failing send", test_failing_send_status},
    {"fault: a message is too long", test_truncation},
    {"fault: an active request keeps its context", test_destroy_with_active},
    {"fault: a kept plan that fails is not counted", test_kept_plan_fails},
    {"fault: no memory for operations", test_failing_allocations},
    {"fault: no memory for teams", test_failing_team_allocations},
};

CHECK_MAIN(cases)
