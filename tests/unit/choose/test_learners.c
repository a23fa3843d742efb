/* The calls from which a run learns (XYLEM_TUNING_LEARN): all ranks try other
 * plans in the same calls, however a call differs on one rank. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/fabric.h"
#include "tests/support/failing_memory.h"

enum { LEARNERS = 4, LEARN_COUNT = 5000, LEARN_CALLS = 130 };

/* Ranks that learn together, each on a node of its own. */
static fabric_t *learners_create(void)
{
    static const char *const settings[] = {"TUNING_LEARN=/dev/null/none", NULL};
    static xylem_place_t places[LEARNERS];
    fabric_options_t options = {
        .seed = 1, .places = places, .settings = settings};
    uint32_t rank;

    for (rank = 0; rank < LEARNERS; rank++)
        places[rank] = (xylem_place_t){.node = rank};
    return fabric_create(LEARNERS, &options);
}

static xylem_status_t refused_wrong(xylem_team_t *team,
                                    xylem_request_t **request)
{
    return xylem_ibcast(team, NULL, LEARN_COUNT, XYLEM_UINT32, 0, request);
}

/* The learner's state is the first allocation of a call. */
static xylem_status_t refused_without_memory(xylem_team_t *team,
                                             xylem_request_t **request)
{
    static uint32_t words[LEARN_COUNT];
    xylem_status_t status;

    allocations_to_failure = 1;
    status = xylem_ibcast(team, words, LEARN_COUNT, XYLEM_UINT32, 0, request);
    allocations_to_failure = 0;
    return status;
}

/* All ranks try other plans in the same calls, also if one was refused a call,
 * which it then repeats. */
static void refused_call(xylem_status_t (*refused)(xylem_team_t *,
                                                   xylem_request_t **),
                         xylem_status_t wanted)
{
    static uint32_t words[LEARNERS][LEARN_COUNT];
    xylem_request_t *requests[LEARNERS];
    fabric_t *fabric = learners_create();
    uint32_t call, rank, i;

    CHECK_EQ(refused(fabric_world(fabric, 1), &requests[1]), wanted);
    for (call = 0; call < LEARN_CALLS; call++) {
        for (i = 0; i < LEARN_COUNT; i++)
            words[0][i] = call + i;
        for (rank = 0; rank < LEARNERS; rank++)
            CHECK_EQ(xylem_ibcast(fabric_world(fabric, rank), words[rank],
                                  LEARN_COUNT, XYLEM_UINT32, 0,
                                  &requests[rank]),
                     XYLEM_OK);
        fabric_run_dry(fabric);
        for (rank = 0; rank < LEARNERS; rank++) {
            CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
            CHECK(memcmp(words[rank], words[0], sizeof words[0]) == 0);
            (void)xylem_request_free(requests[rank]);
        }
    }
    fabric_destroy(fabric);
}

static void test_refused_call_teaches_nothing(void)
{
    refused_call(refused_wrong, XYLEM_ERR_INVALID_ARG);
    refused_call(refused_without_memory, XYLEM_ERR_NO_MEMORY);
}

/* The same bytes in words, in bytes, and by types of the user's. */
static void test_types_teach_alike(void)
{
    static uint32_t words[LEARNERS][LEARN_COUNT];
    const uint64_t bytes = sizeof words[0];
    fabric_t *fabric = learners_create();
    xylem_type_t types[LEARNERS] = {XYLEM_UINT32, XYLEM_BYTE};
    xylem_request_t *requests[LEARNERS];
    uint32_t call, rank;

    CHECK_EQ(xylem_type_contiguous(fabric_context(fabric, 2), LEARN_COUNT / 2,
                                   XYLEM_UINT32, &types[2]),
             XYLEM_OK);
    CHECK_EQ(xylem_type_contiguous(fabric_context(fabric, 3), bytes, XYLEM_BYTE,
                                   &types[3]),
             XYLEM_OK);
    for (call = 0; call < LEARN_CALLS; call++) {
        const size_t counts[LEARNERS] = {LEARN_COUNT, bytes, 2, 1};
        memset(words[0], (int)call, bytes);
        for (rank = 0; rank < LEARNERS; rank++)
            CHECK_EQ(xylem_ibcast(fabric_world(fabric, rank), words[rank],
                                  counts[rank], types[rank], 0,
                                  &requests[rank]),
                     XYLEM_OK);
        fabric_run_dry(fabric);
        for (rank = 0; rank < LEARNERS; rank++) {
            CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
            CHECK(memcmp(words[rank], words[0], bytes) == 0);
            (void)xylem_request_free(requests[rank]);
        }
    }
    for (rank = 2; rank < LEARNERS; rank++)
        (void)xylem_type_destroy(fabric_context(fabric, rank), types[rank]);
    fabric_destroy(fabric);
}

static void segment_ignored(void *arg, uint64_t segment, size_t offset,
                            size_t bytes)
{
    (void)arg, (void)segment, (void)offset, (void)bytes;
}

/* One rank alone is told of segments, and the root alone releases them. */
static void test_segments_teach_alike(void)
{
    static uint32_t words[LEARNERS][LEARN_COUNT];
    xylem_request_t *requests[LEARNERS];
    fabric_t *fabric = learners_create();
    uint64_t segments;
    size_t bytes;
    uint32_t call, rank;

    for (call = 0; call < LEARN_CALLS; call++) {
        memset(words[0], (int)call, sizeof words[0]);
        for (rank = 0; rank < LEARNERS; rank++) {
            xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
            args.coll = XYLEM_COLL_BCAST;
            args.recv = words[rank];
            args.count = LEARN_COUNT;
            args.type = XYLEM_UINT32;
            args.flags = rank == 0 ? XYLEM_FLAG_PARTS : 0;
            args.on_segment = rank == 1 ? segment_ignored : NULL;
            CHECK_EQ(xylem_coll_start(fabric_world(fabric, rank), &args,
                                      &requests[rank]),
                     XYLEM_OK);
        }
        CHECK_EQ(xylem_request_segments(requests[0], &segments, &bytes),
                 XYLEM_OK);
        while (segments-- > 0)
            CHECK_EQ(xylem_segment_ready(requests[0], segments), XYLEM_OK);
        fabric_run_dry(fabric);
        for (rank = 0; rank < LEARNERS; rank++) {
            CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
            CHECK(memcmp(words[rank], words[0], sizeof words[0]) == 0);
            (void)xylem_request_free(requests[rank]);
        }
    }
    fabric_destroy(fabric);
}

enum { LEARN_TAGS = 3, LEARN_TAGGED = 1000 };

/* Each rank makes them in an order of its own. */
static void test_tagged_calls_teach_nothing(void)
{
    static uint32_t words[LEARNERS][LEARN_TAGS][LEARN_TAGGED];
    xylem_request_t *requests[LEARNERS][LEARN_TAGS];
    fabric_t *fabric = learners_create();
    uint32_t call, rank, i, tag;

    for (call = 0; call < LEARN_CALLS; call++) {
        memset(words[0], (int)call, sizeof words[0]);
        for (rank = 0; rank < LEARNERS; rank++)
            for (i = 0; i < LEARN_TAGS; i++) {
                xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
                tag = (rank + i) % LEARN_TAGS;
                args.coll = XYLEM_COLL_BCAST;
                args.recv = words[rank][tag];
                args.count = LEARN_TAGGED;
                args.type = XYLEM_UINT32;
                args.tag = 1 + tag;
                CHECK_EQ(xylem_coll_start(fabric_world(fabric, rank), &args,
                                          &requests[rank][tag]),
                         XYLEM_OK);
            }
        fabric_run_dry(fabric);
        for (rank = 0; rank < LEARNERS; rank++) {
            for (i = 0; i < LEARN_TAGS; i++) {
                CHECK_EQ(xylem_request_test(requests[rank][i]), XYLEM_OK);
                (void)xylem_request_free(requests[rank][i]);
            }
            CHECK(memcmp(words[rank], words[0], sizeof words[0]) == 0);
        }
    }
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"a refused call teaches nothing", test_refused_call_teaches_nothing},
    {"types that differ teach the same", test_types_teach_alike},
    {"segments on one rank teach the same", test_segments_teach_alike},
    {"calls with a tag teach nothing", test_tagged_calls_teach_nothing},
};
CHECK_MAIN(cases)
