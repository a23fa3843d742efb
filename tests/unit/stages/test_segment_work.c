/* The cost of releasing one segment, and of being told of it, does not depend
 * on the number of the message's segments. Counted in instructions. */
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/fabric.h"
#include "tests/support/steps.h"

enum { SEGMENT_BYTES = 8, FEW = 64, MANY = 1 << 20, DELIVERIES = 8 };

typedef struct broadcast {
    fabric_t *fabric;
    char *buf;
    xylem_request_t *request;
    uint64_t segments, next, told;
} broadcast_t;

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    broadcast_t *broadcast = arg;

    CHECK(offset == segment * SEGMENT_BYTES && bytes == SEGMENT_BYTES);
    broadcast->told++;
}

static void release_one(broadcast_t *broadcast)
{
    uint64_t before = broadcast->told;

    /* From both ends, so that no search that begins at one finds it soon. */
    uint64_t nth = broadcast->next++;
    uint64_t segment = nth % 2 == 0 ? broadcast->segments / 2 - nth
                                    : broadcast->segments / 2 + nth;

    CHECK_EQ(xylem_segment_ready(broadcast->request, segment), XYLEM_OK);
    while (broadcast->told == before)
        xylem_progress(fabric_context(broadcast->fabric, 0));
}

static void release_some(void *arg)
{
    int i;

    for (i = 0; i < DELIVERIES; i++)
        release_one(arg);
}

static uint64_t steps_with(uint64_t segments)
{
    fabric_options_t options = {.eager_bytes_max = SIZE_MAX};
    broadcast_t broadcast = {.segments = segments};
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .count = segments * SEGMENT_BYTES,
                              .type = XYLEM_BYTE,
                              .flags = XYLEM_FLAG_PARTS,
                              .on_segment = segment_told,
                              .arg = &broadcast,
                              .segment_bytes = SEGMENT_BYTES,
                              .algorithm = "flat"};
    uint64_t steps;

    broadcast.fabric = fabric_create(1, &options);
    broadcast.buf = calloc(segments, SEGMENT_BYTES);
    CHECK(broadcast.fabric != NULL && broadcast.buf != NULL);
    args.recv = broadcast.buf;
    CHECK_EQ(xylem_coll_init(fabric_world(broadcast.fabric, 0), &args,
                             &broadcast.request),
             XYLEM_OK);
    CHECK_EQ(xylem_request_start(broadcast.request), XYLEM_OK);
    release_some(&broadcast); /* so that work done once is done */
    steps = steps_count(release_some, &broadcast);
    while (broadcast.told < segments) {
        uint64_t segment;
        for (segment = 0; segment < segments; segment++)
            (void)xylem_segment_ready(broadcast.request, segment);
        xylem_progress(fabric_context(broadcast.fabric, 0));
    }
    while (xylem_request_test(broadcast.request) == XYLEM_IN_PROGRESS)
        xylem_progress(fabric_context(broadcast.fabric, 0));
    CHECK_EQ(xylem_request_free(broadcast.request), XYLEM_OK);
    fabric_destroy(broadcast.fabric);
    free(broadcast.buf);
    return steps;
}

static void test_does_not_grow(void)
{
    uint64_t few = steps_with(FEW), many = steps_with(MANY);

    if (few == 0 || many == 0) {
        check_skip("processes cannot be traced here");
        return;
    }
    /* A search through bits of MANY segments takes hundreds of times as many.
     */
    if (many > 2 * few)
        CHECK_EQ(many, few);
}

static const check_case_t cases[] = {
    {"a segment's cost does not grow with the message", test_does_not_grow},
};

CHECK_MAIN(cases)
