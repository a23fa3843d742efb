/* The rank side of calibration.
 *
 * All probes are measured in rounds, one after the other, so that a disturbance
 * of the machine hits one round of each and not all rounds of one. A rank keeps
 * the median of a round, rank 0 the lower quartile of the rounds.
 *
 * Buffers rotate as those of the benchmarks do (buffers.h): sent data were just
 * written, received data lie outside the caches. One thread.
 */
#include "simulator/calibrate/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/buffers.h"
#include "bench/measure/gate.h"
#include "bench/measure/impl_event.h"
#include "bench/measure/noise.h"
#include "bench/measure/stats.h"
#include "collectives/data/op.h"
#include "simulator/calibrate/calibrate.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum {
    LINE = 64, /* bytes between buffers */
    REPETITIONS_MAX = 100,
    REPETITIONS_MIN = 8,
    TEAMS_MAX = 16,
    PEERS_MAX = 4,
    PIECES_MIN = 32, /* MiB: two buffers of the largest probe */
    ROUNDS_MAX = 50
};
/* A round of a probe moves about this much. */
#define ROUND_BYTES (8 * MIB)

/* A division of the ranks; probes that ask for the same one share it. */
typedef struct division {
    calibrate_probe_t probe;
    xylem_team_t *team; /* NULL: this rank takes no part */
} division_t;

typedef struct rank {
    void *impl_state;
    xylem_context_t *context;
    xylem_team_t *world;
    struct gate *gate;
    uint32_t rank, ranks;
    int is_shared;
    uint32_t peers[PEERS_MAX]; /* of rank 0, one per level of the machine */
    unsigned peers_count;
    division_t divisions[TEAMS_MAX];
    unsigned divisions_count;
    struct buffers memory; /* taken as one piece */
    size_t share_bytes;    /* of it, for rotated buffers */
    uint64_t calls;
    xyl_kernel_fn sum;
    calibrate_probe_t probes[CALIBRATE_SAMPLES_MAX];
    unsigned probes_count;
    /* Rank 0: [probe][round]. */
    double (*first_us)[ROUNDS_MAX];
    double (*last_us)[ROUNDS_MAX];
} rank_t;

/* ---- what is measured ---- */

static void add(rank_t *rank, calibrate_kind_t kind, uint32_t peer,
                size_t bytes, uint32_t count, uint32_t window)
{
    if (rank->probes_count < CALIBRATE_SAMPLES_MAX)
        rank->probes[rank->probes_count++] =
            (calibrate_probe_t){kind, peer, bytes, count, window};
}

/* Between rank 0 and one peer. */
static void plan_peer(rank_t *rank, uint32_t peer)
{
    static const size_t small[] = {64, 512, 2 * KIB, 4 * KIB, 6 * KIB, 8 * KIB};
    static const size_t large[] = {12 * KIB, 16 * KIB,  32 * KIB,
                                   64 * KIB, 256 * KIB, 1024 * KIB};
    static const uint32_t counts[] = {16, 32, 48, 64, 80, 96, 128, 192, 256};
    size_t i;

    for (i = 0; i < sizeof small / sizeof small[0]; i++) {
        add(rank, CALIBRATE_PING, peer, small[i], 1, 1);
        add(rank, CALIBRATE_STREAM, peer, small[i], 24, 8);
        add(rank, CALIBRATE_COMBINE, peer, small[i], 24, 8);
    }
    for (i = 0; i < sizeof large / sizeof large[0]; i++) {
        add(rank, CALIBRATE_PING, peer, large[i], 1, 1);
        add(rank, CALIBRATE_STREAM, peer, large[i], 8, 2);
        add(rank, CALIBRATE_ABSENT_RECEIVER, peer, large[i], 1, 1);
        add(rank, CALIBRATE_ABSENT_SENDER, peer, large[i], 1, 1);
    }
    for (i = 0; i < sizeof small / sizeof small[0]; i++)
        add(rank, CALIBRATE_ABSENT_RECEIVER, peer, small[i], 1, 1);
    for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
        add(rank, CALIBRATE_ABSENT_RECEIVER, peer, 64, counts[i], 32);
    add(rank, CALIBRATE_POST, peer, 64, 64, 1);
    add(rank, CALIBRATE_POST, peer, 64, 64, 32);
}

/* Streams that outgrow the queue between two ranks, and the caches. */
static void plan_far(rank_t *rank)
{
    static const uint32_t counts[] = {48, 96, 192, 384, 1024, 2048};
    size_t i;

    for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        add(rank, CALIBRATE_STREAM, rank->peers[0], 6 * KIB, counts[i], 8);
        add(rank, CALIBRATE_COMBINE, rank->peers[0], 6 * KIB, counts[i], 8);
    }
}

static void plan_all(rank_t *rank)
{
    static const size_t sizes[] = {64, 2 * KIB, 8 * KIB};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        add(rank, CALIBRATE_FAN_OUT, 0, sizes[i], 1, 1);
        add(rank, CALIBRATE_FAN_IN, 0, sizes[i], 1, 1);
        add(rank, CALIBRATE_RELAY, 0, sizes[i], 1, 1);
        add(rank, CALIBRATE_FAN_OUT, 0, sizes[i], 24, 4);
        add(rank, CALIBRATE_FAN_IN, 0, sizes[i], 24, 4);
        add(rank, CALIBRATE_RELAY, 0, sizes[i], 24, 4);
    }
}

static void plan_work(rank_t *rank)
{
    uint32_t all;

    for (all = 0; all <= 1; all++) {
        add(rank, CALIBRATE_COPY, all, 8 * KIB, 4, 1);
        add(rank, CALIBRATE_COPY, all, 8 * KIB, 1024, 1);
        add(rank, CALIBRATE_SUM, all, 8 * KIB, 4, 1);
        add(rank, CALIBRATE_SUM, all, 8 * KIB, 1024, 1);
    }
}

static void plan(rank_t *rank, calibrate_set_t set)
{
    unsigned i;

    if (set == CALIBRATE_SET_SHARED) {
        add(rank, CALIBRATE_TURN, 0, 64, 64, 1);
        plan_all(rank);
        return;
    }
    add(rank, CALIBRATE_CALL, 0, 64, 1, 1);
    for (i = 0; i < rank->peers_count; i++)
        plan_peer(rank, rank->peers[i]);
    if (rank->peers_count != 0)
        plan_far(rank);
    if (rank->ranks > 2) {
        plan_all(rank);
        add(rank, CALIBRATE_RELAY, 0, 6 * KIB, 1024, 8);
    }
    plan_work(rank);
}

/* ---- teams ---- */

static int same_division(const calibrate_probe_t *a, const calibrate_probe_t *b,
                         uint32_t ranks)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        if (calibrate_probe_color(a, i) != calibrate_probe_color(b, i))
            return 0;
    return 1;
}

/* Collective. */
static xylem_status_t team_for(rank_t *rank, const calibrate_probe_t *probe,
                               xylem_team_t **team_out)
{
    division_t *division;
    xylem_status_t status;
    unsigned i;

    for (i = 0; i < rank->divisions_count; i++) {
        division = &rank->divisions[i];
        if (same_division(&division->probe, probe, rank->ranks)) {
            *team_out = division->team;
            return XYLEM_OK;
        }
    }
    if (rank->divisions_count == TEAMS_MAX)
        return XYLEM_ERR_NO_RESOURCE;
    division = &rank->divisions[rank->divisions_count];
    division->probe = *probe;
    status =
        xylem_team_split(rank->world, calibrate_probe_color(probe, rank->rank),
                         0, &division->team);
    if (status != XYLEM_OK)
        return status;
    rank->divisions_count++;
    *team_out = division->team;
    return XYLEM_OK;
}

/* ---- one repetition ---- */

/* Rotated buffer `number`, of `bytes`. There are as many as in the benchmarks,
 * so that received data are as far away. */
static unsigned char *buffer_at(const rank_t *rank, size_t bytes,
                                uint64_t number)
{
    size_t slot = (bytes / LINE + 2) * LINE;
    uint64_t count = rank->share_bytes / slot;

    if (count > BUFFERS_MAX)
        count = BUFFERS_MAX;
    return rank->memory.memory + number % (count > 2 ? count : 2) * slot;
}

/* *started_ns_out is when the operation was under way. */
static xylem_status_t run_step(xylem_team_t *team,
                               const xylem_coll_args_t *args, int is_away,
                               uint64_t *started_ns_out)
{
    xylem_request_t *request;
    xylem_status_t status = xylem_coll_start(team, args, &request);

    if (status != XYLEM_OK)
        return status;
    *started_ns_out = noise_now_ns();
    if (is_away)
        noise_delay_us(CALIBRATE_AWAY_US);
    status = xylem_request_wait(request);
    (void)xylem_request_free(request);
    return status;
}

static xylem_status_t run_steps(rank_t *rank, const calibrate_probe_t *probe,
                                xylem_team_t *team, double *us_out)
{
    size_t bytes = calibrate_probe_bytes(probe);
    unsigned char *send = buffer_at(rank, bytes, rank->calls++);
    unsigned char *recv = buffer_at(rank, bytes, rank->calls++);
    int is_root = team != NULL && xylem_team_rank(team) == 0;
    xylem_status_t status = XYLEM_OK;
    calibrate_absence_t absence;
    uint64_t begin_ns, started_ns = 0;
    unsigned step;

    memset(send, 0, bytes);
    if (is_root && !calibrate_probe_sums(probe))
        memset(recv, 0, bytes);
    gate_pass(rank->gate);
    if (team == NULL)
        return XYLEM_OK;
    absence = calibrate_probe_absence(probe, xylem_team_rank(team));
    begin_ns = noise_now_ns();
    if (absence == CALIBRATE_ABSENT_BEFORE)
        noise_delay_us(CALIBRATE_AWAY_US);
    for (step = 0; step < calibrate_probe_steps(probe) && status == XYLEM_OK;
         step++) {
        xylem_coll_args_t args = calibrate_probe_args(probe, step, send, recv);
        args.op = XYLEM_SUM;
        status = run_step(team, &args, absence == CALIBRATE_ABSENT_AFTER,
                          &started_ns);
    }
    if (probe->kind != CALIBRATE_POST)
        started_ns = noise_now_ns();
    *us_out = (double)(started_ns - begin_ns) / 1e3;
    return status;
}

/* An idle turn of a waiting rank that may sleep: it looks at the clock, too. */
static void idle_turn(const rank_t *rank)
{
    (void)xylem_progress(rank->context);
    (void)noise_now_ns();
}

/* Near: the same few buffers each time; far: others. */
static void run_work(rank_t *rank, const calibrate_probe_t *probe,
                     double *us_out)
{
    size_t bytes = calibrate_probe_bytes(probe), offset;
    int is_near = bytes <= 64 * KIB;
    unsigned char *from = buffer_at(rank, bytes, is_near ? 0 : rank->calls++);
    unsigned char *into = buffer_at(rank, bytes, is_near ? 1 : rank->calls++);
    uint64_t begin_ns;

    gate_pass(rank->gate);
    if (probe->peer == 0 && rank->rank != 0)
        return;
    begin_ns = noise_now_ns();
    for (offset = 0; offset < bytes; offset += probe->bytes) {
        if (probe->kind == CALIBRATE_TURN)
            idle_turn(rank);
        else if (probe->kind == CALIBRATE_COPY)
            memcpy(into + offset, from + offset, probe->bytes);
        else
            rank->sum(into + offset, into + offset, from + offset,
                      probe->bytes / sizeof(float));
    }
    *us_out = (double)(noise_now_ns() - begin_ns) / 1e3;
}

/* ---- rounds ---- */

static double lower_quartile(double *values, unsigned count)
{
    if (values == NULL)
        return 0;
    (void)stats_median(values, count); /* sorts */
    return values[count / 4];
}

/* The typical value. If ranks have cores of their own, late values come from
 * disturbances. Ranks that share cores always wait for each other. */
static double typical(double *values, unsigned count, int is_shared)
{
    return is_shared ? stats_median(values, count)
                     : lower_quartile(values, count);
}

static unsigned repetitions(const calibrate_probe_t *probe)
{
    size_t fitting = ROUND_BYTES / calibrate_probe_bytes(probe);

    if (calibrate_probe_absence(probe, 0) != CALIBRATE_PRESENT ||
        calibrate_probe_absence(probe, 1) != CALIBRATE_PRESENT)
        return REPETITIONS_MIN;
    if (fitting > REPETITIONS_MAX)
        return REPETITIONS_MAX;
    return fitting < REPETITIONS_MIN ? REPETITIONS_MIN : (unsigned)fitting;
}

static xylem_status_t measure(rank_t *rank, unsigned number, unsigned round)
{
    const calibrate_probe_t *probe = &rank->probes[number];
    double times[REPETITIONS_MAX] = {0}, all[CALIBRATE_RANKS_MAX] = {0}, mine;
    unsigned i, count = repetitions(probe);
    xylem_team_t *team = NULL;
    xylem_status_t status = XYLEM_OK;

    if (calibrate_probe_has_steps(probe))
        status = team_for(rank, probe, &team);
    for (i = 0; i < count && status == XYLEM_OK; i++) {
        if (calibrate_probe_has_steps(probe))
            status = run_steps(rank, probe, team, &times[i]);
        else
            run_work(rank, probe, &times[i]);
    }
    mine = typical(times, count, rank->is_shared);
    if (status == XYLEM_OK)
        status = impl_event()->gather(rank->impl_state, &mine, 1, all);
    if (status != XYLEM_OK || rank->rank != 0)
        return status;
    rank->first_us[number][round] = all[0];
    rank->last_us[number][round] = 0;
    for (i = 1; i < rank->ranks; i++)
        if (all[i] > rank->last_us[number][round])
            rank->last_us[number][round] = all[i];
    return XYLEM_OK;
}

static void report(rank_t *rank, unsigned rounds)
{
    char line[CALIBRATE_LINE_BYTES];
    xylem_place_t place;
    unsigned i;

    for (i = 0; i < rank->ranks; i++) {
        if (xylem_team_place(rank->world, i, &place) == XYLEM_OK)
            printf(CALIBRATE_PLACE_MARK " %u %" PRIu32 " %" PRIu32 " %" PRIu32
                                        "\n",
                   i, place.socket, place.numa, place.l3);
    }
    for (i = 0; i < rank->probes_count; i++) {
        calibrate_sample_t sample = {
            .probe = rank->probes[i],
            .ranks = rank->ranks,
            .first_us = lower_quartile(rank->first_us[i], rounds),
            .last_us = lower_quartile(rank->last_us[i], rounds)};
        calibrate_sample_print(&sample, line);
        puts(line);
    }
    fflush(stdout);
}

/* ---- the job ---- */

/* Finds one peer for each level that rank 0 can share with another rank. */
static void peers_find(rank_t *rank)
{
    unsigned seen = 0;
    xylem_place_t own, other;
    uint32_t i;

    if (xylem_team_place(rank->world, 0, &own) != XYLEM_OK)
        return;
    for (i = 1; i < rank->ranks && rank->peers_count < PEERS_MAX; i++) {
        unsigned shared;
        if (xylem_team_place(rank->world, i, &other) != XYLEM_OK)
            return;
        shared = other.socket != own.socket ? 1u
                 : other.numa != own.numa   ? 2u
                 : other.l3 != own.l3       ? 4u
                                            : 8u;
        if ((seen & shared) == 0)
            rank->peers[rank->peers_count++] = i;
        seen |= shared;
    }
}

static int allocate(rank_t *rank)
{
    unsigned share = buffers_count(MIB, rank->ranks, 1);
    unsigned pieces = share < PIECES_MIN ? PIECES_MIN : share;

    if (buffers_create(&rank->memory, MIB, pieces) != XYLEM_OK)
        return 0;
    rank->share_bytes = share * MIB;
    if (rank->rank != 0)
        return 1;
    rank->first_us = calloc(CALIBRATE_SAMPLES_MAX, sizeof *rank->first_us);
    rank->last_us = calloc(CALIBRATE_SAMPLES_MAX, sizeof *rank->last_us);
    return rank->first_us != NULL && rank->last_us != NULL;
}

static xylem_status_t rounds_run(rank_t *rank, unsigned rounds)
{
    xylem_status_t status = XYLEM_OK;
    unsigned round, i;

    /* Round 0 is thrown away: it connects the ranks. */
    for (round = 0; round <= rounds && status == XYLEM_OK; round++)
        for (i = 0; i < rank->probes_count && status == XYLEM_OK; i++)
            status = measure(rank, i, round == 0 ? 0 : round - 1);
    return status;
}

static int job(rank_t *rank, calibrate_set_t set, unsigned rounds)
{
    xylem_status_t status;
    int code = EXIT_FAILURE;
    unsigned i;

    rank->is_shared = set == CALIBRATE_SET_SHARED;
    peers_find(rank);
    plan(rank, set);
    rank->sum = xyl_kernel_find(XYLEM_SUM, XYLEM_FLOAT32, xyl_isa_best());
    status = gate_open(impl_event(), rank->impl_state, &rank->gate);
    if (status != XYLEM_OK || rank->gate == NULL) {
        fprintf(stderr, "calibration wants ranks of one machine\n");
        return code;
    }
    if (!allocate(rank))
        fprintf(stderr, "no memory for the measurements\n");
    else
        status = rounds_run(rank, rounds);
    if (status == XYLEM_OK && rank->memory.memory != NULL) {
        if (rank->rank == 0)
            report(rank, rounds);
        code = EXIT_SUCCESS;
    }
    for (i = 0; i < rank->divisions_count; i++)
        (void)xylem_team_destroy(rank->divisions[i].team);
    gate_close(rank->gate);
    buffers_destroy(&rank->memory);
    free(rank->first_us);
    free(rank->last_us);
    return code;
}

int calibrate_measure_main(int argc, char **argv)
{
    static const struct bench_tuning tuning;
    rank_t *rank = calloc(1, sizeof *rank);
    calibrate_set_t set = CALIBRATE_SET_FULL;
    int rounds = argc > 1 ? atoi(argv[1]) : 0, code = EXIT_FAILURE;
    struct event_state *state;

    if (argc > 0 && strcmp(argv[0], "shared") == 0)
        set = CALIBRATE_SET_SHARED;
    if (rank == NULL || rounds < 1 || rounds > ROUNDS_MAX ||
        impl_event()->open(&tuning, &rank->impl_state) != XYLEM_OK)
        goto free_rank;
    state = rank->impl_state;
    rank->context = state->context;
    rank->world = state->world;
    rank->rank = xylem_team_rank(rank->world);
    rank->ranks = xylem_team_size(rank->world);
    if (rank->ranks <= CALIBRATE_RANKS_MAX)
        code = job(rank, set, (unsigned)rounds);
    impl_event()->close(state);
free_rank:
    free(rank);
    return code;
}
