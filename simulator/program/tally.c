/* Counts and times the calls of the ranks. One thread. */
#include "simulator/program/tally.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/noise.h"

static const uint64_t slice_events = 1 << 18; /* between looks at progress */

sim_time_t sim_case_arrival(const struct sim_case *c, uint32_t rank)
{
    sim_arrivals_t arrivals = c->simulation->arrivals;

    arrivals.seed = c->seed;
    return sim_arrivals_time(&arrivals, rank, c->simulation->ranks);
}

int sim_tally_create(struct sim_tally *tally, const struct sim_case *c)
{
    *tally = (struct sim_tally){.c = c, .ranks = c->simulation->ranks};
    tally->records = calloc(tally->ranks, sizeof *tally->records);
    if (tally->records != NULL)
        return 1;
    fprintf(stderr, "%s: out of memory\n", c->simulation->program);
    return 0;
}

void sim_tally_destroy(struct sim_tally *tally)
{
    free(tally->records);
}

void sim_tally_begin(struct sim_tally *tally, uint32_t rank)
{
    /* Noise that keeps the rank from its call belongs to the call. */
    tally->records[rank].begin = sim_case_arrival(tally->c, rank);
}

int sim_tally_end(struct sim_tally *tally, uint32_t rank)
{
    struct sim_record *record = &tally->records[rank];
    const struct sim_case *c = tally->c;
    sim_time_t now = sim_world_now(tally->world, rank);

    record->calls++;
    tally->calls++;
    if (record->calls == c->warmup)
        record->begin = now;
    if (record->calls < c->warmup + c->iterations)
        return 1;
    record->end = now;
    record->is_over = 1;
    return 0;
}

void sim_tally_fail(struct sim_tally *tally, uint32_t rank)
{
    struct sim_record *record = &tally->records[rank];

    record->end = sim_world_now(tally->world, rank);
    record->is_over = 1;
    record->has_failed = 1;
}

void sim_tally_complain(struct sim_tally *tally, uint32_t rank,
                        const char *text)
{
    if (tally->complaints++ == 0)
        fprintf(stderr, "%s: %s, seed %llu: rank %u: %s\n",
                tally->c->simulation->program, tally->c->contender->name,
                (unsigned long long)tally->c->seed, rank, text);
}

/* ---- the sums ---- */

static double us_of(sim_time_t time)
{
    return (double)time / (double)SIM_US;
}

/* How much of [begin, end) the rank's core was taken away. */
static sim_time_t noise_within(const sim_noise_t *noise, uint32_t rank,
                               sim_time_t begin, sim_time_t end)
{
    sim_noise_cursor_t cursor;
    sim_time_t time = begin, taken = 0;

    sim_noise_cursor_init(&cursor, noise, rank);
    while (time < end) {
        sim_time_t first, last;

        (void)sim_noise_clear(&cursor, time);
        first = cursor.burst.begin > time ? cursor.burst.begin : time;
        if (first >= end)
            break;
        last = cursor.burst.begin + cursor.burst.length;
        if (last > end)
            last = end;
        taken += last - first;
        time = last;
    }
    return taken;
}

static void outcome_fill(const struct sim_tally *tally,
                         struct sim_outcome *outcome)
{
    const struct sim_case *c = tally->c;
    double calls = c->iterations;
    sim_time_t taken = 0;
    unsigned i;

    for (i = 0; i < tally->ranks; i++) {
        const struct sim_record *record = &tally->records[i];

        c->rank_us[i] = 0;
        if (!record->is_over)
            continue; /* the rank has died */
        c->rank_us[i] = us_of(record->end - record->begin) / calls;
        if (c->noise != NULL)
            taken += noise_within(c->noise, i, record->begin, record->end);
        outcome->ended += !record->has_failed;
        outcome->failed += record->has_failed != 0;
        if (record->has_failed && us_of(record->end) > outcome->failed_us)
            outcome->failed_us = us_of(record->end);
    }
    outcome->us = stats_range(c->rank_us, tally->ranks, 1);
    outcome->noise_us = us_of(taken) / calls / tally->ranks;
    sim_world_counts(tally->world, &outcome->counts);
}

/* ---- the run ---- */

static int is_complete(const struct sim_tally *tally)
{
    const struct simulation *simulation = tally->c->simulation;
    uint32_t i;

    for (i = 0; i < tally->ranks; i++) {
        if (!tally->records[i].is_over &&
            !(simulation->has_kill && sim_world_is_dead(tally->world, i)))
            return 0;
    }
    return 1;
}

int sim_tally_drive(struct sim_tally *tally, struct sim_outcome *outcome)
{
    const struct sim_case *c = tally->c;
    double planned = (double)tally->ranks * ((double)c->warmup + c->iterations);
    uint64_t begin_ns = noise_now_ns();

    while (!sim_world_run(tally->world, SIM_NEVER, slice_events)) {
        if (c->progress != NULL)
            c->progress(c->progress_arg, (double)tally->calls / planned);
    }
    outcome->wall_s = (double)(noise_now_ns() - begin_ns) / 1e9;
    outcome_fill(tally, outcome);
    if (!is_complete(tally)) {
        sim_tally_complain(tally, 0, "the ranks wait for ever; who for what:");
        sim_world_dump(tally->world, stderr);
    }
    return tally->complaints == 0;
}
