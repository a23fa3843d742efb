/* The runs of a campaign. One thread. */
#include "simulator/program/runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/text.h"
#include "bench/measure/coll_data.h"
#include "bench/measure/noise.h"
#include "simulator/noise/floor.h"
#include "simulator/program/rows.h"
#include "simulator/random.h"

enum {
    LABEL_BYTES = 512,
    PILOT_WARMUP = 2,
    PILOT_CALLS = 4,
    CALLS_MIN = 10,
    CALLS_MAX = 200, /* unless calls are cheap */
    TRACE_EVENTS_MAX = 2000000
};

static const double span_us = 1e6;      /* ten periods of noise of 10 Hz */
static const double pilot_events = 2e7; /* so many are cheap */
static const uint64_t shown_every_ns = 100000000;

/* ---- numbers ---- */

/* Rounds as files do, so that a continued campaign gets the same numbers. */
static double rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

static struct sim_numbers numbers_of(const struct sim_outcome *outcome,
                                     const struct sim_case *c)
{
    const sim_counts_t *counts = &outcome->counts;
    double calls = (double)c->warmup + c->iterations;
    struct sim_numbers numbers = {
        .iterations = c->iterations,
        .us = {.min = rounded(outcome->us.min),
               .avg = rounded(outcome->us.avg),
               .max = rounded(outcome->us.max)},
        .noise_us = rounded(outcome->noise_us),
        .unexpected = rounded((double)counts->unexpected / calls),
        .events = rounded((double)counts->events / calls),
        .fingerprint = counts->fingerprint,
        .ended = outcome->ended,
        .failed = outcome->failed,
        .failed_us = rounded(outcome->failed_us)};
    unsigned i;

    for (i = 0; i < SIM_LEVEL_COUNT; i++) {
        numbers.messages[i] = rounded((double)counts->messages[i] / calls);
        numbers.bytes[i] = rounded((double)counts->bytes[i] / calls);
    }
    for (i = 0; i < c->simulation->ranks; i++)
        c->rank_us[i] = rounded(c->rank_us[i]);
    return numbers;
}

/* The next value of a mean that has had `count` values. */
static void mean_add(double *mean, double value, unsigned count)
{
    *mean += (value - *mean) / (count + 1.0);
}

static void cell_add(struct sim_cell *cell, const struct sim_numbers *numbers,
                     const double *rank_us, unsigned ranks)
{
    struct sim_numbers *mean = &cell->mean;
    unsigned n = cell->runs++;
    unsigned i;

    mean_add(&mean->us.min, numbers->us.min, n);
    mean_add(&mean->us.avg, numbers->us.avg, n);
    mean_add(&mean->us.max, numbers->us.max, n);
    mean_add(&mean->noise_us, numbers->noise_us, n);
    for (i = 0; i < SIM_LEVEL_COUNT; i++) {
        mean_add(&mean->messages[i], numbers->messages[i], n);
        mean_add(&mean->bytes[i], numbers->bytes[i], n);
    }
    mean_add(&mean->unexpected, numbers->unexpected, n);
    mean_add(&mean->events, numbers->events, n);
    for (i = 0; i < ranks; i++)
        mean_add(&cell->rank_us[i], rank_us[i], n);
    mean->iterations = numbers->iterations;
    mean->fingerprint =
        n == 0 ? numbers->fingerprint
               : random_mix(mean->fingerprint) ^ numbers->fingerprint;
    mean->ended = numbers->ended;
    mean->failed = numbers->failed;
    mean->failed_us = numbers->failed_us;
}

/* The least cost of the noise, if each call is as long as this contender's
 * calls without noise, and waits once for the ranks whose data it needs. 0: not
 * known. */
static double floor_of(const struct sim_campaign *campaign, size_t contender,
                       size_t level)
{
    const struct simulation *simulation = campaign->simulation;
    double us = sim_campaign_cell(campaign, contender, 0)->mean.us.avg;
    const sim_noise_t *noise = &simulation->noises[level - 1].noise;
    uint32_t sides[2];
    sim_floor_t floor = {.needs = sim_needs_of(simulation->coll),
                         .ranks = simulation->ranks,
                         .root = simulation->root,
                         .work = (sim_time_t)(us * (double)SIM_US),
                         .noise = noise};

    if (floor.work == 0 || noise->kind == SIM_NOISE_ONCE)
        return 0;
    coll_grid(simulation->ranks, sides);
    floor.columns = sides[1];
    return us * sim_floor(&floor);
}

/* ---- progress ---- */

struct shown {
    struct sim_campaign *campaign;
    const char *contender;
    const char *noise;
};

static int has_watcher(const struct sim_campaign *campaign)
{
    return !campaign->simulation->quiet && isatty(STDERR_FILENO);
}

static void progress_clear(const struct sim_campaign *campaign)
{
    if (has_watcher(campaign))
        fputs("\r\033[K", stderr);
}

static void progress_show(void *arg, double part)
{
    enum { BAR_WIDTH = 24 };
    static const char full[] = "########################";
    const struct shown *shown = arg;
    struct sim_campaign *campaign = shown->campaign;
    uint64_t now_ns = noise_now_ns();
    int width = (int)(part * BAR_WIDTH);

    if (!has_watcher(campaign) || now_ns - campaign->shown_ns < shown_every_ns)
        return;
    campaign->shown_ns = now_ns;
    progress_clear(campaign);
    fprintf(stderr, "[%-*.*s] run %u of %u, %.0f s: %s, noise %s", BAR_WIDTH,
            width, full, campaign->runs_done + 1, campaign->runs_planned,
            (double)(now_ns - campaign->begin_ns) / 1e9, shown->contender,
            shown->noise);
    fflush(stderr);
}

/* ---- runs ---- */

/* Seeds change a quiet run only if it has disorder. */
static unsigned runs_of(const struct sim_campaign *campaign, size_t level)
{
    const struct simulation *simulation = campaign->simulation;

    if (level > 0 || simulation->jitter > 0 ||
        simulation->arrivals.pattern == SIM_ARRIVAL_RANDOM)
        return simulation->seeds;
    return 1;
}

/* Names the run of a record, as text in JSON. */
static void trace_label(const struct sim_campaign *campaign,
                        char label[LABEL_BYTES])
{
    const struct simulation *simulation = campaign->simulation;
    size_t level = campaign->levels - 1;
    char size[SIM_NAME_BYTES], *c;

    text_of_bytes(simulation->bytes, size, sizeof size);
    snprintf(label, LABEL_BYTES, "simulated %s: %s of %s by %s, %u rank%s%s%s",
             simulation->machine.name, simulation->coll_name, size,
             simulation->contenders[0].name, simulation->ranks,
             text_plural(simulation->ranks), level > 0 ? ", noise " : "",
             level > 0 ? sim_campaign_noise(campaign, level) : "");
    for (c = label; *c != '\0'; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '_';
}

static xyl_trace_t *trace_open(const struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    char label[LABEL_BYTES];
    xyl_trace_t *trace;

    trace_label(campaign, label);
    trace = xyl_trace_create(
        simulation->trace,
        &(xyl_trace_rows_t){.label = label,
                            .ranks = simulation->ranks,
                            .ranks_per_node = simulation->ranks_per_node},
        TRACE_EVENTS_MAX);

    if (trace == NULL)
        fprintf(stderr, "%s: cannot write %s: %s\n", simulation->program,
                simulation->trace, strerror(errno));
    return trace;
}

static int trace_close(const struct simulation *simulation, xyl_trace_t *trace)
{
    if (trace == NULL || xyl_trace_destroy(trace))
        return 1;
    fprintf(stderr, "%s: could not write all of %s\n", simulation->program,
            simulation->trace);
    return 0;
}

/* 1: the run is traced: the noisy one, if there is one. */
static int is_traced(const struct sim_campaign *campaign, size_t level)
{
    return campaign->simulation->trace != NULL && level == campaign->levels - 1;
}

/* `outcome` NULL: the run is made in a process of its own, which keeps the
 * outcome. */
static int run_one(struct sim_campaign *campaign, struct sim_case *c,
                   size_t level, struct sim_outcome *outcome)
{
    const struct simulation *simulation = campaign->simulation;
    struct shown shown = {campaign, c->contender->name,
                          sim_campaign_noise(campaign, level)};
    sim_noise_t noise;
    int ok;

    if (level > 0) {
        noise = simulation->noises[level - 1].noise;
        noise.seed = c->seed;
        c->noise = &noise;
    }
    c->rank_us = campaign->scratch;
    c->progress = progress_show;
    c->progress_arg = &shown;
    if (outcome != NULL)
        ok = sim_case_run(c, outcome);
    else
        ok = sim_side_begin(&campaign->side, c,
                            (size_t)(c->contender - simulation->contenders),
                            level);
    c->noise = NULL;
    progress_clear(campaign);
    return ok;
}

/* How many calls are measured. Noise must have the time to come a few times;
 * without it all calls are alike. */
static int iterations_choose(struct sim_campaign *campaign, struct sim_case *c)
{
    struct sim_case pilot = *c;
    struct sim_outcome outcome;
    double calls, cheap;

    c->iterations = campaign->simulation->iterations;
    if (c->iterations != SIM_AUTO)
        return 1;
    c->iterations = CALLS_MIN;
    if (campaign->levels == 1)
        return 1;
    pilot.warmup = PILOT_WARMUP;
    pilot.iterations = PILOT_CALLS;
    if (!run_one(campaign, &pilot, 0, &outcome))
        return 0;
    calls = span_us / outcome.us.avg;
    cheap = pilot_events * (PILOT_WARMUP + PILOT_CALLS) /
            ((double)outcome.counts.events + 1);
    if (cheap < CALLS_MAX)
        cheap = CALLS_MAX;
    if (calls > cheap)
        calls = cheap;
    if (calls > CALLS_MIN)
        c->iterations = (unsigned)calls;
    return 1;
}

/* A run of a cell has ended, or was known: its times are in the scratch. */
static int run_take(struct sim_campaign *campaign, size_t contender,
                    size_t level, const struct sim_numbers *numbers)
{
    const struct simulation *simulation = campaign->simulation;
    struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);
    unsigned seed = cell->runs;
    int ok = 1;

    if (seed == 0 && level > 0)
        cell->floor_us = floor_of(campaign, contender, level);
    cell_add(cell, numbers, campaign->scratch, simulation->ranks);
    if (campaign->rows == NULL)
        return 1;
    ok = sim_rows_add(campaign->rows, campaign, contender, level, seed, numbers,
                      campaign->scratch);
    if (cell->runs > 1 && cell->runs == runs_of(campaign, level))
        ok &= sim_rows_add_mean(campaign->rows, campaign, contender, level);
    return ok;
}

static void wall_add(struct sim_campaign *campaign, size_t contender,
                     size_t level, const struct sim_outcome *outcome)
{
    struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);

    cell->wall_s += outcome->wall_s;
    cell->wall_events += (double)outcome->counts.events;
    cell->memory_bytes =
        fmax(cell->memory_bytes, (double)outcome->counts.memory_bytes);
}

/* The file's numbers of a run; a run that is to be traced is made in any case.
 */
static const struct sim_numbers *run_known(struct sim_campaign *campaign,
                                           size_t contender, size_t level,
                                           unsigned seed)
{
    if (campaign->rows == NULL || is_traced(campaign, level))
        return NULL;
    return sim_rows_find(campaign->rows, contender, level, seed,
                         campaign->scratch);
}

static int is_all_known(struct sim_campaign *campaign, size_t contender)
{
    size_t level;
    unsigned i;

    for (level = 0; level < campaign->levels; level++)
        for (i = 0; i < runs_of(campaign, level); i++)
            if (run_known(campaign, contender, level, i) == NULL)
                return 0;
    return 1;
}

/* Takes the runs that ran side by side, in the order of their begins, up to the
 * first that has not ended. */
static int side_take(struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    const struct sim_side_run *run;
    struct sim_numbers numbers;
    int ok = 1;

    while (ok && (run = sim_side_next(&campaign->side)) != NULL) {
        struct sim_case c = {.simulation = simulation,
                             .warmup = run->warmup,
                             .iterations = run->iterations,
                             .rank_us = campaign->scratch};

        memcpy(c.rank_us, run->rank_us, simulation->ranks * sizeof *c.rank_us);
        numbers = run->is_known ? run->known : numbers_of(&run->outcome, &c);
        if (!run->is_known)
            wall_add(campaign, run->contender, run->level, &run->outcome);
        ok = run_take(campaign, run->contender, run->level, &numbers);
    }
    return ok;
}

/* A run that is made now, in this process or beside it. */
static int run_make(struct sim_campaign *campaign, size_t contender,
                    size_t level, struct sim_case *c)
{
    struct sim_outcome outcome;
    struct sim_numbers numbers;

    if (campaign->side.runs != NULL)
        return run_one(campaign, c, level, NULL) && side_take(campaign);
    if (!run_one(campaign, c, level, &outcome))
        return 0;
    numbers = numbers_of(&outcome, c);
    wall_add(campaign, contender, level, &outcome);
    return run_take(campaign, contender, level, &numbers);
}

static int run_level(struct sim_campaign *campaign, size_t contender,
                     size_t level, struct sim_case *c)
{
    const struct simulation *simulation = campaign->simulation;
    const struct sim_numbers *known;
    unsigned i;
    int ok = 1;

    if (is_traced(campaign, level)) {
        c->trace = trace_open(campaign);
        if (c->trace == NULL)
            return 0;
    }
    for (i = 0; i < runs_of(campaign, level) && ok; i++) {
        c->seed = (uint64_t)simulation->seed + i;
        known = run_known(campaign, contender, level, i);
        if (known == NULL)
            ok = run_make(campaign, contender, level, c);
        else if (campaign->side.runs == NULL)
            ok = run_take(campaign, contender, level, known);
        else
            ok = sim_side_know(&campaign->side, contender, level, known,
                               campaign->scratch) &&
                 side_take(campaign);
        campaign->runs_done++;
    }
    ok &= trace_close(simulation, c->trace);
    c->trace = NULL;
    return ok;
}

/* Waits until all runs that were begun have ended, one after the other. */
static int side_end(struct sim_campaign *campaign)
{
    int ok = side_take(campaign);

    while (sim_side_wait_one(&campaign->side))
        ok &= side_take(campaign);
    return ok && !campaign->side.has_failed;
}

int sim_runs_make(struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    size_t i, level;
    int ok = 1;

    for (level = 0; level < campaign->levels; level++)
        campaign->runs_planned +=
            runs_of(campaign, level) * (unsigned)simulation->contenders_count;
    if (simulation->jobs > 1)
        ok = sim_side_create(&campaign->side, simulation,
                             campaign->runs_planned);
    for (i = 0; i < simulation->contenders_count && ok; i++) {
        struct sim_case c = {.simulation = simulation,
                             .contender = &simulation->contenders[i],
                             .seed = simulation->seed,
                             .warmup = simulation->warmup};

        ok = is_all_known(campaign, i) || iterations_choose(campaign, &c);
        for (level = 0; level < campaign->levels && ok; level++)
            ok = run_level(campaign, i, level, &c);
    }
    if (simulation->jobs > 1)
        ok = side_end(campaign) && ok;
    return ok;
}
