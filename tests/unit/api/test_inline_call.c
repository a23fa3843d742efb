/* Short calls that run inside the call, on simulated shared memory: what a call
 * does by itself, and when it is left to the engine. */
#include <pthread.h>

#include "collectives/api/inline_call.h"
#include "collectives/choose/plan_cache.h"
#include "runtime/core/failure.h"
#include "runtime/core/team.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum { RANKS = 3, ROOT = 0, SHORT_CALLS = 40 };

typedef struct world {
    fabric_t *fabric;
    uint64_t words[RANKS];
} world_t;

static void world_init(world_t *world)
{
    const fabric_options_t options = {
        .seed = 3, .delay_max = 20, .shares_memory = 1};

    *world = (world_t){.fabric = fabric_create(RANKS, &options)};
}

static xylem_coll_args_t args_of(world_t *world, uint32_t rank, size_t count)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = XYLEM_COLL_BCAST,
                               .recv = &world->words[rank],
                               .count = count,
                               .type = XYLEM_BYTE,
                               .root = ROOT};
}

static xylem_team_t *team_of(const world_t *world, uint32_t rank)
{
    return fabric_world(world->fabric, rank);
}

/* Broadcasts once, so that each rank's team has a plan in its cache. */
static void plan_all(world_t *world, size_t count)
{
    xylem_request_t *requests[RANKS];
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++) {
        xylem_coll_args_t args = args_of(world, rank, count);
        CHECK_EQ(xylem_coll_start(team_of(world, rank), &args, &requests[rank]),
                 XYLEM_OK);
    }
    fabric_run_dry(world->fabric);
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
}

static xyl_inline_outcome_t run(world_t *world, uint32_t rank, size_t count,
                                xyl_operation_t **operation_out)
{
    xylem_coll_args_t args = args_of(world, rank, count);

    return xyl_inline_call(team_of(world, rank), &args, 1, operation_out);
}

/* What the root has said takes its time; then nobody has to wait. */
static void test_nobody_waits(void)
{
    xyl_operation_t *operation;
    uint32_t call, rank;
    world_t world;

    world_init(&world);
    plan_all(&world, sizeof world.words[0]);
    for (call = 1; call <= SHORT_CALLS; call++) {
        world.words[ROOT] = call;
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(run(&world, rank, sizeof world.words[0], &operation),
                     XYL_INLINE_DONE);
            fabric_run_dry(world.fabric);
        }
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(world.words[rank], call);
            CHECK_EQ(team_of(&world, rank)->called.begun, 1 + call);
        }
    }
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* A rank that comes first is told by the engine. */
static void test_waits(void)
{
    xyl_operation_t *operation = NULL, *none;
    world_t world;

    world_init(&world);
    plan_all(&world, sizeof world.words[0]);
    world.words[ROOT] = 7;
    CHECK_EQ(run(&world, 1, sizeof world.words[0], &operation),
             XYL_INLINE_BEGUN);
    CHECK_EQ(operation->number, 1);
    CHECK_EQ(run(&world, 1, sizeof world.words[0], &none), XYL_INLINE_NOT);
    CHECK_EQ(team_of(&world, 1)->called.begun, 2);
    CHECK_EQ(run(&world, ROOT, sizeof world.words[0], &none), XYL_INLINE_DONE);
    fabric_run_dry(world.fabric);
    CHECK_EQ(run(&world, 2, sizeof world.words[0], &none), XYL_INLINE_DONE);
    CHECK_EQ(atomic_load(&operation->request.state), XYL_REQUEST_IDLE);
    CHECK_EQ(operation->request.status, XYLEM_OK);
    CHECK(world.words[1] == 7 && world.words[2] == 7);
    CHECK(xyl_plan_keep(operation));
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* Only calls like the one that was kept; a plan gives way to another. */
static void test_others(void)
{
    xyl_operation_t *operation;
    xylem_coll_args_t args;
    world_t world;
    size_t count;

    world_init(&world);
    for (count = 1; count <= sizeof world.words[0]; count++)
        plan_all(&world, count);
    args = args_of(&world, 1, 1);
    args.recv = NULL;
    CHECK_EQ(xyl_inline_call(team_of(&world, 1), &args, 1, &operation),
             XYL_INLINE_NOT);
    args = args_of(&world, 1, 1);
    args.root = 1;
    CHECK_EQ(xyl_inline_call(team_of(&world, 1), &args, 1, &operation),
             XYL_INLINE_NOT);
    args = args_of(&world, 1, 1);
    args.type = XYLEM_INT8;
    CHECK_EQ(xyl_inline_call(team_of(&world, 1), &args, 1, &operation),
             XYL_INLINE_NOT);
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* Where a rank's buffer is not memory that the plan was made for, its executor
 * has to be asked. */
static char elsewhere[sizeof(uint64_t)];

static int takes_elsewhere(const xyl_exec_t *exec, const void *buffer)
{
    (void)exec;
    return buffer == elsewhere;
}

static void test_other_memory(void)
{
    static const xyl_exec_ops_t ops = {.name = "elsewhere",
                                       .takes = takes_elsewhere};
    xyl_exec_t exec = {.ops = &ops};
    xyl_operation_t *operation;
    xylem_coll_args_t args;
    xyl_execs_t *execs;
    world_t world;

    world_init(&world);
    plan_all(&world, sizeof elsewhere);
    execs = &fabric_context(world.fabric, ROOT)->execs;
    CHECK_EQ(execs->count, 1);
    execs->all[1] = &exec;
    execs->count = 2;
    args = args_of(&world, ROOT, sizeof elsewhere);
    args.recv = elsewhere;
    CHECK_EQ(xyl_inline_call(team_of(&world, ROOT), &args, 1, &operation),
             XYL_INLINE_NOT);
    CHECK_EQ(run(&world, ROOT, sizeof elsewhere, &operation), XYL_INLINE_DONE);
    execs->count = 1;
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* A call in which ranks may have to ask where their buffers lie is not run
 * before that is known; a shorter one is. */
static void test_way_is_asked(void)
{
    enum { LONG = 2048 };
    static char buffers[RANKS][LONG];
    const size_t bytes[] = {sizeof(uint64_t), LONG};
    xyl_operation_t *operation;
    xylem_coll_args_t args;
    uint32_t i, rank, turn;
    world_t world;

    world_init(&world);
    for (i = 0; i < 2; i++)
        for (turn = 0; turn < 2; turn++)
            for (rank = 0; rank < RANKS; rank++) {
                xylem_request_t *request;
                args = args_of(&world, rank, bytes[i]);
                args.recv = buffers[rank];
                if (turn == 0) {
                    CHECK_EQ(xylem_coll_start(team_of(&world, rank), &args,
                                              &request),
                             XYLEM_OK);
                    fabric_run_dry(world.fabric);
                    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
                    continue;
                }
                if (bytes[i] == LONG)
                    CHECK_EQ(xyl_inline_call(team_of(&world, rank), &args, 0,
                                             &operation),
                             XYL_INLINE_ASKS);
                CHECK_EQ(xyl_inline_call(team_of(&world, rank), &args,
                                         bytes[i] == LONG, &operation),
                         XYL_INLINE_DONE);
                fabric_run_dry(world.fabric);
            }
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* A plan that has run inside a call is anybody's, but for the time that
 * another owns the engine. */
static void test_claimed_plan_is_taken(void)
{
    xyl_operation_t *operation, *again;
    xylem_coll_args_t args;
    xyl_engine_t *engine;
    xylem_team_t *team;
    world_t world;

    world_init(&world);
    plan_all(&world, 1);
    team = team_of(&world, ROOT);
    engine = &team->context->engine;
    args = args_of(&world, ROOT, 1);
    CHECK_EQ(run(&world, ROOT, 1, &operation), XYL_INLINE_DONE);
    CHECK(xyl_engine_try_own(engine));
    CHECK(xyl_plan_take(team, &args) == NULL);
    xyl_engine_disown(engine);
    again = xyl_plan_take(team, &args);
    CHECK(again != NULL && again == operation);
    CHECK_EQ(run(&world, ROOT, 1, &operation), XYL_INLINE_NOT);
    CHECK(again == NULL || xyl_plan_keep(again));
    CHECK_EQ(run(&world, ROOT, 1, &operation), XYL_INLINE_DONE);
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* A death of which the engine learns in the turn that the call lets it take. */
static void test_death_is_seen(void)
{
    xylem_context_t *context;
    xyl_operation_t *operation;
    world_t world;

    world_init(&world);
    plan_all(&world, sizeof world.words[0]);
    context = fabric_context(world.fabric, 1);
    xyl_context_suspect(context, ROOT);
    xyl_plans_of(context)->inline_calls_to_turn = 0;
    CHECK_EQ(run(&world, 1, sizeof world.words[0], &operation), XYL_INLINE_NOT);
    CHECK_EQ(atomic_load(&context->failures), 1);
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

static int told;

static void tell(xyl_event_t *event)
{
    (void)event;
    told++;
}

/* In the turn that a call takes no callback runs, which might start operations
 * before this one. */
static void test_callbacks_come_later(void)
{
    xyl_event_t event = {.handle = tell};
    xylem_context_t *context;
    xyl_operation_t *operation;
    world_t world;

    world_init(&world);
    plan_all(&world, sizeof world.words[0]);
    context = fabric_context(world.fabric, ROOT);
    xyl_fifo_push(&context->engine.callbacks, &event);
    xyl_plans_of(context)->inline_calls_to_turn = 0;
    CHECK_EQ(run(&world, ROOT, sizeof world.words[0], &operation),
             XYL_INLINE_NOT);
    CHECK_EQ(told, 0);
    (void)xylem_progress(context);
    CHECK_EQ(told, 1);
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* ---- freed while its callback returns ---- */

static void *free_it(void *arg)
{
    CHECK_EQ(xylem_request_free(arg), XYLEM_OK);
    return NULL;
}

static void free_on_another_thread(void *arg, xylem_status_t status)
{
    xylem_request_t **request = arg;
    pthread_t thread;

    CHECK_EQ(status, XYLEM_OK);
    CHECK_EQ(pthread_create(&thread, NULL, free_it, *request), 0);
    pthread_join(thread, NULL);
}

/* Its plan is as good as any. */
static void test_left_plan_is_idle(void)
{
    xylem_request_t *requests[RANKS];
    xyl_operation_t *operation;
    xylem_coll_args_t args;
    uint32_t rank;
    world_t world;

    world_init(&world);
    for (rank = 0; rank < RANKS; rank++) {
        args = args_of(&world, rank, 1);
        args.on_complete = free_on_another_thread;
        args.arg = &requests[rank];
        CHECK_EQ(
            xylem_coll_start(team_of(&world, rank), &args, &requests[rank]),
            XYLEM_OK);
    }
    fabric_run_dry(world.fabric);
    for (rank = 0; rank < RANKS; rank++) {
        args = args_of(&world, rank, 1);
        operation = xyl_plan_take(team_of(&world, rank), &args);
        CHECK(operation != NULL);
        if (operation == NULL)
            continue;
        CHECK_EQ(atomic_load(&operation->request.state), XYL_REQUEST_IDLE);
        CHECK(!operation->request.is_freed);
        CHECK(xyl_plan_keep(operation));
    }
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

static const check_case_t cases[] = {
    {"inline: nobody has to wait", test_nobody_waits},
    {"inline: one that waits is told by the engine", test_waits},
    {"inline: other calls go the long way", test_others},
    {"inline: a buffer in other memory goes the long way", test_other_memory},
    {"inline: the way is known first", test_way_is_asked},
    {"inline: a plan that has run is taken", test_claimed_plan_is_taken},
    {"inline: a death is seen first", test_death_is_seen},
    {"inline: callbacks come later", test_callbacks_come_later},
    {"inline: a plan freed while its callback returns", test_left_plan_is_idle},
};

CHECK_MAIN(cases)
