/* Ranks of a team that call different things, or are refused a call, are told,
 * with both calls; also where no rank waits. */
#include <string.h>

#include "collectives/board/board.h"
#include "collectives/data/modules.h"
#include "collectives/node/stage_inside.h"
#include "runtime/core/team.h"
#include "runtime/faults/hangs.h"
#include "tests/support/check.h"
#include "tests/support/told.h"

/* Rank 2 makes another call, and all ranks wait. */
static void one_mismatch(int shares, uint32_t root, const char *word)
{
    uint32_t rank;
    told_t told;

    told_init(&told, 7, shares);
    for (rank = 0; rank < TOLD_RANKS; rank++)
        if (rank != 2)
            told_start(&told, rank);
    CHECK_EQ(xylem_ibcast(told_world(&told, 2), told.words[2], 1, XYLEM_UINT32,
                          root, &told.requests[2]),
             XYLEM_OK);
    fabric_run_dry(told.fabric);
    for (rank = 0; rank < TOLD_RANKS; rank++)
        xyl_hangs_look(fabric_context(told.fabric, rank));
    fabric_run_dry(told.fabric);
    for (rank = 0; rank < TOLD_RANKS; rank++) {
        CHECK_EQ(xylem_team_error(told_world(&told, rank), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        CHECK(strstr(xylem_last_error(), "allreduce of 256 bytes") != NULL);
        (void)xylem_request_free(told.requests[rank]);
    }
    fabric_destroy(told.fabric);
}

static void test_mismatch(void)
{
    one_mismatch(0, 1, "bcast of 4 bytes, root 1");
    one_mismatch(1, 1, "bcast of 4 bytes, root 1");
}

/* A gather for which this rank need not wait. */
static void start_to_send(told_t *told, uint32_t rank, uint32_t root)
{
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_GATHER,
                                    .algorithm = "linear",
                                    .send = told->words[rank],
                                    .recv = told->sums[rank],
                                    .count = 1,
                                    .type = XYLEM_UINT32,
                                    .root = root};
    xylem_request_t *request;

    CHECK(rank != root);
    CHECK_EQ(xylem_coll_start(told_world(told, rank), &args, &request),
             XYLEM_OK);
    fabric_run_dry(told->fabric);
    CHECK_EQ(xylem_request_test(request), XYLEM_OK);
    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
}

/* Rank 2 sends to another root than the others, which send to it; or only rank
 * 2 sends something. No rank waits until all call the same. */
static void test_mismatch_without_waiting(void)
{
    uint32_t all_call, rank;

    for (all_call = 0; all_call < 2; all_call++) {
        told_t told;
        told_init(&told, 9, 0);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            if (all_call || rank == 2)
                start_to_send(&told, rank, rank == 2 ? 0 : 2);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            told_start(&told, rank);
        told_look(&told, 4);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_team_error(told_world(&told, rank), NULL),
                     XYLEM_ERR_MISMATCH);
            CHECK(strstr(xylem_last_error(),
                         all_call ? "gather of 4 bytes, root 2"
                                  : "allreduce of 256 bytes") != NULL);
            CHECK(strstr(xylem_last_error(), "gather of 4 bytes, root 0") !=
                  NULL);
            (void)xylem_request_free(told.requests[rank]);
        }
        fabric_destroy(told.fabric);
    }
}

static void refused_allreduce(told_t *told, uint32_t rank)
{
    CHECK_EQ(xylem_iallreduce(told_world(told, rank), NULL, told->sums[rank],
                              TOLD_WORDS, XYLEM_UINT32, XYLEM_SUM,
                              &told->requests[rank]),
             XYLEM_ERR_INVALID_ARG);
}

/* If one rank is refused a call, the others do not wait for ever; after a warm
 * call, or in the first. */
static void one_refusal(int shares, int is_warm, uint32_t looks,
                        int is_made_again)
{
    uint32_t rank;
    told_t told;

    told_init(&told, 11, shares);
    for (rank = 0; is_warm && rank < TOLD_RANKS; rank++)
        told_start(&told, rank);
    fabric_run_dry(told.fabric);
    for (rank = 0; is_warm && rank < TOLD_RANKS; rank++)
        CHECK_EQ(xylem_request_free(told.requests[rank]), XYLEM_OK);
    refused_allreduce(&told, 2);
    for (rank = 0; rank < TOLD_RANKS; rank++)
        if (rank != 2)
            told_start(&told, rank);
    told_look(&told, looks);
    if (is_made_again)
        told_start(&told, 2);
    fabric_run_dry(told.fabric);
    for (rank = 0; rank < TOLD_RANKS; rank++) {
        CHECK_EQ(xylem_team_error(told_world(&told, rank), NULL),
                 is_made_again ? XYLEM_OK : XYLEM_ERR_MISMATCH);
        CHECK(is_made_again ||
              strstr(xylem_last_error(), "nothing, as it was") != NULL);
        if (rank != 2 || is_made_again)
            CHECK_EQ(xylem_request_free(told.requests[rank]), XYLEM_OK);
    }
    fabric_destroy(told.fabric);
}

static void test_refusal(void)
{
    int way;

    for (way = 0; way < 4; way++) {
        one_refusal(way % 2, way / 2, 8, 0);
        one_refusal(way % 2, way / 2, 2, 1);
    }
}

static void check_differ(told_t *told)
{
    uint32_t rank;

    for (rank = 0; rank < told->ranks; rank++) {
        CHECK_EQ(xylem_team_error(told_world(told, rank), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK_EQ(xylem_request_free(told->requests[rank]), XYLEM_OK);
    }
    fabric_destroy(told->fabric);
}

/* The same in jobs of few ranks, which are asked after more seconds than there
 * are ranks; also for a rank that comes late with another call, of nothing. */
static void test_few_ranks(void)
{
    uint32_t ranks, rank;
    told_t told;

    for (ranks = 2; ranks <= 4; ranks++) {
        told_init_of(&told, ranks, 11, 0);
        refused_allreduce(&told, 1);
        for (rank = 0; rank < ranks; rank++)
            if (rank != 1)
                told_start(&told, rank);
        told_look(&told, 8);
        check_differ(&told);
    }
    told_init_of(&told, 2, 11, 0);
    CHECK_EQ(xylem_ireduce(told_world(&told, 0), told.words[0], told.sums[0], 1,
                           XYLEM_UINT32, XYLEM_SUM, 0, &told.requests[0]),
             XYLEM_OK);
    told_look(&told, 1);
    CHECK_EQ(xylem_ibcast(told_world(&told, 1), told.words[1], 0, XYLEM_UINT32,
                          1, &told.requests[1]),
             XYLEM_OK);
    told_look(&told, 8);
    check_differ(&told);
}

static void bcast_by(told_t *told, uint32_t first, uint32_t end)
{
    uint32_t rank;

    for (rank = first; rank < end; rank++)
        CHECK_EQ(xylem_ibcast(told_world(told, rank), told->words[rank], 1,
                              XYLEM_UINT32, 0, &told->requests[rank]),
                 XYLEM_OK);
}

static void all_are_over(told_t *told)
{
    uint32_t rank;

    fabric_run_dry(told->fabric);
    for (rank = 0; rank < told->ranks; rank++) {
        CHECK_EQ(xylem_request_test(told->requests[rank]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(told->requests[rank]), XYLEM_OK);
    }
}

/* Advances the boards as if all had made calls in which only the root posts, up
 * to piece `number`. */
static void boards_advance(const told_t *told, uint64_t number)
{
    uint32_t rank;

    for (rank = 0; rank < told->ranks; rank++) {
        xyl_board_t **of = told_world(told, rank)->attached[XYL_MODULE_NODE];
        xyl_board_t *board = *of;
        CHECK(board->next == board->done && board->done <= number);
        board->next = board->done = board->done_by_all = number;
        /* Its done line. */
        atomic_store((_Atomic uint64_t *)(void *)(board->memory +
                                                  (size_t)board->seats.own *
                                                      XYL_BOARD_LINE_BYTES),
                     number);
    }
}

/* A rank's last word in a slot of the board is told apart from later calls of
 * others there, however many calls lie between in which the rank posts nothing:
 * a word has only one of 256 generations. */
static void test_words_of_long_ago(void)
{
    const uint64_t round = XYL_BOARD_SLOTS, wrap = 256 * round;
    const uint64_t renewed = (XYL_NODE_RENEWED - 1) * round;
    uint32_t rank;
    told_t told;

    told_init(&told, 11, 1);
    for (rank = 0; rank < TOLD_RANKS; rank++)
        told_start(&told, rank);
    all_are_over(&told);
    boards_advance(&told, renewed - 1);
    while ((*(xyl_board_t **)told_world(&told, 0)->attached[XYL_MODULE_NODE])
               ->next <= renewed + round) {
        bcast_by(&told, 0, TOLD_RANKS);
        all_are_over(&told);
    }
    boards_advance(&told, wrap + 1); /* the slot of the allreduce */
    bcast_by(&told, 1, TOLD_RANKS - 1);
    told_look(&told, 8);
    bcast_by(&told, TOLD_RANKS - 1, TOLD_RANKS);
    bcast_by(&told, 0, 1);
    all_are_over(&told);
    fabric_destroy(told.fabric);
}

/* A rank that is late after a call that all were refused is merely late. */
static void test_refusal_of_all(void)
{
    int shares;

    for (shares = 0; shares < 2; shares++) {
        uint32_t rank;
        told_t told;

        told_init(&told, 11, shares);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            refused_allreduce(&told, rank);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            if (rank != 2)
                told_start(&told, rank);
        told_look(&told, 16);
        told_start(&told, 2);
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_request_test(told.requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_request_free(told.requests[rank]), XYLEM_OK);
        }
        fabric_destroy(told.fabric);
    }
}

/* ---- settings ---- */

/* Rank 2 calls `odd`, the others `even`. */
static void start_with(told_t *told, const xylem_coll_args_t *even,
                       const xylem_coll_args_t *odd)
{
    uint32_t rank;

    for (rank = 0; rank < TOLD_RANKS; rank++) {
        xylem_coll_args_t args = rank == 2 ? *odd : *even;
        args.send = told->words[rank];
        args.recv = told->sums[rank];
        CHECK_EQ(xylem_coll_start(told_world(told, rank), &args,
                                  &told->requests[rank]),
                 XYLEM_OK);
    }
    told_look(told, 8);
}

static void one_setting_differs(const xylem_coll_args_t *even,
                                const xylem_coll_args_t *odd, const char *word)
{
    int shares;

    for (shares = 0; shares < 2; shares++) {
        told_t told;
        told_init(&told, 5, shares);
        start_with(&told, even, odd);
        CHECK_EQ(xylem_team_error(told_world(&told, 0), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        check_differ(&told);
    }
}

static void test_settings_differ(void)
{
    const uint64_t counts[TOLD_RANKS] = {2, 1, 4, 4, 4, 4};
    const uint64_t others[TOLD_RANKS] = {1, 2, 4, 4, 4, 4};
    const xylem_coll_args_t sum = {.struct_bytes = sizeof sum,
                                   .coll = XYLEM_COLL_ALLREDUCE,
                                   .count = TOLD_WORDS,
                                   .type = XYLEM_UINT32,
                                   .op = XYLEM_SUM};
    xylem_coll_args_t even = sum, odd = sum;

    odd.algorithm = "binary";
    one_setting_differs(&even, &odd, "sum of uint32, settings ");
    odd = sum;
    odd.flags = XYLEM_FLAG_ARRIVAL_ORDER;
    one_setting_differs(&even, &odd, ", settings ");
    even.coll = XYLEM_COLL_BCAST;
    odd = even;
    odd.segment_bytes = 64;
    one_setting_differs(&even, &odd, "bcast of 256 bytes, root 0, settings ");
    odd = even;
    odd.send_window = 1;
    odd.recv_window = 2;
    one_setting_differs(&even, &odd, ", settings ");
    even = sum;
    even.coll = XYLEM_COLL_ALLGATHERV;
    even.count = 4;
    even.recv_counts = counts;
    odd = even;
    odd.recv_counts = others;
    one_setting_differs(&even, &odd, "allgatherv of 76 bytes, counts ");
}

/* Ranks may say the same in other words. */
static void test_settings_alike(void)
{
    const uint64_t words[TOLD_RANKS] = {4, 4, 4, 4, 4, 4};
    const uint64_t bytes[TOLD_RANKS] = {16, 16, 16, 16, 16, 16};
    const xylem_coll_args_t bcast = {.struct_bytes = sizeof bcast,
                                     .coll = XYLEM_COLL_BCAST,
                                     .count = TOLD_WORDS,
                                     .type = XYLEM_UINT32};
    int way;

    for (way = 0; way < 4; way++) {
        xylem_coll_args_t even = bcast, odd = bcast;
        told_t told;

        told_init(&told, 5, way % 2);
        if (way / 2 == 1) {
            even.coll = odd.coll = XYLEM_COLL_ALLGATHERV;
            even.count = 4;
            even.recv_counts = words;
            odd.count = 16;
            odd.type = XYLEM_BYTE;
            odd.recv_counts = bytes;
        } else {
            odd.algorithm = "Auto";
        }
        start_with(&told, &even, &odd);
        all_are_over(&told);
        fabric_destroy(told.fabric);
    }
}

static const check_case_t cases[] = {
    {"differences: calls that differ", test_mismatch},
    {"differences: calls that differ, where nobody waits",
     test_mismatch_without_waiting},
    {"differences: a call that is refused", test_refusal},
    {"differences: calls in jobs of few ranks", test_few_ranks},
    {"differences: words of long ago", test_words_of_long_ago},
    {"differences: a call that all are refused", test_refusal_of_all},
    {"differences: settings that differ", test_settings_differ},
    {"differences: settings that are alike", test_settings_alike},
};
CHECK_MAIN(cases)
