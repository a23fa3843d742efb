/* Reductions in a fixed order on several nodes, within which ranks are combined
 * in pairs: equal calls give equal bits, whichever rank is late; operations
 * that do not commute are done in the order of ranks; input belongs to the
 * caller again when its call is over. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/core/request.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum {
    SEEDS = 3,
    RANKS_MAX = 16,
    SHORT = 700,   /* elements */
    LONG = 1 << 15 /* elements with which the library's choice is pairs */
};

/* ---- worlds ---- */

/* The number of ranks on each node; ranks fill node after node. */
typedef struct shape {
    uint32_t nodes, seats;
    uint32_t last; /* of the last one */
} shape_t;

static const shape_t shapes[] = {{2, 4, 4}, {3, 5, 3}, {4, 3, 1}, {3, 2, 2}};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static uint32_t ranks_of(const shape_t *shape)
{
    return (shape->nodes - 1) * shape->seats + shape->last;
}

/* A table by which short messages, too, go by pairs, and a bit at a time. */
static void table_write(char *path)
{
    static const char text[] =
        "{\"limits\": {\"turn\": {\"value\": 64}}, \"rules\": [{\"for\": "
        "\"reduce\", \"team\": \"board\", \"use\": \"node_pairs\"}]}\n";
    int descriptor = mkstemp(path);

    if (descriptor < 0 ||
        write(descriptor, text, sizeof text - 1) != sizeof text - 1 ||
        close(descriptor) != 0)
        abort();
}

typedef struct scene {
    xylem_place_t places[RANKS_MAX];
    sim_noise_t noise;
    fabric_t *fabric;
} scene_t;

/* Rank `late` is held up for longer than all else takes; UINT32_MAX: none. */
static void scene_init(scene_t *scene, const shape_t *shape, uint64_t seed,
                       uint32_t late, int all_by_pairs)
{
    char table[] = "TUNING=/tmp/xylem-pairs-XXXXXX";
    char *path = strchr(table, '/');
    const char *settings[] = {"REDUCE_ORDER=fixed", "DETACH_BYTES=1",
                              all_by_pairs ? table : NULL, NULL};
    fabric_options_t options = {.seed = seed,
                                .delay_max = (uint32_t)(seed % 3 * 20),
                                .reorder = 1,
                                .work_late_max = (uint32_t)(seed % 2 * 30),
                                .eager_bytes_max = seed % 2 == 0 ? SIZE_MAX : 0,
                                .places = scene->places,
                                .shares_memory = 1,
                                .settings = settings};
    uint32_t rank, ranks = ranks_of(shape);

    for (rank = 0; rank < ranks; rank++)
        scene->places[rank] =
            (xylem_place_t){rank / shape->seats, 0, 0, 0, rank % shape->seats};
    scene->noise = (sim_noise_t){.kind = SIM_NOISE_ONCE,
                                 .mhz = 1,
                                 .max = 100 * SIM_MS,
                                 .first = late,
                                 .last = late,
                                 .seed = seed};
    if (late != UINT32_MAX)
        options.noise = &scene->noise;
    if (all_by_pairs)
        table_write(path);
    scene->fabric = fabric_create(ranks, &options);
    if (all_by_pairs)
        unlink(path);
}

/* ---- bits ---- */

static void bits_of(const shape_t *shape, const coll_case_t *c, uint64_t seed,
                    uint32_t late, void *result)
{
    scene_t scene;
    coll_run_t run;

    scene_init(&scene, shape, seed, late, c->algorithm[0] != '\0');
    coll_run_init(&run, scene.fabric, NULL, ranks_of(shape), c, 4711);
    coll_run_start_all(&run);
    if (coll_run_finish(&run))
        coll_run_check(&run);
    memcpy(result, run.all[c->root].recv, run.bytes);
    fabric_run_dry(scene.fabric);
    coll_run_fini(&run);
    fabric_destroy(scene.fabric);
}

static void check_bits(const shape_t *shape, const coll_case_t *c,
                       uint32_t step)
{
    size_t bytes = c->count * coll_element_bytes(c->data);
    char *first = malloc(bytes), *again = malloc(bytes);
    uint32_t late;

    if (first == NULL || again == NULL)
        abort();
    bits_of(shape, c, 1, UINT32_MAX, first);
    for (late = 0; late < ranks_of(shape); late += step) {
        bits_of(shape, c, late + 2, late, again);
        CHECK(memcmp(first, again, bytes) == 0);
    }
    free(first);
    free(again);
}

/* Leaders on the root's node get their segments from the net singly. */
static void test_equal_bits_whoever_is_late(void)
{
    static const char *const algorithms[] = {"han:1", "han:3/chain",
                                             "han:4/double"};
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_FLOAT64,
                     .count = SHORT,
                     .segment_bytes = 256};
    size_t i, k;

    for (i = 0; i < SHAPES; i++)
        for (k = 0; k < 3; k++) {
            strcpy(c.algorithm, algorithms[k]);
            c.root = (uint32_t)(i + k) % ranks_of(&shapes[i]);
            c.flags = k == 1 ? XYLEM_FLAG_PARTS : 0;
            check_bits(&shapes[i], &c, 1);
        }
}

static void test_equal_bits_by_choice(void)
{
    const shape_t shape = {4, 4, 4};
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = COLL_FLOAT64,
                     .root = 5,
                     .count = LONG,
                     .segment_bytes = 1 << 14};

    check_bits(&shape, &c, 5);
}

/* ---- the order of ranks ---- */

static void spoil(coll_rank_t *rank, void *arg)
{
    (void)arg;
    memset(rank->send, 0x5a, rank->run->bytes);
}

/* Tests every root; a rank that is done overwrites its input at once.
 * Operations without on_segment detach. */
static void check_ranks_in_order(const shape_t *shape, uint64_t seed,
                                 coll_data_t data)
{
    coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                     .data = data,
                     .algorithm = "han",
                     .count = SHORT,
                     .segment_bytes = 512,
                     .no_segments = seed % 3 != 0};
    uint32_t ranks = ranks_of(shape);
    scene_t scene;
    coll_run_t run;

    for (c.root = 0; c.root < ranks; c.root++) {
        scene_init(&scene, shape, seed + c.root, (uint32_t)(seed % ranks), 1);
        coll_run_init(&run, scene.fabric, NULL, ranks, &c, seed);
        run.hook = spoil;
        coll_run_start_all(&run);
        if (coll_run_finish(&run))
            coll_run_check(&run);
        fabric_run_dry(scene.fabric);
        coll_run_fini(&run);
        fabric_destroy(scene.fabric);
    }
}

static void check_all_in_order(coll_data_t data)
{
    uint64_t seed;
    size_t i;

    for (i = 0; i < SHAPES; i++)
        for (seed = 1; seed <= SEEDS; seed++)
            check_ranks_in_order(&shapes[i], seed, data);
}

static void test_what_does_not_commute(void)
{
    check_all_in_order(COLL_AFFINE);
}

static void test_input_is_free_at_the_end(void)
{
    check_all_in_order(COLL_FLOAT64);
}

/* Many calls are detached; for each a leader has the part that it leads, and
 * messages on their way to it. */
static void test_leaders_have_their_part(void)
{
    const shape_t shape = {4, 4, 4};
    const coll_case_t c = {.coll = XYLEM_COLL_REDUCE,
                           .data = COLL_FLOAT64,
                           .algorithm = "han:4/chain",
                           .count = LONG,
                           .segment_bytes = 1 << 12};
    scene_t scene;
    coll_run_t run;
    uint32_t rank;

    scene_init(&scene, &shape, 1, UINT32_MAX, 0);
    coll_run_init(&run, scene.fabric, NULL, ranks_of(&shape), &c, 4711);
    coll_run_start_all(&run);
    if (coll_run_finish(&run))
        coll_run_check(&run);
    for (rank = 1; rank < ranks_of(&shape); rank++)
        CHECK(xyl_arena_bytes(&run.all[rank].request->arena) < run.bytes);
    fabric_run_dry(scene.fabric);
    coll_run_fini(&run);
    fabric_destroy(scene.fabric);
}

static const check_case_t cases[] = {
    {"equal_bits_whoever_is_late", test_equal_bits_whoever_is_late},
    {"equal_bits_by_choice", test_equal_bits_by_choice},
    {"what_does_not_commute", test_what_does_not_commute},
    {"input_is_free_at_the_end", test_input_is_free_at_the_end},
    {"leaders_have_their_part", test_leaders_have_their_part},
};
CHECK_MAIN(cases)
