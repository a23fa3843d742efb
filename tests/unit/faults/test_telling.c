/* A failure on one rank of a team fails the team on all of them, with the same
 * status, cause and words; and their next calls are right. */
#include <stdlib.h>
#include <string.h>

#include "collectives/board/board.h"
#include "collectives/node/state.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/hangs.h"
#include "tests/support/check.h"
#include "tests/support/told.h"

/* Checks that every rank with a request is told this, also in later calls. */
static void check_told(told_t *told, xylem_status_t status, uint32_t cause,
                       const char *word)
{
    uint32_t rank, caused_by;

    fabric_run_dry(told->fabric);
    for (rank = 0; rank < TOLD_RANKS; rank++) {
        if (fabric_is_dead(told->fabric, rank))
            continue;
        CHECK_EQ(xylem_team_error(told_world(told, rank), &caused_by), status);
        CHECK_EQ(caused_by, cause);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        if (told->requests[rank] == NULL)
            told_start(told, rank);
        fabric_run_dry(told->fabric);
        if (xylem_request_test(told->requests[rank]) != XYLEM_OK) {
            CHECK_EQ(xylem_request_test(told->requests[rank]), status);
            CHECK(strstr(xylem_last_error(), word) != NULL);
        } /* else it had done its part */
        CHECK_EQ(xylem_request_free(told->requests[rank]), XYLEM_OK);
        CHECK_EQ(xylem_barrier(told_world(told, rank)), status);
    }
}

/* A send that fails on one rank is no death. */
static void test_net_error_is_told(void)
{
    uint64_t seed;
    uint32_t rank;

    for (seed = 0; seed < 40; seed++) {
        told_t told;
        told_init(&told, seed, 0);
        sim_world_fail_send(fabric_sim(told.fabric), 1 + seed % 7,
                            XYLEM_ERR_NET);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            told_start(&told, rank);
        fabric_run_dry(told.fabric);
        check_told(&told, XYLEM_ERR_NET,
                   sim_world_failed_rank(fabric_sim(told.fabric)), "network");
        fabric_destroy(told.fabric);
    }
}

/* A notice that could not be sent, for want of memory for example, is sent once
 * more: with two ranks no third one could tell the other. */
static void test_word_is_repeated(void)
{
    uint64_t seed;

    for (seed = 0; seed < 20; seed++) {
        told_t told;
        told_init_of(&told, 2, seed, seed % 2 == 0);
        told_start(&told, 0);
        fabric_run_dry(told.fabric);
        sim_world_fail_send(fabric_sim(told.fabric), 1, XYLEM_ERR_NO_MEMORY);
        CHECK_EQ(xylem_team_abort(told_world(&told, 1), "no more fuel"),
                 XYLEM_OK);
        fabric_advance(told.fabric, 100 * SIM_MS);
        fabric_run_dry(told.fabric);
        CHECK_EQ(xylem_team_error(told_world(&told, 0), NULL),
                 XYLEM_ERR_ABORTED);
        (void)xylem_request_free(told.requests[0]);
        fabric_destroy(told.fabric);
    }
}

/* Neither the slot nor the memory of a failed team meets those of the next: a
 * new team of its ranks works. */
static void test_next_team_is_right(void)
{
    uint64_t seed;
    uint32_t rank;

    for (seed = 0; seed < 40; seed++) {
        xylem_team_t *first[TOLD_RANKS], *second[TOLD_RANKS],
            *third[TOLD_RANKS];
        xylem_request_t *made[TOLD_RANKS][3];
        told_t told;

        told_init(&told, seed, seed % 2 == 0);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_team_idup(told_world(&told, rank), &first[rank],
                                     &made[rank][0]),
                     XYLEM_OK);
            CHECK_EQ(xylem_team_idup(told_world(&told, rank), &second[rank],
                                     &made[rank][1]),
                     XYLEM_OK);
        }
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) /* the last one aborts */
            if (rank + 1 < TOLD_RANKS)
                CHECK_EQ(xylem_ibcast(first[rank], told.words[rank], TOLD_WORDS,
                                      XYLEM_UINT32, 0, &told.requests[rank]),
                         XYLEM_OK);
        CHECK_EQ(xylem_team_abort(first[TOLD_RANKS - 1], "no more fuel"),
                 XYLEM_OK);
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_team_error(first[rank], NULL), XYLEM_ERR_ABORTED);
            CHECK(strstr(xylem_last_error(), "no more fuel") != NULL);
            (void)xylem_request_free(told.requests[rank]);
            told.requests[rank] = NULL;
            CHECK_EQ(xylem_team_destroy(first[rank]), XYLEM_OK);
            CHECK_EQ(
                xylem_team_idup(second[rank], &third[rank], &made[rank][2]),
                XYLEM_OK);
        }
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_request_test(made[rank][2]), XYLEM_OK);
            told.words[rank][0] = rank;
            CHECK_EQ(xylem_iallreduce(third[rank], told.words[rank],
                                      told.sums[rank], TOLD_WORDS, XYLEM_UINT32,
                                      XYLEM_SUM, &told.requests[rank]),
                     XYLEM_OK);
        }
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_request_test(told.requests[rank]), XYLEM_OK);
            CHECK_EQ(told.sums[rank][0], TOLD_RANKS * (TOLD_RANKS - 1) / 2);
            CHECK_EQ(xylem_request_free(told.requests[rank]), XYLEM_OK);
            xylem_request_free(made[rank][0]);
            xylem_request_free(made[rank][1]);
            xylem_request_free(made[rank][2]);
            CHECK_EQ(xylem_team_destroy(second[rank]), XYLEM_OK);
            CHECK_EQ(xylem_team_destroy(third[rank]), XYLEM_OK);
        }
        fabric_destroy(told.fabric);
    }
}

/* Grains of the node's pool that are taken. */
static unsigned windows_taken(const told_t *told)
{
    const xyl_shm_pool_t *pool =
        &xyl_node_of_context(fabric_context(told->fabric, 0))->pool;
    const uint64_t *word;
    unsigned bank, taken = 0;

    for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++) {
        word =
            (const void *)(pool->memory + (size_t)bank * XYL_BOARD_LINE_BYTES);
        taken += (unsigned)__builtin_popcountll(*word);
    }
    return taken;
}

/* On a team of their own, in which one takes no part and aborts it. */
static void windows_fail(told_t *told, uint32_t *words, size_t count)
{
    xylem_team_t *teams[TOLD_RANKS];
    xylem_request_t *made[TOLD_RANKS];
    uint32_t rank;

    for (rank = 0; rank < TOLD_RANKS; rank++)
        CHECK_EQ(
            xylem_team_idup(told_world(told, rank), &teams[rank], &made[rank]),
            XYLEM_OK);
    fabric_run_dry(told->fabric);
    for (rank = 0; rank + 1 < TOLD_RANKS; rank++)
        CHECK_EQ(xylem_ibcast(teams[rank], words + rank * count, count,
                              XYLEM_UINT32, 0, &told->requests[rank]),
                 XYLEM_OK);
    fabric_run_dry(told->fabric);
    CHECK(windows_taken(told) != 0);
    CHECK_EQ(xylem_team_abort(teams[TOLD_RANKS - 1], "no more fuel"), XYLEM_OK);
    fabric_run_dry(told->fabric);
    for (rank = 0; rank < TOLD_RANKS; rank++) {
        (void)xylem_request_free(told->requests[rank]);
        told->requests[rank] = NULL;
        CHECK_EQ(xylem_request_free(made[rank]), XYLEM_OK);
    }
    for (rank = 0; rank < TOLD_RANKS; rank++)
        CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
}

/* The windows of calls that fail come back when the team ends. */
static void test_windows_come_back(void)
{
    enum { CALLS = 5, COUNT = 1 << 19 };
    uint32_t *words = calloc((size_t)TOLD_RANKS * COUNT, sizeof *words);
    unsigned call, taken = 0;
    told_t told;

    CHECK(words != NULL);
    told_init(&told, 1, 1);
    for (call = 0; call < CALLS && words != NULL; call++) {
        windows_fail(&told, words, COUNT);
        if (call == 0)
            taken = windows_taken(&told);
        CHECK(windows_taken(&told) <= taken);
    }
    fabric_destroy(told.fabric);
    free(words);
}

static void one_word(xylem_status_t (*say)(xylem_team_t *team),
                     xylem_status_t status, const char *word, int shares)
{
    uint32_t rank;
    told_t told;

    told_init(&told, 3, shares);
    for (rank = 1; rank < TOLD_RANKS; rank++)
        told_start(&told, rank);
    fabric_run_dry(told.fabric);
    CHECK_EQ(say(told_world(&told, 2)), XYLEM_OK);
    check_told(&told, status, 2, word);
    fabric_destroy(told.fabric);
}

static xylem_status_t abort_it(xylem_team_t *team)
{
    return xylem_team_abort(team, "the disk is full");
}

static void test_abort(void)
{
    one_word(abort_it, XYLEM_ERR_ABORTED,
             "rank 2 has aborted: the disk is full", 0);
    one_word(abort_it, XYLEM_ERR_ABORTED,
             "rank 2 has aborted: the disk is full", 1);
}

static void test_revoke(void)
{
    one_word(xylem_team_revoke, XYLEM_ERR_REVOKED, "rank 2 has revoked", 0);
    one_word(xylem_team_revoke, XYLEM_ERR_REVOKED, "rank 2 has revoked", 1);
}

/* A rank that notices a death tells the others; and the rank itself, should it
 * live: it gives the others up. */
static void test_death_is_told(void)
{
    uint32_t rank;
    told_t told;

    told_init(&told, 5, 0);
    for (rank = 0; rank < TOLD_RANKS; rank++)
        if (rank != 4)
            told_start(&told, rank);
    fabric_run_dry(told.fabric);
    fabric_context(told.fabric, 1)->peers[4].is_local = 0;
    xyl_failure_suspect(fabric_context(told.fabric, 1), 4);
    (void)xylem_progress(fabric_context(told.fabric, 1));
    fabric_run_dry(told.fabric);
    CHECK_EQ(xylem_team_error(told_world(&told, 4), NULL),
             XYLEM_ERR_PROC_FAILED);
    fabric_kill(told.fabric, 4, 10);
    check_told(&told, XYLEM_ERR_PROC_FAILED, 4, "rank 4 of the job has died");
    fabric_destroy(told.fabric);
}

/* The same team on all ranks, or on none that could use it. */
static void test_split_is_all_or_none(void)
{
    uint64_t seed;

    for (seed = 0; seed < 60; seed++) {
        xylem_request_t *requests[TOLD_RANKS];
        xylem_team_t *teams[TOLD_RANKS] = {NULL};
        uint32_t rank, made = 0, usable = 0;
        told_t told;

        told_init(&told, seed, seed % 3 == 0);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            CHECK_EQ(xylem_team_idup(told_world(&told, rank), &teams[rank],
                                     &requests[rank]),
                     XYLEM_OK);
        sim_world_run(fabric_sim(told.fabric), SIM_NEVER, seed * 4);
        CHECK_EQ(
            xylem_team_revoke(told_world(&told, (uint32_t)(seed % TOLD_RANKS))),
            XYLEM_OK);
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            made += xylem_request_test(requests[rank]) == XYLEM_OK;
            CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
            usable += teams[rank] != NULL &&
                      xylem_team_error(teams[rank], NULL) == XYLEM_OK;
        }
        CHECK_EQ(usable, made == TOLD_RANKS ? TOLD_RANKS : 0);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
        fabric_destroy(told.fabric);
    }
}

/* The first rank to have a team aborts it while others still make it. */
static void test_failure_comes_before_the_team(void)
{
    uint64_t seed;

    for (seed = 0; seed < 60; seed++) {
        xylem_request_t *requests[TOLD_RANKS];
        xylem_team_t *teams[TOLD_RANKS] = {NULL};
        uint32_t rank, first = TOLD_RANKS;
        told_t told;

        told_init(&told, seed, seed % 3 == 0);
        for (rank = 0; rank < TOLD_RANKS; rank++)
            CHECK_EQ(xylem_team_idup(told_world(&told, rank), &teams[rank],
                                     &requests[rank]),
                     XYLEM_OK);
        while (first == TOLD_RANKS) {
            sim_world_run(fabric_sim(told.fabric), SIM_NEVER, 1);
            for (rank = 0; rank < TOLD_RANKS && first == TOLD_RANKS; rank++)
                if (teams[rank] != NULL)
                    first = rank;
        }
        CHECK_EQ(xylem_team_abort(teams[first], "no more fuel"), XYLEM_OK);
        fabric_run_dry(told.fabric);
        for (rank = 0; rank < TOLD_RANKS; rank++) {
            CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_team_error(teams[rank], NULL), XYLEM_ERR_ABORTED);
            CHECK_EQ(xylem_team_error(told_world(&told, rank), NULL), XYLEM_OK);
            CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
        }
        fabric_destroy(told.fabric);
    }
}

/* There is no memory for a notice, at its sender, or at a receiver that has not
 * made the team yet: a waiting rank asks, and is told then. */
static int one_word_lost(uint64_t seed, uint64_t nth)
{
    xylem_request_t *made[2];
    xylem_team_t *teams[2] = {NULL};
    uint32_t rank, first;
    told_t told;
    int failed;

    told_init_of(&told, 2, seed, seed % 2 == 0);
    for (rank = 0; rank < 2; rank++)
        CHECK_EQ(
            xylem_team_idup(told_world(&told, rank), &teams[rank], &made[rank]),
            XYLEM_OK);
    while (teams[0] == NULL && teams[1] == NULL)
        sim_world_run(fabric_sim(told.fabric), SIM_NEVER, 1);
    first = teams[0] == NULL;
    fabric_fail_allocation(told.fabric, nth);
    CHECK_EQ(xylem_team_abort(teams[first], "no more fuel"), XYLEM_OK);
    fabric_run_dry(told.fabric);
    failed = fabric_allocation_failed(told.fabric);
    fabric_fail_allocation(told.fabric, 0);
    rank = 1 - first;
    CHECK_EQ(xylem_request_test(made[rank]), XYLEM_OK);
    CHECK_EQ(xylem_iallreduce(teams[rank], told.words[rank], told.sums[rank],
                              TOLD_WORDS, XYLEM_UINT32, XYLEM_SUM,
                              &told.requests[rank]),
             XYLEM_OK);
    told_look(&told, 2);
    CHECK_EQ(xylem_request_test(told.requests[rank]), XYLEM_ERR_ABORTED);
    CHECK_EQ(xylem_request_free(told.requests[rank]), XYLEM_OK);
    for (rank = 0; rank < 2; rank++) {
        CHECK_EQ(xylem_request_free(made[rank]), XYLEM_OK);
        CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
    }
    fabric_destroy(told.fabric);
    return failed;
}

static void test_lost_word_is_told_again(void)
{
    uint64_t seed, nth, failed = 0;

    for (seed = 0; seed < 20; seed++)
        for (nth = 1; one_word_lost(seed, nth) && nth < 10; nth++)
            failed++;
    CHECK(failed >= 20);
}

/* All ranks give up an operation that has hung, if the user says so: for all
 * calls, or for this one. */
static void one_hang(const char *setting, uint32_t limit_s)
{
    const char *settings[] = {setting, NULL};
    fabric_options_t options = {.seed = 1,
                                .eager_bytes_max = 60,
                                .reorder = 1,
                                .tells_failures = 1,
                                .settings = settings};
    told_t told = {.fabric = fabric_create(TOLD_RANKS, &options)};
    uint32_t rank, look;

    for (rank = 0; rank + 1 < TOLD_RANKS; rank++) {
        xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                  .coll = XYLEM_COLL_ALLREDUCE,
                                  .send = told.words[rank],
                                  .recv = told.sums[rank],
                                  .count = TOLD_WORDS,
                                  .type = XYLEM_UINT32,
                                  .op = XYLEM_SUM,
                                  .limit_s = limit_s};
        CHECK_EQ(xylem_coll_start(told_world(&told, rank), &args,
                                  &told.requests[rank]),
                 XYLEM_OK);
    }
    for (look = 0; look < 4; look++) {
        fabric_run_dry(told.fabric);
        CHECK_EQ(xylem_request_test(told.requests[0]), XYLEM_IN_PROGRESS);
        xyl_hangs_look(fabric_context(told.fabric, 0));
    }
    check_told(&told, XYLEM_ERR_TIMED_OUT, 0, "time limit");
    fabric_destroy(told.fabric);
}

static void test_hang(void)
{
    one_hang("HANG_S=3", 0);
    one_hang("HANG_S=60", 3);
    one_hang("HANG_S=1", 3);
}

static void test_nonsense_is_refused(void)
{
    told_t told;

    told_init(&told, 1, 0);
    CHECK_EQ(xylem_team_abort(NULL, "why"), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_team_abort(told_world(&told, 0), NULL),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_team_revoke(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_team_error(NULL, NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_team_error(told_world(&told, 0), NULL), XYLEM_OK);
    fabric_destroy(told.fabric);
}

static const check_case_t cases[] = {
    {"telling: an error of the net", test_net_error_is_told},
    {"telling: a word that could not be sent is repeated",
     test_word_is_repeated},
    {"a word that was lost is told again", test_lost_word_is_told_again},
    {"telling: the next team is right", test_next_team_is_right},
    {"telling: windows of calls that fail come back", test_windows_come_back},
    {"telling: abort", test_abort},
    {"telling: revoke", test_revoke},
    {"telling: a death", test_death_is_told},
    {"telling: a split is there for all or none", test_split_is_all_or_none},
    {"telling: a failure comes before the team",
     test_failure_comes_before_the_team},
    {"telling: what hangs is given up", test_hang},
    {"telling: nonsense is refused", test_nonsense_is_refused},
};

CHECK_MAIN(cases)
