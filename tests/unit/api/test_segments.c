/* Segments that the caller releases and is told of, by every algorithm of the
 * collectives that have them: each segment of a result is told once, when it is
 * final; a rank without a result is told nothing; and no call ends before its
 * input is released. docs/interface.md says the same in words. */
#include <stdio.h>
#include <string.h>

#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"

enum { RANKS = 8, COUNT = 1000, SEGMENT_BYTES = 1600, SEGMENTS = 5 };

/* The places of the ranks, and whether they share memory. */
typedef enum place {
    PLACE_APART,
    PLACE_ONE_NODE,
    PLACE_TWO_NODES,
    PLACES
} place_t;

static uint32_t told[RANKS];
static size_t told_bytes[RANKS];

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    const call_rank_t *call = &((call_member_t *)arg)->call;

    told[call->rank]++;
    told_bytes[call->rank] += bytes;
    CHECK(segment < SEGMENTS && offset + bytes <= COUNT * CALL_ELEMENT);
    CHECK(memcmp(call->recv.memory + offset, call->expected + offset, bytes) ==
          0);
}

static fabric_t *fabric_at(place_t place)
{
    fabric_options_t options = {
        .seed = 3, .eager_bytes_max = 64, .delay_max = 9, .reorder = 1};
    xylem_place_t places[RANKS];
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        places[i] = (xylem_place_t){.node = i, .core = i};
        if (place != PLACE_APART)
            places[i].node = place == PLACE_ONE_NODE ? 0 : i / 4;
    }
    options.places = places;
    options.shares_memory = place != PLACE_APART;
    return fabric_create(RANKS, &options);
}

static int has_input(const call_case_t *c, uint32_t rank)
{
    return c->coll != XYLEM_COLL_BCAST || rank == c->root;
}

static int has_result(const call_case_t *c, uint32_t rank)
{
    return c->coll != XYLEM_COLL_REDUCE || rank == c->root;
}

/* Releases the segments of all ranks except one, and then those of that one. */
static void release(fabric_t *fabric, const call_run_t *run)
{
    uint64_t segments, segment;
    size_t bytes;
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        if (!has_input(&run->c, i))
            continue;
        fabric_run_dry(fabric);
        CHECK_EQ(xylem_request_test(run->all[run->c.root].request),
                 XYLEM_IN_PROGRESS);
        CHECK_EQ(xylem_request_segments(run->all[i].request, &segments, &bytes),
                 XYLEM_OK);
        for (segment = segments; segment-- > 0;)
            CHECK_EQ(xylem_segment_ready(run->all[i].request, segment),
                     XYLEM_OK);
    }
}

static void run_by(const call_case_t *c, place_t place, uint32_t flags)
{
    fabric_t *fabric = fabric_at(place);
    uint64_t segments;
    call_run_t run;
    size_t bytes;
    uint32_t i;

    call_run_init(&run, fabric, NULL, c);
    memset(told, 0, sizeof told);
    memset(told_bytes, 0, sizeof told_bytes);
    for (i = 0; i < RANKS; i++) {
        run.all[i].call.args.on_segment = segment_told;
        run.all[i].call.args.flags |= flags;
    }
    call_run_start_all(&run);
    if (flags != 0)
        release(fabric, &run);
    if (call_run_finish(&run))
        call_run_check(&run);
    for (i = 0; i < RANKS; i++) {
        CHECK_EQ(xylem_request_segments(run.all[i].request, &segments, &bytes),
                 XYLEM_OK);
        CHECK(segments == 1 || segments == SEGMENTS);
        CHECK_EQ(told[i], has_result(c, i) ? segments : 0);
        CHECK_EQ(told_bytes[i], has_result(c, i) ? COUNT * CALL_ELEMENT : 0);
    }
    fabric_run_dry(fabric); /* messages that are still on their way */
    call_run_fini(&run);
    fabric_destroy(fabric);
}

/* NULL: the library's choice. */
static void try(xylem_coll_t coll, const xyl_algorithm_t *algorithm)
{
    call_case_t c = {.coll = coll,
                     .ranks = RANKS,
                     .root = coll == XYLEM_COLL_ALLREDUCE ? 0 : 1,
                     .count = COUNT,
                     .segment_bytes = SEGMENT_BYTES};
    place_t place;

    snprintf(c.algorithm, sizeof c.algorithm, "%s",
             algorithm == NULL ? "" : algorithm->name);
    for (place = 0; place < PLACES; place++) {
        if (algorithm != NULL && algorithm->kind == XYL_ALGORITHM_NODE &&
            place != PLACE_ONE_NODE)
            continue;
        run_by(&c, place, 0);
        run_by(&c, place, XYLEM_FLAG_PARTS);
    }
}

static void test_every_algorithm(void)
{
    size_t count, i;
    const xyl_algorithm_t *const *all = xyl_algorithms(&count);
    xylem_coll_t coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        if (!xyl_coll_traits(coll)->has_segments)
            continue;
        try(coll, NULL);
        for (i = 0; i < count; i++)
            if (xyl_algorithm_does(all[i], coll) &&
                (all[i]->needs & XYL_NEEDS_DEVICE) == 0 &&
                all[i]->lacks == NULL)
                try(coll, all[i]);
    }
}

/* The user's segments are the shorter ones, whichever level has them. */
static void test_levels(void)
{
    static const struct {
        const char *algorithm;
        size_t segment_bytes; /* of the call */
    } levels[] = {{"han:leaders=2,within_segment=3200", SEGMENT_BYTES},
                  {"han:leaders=1,within_segment=1600", 3 * SEGMENT_BYTES},
                  {"han:segment=4800,within_segment=1600,leaders=3", 0},
                  {"han:within=ucx,segment=1600,within_segment=160000", 0},
                  {"han:within=node_direct,within_segment=1603", 4 * 1600}};
    xylem_coll_t coll;
    size_t i;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (i = 0; i < sizeof levels / sizeof *levels &&
                    xyl_coll_traits(coll)->has_segments;
             i++) {
            call_case_t c = {.coll = coll,
                             .ranks = RANKS,
                             .root = coll == XYLEM_COLL_ALLREDUCE ? 0 : 1,
                             .count = COUNT,
                             .segment_bytes = levels[i].segment_bytes};
            snprintf(c.algorithm, sizeof c.algorithm, "%s",
                     levels[i].algorithm);
            run_by(&c, PLACE_TWO_NODES, 0);
            run_by(&c, PLACE_TWO_NODES, XYLEM_FLAG_PARTS);
        }
}

static const check_case_t cases[] = {
    {"every_algorithm", test_every_algorithm},
    {"levels with segments of their own", test_levels},
};

int main(int argc, char **argv)
{
    return check_run(cases, sizeof cases / sizeof *cases, argc, argv);
}
