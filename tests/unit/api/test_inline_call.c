/* Short calls that run inside the call, on simulated shared memory: calls that
 * end there, and calls that go on in the engine. */
#include <pthread.h>

#include "collectives/api/inline_call.h"
#include "collectives/choose/plan_cache.h"
#include "collectives/node/stage.h"
#include "runtime/core/tags.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
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

/* The root's data take their time; after that no rank has to wait. */
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
            CHECK_EQ(team_of(&world, rank)->history.begun, 1 + call);
        }
    }
    fabric_run_dry(world.fabric);
    fabric_destroy(world.fabric);
}

/* The engine completes the call of a rank that comes first. */
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
    CHECK_EQ(team_of(&world, 1)->history.begun, 2);
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

/* A kept plan serves only equal calls; a plan gives way to another. */
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

/* If a rank's buffer is not the kind of memory for which the plan was made, its
 * executor has to be asked. */
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

/* A call in which ranks may have to ask where their buffers lie does not run
 * before that is known; a shorter one does. */
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

/* Any call may take a plan that has run inside a call, unless another thread
 * owns the engine. */
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
    CHECK(xyl_plan_take(team, &args, (xyl_way_t){0}) == NULL);
    xyl_engine_disown(engine);
    again = xyl_plan_take(team, &args, (xyl_way_t){0});
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
    xyl_failure_suspect(context, ROOT);
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

/* The turn of a call runs no callbacks, which might start operations before
 * this one. */
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
        operation = xyl_plan_take(team_of(&world, rank), &args, (xyl_way_t){0});
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

/* ---- requests that are started again ---- */

enum { TAG = 5 };

static void init_all(world_t *world, uint32_t tag, xylem_request_t **requests)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++) {
        xylem_coll_args_t args = args_of(world, rank, sizeof world->words[0]);
        args.tag = tag;
        CHECK_EQ(xylem_coll_init(team_of(world, rank), &args, &requests[rank]),
                 XYLEM_OK);
    }
    fabric_run_dry(world->fabric);
}

static void free_all(world_t *world, xylem_request_t **requests)
{
    uint32_t rank;

    fabric_run_dry(world->fabric);
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
    fabric_run_dry(world->fabric);
}

/* Inside: 1. */
static int start(xylem_request_t *request, xylem_status_t *status_out)
{
    return request->run != NULL && request->run(request, status_out);
}

static int is_idle(xylem_request_t *request)
{
    return atomic_load(&request->state) == XYL_REQUEST_IDLE &&
           xylem_request_test(request) == XYLEM_OK;
}

/* Over when the call returns, as often as one likes; the tag is free then. */
static void check_start_is_over(uint32_t tag)
{
    xylem_request_t *requests[RANKS];
    uint32_t call, rank;
    world_t world;

    world_init(&world);
    init_all(&world, tag, requests);
    for (call = 1; call <= SHORT_CALLS; call++) {
        world.words[ROOT] = call;
        for (rank = 0; rank < RANKS; rank++) {
            xylem_status_t status = XYLEM_IN_PROGRESS;
            CHECK(start(requests[rank], &status));
            CHECK_EQ(status, XYLEM_OK);
            CHECK(is_idle(requests[rank]));
            CHECK(LIST_EMPTY(&team_of(&world, rank)->context->operations));
            fabric_run_dry(world.fabric);
        }
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(world.words[rank], call);
            CHECK_EQ(team_of(&world, rank)->history.begun, tag == 0 ? call : 0);
            if (tag != 0)
                CHECK_EQ(xyl_tag_calls(team_of(&world, rank), tag), call);
        }
    }
    free_all(&world, requests);
    fabric_destroy(world.fabric);
}

static void test_start_is_over(void)
{
    check_start_is_over(0);
    check_start_is_over(TAG);
}

/* A rank that comes first: the request is under way as any other, also if its
 * last run was asked to keep the user's data. */
static void check_start_goes_on(uint32_t tag)
{
    xylem_status_t status = XYLEM_IN_PROGRESS;
    xylem_request_t *requests[RANKS];
    xyl_operation_t *operation;
    uint32_t round;
    world_t world;

    world_init(&world);
    init_all(&world, tag, requests);
    operation = xyl_operation_of(requests[1]);
    for (round = 1; round <= 4; round++) {
        world.words[ROOT] = round;
        operation->stage[0]->shall_keep = 1;
        CHECK(start(requests[1], &status));
        CHECK_EQ(status, XYLEM_OK);
        CHECK_EQ(operation->stage[0]->shall_keep, 0);
        CHECK_EQ(atomic_load(&requests[1]->state), XYL_REQUEST_ACTIVE);
        CHECK_EQ(xylem_request_start(requests[1]), XYLEM_ERR_BUSY);
        CHECK_EQ(xylem_request_free(requests[1]), XYLEM_ERR_BUSY);
        CHECK(!start(requests[1], &status));
        CHECK_EQ(xylem_request_start(requests[ROOT]), XYLEM_OK);
        CHECK_EQ(xylem_request_start(requests[2]), XYLEM_OK);
        fabric_run_dry(world.fabric);
        CHECK(is_idle(requests[1]) && is_idle(requests[2]));
        CHECK(world.words[1] == round && world.words[2] == round);
        if (tag != 0)
            CHECK_EQ(xyl_tag_calls(team_of(&world, 1), tag), round);
    }
    free_all(&world, requests);
    fabric_destroy(world.fabric);
}

static void test_start_goes_on(void)
{
    check_start_goes_on(0);
    check_start_goes_on(TAG);
}

/* Its tag is under way: nothing is begun, and all goes on afterwards. */
static void test_start_is_refused(void)
{
    xylem_request_t *requests[RANKS];
    xylem_status_t status;
    uint32_t rank, number;
    uint64_t next;
    world_t world;

    world_init(&world);
    init_all(&world, TAG, requests);
    for (rank = 0; rank < RANKS; rank++) {
        xylem_team_t *team = team_of(&world, rank);
        const xyl_stage_t *stage = xyl_operation_of(requests[rank])->stage[0];
        status = XYLEM_OK;
        next = xyl_node_stage_number(stage);
        CHECK_EQ(xyl_tag_begin(team, TAG, &number), XYLEM_OK);
        CHECK(start(requests[rank], &status));
        CHECK_EQ(status, XYLEM_ERR_BUSY);
        CHECK_EQ(xyl_node_stage_number(stage), next);
        CHECK(is_idle(requests[rank]));
        xyl_tag_end(team, TAG);
    }
    world.words[ROOT] = 11;
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_start(requests[rank]), XYLEM_OK);
    fabric_run_dry(world.fabric);
    CHECK(world.words[1] == 11 && world.words[2] == 11);
    free_all(&world, requests);
    fabric_destroy(world.fabric);
}

/* A request with a callback, one of a failed team, and one behind another that
 * is under way are started the long way. */
static void test_start_is_left_alone(void)
{
    xylem_request_t *requests[RANKS], *others[RANKS], *request;
    xylem_coll_args_t args;
    xylem_status_t status;
    uint32_t rank;
    world_t world;

    world_init(&world);
    args = args_of(&world, ROOT, sizeof world.words[0]);
    args.on_complete = free_on_another_thread;
    CHECK_EQ(xylem_coll_init(team_of(&world, ROOT), &args, &request), XYLEM_OK);
    CHECK(request->run == NULL);
    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
    init_all(&world, TAG, requests);
    init_all(&world, TAG + 1, others);
    CHECK(start(requests[1], &status));
    CHECK(!start(others[1], &status));
    CHECK_EQ(xylem_request_start(others[1]), XYLEM_OK);
    for (rank = 0; rank < RANKS; rank += 2) {
        CHECK_EQ(xylem_request_start(others[rank]), XYLEM_OK);
        CHECK_EQ(xylem_request_start(requests[rank]), XYLEM_OK);
    }
    fabric_run_dry(world.fabric);
    CHECK(is_idle(requests[1]) && is_idle(others[1]));
    CHECK_EQ(xylem_team_abort(team_of(&world, ROOT), "a test"), XYLEM_OK);
    fabric_run_dry(world.fabric);
    CHECK(!start(requests[1], &status));
    CHECK_EQ(xylem_request_start(requests[1]), XYLEM_OK);
    fabric_run_dry(world.fabric);
    CHECK(xylem_request_test(requests[1]) != XYLEM_OK);
    free_all(&world, requests);
    free_all(&world, others);
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
    {"inline: a start that is over at once", test_start_is_over},
    {"inline: a start that goes on", test_start_goes_on},
    {"inline: a start that is refused", test_start_is_refused},
    {"inline: a start that goes the long way", test_start_is_left_alone},
};

CHECK_MAIN(cases)
