/* Teams over the fabric: dup, subset and split, nested and by the dozen, with
 * operations on all of them at once. */
#include "runtime/core/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/faults/agreement.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum { RANKS = 10, TEAMS_MAX = 64 };

/* One handle per rank of the job; NULL: not a member. */
typedef struct teams {
    xylem_team_t *of[RANKS];
} teams_t;

typedef struct making {
    xylem_request_t *requests[RANKS];
} making_t;

static fabric_t *make(uint64_t seed)
{
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = seed % 2 == 0 ? 0 : 100,
                                .delay_max = 20,
                                .reorder = 1};

    return fabric_create(RANKS, &options);
}

static teams_t world_of(fabric_t *fabric)
{
    teams_t world;
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        world.of[i] = fabric_world(fabric, i);
    return world;
}

static int is_made(void *arg)
{
    making_t *making = arg;
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        if (making->requests[i] != NULL &&
            xylem_request_test(making->requests[i]) == XYLEM_IN_PROGRESS)
            return 0;
    return 1;
}

static void making_finish(fabric_t *fabric, making_t *making)
{
    fabric_script_t script = {is_made, NULL, making};
    uint32_t i;

    CHECK(fabric_run_until(fabric, &script));
    for (i = 0; i < RANKS; i++) {
        if (making->requests[i] == NULL)
            continue;
        CHECK_EQ(xylem_request_test(making->requests[i]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(making->requests[i]), XYLEM_OK);
    }
}

static teams_t split(fabric_t *fabric, const teams_t *parent,
                     const uint32_t *colors, const uint32_t *keys)
{
    making_t making = {{NULL}};
    teams_t made;
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        made.of[i] = NULL;
        if (parent->of[i] != NULL)
            CHECK_EQ(xylem_team_isplit(parent->of[i], colors[i], keys[i],
                                       &made.of[i], &making.requests[i]),
                     XYLEM_OK);
    }
    making_finish(fabric, &making);
    return made;
}

static teams_t dup_of(fabric_t *fabric, const teams_t *parent)
{
    making_t making = {{NULL}};
    teams_t made;
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        made.of[i] = NULL;
        if (parent->of[i] != NULL)
            CHECK_EQ(xylem_team_idup(parent->of[i], &made.of[i],
                                     &making.requests[i]),
                     XYLEM_OK);
    }
    making_finish(fabric, &making);
    return made;
}

static teams_t subset(fabric_t *fabric, const teams_t *parent,
                      const uint32_t *ranks, uint32_t count)
{
    making_t making = {{NULL}};
    teams_t made;
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        made.of[i] = NULL;
        if (parent->of[i] != NULL)
            CHECK_EQ(xylem_team_isubset(parent->of[i], ranks, count,
                                        &made.of[i], &making.requests[i]),
                     XYLEM_OK);
    }
    making_finish(fabric, &making);
    return made;
}

static void destroy(teams_t *teams)
{
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        CHECK_EQ(xylem_team_destroy(teams->of[i]), XYLEM_OK);
        teams->of[i] = NULL;
    }
}

/* The members of `member`'s team, in the order of their ranks there. Two
 * teams of one split differ in size or members; here by their colors. */
static uint32_t members(const teams_t *teams, const uint32_t *colors,
                        uint32_t color, xylem_team_t **handles)
{
    uint32_t i, count = 0;

    for (i = 0; i < RANKS; i++)
        if (teams->of[i] != NULL && (colors == NULL || colors[i] == color)) {
            handles[xylem_team_rank(teams->of[i])] = teams->of[i];
            count++;
        }
    return count;
}

/* Some operations on one team, left in flight. */
static void start_some(fabric_t *fabric, xylem_team_t **handles, uint32_t ranks,
                       coll_run_t *run, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    coll_case_t c = coll_case_random(&random, ranks);

    coll_run_init(run, fabric, handles, ranks, &c, seed);
    coll_run_start_all(run);
}

static void use(fabric_t *fabric, const teams_t *teams, const uint32_t *colors,
                uint32_t color, uint64_t seed)
{
    xylem_team_t *handles[RANKS];
    uint32_t i, count = members(teams, colors, color, handles);
    coll_run_t run;

    for (i = 0; i < count; i++)
        CHECK_EQ(xylem_team_size(handles[i]), count);
    start_some(fabric, handles, count, &run, seed);
    if (coll_run_finish(&run))
        coll_run_check(&run);
    fabric_run_dry(fabric);
    coll_run_fini(&run);
}

static void test_dup(void)
{
    fabric_t *fabric = make(1);
    teams_t world = world_of(fabric), copy = dup_of(fabric, &world);
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        CHECK_EQ(xylem_team_rank(copy.of[i]), i);
    use(fabric, &copy, NULL, 0, 3);
    use(fabric, &world, NULL, 0, 4);
    destroy(&copy);
    fabric_destroy(fabric);
}

static void test_split(void)
{
    static const uint32_t colors[RANKS] = {7, 2, 7, XYLEM_COLOR_NONE, 2,
                                           2, 7, 7, XYLEM_COLOR_NONE, 9};
    static const uint32_t keys[RANKS] = {3, 5, 3, 0, 1, 5, 0, 9, 0, 0};
    static const uint32_t ranks[RANKS] = {1, 1, 2, 0, 0, 2, 0, 3, 0, 0};
    fabric_t *fabric = make(2);
    teams_t world = world_of(fabric);
    teams_t parts = split(fabric, &world, colors, keys);
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        CHECK_EQ(parts.of[i] == NULL, colors[i] == XYLEM_COLOR_NONE);
        if (parts.of[i] != NULL)
            CHECK_EQ(xylem_team_rank(parts.of[i]), ranks[i]);
    }
    use(fabric, &parts, colors, 7, 5);
    use(fabric, &parts, colors, 2, 6);
    use(fabric, &parts, colors, 9, 7);
    destroy(&parts);
    fabric_destroy(fabric);
}

static void test_subset(void)
{
    static const uint32_t ranks[] = {7, 1, 4, 9, 0};
    static const uint32_t inner[] = {4, 2, 0}; /* 0, 4 and 7 of the job */
    fabric_t *fabric = make(3);
    teams_t world = world_of(fabric);
    teams_t some = subset(fabric, &world, ranks, 5);
    teams_t fewer = subset(fabric, &some, inner, 3);
    xylem_place_t place;
    uint32_t i;

    for (i = 0; i < 5; i++)
        CHECK_EQ(xylem_team_rank(some.of[ranks[i]]), i);
    CHECK(some.of[2] == NULL && fewer.of[1] == NULL);
    CHECK_EQ(xylem_team_rank(fewer.of[0]), 0);
    CHECK_EQ(xylem_team_rank(fewer.of[7]), 2);
    CHECK_EQ(xylem_team_place(some.of[0], 0, &place), XYLEM_OK);
    CHECK_EQ(place.node, 7 / 4);
    use(fabric, &some, NULL, 0, 8);
    destroy(&some); /* the inner team does not need it */
    use(fabric, &fewer, NULL, 0, 9);
    destroy(&fewer);
    fabric_destroy(fabric);
}

static void test_subset_of_nonsense(void)
{
    static const uint32_t twice[] = {1, 2, 1}, outside[] = {RANKS};
    fabric_t *fabric = make(3);
    xylem_team_t *world = fabric_world(fabric, 0), *made = NULL;
    xylem_request_t *request = NULL;

    CHECK_EQ(xylem_team_isubset(world, twice, 3, &made, &request),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_team_isubset(world, outside, 1, &made, &request),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_team_isubset(world, NULL, 0, &made, &request),
             XYLEM_ERR_INVALID_ARG);
    CHECK(made == NULL && request == NULL);
    CHECK_EQ(xylem_team_destroy(world), XYLEM_ERR_BUSY);
    CHECK_EQ(xylem_team_destroy(NULL), XYLEM_OK);
    CHECK_EQ(xylem_team_size(NULL), 0);
    CHECK_EQ(xylem_team_rank(NULL), UINT32_MAX);
    fabric_destroy(fabric);
}

/* Halves of halves, all alive and in use at once. */
static void test_dozens(void)
{
    uint64_t random = 17;
    fabric_t *fabric = make(4);
    teams_t teams[TEAMS_MAX];
    uint32_t colors[RANKS], keys[RANKS], i, t;

    teams[0] = world_of(fabric);
    for (t = 1; t < TEAMS_MAX; t++) {
        const teams_t *parent = &teams[random_below(&random, t)];
        for (i = 0; i < RANKS; i++) {
            colors[i] = random_below(&random, 8) == 0 ? XYLEM_COLOR_NONE : 1;
            keys[i] = random_below(&random, 4);
        }
        teams[t] = split(fabric, parent, colors, keys);
        xylem_team_t *handles[RANKS];
        if (members(&teams[t], NULL, 0, handles) == 0)
            teams[t] = dup_of(fabric, &teams[0]);
    }
    for (t = 0; t < TEAMS_MAX; t++)
        use(fabric, &teams[t], NULL, 0, t);
    for (t = TEAMS_MAX; t-- > 1;)
        destroy(&teams[t]);
    fabric_destroy(fabric);
}

/* Teams are given up at once; what they have in flight completes. */
static void test_destroy_in_flight(void)
{
    enum { TEAMS = 20 };
    coll_run_t runs[TEAMS];
    fabric_t *fabric = make(5);
    teams_t world = world_of(fabric), teams[TEAMS];
    xylem_team_t *handles[RANKS];
    uint32_t t, i;

    for (t = 0; t < TEAMS; t++) {
        uint64_t random = t;
        coll_case_t c = coll_case_random(&random, RANKS);
        c.data = c.coll == XYLEM_COLL_BCAST ? COLL_BYTES : COLL_UINT32;
        c.flags = XYLEM_FLAG_AUTOFREE;
        teams[t] = dup_of(fabric, &world);
        members(&teams[t], NULL, 0, handles);
        coll_run_init(&runs[t], fabric, handles, RANKS, &c, t);
        coll_run_start_all(&runs[t]);
        destroy(&teams[t]);
        for (i = 0; i < RANKS; i++) /* the handles are gone */
            runs[t].all[i].team = fabric_world(fabric, i);
    }
    for (t = 0; t < TEAMS; t++) {
        CHECK(coll_run_finish(&runs[t]));
        coll_run_check(&runs[t]);
    }
    fabric_run_dry(fabric);
    for (t = 0; t < TEAMS; t++)
        coll_run_fini(&runs[t]);
    fabric_destroy(fabric);
}

/* A slot is free again when its team is gone, also when ranks disagree about
 * the numbers; but all others come before it, should a message be left. */
static void test_slots(void)
{
    static const uint32_t keys[RANKS] = {0};
    fabric_t *fabric = make(6);
    teams_t world = world_of(fabric), odd, team;
    uint32_t colors[RANKS], slots[RANKS], i, times;

    for (i = 0; i < RANKS; i++)
        colors[i] = i % 2 == 1 ? 1 : XYLEM_COLOR_NONE;
    odd = split(fabric, &world, colors, keys); /* shifts the odd ranks' slots */
    for (times = 0; times < 40; times++) {
        team = dup_of(fabric, &world);
        for (i = 0; i < RANKS; i++) {
            if (times == 0)
                slots[i] = team.of[i]->slot;
            CHECK_EQ(team.of[i]->slot, slots[i] + times);
        }
        use(fabric, &team, NULL, 0, times);
        destroy(&team);
    }
    CHECK(slots[0] != slots[1]);
    for (times = 40; times < XYL_TEAM_SLOTS - 1; times++) {
        uint32_t slot = xyl_context_slot_acquire(fabric_context(fabric, 0));
        CHECK(slot != slots[0]);
        xyl_context_slot_release(fabric_context(fabric, 0), slot);
    }
    CHECK_EQ(xyl_context_slot_acquire(fabric_context(fabric, 0)), slots[0]);
    destroy(&odd);
    fabric_destroy(fabric);
}

static void test_slots_run_out(void)
{
    fabric_t *fabric = make(7);
    teams_t world = world_of(fabric), team;
    xylem_context_t *context = fabric_context(fabric, 3);
    making_t making = {{NULL}};
    fabric_script_t script = {is_made, NULL, &making};
    uint32_t i;

    while (xyl_context_slot_acquire(context) != XYL_TEAM_SLOTS)
        continue;
    for (i = 0; i < RANKS; i++)
        CHECK_EQ(xylem_team_idup(world.of[i], &team.of[i], &making.requests[i]),
                 XYLEM_OK);
    CHECK(fabric_run_until(fabric, &script));
    for (i = 0; i < RANKS; i++) { /* every rank is told */
        CHECK_EQ(xylem_request_test(making.requests[i]), XYLEM_ERR_NO_RESOURCE);
        xylem_request_free(making.requests[i]);
    }
    for (i = 1; i < XYL_TEAM_SLOTS; i++)
        xyl_context_slot_release(context, i);
    team = dup_of(fabric, &world);
    destroy(&team);
    fabric_destroy(fabric);
}

/* Some ranks alone, in an order of their own, without their parent. */
static void test_tickets(void)
{
    static const uint32_t list[] = {7, 2, 5};
    enum { COUNT = sizeof list / sizeof *list };
    fabric_t *fabric = make(8);
    xylem_ticket_t tickets[COUNT], extra;
    teams_t team = {{NULL}};
    xylem_context_t *context;
    uint32_t i, times;

    for (times = 0; times < 3; times++) {
        for (i = 0; i < COUNT; i++) {
            context = fabric_context(fabric, list[i]);
            CHECK_EQ(xylem_ticket_draw(context, &extra), XYLEM_OK);
            CHECK_EQ(xylem_ticket_draw(context, &tickets[i]), XYLEM_OK);
            CHECK_EQ(xylem_ticket_return(context, &extra), XYLEM_OK);
        }
        for (i = 0; i < COUNT; i++)
            CHECK_EQ(xylem_team_create(fabric_context(fabric, list[i]), tickets,
                                       COUNT, i, &team.of[list[i]]),
                     XYLEM_OK);
        use(fabric, &team, NULL, 0, times);
        destroy(&team);
    }
    context = fabric_context(fabric, list[0]);
    CHECK_EQ(xylem_team_create(context, tickets, COUNT, 1, &team.of[0]),
             XYLEM_ERR_INVALID_ARG);
    tickets[1].word[0]++;
    CHECK_EQ(xylem_team_create(context, tickets, COUNT, 0, &team.of[0]),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_ticket_return(context, &tickets[1]), XYLEM_ERR_INVALID_ARG);
    fabric_destroy(fabric);
}

/* ---- threads ---- */

static void *agreements_look(void *arg)
{
    int i;

    for (i = 0; i < 1000; i++)
        xyl_agreements_look(arg);
    return NULL;
}

/* A rank of another team dies: the library looks at agreements while the
 * program destroys a team that has agreed on something. */
static void test_destroy_while_looked_at(void)
{
    fabric_options_t options = {.seed = 1, .tells_failures = 1};
    fabric_t *fabric = fabric_create(RANKS, &options);
    teams_t world = world_of(fabric), alone;
    uint32_t colors[RANKS], keys[RANKS] = {0}, rank, flags = 1;
    pthread_t thread;

    for (rank = 0; rank < RANKS; rank++)
        colors[rank] = rank;
    alone = split(fabric, &world, colors, keys);
    CHECK_EQ(xylem_team_agree(alone.of[0], &flags), XYLEM_OK);
    CHECK_EQ(flags, 1);
    CHECK_EQ(pthread_create(&thread, NULL, agreements_look,
                            fabric_context(fabric, 0)),
             0);
    CHECK_EQ(xylem_team_destroy(alone.of[0]), XYLEM_OK);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (rank = 1; rank < RANKS; rank++)
        CHECK_EQ(xylem_team_destroy(alone.of[rank]), XYLEM_OK);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"team: dup", test_dup},
    {"team: split by color and key", test_split},
    {"team: subset, nested", test_subset},
    {"team: nonsense is refused", test_subset_of_nonsense},
    {"team: dozens alive", test_dozens},
    {"team: destroyed with operations in flight", test_destroy_in_flight},
    {"team: slots are used again", test_slots},
    {"team: slots run out", test_slots_run_out},
    {"team: of tickets", test_tickets},
    {"team: destroyed while agreements are looked at",
     test_destroy_while_looked_at},
};

CHECK_MAIN(cases)
