/* A rank that comes late: 4 MiB from or to rank 0, simulated nodes of 4 ranks
 * that share memory, other ranks in turn 10 ms late.
 *
 * In a broadcast with XYLEM_BYPASS_US another rank takes the place of a leader,
 * and all except the late one end within a millisecond of their time if none is
 * late; without the setting others wait. In a reduce all except the late one
 * and the root do so: in the order of arrival, and on a few nodes in a fixed
 * order. On a node of many ranks they also do in further calls, while there is
 * room for the data kept for the late one. Short broadcasts in a row, which all
 * ranks of a node lead, go on without a rank that makes none of them. Times are
 * simulated, hence the same on any machine. */
#include <inttypes.h>
#include <stdio.h>

#include "simulator/world.h"
#include "tests/support/check.h"

enum {
    PPN = 4,
    MANY_SEATS = 32, /* of one node */
    CALLS_MAX = 40,
    KEPT_CALLS = 6,
    FEW_NODES = 4,
    MORE_NODES = 8,
    MANY_NODES = 16, /* a double tree, of which many nodes are inner ones */
    RANKS_MAX = MANY_NODES * PPN,
    SOME = 7,
    BYTES = 4 << 20,
    SHORT_BYTES = 256 << 10,
    EVENTS_MAX = 10000000,
    NOBODY = UINT16_MAX
};
static const sim_time_t delay = 10 * SIM_MS;
static const sim_time_t long_time = 100 * SIM_MS;

/* ---- a call of all ranks ---- */

typedef struct call {
    xylem_coll_t coll;
    uint32_t nodes;
    const char *algorithm;
    const char *bypass; /* or another setting */
    uint32_t late;      /* rank */
    uint32_t flags;     /* of a reduce */
    uint32_t seats;     /* of each node; 0: PPN */
    uint32_t more;      /* calls under way beside the first */
    size_t bytes;       /* 0: BYTES */
} call_t;

typedef struct player {
    sim_world_t *world;
    xylem_request_t *requests[CALLS_MAX];
    uint32_t rank, calls;
    uint32_t ended; /* calls */
    sim_time_t end;
} player_t;

static void completed(void *arg, xylem_status_t status)
{
    player_t *player = arg;

    CHECK_EQ(status, XYLEM_OK);
    player->ended++;
    player->end = sim_world_now(player->world, player->rank);
}

/* There is no memory behind the addresses. */
static void charge_only(void *result, const void *left, const void *right,
                        size_t count, void *arg)
{
    const player_t *player = arg;

    (void)result, (void)left, (void)right;
    sim_world_charge_reduce(player->world, player->rank, count);
}

static void start(void *arg, uint32_t rank)
{
    player_t *player = (player_t *)arg + rank;
    uint32_t i;

    for (i = 0; i < player->calls; i++)
        CHECK_EQ(xylem_request_start(player->requests[i]), XYLEM_OK);
}

static size_t bytes_of(const call_t *call)
{
    return call->bytes != 0 ? call->bytes : (size_t)BYTES;
}

static void join(player_t *player, const call_t *call)
{
    xylem_context_t *context = sim_world_context(player->world, player->rank);
    char *nowhere = sim_world_nowhere(player->world, 2 * BYTES);
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = call->coll,
                              .recv = nowhere,
                              .count = bytes_of(call),
                              .type = XYLEM_BYTE,
                              .on_complete = completed,
                              .arg = player,
                              .algorithm = call->algorithm};
    uint32_t i;

    if (call->coll == XYLEM_COLL_REDUCE) {
        args.send = nowhere;
        args.recv = player->rank == 0 ? nowhere + BYTES : NULL;
        CHECK_EQ(xylem_op_create(context, charge_only, player,
                                 XYLEM_OP_COMMUTATIVE, &args.op),
                 XYLEM_OK);
        args.flags = call->flags;
    }
    player->calls = call->more + 1;
    for (i = 0; i < player->calls; i++)
        CHECK_EQ(xylem_coll_init(xylem_context_world(context), &args,
                                 &player->requests[i]),
                 XYLEM_OK);
}

static uint32_t seats_of(const call_t *call)
{
    return call->seats != 0 ? call->seats : (uint32_t)PPN;
}

static sim_world_t *world_of(const call_t *call, const sim_noise_t *noise)
{
    const char *settings[] = {"LOG=none", call->bypass, NULL};
    sim_machine_t machine;
    sim_options_t options = {.machine = &machine,
                             .nodes = call->nodes,
                             .ranks_per_node = seats_of(call),
                             .shares_memory = 1,
                             .payload = SIM_PAYLOAD_NONE,
                             .message_bytes = bytes_of(call),
                             .noise = call->late == NOBODY ? NULL : noise,
                             .settings = settings};
    char error[256];
    sim_world_t *world;

    CHECK_EQ(sim_machine_load("cori", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_world_create(&options, &world), XYLEM_OK);
    return world;
}

/* All calls are over. */
static void leave(player_t *player, const call_t *call)
{
    uint32_t i;

    CHECK_EQ(player->ended, call->more + 1);
    for (i = 0; i < player->calls; i++)
        CHECK_EQ(xylem_request_free(player->requests[i]), XYLEM_OK);
}

/* When the last rank ends, without a late one and the root of a reduce. */
static sim_time_t run(const call_t *call)
{
    const sim_noise_t noise = {.kind = SIM_NOISE_ONCE,
                               .mhz = 1,
                               .max = delay,
                               .first = call->late,
                               .last = call->late};
    sim_world_t *world = world_of(call, &noise);
    player_t players[RANKS_MAX];
    sim_time_t last = 0;
    uint32_t rank, ranks = call->nodes * seats_of(call);

    for (rank = 0; rank < ranks; rank++) {
        players[rank] = (player_t){.world = world, .rank = rank};
        join(&players[rank], call);
        sim_world_at(world, rank, 0, start, players);
    }
    CHECK(sim_world_run(world, SIM_NEVER, EVENTS_MAX));
    for (rank = 0; rank < ranks; rank++) {
        leave(&players[rank], call);
        if (rank == 0 && call->coll == XYLEM_COLL_REDUCE)
            continue;
        if (rank != call->late && players[rank].end > last)
            last = players[rank].end;
    }
    CHECK_EQ(sim_world_destroy(world), XYLEM_OK);
    return last;
}

/* ---- with and without ---- */

#define US(time) ((double)(time) / SIM_US)

/* Every `step`th rank in turn is late, but the root. */
static void check_each(uint32_t nodes, const char *algorithm, uint32_t step)
{
    call_t waits = {.coll = XYLEM_COLL_BCAST,
                    .nodes = nodes,
                    .algorithm = algorithm,
                    .bypass = "BYPASS_US=0",
                    .late = NOBODY};
    call_t passes = waits;
    sim_time_t plain, relayed, waited, passed, waited_most = 0;
    uint32_t late;

    passes.bypass = "BYPASS_US=200";
    plain = run(&waits);
    relayed = run(&passes);
    printf("# %" PRIu32 " nodes, %s: %.1f us; with bypass %.1f us\n", nodes,
           algorithm, US(plain), US(relayed));
    CHECK(relayed <= plain + plain / 4); /* no pace is known yet */
    for (late = 1; late < nodes * PPN; late += step) {
        waits.late = passes.late = late;
        waited = run(&waits);
        passed = run(&passes);
        printf("# rank %" PRIu32 " is late: the others end after %.1f us; with "
               "bypass %.1f us\n",
               late, US(waited), US(passed));
        if (waited > waited_most)
            waited_most = waited;
        CHECK(passed <= plain + SIM_MS);
    }
    CHECK(waited_most >= delay);
}

static void test_one_leader(void)
{
    check_each(FEW_NODES, "han:1", 1);
}

static void test_all_lead(void)
{
    check_each(FEW_NODES, "han:4", 1);
}

static void test_many_nodes(void)
{
    check_each(MANY_NODES, "han", SOME);
}

/* ---- reductions ---- */

static void check_reduce(uint32_t nodes, uint32_t step, uint32_t flags)
{
    call_t call = {.coll = XYLEM_COLL_REDUCE,
                   .nodes = nodes,
                   .bypass = "DETACH_BYTES=16K",
                   .late = NOBODY,
                   .flags = flags};
    sim_time_t plain = run(&call), end;

    printf("# %" PRIu32 " nodes, reduce: %.1f us\n", nodes, US(plain));
    for (call.late = 1; call.late < nodes * PPN; call.late += step) {
        end = run(&call);
        printf("# rank %" PRIu32 " is late: the others end after %.1f us\n",
               call.late, US(end));
        CHECK(end <= plain + SIM_MS);
    }
}

static void test_reduce_any_rank(void)
{
    check_reduce(FEW_NODES, 1, XYLEM_FLAG_ARRIVAL_ORDER);
}

static void test_reduce_many_nodes(void)
{
    check_reduce(MANY_NODES, SOME, XYLEM_FLAG_ARRIVAL_ORDER);
}

static void test_fixed_order_any_rank(void)
{
    check_reduce(FEW_NODES, 1, 0);
}

static void test_fixed_order_more_nodes(void)
{
    check_reduce(MORE_NODES, SOME, 0);
    check_reduce(MANY_NODES, SOME, 0);
}

/* Pairs take memory for a late rank from the node's pool as they need it, so
 * the others are some calls ahead with 8 MiB per rank. */
static void test_fixed_order_many_seats(void)
{
    call_t call = {.coll = XYLEM_COLL_REDUCE,
                   .nodes = 1,
                   .bypass = "NOISE_BUDGET=256M",
                   .late = NOBODY,
                   .seats = MANY_SEATS,
                   .more = KEPT_CALLS - 1};
    sim_time_t plain = run(&call), end;

    printf("# %d seats, %d reduces: %.1f us\n", MANY_SEATS, KEPT_CALLS,
           US(plain));
    for (call.late = 1; call.late < MANY_SEATS; call.late += 3 * SOME) {
        end = run(&call);
        printf("# rank %" PRIu32 " is late: the others end after %.1f us\n",
               call.late, US(end));
        CHECK(end <= plain + SIM_MS);
    }
}

/* ---- calls ahead ---- */

/* How many of CALLS_MAX broadcasts of 256 KiB are over for all others while one
 * rank makes none. */
static uint32_t calls_ahead(uint32_t absent)
{
    const call_t call = {.coll = XYLEM_COLL_BCAST,
                         .nodes = FEW_NODES,
                         .bypass = "BYPASS_US=200",
                         .late = NOBODY,
                         .more = CALLS_MAX - 1,
                         .bytes = SHORT_BYTES};
    sim_world_t *world = world_of(&call, NULL);
    player_t players[RANKS_MAX];
    uint32_t rank, ranks = FEW_NODES * PPN, least = CALLS_MAX;

    for (rank = 0; rank < ranks; rank++) {
        players[rank] = (player_t){.world = world, .rank = rank};
        join(&players[rank], &call);
        sim_world_at(world, rank, rank == absent ? long_time : 0, start,
                     players);
    }
    (void)sim_world_run(world, long_time - 1, EVENTS_MAX);
    for (rank = 0; rank < ranks; rank++)
        if (rank != absent && players[rank].ended < least)
            least = players[rank].ended;
    CHECK(sim_world_run(world, SIM_NEVER, EVENTS_MAX));
    for (rank = 0; rank < ranks; rank++)
        leave(&players[rank], &call);
    CHECK_EQ(sim_world_destroy(world), XYLEM_OK);
    return least;
}

/* All lanes of a call have one slot of their node's together. */
static void test_lanes_have_one_slot(void)
{
    uint32_t absent, ahead;

    for (absent = 1; absent < FEW_NODES * PPN; absent += SOME) {
        ahead = calls_ahead(absent);
        printf("# without rank %" PRIu32 " %" PRIu32 " calls end\n", absent,
               ahead);
        CHECK_EQ(ahead, CALLS_MAX);
    }
}

static const check_case_t cases[] = {
    {"one_leader", test_one_leader},
    {"all_lead", test_all_lead},
    {"many_nodes", test_many_nodes},
    {"reduce_any_rank", test_reduce_any_rank},
    {"reduce_many_nodes", test_reduce_many_nodes},
    {"fixed_order_any_rank", test_fixed_order_any_rank},
    {"fixed_order_more_nodes", test_fixed_order_more_nodes},
    {"fixed_order_many_seats", test_fixed_order_many_seats},
    {"lanes_have_one_slot", test_lanes_have_one_slot},
};
CHECK_MAIN(cases)
