/* Calls that are matched by tags: every rank starts them in an order of its
 * own, among calls that go in the team's order, on worlds with and without
 * shared memory, again and again; and mistakes in such calls are reported. */
#include <stdio.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "runtime/core/team.h"
#include "runtime/faults/hangs.h"
#include "simulator/random.h"
#include "tests/support/call_algorithm.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"

#define WORLDS check_cases(150)

enum {
    RANKS_MAX = 13,
    RUNS_MAX = 9,
    ROUNDS_MAX = 4,
    ELEMENTS_MAX = 40000,
    WORDS = 64,
    RANKS = 5 /* in tests of mistakes */
};

typedef struct scene {
    uint64_t random;
    fabric_t *fabric;
    uint32_t ranks, count; /* of runs */
    call_run_t runs[RUNS_MAX];
    uint32_t tags[RUNS_MAX]; /* 0: in order */
} scene_t;

/* ---- any order ---- */

static fabric_t *random_fabric(uint64_t seed, uint64_t *random, uint32_t ranks)
{
    static const size_t eager[] = {0, 64, 1024, SIZE_MAX};
    static const char *const detaches[] = {"DETACH_BYTES=1", NULL};
    fabric_options_t options = {.seed = seed,
                                .delay_max = random_below(random, 40),
                                .reorder = 1,
                                .tells_failures = 1};

    options.eager_bytes_max = eager[random_below(random, 4)];
    options.shares_memory = random_below(random, 2) == 0;
    options.work_late_max = random_below(random, 3) == 0 ? 20 : 0;
    if (random_below(random, 2) == 0)
        options.settings = detaches;
    return fabric_create(ranks, &options);
}

/* Algorithms that keep to the order of calls are refused with a tag. */
static void forget_ordered(call_case_t *c)
{
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;

    if (c->algorithm[0] == '\0' ||
        !xyl_algorithm_parse(c->coll, c->algorithm, &named, why))
        return;
    if (named.algorithm == NULL ||
        named.algorithm->kind == XYL_ALGORITHM_TREE ||
        named.algorithm->kind == XYL_ALGORITHM_SCHEDULE)
        return;
    c->algorithm[0] = '\0';
}

static void draw_run(scene_t *scene, uint32_t i)
{
    call_run_t *run = &scene->runs[i];
    call_case_t c = call_case_random(
        &scene->random,
        (xylem_coll_t)random_below(&scene->random, XYLEM_COLL_COUNT),
        scene->ranks);
    uint32_t rank;

    c.count %= ELEMENTS_MAX / scene->ranks / scene->ranks + 1;
    call_algorithm_draw(&scene->random, &c);
    scene->tags[i] = 0;
    if (random_below(&scene->random, 3) != 0) {
        forget_ordered(&c);
        scene->tags[i] = i % 2 == 0 ? i + 1 : XYLEM_TAG_MAX - i;
    }
    call_run_init(run, scene->fabric, NULL, &c);
    run->is_persistent = random_below(&scene->random, 2) == 0;
    for (rank = 0; rank < scene->ranks; rank++)
        run->all[rank].call.args.tag = scene->tags[i];
}

static void scene_init(scene_t *scene, uint64_t seed)
{
    uint32_t i;

    scene->random = random_mix(seed);
    scene->ranks = random_between(&scene->random, 2, RANKS_MAX);
    scene->count = random_between(&scene->random, 2, RUNS_MAX);
    scene->fabric = random_fabric(seed, &scene->random, scene->ranks);
    for (i = 0; i < scene->count; i++)
        draw_run(scene, i);
}

static void scene_fini(scene_t *scene)
{
    uint32_t i;

    fabric_run_dry(scene->fabric);
    for (i = 0; i < scene->count; i++)
        call_run_fini(&scene->runs[i]);
    fabric_destroy(scene->fabric);
}

/* The next call of a rank: any that has a tag, or the first of the others. */
static uint32_t draw_next(scene_t *scene, const uint8_t *is_started)
{
    uint32_t i, candidates[RUNS_MAX] = {0}, count = 0, has_ordered = 0;

    for (i = 0; i < scene->count; i++) {
        if (is_started[i] || (scene->tags[i] == 0 && has_ordered))
            continue;
        has_ordered |= scene->tags[i] == 0;
        candidates[count++] = i;
    }
    return candidates[random_below(&scene->random, count)];
}

static int is_done(void *arg)
{
    scene_t *scene = arg;
    uint32_t i;

    for (i = 0; i < scene->count; i++)
        if (!call_run_is_done(&scene->runs[i]))
            return 0;
    return 1;
}

/* Each rank in an order of its own, and at any pace. */
static void start_mixed(scene_t *scene)
{
    uint8_t is_started[RANKS_MAX][RUNS_MAX] = {{0}};
    uint32_t started[RANKS_MAX] = {0};
    uint32_t rank, next, left = scene->ranks * scene->count;

    while (left != 0) {
        rank = random_below(&scene->random, scene->ranks);
        if (started[rank] == scene->count)
            continue;
        next = draw_next(scene, is_started[rank]);
        is_started[rank][next] = 1;
        CHECK_EQ(call_run_start(&scene->runs[next], rank), XYLEM_OK);
        started[rank]++;
        left--;
        if (random_below(&scene->random, 4) == 0)
            fabric_advance(scene->fabric,
                           random_below(&scene->random, 50) * SIM_US);
    }
}

static void test_any_order(void)
{
    uint64_t seed;
    scene_t scene;
    uint32_t i, round, rounds;
    fabric_script_t script = {is_done, NULL, &scene};

    for (seed = 0; seed < WORLDS; seed++) {
        scene_init(&scene, seed);
        rounds = random_between(&scene.random, 1, ROUNDS_MAX);
        for (round = 0; round < rounds; round++) {
            for (i = 0; i < scene.count; i++) {
                uint32_t rank;
                call_run_refill(&scene.runs[i]);
                for (rank = 0; rank < scene.ranks; rank++)
                    if (!scene.runs[i].is_persistent) {
                        CHECK_EQ(
                            xylem_request_free(scene.runs[i].all[rank].request),
                            XYLEM_OK);
                        scene.runs[i].all[rank].request = NULL;
                    }
            }
            start_mixed(&scene);
            if (!fabric_run_until(scene.fabric, &script))
                break;
            for (i = 0; i < scene.count; i++)
                call_run_check(&scene.runs[i]);
        }
        scene_fini(&scene);
    }
}

/* ---- more segments than a tag has numbers ---- */

/* Segments of a few elements: a call without a tag takes as many numbers as it
 * needs. */
static void run_in_segments(const call_case_t *c, int shares_memory)
{
    fabric_options_t options = {.eager_bytes_max = SIZE_MAX,
                                .shares_memory = shares_memory};
    fabric_t *fabric = fabric_create(c->ranks, &options);
    call_run_t run;
    uint32_t rank;

    call_run_init(&run, fabric, NULL, c);
    for (rank = 0; rank < c->ranks; rank++)
        run.all[rank].call.args.tag = 3;
    call_run_start_all(&run);
    CHECK(call_run_finish(&run));
    call_run_check(&run);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_many_segments(void)
{
    static const struct {
        xylem_coll_t coll;
        const char *algorithm;
    } cut[] = {
        {XYLEM_COLL_SCAN, "linear"},
        {XYLEM_COLL_EXSCAN, "linear"},
        {XYLEM_COLL_ALLREDUCE, "ring"},
        {XYLEM_COLL_REDUCE_SCATTER, "ring"},
        {XYLEM_COLL_BCAST, "circulant"},
        {XYLEM_COLL_REDUCE, "circulant"},
        {XYLEM_COLL_ALLREDUCE, "circulant"},
        {XYLEM_COLL_BCAST, "binary"},
    };
    static const uint64_t counts[] = {600, 20000};
    size_t i, j;

    for (i = 0; i < sizeof cut / sizeof *cut; i++)
        for (j = 0; j < 4; j++) {
            call_case_t c = {.coll = cut[i].coll,
                             .ranks = RANKS,
                             .count = counts[j / 2],
                             .segment_bytes = 8};
            snprintf(c.algorithm, sizeof c.algorithm, "%s", cut[i].algorithm);
            run_in_segments(&c, j % 2);
        }
}

/* ---- one tag for call after call ---- */

/* A rank goes on to the next call with the tag when its own part is over, while
 * others are in the one before: lengths, segments and roots differ. */
typedef struct chain {
    fabric_t *fabric;
    uint32_t calls[RANKS];
    unsigned char *buffers[RANKS];
    int is_over[RANKS];
} chain_t;

enum { CHAIN_CALLS = 12, CHAIN_BYTES = 30000 };

static unsigned char chain_byte(uint32_t call, size_t i)
{
    return (unsigned char)((size_t)call * 31 + i * 7 + i / 256);
}

static void chain_next(chain_t *chain, uint32_t rank);

static void chain_check(const chain_t *chain, uint32_t rank)
{
    uint32_t call = chain->calls[rank];
    size_t i, bytes = CHAIN_BYTES / (call % 3 + 1);

    for (i = 0; i < bytes; i++)
        if (chain->buffers[rank][i] != chain_byte(call, i)) {
            CHECK_EQ(chain->buffers[rank][i], chain_byte(call, i));
            return;
        }
}

typedef struct chain_link {
    chain_t *chain;
    uint32_t rank;
} chain_link_t;

static chain_link_t links[RANKS];

static void chain_told(void *arg, xylem_status_t status)
{
    const chain_link_t *link = arg;

    CHECK_EQ(status, XYLEM_OK);
    chain_check(link->chain, link->rank);
    if (++link->chain->calls[link->rank] < CHAIN_CALLS)
        chain_next(link->chain, link->rank);
    else
        link->chain->is_over[link->rank] = 1;
}

static void chain_next(chain_t *chain, uint32_t rank)
{
    uint32_t call = chain->calls[rank], root = call % RANKS;
    size_t i, bytes = CHAIN_BYTES / (call % 3 + 1);
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .flags = XYLEM_FLAG_AUTOFREE,
                              .recv = chain->buffers[rank],
                              .count = bytes,
                              .root = root,
                              .on_complete = chain_told,
                              .arg = &links[rank],
                              .segment_bytes = 8 + call * 3,
                              .algorithm = call % 2 == 0 ? "chain" : "binary",
                              .tag = 77};

    links[rank] = (chain_link_t){chain, rank};
    for (i = 0; i < bytes; i++)
        chain->buffers[rank][i] = rank == root ? chain_byte(call, i) : 0;
    CHECK_EQ(xylem_coll_start(fabric_world(chain->fabric, rank), &args, NULL),
             XYLEM_OK);
}

static void test_one_after_the_other(void)
{
    static unsigned char memory[RANKS][CHAIN_BYTES];
    uint64_t seed;
    uint32_t rank;

    for (seed = 0; seed < check_cases(30); seed++) {
        const char *settings[] = {"DETACH_BYTES=1", "DETACH_COPIES=on", NULL};
        fabric_options_t options = {.seed = seed,
                                    .eager_bytes_max =
                                        seed % 3 == 0 ? 0 : SIZE_MAX,
                                    .delay_max = 30,
                                    .reorder = 1,
                                    .settings = settings};
        chain_t chain = {.fabric = fabric_create(RANKS, &options)};
        for (rank = 0; rank < RANKS; rank++) {
            chain.buffers[rank] = memory[rank];
            chain_next(&chain, rank);
        }
        fabric_run_dry(chain.fabric);
        for (rank = 0; rank < RANKS; rank++)
            CHECK(chain.is_over[rank]);
        fabric_destroy(chain.fabric);
    }
}

/* ---- requests that come and go ---- */

/* Every rank makes, starts and frees its requests in an order of its own. Their
 * tags are used once, so that the boards of freed ones go to later ones. */
enum {
    GUESTS = 12, /* requests of a rank, one after the other */
    AT_ONCE = 5,
    STARTS = 3,
    GUEST_WORDS = 40 /* some lie beside a count, others in a window */
};

typedef struct guest {
    xylem_request_t *request;
    uint32_t begun, over; /* starts */
    int is_freed;
    uint64_t in[GUEST_WORDS], out[GUEST_WORDS];
} guest_t;

typedef struct visit {
    uint64_t random;
    fabric_t *fabric;
    uint32_t ranks, count; /* of words */
    uint32_t made[RANKS], freed[RANKS];
    guest_t guests[RANKS][GUESTS];
} visit_t;

static uint64_t guest_word(uint32_t rank, uint32_t number, uint32_t start,
                           uint32_t i)
{
    return (((uint64_t)rank * GUESTS + number) * STARTS + start) * GUEST_WORDS +
           i;
}

static void guest_make(visit_t *visit, uint32_t rank)
{
    uint32_t number = visit->made[rank]++;
    guest_t *guest = &visit->guests[rank][number];
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .send = guest->in,
                              .recv = guest->out,
                              .count = number % 4 == 3 ? 1 : visit->count,
                              .type = XYLEM_UINT64,
                              .op = XYLEM_SUM,
                              .root = number % visit->ranks,
                              .tag = 1 + number};

    args.coll = number % 3 == 0 ? XYLEM_COLL_BCAST : XYLEM_COLL_ALLREDUCE;
    if (number % 3 == 0)
        args.send = NULL;
    CHECK_EQ(xylem_coll_init(fabric_world(visit->fabric, rank), &args,
                             &guest->request),
             XYLEM_OK);
}

static void guest_start(visit_t *visit, uint32_t rank, uint32_t number)
{
    guest_t *guest = &visit->guests[rank][number];
    uint32_t i;

    for (i = 0; i < GUEST_WORDS; i++) {
        guest->in[i] = guest_word(rank, number, guest->begun, i);
        guest->out[i] = rank == number % visit->ranks ? guest->in[i] : 0;
    }
    guest->begun++;
    CHECK_EQ(xylem_request_start(guest->request), XYLEM_OK);
}

static uint64_t guest_result(const visit_t *visit, uint32_t number,
                             uint32_t start, uint32_t i)
{
    uint64_t sum = 0;
    uint32_t rank;

    if (number % 3 == 0)
        return guest_word(number % visit->ranks, number, start, i);
    for (rank = 0; rank < visit->ranks; rank++)
        sum += guest_word(rank, number, start, i);
    return sum;
}

/* 1: it was under way, and is not any more. */
static int guest_ends(visit_t *visit, uint32_t rank, uint32_t number)
{
    guest_t *guest = &visit->guests[rank][number];
    uint32_t i, count = number % 4 == 3 ? 1 : visit->count;
    xylem_status_t status;

    if (guest->begun == guest->over)
        return 0;
    status = xylem_request_test(guest->request);
    if (status == XYLEM_IN_PROGRESS)
        return 0;
    CHECK_EQ(status, XYLEM_OK);
    for (i = 0; i < count; i++)
        CHECK_EQ(guest->out[i], guest_result(visit, number, guest->over, i));
    guest->over++;
    return 1;
}

/* Something that this rank may do next. */
static void visit_step(visit_t *visit, uint32_t rank)
{
    uint32_t number = random_below(&visit->random, GUESTS);
    guest_t *guest = &visit->guests[rank][number];

    if (number >= visit->made[rank]) {
        if (visit->made[rank] < visit->freed[rank] + AT_ONCE &&
            visit->made[rank] < GUESTS)
            guest_make(visit, rank);
        return;
    }
    if (guest->is_freed ||
        (guest->begun != guest->over && !guest_ends(visit, rank, number)))
        return;
    if (guest->begun < STARTS) {
        guest_start(visit, rank, number);
        return;
    }
    CHECK_EQ(xylem_request_free(guest->request), XYLEM_OK);
    guest->is_freed = 1;
    visit->freed[rank]++;
}

static int visit_is_over(const visit_t *visit)
{
    uint32_t rank;

    for (rank = 0; rank < visit->ranks; rank++)
        if (visit->freed[rank] < GUESTS)
            return 0;
    return 1;
}

static void test_requests(void)
{
    enum { STEPS_MAX = 1000000 };
    static visit_t visit;
    uint64_t seed, steps;

    for (seed = 0; seed < check_cases(80) && check_failures() == 0; seed++) {
        fabric_options_t options = {.seed = seed,
                                    .delay_max = 20,
                                    .reorder = 1,
                                    .shares_memory = seed % 8 != 0};
        memset(&visit, 0, sizeof visit);
        visit.random = random_mix(seed);
        visit.ranks = random_between(&visit.random, 2, RANKS);
        visit.count = random_between(&visit.random, 1, GUEST_WORDS);
        visit.fabric = fabric_create(visit.ranks, &options);
        for (steps = 0; steps < STEPS_MAX && !visit_is_over(&visit); steps++) {
            visit_step(&visit, random_below(&visit.random, visit.ranks));
            if (random_below(&visit.random, 3) == 0)
                fabric_advance(visit.fabric,
                               random_below(&visit.random, 20) * SIM_US);
        }
        CHECK(visit_is_over(&visit));
        fabric_run_dry(visit.fabric);
        fabric_destroy(visit.fabric);
    }
}

/* ---- what is wrong ---- */

typedef struct trial {
    fabric_t *fabric;
    uint32_t words[RANKS][WORDS], sums[RANKS][WORDS];
    xylem_request_t *requests[RANKS];
} trial_t;

static void trial_init(trial_t *trial, uint64_t seed)
{
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = seed % 2 == 0 ? 60 : 1024,
                                .delay_max = 20,
                                .reorder = 1,
                                .shares_memory = seed % 4 < 2,
                                .tells_failures = 1};

    memset(trial, 0, sizeof *trial);
    trial->fabric = fabric_create(RANKS, &options);
}

static xylem_coll_args_t sum_of(trial_t *trial, uint32_t rank, uint32_t tag)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = XYLEM_COLL_ALLREDUCE,
                               .send = trial->words[rank],
                               .recv = trial->sums[rank],
                               .count = WORDS,
                               .type = XYLEM_UINT32,
                               .op = XYLEM_SUM,
                               .tag = tag};
}

static xylem_status_t trial_start(trial_t *trial, uint32_t rank,
                                  const xylem_coll_args_t *args,
                                  xylem_request_t **request_out)
{
    return xylem_coll_start(fabric_world(trial->fabric, rank), args,
                            request_out);
}

static void trial_end(trial_t *trial)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(trial->requests[rank]), XYLEM_OK);
    fabric_destroy(trial->fabric);
}

/* Checks that all ranks have the status and the words. */
static void trial_check_failed(trial_t *trial, xylem_status_t status,
                               const char *word)
{
    uint32_t rank;

    fabric_run_dry(trial->fabric);
    for (rank = 0; rank < RANKS; rank++) {
        CHECK_EQ(xylem_team_error(fabric_world(trial->fabric, rank), NULL),
                 status);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        CHECK(xylem_request_test(trial->requests[rank]) != XYLEM_IN_PROGRESS);
    }
}

/* Twice under way: refused, and nothing else is harmed. */
static void test_under_way(void)
{
    xylem_request_t *second = NULL, *persistent;
    trial_t trial;
    xylem_coll_args_t args;
    uint32_t rank;

    trial_init(&trial, 1);
    args = sum_of(&trial, 0, 9);
    CHECK_EQ(xylem_coll_init(fabric_world(trial.fabric, 0), &args, &persistent),
             XYLEM_OK);
    CHECK_EQ(trial_start(&trial, 0, &args, &trial.requests[0]), XYLEM_OK);
    CHECK_EQ(trial_start(&trial, 0, &args, &second), XYLEM_ERR_BUSY);
    CHECK(second == NULL);
    CHECK(strstr(xylem_last_error(), "tag 9") != NULL);
    CHECK_EQ(xylem_request_start(persistent), XYLEM_ERR_BUSY);
    for (rank = 1; rank < RANKS; rank++) {
        args = sum_of(&trial, rank, 9);
        CHECK_EQ(trial_start(&trial, rank, &args, &trial.requests[rank]),
                 XYLEM_OK);
    }
    fabric_run_dry(trial.fabric);
    for (rank = 0; rank < RANKS; rank++) {
        CHECK_EQ(xylem_request_test(trial.requests[rank]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(trial.requests[rank]), XYLEM_OK);
        trial.requests[rank] = NULL;
    }
    CHECK_EQ(xylem_request_start(persistent), XYLEM_OK);
    for (rank = 1; rank < RANKS; rank++) {
        args = sum_of(&trial, rank, 9);
        CHECK_EQ(trial_start(&trial, rank, &args, &trial.requests[rank]),
                 XYLEM_OK);
    }
    fabric_run_dry(trial.fabric);
    CHECK_EQ(xylem_request_test(persistent), XYLEM_OK);
    CHECK_EQ(xylem_request_free(persistent), XYLEM_OK);
    trial_end(&trial);
}

static void test_nonsense(void)
{
    static const struct {
        const char *algorithm;
        uint64_t seed; /* 1: ranks share memory, so that tags have boards */
    } ordered[] = {{"han", 1}, {"han", 2}, {"node", 2}};
    xylem_request_t *request = NULL;
    trial_t trial;
    xylem_coll_args_t args;
    size_t i;

    for (i = 0; i < sizeof ordered / sizeof ordered[0]; i++) {
        trial_init(&trial, ordered[i].seed);
        args = sum_of(&trial, 0, XYLEM_TAG_MAX + 1);
        CHECK_EQ(trial_start(&trial, 0, &args, &request),
                 XYLEM_ERR_INVALID_ARG);
        CHECK(strstr(xylem_last_error(), "tag 65536") != NULL);
        args = sum_of(&trial, 0, 1);
        args.algorithm = ordered[i].algorithm;
        CHECK_EQ(trial_start(&trial, 0, &args, &request),
                 XYLEM_ERR_INVALID_ARG);
        CHECK(strstr(xylem_last_error(), "order of calls") != NULL);
        CHECK_EQ(xylem_team_error(fabric_world(trial.fabric, 0), NULL),
                 XYLEM_OK);
        trial_end(&trial);
    }
}

/* One rank makes another call with the tag, and its part may be over. */
static void test_mismatch(void)
{
    xylem_coll_args_t args;
    trial_t trial;
    uint32_t rank, look;
    uint64_t seed;

    for (seed = 0; seed < 24; seed++) {
        trial_init(&trial, seed);
        for (rank = 0; rank < RANKS; rank++) {
            args = sum_of(&trial, rank, 5);
            if (rank == seed % RANKS)
                args = (xylem_coll_args_t){.struct_bytes = sizeof args,
                                           .coll = XYLEM_COLL_BCAST,
                                           .recv = trial.words[rank],
                                           .count = 8,
                                           .root = rank,
                                           .tag = 5};
            CHECK_EQ(trial_start(&trial, rank, &args, &trial.requests[rank]),
                     XYLEM_OK);
        }
        for (look = 0; look < 10; look++)
            for (rank = 0; rank < RANKS; rank++) {
                fabric_run_dry(trial.fabric);
                xyl_hangs_look(fabric_context(trial.fabric, rank));
            }
        fabric_run_dry(trial.fabric);
        if (xylem_team_error(fabric_world(trial.fabric, 0), NULL) ==
            XYLEM_ERR_TRUNCATED)
            trial_check_failed(&trial, XYLEM_ERR_TRUNCATED, "longer");
        else
            trial_check_failed(&trial, XYLEM_ERR_MISMATCH, "calls");
        trial_end(&trial);
    }
}

/* One rank does not make the call; the others have a limit. */
static void test_missing(void)
{
    xylem_coll_args_t args;
    trial_t trial;
    uint32_t rank, look;

    trial_init(&trial, 3);
    for (rank = 0; rank < RANKS; rank++) {
        args = sum_of(&trial, rank, rank + 1 < RANKS ? 5 : 6);
        args.limit_s = 3;
        CHECK_EQ(trial_start(&trial, rank, &args, &trial.requests[rank]),
                 XYLEM_OK);
    }
    for (look = 0; look < 4; look++) {
        fabric_run_dry(trial.fabric);
        CHECK_EQ(xylem_request_test(trial.requests[0]), XYLEM_IN_PROGRESS);
        xyl_hangs_look(fabric_context(trial.fabric, 0));
    }
    trial_check_failed(&trial, XYLEM_ERR_TIMED_OUT, "time limit");
    trial_end(&trial);
}

static const check_case_t cases[] = {
    {"tags: any order on each rank", test_any_order},
    {"tags: more segments than a tag has numbers", test_many_segments},
    {"tags: one after the other", test_one_after_the_other},
    {"tags: requests that come and go", test_requests},
    {"tags: one that is under way", test_under_way},
    {"tags: nonsense is refused", test_nonsense},
    {"tags: calls that differ", test_mismatch},
    {"tags: a rank that does not call", test_missing},
};

CHECK_MAIN(cases)
