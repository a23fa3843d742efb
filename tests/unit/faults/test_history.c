/* Ranks compare their calls when one of them waits. If two make different
 * calls, all ranks are told, whichever way the data of each call go. Ranks that
 * are late or ahead with the same calls are never accused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/history.h"
#include "runtime/core/team.h"
#include "runtime/faults/hangs.h"
#include "runtime/faults/notice.h"
#include "simulator/random.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/odd_calls.h"

/* Drawn. */
#define ALIKE check_cases(200)

enum {
    RANKS_MAX = 5,
    BEFORE_MAX = 3,
    AFTER_MAX = 8, /* calls that follow, until all are told */
    LOOKS = 8,
    RUNS_MAX = 8,
    COUNT_MAX = 2000
};

/* ---- worlds ---- */

typedef enum way { WAY_NET, WAY_NODE, WAY_LEVELS, WAYS } way_t;

static fabric_t *world(way_t way, uint32_t ranks, uint64_t seed)
{
    static xylem_place_t places[RANKS_MAX];
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = 600,
                                .delay_max = 20,
                                .reorder = 1,
                                .places = places,
                                .shares_memory = way != WAY_NET,
                                .tells_failures = 1};
    uint32_t i;

    for (i = 0; i < ranks; i++)
        places[i] = (xylem_place_t){way == WAY_LEVELS ? i % 2 : 0, 0, 0, 0, i};
    return fabric_create(ranks, &options);
}

static void everybody_looks(fabric_t *fabric, uint32_t ranks)
{
    uint32_t look, rank;

    fabric_run_dry(fabric);
    for (look = 0; look < LOOKS; look++) {
        for (rank = 0; rank < ranks; rank++)
            xyl_hangs_look(fabric_context(fabric, rank));
        fabric_run_dry(fabric);
    }
}

/* ---- calls that differ ---- */

typedef struct pair {
    fabric_t *fabric;
    uint32_t ranks, odd;
    char *send, *recv[RANKS_MAX];
    odd_call_t calls[RANKS_MAX];
    xylem_request_t *requests[RANKS_MAX];
} pair_t;

/* Rank `odd` makes the second. */
static void all_start(pair_t *pair, const odd_kind_t *first,
                      const odd_kind_t *second)
{
    uint32_t rank;

    for (rank = 0; rank < pair->ranks; rank++) {
        odd_call_init(&pair->calls[rank], rank == pair->odd ? second : first,
                      rank, pair->ranks, pair->send, pair->recv[rank]);
        CHECK_EQ(xylem_coll_start(fabric_world(pair->fabric, rank),
                                  &pair->calls[rank].args,
                                  &pair->requests[rank]),
                 XYLEM_OK);
    }
    everybody_looks(pair->fabric, pair->ranks);
}

/* Ends the calls of both ranks. 1: all ended well. */
static int all_end(pair_t *pair)
{
    uint32_t rank, well = 0;

    for (rank = 0; rank < pair->ranks; rank++) {
        xylem_status_t status = xylem_request_test(pair->requests[rank]);
        CHECK(status == XYLEM_OK || status == XYLEM_ERR_MISMATCH);
        well += status == XYLEM_OK;
        CHECK_EQ(xylem_request_free(pair->requests[rank]), XYLEM_OK);
    }
    return well == pair->ranks;
}

static void one_pair(way_t way, uint32_t ranks, uint32_t first, uint32_t second,
                     uint64_t seed)
{
    const odd_kind_t *barrier = &odd_kinds[0];
    pair_t pair = {.fabric = world(way, ranks, seed),
                   .ranks = ranks,
                   .odd = (uint32_t)(seed % ranks),
                   .send = calloc(1, ODD_ROOM)};
    uint32_t rank, after = 0, before = (uint32_t)(seed % (BEFORE_MAX + 1));
    char label[64];

    snprintf(label, sizeof label, "%u ranks, way %d, calls %u and %u", ranks,
             (int)way, first, second);
    fabric_label(pair.fabric, label);
    for (rank = 0; rank < ranks; rank++)
        pair.recv[rank] = calloc(1, ODD_ROOM);
    for (; before > 0; before--) {
        const odd_kind_t *alike = &odd_kinds[(seed >> before) % ODD_KINDS];
        all_start(&pair, alike, alike);
        CHECK(all_end(&pair));
    }
    all_start(&pair, &odd_kinds[first], &odd_kinds[second]);
    while (all_end(&pair) && after++ < AFTER_MAX)
        all_start(&pair, barrier, barrier);
    for (rank = 0; rank < ranks; rank++) {
        CHECK_EQ(xylem_team_error(fabric_world(pair.fabric, rank), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK(strstr(xylem_last_error(), " calls ") != NULL ||
              strstr(xylem_last_error(), "different calls") != NULL);
        free(pair.recv[rank]);
    }
    fabric_destroy(pair.fabric);
    free(pair.send);
}

static void all_pairs(way_t way)
{
    uint64_t random = random_mix(11 + (uint64_t)way);
    uint32_t pairs = ODD_KINDS * ODD_KINDS, cases = check_cases(pairs), i;

    for (i = 0; i < cases; i++) { /* fewer are spread over all of them */
        uint32_t pair = cases < pairs ? i * pairs / cases : i % pairs;
        if (pair / ODD_KINDS != pair % ODD_KINDS)
            one_pair(way, random_between(&random, 2, RANKS_MAX),
                     pair / ODD_KINDS, pair % ODD_KINDS, random_next(&random));
    }
}

static void test_pairs_on_the_net(void)
{
    all_pairs(WAY_NET);
}

static void test_pairs_on_a_node(void)
{
    all_pairs(WAY_NODE);
}

static void test_pairs_on_two_nodes(void)
{
    all_pairs(WAY_LEVELS);
}

/* One call has as many numbers of the board as pieces, the other one or none;
 * so the ranks wait in different slots. */
static void test_other_numbers_of_the_board(void)
{
    uint32_t other;

    for (other = 1; other < ODD_KINDS; other++) {
        one_pair(WAY_NODE, 3, 0, other, other);
        one_pair(WAY_NODE, 3, other, 0, other);
    }
}

/* ---- calls that are alike ---- */

typedef struct play {
    fabric_t *fabric;
    uint32_t ranks, count;
    uint64_t random;
    call_run_t runs[RUNS_MAX];
    int is_tagged[RUNS_MAX];
    int has_begun[RUNS_MAX][RANKS_MAX];
} play_t;

/* Draws the next call in order, or any call with a tag. UINT32_MAX: the rank is
 * to wait. */
static uint32_t draw_run(play_t *play, uint32_t rank)
{
    uint32_t drawn = random_below(&play->random, play->count), next = 0;

    if (play->is_tagged[drawn])
        return play->has_begun[drawn][rank] ? UINT32_MAX : drawn;
    while (next < play->count &&
           (play->is_tagged[next] || play->has_begun[next][rank]))
        next++;
    return next < play->count ? next : UINT32_MAX;
}

static void play_init(play_t *play, way_t way, uint64_t seed)
{
    uint32_t i, rank;

    *play = (play_t){.random = random_mix(seed)};
    play->ranks = random_between(&play->random, 2, RANKS_MAX);
    play->count = random_between(&play->random, 2, RUNS_MAX);
    play->fabric = world(way, play->ranks, seed);
    for (i = 0; i < play->count; i++) {
        call_case_t c = call_case_random(
            &play->random,
            (xylem_coll_t)random_below(&play->random, XYLEM_COLL_COUNT),
            play->ranks);
        c.count %= COUNT_MAX;
        call_run_init(&play->runs[i], play->fabric, NULL, &c);
        play->is_tagged[i] = random_below(&play->random, 4) == 0;
        play->runs[i].is_persistent =
            !play->is_tagged[i] && random_below(&play->random, 2) == 0;
        for (rank = 0; play->is_tagged[i] && rank < play->ranks; rank++)
            play->runs[i].all[rank].call.args.tag = 1 + i;
    }
}

/* Chance decides which rank goes on, and when ranks tell the call in which they
 * wait. */
static void one_play(way_t way, uint64_t seed)
{
    uint32_t i, rank, left;
    play_t play;

    play_init(&play, way, seed);
    for (left = play.ranks * play.count; left > 0;) {
        uint32_t run;
        rank = random_below(&play.random, play.ranks);
        run = draw_run(&play, rank);
        if (run != UINT32_MAX) {
            CHECK_EQ(call_run_start(&play.runs[run], rank), XYLEM_OK);
            play.has_begun[run][rank] = 1;
            left--;
        }
        rank = random_below(&play.random, play.ranks);
        xyl_hangs_look(fabric_context(play.fabric, rank));
        (void)sim_world_run(fabric_sim(play.fabric), SIM_NEVER,
                            random_below(&play.random, 40));
    }
    for (i = 0; i < play.count; i++)
        if (call_run_finish(&play.runs[i]))
            call_run_check(&play.runs[i]);
    fabric_run_dry(play.fabric);
    for (rank = 0; rank < play.ranks; rank++)
        CHECK_EQ(xylem_team_error(fabric_world(play.fabric, rank), NULL),
                 XYLEM_OK);
    for (i = 0; i < play.count; i++)
        call_run_fini(&play.runs[i]);
    fabric_destroy(play.fabric);
}

static void test_late_is_not_different(void)
{
    uint64_t random = random_mix(17);
    uint32_t i;

    for (i = 0; i < ALIKE; i++)
        one_play((way_t)(i % WAYS), random_next(&random));
}

/* ---- what is said of it ---- */

/* A rank that is so far ahead that it does not remember says nothing. */
static void test_ahead_of_what_is_remembered(void)
{
    xylem_request_t *requests[2 * XYL_HISTORY_KEPT], *waits;
    fabric_t *fabric = world(WAY_NODE, 2, 5);
    uint64_t value[2] = {1, 2};
    uint32_t i;

    for (i = 0; i < 2 * XYL_HISTORY_KEPT; i++)
        CHECK_EQ(xylem_ibcast(fabric_world(fabric, 0), &value[0], 1,
                              XYLEM_UINT64, 0, &requests[i]),
                 XYLEM_OK);
    everybody_looks(fabric, 2);
    for (i = 0; i < 2 * XYL_HISTORY_KEPT; i++) {
        CHECK_EQ(xylem_ibcast(fabric_world(fabric, 1), &value[1], 1,
                              XYLEM_UINT64, 0, &waits),
                 XYLEM_OK);
        everybody_looks(fabric, 2);
        CHECK_EQ(xylem_request_test(waits), XYLEM_OK);
        CHECK_EQ(xylem_request_test(requests[i]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(waits), XYLEM_OK);
        CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
    }
    CHECK_EQ(xylem_team_error(fabric_world(fabric, 1), NULL), XYLEM_OK);
    fabric_destroy(fabric);
}

/* The error names the first different calls, which may lie before the call in
 * which a rank waits. */
static void test_the_first_difference_is_named(void)
{
    fabric_t *fabric = world(WAY_NET, 2, 5);
    xylem_request_t *requests[2][3];
    uint64_t values[2][2] = {{1}};
    uint32_t rank, i;

    for (rank = 0; rank < 2; rank++) {
        xylem_team_t *team = fabric_world(fabric, rank);
        /* Each rank is a root, which does not wait. */
        CHECK_EQ(xylem_ibcast(team, values[rank], 1 + rank, XYLEM_UINT64, rank,
                              &requests[rank][0]),
                 XYLEM_OK);
        CHECK_EQ(xylem_ibcast(team, values[rank], 1, XYLEM_UINT64, rank,
                              &requests[rank][1]),
                 XYLEM_OK);
        CHECK_EQ(xylem_ibarrier(team, &requests[rank][2]), XYLEM_OK);
    }
    everybody_looks(fabric, 2);
    for (rank = 0; rank < 2; rank++) {
        CHECK_EQ(xylem_team_error(fabric_world(fabric, rank), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK(strstr(xylem_last_error(), "bcast of 8 bytes, root 0") != NULL);
        CHECK(strstr(xylem_last_error(), "bcast of 16 bytes, root 1") != NULL);
        for (i = 0; i < 3; i++)
            CHECK_EQ(xylem_request_free(requests[rank][i]), XYLEM_OK);
    }
    fabric_destroy(fabric);
}

/* Anybody may say anything over the wire. */
static void test_nonsense_is_no_call(void)
{
    fabric_t *fabric = world(WAY_NODE, 2, 5);
    xylem_context_t *context = fabric_context(fabric, 0);
    static const uint64_t numbers[] = {0, 1, 62, 64, UINT64_MAX};
    size_t i;

    for (i = 0; i < 2 * sizeof numbers / sizeof *numbers; i++) {
        xyl_notice_t *notice =
            xyl_notice_new(context, XYL_NOTICE_CALL, fabric_world(fabric, 0));
        memset(notice->payload, 0xff, sizeof notice->payload);
        notice->payload[0] = numbers[i / 2]; /* of the call */
        memset(&notice->payload[1], (int)(i % 2), sizeof(uint32_t)); /* tag */
        xyl_notice_send(context, 1, notice);
        xyl_notice_free(context, notice);
        fabric_run_dry(fabric);
        CHECK_EQ(xylem_team_error(fabric_world(fabric, 1), NULL), XYLEM_OK);
    }
    fabric_destroy(fabric);
}

/* A failure that comes over the wire without a status fails the team all the
 * same, and the calls under way with it. */
static void test_nonsense_is_a_failure(void)
{
    static const uint32_t statuses[] = {XYLEM_OK, XYLEM_IN_PROGRESS,
                                        XYLEM_ERR_ABORTED + 1, UINT32_MAX};
    const uint32_t nobody = UINT32_MAX;
    size_t i;

    for (i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        fabric_t *fabric = world(WAY_NODE, 2, 5);
        xylem_context_t *context = fabric_context(fabric, 0);
        xyl_notice_t *notice =
            xyl_notice_new(context, XYL_NOTICE_FAILED, fabric_world(fabric, 0));
        xylem_request_t *waits;

        CHECK_EQ(xylem_ibarrier(fabric_world(fabric, 1), &waits), XYLEM_OK);
        memset(notice->payload, 0, sizeof notice->payload);
        memcpy(notice->payload, &statuses[i], sizeof statuses[i]);
        memcpy((char *)notice->payload + sizeof statuses[i], &nobody,
               sizeof nobody);
        xyl_notice_send(context, 1, notice);
        xyl_notice_free(context, notice);
        fabric_run_dry(fabric);
        CHECK_EQ(xylem_team_error(fabric_world(fabric, 1), NULL),
                 XYLEM_ERR_NET);
        CHECK_EQ(xylem_request_test(waits), XYLEM_ERR_NET);
        CHECK_EQ(xylem_request_free(waits), XYLEM_OK);
        fabric_destroy(fabric);
    }
}

static const check_case_t cases[] = {
    {"history: pairs that differ, over the net", test_pairs_on_the_net},
    {"history: pairs that differ, on a node", test_pairs_on_a_node},
    {"history: pairs that differ, on two nodes", test_pairs_on_two_nodes},
    {"history: other numbers of the board", test_other_numbers_of_the_board},
    {"history: who is late calls nothing else", test_late_is_not_different},
    {"history: ahead of what is remembered", test_ahead_of_what_is_remembered},
    {"history: the first difference is named",
     test_the_first_difference_is_named},
    {"history: nonsense is no call", test_nonsense_is_no_call},
    {"history: nonsense is a failure", test_nonsense_is_a_failure},
};

CHECK_MAIN(cases)
