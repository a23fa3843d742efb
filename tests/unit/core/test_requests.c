/* The life of requests over the fabric: persistent ones, many at once, actions
 * in callbacks, and calls at the wrong moment. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum { RANKS = 9 };

static fabric_t *make(uint32_t ranks, uint64_t seed)
{
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = seed % 2 == 0 ? 0 : 30,
                                .delay_max = 20,
                                .reorder = 1};

    return fabric_create(ranks, &options);
}

static coll_case_t plain_case(uint64_t seed)
{
    coll_case_t c = {.coll = (xylem_coll_t)(seed % 2),
                     .data = COLL_UINT32,
                     .root = (uint32_t)(seed % RANKS),
                     .count = 37,
                     .segment_bytes = 16,
                     .flags = seed % 3 == 0 ? XYLEM_FLAG_PARTS : 0};

    coll_case_tree(&c, seed % coll_case_trees(), 2);
    return c;
}

/* ---- persistent ---- */

static void test_persistent(void)
{
    enum { STARTS = 60 };
    uint64_t seed, start;

    for (seed = 0; seed < check_cases(12); seed++) {
        fabric_t *fabric = make(RANKS, seed);
        coll_case_t c = plain_case(seed);
        coll_run_t run;

        c.persistent = 1;
        c.no_callbacks = seed % 4 == 3;
        coll_run_init(&run, fabric, NULL, RANKS, &c, seed);
        for (start = 0; start < STARTS; start++) {
            coll_run_refill(&run, seed * STARTS + start);
            coll_run_start_all(&run);
            CHECK(coll_run_finish(&run));
            coll_run_check(&run);
        }
        coll_run_fini(&run);
        fabric_destroy(fabric);
    }
}

static void restart(coll_rank_t *rank, void *arg)
{
    const uint32_t *starts = arg;

    if (rank->starts < *starts)
        CHECK_EQ(coll_run_start(rank->run, rank->rank), XYLEM_OK);
}

static void test_restart_in_callback(void)
{
    uint32_t starts = 25;
    uint64_t seed;

    for (seed = 0; seed < check_cases(12); seed++) {
        fabric_t *fabric = make(RANKS, seed);
        coll_case_t c = plain_case(seed);
        coll_run_t run;
        uint32_t i;

        c.persistent = 1;
        /* A request that is started again stays, with the flag or without. */
        coll_run_init(&run, fabric, NULL, RANKS, &c, seed);
        run.hook = restart;
        run.hook_arg = &starts;
        coll_run_start_all(&run);
        CHECK(coll_run_finish(&run));
        for (i = 0; i < RANKS; i++)
            CHECK_EQ(run.all[i].completions, starts);
        coll_run_check(&run);
        fabric_run_dry(fabric);
        coll_run_fini(&run);
        fabric_destroy(fabric);
    }
}

/* Sequence numbers beyond those that a tag can hold, and more segments than a
 * tag tells apart. */
static void test_tags_wrap(void)
{
    uint32_t starts = 40, i;
    coll_case_t c = {.data = COLL_UINT32,
                     .algorithm = "double",
                     .count = 2500,
                     .segment_bytes = 4,
                     .recv_window = 64,
                     .flags = XYLEM_FLAG_PARTS,
                     .persistent = 1};

    for (c.coll = 0; c.coll <= XYLEM_COLL_REDUCE; c.coll++) {
        fabric_t *fabric = make(4, 8 + c.coll);
        coll_run_t run;
        for (i = 0; i < 4; i++)
            atomic_store(&fabric_world(fabric, i)->begun, (1u << 20) - 33);
        coll_run_init(&run, fabric, NULL, 4, &c, 1);
        run.hook = restart;
        run.hook_arg = &starts;
        coll_run_start_all(&run);
        CHECK(coll_run_finish(&run));
        CHECK_EQ(run.all[1].completions, starts);
        coll_run_check(&run);
        fabric_run_dry(fabric);
        coll_run_fini(&run);
        fabric_destroy(fabric);
    }
}

/* An operation that waits for its input while thousands of others pass it. */
static void test_many_pass_one(void)
{
    enum { OTHERS = 4200 };
    coll_case_t c = {.data = COLL_UINT32,
                     .count = 1,
                     .segment_bytes = 4,
                     .flags = XYLEM_FLAG_PARTS};
    fabric_options_t options = {.seed = 1, .eager_bytes_max = SIZE_MAX};
    fabric_t *fabric = fabric_create(2, &options);
    coll_run_t waiting, passing;
    uint32_t others = OTHERS;

    coll_run_init(&waiting, fabric, NULL, 2, &c, 1);
    coll_run_start_all(&waiting);
    c.flags = 0;
    c.persistent = 1;
    coll_run_init(&passing, fabric, NULL, 2, &c, 2);
    passing.hook = restart;
    passing.hook_arg = &others;
    coll_run_start_all(&passing);
    CHECK(coll_run_finish(&passing));
    coll_run_check(&passing);
    CHECK(coll_run_finish(&waiting));
    coll_run_check(&waiting);
    fabric_run_dry(fabric);
    coll_run_fini(&passing);
    coll_run_fini(&waiting);
    fabric_destroy(fabric);
}

static void free_own(coll_rank_t *rank, void *arg)
{
    (void)arg;
    CHECK_EQ(xylem_request_free(rank->request), XYLEM_OK);
    rank->is_freed = 1;
}

/* Equal calls one after the other, whose plans may be used again: freed by the
 * user, by the flag, or in the callback; with other buffers each time. */
static void test_equal_calls(void)
{
    enum { CALLS = 12 };
    uint64_t seed, call;

    for (seed = 0; seed < check_cases(24); seed++) {
        fabric_t *fabric = make(RANKS, seed);
        coll_case_t c = plain_case(seed);
        coll_run_t run;

        c.no_segments = 1;
        c.flags = seed % 3 == 1 ? XYLEM_FLAG_AUTOFREE : 0;
        for (call = 0; call < CALLS; call++) {
            c.persistent = seed % 3 == 2 && call % 2 == 0;
            c.in_place = call % 3 == 0;
            c.no_callbacks = seed % 3 == 0 && call % 4 == 3;
            coll_run_init(&run, fabric, NULL, RANKS, &c, seed * CALLS + call);
            run.hook = seed % 3 == 2 ? free_own : NULL;
            coll_run_start_all(&run);
            CHECK(coll_run_finish(&run));
            coll_run_check(&run);
            fabric_run_dry(fabric);
            coll_run_fini(&run);
        }
        fabric_destroy(fabric);
    }
}

/* ---- what callbacks may do ---- */

static void test_free_in_callback(void)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(12); seed++) {
        fabric_t *fabric = make(RANKS, seed);
        coll_case_t c = plain_case(seed);
        coll_run_t run;

        c.persistent = seed % 2 == 0;
        coll_run_init(&run, fabric, NULL, RANKS, &c, seed);
        run.hook = free_own;
        coll_run_start_all(&run);
        CHECK(coll_run_finish(&run));
        coll_run_check(&run);
        coll_run_fini(&run);
        fabric_destroy(fabric);
    }
}

/* Each completion starts the next operation of a chain on its rank. */
static void start_next(coll_rank_t *rank, void *arg)
{
    coll_run_t *next = arg;

    CHECK_EQ(coll_run_start(next, rank->rank), XYLEM_OK);
}

typedef struct many {
    coll_run_t *runs;
    uint32_t count;
} many_t;

static int many_are_done(void *arg)
{
    many_t *many = arg;
    uint32_t i, rank;

    for (i = 0; i < many->count; i++) {
        coll_run_t *run = &many->runs[i];
        for (rank = 0; rank < run->ranks; rank++)
            if (run->all[rank].starts == 0)
                return 0; /* not reached yet */
        if (!coll_run_is_done(run))
            return 0;
    }
    return 1;
}

static unsigned many_act(void *arg)
{
    many_t *many = arg;
    unsigned done = 0;
    uint32_t i;

    for (i = 0; i < many->count; i++)
        done += coll_run_act(&many->runs[i]);
    return done;
}

static void many_finish(fabric_t *fabric, many_t *many)
{
    fabric_script_t script = {many_are_done, many_act, many};
    uint32_t i;

    if (fabric_run_until(fabric, &script))
        for (i = 0; i < many->count; i++)
            coll_run_check(&many->runs[i]);
    fabric_run_dry(fabric);
    for (i = 0; i < many->count; i++)
        coll_run_fini(&many->runs[i]);
}

static void test_chain(void)
{
    enum { CHAIN = 20 };
    coll_run_t runs[CHAIN];
    many_t many = {runs, CHAIN};
    fabric_t *fabric = make(RANKS, 31);
    uint64_t random = 5;
    uint32_t i;

    for (i = 0; i < CHAIN; i++) {
        coll_case_t c = coll_case_random(&random, RANKS);
        coll_run_init(&runs[i], fabric, NULL, RANKS, &c, i);
        if (i + 1 < CHAIN) {
            runs[i].hook = start_next;
            runs[i].hook_arg = &runs[i + 1];
        }
    }
    coll_run_start_all(&runs[0]);
    many_finish(fabric, &many);
    fabric_destroy(fabric);
}

static void refuse_to_block(coll_rank_t *rank, void *arg)
{
    xylem_team_t *made = NULL;
    uint32_t word = 0;

    (void)arg;
    CHECK_EQ(xylem_request_wait(rank->request), XYLEM_ERR_IN_CALLBACK);
    CHECK_EQ(xylem_bcast(rank->team, &word, 1, XYLEM_UINT32, 0),
             XYLEM_ERR_IN_CALLBACK);
    CHECK_EQ(
        xylem_reduce(rank->team, &word, &word, 1, XYLEM_UINT32, XYLEM_SUM, 0),
        XYLEM_ERR_IN_CALLBACK);
    CHECK_EQ(xylem_team_dup(rank->team, &made), XYLEM_ERR_IN_CALLBACK);
    CHECK_EQ(xylem_context_destroy(rank->team->context), XYLEM_ERR_IN_CALLBACK);
    CHECK_EQ(xylem_progress(rank->team->context), 0);
}

static void test_no_blocking_in_callback(void)
{
    coll_case_t c = plain_case(1);
    fabric_t *fabric = make(RANKS, 3);
    coll_run_t run;

    coll_run_init(&run, fabric, NULL, RANKS, &c, 1);
    run.hook = refuse_to_block;
    coll_run_start_all(&run);
    CHECK(coll_run_finish(&run));
    coll_run_check(&run);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

/* ---- many at once ---- */

static void test_many_in_flight(void)
{
    enum { MANY = 120 };
    coll_run_t *runs = calloc(MANY, sizeof *runs);
    many_t many = {runs, MANY};
    uint64_t seed;
    uint32_t i, rank;

    for (seed = 0; seed < check_cases(3); seed++) {
        fabric_t *fabric = make(RANKS, seed);
        uint64_t random = seed;
        for (i = 0; i < MANY; i++) {
            coll_case_t c = coll_case_random(&random, RANKS);
            coll_run_init(&runs[i], fabric, NULL, RANKS, &c, i);
        }
        for (rank = 0; rank < RANKS; rank++)
            for (i = 0; i < MANY; i++)
                CHECK_EQ(coll_run_start(&runs[i], rank), XYLEM_OK);
        many_finish(fabric, &many);
        fabric_destroy(fabric);
    }
    free(runs);
}

/* ---- at the wrong moment ---- */

static void test_wrong_moments(void)
{
    coll_case_t c = plain_case(1);
    fabric_t *fabric = make(RANKS, 4);
    coll_rank_t *rank;
    coll_run_t run;

    c.flags = XYLEM_FLAG_PARTS;
    c.persistent = 1;
    c.coll = XYLEM_COLL_REDUCE;
    coll_run_init(&run, fabric, NULL, RANKS, &c, 1);
    coll_run_start_all(&run);
    rank = &run.all[0];
    CHECK_EQ(xylem_request_start(rank->request), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_request_free(rank->request), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_context_destroy(fabric_context(fabric, 0)), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_segment_ready(rank->request, run.segments),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_segment_ready(rank->request, rank->parts[0]), XYLEM_OK);
    CHECK_EQ(xylem_segment_ready(rank->request, rank->parts[0]),
             XYLEM_ERR_INVALID_ARG);
    rank->parts_released = 1;
    CHECK_EQ(xylem_request_test(rank->request), XYLEM_IN_PROGRESS);
    CHECK(coll_run_finish(&run));
    coll_run_check(&run);
    CHECK_EQ(xylem_request_test(rank->request), XYLEM_OK);
    CHECK_EQ(xylem_segment_ready(rank->request, 0), XYLEM_ERR_INVALID_ARG);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_null_handles(void)
{
    uint64_t segments;
    size_t bytes;

    CHECK_EQ(xylem_request_start(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_request_test(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_request_wait(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_request_free(NULL), XYLEM_OK);
    CHECK_EQ(xylem_segment_ready(NULL, 0), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_request_segments(NULL, &segments, &bytes),
             XYLEM_ERR_INVALID_HANDLE);
}

static const check_case_t cases[] = {
    {"request: persistent, started many times", test_persistent},
    {"request: restarted in its own callback", test_restart_in_callback},
    {"request: tags wrap around", test_tags_wrap},
    {"request: thousands pass one that waits", test_many_pass_one},
    {"request: equal calls one after the other", test_equal_calls},
    {"request: freed in its own callback", test_free_in_callback},
    {"request: callbacks start a chain of operations", test_chain},
    {"request: callbacks must not block", test_no_blocking_in_callback},
    {"request: many in flight on one team", test_many_in_flight},
    {"request: calls at the wrong moment", test_wrong_moments},
    {"request: NULL handles", test_null_handles},
};

CHECK_MAIN(cases)
