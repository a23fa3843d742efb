/* One rank is in as many teams as the memory of its node has room for, the
 * others are not: all ranks of its next team go over the net, and none fails
 * for lack of memory. */
#include <string.h>

#include "progress/shm/shm.h"
#include "runtime/core/context.h"
#include "simulator/world.h"
#include "tests/support/check.h"

enum { RANKS = 3, KEYS_MAX = 3, TEAMS_MAX = 4, EVENTS_MAX = 1000000 };

/* ---- memory that has no room beyond what it says ---- */

typedef struct rank_shm {
    xyl_shm_t *shm;
    xyl_shm_ops_t ops;
    const xyl_shm_ops_t *real;
    uint32_t attached;
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
    rank_shm_t *own = find(shm);

    if (own->attached == KEYS_MAX)
        return NULL;
    own->attached++;
    return own->real->attach(shm, key, bytes);
}

static void detach(xyl_shm_t *shm, uint64_t key)
{
    find(shm)->attached--;
    find(shm)->real->detach(shm, key);
}

static void limit(xylem_context_t *context, uint32_t rank)
{
    rank_shm_t *own = &of_rank[rank];

    own->shm = context->shm;
    own->real = context->shm->ops;
    own->attached = 0;
    own->ops = *own->real;
    own->ops.attach = attach;
    own->ops.detach = detach;
    context->shm->ops = &own->ops;
    context->shm->keys_max = KEYS_MAX;
}

/* ---- teams ---- */

typedef struct scene {
    sim_world_t *world;
    xylem_team_t *team[RANKS][TEAMS_MAX];
    xylem_request_t *request[RANKS];
    uint32_t sum[RANKS];
    uint32_t ended;
} scene_t;

static xylem_context_t *context_of(const scene_t *scene, uint32_t rank)
{
    return sim_world_context(scene->world, rank);
}

static void scene_init(scene_t *scene)
{
    sim_machine_t machine;
    sim_options_t options = {.machine = &machine,
                             .nodes = 1,
                             .ranks_per_node = RANKS,
                             .shares_memory = 1,
                             .payload = SIM_PAYLOAD_MOVED};
    uint32_t rank;

    memset(scene, 0, sizeof *scene);
    sim_machine_ideal(RANKS, &machine);
    CHECK_EQ(sim_world_create(&options, &scene->world), XYLEM_OK);
    for (rank = 0; rank < RANKS; rank++)
        limit(context_of(scene, rank), rank);
}

/* Makes a team of two ranks by tickets. */
static void pair_up(scene_t *scene, uint32_t number, uint32_t a, uint32_t b)
{
    xylem_ticket_t tickets[2];

    CHECK_EQ(xylem_ticket_draw(context_of(scene, a), &tickets[0]), XYLEM_OK);
    CHECK_EQ(xylem_ticket_draw(context_of(scene, b), &tickets[1]), XYLEM_OK);
    CHECK_EQ(xylem_team_create(context_of(scene, a), tickets, 2, 0,
                               &scene->team[a][number]),
             XYLEM_OK);
    CHECK_EQ(xylem_team_create(context_of(scene, b), tickets, 2, 1,
                               &scene->team[b][number]),
             XYLEM_OK);
}

static void split(scene_t *scene, uint32_t number)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_team_isplit(xylem_context_world(context_of(scene, rank)),
                                   rank == 2 ? XYLEM_COLOR_NONE : 0, rank,
                                   &scene->team[rank][number],
                                   &scene->request[rank]),
                 XYLEM_OK);
    CHECK(sim_world_run(scene->world, SIM_NEVER, EVENTS_MAX));
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(scene->request[rank]), XYLEM_OK);
}

static void destroy(scene_t *scene, uint32_t number)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++) {
        CHECK_EQ(xylem_team_destroy(scene->team[rank][number]), XYLEM_OK);
        scene->team[rank][number] = NULL;
    }
}

static void completed(void *arg, xylem_status_t status)
{
    scene_t *scene = arg;

    CHECK_EQ(status, XYLEM_OK);
    scene->ended++;
}

/* An allreduce of all of the team, which must come out right. */
static void check_team(scene_t *scene, uint32_t number)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLREDUCE,
                              .flags = XYLEM_FLAG_AUTOFREE,
                              .send = XYLEM_IN_PLACE,
                              .count = 1,
                              .type = XYLEM_UINT32,
                              .op = XYLEM_SUM,
                              .on_complete = completed,
                              .arg = scene};
    uint32_t rank, members = 0;
    xylem_request_t *request;

    scene->ended = 0;
    for (rank = 0; rank < RANKS; rank++) {
        if (scene->team[rank][number] == NULL)
            continue;
        members++;
        scene->sum[rank] = 1;
        args.recv = &scene->sum[rank];
        CHECK_EQ(xylem_coll_start(scene->team[rank][number], &args, &request),
                 XYLEM_OK);
    }
    CHECK(sim_world_run(scene->world, SIM_NEVER, EVENTS_MAX));
    CHECK_EQ(scene->ended, members);
    for (rank = 0; rank < RANKS; rank++)
        if (scene->team[rank][number] != NULL)
            CHECK_EQ(scene->sum[rank], members);
}

static void scene_fini(scene_t *scene)
{
    uint32_t number;

    for (number = 0; number < TEAMS_MAX; number++)
        destroy(scene, number);
    CHECK_EQ(sim_world_destroy(scene->world), XYLEM_OK);
}

static void test_one_has_no_place(void)
{
    static scene_t scene;
    uint32_t number;

    scene_init(&scene);
    pair_up(&scene, 0, 0, 2);
    pair_up(&scene, 1, 0, 2);
    pair_up(&scene, 2, 0, 1); /* rank 0 has none left, rank 1 has */
    split(&scene, 3);
    for (number = 0; number < TEAMS_MAX; number++)
        check_team(&scene, number);
    CHECK_EQ(of_rank[0].attached, 2);
    CHECK_EQ(of_rank[1].attached, 0);
    scene_fini(&scene);
}

/* Places that teams leave go to others. */
static void test_places_come_back(void)
{
    static scene_t scene;
    uint32_t round;

    scene_init(&scene);
    for (round = 0; round < 2 * KEYS_MAX; round++) {
        pair_up(&scene, 0, 0, 1);
        split(&scene, 1);
        check_team(&scene, 0);
        check_team(&scene, 1);
        CHECK_EQ(of_rank[0].attached, 2);
        destroy(&scene, 0);
        destroy(&scene, 1);
    }
    scene_fini(&scene);
}

static const check_case_t cases[] = {
    {"one_has_no_place", test_one_has_no_place},
    {"places_come_back", test_places_come_back},
};
CHECK_MAIN(cases)
