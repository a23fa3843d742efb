/* A failure on one rank of a team fails the team on all of them, with the same
 * status, cause and words; and their next calls are right. */
#include <stdlib.h>
#include <string.h>

#include "collectives/board/board.h"
#include "collectives/data/modules.h"
#include "collectives/node/stage_inside.h"
#include "collectives/node/state.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/hangs.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum { RANKS = 6, WORDS = 64 };

typedef struct scene {
    fabric_t *fabric;
    uint32_t ranks;
    uint32_t words[RANKS][WORDS], sums[RANKS][WORDS];
    xylem_request_t *requests[RANKS];
} scene_t;

static void scene_init_of(scene_t *scene, uint32_t ranks, uint64_t seed,
                          int shares_memory)
{
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = 60,
                                .delay_max = 20,
                                .reorder = 1,
                                .shares_memory = shares_memory,
                                .tells_failures = 1};

    memset(scene, 0, sizeof *scene);
    scene->ranks = ranks;
    scene->fabric = fabric_create(ranks, &options);
}

static void scene_init(scene_t *scene, uint64_t seed, int shares_memory)
{
    scene_init_of(scene, RANKS, seed, shares_memory);
}

static xylem_team_t *world_of(const scene_t *scene, uint32_t rank)
{
    return fabric_world(scene->fabric, rank);
}

static void start_allreduce(scene_t *scene, uint32_t rank)
{
    CHECK_EQ(xylem_iallreduce(world_of(scene, rank), scene->words[rank],
                              scene->sums[rank], WORDS, XYLEM_UINT32, XYLEM_SUM,
                              &scene->requests[rank]),
             XYLEM_OK);
}

/* Checks that every rank with a request is told this, also in later calls. */
static void check_told(scene_t *scene, xylem_status_t status, uint32_t cause,
                       const char *word)
{
    uint32_t rank, caused_by;

    fabric_run_dry(scene->fabric);
    for (rank = 0; rank < RANKS; rank++) {
        if (fabric_is_dead(scene->fabric, rank))
            continue;
        CHECK_EQ(xylem_team_error(world_of(scene, rank), &caused_by), status);
        CHECK_EQ(caused_by, cause);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        if (scene->requests[rank] == NULL)
            start_allreduce(scene, rank);
        fabric_run_dry(scene->fabric);
        if (xylem_request_test(scene->requests[rank]) != XYLEM_OK) {
            CHECK_EQ(xylem_request_test(scene->requests[rank]), status);
            CHECK(strstr(xylem_last_error(), word) != NULL);
        } /* else it had done its part */
        CHECK_EQ(xylem_request_free(scene->requests[rank]), XYLEM_OK);
        CHECK_EQ(xylem_barrier(world_of(scene, rank)), status);
    }
}

/* A send that fails on one rank is no death. */
static void test_net_error_is_told(void)
{
    uint64_t seed;
    uint32_t rank;

    for (seed = 0; seed < 40; seed++) {
        scene_t scene;
        scene_init(&scene, seed, 0);
        sim_world_fail_send(fabric_sim(scene.fabric), 1 + seed % 7,
                            XYLEM_ERR_NET);
        for (rank = 0; rank < RANKS; rank++)
            start_allreduce(&scene, rank);
        fabric_run_dry(scene.fabric);
        check_told(&scene, XYLEM_ERR_NET,
                   sim_world_failed_rank(fabric_sim(scene.fabric)), "network");
        fabric_destroy(scene.fabric);
    }
}

/* A notice that could not be sent, for want of memory for example, is sent once
 * more: with two ranks no third one could tell the other. */
static void test_word_is_repeated(void)
{
    uint64_t seed;

    for (seed = 0; seed < 20; seed++) {
        scene_t scene;
        scene_init_of(&scene, 2, seed, seed % 2 == 0);
        start_allreduce(&scene, 0);
        fabric_run_dry(scene.fabric);
        sim_world_fail_send(fabric_sim(scene.fabric), 1, XYLEM_ERR_NO_MEMORY);
        CHECK_EQ(xylem_team_abort(world_of(&scene, 1), "no more fuel"),
                 XYLEM_OK);
        fabric_advance(scene.fabric, 100 * SIM_MS);
        fabric_run_dry(scene.fabric);
        CHECK_EQ(xylem_team_error(world_of(&scene, 0), NULL),
                 XYLEM_ERR_ABORTED);
        (void)xylem_request_free(scene.requests[0]);
        fabric_destroy(scene.fabric);
    }
}

/* Neither the slot nor the memory of a failed team meets those of the next: a
 * new team of its ranks works. */
static void test_next_team_is_right(void)
{
    uint64_t seed;
    uint32_t rank;

    for (seed = 0; seed < 40; seed++) {
        xylem_team_t *first[RANKS], *second[RANKS], *third[RANKS];
        xylem_request_t *made[RANKS][3];
        scene_t scene;

        scene_init(&scene, seed, seed % 2 == 0);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_team_idup(world_of(&scene, rank), &first[rank],
                                     &made[rank][0]),
                     XYLEM_OK);
            CHECK_EQ(xylem_team_idup(world_of(&scene, rank), &second[rank],
                                     &made[rank][1]),
                     XYLEM_OK);
        }
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) /* the last one aborts */
            if (rank + 1 < RANKS)
                CHECK_EQ(xylem_ibcast(first[rank], scene.words[rank], WORDS,
                                      XYLEM_UINT32, 0, &scene.requests[rank]),
                         XYLEM_OK);
        CHECK_EQ(xylem_team_abort(first[RANKS - 1], "no more fuel"), XYLEM_OK);
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_team_error(first[rank], NULL), XYLEM_ERR_ABORTED);
            CHECK(strstr(xylem_last_error(), "no more fuel") != NULL);
            (void)xylem_request_free(scene.requests[rank]);
            scene.requests[rank] = NULL;
            CHECK_EQ(xylem_team_destroy(first[rank]), XYLEM_OK);
            CHECK_EQ(
                xylem_team_idup(second[rank], &third[rank], &made[rank][2]),
                XYLEM_OK);
        }
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_request_test(made[rank][2]), XYLEM_OK);
            scene.words[rank][0] = rank;
            CHECK_EQ(xylem_iallreduce(third[rank], scene.words[rank],
                                      scene.sums[rank], WORDS, XYLEM_UINT32,
                                      XYLEM_SUM, &scene.requests[rank]),
                     XYLEM_OK);
        }
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_request_test(scene.requests[rank]), XYLEM_OK);
            CHECK_EQ(scene.sums[rank][0], RANKS * (RANKS - 1) / 2);
            CHECK_EQ(xylem_request_free(scene.requests[rank]), XYLEM_OK);
            xylem_request_free(made[rank][0]);
            xylem_request_free(made[rank][1]);
            xylem_request_free(made[rank][2]);
            CHECK_EQ(xylem_team_destroy(second[rank]), XYLEM_OK);
            CHECK_EQ(xylem_team_destroy(third[rank]), XYLEM_OK);
        }
        fabric_destroy(scene.fabric);
    }
}

/* Grains of the node's pool that are taken. */
static unsigned windows_taken(const scene_t *scene)
{
    const xyl_shm_pool_t *pool =
        &xyl_node_of_context(fabric_context(scene->fabric, 0))->pool;
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
static void windows_fail(scene_t *scene, uint32_t *words, size_t count)
{
    xylem_team_t *teams[RANKS];
    xylem_request_t *made[RANKS];
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(
            xylem_team_idup(world_of(scene, rank), &teams[rank], &made[rank]),
            XYLEM_OK);
    fabric_run_dry(scene->fabric);
    for (rank = 0; rank + 1 < RANKS; rank++)
        CHECK_EQ(xylem_ibcast(teams[rank], words + rank * count, count,
                              XYLEM_UINT32, 0, &scene->requests[rank]),
                 XYLEM_OK);
    fabric_run_dry(scene->fabric);
    CHECK(windows_taken(scene) != 0);
    CHECK_EQ(xylem_team_abort(teams[RANKS - 1], "no more fuel"), XYLEM_OK);
    fabric_run_dry(scene->fabric);
    for (rank = 0; rank < RANKS; rank++) {
        (void)xylem_request_free(scene->requests[rank]);
        scene->requests[rank] = NULL;
        CHECK_EQ(xylem_request_free(made[rank]), XYLEM_OK);
    }
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
}

/* The windows of calls that fail come back when the team ends. */
static void test_windows_come_back(void)
{
    enum { CALLS = 5, COUNT = 1 << 19 };
    uint32_t *words = calloc((size_t)RANKS * COUNT, sizeof *words);
    unsigned call, taken = 0;
    scene_t scene;

    CHECK(words != NULL);
    scene_init(&scene, 1, 1);
    for (call = 0; call < CALLS && words != NULL; call++) {
        windows_fail(&scene, words, COUNT);
        if (call == 0)
            taken = windows_taken(&scene);
        CHECK(windows_taken(&scene) <= taken);
    }
    fabric_destroy(scene.fabric);
    free(words);
}

static void one_word(xylem_status_t (*say)(xylem_team_t *team),
                     xylem_status_t status, const char *word, int shares)
{
    uint32_t rank;
    scene_t scene;

    scene_init(&scene, 3, shares);
    for (rank = 1; rank < RANKS; rank++)
        start_allreduce(&scene, rank);
    fabric_run_dry(scene.fabric);
    CHECK_EQ(say(world_of(&scene, 2)), XYLEM_OK);
    check_told(&scene, status, 2, word);
    fabric_destroy(scene.fabric);
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
    scene_t scene;

    scene_init(&scene, 5, 0);
    for (rank = 0; rank < RANKS; rank++)
        if (rank != 4)
            start_allreduce(&scene, rank);
    fabric_run_dry(scene.fabric);
    fabric_context(scene.fabric, 1)->peers[4].is_local = 0;
    xyl_failure_suspect(fabric_context(scene.fabric, 1), 4);
    (void)xylem_progress(fabric_context(scene.fabric, 1));
    fabric_run_dry(scene.fabric);
    CHECK_EQ(xylem_team_error(world_of(&scene, 4), NULL),
             XYLEM_ERR_PROC_FAILED);
    fabric_kill(scene.fabric, 4, 10);
    check_told(&scene, XYLEM_ERR_PROC_FAILED, 4, "rank 4 of the job has died");
    fabric_destroy(scene.fabric);
}

/* The same team on all ranks, or on none that could use it. */
static void test_split_is_all_or_none(void)
{
    uint64_t seed;

    for (seed = 0; seed < 60; seed++) {
        xylem_request_t *requests[RANKS];
        xylem_team_t *teams[RANKS] = {NULL};
        uint32_t rank, made = 0, usable = 0;
        scene_t scene;

        scene_init(&scene, seed, seed % 3 == 0);
        for (rank = 0; rank < RANKS; rank++)
            CHECK_EQ(xylem_team_idup(world_of(&scene, rank), &teams[rank],
                                     &requests[rank]),
                     XYLEM_OK);
        sim_world_run(fabric_sim(scene.fabric), SIM_NEVER, seed * 4);
        CHECK_EQ(xylem_team_revoke(world_of(&scene, (uint32_t)(seed % RANKS))),
                 XYLEM_OK);
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            made += xylem_request_test(requests[rank]) == XYLEM_OK;
            CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
            usable += teams[rank] != NULL &&
                      xylem_team_error(teams[rank], NULL) == XYLEM_OK;
        }
        CHECK_EQ(usable, made == RANKS ? RANKS : 0);
        for (rank = 0; rank < RANKS; rank++)
            CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
        fabric_destroy(scene.fabric);
    }
}

/* The first rank to have a team aborts it while others still make it. */
static void test_failure_comes_before_the_team(void)
{
    uint64_t seed;

    for (seed = 0; seed < 60; seed++) {
        xylem_request_t *requests[RANKS];
        xylem_team_t *teams[RANKS] = {NULL};
        uint32_t rank, first = RANKS;
        scene_t scene;

        scene_init(&scene, seed, seed % 3 == 0);
        for (rank = 0; rank < RANKS; rank++)
            CHECK_EQ(xylem_team_idup(world_of(&scene, rank), &teams[rank],
                                     &requests[rank]),
                     XYLEM_OK);
        while (first == RANKS) {
            sim_world_run(fabric_sim(scene.fabric), SIM_NEVER, 1);
            for (rank = 0; rank < RANKS && first == RANKS; rank++)
                if (teams[rank] != NULL)
                    first = rank;
        }
        CHECK_EQ(xylem_team_abort(teams[first], "no more fuel"), XYLEM_OK);
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_team_error(teams[rank], NULL), XYLEM_ERR_ABORTED);
            CHECK_EQ(xylem_team_error(world_of(&scene, rank), NULL), XYLEM_OK);
            CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
        }
        fabric_destroy(scene.fabric);
    }
}

static void everybody_looks(const scene_t *scene, uint32_t looks)
{
    uint32_t rank;

    fabric_run_dry(scene->fabric);
    for (; looks > 0; looks--) {
        for (rank = 0; rank < scene->ranks; rank++)
            xyl_hangs_look(fabric_context(scene->fabric, rank));
        fabric_run_dry(scene->fabric);
    }
}

/* There is no memory for a notice, at its sender, or at a receiver that has not
 * made the team yet: a waiting rank asks, and is told then. */
static int one_word_lost(uint64_t seed, uint64_t nth)
{
    xylem_request_t *made[2];
    xylem_team_t *teams[2] = {NULL};
    uint32_t rank, first;
    scene_t scene;
    int failed;

    scene_init_of(&scene, 2, seed, seed % 2 == 0);
    for (rank = 0; rank < 2; rank++)
        CHECK_EQ(
            xylem_team_idup(world_of(&scene, rank), &teams[rank], &made[rank]),
            XYLEM_OK);
    while (teams[0] == NULL && teams[1] == NULL)
        sim_world_run(fabric_sim(scene.fabric), SIM_NEVER, 1);
    first = teams[0] == NULL;
    fabric_fail_allocation(scene.fabric, nth);
    CHECK_EQ(xylem_team_abort(teams[first], "no more fuel"), XYLEM_OK);
    fabric_run_dry(scene.fabric);
    failed = fabric_allocation_failed(scene.fabric);
    fabric_fail_allocation(scene.fabric, 0);
    rank = 1 - first;
    CHECK_EQ(xylem_request_test(made[rank]), XYLEM_OK);
    CHECK_EQ(xylem_iallreduce(teams[rank], scene.words[rank], scene.sums[rank],
                              WORDS, XYLEM_UINT32, XYLEM_SUM,
                              &scene.requests[rank]),
             XYLEM_OK);
    everybody_looks(&scene, 2);
    CHECK_EQ(xylem_request_test(scene.requests[rank]), XYLEM_ERR_ABORTED);
    CHECK_EQ(xylem_request_free(scene.requests[rank]), XYLEM_OK);
    for (rank = 0; rank < 2; rank++) {
        CHECK_EQ(xylem_request_free(made[rank]), XYLEM_OK);
        CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
    }
    fabric_destroy(scene.fabric);
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

/* Rank 2 makes another call, and all ranks wait. */
static void one_mismatch(int shares, uint32_t root, const char *word)
{
    uint32_t rank;
    scene_t scene;

    scene_init(&scene, 7, shares);
    for (rank = 0; rank < RANKS; rank++)
        if (rank != 2)
            start_allreduce(&scene, rank);
    CHECK_EQ(xylem_ibcast(world_of(&scene, 2), scene.words[2], 1, XYLEM_UINT32,
                          root, &scene.requests[2]),
             XYLEM_OK);
    fabric_run_dry(scene.fabric);
    for (rank = 0; rank < RANKS; rank++)
        xyl_hangs_look(fabric_context(scene.fabric, rank));
    fabric_run_dry(scene.fabric);
    for (rank = 0; rank < RANKS; rank++) {
        CHECK_EQ(xylem_team_error(world_of(&scene, rank), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        CHECK(strstr(xylem_last_error(), "allreduce of 256 bytes") != NULL);
        (void)xylem_request_free(scene.requests[rank]);
    }
    fabric_destroy(scene.fabric);
}

static void test_mismatch(void)
{
    one_mismatch(0, 1, "bcast of 4 bytes, root 1");
    one_mismatch(1, 1, "bcast of 4 bytes, root 1");
}

/* A gather for which this rank need not wait. */
static void start_to_send(scene_t *scene, uint32_t rank, uint32_t root)
{
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_GATHER,
                                    .algorithm = "linear",
                                    .send = scene->words[rank],
                                    .recv = scene->sums[rank],
                                    .count = 1,
                                    .type = XYLEM_UINT32,
                                    .root = root};
    xylem_request_t *request;

    CHECK(rank != root);
    CHECK_EQ(xylem_coll_start(world_of(scene, rank), &args, &request),
             XYLEM_OK);
    fabric_run_dry(scene->fabric);
    CHECK_EQ(xylem_request_test(request), XYLEM_OK);
    CHECK_EQ(xylem_request_free(request), XYLEM_OK);
}

/* Rank 2 sends to another root than the others, which send to it; or only rank
 * 2 sends something. No rank waits until all call the same. */
static void test_mismatch_without_waiting(void)
{
    uint32_t all_call, rank;

    for (all_call = 0; all_call < 2; all_call++) {
        scene_t scene;
        scene_init(&scene, 9, 0);
        for (rank = 0; rank < RANKS; rank++)
            if (all_call || rank == 2)
                start_to_send(&scene, rank, rank == 2 ? 0 : 2);
        for (rank = 0; rank < RANKS; rank++)
            start_allreduce(&scene, rank);
        everybody_looks(&scene, 4);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_team_error(world_of(&scene, rank), NULL),
                     XYLEM_ERR_MISMATCH);
            CHECK(strstr(xylem_last_error(),
                         all_call ? "gather of 4 bytes, root 2"
                                  : "allreduce of 256 bytes") != NULL);
            CHECK(strstr(xylem_last_error(), "gather of 4 bytes, root 0") !=
                  NULL);
            (void)xylem_request_free(scene.requests[rank]);
        }
        fabric_destroy(scene.fabric);
    }
}

static void refused_allreduce(scene_t *scene, uint32_t rank)
{
    CHECK_EQ(xylem_iallreduce(world_of(scene, rank), NULL, scene->sums[rank],
                              WORDS, XYLEM_UINT32, XYLEM_SUM,
                              &scene->requests[rank]),
             XYLEM_ERR_INVALID_ARG);
}

/* If one rank is refused a call, the others do not wait for ever; after a warm
 * call, or in the first. */
static void one_refusal(int shares, int is_warm, uint32_t looks,
                        int is_made_again)
{
    uint32_t rank;
    scene_t scene;

    scene_init(&scene, 11, shares);
    for (rank = 0; is_warm && rank < RANKS; rank++)
        start_allreduce(&scene, rank);
    fabric_run_dry(scene.fabric);
    for (rank = 0; is_warm && rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(scene.requests[rank]), XYLEM_OK);
    refused_allreduce(&scene, 2);
    for (rank = 0; rank < RANKS; rank++)
        if (rank != 2)
            start_allreduce(&scene, rank);
    everybody_looks(&scene, looks);
    if (is_made_again)
        start_allreduce(&scene, 2);
    fabric_run_dry(scene.fabric);
    for (rank = 0; rank < RANKS; rank++) {
        CHECK_EQ(xylem_team_error(world_of(&scene, rank), NULL),
                 is_made_again ? XYLEM_OK : XYLEM_ERR_MISMATCH);
        CHECK(is_made_again ||
              strstr(xylem_last_error(), "nothing, as it was") != NULL);
        if (rank != 2 || is_made_again)
            CHECK_EQ(xylem_request_free(scene.requests[rank]), XYLEM_OK);
    }
    fabric_destroy(scene.fabric);
}

static void test_refusal(void)
{
    int way;

    for (way = 0; way < 4; way++) {
        one_refusal(way % 2, way / 2, 8, 0);
        one_refusal(way % 2, way / 2, 2, 1);
    }
}

static void check_differ(scene_t *scene)
{
    uint32_t rank;

    for (rank = 0; rank < scene->ranks; rank++) {
        CHECK_EQ(xylem_team_error(world_of(scene, rank), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK_EQ(xylem_request_free(scene->requests[rank]), XYLEM_OK);
    }
    fabric_destroy(scene->fabric);
}

/* The same in jobs of few ranks, which are asked after more seconds than there
 * are ranks; also for a rank that comes late with another call, of nothing. */
static void test_few_ranks(void)
{
    uint32_t ranks, rank;
    scene_t scene;

    for (ranks = 2; ranks <= 4; ranks++) {
        scene_init_of(&scene, ranks, 11, 0);
        refused_allreduce(&scene, 1);
        for (rank = 0; rank < ranks; rank++)
            if (rank != 1)
                start_allreduce(&scene, rank);
        everybody_looks(&scene, 8);
        check_differ(&scene);
    }
    scene_init_of(&scene, 2, 11, 0);
    CHECK_EQ(xylem_ireduce(world_of(&scene, 0), scene.words[0], scene.sums[0],
                           1, XYLEM_UINT32, XYLEM_SUM, 0, &scene.requests[0]),
             XYLEM_OK);
    everybody_looks(&scene, 1);
    CHECK_EQ(xylem_ibcast(world_of(&scene, 1), scene.words[1], 0, XYLEM_UINT32,
                          1, &scene.requests[1]),
             XYLEM_OK);
    everybody_looks(&scene, 8);
    check_differ(&scene);
}

static void bcast_by(scene_t *scene, uint32_t first, uint32_t end)
{
    uint32_t rank;

    for (rank = first; rank < end; rank++)
        CHECK_EQ(xylem_ibcast(world_of(scene, rank), scene->words[rank], 1,
                              XYLEM_UINT32, 0, &scene->requests[rank]),
                 XYLEM_OK);
}

static void all_are_over(scene_t *scene)
{
    uint32_t rank;

    fabric_run_dry(scene->fabric);
    for (rank = 0; rank < scene->ranks; rank++) {
        CHECK_EQ(xylem_request_test(scene->requests[rank]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(scene->requests[rank]), XYLEM_OK);
    }
}

/* Advances the boards as if all had made calls in which only the root posts, up
 * to piece `number`. */
static void boards_advance(const scene_t *scene, uint64_t number)
{
    uint32_t rank;

    for (rank = 0; rank < scene->ranks; rank++) {
        xyl_board_t **of = world_of(scene, rank)->attached[XYL_MODULE_NODE];
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
    scene_t scene;

    scene_init(&scene, 11, 1);
    for (rank = 0; rank < RANKS; rank++)
        start_allreduce(&scene, rank);
    all_are_over(&scene);
    boards_advance(&scene, renewed - 1);
    while ((*(xyl_board_t **)world_of(&scene, 0)->attached[XYL_MODULE_NODE])
               ->next <= renewed + round) {
        bcast_by(&scene, 0, RANKS);
        all_are_over(&scene);
    }
    boards_advance(&scene, wrap + 1); /* the slot of the allreduce */
    bcast_by(&scene, 1, RANKS - 1);
    everybody_looks(&scene, 8);
    bcast_by(&scene, RANKS - 1, RANKS);
    bcast_by(&scene, 0, 1);
    all_are_over(&scene);
    fabric_destroy(scene.fabric);
}

/* A rank that is late after a call that all were refused is merely late. */
static void test_refusal_of_all(void)
{
    int shares;

    for (shares = 0; shares < 2; shares++) {
        uint32_t rank;
        scene_t scene;

        scene_init(&scene, 11, shares);
        for (rank = 0; rank < RANKS; rank++)
            refused_allreduce(&scene, rank);
        for (rank = 0; rank < RANKS; rank++)
            if (rank != 2)
                start_allreduce(&scene, rank);
        everybody_looks(&scene, 16);
        start_allreduce(&scene, 2);
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_request_test(scene.requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_request_free(scene.requests[rank]), XYLEM_OK);
        }
        fabric_destroy(scene.fabric);
    }
}

/* ---- settings ---- */

/* Rank 2 calls `odd`, the others `even`. */
static void start_with(scene_t *scene, const xylem_coll_args_t *even,
                       const xylem_coll_args_t *odd)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++) {
        xylem_coll_args_t args = rank == 2 ? *odd : *even;
        args.send = scene->words[rank];
        args.recv = scene->sums[rank];
        CHECK_EQ(xylem_coll_start(world_of(scene, rank), &args,
                                  &scene->requests[rank]),
                 XYLEM_OK);
    }
    everybody_looks(scene, 8);
}

static void one_setting_differs(const xylem_coll_args_t *even,
                                const xylem_coll_args_t *odd, const char *word)
{
    int shares;

    for (shares = 0; shares < 2; shares++) {
        scene_t scene;
        scene_init(&scene, 5, shares);
        start_with(&scene, even, odd);
        CHECK_EQ(xylem_team_error(world_of(&scene, 0), NULL),
                 XYLEM_ERR_MISMATCH);
        CHECK(strstr(xylem_last_error(), word) != NULL);
        check_differ(&scene);
    }
}

static void test_settings_differ(void)
{
    const uint64_t counts[RANKS] = {2, 1, 4, 4, 4, 4};
    const uint64_t others[RANKS] = {1, 2, 4, 4, 4, 4};
    const xylem_coll_args_t sum = {.struct_bytes = sizeof sum,
                                   .coll = XYLEM_COLL_ALLREDUCE,
                                   .count = WORDS,
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
    const uint64_t words[RANKS] = {4, 4, 4, 4, 4, 4};
    const uint64_t bytes[RANKS] = {16, 16, 16, 16, 16, 16};
    const xylem_coll_args_t bcast = {.struct_bytes = sizeof bcast,
                                     .coll = XYLEM_COLL_BCAST,
                                     .count = WORDS,
                                     .type = XYLEM_UINT32};
    int way;

    for (way = 0; way < 4; way++) {
        xylem_coll_args_t even = bcast, odd = bcast;
        scene_t scene;

        scene_init(&scene, 5, way % 2);
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
        start_with(&scene, &even, &odd);
        all_are_over(&scene);
        fabric_destroy(scene.fabric);
    }
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
    scene_t scene = {.fabric = fabric_create(RANKS, &options)};
    uint32_t rank, look;

    for (rank = 0; rank + 1 < RANKS; rank++) {
        xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                  .coll = XYLEM_COLL_ALLREDUCE,
                                  .send = scene.words[rank],
                                  .recv = scene.sums[rank],
                                  .count = WORDS,
                                  .type = XYLEM_UINT32,
                                  .op = XYLEM_SUM,
                                  .limit_s = limit_s};
        CHECK_EQ(xylem_coll_start(world_of(&scene, rank), &args,
                                  &scene.requests[rank]),
                 XYLEM_OK);
    }
    for (look = 0; look < 4; look++) {
        fabric_run_dry(scene.fabric);
        CHECK_EQ(xylem_request_test(scene.requests[0]), XYLEM_IN_PROGRESS);
        xyl_hangs_look(fabric_context(scene.fabric, 0));
    }
    check_told(&scene, XYLEM_ERR_TIMED_OUT, 0, "time limit");
    fabric_destroy(scene.fabric);
}

static void test_hang(void)
{
    one_hang("HANG_S=3", 0);
    one_hang("HANG_S=60", 3);
    one_hang("HANG_S=1", 3);
}

static void test_nonsense_is_refused(void)
{
    scene_t scene;

    scene_init(&scene, 1, 0);
    CHECK_EQ(xylem_team_abort(NULL, "why"), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_team_abort(world_of(&scene, 0), NULL),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_team_revoke(NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_team_error(NULL, NULL), XYLEM_ERR_INVALID_HANDLE);
    CHECK_EQ(xylem_team_error(world_of(&scene, 0), NULL), XYLEM_OK);
    fabric_destroy(scene.fabric);
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
    {"telling: calls that differ", test_mismatch},
    {"telling: calls that differ, where nobody waits",
     test_mismatch_without_waiting},
    {"telling: a call that is refused", test_refusal},
    {"telling: calls in jobs of few ranks", test_few_ranks},
    {"telling: words of long ago", test_words_of_long_ago},
    {"telling: a call that all are refused", test_refusal_of_all},
    {"telling: settings that differ", test_settings_differ},
    {"telling: settings that are alike", test_settings_alike},
    {"telling: what hangs is given up", test_hang},
    {"telling: nonsense is refused", test_nonsense_is_refused},
};

CHECK_MAIN(cases)
