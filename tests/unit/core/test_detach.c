/* Operations that detach: a call is over for a rank when its own part is, and
 * late ranks get the missing data later. Simulated ranks, two on each node,
 * share its memory; some of the leaders stop for a while. Meanwhile the user
 * may fill the buffers with other data, start the request again, give it up, or
 * destroy the context. */
#include <string.h>

#include "runtime/core/detach.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum { NODES = 3, PPN = 2, RANKS = NODES * PPN, COUNT = 20000, CALLS = 12 };

static const sim_time_t burst = 10 * SIM_MS;

typedef struct player {
    fabric_t *fabric;
    uint32_t rank;
    xylem_coll_t coll;
    xylem_request_t *request;
    uint32_t calls;
    int32_t send[COUNT], recv[COUNT];
    sim_time_t end[CALLS];
} player_t;

static player_t players[RANKS];

/* Operators of the user, which are made and destroyed meanwhile. */
static struct {
    int are_destroyed;
    xylem_op_t of[RANKS];            /* that requests combine by; 0: none */
    uint32_t destroyed, kept_longer; /* while something was detached */
} ops;

static void fill(player_t *player)
{
    uint32_t i;

    for (i = 0; i < COUNT; i++) {
        player->send[i] =
            (int32_t)(i * 3 + player->rank * 1000 + player->calls * 7);
        player->recv[i] = -1;
    }
    if (player->coll == XYLEM_COLL_BCAST && player->rank == 0)
        memcpy(player->recv, player->send, sizeof player->recv);
}

static void check(const player_t *player)
{
    int is_reduce = player->coll == XYLEM_COLL_REDUCE;
    uint32_t i, rank, wrong = 0;
    int64_t wanted;

    if (is_reduce && player->rank != 0)
        return;
    for (i = 0; i < COUNT; i++) {
        wanted = 0;
        for (rank = 0; rank < (is_reduce ? RANKS : 1); rank++)
            wanted += i * 3 + rank * 1000 + player->calls * 7;
        wrong += player->recv[i] != wanted;
    }
    CHECK_EQ(wrong, 0);
}

static void call(player_t *player)
{
    fill(player);
    CHECK_EQ(xylem_request_start(player->request), XYLEM_OK);
}

static void add(void *result, const void *left, const void *right, size_t count,
                void *arg)
{
    const int32_t *a = left, *b = right;
    int32_t *sum = result;
    size_t i;

    (void)arg;
    for (i = 0; i < count; i++)
        sum[i] = a[i] + b[i];
}

/* Destroys an unused operator and the one of the call, in a callback, which
 * must not wait. */
static void ops_destroy(const player_t *player)
{
    xylem_context_t *context = fabric_context(player->fabric, player->rank);
    xylem_op_t other;

    if (!ops.are_destroyed || !xyl_detach_goes_on(context))
        return;
    CHECK_EQ(xylem_op_create(context, add, NULL, 0, &other), XYLEM_OK);
    CHECK_EQ(xylem_op_destroy(context, other), XYLEM_OK);
    ops.destroyed++;
    if (ops.of[player->rank] == 0)
        return;
    CHECK_EQ(xylem_op_destroy(context, ops.of[player->rank]),
             XYLEM_ERR_IN_CALLBACK);
    ops.kept_longer++;
}

static void called(void *arg, xylem_status_t status)
{
    player_t *player = arg;

    CHECK_EQ(status, XYLEM_OK);
    check(player);
    ops_destroy(player);
    player->end[player->calls] =
        sim_world_now(fabric_sim(player->fabric), player->rank);
    if (++player->calls < CALLS)
        call(player);
}

static fabric_t *world_of(xylem_coll_t coll, const sim_noise_t *noise,
                          const char *const *settings)
{
    static xylem_place_t places[RANKS];
    fabric_options_t options = {.seed = 1,
                                .delay_max = 2,
                                .places = places,
                                .shares_memory = 1,
                                .noise = noise,
                                .settings = settings};
    fabric_t *fabric;
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        places[rank] = (xylem_place_t){.node = rank / PPN, .core = rank % PPN};
    fabric = fabric_create(RANKS, &options);
    for (rank = 0; rank < RANKS; rank++) {
        player_t *player = &players[rank];
        xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                  .coll = coll,
                                  .send = player->send,
                                  .recv = player->recv,
                                  .count = COUNT,
                                  .type = XYLEM_INT32,
                                  .op = XYLEM_SUM,
                                  .algorithm = "han:1",
                                  .on_complete = called,
                                  .arg = player};
        memset(player, 0, sizeof *player);
        player->fabric = fabric;
        player->rank = rank;
        player->coll = coll;
        if (coll == XYLEM_COLL_BCAST)
            args.send = NULL;
        if (ops.are_destroyed && coll == XYLEM_COLL_REDUCE) {
            CHECK_EQ(xylem_op_create(fabric_context(fabric, rank), add, NULL,
                                     XYLEM_OP_COMMUTATIVE, &args.op),
                     XYLEM_OK);
            ops.of[rank] = args.op;
        }
        CHECK_EQ(xylem_coll_init(fabric_world(fabric, rank), &args,
                                 &player->request),
                 XYLEM_OK);
    }
    return fabric;
}

static int all_have_called(void *arg)
{
    uint32_t rank;

    (void)arg;
    for (rank = 0; rank < RANKS; rank++)
        if (players[rank].calls < CALLS)
            return 0;
    return 1;
}

static void play(fabric_t *fabric)
{
    const fabric_script_t script = {.is_done = all_have_called};
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        call(&players[rank]);
    CHECK(fabric_run_until(fabric, &script));
}

/* Ends the test; the user has given up what is under way. */
static void finish(fabric_t *fabric)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(players[rank].request), XYLEM_OK);
    fabric_run_dry(fabric);
    for (rank = 0; rank < RANKS; rank++)
        CHECK(!xyl_detach_goes_on(fabric_context(fabric, rank)));
    fabric_destroy(fabric);
}

/* The leader of the last node stops for a burst at the begin. Checks which
 * ranks of other nodes wait for it. */
static void one_late(xylem_coll_t coll, const char *const *settings,
                     int is_waited_for)
{
    const sim_noise_t noise = {.kind = SIM_NOISE_ONCE,
                               .mhz = 1,
                               .max = burst,
                               .first = RANKS - PPN,
                               .last = RANKS - PPN};
    fabric_t *fabric = world_of(coll, &noise, settings);
    uint32_t rank, first = coll == XYLEM_COLL_REDUCE;

    play(fabric);
    for (rank = first * PPN; rank < RANKS - PPN; rank += PPN)
        CHECK_EQ(players[rank].end[CALLS - 1] >= burst, is_waited_for);
    CHECK(players[RANKS - PPN].end[CALLS - 1] >= burst);
    finish(fabric);
}

static void nobody_waits_for_a_late_leader(void)
{
    static const char *const settings[] = {"NOISE_BUDGET=64M",
                                           "DETACH_BYTES=16K", NULL};

    one_late(XYLEM_COLL_BCAST, settings, 0);
    one_late(XYLEM_COLL_REDUCE, settings, 0);
}

static void all_wait_where_nothing_detaches(void)
{
    static const char *const settings[] = {"NOISE_BUDGET=64M", "DETACH_BYTES=0",
                                           NULL};

    one_late(XYLEM_COLL_BCAST, settings, 1);
    one_late(XYLEM_COLL_REDUCE, settings, 1);
}

/* Four calls fit. */
static void all_wait_where_there_is_no_room(void)
{
    static const char *const settings[] = {"NOISE_BUDGET=400K",
                                           "DETACH_BYTES=16K", NULL};

    one_late(XYLEM_COLL_BCAST, settings, 1);
    one_late(XYLEM_COLL_REDUCE, settings, 1);
}

/* The library chooses the budget. */
static void nobody_waits_with_the_chosen_budget(void)
{
    static const char *const settings[] = {"DETACH_BYTES=16K", NULL};

    one_late(XYLEM_COLL_BCAST, settings, 0);
    one_late(XYLEM_COLL_REDUCE, settings, 0);
}

/* ---- operations of the user's ---- */

static void ops_are_destroyed_in(xylem_coll_t coll, int own_are_detached)
{
    static const char *const settings[] = {"NOISE_BUDGET=64M",
                                           "DETACH_BYTES=16K", NULL};
    const sim_noise_t noise = {.kind = SIM_NOISE_ONCE,
                               .mhz = 1,
                               .max = burst,
                               .first = RANKS - PPN,
                               .last = RANKS - PPN};
    fabric_t *fabric;
    uint32_t rank;

    memset(&ops, 0, sizeof ops);
    ops.are_destroyed = 1;
    fabric = world_of(coll, &noise, settings);
    play(fabric);
    CHECK(ops.destroyed != 0);
    CHECK_EQ(ops.kept_longer != 0, own_are_detached);
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(xylem_request_free(players[rank].request), XYLEM_OK);
    fabric_run_dry(fabric);
    for (rank = 0; rank < RANKS && own_are_detached; rank++)
        CHECK_EQ(xylem_op_destroy(fabric_context(fabric, rank), ops.of[rank]),
                 XYLEM_OK);
    fabric_destroy(fabric);
    memset(&ops, 0, sizeof ops);
}

/* Destroying an operator waits for operations that combine by it, and for no
 * others: other detached operations may wait for this rank's next action. */
static void ops_do_not_wait_for_others(void)
{
    ops_are_destroyed_in(XYLEM_COLL_BCAST, 0);
    ops_are_destroyed_in(XYLEM_COLL_REDUCE, 1);
}

/* ---- two at once ---- */

static int32_t sums[RANKS][COUNT];

static void both_begin(player_t *player);

static void one_of_both_called(void *arg, xylem_status_t status)
{
    player_t *player = arg;
    uint32_t i, wrong = 0;

    CHECK_EQ(status, XYLEM_OK);
    if (++player->calls % 2 != 0)
        return;
    for (i = 0; i < COUNT; i++) {
        wrong += player->recv[i] != (int32_t)(i * 3 + player->calls / 2);
        wrong += player->rank == 0 &&
                 sums[0][i] != (int32_t)(RANKS * (i + player->calls / 2));
    }
    CHECK_EQ(wrong, 0);
    if (player->calls < CALLS)
        both_begin(player);
}

/* A broadcast that may have to wait for room, and a sum behind it. */
static void both_begin(player_t *player)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = player->recv,
                              .count = COUNT,
                              .type = XYLEM_INT32,
                              .op = XYLEM_SUM,
                              .algorithm = "han:1",
                              .flags = XYLEM_FLAG_AUTOFREE,
                              .on_complete = one_of_both_called,
                              .arg = player};
    xylem_team_t *team = fabric_world(player->fabric, player->rank);
    uint32_t i, step = player->calls / 2 + 1;

    for (i = 0; i < COUNT; i++) {
        player->send[i] = (int32_t)(i + step);
        player->recv[i] = player->rank == 0 ? (int32_t)(i * 3 + step) : -1;
    }
    CHECK_EQ(xylem_coll_start(team, &args, NULL), XYLEM_OK);
    args.coll = XYLEM_COLL_REDUCE;
    args.send = player->send;
    args.recv = sums[player->rank];
    CHECK_EQ(xylem_coll_start(team, &args, NULL), XYLEM_OK);
}

/* Only leaders' operations wait for room. An operation that overtook one there
 * would meet another call of the node's other ranks. */
static void who_waits_for_room_is_not_overtaken(void)
{
    static const char *const settings[] = {"NOISE_BUDGET=400K",
                                           "DETACH_BYTES=16K", NULL};
    const sim_noise_t noise = {.kind = SIM_NOISE_ONCE,
                               .mhz = 1,
                               .max = burst,
                               .first = RANKS - PPN,
                               .last = RANKS - PPN};
    const fabric_script_t script = {.is_done = all_have_called};
    fabric_t *fabric = world_of(XYLEM_COLL_BCAST, &noise, settings);
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++)
        both_begin(&players[rank]);
    CHECK(fabric_run_until(fabric, &script));
    finish(fabric);
}

static const check_case_t cases[] = {
    {"detach: nobody waits for a late leader", nobody_waits_for_a_late_leader},
    {"detach: nobody waits with the chosen budget",
     nobody_waits_with_the_chosen_budget},
    {"detach: all wait where nothing detaches",
     all_wait_where_nothing_detaches},
    {"detach: all wait where there is no room",
     all_wait_where_there_is_no_room},
    {"detach: an operation of the user's goes meanwhile",
     ops_do_not_wait_for_others},
    {"detach: who waits for room is not overtaken",
     who_waits_for_room_is_not_overtaken},
};

CHECK_MAIN(cases)
