/* Levels overlap, and a late rank delays only ranks that need it: 4 MiB on 4
 * simulated nodes of 4 ranks that share memory, with one leader on each, so
 * some ranks do not lead. The marks and copies of a trace say when a stage was
 * through with a segment: tasks ib and sb of HAN (Luo, PhD thesis, University
 * of Tennessee, 2020, section 5.3). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/world.h"
#include "tests/support/check.h"

enum {
    NODES = 4,
    PPN = 4,
    RANKS = NODES * PPN,
    BYTES = 4 << 20,
    SEGMENTS_MAX = 1024,
    COPIES_MAX = 8192,
    EVENTS_MAX = 10000000
};
static const sim_time_t delay = 10 * SIM_MS;

/* The stages of a lane have numbers in this order; see
 * collectives/levels/han.c.
 */
typedef enum level {
    NODE_REDUCE,
    NET_UP,
    NET_DOWN,
    NODE_BCAST,
    LEVELS
} level_t;

/* ---- a call of all ranks ---- */

typedef struct player {
    sim_world_t *world;
    xylem_request_t *request;
    xylem_op_t op;
    uint32_t rank;
    sim_time_t end;
} player_t;

/* No byte is moved: it only takes its time. */
static void sum(void *result, const void *left, const void *right, size_t count,
                void *arg)
{
    const player_t *player = arg;

    (void)result;
    (void)left;
    (void)right;
    sim_world_charge_reduce(player->world, player->rank, count * sizeof(float));
}

static void completed(void *arg, xylem_status_t status)
{
    player_t *player = arg;

    CHECK_EQ(status, XYLEM_OK);
    player->end = sim_world_now(player->world, player->rank);
}

static void start(void *arg, uint32_t rank)
{
    player_t *players = arg;

    CHECK_EQ(xylem_request_start(players[rank].request), XYLEM_OK);
}

static void join(player_t *player, xylem_coll_t coll)
{
    xylem_context_t *context = sim_world_context(player->world, player->rank);
    char *nowhere = sim_world_nowhere(player->world, (size_t)2 * BYTES);
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = coll,
                              .recv = nowhere,
                              .count = BYTES / sizeof(float),
                              .type = XYLEM_FLOAT32,
                              .on_complete = completed,
                              .arg = player,
                              .algorithm = "han:1"};

    CHECK_EQ(xylem_op_create(context, sum, player, XYLEM_OP_COMMUTATIVE,
                             &player->op),
             XYLEM_OK);
    if (coll != XYLEM_COLL_BCAST) {
        args.send = nowhere + BYTES;
        args.op = player->op;
    }
    if (coll == XYLEM_COLL_REDUCE)
        args.algorithm = "han:4/chain";
    CHECK_EQ(
        xylem_coll_init(xylem_context_world(context), &args, &player->request),
        XYLEM_OK);
}

/* Runs one call of all; `players` has when each ended it. */
static void call(xylem_coll_t coll, const sim_noise_t *noise,
                 xyl_trace_t *trace, player_t *players)
{
    /* If broadcasts detach, segments are emitted only when they are copied. */
    static const char *const settings[] = {"LOG=none", "DETACH_BYTES=0", NULL};
    sim_machine_t machine;
    sim_options_t options = {.machine = &machine,
                             .nodes = NODES,
                             .ranks_per_node = PPN,
                             .shares_memory = 1,
                             .payload = SIM_PAYLOAD_NONE,
                             .message_bytes = BYTES,
                             .noise = noise,
                             .settings = settings,
                             .trace = trace};
    char error[256];
    sim_world_t *world;
    uint32_t rank;

    CHECK_EQ(sim_machine_load("cori", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_world_create(&options, &world), XYLEM_OK);
    for (rank = 0; rank < RANKS; rank++) {
        players[rank] = (player_t){.world = world, .rank = rank};
        join(&players[rank], coll);
        sim_world_at(world, rank, 0, start, players);
    }
    CHECK(sim_world_run(world, SIM_NEVER, EVENTS_MAX));
    for (rank = 0; rank < RANKS; rank++) {
        CHECK(players[rank].end != 0);
        CHECK_EQ(xylem_request_free(players[rank].request), XYLEM_OK);
    }
    CHECK_EQ(sim_world_destroy(world), XYLEM_OK);
}

/* ---- what a trace tells ---- */

typedef struct span {
    double begin, end;
} span_t;

typedef struct record {
    /* When the rank's stage of a level was through with a segment, in
     * microseconds; 0: it has no such stage. */
    double done[RANKS][LEVELS][SEGMENTS_MAX];
    span_t copies[RANKS][COPIES_MAX];
    size_t copies_count[RANKS];
    /* Copied and combined since the rank last looked at the net; the most with
     * nothing found there. */
    json_int_t bytes[RANKS], most;
    size_t segments;
} record_t;

static void mark_add(record_t *record, size_t rank, const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    size_t segment =
        (size_t)json_integer_value(json_object_get(args, "segment"));
    level_t level =
        (level_t)(json_integer_value(json_object_get(args, "sequence")) %
                  LEVELS);

    CHECK(segment < SEGMENTS_MAX);
    if (segment >= SEGMENTS_MAX)
        return;
    record->done[rank][level][segment] =
        json_number_value(json_object_get(event, "ts"));
    if (segment >= record->segments)
        record->segments = segment + 1;
}

/* Work stands before the turn in which it was done. */
static void work_add(record_t *record, size_t rank, const char *name,
                     const json_t *event)
{
    const json_t *args = json_object_get(event, "args");

    if (strcmp(name, "copy") == 0 || strcmp(name, "combine") == 0) {
        record->bytes[rank] +=
            json_integer_value(json_object_get(args, "detail"));
        return;
    }
    if ((strcmp(name, "turn") == 0 || strcmp(name, "flag") == 0) &&
        record->bytes[rank] > record->most)
        record->most = record->bytes[rank];
    record->bytes[rank] = 0;
}

static void event_add(record_t *record, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "ph"));
    const char *name = json_string_value(json_object_get(event, "name"));
    size_t rank = (size_t)json_integer_value(json_object_get(event, "tid")) - 1;
    double begin = json_number_value(json_object_get(event, "ts"));
    double length = json_number_value(json_object_get(event, "dur"));

    if (strcmp(kind, "X") == 0)
        work_add(record, rank, name, event);
    if (strcmp(kind, "i") == 0)
        mark_add(record, rank, event);
    else if (strcmp(kind, "X") == 0 && strcmp(name, "copy") == 0 &&
             record->copies_count[rank] < COPIES_MAX)
        record->copies[rank][record->copies_count[rank]++] =
            (span_t){begin, begin + length};
}

/* The record of a quiet call; free it. */
static record_t *record_of(xylem_coll_t coll)
{
    record_t *record = calloc(1, sizeof *record);
    char path[] = "/tmp/xylem-overlap-XXXXXX";
    player_t players[RANKS];
    xyl_trace_t *trace;
    json_t *document;
    size_t i;
    int file = mkstemp(path);

    if (record == NULL || file < 0)
        abort();
    close(file);
    trace = xyl_trace_create(path,
                             &(xyl_trace_rows_t){.label = "simulated",
                                                 .ranks = RANKS,
                                                 .ranks_per_node = PPN},
                             UINT64_MAX);
    CHECK(trace != NULL);
    call(coll, NULL, trace, players);
    CHECK_EQ(xyl_trace_destroy(trace), 1);
    document = json_load_file(path, 0, NULL);
    unlink(path);
    CHECK(document != NULL);
    for (i = 0; i < json_array_size(json_object_get(document, "traceEvents"));
         i++)
        event_add(record,
                  json_array_get(json_object_get(document, "traceEvents"), i));
    json_decref(document);
    CHECK(record->segments >= 16);
    return record;
}

/* The rank of a node that has the level for the segment; RANKS: none. */
static size_t leader_of(const record_t *record, size_t node, level_t level,
                        size_t segment)
{
    size_t rank;

    for (rank = node * PPN; rank < (node + 1) * PPN; rank++)
        if (record->done[rank][level][segment] > 0)
            return rank;
    return RANKS;
}

/* 1: a rank of the node copies at some time between the two. */
static int copies_between(const record_t *record, size_t node, double begin,
                          double end)
{
    size_t rank, i;

    for (rank = node * PPN; rank < (node + 1) * PPN; rank++)
        for (i = 0; i < record->copies_count[rank]; i++)
            if (record->copies[rank][i].begin < end &&
                record->copies[rank][i].end > begin)
                return 1;
    return 0;
}

/* How many segments the rank's stage is through with at that time. */
static size_t done_by(const record_t *record, size_t rank, level_t level,
                      double time)
{
    size_t i, count = 0;

    for (i = 0; i < record->segments; i++)
        count += record->done[rank][level][i] > 0 &&
                 record->done[rank][level][i] <= time;
    return count;
}

static double first_of(const record_t *record, size_t rank, level_t level)
{
    double first = 1e300;
    size_t i;

    for (i = 0; i < record->segments; i++)
        if (record->done[rank][level][i] > 0 &&
            record->done[rank][level][i] < first)
            first = record->done[rank][level][i];
    return first;
}

static double last_of(const record_t *record, size_t rank, level_t level)
{
    double last = 0;
    size_t i;

    for (i = 0; i < record->segments; i++)
        if (record->done[rank][level][i] > last)
            last = record->done[rank][level][i];
    return last;
}

/* ---- overlap ---- */

/* While ib(i) brings a segment, sb copies one that came before it. */
static void test_bcast_overlaps(void)
{
    record_t *record = record_of(XYLEM_COLL_BCAST);
    size_t node, i, leader, overlaps, all;
    const double *came;

    for (node = 1; node < NODES; node++) {
        overlaps = all = 0;
        for (i = 1; i < record->segments; i++) {
            leader = leader_of(record, node, NET_DOWN, i);
            if (leader == RANKS ||
                leader != leader_of(record, node, NET_DOWN, i - 1))
                continue; /* the first of a leader's */
            came = record->done[leader][NET_DOWN];
            overlaps +=
                (size_t)copies_between(record, node, came[i - 1], came[i]);
            all++;
        }
        CHECK(all * 2 >= record->segments && overlaps * 10 >= all * 9);
    }
    free(record);
}

/* When the last segment has come, most others are through. */
static void test_bcast_never_waits(void)
{
    record_t *record = record_of(XYLEM_COLL_BCAST);
    size_t node, rank, leader;

    for (node = 1; node < NODES; node++) {
        leader = leader_of(record, node, NET_DOWN, record->segments - 1);
        CHECK(leader < RANKS);
        for (rank = node * PPN; leader < RANKS && rank < (node + 1) * PPN;
             rank++)
            CHECK(done_by(record, rank, NODE_BCAST,
                          last_of(record, leader, NET_DOWN)) *
                      4 >=
                  record->segments * 3);
    }
    free(record);
}

/* When the last rank is through with a level. */
static double end_of(const record_t *record, level_t level)
{
    double end = 0;
    size_t rank;

    for (rank = 0; rank < RANKS; rank++)
        if (last_of(record, rank, level) > end)
            end = last_of(record, rank, level);
    return end;
}

/* There is no barrier between levels: if two follow each other on a rank, the
 * second has segments while the first still works on some rank. (On this rank
 * the first may be over: between nodes each leader combines blocks of its own,
 * and those of the last leader come last.) */
static void test_allreduce_overlaps(void)
{
    record_t *record = record_of(XYLEM_COLL_ALLREDUCE);
    level_t level, next;
    size_t rank, levels;

    for (rank = 0; rank < RANKS; rank++) {
        levels = 0;
        for (level = NODE_REDUCE; level < LEVELS; level = next) {
            for (next = level + 1; next < LEVELS; next++)
                if (last_of(record, rank, next) > 0)
                    break;
            if (last_of(record, rank, level) <= 0)
                continue;
            levels++;
            if (next < LEVELS)
                CHECK(first_of(record, rank, next) < end_of(record, level));
        }
        CHECK(levels >= 1);
    }
    free(record);
}

/* A rank looks at the net when the stages of a turn have moved `level_turn`
 * bytes together; a stage's data for the net may then be combined with a
 * segment that lies there. */
static void test_reduce_looks_at_the_net(void)
{
    record_t *record = record_of(XYLEM_COLL_REDUCE);

    CHECK(record->most > 0);
    CHECK(record->most <= (16 << 10) + (32 << 10));
    free(record);
}

/* ---- a late rank ---- */

/* A rank is held up at `at` and ends so much later; ranks of other nodes end
 * within a tenth of their quiet time. */
static void check_others(xylem_coll_t coll, uint32_t late, sim_time_t at)
{
    sim_noise_t noise = {.kind = SIM_NOISE_ONCE,
                         .mhz = 1,
                         .max = delay,
                         .at = at,
                         .first = late,
                         .last = late};
    player_t plain[RANKS], held[RANKS];
    uint32_t rank;

    call(coll, NULL, NULL, plain);
    call(coll, &noise, NULL, held);
    CHECK(held[late].end >= delay);
    for (rank = 0; rank < RANKS; rank++)
        if (rank / PPN != late / PPN)
            CHECK(held[rank].end <= plain[rank].end + plain[rank].end / 10);
}

static const uint32_t late_ranks[] = {1, 5, 7, 10, 15};
enum { LATE_RANKS = sizeof late_ranks / sizeof late_ranks[0] };

static void test_late_for_bcast(void)
{
    size_t i;

    for (i = 0; i < LATE_RANKS; i++)
        check_others(XYLEM_COLL_BCAST, late_ranks[i], 0);
}

/* All need a rank's contribution. Once its node's sums are made, no other needs
 * the rank: from then on its delay is its own. */
static void test_late_after_contribution(void)
{
    record_t *record = record_of(XYLEM_COLL_ALLREDUCE);
    size_t i, leader;
    double reduced;

    for (i = 0; i < LATE_RANKS; i++) {
        leader = leader_of(record, late_ranks[i] / PPN, NODE_REDUCE, 0);
        CHECK(leader < RANKS && leader != late_ranks[i]);
        reduced = leader < RANKS ? last_of(record, leader, NODE_REDUCE) : 0;
        check_others(XYLEM_COLL_ALLREDUCE, late_ranks[i],
                     (sim_time_t)(reduced + 1) * SIM_US);
    }
    free(record);
}

/* Before that all wait for it, but for no longer than it is late. */
static void test_late_with_contribution(void)
{
    sim_noise_t noise = {
        .kind = SIM_NOISE_ONCE, .mhz = 1, .max = delay, .first = 5, .last = 5};
    player_t plain[RANKS], held[RANKS];
    uint32_t rank;

    call(XYLEM_COLL_ALLREDUCE, NULL, NULL, plain);
    call(XYLEM_COLL_ALLREDUCE, &noise, NULL, held);
    for (rank = 0; rank < RANKS; rank++)
        CHECK(held[rank].end >= delay &&
              held[rank].end <= delay + plain[rank].end + plain[rank].end / 10);
}

static const check_case_t cases[] = {
    {"bcast_overlaps", test_bcast_overlaps},
    {"bcast_never_waits", test_bcast_never_waits},
    {"allreduce_overlaps", test_allreduce_overlaps},
    {"reduce_looks_at_the_net", test_reduce_looks_at_the_net},
    {"late_for_bcast", test_late_for_bcast},
    {"late_after_contribution", test_late_after_contribution},
    {"late_with_contribution", test_late_with_contribution},
};
CHECK_MAIN(cases)
