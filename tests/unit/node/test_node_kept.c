/* Boards that teams have left, and that the next team of the same ranks takes:
 * when none is made, and when one is all the same. */
#include <string.h>

#include "collectives/node/boards.h"
#include "collectives/node/kept.h"
#include "collectives/node/state.h"
#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum { RANKS = 4, TURNS = 60, HELD_MAX = 12 };

/* ---- how many boards a rank has made ---- */

typedef struct rank_shm {
    const xyl_shm_t *shm;
    xyl_shm_ops_t ops;
    const xyl_shm_ops_t *real;
    uint32_t attached, mapped;
} rank_shm_t;

static rank_shm_t of_rank[RANKS];

static rank_shm_t *find(const xyl_shm_t *shm)
{
    uint32_t rank = 0;

    while (of_rank[rank].shm != shm)
        rank++;
    return &of_rank[rank];
}

static void *attach(xyl_shm_t *shm, uint64_t key, size_t bytes)
{
    find(shm)->attached++;
    find(shm)->mapped++;
    return find(shm)->real->attach(shm, key, bytes);
}

static void detach(xyl_shm_t *shm, uint64_t key)
{
    find(shm)->mapped--;
    find(shm)->real->detach(shm, key);
}

typedef struct scene {
    uint64_t random;
    fabric_t *fabric;
    xylem_team_t *world[RANKS];
} scene_t;

static scene_t scene_make(uint64_t seed)
{
    const fabric_options_t options = {.seed = seed,
                                      .delay_max = 20,
                                      .reorder = 1,
                                      .tells_failures = 1,
                                      .shares_memory = 1};
    scene_t scene = {random_mix(seed), fabric_create(RANKS, &options), {NULL}};
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++) {
        rank_shm_t *own = &of_rank[rank];
        xyl_shm_t *shm = fabric_context(scene.fabric, rank)->shm;
        *own = (rank_shm_t){shm, *shm->ops, shm->ops, 0, 0};
        own->ops.attach = attach;
        own->ops.detach = detach;
        shm->ops = &own->ops;
        scene.world[rank] = fabric_world(scene.fabric, rank);
    }
    return scene;
}

/* ---- teams ---- */

typedef struct teams {
    xylem_team_t *of[RANKS];
    uint32_t colors[RANKS];
    int is_used;
} teams_t;

/* Each rank in an order of its own. */
static teams_t split(scene_t *scene, xylem_team_t **parents,
                     const uint32_t *colors, const uint32_t *keys)
{
    uint32_t i, rank, first = random_below(&scene->random, RANKS);
    xylem_request_t *requests[RANKS];
    teams_t teams = {.is_used = 0};

    for (i = 0; i < RANKS; i++) {
        rank = (first + i) % RANKS;
        teams.of[rank] = NULL;
        teams.colors[rank] = colors[rank];
        CHECK_EQ(xylem_team_isplit(parents[rank], colors[rank], keys[rank],
                                   &teams.of[rank], &requests[rank]),
                 XYLEM_OK);
    }
    fabric_run_dry(scene->fabric);
    for (rank = 0; rank < RANKS; rank++) {
        CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
    }
    return teams;
}

static const uint32_t all[RANKS], in_order[RANKS] = {0, 1, 2, 3};

static teams_t dup(scene_t *scene)
{
    return split(scene, scene->world, all, in_order);
}

/* Sums of `count` words, of all teams at once, `calls` times. */
static void use(scene_t *scene, teams_t *teams, uint32_t calls, uint32_t count)
{
    static uint64_t words[RANKS][512];
    xylem_request_t *requests[RANKS];
    uint32_t rank, other, call;
    uint64_t sum;

    teams->is_used = 1;
    for (call = 0; call < calls; call++) {
        for (rank = 0; rank < RANKS; rank++) {
            xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                      .coll = XYLEM_COLL_ALLREDUCE,
                                      .send = XYLEM_IN_PLACE,
                                      .recv = words[rank],
                                      .count = count,
                                      .type = XYLEM_UINT64,
                                      .op = XYLEM_SUM};
            requests[rank] = NULL;
            if (teams->of[rank] == NULL)
                continue;
            words[rank][0] = words[rank][count - 1] = rank + 100 * call;
            CHECK_EQ(xylem_coll_start(teams->of[rank], &args, &requests[rank]),
                     XYLEM_OK);
        }
        fabric_run_dry(scene->fabric);
        for (rank = 0; rank < RANKS; rank++) {
            if (requests[rank] == NULL)
                continue;
            CHECK_EQ(xylem_request_test(requests[rank]), XYLEM_OK);
            CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
            for (sum = 0, other = 0; other < RANKS; other++)
                if (teams->of[other] != NULL &&
                    teams->colors[other] == teams->colors[rank])
                    sum += other + 100 * call;
            CHECK_EQ(words[rank][0], sum);
            CHECK_EQ(words[rank][count - 1], sum);
        }
    }
}

static void destroy(scene_t *scene, teams_t *teams)
{
    uint32_t i, first = random_below(&scene->random, RANKS);

    for (i = 0; i < RANKS; i++) {
        CHECK_EQ(xylem_team_destroy(teams->of[(first + i) % RANKS]), XYLEM_OK);
        teams->of[(first + i) % RANKS] = NULL;
    }
    fabric_run_dry(scene->fabric);
}

static uint32_t attached(void)
{
    uint32_t rank, sum = 0;

    for (rank = 0; rank < RANKS; rank++)
        sum += of_rank[rank].attached;
    return sum;
}

static void use_once(scene_t *scene, teams_t teams)
{
    use(scene, &teams, 1, 1);
    destroy(scene, &teams);
}

/* ---- the tests ---- */

/* Only the first of many teams makes a board, also when slots are reused. */
static void test_one_after_the_other(void)
{
    scene_t scene = scene_make(1);
    uint32_t turn, before;
    teams_t teams;

    use_once(&scene, dup(&scene));
    before = attached();
    for (turn = 0; turn < TURNS; turn++) {
        teams = dup(&scene);
        use(&scene, &teams, 1 + turn % 20, turn % 3 == 0 ? 500 : 1);
        destroy(&scene, &teams);
    }
    CHECK_EQ(attached(), before);
    fabric_destroy(scene.fabric);
}

/* Halves, then other halves, then all in another order. */
static void test_other_ranks(void)
{
    static const uint32_t halves[RANKS] = {1, 1, 2, 2}, odd[] = {1, 2, 1, 2},
                          turned[] = {3, 2, 1, 0};
    scene_t scene = scene_make(2);
    uint32_t before;

    use_once(&scene, split(&scene, scene.world, halves, in_order));
    before = attached();
    use_once(&scene, split(&scene, scene.world, halves, in_order));
    CHECK_EQ(attached(), before);
    use_once(&scene, split(&scene, scene.world, odd, in_order));
    CHECK_EQ(attached(), before + RANKS);
    use_once(&scene, split(&scene, scene.world, odd, turned));
    CHECK_EQ(attached(), before + 2 * RANKS);
    use_once(&scene, dup(&scene));
    use_once(&scene, split(&scene, scene.world, all, turned));
    CHECK_EQ(attached(), before + 4 * RANKS);
    fabric_destroy(scene.fabric);
}

/* One rank has given its board up: all have a new one. */
static void test_one_has_none(void)
{
    scene_t scene = scene_make(3);
    xylem_context_t *context = fabric_context(scene.fabric, 2);
    xyl_board_t *board;
    uint32_t before;

    use_once(&scene, dup(&scene));
    board = xyl_node_board_offered(scene.world[2], RANKS);
    CHECK(board != NULL);
    xyl_node_board_give_up(context, board);
    before = attached();
    use_once(&scene, dup(&scene));
    CHECK_EQ(attached(), before + RANKS);
    use_once(&scene, dup(&scene));
    CHECK_EQ(attached(), before + RANKS);
    fabric_destroy(scene.fabric);
}

/* Ranks that have called differently there do not go on together. */
static void test_called_otherwise(void)
{
    scene_t scene = scene_make(4);
    xyl_board_t *board;
    uint32_t before;

    use_once(&scene, dup(&scene));
    board = xyl_node_of_context(fabric_context(scene.fabric, 1))->kept;
    CHECK(board != NULL);
    board->past++;
    before = attached();
    use_once(&scene, dup(&scene));
    CHECK_EQ(attached(), before + RANKS);
    fabric_destroy(scene.fabric);
}

/* The board of a team that has failed, or has had calls with tags, is not
 * kept. */
static void test_not_kept(void)
{
    scene_t scene = scene_make(5);
    xylem_request_t *requests[RANKS];
    uint32_t rank;
    teams_t teams = dup(&scene);

    use(&scene, &teams, 1, 1);
    CHECK_EQ(xylem_team_abort(teams.of[3], "a test"), XYLEM_OK);
    fabric_run_dry(scene.fabric);
    destroy(&scene, &teams);
    teams = dup(&scene);
    for (rank = 0; rank < RANKS; rank++) {
        const xylem_coll_args_t args = {
            .struct_bytes = sizeof args, .coll = XYLEM_COLL_BARRIER, .tag = 7};
        CHECK_EQ(xylem_coll_start(teams.of[rank], &args, &requests[rank]),
                 XYLEM_OK);
    }
    fabric_run_dry(scene.fabric);
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(requests[rank]), XYLEM_OK);
    destroy(&scene, &teams);
    for (rank = 0; rank < RANKS; rank++)
        CHECK(xyl_node_of_context(fabric_context(scene.fabric, rank))->kept ==
              NULL);
    fabric_destroy(scene.fabric);
}

/* The number of kept boards is bounded, and all are given up when places run
 * out. */
static void test_bounds(void)
{
    scene_t scene = scene_make(6);
    xylem_context_t *context = fabric_context(scene.fabric, 0);
    uint32_t i, mapped;
    teams_t teams[HELD_MAX];

    for (i = 0; i < HELD_MAX; i++) {
        teams[i] = dup(&scene);
        use(&scene, &teams[i], 1, 1);
    }
    for (i = 0; i < HELD_MAX; i++)
        destroy(&scene, &teams[i]);
    mapped = of_rank[0].mapped;
    CHECK(mapped < HELD_MAX);
    context->shm->keys_max = mapped - 1; /* as if there were no more */
    CHECK(xyl_node_place_draw(context));
    xyl_node_place_return(context);
    CHECK(xyl_node_of_context(context)->kept == NULL);
    CHECK(of_rank[0].mapped < mapped);
    use_once(&scene, dup(&scene));
    fabric_destroy(scene.fabric);
}

/* Teams come and go as chance has it, with calls of all lengths, of several
 * parents. */
static void test_any_order(void)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(40); seed++) {
        scene_t scene = scene_make(100 + seed);
        teams_t held[3] = {{.is_used = 0}};
        uint32_t turn, rank, place, colors[RANKS], keys[RANKS];

        for (turn = 0; turn < TURNS; turn++) {
            uint32_t kinds = random_between(&scene.random, 1, 2);
            int is_turned = random_below(&scene.random, 4) == 0;
            place = random_below(&scene.random, 3);
            if (held[place].of[0] != NULL) {
                destroy(&scene, &held[place]);
                continue;
            }
            for (rank = 0; rank < RANKS; rank++) {
                colors[rank] = rank * kinds / RANKS;
                keys[rank] = is_turned ? RANKS - rank : rank;
            }
            held[place] = split(&scene, scene.world, colors, keys);
            use(&scene, &held[place], random_below(&scene.random, 5),
                random_below(&scene.random, 2) == 0 ? 1 : 512);
        }
        for (place = 0; place < 3; place++)
            destroy(&scene, &held[place]);
        fabric_destroy(scene.fabric);
    }
}

/* A rank dies while teams are made, or after they went on with a kept board:
 * the others are told while they make the team or in the first call, and end.
 */
static void test_death(void)
{
    uint64_t seed;

    for (seed = 0; seed < check_cases(60); seed++) {
        scene_t scene = scene_make(500 + seed);
        uint32_t rank, victim = random_below(&scene.random, RANKS);
        int is_late = random_below(&scene.random, 2) == 0;
        xylem_request_t *making[RANKS], *calls[RANKS] = {NULL};
        xylem_team_t *teams[RANKS] = {NULL};

        use_once(&scene, dup(&scene));
        for (rank = 0; rank < RANKS; rank++)
            CHECK_EQ(
                xylem_team_idup(scene.world[rank], &teams[rank], &making[rank]),
                XYLEM_OK);
        if (is_late)
            fabric_run_dry(scene.fabric);
        else
            fabric_advance(scene.fabric,
                           random_below(&scene.random, 60) * SIM_US);
        fabric_kill(scene.fabric, victim, 50);
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                            .coll = XYLEM_COLL_BARRIER};
            if (rank == victim)
                continue;
            CHECK(xylem_request_test(making[rank]) != XYLEM_IN_PROGRESS);
            if (teams[rank] != NULL)
                CHECK_EQ(xylem_coll_start(teams[rank], &args, &calls[rank]),
                         XYLEM_OK);
        }
        fabric_run_dry(scene.fabric);
        fabric_isolate(scene.fabric, victim);
        fabric_run_dry(scene.fabric);
        for (rank = 0; rank < RANKS; rank++) {
            CHECK_EQ(xylem_request_free(making[rank]), XYLEM_OK);
            if (calls[rank] != NULL)
                CHECK_EQ(xylem_request_test(calls[rank]),
                         XYLEM_ERR_PROC_FAILED);
            CHECK_EQ(xylem_request_free(calls[rank]), XYLEM_OK);
            CHECK_EQ(xylem_team_destroy(teams[rank]), XYLEM_OK);
            CHECK(
                xyl_node_of_context(fabric_context(scene.fabric, rank))->kept ==
                NULL);
        }
        fabric_destroy(scene.fabric);
    }
}

static const check_case_t cases[] = {
    {"kept: teams one after the other", test_one_after_the_other},
    {"kept: teams of other ranks", test_other_ranks},
    {"kept: a rank that has none", test_one_has_none},
    {"kept: ranks that have called otherwise", test_called_otherwise},
    {"kept: not after a failure, nor with tags", test_not_kept},
    {"kept: only so many", test_bounds},
    {"kept: any order", test_any_order},
    {"kept: a rank dies", test_death},
};

CHECK_MAIN(cases)
