/* Long blocks on a node are read in their senders' memory, where the system
 * lets ranks do so: roots that leave or fail meanwhile, ranks that may not
 * read. */
#include "collectives/data/limits.h"
#include "progress/shm/shm.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"

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

static const check_case_t cases[] = {
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
