/* Reductions in the reproducible order: the same bits by every algorithm, on
 * nodes of any shape, with memory shared or not, by executors that work late,
 * with segments, in parts and in place; the bits that one rank gets by adding
 * all contributions. And calls that must be refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "collectives/data/binned.h"
#include "collectives/data/description.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

#define CASES check_cases(400)

enum { RANKS_MAX = 13, COUNT_MAX = 9000, ELEMENT_MAX = 16, GUARD = 0x5a };

typedef struct plan {
    xylem_coll_t coll;
    xylem_type_t type;
    xylem_op_t op;
    uint32_t ranks, root;
    uint64_t count; /* of a block, on average */
    int in_place, is_persistent, by_setting, in_parts;
    int on_one_node; /* with memory, and by the library's choice */
    size_t segment_bytes;
    const xyl_algorithm_t *algorithm; /* NULL: the library's choice */
    uint32_t radix;
    uint64_t salt;
} plan_t;

typedef struct member {
    struct run *run;
    uint32_t rank;
    unsigned char *send, *recv;
    xylem_request_t *request;
    int is_done;
    size_t told;
} member_t;

typedef struct run {
    plan_t plan;
    uint64_t counts[RANKS_MAX], places[RANKS_MAX + 1]; /* blocks */
    uint64_t total;
    size_t bytes; /* of an element */
    unsigned char *inputs[RANKS_MAX], *expected;
    member_t all[RANKS_MAX];
} run_t;

/* ---- what goes in ---- */

/* Draws a number, rarely one that is not finite. */
static double number_draw(uint64_t *random)
{
    uint32_t kind = random_below(random, 400);
    double unit = (double)(random_next(random) >> 11) * 0x1p-53 - 0.5;

    if (kind == 0)
        return 1 / (double)random_below(random, 1);
    if (kind == 1)
        return 0.0;
    if (kind == 2)
        return -0.0;
    if (kind < 100)
        return unit * (double)(UINT64_C(1) << random_below(random, 60));
    return unit;
}

static void input_draw(const run_t *run, uint32_t rank)
{
    uint64_t random = random_mix(run->plan.salt * 100 + rank);
    unsigned char *input = run->inputs[rank];
    uint64_t i, bits;
    double number;
    float single;

    for (i = 0; i < run->total * run->bytes; i += sizeof bits) {
        bits = random_next(&random); /* halves of any kind */
        number = number_draw(&random);
        single = (float)number;
        if (run->plan.type == XYLEM_FLOAT64 ||
            run->plan.type == XYLEM_COMPLEX_FLOAT64)
            memcpy(&bits, &number, sizeof number);
        else if (run->bytes > 2)
            memcpy(&bits, &single, sizeof single);
        memcpy(input + i, &bits, sizeof bits);
    }
}

/* ---- what must come out ---- */

/* The expected sum of the contributions of ranks below `end`. */
static void expected_of(const run_t *run, uint32_t end, unsigned char *to)
{
    const plan_t *plan = &run->plan;
    const xyl_binned_t *binned = xyl_binned_find(
        plan->op, plan->type, XYL_BINNED_NUMBERS_MAX, XYL_ISA_BASE);
    xyl_kernel_fn extreme = xyl_binned_extreme(plan->op, plan->type);
    unsigned char *sums;
    uint32_t rank;

    if (extreme != NULL) {
        memcpy(to, run->inputs[0], run->total * run->bytes);
        for (rank = 1; rank < end; rank++)
            extreme(to, run->inputs[rank], to, run->total);
        return;
    }
    sums = calloc(run->total + 1, binned->bytes);
    for (rank = end; rank-- > 0;)
        binned->add.kernel(sums, sums, run->inputs[rank], run->total);
    binned->value.kernel(to, sums, NULL, run->total);
    free(sums);
}

static uint64_t result_count(const run_t *run, uint32_t rank)
{
    if (run->plan.coll == XYLEM_COLL_REDUCE && rank != run->plan.root)
        return 0;
    if (run->plan.coll == XYLEM_COLL_EXSCAN && rank == 0)
        return 0;
    return xyl_coll_traits(run->plan.coll)->send_blocks ? run->counts[rank]
                                                        : run->total;
}

static void result_check(run_t *run, uint32_t rank, const char *label)
{
    xylem_coll_t coll = run->plan.coll;
    int is_scan = coll == XYLEM_COLL_SCAN || coll == XYLEM_COLL_EXSCAN;
    uint32_t end = coll == XYLEM_COLL_SCAN ? rank + 1 : rank;
    uint64_t bytes = result_count(run, rank) * run->bytes;
    unsigned char *wanted = run->expected;

    expected_of(run, is_scan && end != 0 ? end : run->plan.ranks, wanted);
    if (xyl_coll_traits(coll)->send_blocks)
        wanted += run->places[rank] * run->bytes;
    if (memcmp(run->all[rank].recv, wanted, bytes) != 0) {
        printf("# rank %u: %s\n", rank, label);
        check_failed(__FILE__, __LINE__, "the result is not the sum's");
    }
    if (!run->plan.in_place)
        CHECK(run->all[rank].recv[bytes] == GUARD);
    if (!run->plan.in_place)
        CHECK(memcmp(run->all[rank].send, run->inputs[rank],
                     run->total * run->bytes) == 0);
}

/* ---- the call ---- */

static void completed(void *arg, xylem_status_t status)
{
    member_t *member = arg;

    CHECK_EQ(status, XYLEM_OK);
    member->is_done = 1;
}

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    member_t *member = arg;

    (void)segment;
    CHECK(offset + bytes <= member->run->total * member->run->bytes);
    member->told += bytes;
}

static xylem_coll_args_t args_of(run_t *run, uint32_t rank, char *algorithm,
                                 size_t algorithm_bytes)
{
    const plan_t *plan = &run->plan;
    const xyl_coll_traits_t *traits = xyl_coll_traits(plan->coll);
    int is_in_place = plan->in_place &&
                      (plan->coll != XYLEM_COLL_REDUCE || rank == plan->root);
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = plan->coll;
    args.send = is_in_place ? XYLEM_IN_PLACE : run->all[rank].send;
    args.recv = run->all[rank].recv;
    args.count = traits->send_blocks ? run->counts[0] : run->total;
    if (traits->recv_varies)
        args.recv_counts = run->counts;
    args.type = plan->type;
    args.op = plan->op;
    args.root = plan->root;
    args.segment_bytes = plan->segment_bytes;
    args.on_complete = completed;
    args.arg = &run->all[rank];
    if (traits->has_segments)
        args.on_segment = segment_told;
    if (!plan->by_setting)
        args.flags |= XYLEM_FLAG_REPRODUCIBLE;
    if (plan->in_parts)
        args.flags |= XYLEM_FLAG_PARTS;
    if (plan->algorithm != NULL) {
        snprintf(algorithm, algorithm_bytes, "%s", plan->algorithm->name);
        if (plan->radix != 0)
            snprintf(algorithm, algorithm_bytes, "%s:%" PRIu32,
                     plan->algorithm->name, plan->radix);
        args.algorithm = algorithm;
    }
    return args;
}

static int is_done(void *arg)
{
    const run_t *run = arg;
    uint32_t i = 0;

    while (i < run->plan.ranks && run->all[i].is_done)
        i++;
    return i == run->plan.ranks;
}

static void parts_release(const run_t *run, uint32_t rank)
{
    uint64_t segments, i;
    size_t bytes;

    CHECK_EQ(xylem_request_segments(run->all[rank].request, &segments, &bytes),
             XYLEM_OK);
    CHECK(segments == 0 || ((segments - 1) * bytes < run->total * run->bytes &&
                            segments * bytes >= run->total * run->bytes));
    for (i = segments; i-- > 0;)
        CHECK_EQ(xylem_segment_ready(run->all[rank].request, i), XYLEM_OK);
}

static void start_all(run_t *run, fabric_t *fabric)
{
    char algorithm[48];
    xylem_status_t status;
    uint32_t i;

    for (i = 0; i < run->plan.ranks; i++) {
        member_t *member = &run->all[i];
        xylem_coll_args_t args = args_of(run, i, algorithm, sizeof algorithm);
        uint64_t own = run->plan.in_place ? run->total : result_count(run, i);
        member->is_done = 0;
        member->told = 0;
        memcpy(member->send, run->inputs[i], run->total * run->bytes);
        memset(member->recv, GUARD, run->total * run->bytes + 1);
        if (run->plan.in_place)
            memcpy(member->recv, run->inputs[i], own * run->bytes);
        status = XYLEM_OK;
        if (!run->plan.is_persistent)
            status = xylem_coll_start(fabric_world(fabric, i), &args,
                                      &member->request);
        else if (member->request == NULL)
            status = xylem_coll_init(fabric_world(fabric, i), &args,
                                     &member->request);
        if (status == XYLEM_OK && run->plan.is_persistent)
            status = xylem_request_start(member->request);
        CHECK_EQ(status, XYLEM_OK);
        if (status == XYLEM_OK && run->plan.in_parts)
            parts_release(run, i);
    }
}

static void run_once(run_t *run, fabric_t *fabric, const char *label)
{
    fabric_script_t script = {.is_done = is_done, .arg = run};
    uint32_t i;

    start_all(run, fabric);
    if (!fabric_run_until(fabric, &script))
        return;
    for (i = 0; i < run->plan.ranks; i++) {
        result_check(run, i, label);
        if (xyl_coll_traits(run->plan.coll)->has_segments)
            CHECK_EQ(run->all[i].told, result_count(run, i) * run->bytes);
    }
}

/* ---- cases ---- */

static const xyl_algorithm_t *algorithm_draw(uint64_t *random,
                                             const xyl_problem_t *problem)
{
    const xyl_algorithm_t *const *all, *drawn = NULL;
    uint32_t fitting = 0;
    size_t count, i;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        if (xyl_algorithm_does(all[i], problem->coll) &&
            xyl_algorithm_fits(all[i], problem, NULL) &&
            random_below(random, ++fitting) == 0)
            drawn = all[i];
    return random_below(random, 4) == 0 ? NULL : drawn;
}

static plan_t plan_draw(uint64_t *random)
{
    static const xylem_coll_t colls[] = {
        XYLEM_COLL_REDUCE,         XYLEM_COLL_ALLREDUCE,
        XYLEM_COLL_REDUCE_SCATTER, XYLEM_COLL_REDUCE_SCATTER_BLOCK,
        XYLEM_COLL_SCAN,           XYLEM_COLL_EXSCAN};
    static const xylem_type_t types[] = {
        XYLEM_FLOAT32, XYLEM_FLOAT64,         XYLEM_FLOAT32,
        XYLEM_FLOAT64, XYLEM_FLOAT16,         XYLEM_BFLOAT16,
        XYLEM_FLOAT16, XYLEM_COMPLEX_FLOAT32, XYLEM_COMPLEX_FLOAT64};
    static const uint32_t limits[] = {2, 40, 600, COUNT_MAX};
    uint32_t type = random_below(random, 9);
    plan_t plan = {.coll = colls[random_below(random, 6)],
                   .type = types[type],
                   .op = XYLEM_SUM,
                   .ranks = random_between(random, 1, RANKS_MAX),
                   .salt = random_next(random)};

    if (type < 7 && random_below(random, 5) == 0)
        plan.op = random_below(random, 2) == 0 ? XYLEM_MIN : XYLEM_MAX;
    plan.root = random_below(random, plan.ranks);
    if (!xyl_coll_traits(plan.coll)->has_root)
        plan.root = 0;
    plan.count = random_below(random, limits[random_below(random, 4)]);
    if (xyl_coll_traits(plan.coll)->send_blocks)
        plan.count /= plan.ranks;
    plan.in_place = random_below(random, 3) == 0;
    plan.is_persistent = random_below(random, 2) == 0;
    plan.by_setting = random_below(random, 2) == 0;
    plan.in_parts = xyl_coll_traits(plan.coll)->has_segments &&
                    random_below(random, 4) == 0;
    if (random_below(random, 2) == 0)
        plan.segment_bytes = 1 + random_below(random, 9000);
    return plan;
}

static void blocks_draw(run_t *run, uint64_t *random)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(run->plan.coll);
    uint32_t i;

    for (i = 0; i < run->plan.ranks; i++) {
        run->counts[i] = run->plan.count;
        if (traits->recv_varies)
            run->counts[i] =
                random_below(random, 2 * (uint32_t)run->plan.count + 1);
        run->places[i + 1] = run->places[i] + run->counts[i];
    }
    run->total =
        traits->send_blocks ? run->places[run->plan.ranks] : run->plan.count;
}

static fabric_t *fabric_draw(const plan_t *plan, uint64_t *random,
                             xyl_problem_t *problem)
{
    static const char *const settings[] = {"REDUCE_ORDER=reproducible", NULL};
    static const size_t eager[] = {0, 64, 4096, SIZE_MAX};
    fabric_options_t options = {.seed = random_next(random),
                                .delay_max = random_below(random, 30),
                                .reorder = 1,
                                .shares_memory = random_below(random, 3) != 0};
    uint32_t on_node = random_between(random, 1, plan->ranks), i;
    int is_scattered = random_below(random, 3) == 0;
    uint32_t nodes = (plan->ranks + on_node - 1) / on_node;
    xylem_place_t places[RANKS_MAX];

    for (i = 0; i < plan->ranks; i++)
        places[i] = (xylem_place_t){
            .node = is_scattered ? i % nodes : i / on_node, .core = i};
    options.places = places;
    options.eager_bytes_max = eager[random_below(random, 4)];
    if (random_below(random, 4) == 0)
        options.work_late_max = 1 + random_below(random, 40);
    if (plan->by_setting)
        options.settings = settings;
    for (i = 0; plan->on_one_node && i < plan->ranks; i++)
        places[i].node = 0;
    if (plan->on_one_node)
        options.shares_memory = 1;
    problem->shares_memory =
        nodes == 1 && plan->ranks > 1 && options.shares_memory;
    problem->fills_nodes = !is_scattered || nodes == 1;
    return fabric_create(plan->ranks, &options);
}

static void one_case(uint64_t seed, const plan_t *plan)
{
    uint64_t random = random_mix(seed), starts, i;
    run_t run = {.plan = *plan};
    xyl_problem_t problem = {.coll = run.plan.coll,
                             .ranks = run.plan.ranks,
                             .count = run.plan.count,
                             .element_bytes = 8,
                             .is_in_place = run.plan.in_place,
                             .is_commutative = 1};
    fabric_t *fabric = fabric_draw(&run.plan, &random, &problem);
    char label[160];
    uint32_t rank;

    blocks_draw(&run, &random);
    run.bytes = xylem_type_bytes(run.plan.type);
    if (xyl_coll_traits(run.plan.coll)->recv_varies)
        problem.count = run.total;
    if (!plan->on_one_node)
        run.plan.algorithm = algorithm_draw(&random, &problem);
    snprintf(label, sizeof label,
             "seed %" PRIu64 ": %s, %s of %s, %u ranks, "
             "%" PRIu64 " elements, %s%s",
             seed, xylem_coll_name(run.plan.coll), xylem_op_name(run.plan.op),
             xylem_type_name(run.plan.type), run.plan.ranks, run.total,
             run.plan.algorithm == NULL ? "auto" : run.plan.algorithm->name,
             run.plan.in_place ? ", in place" : "");
    fabric_label(fabric, label);
    run.expected = malloc(run.total * run.bytes + ELEMENT_MAX);
    for (rank = 0; rank < run.plan.ranks; rank++) {
        run.inputs[rank] = malloc(run.total * run.bytes + ELEMENT_MAX);
        run.all[rank] =
            (member_t){.run = &run,
                       .rank = rank,
                       .send = malloc(run.total * run.bytes + ELEMENT_MAX),
                       .recv = malloc(run.total * run.bytes + ELEMENT_MAX)};
        input_draw(&run, rank);
    }
    starts = run.plan.is_persistent ? 2 : 1;
    for (i = 0; i < starts && check_failures() == 0; i++)
        run_once(&run, fabric, label);
    fabric_run_dry(fabric);
    for (rank = 0; rank < run.plan.ranks; rank++) {
        CHECK_EQ(xylem_request_free(run.all[rank].request), XYLEM_OK);
        free(run.inputs[rank]);
        free(run.all[rank].send);
        free(run.all[rank].recv);
    }
    free(run.expected);
    fabric_destroy(fabric);
}

static void test_any(void)
{
    uint64_t seed, random;
    plan_t plan;

    for (seed = 1; seed <= CASES && check_failures() == 0; seed++) {
        random = random_mix(~seed);
        plan = plan_draw(&random);
        one_case(seed, &plan);
    }
}

/* A message so long that a segment is worked on in several parts. */
static void test_long(void)
{
    static const xylem_coll_t colls[] = {XYLEM_COLL_REDUCE,
                                         XYLEM_COLL_ALLREDUCE};
    uint64_t seed;

    for (seed = 1; seed <= check_cases(12) && check_failures() == 0; seed++) {
        plan_t plan = {.coll = colls[seed % 2],
                       .type = seed % 4 < 2 ? XYLEM_FLOAT32 : XYLEM_FLOAT64,
                       .op = XYLEM_SUM,
                       .ranks = 2 + (uint32_t)seed % 3,
                       .count = 400000,
                       .in_place = seed % 5 == 0,
                       .on_one_node = 1,
                       .salt = seed};
        one_case(seed, &plan);
    }
}

/* ---- what is refused ---- */

static xylem_status_t init_status(fabric_t *fabric, xylem_coll_t coll,
                                  xylem_type_t type, xylem_op_t op,
                                  uint32_t flags)
{
    static double send[4], recv[4];
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *request = NULL;
    xylem_status_t status;

    args.coll = coll;
    args.send = send;
    args.recv = recv;
    args.count = 1;
    args.type = type;
    args.op = op;
    args.flags = flags;
    status = xylem_coll_init(fabric_world(fabric, 0), &args, &request);
    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
    return status;
}

static void test_refused(void)
{
    static const char *const settings[] = {"REDUCE_ORDER=reproducible", NULL};
    fabric_options_t options = {.seed = 1, .settings = settings};
    fabric_t *fabric = fabric_create(3, &options);
    const uint32_t flag = XYLEM_FLAG_REPRODUCIBLE;
    const xylem_coll_t coll = XYLEM_COLL_ALLREDUCE;

    CHECK_EQ(init_status(fabric, coll, XYLEM_FLOAT32, XYLEM_PROD, flag),
             XYLEM_ERR_UNSUPPORTED);
    CHECK_EQ(init_status(fabric, coll, XYLEM_LONG_DOUBLE, XYLEM_SUM, flag),
             XYLEM_ERR_UNSUPPORTED);
    CHECK_EQ(init_status(fabric, coll, XYLEM_FLOAT32, XYLEM_SUM,
                         flag | XYLEM_FLAG_ARRIVAL_ORDER),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(
        init_status(fabric, XYLEM_COLL_BCAST, XYLEM_FLOAT32, XYLEM_SUM, flag),
        XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(init_status(fabric, coll, XYLEM_INT32, XYLEM_PROD, flag),
             XYLEM_OK);
    CHECK_EQ(init_status(fabric, coll, XYLEM_FLOAT64, XYLEM_MAX, flag),
             XYLEM_OK);
    /* With the setting the call goes in a fixed order. */
    CHECK_EQ(init_status(fabric, coll, XYLEM_FLOAT32, XYLEM_PROD, 0), XYLEM_OK);
    CHECK_EQ(init_status(fabric, coll, XYLEM_LONG_DOUBLE, XYLEM_SUM, 0),
             XYLEM_OK);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"reproducible: the same bits by all ways", test_any},
    {"reproducible: the same bits of long messages", test_long},
    {"reproducible: what has no such form", test_refused},
};

CHECK_MAIN(cases)
