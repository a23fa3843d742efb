/* The two rival designs over the fabric: right results however messages come,
 * their characteristic waits, an end when ranks or memory fail. */
#include <string.h>

#include "bench/measure/rival_stages.h"
#include "runtime/faults/failure.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"
#include "trees/tree.h"

#define RANDOM_CASES check_cases(1500)
#define DEATHS       check_cases(250)
enum {
    STARTS = 3,
    RANKS_MAX = 13,
    RANKS = 7, /* in tests of failures */
    FAILING_CALLS = 200,
    NOTICE_MAX = 400
};

/* ---- a rival's request for each rank of a run ---- */

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    coll_rank_t *rank = arg;
    const coll_run_t *run = rank->run;

    CHECK(segment < run->segments && !rank->seen[segment]);
    rank->seen[segment] = 1;
    rank->segments_told++;
    if (run->c.data != COLL_FLOAT64)
        CHECK(memcmp(rank->recv + offset, run->expected + offset, bytes) == 0);
}

static void completed(void *arg, xylem_status_t status)
{
    coll_rank_t *rank = arg;
    const coll_run_t *run = rank->run;
    int has_result =
        run->c.coll == XYLEM_COLL_BCAST || rank->rank == run->c.root;

    CHECK(!rank->is_starting);
    rank->completions++;
    rank->status = status;
    if (status == XYLEM_OK)
        CHECK_EQ(rank->segments_told, has_result ? run->segments : 0);
    else
        CHECK(run->expects_failure);
}

static xylem_coll_args_t args_of(coll_rank_t *rank)
{
    const coll_case_t *c = &rank->run->c;
    int is_root = rank->rank == c->root;
    int is_bcast = c->coll == XYLEM_COLL_BCAST;
    xylem_type_t type = XYLEM_TYPE_BLOCK((uint32_t)rank->run->element_bytes);

    if (!is_bcast)
        type = c->data == COLL_UINT32 ? XYLEM_UINT32 : XYLEM_FLOAT64;
    return (xylem_coll_args_t){
        .struct_bytes = sizeof(xylem_coll_args_t),
        .coll = c->coll,
        .send = c->in_place && is_root ? XYLEM_IN_PLACE : rank->send,
        .recv = is_bcast || is_root ? rank->recv : NULL,
        .count = c->count,
        .type = type,
        .op = rank->op,
        .root = c->root,
        .on_complete = completed,
        .on_segment = segment_told,
        .arg = rank,
        .segment_bytes = c->segment_bytes,
        .algorithm = c->algorithm[0] == '\0' ? NULL : c->algorithm};
}

static xylem_status_t init_rank(rival_design_t design, coll_run_t *run,
                                uint32_t rank)
{
    xylem_coll_args_t args = args_of(&run->all[rank]);

    return rival_init(design, run->all[rank].team, &args,
                      &run->all[rank].request);
}

static void init_all(rival_design_t design, coll_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->ranks; i++)
        CHECK_EQ(init_rank(design, run, i), XYLEM_OK);
}

/* Draws a case that these designs can do. */
static coll_case_t case_random(uint64_t *random, uint32_t ranks)
{
    coll_case_t c = coll_case_random(random, ranks);

    c.flags = 0;
    c.persistent = 1;
    c.no_callbacks = 0;
    c.no_segments = 0;
    if (c.coll == XYLEM_COLL_REDUCE && c.data == COLL_AFFINE)
        c.data = COLL_UINT32;
    /* Whole elements of any type. */
    c.segment_bytes = (c.segment_bytes + 7) & ~(size_t)7;
    return c;
}

static fabric_options_t options_of(uint64_t seed, size_t segment_bytes)
{
    uint64_t random = random_mix(seed);
    fabric_options_t options = {
        .seed = seed, .delay_max = random_below(&random, 40), .reorder = 1};

    switch (random_below(&random, 4)) {
    case 0: /* all are rendezvous */
        break;
    case 1:
        options.eager_bytes_max = SIZE_MAX;
        break;
    case 2: /* only a short last segment is eager */
        options.eager_bytes_max = segment_bytes - 1;
        break;
    default:
        options.eager_bytes_max = random_below(&random, 400);
    }
    return options;
}

/* ---- results ---- */

static void one_random(uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t ranks = random_between(&random, 1, RANKS_MAX), starts;
    coll_case_t c = case_random(&random, ranks);
    fabric_options_t options = options_of(seed, c.segment_bytes);
    fabric_t *fabric = fabric_create(ranks, &options);
    coll_run_t run;

    coll_run_init(&run, fabric, NULL, ranks, &c, seed);
    init_all(seed % 2 == 0 ? RIVAL_BLOCKING : RIVAL_WAITALL, &run);
    for (starts = 1; starts <= STARTS; starts++) {
        coll_run_start_all(&run);
        if (!coll_run_finish(&run))
            break;
        coll_run_check(&run);
        coll_run_refill(&run, seed + starts);
    }
    fabric_run_dry(fabric);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_random(void)
{
    uint64_t seed;

    for (seed = 0; seed < RANDOM_CASES; seed++)
        one_random(seed);
}

/* Sets sums[i] to the sum that rank i sends up: its own contribution, then the
 * sums of its children in the order of the tree. Each pass finds the ranks
 * whose children are known. */
static void sums_in_tree_order(const coll_run_t *run, xyl_shape_t shape,
                               double *sums)
{
    int is_known[RANKS_MAX] = {0};
    uint32_t i, j, pass, count, children[RANKS_MAX];

    for (pass = 0; pass < run->ranks; pass++)
        for (i = 0; i < run->ranks; i++) {
            count = xyl_tree_children(shape, 0, run->ranks, i, run->c.root,
                                      children, RANKS_MAX);
            for (j = 0; j < count && is_known[children[j]];)
                j++;
            if (is_known[i] || j != count)
                continue;
            memcpy(&sums[i], run->all[i].send, sizeof(double));
            for (j = 0; j < count; j++)
                sums[i] += sums[children[j]];
            is_known[i] = 1;
        }
}

/* Sums of floating-point numbers tell the order by how they round. */
static void test_order_of_sums(void)
{
    enum { SHAPES = 4, SEEDS = 8 };
    static const xyl_shape_t shapes[SHAPES] = {{&xyl_tree_flat, 0},
                                               {&xyl_tree_knomial, 3},
                                               {&xyl_tree_double, 0},
                                               {&xyl_tree_kchain, 4}};
    static const char *const names[SHAPES] = {"flat", "knomial:3", "double",
                                              "kchain:4"};
    uint32_t i;

    for (i = 0; i < SHAPES * SEEDS; i++) {
        xyl_shape_t shape = shapes[i / SEEDS];
        coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                         .data = COLL_FLOAT64,
                         .root = i % RANKS_MAX,
                         .count = 1,
                         .segment_bytes = 8,
                         .persistent = 1};
        fabric_options_t options = options_of(i, c.segment_bytes);
        fabric_t *fabric = fabric_create(RANKS_MAX, &options);
        double sums[RANKS_MAX] = {0}, result;
        coll_run_t run;

        snprintf(c.algorithm, sizeof c.algorithm, "%s", names[i / SEEDS]);
        coll_run_init(&run, fabric, NULL, RANKS_MAX, &c, i);
        init_all(i % 2 == 0 ? RIVAL_BLOCKING : RIVAL_WAITALL, &run);
        coll_run_start_all(&run);
        CHECK(coll_run_finish(&run));
        sums_in_tree_order(&run, shape, sums);
        memcpy(&result, run.all[c.root].recv, sizeof result);
        CHECK(result == sums[c.root]);
        coll_run_fini(&run);
        fabric_destroy(fabric);
    }
}

/* ---- operations of the user ---- */

static void counted_sum(void *result, const void *left, const void *right,
                        size_t count, void *arg)
{
    uint32_t a, b;
    size_t i;

    for (i = 0; i < count; i++) {
        memcpy(&a, (const char *)left + 4 * i, 4);
        memcpy(&b, (const char *)right + 4 * i, 4);
        a += b;
        memcpy((char *)result + 4 * i, &a, 4);
    }
    *(uint64_t *)arg += 1;
}

/* One call for each child of each rank and each segment. */
static void test_user_op(void)
{
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_UINT32,
                     .root = 2,
                     .algorithm = "kary:2",
                     .count = 50,
                     .segment_bytes = 16,
                     .persistent = 1};
    rival_design_t design;

    for (design = RIVAL_BLOCKING; design <= RIVAL_WAITALL; design++) {
        fabric_options_t options = options_of((uint64_t)design, 16);
        fabric_t *fabric = fabric_create(RANKS, &options);
        uint64_t calls = 0;
        uint32_t i;
        coll_run_t run;

        coll_run_init(&run, fabric, NULL, RANKS, &c, 1);
        for (i = 0; i < RANKS; i++)
            CHECK_EQ(xylem_op_create(fabric_context(fabric, i), counted_sum,
                                     &calls, XYLEM_OP_COMMUTATIVE,
                                     &run.all[i].op),
                     XYLEM_OK);
        init_all(design, &run);
        coll_run_start_all(&run);
        CHECK(coll_run_finish(&run));
        coll_run_check(&run);
        CHECK_EQ(calls, (RANKS - 1) * run.segments);
        coll_run_fini(&run);
        fabric_destroy(fabric);
    }
}

static void test_refused(void)
{
    fabric_options_t options = {.seed = 1};
    fabric_t *fabric = fabric_create(1, &options);
    xylem_team_t *team = fabric_world(fabric, 0);
    uint32_t word = 1, sum = 0;
    uint64_t calls = 0;
    xylem_request_t *request = NULL;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE,
                              .flags = XYLEM_FLAG_PARTS,
                              .send = &word,
                              .recv = &sum,
                              .count = 1,
                              .type = XYLEM_UINT32,
                              .op = XYLEM_SUM};

    CHECK_EQ(rival_init(RIVAL_BLOCKING, team, &args, &request),
             XYLEM_ERR_UNSUPPORTED);
    args.flags = 0;
    args.root = 1;
    CHECK_EQ(rival_init(RIVAL_BLOCKING, team, &args, &request),
             XYLEM_ERR_INVALID_ARG);
    args.root = 0;
    CHECK_EQ(xylem_op_create(team->context, counted_sum, &calls, 0, &args.op),
             XYLEM_OK);
    CHECK_EQ(rival_init(RIVAL_WAITALL, team, &args, &request),
             XYLEM_ERR_UNSUPPORTED);
    CHECK(request == NULL);
    CHECK_EQ(xylem_op_destroy(team->context, args.op), XYLEM_OK);
    fabric_destroy(fabric);
}

/* ---- the waits ---- */

/* The most transfers that a rank ever had under way. */
typedef struct watch {
    coll_run_t run;
    uint32_t most[RANKS];
} watch_t;

static int is_over(void *arg)
{
    watch_t *watch = arg;
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        if (watch->run.all[i].request->posted > watch->most[i])
            watch->most[i] = watch->run.all[i].request->posted;
    return coll_run_is_done(&watch->run);
}

/* A root with all others below it; everything is slow, so that all messages
 * that may be under way together are. */
static void watch_flat(rival_design_t design, xylem_coll_t coll,
                       watch_t *watch_out)
{
    coll_case_t c = {.coll = coll,
                     .data = COLL_UINT32,
                     .algorithm = "flat",
                     .count = 40,
                     .segment_bytes = 16,
                     .persistent = 1};
    fabric_options_t options = {.seed = 1, .delay_max = 30};
    fabric_t *fabric = fabric_create(RANKS, &options);
    fabric_script_t script = {is_over, NULL, watch_out};
    coll_run_t *run = &watch_out->run;

    memset(watch_out->most, 0, sizeof watch_out->most);
    coll_run_init(run, fabric, NULL, RANKS, &c, 1);
    init_all(design, run);
    coll_run_start_all(run);
    CHECK(fabric_run_until(fabric, &script));
    coll_run_check(run);
    coll_run_fini(run);
    fabric_destroy(fabric);
}

static void test_blocking_has_one_transfer(void)
{
    xylem_coll_t coll;
    watch_t watch;
    uint32_t i;

    for (coll = XYLEM_COLL_BCAST; coll <= XYLEM_COLL_REDUCE; coll++) {
        watch_flat(RIVAL_BLOCKING, coll, &watch);
        for (i = 0; i < RANKS; i++)
            CHECK_EQ(watch.most[i], 1);
    }
}

static void test_waitall_has_a_segment(void)
{
    watch_t watch;
    uint32_t i;

    watch_flat(RIVAL_WAITALL, XYLEM_COLL_BCAST, &watch);
    CHECK_EQ(watch.most[0], RANKS - 1); /* no second segment */
    for (i = 1; i < RANKS; i++)
        CHECK_EQ(watch.most[i], 2); /* this segment's receive and the next's */
    watch_flat(RIVAL_WAITALL, XYLEM_COLL_REDUCE, &watch);
    CHECK_EQ(watch.most[0], 2 * (RANKS - 1));
    for (i = 1; i < RANKS; i++)
        CHECK_EQ(watch.most[i], 1); /* one send to the parent */
}

/* ---- failures ---- */

typedef struct scene {
    fabric_t *fabric;
    coll_run_t run;
    uint32_t rounds_left;
} scene_t;

static int scene_is_done(void *arg)
{
    return coll_run_is_done(&((scene_t *)arg)->run);
}

static int scene_has_waited(void *arg)
{
    scene_t *scene = arg;

    if (scene->rounds_left == 0)
        return 1;
    scene->rounds_left--;
    return scene_is_done(scene);
}

static void scene_start(scene_t *scene, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    coll_case_t c = case_random(&random, RANKS);
    fabric_options_t options = options_of(seed, c.segment_bytes);

    scene->fabric = fabric_create(RANKS, &options);
    coll_run_init(&scene->run, scene->fabric, NULL, RANKS, &c, seed);
    scene->run.expects_failure = 1;
    scene->rounds_left = random_below(&random, 60);
    init_all(seed % 2 == 0 ? RIVAL_BLOCKING : RIVAL_WAITALL, &scene->run);
}

/* The victim's request ends, too, once it is alone. */
static void scene_end(scene_t *scene, uint32_t victim)
{
    uint32_t i;

    if (victim != UINT32_MAX)
        fabric_isolate(scene->fabric, victim);
    fabric_run_dry(scene->fabric);
    for (i = 0; i < RANKS; i++)
        CHECK_EQ(scene->run.all[i].completions, scene->run.all[i].starts);
    coll_run_fini(&scene->run);
    fabric_destroy(scene->fabric);
}

static void check_survivors(const scene_t *scene, uint32_t victim)
{
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        const coll_rank_t *rank = &scene->run.all[i];
        if (i == victim)
            continue;
        CHECK_EQ(rank->completions, 1);
        CHECK(rank->status == XYLEM_OK ||
              rank->status == XYLEM_ERR_PROC_FAILED);
    }
}

static void one_death(uint64_t seed)
{
    uint32_t victim = (uint32_t)(seed % RANKS);
    scene_t scene;
    fabric_script_t before = {scene_has_waited, NULL, &scene};
    fabric_script_t after = {scene_is_done, NULL, &scene};

    scene_start(&scene, seed);
    coll_run_start_all(&scene.run);
    CHECK(fabric_run_until(scene.fabric, &before));
    fabric_kill(scene.fabric, victim, NOTICE_MAX);
    CHECK(fabric_run_until(scene.fabric, &after));
    fabric_run_dry(scene.fabric); /* all have been told */
    check_survivors(&scene, victim);
    scene_end(&scene, victim);
}

static void test_deaths(void)
{
    uint64_t seed;

    for (seed = 0; seed < DEATHS; seed++)
        one_death(seed);
}

static void one_failing_call(uint64_t seed)
{
    uint32_t victim;
    scene_t scene;
    fabric_script_t until = {scene_has_waited, NULL, &scene};

    scene_start(&scene, seed);
    (seed / 2 % 2 == 0 ? sim_world_fail_send : sim_world_fail_recv)(
        fabric_sim(scene.fabric), 1 + seed / 4, XYLEM_ERR_NET);
    coll_run_start_all(&scene.run);
    do { /* until the failure, or the end without one */
        scene.rounds_left = 1;
        CHECK(fabric_run_until(scene.fabric, &until));
        victim = sim_world_failed_rank(fabric_sim(scene.fabric));
    } while (victim == UINT32_MAX && !scene_is_done(&scene));
    if (victim != UINT32_MAX) { /* its peers cannot know but by its end */
        xylem_progress(fabric_context(scene.fabric, victim));
        fabric_kill(scene.fabric, victim, NOTICE_MAX);
        until.is_done = scene_is_done;
        CHECK(fabric_run_until(scene.fabric, &until));
        check_survivors(&scene, victim);
    }
    scene_end(&scene, victim);
}

static void test_failing_calls(void)
{
    uint64_t seed;

    for (seed = 0; seed < FAILING_CALLS; seed++)
        one_failing_call(seed);
}

/* Receives that no send will match are given back: those of the leaves if the
 * root never sends, those of the root if the leaves never do. */
static void one_given_back(rival_design_t design, xylem_coll_t coll)
{
    coll_case_t c = {.coll = coll,
                     .data = COLL_UINT32,
                     .algorithm = "flat",
                     .count = 40,
                     .segment_bytes = 16,
                     .persistent = 1};
    fabric_options_t options = {.seed = 1, .delay_max = 5};
    fabric_t *fabric = fabric_create(RANKS, &options);
    int is_bcast = coll == XYLEM_COLL_BCAST;
    uint32_t first = is_bcast ? 1 : 0, last = is_bcast ? RANKS - 1 : 0, i;
    uint32_t silent = is_bcast ? 0 : RANKS - 1;
    coll_run_t run;

    coll_run_init(&run, fabric, NULL, RANKS, &c, 1);
    run.expects_failure = 1;
    init_all(design, &run);
    for (i = first; i <= last; i++)
        CHECK_EQ(coll_run_start(&run, i), XYLEM_OK);
    fabric_run_dry(fabric);
    for (i = first; i <= last; i++) {
        CHECK(run.all[i].request->posted > 0);
        xyl_failure_suspect(fabric_context(fabric, i), silent);
    }
    fabric_run_dry(fabric);
    for (i = first; i <= last; i++) {
        CHECK_EQ(run.all[i].status, XYLEM_ERR_PROC_FAILED);
        CHECK_EQ(run.all[i].request->posted, 0);
    }
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_receives_are_given_back(void)
{
    rival_design_t design;
    xylem_coll_t coll;

    for (design = RIVAL_BLOCKING; design <= RIVAL_WAITALL; design++)
        for (coll = XYLEM_COLL_BCAST; coll <= XYLEM_COLL_REDUCE; coll++)
            one_given_back(design, coll);
}

/* Every allocation of a plan fails once: a status, and nothing is left. */
static void test_no_memory(void)
{
    coll_case_t c = {.data = COLL_UINT32,
                     .algorithm = "flat",
                     .count = 20000,
                     .segment_bytes = 4096,
                     .persistent = 1};
    uint64_t nth;
    int has_failed;

    for (c.coll = XYLEM_COLL_BCAST; c.coll <= XYLEM_COLL_REDUCE; c.coll++)
        for (nth = 1, has_failed = 1; has_failed; nth++) {
            fabric_options_t options = {.seed = nth};
            fabric_t *fabric = fabric_create(RANKS, &options);
            xylem_status_t status;
            coll_run_t run;

            coll_run_init(&run, fabric, NULL, RANKS, &c, nth);
            fabric_fail_allocation(fabric, nth);
            status = init_rank(RIVAL_WAITALL, &run, 0);
            has_failed = fabric_allocation_failed(fabric);
            CHECK_EQ(status, has_failed ? XYLEM_ERR_NO_MEMORY : XYLEM_OK);
            CHECK(has_failed || nth > 1);
            fabric_fail_allocation(fabric, 0);
            coll_run_fini(&run);
            fabric_destroy(fabric);
        }
}

static const check_case_t cases[] = {
    {"random", test_random},
    {"order_of_sums", test_order_of_sums},
    {"user_op", test_user_op},
    {"refused", test_refused},
    {"blocking_has_one_transfer", test_blocking_has_one_transfer},
    {"waitall_has_a_segment", test_waitall_has_a_segment},
    {"deaths", test_deaths},
    {"failing_calls", test_failing_calls},
    {"receives_are_given_back", test_receives_are_given_back},
    {"no_memory", test_no_memory},
};

CHECK_MAIN(cases)
