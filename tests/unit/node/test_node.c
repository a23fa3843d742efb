/* Collectives in the shared memory of a node, run by the library's engine on
 * simulated ranks: random cases of every collective that has a node program,
 * with windows so small that all come in many pieces, ranks that run ahead, and
 * several operations and teams at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/node/program.h"
#include "progress/shm/shm.h"
#include "simulator/random.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

/* Drawn. */
#define CASES        check_cases(16)
#define MIXED_WORLDS check_cases(48)
#define DEATHS       check_cases(80)

enum {
    RANKS_MAX = 17,
    FEW_RANKS = 4,
    MANY_ELEMENTS = 20000, /* if ranks are few, and fewer if they are not */
    STARTS_MAX = 3,
    MIXED_OPERATIONS = 6,
    DYING_OPERATIONS = 3,
    NOTICE_MAX = 50, /* microseconds */
    SETTING_BYTES = 80,
    AHEAD = 50 /* operations */
};

/* Seats of three caches, in any order. */
static void draw_places(uint64_t *random, uint32_t ranks, xylem_place_t *places)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        places[i] = (xylem_place_t){.l3 = random_below(random, 3), .core = i};
}

/* Draws any algorithm in the memory of a node: a setting that does not fit a
 * call is passed over. */
static const char *draw_setting(uint64_t *random, xylem_coll_t coll,
                                char setting[SETTING_BYTES])
{
    const xyl_algorithm_t *const *all;
    size_t count, i, drawn = 0, found = 0;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        if (all[i]->kind == XYL_ALGORITHM_NODE &&
            xyl_algorithm_does(all[i], coll) &&
            random_below(random, (uint32_t)++found) == 0)
            drawn = i;
    snprintf(setting, SETTING_BYTES, "ALGORITHMS=%s=%s",
             xyl_coll_traits(coll)->name, all[drawn]->name);
    return setting;
}

/* `sees`: ranks read others' input in their memory. */
static fabric_t *random_fabric(uint64_t seed, xylem_coll_t coll, uint32_t ranks,
                               const char *order, int sees)
{
    static const char *const shares[] = {"SHARE_BYTES=1", "SHARE_BYTES=3K"};
    static const char *const budgets[] = {
        "NOISE_BUDGET=512K", "NOISE_BUDGET=1M", "NOISE_BUDGET=16M"};
    static const char *const groups[] = {"NODE_GROUPS=auto", "NODE_GROUPS=off",
                                         "NODE_GROUPS=2", "NODE_GROUPS=5"};
    uint64_t random = random_mix(seed);
    char algorithm[SETTING_BYTES];
    const char *settings[] = {budgets[random_below(&random, 3)],
                              draw_setting(&random, coll, algorithm),
                              order,
                              shares[random_below(&random, 4) == 0],
                              random_below(&random, 2) == 0 ? "PAST_CACHES=0"
                                                            : "PAST_CACHES=1",
                              groups[random_below(&random, 4)],
                              NULL};
    xylem_place_t places[RANKS_MAX];
    fabric_options_t options = {.seed = seed,
                                .delay_max = random_below(&random, 40),
                                .reorder = 1,
                                .shares_memory = 1,
                                .sees_memory = sees,
                                .places = places,
                                .settings = settings};

    draw_places(&random, ranks, places);
    return fabric_create(ranks, &options);
}

static call_case_t random_case(uint64_t *random, xylem_coll_t coll,
                               uint32_t ranks)
{
    call_case_t c = call_case_random(random, coll, ranks);

    if (random_below(random, 8) == 0) /* beyond one piece */
        c.count = random_below(random, ranks <= FEW_RANKS
                                           ? MANY_ELEMENTS
                                           : MANY_ELEMENTS * FEW_RANKS / ranks);
    c.algorithm[0] = '\0'; /* the setting's */
    return c;
}

static void one_case_of(const call_case_t *c, uint64_t seed, const char *order,
                        int sees)
{
    fabric_t *fabric = random_fabric(seed, c->coll, c->ranks, order, sees);
    uint64_t random = random_mix(seed);
    uint32_t start, starts;
    call_run_t run;

    call_run_init(&run, fabric, NULL, c);
    run.is_persistent = random_below(&random, 2) == 0;
    starts = run.is_persistent ? random_between(&random, 1, STARTS_MAX) : 1;
    for (start = 0; start < starts; start++) {
        call_run_refill(&run);
        call_run_start_all(&run);
        if (call_run_finish(&run))
            call_run_check(&run);
    }
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

static void one_case(const call_case_t *c, uint64_t seed, const char *order)
{
    one_case_of(c, seed, order, 0);
    one_case_of(c, seed, order, 1);
}

static void test_every_collective(void)
{
    uint64_t random = random_mix(21);
    xylem_coll_t coll;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < CASES &&
                    xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) != NULL;
             n++) {
            call_case_t c = random_case(&random, coll,
                                        random_between(&random, 2, RANKS_MAX));
            one_case(&c, random_next(&random), "REDUCE_ORDER=fixed");
        }
}

static void test_order_of_arrival(void)
{
    uint64_t random = random_mix(23);
    uint32_t n;

    for (n = 0; n < 4 * CASES; n++) {
        call_case_t c = random_case(
            &random, n % 2 == 0 ? XYLEM_COLL_REDUCE : XYLEM_COLL_ALLREDUCE,
            random_between(&random, 2, RANKS_MAX));
        if (random_below(&random, 2) == 0)
            c.count = random_below(&random, 20000);
        c.is_ordered = random_below(&random, 8) == 0;
        one_case(&c, random_next(&random), "REDUCE_ORDER=arrival");
    }
}

/* Segments of reductions come and go singly, in orders by chance. */
static void one_parts_case(uint64_t *random, int sees)
{
    uint32_t ranks = random_between(random, 2, RANKS_MAX);
    uint64_t seed = random_next(random);
    fabric_t *fabric = random_fabric(seed, XYLEM_COLL_REDUCE, ranks,
                                     "REDUCE_ORDER=fixed", sees);
    coll_case_t c = coll_case_random(random, ranks);
    coll_run_t run;

    while (c.coll != XYLEM_COLL_REDUCE || c.count == 0)
        c = coll_case_random(random, ranks);
    c.flags |= XYLEM_FLAG_PARTS | XYLEM_FLAG_ARRIVAL_ORDER;
    c.algorithm[0] = '\0';
    if (c.count * coll_element_bytes(c.data) <= c.segment_bytes)
        c.count += c.segment_bytes / coll_element_bytes(c.data);
    coll_case_enlarge(&c, random_between(random, 1, 10));
    coll_run_init(&run, fabric, NULL, ranks, &c, seed);
    coll_run_start_all(&run);
    if (coll_run_finish(&run))
        coll_run_check(&run);
    fabric_run_dry(fabric);
    coll_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_parts(void)
{
    uint64_t random = random_mix(24);
    uint32_t n;

    for (n = 0; n < 8 * CASES; n++)
        one_parts_case(&random, n % 2 == 1);
}

static call_case_t mixed_case(uint64_t *random, uint32_t ranks)
{
    xylem_coll_t coll;

    do
        coll = (xylem_coll_t)random_below(random, XYLEM_COLL_COUNT);
    while (xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) == NULL);
    return random_case(random, coll, ranks);
}

static void test_many_at_once(void)
{
    call_run_t runs[MIXED_OPERATIONS];
    uint64_t random = random_mix(22);
    uint32_t world, i, ranks;

    for (world = 0; world < MIXED_WORLDS; world++) {
        fabric_t *fabric;
        ranks = random_between(&random, 2, RANKS_MAX);
        fabric = random_fabric(
            random_next(&random),
            (xylem_coll_t)random_below(&random, XYLEM_COLL_COUNT), ranks,
            world % 2 == 0 ? "REDUCE_ORDER=fixed" : "REDUCE_ORDER=arrival",
            world / 2 % 2 == 1);
        for (i = 0; i < MIXED_OPERATIONS; i++) {
            call_case_t c = mixed_case(&random, ranks);
            call_run_init(&runs[i], fabric, NULL, &c);
            runs[i].is_persistent = i % 2 == 0;
        }
        fabric_label(fabric, "many at once");
        call_run_start_mixed(runs, MIXED_OPERATIONS, &random);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            if (call_run_finish(&runs[i]))
                call_run_check(&runs[i]);
        fabric_run_dry(fabric);
        for (i = 0; i < MIXED_OPERATIONS; i++)
            call_run_fini(&runs[i]);
        fabric_destroy(fabric);
    }
}

/* ---- death ---- */

static void one_dies(uint64_t seed)
{
    uint64_t random = random_mix(seed);
    uint32_t ranks = random_between(&random, 3, 8), i;
    uint32_t victim = random_below(&random, ranks);
    fabric_t *fabric = random_fabric(seed, XYLEM_COLL_REDUCE, ranks,
                                     "REDUCE_ORDER=arrival", seed % 2 == 1);
    call_run_t runs[DYING_OPERATIONS];

    for (i = 0; i < DYING_OPERATIONS; i++) {
        call_case_t c = i == 0 ? random_case(&random, XYLEM_COLL_REDUCE, ranks)
                               : mixed_case(&random, ranks);
        c.types = CALL_TYPES_PLAIN;
        if (c.coll != XYLEM_COLL_BARRIER)
            c.count += 2000;
        call_run_init(&runs[i], fabric, NULL, &c);
        runs[i].expects_failure = 1;
        call_run_start_all(&runs[i]);
    }
    sim_world_run(fabric_sim(fabric), SIM_NEVER, random_below(&random, 200));
    fabric_kill(fabric, victim, NOTICE_MAX);
    for (i = 0; i < DYING_OPERATIONS; i++)
        CHECK(call_run_finish(&runs[i]));
    fabric_run_dry(fabric);
    fabric_isolate(fabric, victim);
    fabric_run_dry(fabric);
    for (i = 0; i < DYING_OPERATIONS; i++) {
        call_run_check_survivors(&runs[i], victim);
        call_run_fini(&runs[i]);
    }
    fabric_destroy(fabric);
}

static void test_one_dies(void)
{
    uint64_t seed;

    for (seed = 1; seed <= DEATHS; seed++)
        one_dies(seed);
}

/* ---- memory that cannot be seen ---- */

static const void *sees_nothing(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                                size_t bytes)
{
    (void)shm;
    (void)rank;
    (void)name;
    (void)bytes;
    return NULL;
}

/* A rank cannot see the root's memory. The root relies on it, and fails with
 * it; ranks that have the message are done. */
static void test_cannot_see(void)
{
    static const char *const settings[] = {"SHARE_BYTES=1", NULL};
    fabric_options_t options = {.seed = 5,
                                .reorder = 1,
                                .shares_memory = 1,
                                .sees_memory = 1,
                                .settings = settings};
    call_case_t c = {.coll = XYLEM_COLL_BCAST,
                     .ranks = 3,
                     .count = 50000,
                     .salt = 9,
                     .algorithm = "node"};
    fabric_t *fabric = fabric_create(c.ranks, &options);
    xyl_shm_t *shm = fabric_context(fabric, 1)->shm;
    xyl_shm_ops_t blind = *shm->ops;
    call_run_t run;

    blind.view = sees_nothing;
    shm->ops = &blind;
    call_run_init(&run, fabric, NULL, &c);
    run.expects_failure = 1;
    call_run_start_all(&run);
    fabric_run_dry(fabric);
    CHECK_EQ(run.all[1].status, XYLEM_ERR_NO_RESOURCE);
    CHECK_EQ(run.all[2].status, XYLEM_OK);
    CHECK_EQ(run.all[0].status, XYLEM_ERR_NO_RESOURCE);
    CHECK(call_run_finish(&run));
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

/* ---- running ahead ---- */

static uint32_t completed(const call_run_t *runs, uint32_t rank)
{
    uint32_t i, count = 0;

    for (i = 0; i < AHEAD; i++)
        count += runs[i].all[rank].completions;
    return count;
}

static void start_all(call_run_t *runs, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < AHEAD; i++)
        CHECK_EQ(call_run_start(&runs[i], rank), XYLEM_OK);
}

/* Two add their part and leave, operation after operation, though neither the
 * root nor the third has begun; until the memory is full. Windows have 64 KiB
 * of sums and four spares of 8 KiB; part of the memory is for smaller ones. */
static void test_leaves_run_ahead(void)
{
    static const char *const settings[] = {"NOISE_BUDGET=4M",
                                           "REDUCE_ORDER=arrival", NULL};
    fabric_options_t options = {
        .seed = 3, .reorder = 1, .shares_memory = 1, .settings = settings};
    call_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .ranks = 4,
                     .count = 8192,
                     .salt = 9,
                     .algorithm = "node"};
    fabric_t *fabric = fabric_create(c.ranks, &options);
    call_run_t runs[AHEAD];
    uint32_t i, far;

    for (i = 0; i < AHEAD; i++)
        call_run_init(&runs[i], fabric, NULL, &c);
    start_all(runs, 1);
    fabric_run_dry(fabric);
    far = completed(runs, 1);
    CHECK(far >= 4096 / 96 * 3 / 4 && far <= 4096 / 96);
    start_all(runs, 2);
    fabric_run_dry(fabric);
    CHECK_EQ(completed(runs, 1), far);
    CHECK_EQ(completed(runs, 2), far);
    start_all(runs, 3);
    start_all(runs, 0);
    for (i = 0; i < AHEAD; i++)
        if (call_run_finish(&runs[i]))
            call_run_check(&runs[i]);
    fabric_run_dry(fabric);
    for (i = 0; i < AHEAD; i++)
        call_run_fini(&runs[i]);
    fabric_destroy(fabric);
}

/* ---- blocks that are read where they lie ---- */

enum { LONG = 100000 }; /* elements */

static call_case_t long_blocks(xylem_coll_t coll)
{
    return (call_case_t){.coll = coll,
                         .ranks = 4,
                         .root = 1,
                         .count = LONG,
                         .salt = 10, /* all are neighbours */
                         .algorithm = "node"};
}

/* No rank comes for the root's blocks: the root keeps copies and leaves. */
static void root_leaves(xylem_coll_t coll)
{
    fabric_options_t options = {.seed = 3, .reorder = 1, .shares_memory = 1};
    call_case_t c = long_blocks(coll);
    fabric_t *fabric = fabric_create(c.ranks, &options);
    const xyl_limits_t *limits = xyl_limits_of(fabric_context(fabric, 0));
    uint64_t longer_us = (8 * c.count >> 10) / limits->parcel_patience_kib;
    call_run_t run;
    uint32_t rank;

    call_run_init(&run, fabric, NULL, &c);
    CHECK_EQ(call_run_start(&run, c.root), XYLEM_OK);
    CHECK_EQ(call_run_start(&run, 2), XYLEM_OK);
    /* The longer a block, the longer its receiver is waited for. */
    CHECK(longer_us > 4 * limits->parcel_patience_us);
    fabric_advance(fabric, longer_us * SIM_MS / 1000);
    CHECK_EQ(run.all[c.root].completions, 0);
    fabric_advance(fabric, 100 * SIM_MS);
    CHECK_EQ(run.all[c.root].completions, 1);
    CHECK_EQ(run.all[2].completions, 1);
    for (rank = 0; rank < c.ranks; rank++)
        if (rank != c.root && rank != 2)
            CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    if (call_run_finish(&run))
        call_run_check(&run);
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

/* A failed root no longer offers its memory, which belongs to the program
 * again: no rank that comes later ends well, whether it was told or not. */
static void root_fails(xylem_coll_t coll, uint64_t seed)
{
    fabric_options_t options = {
        .seed = seed, .delay_max = 200, .reorder = 1, .shares_memory = 1};
    call_case_t c = long_blocks(coll);
    fabric_t *fabric = fabric_create(c.ranks, &options);
    call_run_t run;
    uint32_t rank;

    call_run_init(&run, fabric, NULL, &c);
    run.expects_failure = 1;
    CHECK_EQ(call_run_start(&run, c.root), XYLEM_OK);
    fabric_advance(fabric, SIM_MS / 100);
    CHECK_EQ(run.all[c.root].completions, 0);
    CHECK_EQ(xylem_team_abort(fabric_world(fabric, c.root), "enough"),
             XYLEM_OK);
    for (rank = 0; rank < c.ranks; rank++)
        if (rank != c.root)
            CHECK_EQ(call_run_start(&run, rank), XYLEM_OK);
    fabric_advance(fabric, 10 * SIM_MS);
    CHECK_EQ(run.all[c.root].completions, 1);
    for (rank = 0; rank < c.ranks; rank++)
        if (rank != c.root) {
            CHECK(run.all[rank].completions == 0 ||
                  run.all[rank].status != XYLEM_OK);
            CHECK_EQ(xylem_team_abort(fabric_world(fabric, rank), "enough"),
                     XYLEM_OK);
        }
    CHECK(call_run_finish(&run));
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

static void test_scatter_root_fails(void)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++)
        root_fails(XYLEM_COLL_SCATTER, seed);
}

static void test_rank_fails(void)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++) {
        root_fails(XYLEM_COLL_ALLTOALL, seed);
        root_fails(XYLEM_COLL_ALLTOALLV, seed);
        root_fails(XYLEM_COLL_NEIGHBOR_ALLGATHER, seed);
    }
}

static void test_scatter_root_leaves(void)
{
    root_leaves(XYLEM_COLL_SCATTER);
    root_leaves(XYLEM_COLL_SCATTERV);
}

static const xyl_shm_ops_t *own_ops; /* of a rank that has others */

static int pulls_nothing(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                         size_t bytes)
{
    (void)shm;
    (void)rank;
    (void)to;
    (void)from;
    (void)bytes;
    return 0;
}

/* Runs with changed functions on the ranks from `first` to `last`. */
static void run_with_ops(xylem_coll_t coll, uint32_t ranks, uint64_t count,
                         void (*change)(xyl_shm_ops_t *ops), uint32_t first,
                         uint32_t last)
{
    fabric_options_t options = {.seed = 3, .reorder = 1, .shares_memory = 1};
    call_case_t c = long_blocks(coll);
    xyl_shm_ops_t other;
    fabric_t *fabric;
    call_run_t run;

    c.ranks = ranks;
    c.count = count;
    fabric = fabric_create(c.ranks, &options);
    own_ops = fabric_context(fabric, first)->shm->ops;
    other = *own_ops;
    change(&other);
    for (; first <= last; first++)
        fabric_context(fabric, first)->shm->ops = &other;
    call_run_init(&run, fabric, NULL, &c);
    call_run_start_all(&run);
    if (call_run_finish(&run))
        call_run_check(&run);
    fabric_run_dry(fabric);
    call_run_fini(&run);
    fabric_destroy(fabric);
}

typedef int (*pull_fn)(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                       size_t bytes);
static pull_fn pull_of_one;

static void change_pull(xyl_shm_ops_t *ops)
{
    ops->pull = pull_of_one;
}

/* Runs as if processes may not trace each other. */
static void run_with_pull(xylem_coll_t coll, uint32_t ranks, uint64_t count,
                          pull_fn pull)
{
    pull_of_one = pull;
    run_with_ops(coll, ranks, count, change_pull, ranks / 2, ranks / 2);
}

static void test_scatter_cannot_read(void)
{
    run_with_pull(XYLEM_COLL_SCATTER, 4, LONG, pulls_nothing);
}

static void test_cannot_read(void)
{
    uint32_t ranks;

    for (ranks = 2; ranks <= 5; ranks++) {
        run_with_pull(XYLEM_COLL_ALLTOALL, ranks, LONG, pulls_nothing);
        run_with_pull(XYLEM_COLL_ALLTOALLV, ranks, LONG, pulls_nothing);
        run_with_pull(XYLEM_COLL_ALLTOALLW, ranks, LONG, pulls_nothing);
        run_with_pull(XYLEM_COLL_NEIGHBOR_ALLGATHER, ranks, LONG,
                      pulls_nothing);
    }
}

static uint64_t pulled;

static int pulls_counted(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                         size_t bytes)
{
    pulled += bytes;
    return own_ops->pull(shm, rank, to, from, bytes);
}

/* Blocks are read in their senders' memory, also those of a varying length. */
static void test_reads(void)
{
    static const xylem_coll_t colls[] = {
        XYLEM_COLL_ALLTOALL, XYLEM_COLL_ALLTOALLV, XYLEM_COLL_ALLTOALLW,
        XYLEM_COLL_NEIGHBOR_ALLGATHER};
    uint32_t ranks, i;

    for (ranks = 2; ranks <= 5; ranks++)
        for (i = 0; i < 4; i++) {
            pulled = 0;
            run_with_pull(colls[i], ranks, LONG, pulls_counted);
            CHECK(pulled >= LONG);
        }
    /* More than have lines beside the slots. */
    for (i = 0; i < 4; i += 3) {
        pulled = 0;
        run_with_pull(colls[i], 24, LONG / 6, pulls_counted);
        CHECK(pulled >= LONG);
    }
}

static uint32_t viewed;
static int may_view;

static uint64_t share_all(xyl_shm_t *shm, const void *memory, size_t bytes)
{
    (void)shm;
    (void)bytes;
    return (uint64_t)(uintptr_t)memory;
}

static const void *view_some(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                             size_t bytes)
{
    union {
        uintptr_t name;
        const void *memory;
    } place = {(uintptr_t)name};

    (void)shm;
    (void)rank;
    (void)bytes;
    viewed++;
    return may_view ? place.memory : NULL;
}

static void change_memory(xyl_shm_ops_t *ops)
{
    ops->pull = pulls_nothing;
    ops->share = share_all;
    ops->view = view_some;
}

/* Blocks in memory of xylem_alloc are read where they are mapped, by ranks that
 * may not trace each other; blocks that cannot be mapped go in parts. */
static void test_reads_where_mapped(void)
{
    static const xylem_coll_t colls[] = {
        XYLEM_COLL_ALLTOALL,  XYLEM_COLL_ALLTOALLV,
        XYLEM_COLL_ALLTOALLW, XYLEM_COLL_NEIGHBOR_ALLGATHER,
        XYLEM_COLL_SCATTER,   XYLEM_COLL_SCATTERV};
    uint32_t i;

    for (may_view = 0; may_view <= 1; may_view++)
        for (i = 0; i < sizeof colls / sizeof *colls; i++) {
            viewed = 0;
            run_with_ops(colls[i], 4, LONG, change_memory, 0, 3);
            CHECK(viewed >= 3);
        }
}

/* Reads that are left until tracing is forbidden. */
static uint32_t pulls_left;

static int pulls_at_first(xyl_shm_t *shm, uint32_t rank, void *to,
                          uint64_t from, size_t bytes)
{
    if (pulls_left == 0)
        return 0;
    pulls_left--;
    return own_ops->pull(shm, rank, to, from, bytes);
}

/* Reads are refused in the middle of a block, and between two blocks. */
static void test_reads_are_refused_later(void)
{
    static const xylem_coll_t colls[] = {
        XYLEM_COLL_ALLTOALL, XYLEM_COLL_ALLTOALLV, XYLEM_COLL_ALLTOALLW,
        XYLEM_COLL_NEIGHBOR_ALLGATHER, XYLEM_COLL_SCATTER};
    uint32_t first, i;

    for (i = 0; i < sizeof colls / sizeof *colls; i++)
        for (first = 1; first <= 12; first += first) {
            pulls_left = first;
            run_with_pull(colls[i], 4, LONG, pulls_at_first);
            CHECK_EQ(pulls_left, 0);
        }
}

/* ---- calls that contradict each other ---- */

enum { ODD_RANKS = 3, ODD_BYTES = 900000 };

typedef struct odd_calls {
    fabric_t *fabric;
    uint32_t ranks;
    char *sends, *recvs; /* [ranks][ODD_BYTES] of ones, and of zeros */
    xylem_request_t *requests[ODD_RANKS];
} odd_calls_t;

static odd_calls_t odd_begin(uint32_t ranks, uint64_t seed)
{
    fabric_options_t options = {.seed = seed, .shares_memory = 1};
    odd_calls_t odd = {.fabric = fabric_create(ranks, &options),
                       .ranks = ranks,
                       .sends = malloc((size_t)ranks * ODD_BYTES),
                       .recvs = calloc(ranks, ODD_BYTES)};

    CHECK(odd.sends != NULL && odd.recvs != NULL);
    memset(odd.sends, 1, (size_t)ranks * ODD_BYTES);
    return odd;
}

static void odd_start(odd_calls_t *odd, uint32_t rank, xylem_coll_args_t args)
{
    args.struct_bytes = sizeof args;
    args.send = odd->sends + (size_t)rank * ODD_BYTES;
    args.recv = odd->recvs + (size_t)rank * ODD_BYTES;
    args.type = XYLEM_BYTE;
    CHECK_EQ(xylem_coll_start(fabric_world(odd->fabric, rank), &args,
                              &odd->requests[rank]),
             XYLEM_OK);
}

/* The rank fails, and nothing is written behind its expected bytes. */
static void odd_end(odd_calls_t *odd, uint32_t rank, xylem_status_t status,
                    uint64_t behind)
{
    fabric_run_dry(odd->fabric);
    CHECK_EQ(xylem_request_test(odd->requests[rank]), status);
    CHECK_EQ(odd->recvs[(size_t)rank * ODD_BYTES + behind], 0);
    for (rank = 0; rank < odd->ranks; rank++)
        xylem_request_free(odd->requests[rank]);
    fabric_destroy(odd->fabric);
    free(odd->sends);
    free(odd->recvs);
}

static xylem_status_t odd_status(uint64_t sent, uint64_t expected)
{
    return sent > expected ? XYLEM_ERR_TRUNCATED : XYLEM_ERR_MISMATCH;
}

/* One rank sends another length than its receiver expects: the call fails, as a
 * message over the net does. */
static void lengths_differ(xylem_coll_t coll, uint64_t sent, uint64_t expected)
{
    odd_calls_t odd = odd_begin(3, sent);
    uint32_t root = 1, rank, other = coll == XYLEM_COLL_GATHERV ? root : 2;
    const uint64_t counts[2][3] = {{8, 0, sent}, {8, 0, expected}};
    const uint64_t displs[3] = {0, 8, 8};

    for (rank = 0; rank < 3; rank++)
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = coll,
                                      .count = counts[rank == other][rank],
                                      .root = root,
                                      .send_counts = counts[0],
                                      .recv_counts = counts[1],
                                      .send_displs = displs,
                                      .recv_displs = displs});
    odd_end(&odd, other, odd_status(sent, expected),
            (other == root ? 8 : 0) + expected);
}

/* The same in an alltoallv, where rank 0 sends rank 1 another length. */
static void lengths_differ_in_alltoallv(uint32_t ranks, uint64_t sent,
                                        uint64_t expected)
{
    odd_calls_t odd = odd_begin(ranks, sent);
    const uint64_t displs[3] = {0, 300000, 600000};
    uint64_t send_counts[3][3], recv_counts[3][3];
    uint32_t rank, i;

    for (rank = 0; rank < ranks; rank++) {
        for (i = 0; i < ranks; i++) {
            send_counts[rank][i] = rank == 0 && i == 1 ? sent : 8;
            recv_counts[rank][i] = rank == 1 && i == 0 ? expected : 8;
        }
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = XYLEM_COLL_ALLTOALLV,
                                      .send_counts = send_counts[rank],
                                      .recv_counts = recv_counts[rank],
                                      .send_displs = displs,
                                      .recv_displs = displs});
    }
    odd_end(&odd, 1, odd_status(sent, expected), expected);
}

/* Rank 0 has one block for both its neighbours, and rank 1 expects another
 * length; the blocks of these two have 8 bytes. */
static void lengths_differ_of_neighbors(uint64_t sent, uint64_t expected)
{
    static const uint32_t ends[2] = {1, 2}, middle[1] = {0};
    const uint64_t counts[3] = {8, expected, sent};
    odd_calls_t odd = odd_begin(3, sent);
    uint32_t rank;

    for (rank = 0; rank < 3; rank++)
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                                      .count = rank == 0 ? sent : 8,
                                      .recv_count = counts[rank],
                                      .recv_type = XYLEM_BYTE,
                                      .destinations = rank == 0 ? ends : middle,
                                      .sources = rank == 0 ? ends : middle,
                                      .destination_count = rank == 0 ? 2 : 1,
                                      .source_count = rank == 0 ? 2 : 1});
    odd_end(&odd, 1, odd_status(sent, expected), expected);
}

/* Rank 0 sends a long block to rank 2; rank 1 expects one as well. The line
 * between ranks 0 and 1 has no owner, and is not looked at. */
static void test_no_neighbor_of_its_source(void)
{
    static const uint32_t zero = 0, two = 2;
    odd_calls_t odd = odd_begin(3, 6);
    uint32_t rank;

    for (rank = 0; rank < 3; rank++)
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                                      .count = 300000,
                                      .destinations = &two,
                                      .sources = &zero,
                                      .destination_count = rank == 0,
                                      .source_count = rank != 0});
    odd_end(&odd, 1, XYLEM_ERR_MISMATCH, 0);
}

static void test_lengths_differ(void)
{
    static const uint64_t lengths[] = {0,    1,    96,    97,     5000,
                                       8192, 8193, 60000, 100000, 200000};
    uint32_t i, k;

    for (i = 0; i < 10; i++)
        for (k = 0; k < 10; k++)
            if (i != k) {
                lengths_differ(XYLEM_COLL_GATHERV, lengths[i], lengths[k]);
                lengths_differ(XYLEM_COLL_SCATTERV, lengths[i], lengths[k]);
                lengths_differ_in_alltoallv(2, lengths[i], lengths[k]);
                lengths_differ_in_alltoallv(3, lengths[i], lengths[k]);
                if (lengths[i] != 0 &&
                    lengths[k] != 0) /* recv_count 0: sent's */
                    lengths_differ_of_neighbors(lengths[i], lengths[k]);
            }
}

static const check_case_t cases[] = {
    {"lengths_differ", test_lengths_differ},
    {"no_neighbor_of_its_source", test_no_neighbor_of_its_source},
    {"every_collective", test_every_collective},
    {"order_of_arrival", test_order_of_arrival},
    {"parts", test_parts},
    {"many_at_once", test_many_at_once},
    {"one_dies", test_one_dies},
    {"cannot_see", test_cannot_see},
    {"leaves_run_ahead", test_leaves_run_ahead},
    {"scatter_root_fails", test_scatter_root_fails},
    {"scatter_root_leaves", test_scatter_root_leaves},
    {"scatter_cannot_read", test_scatter_cannot_read},
    {"cannot_read", test_cannot_read},
    {"reads", test_reads},
    {"reads where memory is mapped", test_reads_where_mapped},
    {"reads are refused later", test_reads_are_refused_later},
    {"rank_fails", test_rank_fails},
};
CHECK_MAIN(cases)
