/* From measurements to a machine.
 *
 * Some numbers follow directly from a measurement: protocols, limits, the costs
 * of a call and of a posting, and first guesses of all others. The others are
 * then varied, one at a time in ever smaller steps, until the micro-benchmarks
 * take as long on the simulated machine as on the real one. The parts are
 * fitted in the order of the enumeration, each with its own numbers and
 * measurements, so that none can hide the errors of another.
 *
 * No measurement from outside tells the cost of a completion from the overhead
 * of its message; a completion is taken to cost as much as a posting. One
 * thread. */
#include "simulator/calibrate/fit.h"

#include <assert.h>

#include "simulator/calibrate/simulate.h"

#define KIB ((size_t)1 << 10)

enum { SWEEPS_MAX = 6 };

/* 500 GB/s: no work on bytes is faster. */
#define RATE_LEAST ((sim_rate_t)2000)

/* Beyond this a stream is more than the queue between two ranks. */
#define NEAR_BYTES (256 * KIB)

typedef struct fit {
    const calibrate_sample_t *samples;
    unsigned count;
    sim_machine_t *machine;
    calibrate_part_t part;
    sim_level_t level; /* of EAGER and RENDEZVOUS */
    xylem_status_t status;
} fit_t;

const char *calibrate_part_name(calibrate_part_t part)
{
    static const char *const names[] = {
        "eager messages", "rendezvous",        "sums",
        "large messages", "all cores at once", "shared cores"};

    return names[part];
}

/* ---- looking at measurements ---- */

static sim_level_t level_of(const sim_machine_t *machine, uint32_t core)
{
    uint32_t group = core / machine->cores_per_group;
    uint32_t numa = group / machine->groups_per_numa;

    if (numa / machine->numas_per_socket != 0)
        return SIM_LEVEL_NODE;
    if (numa != 0)
        return SIM_LEVEL_SOCKET;
    return group != 0 ? SIM_LEVEL_NUMA : SIM_LEVEL_GROUP;
}

static int is_shared(const fit_t *fit, const calibrate_sample_t *sample)
{
    return sample->ranks > sim_machine_cores(fit->machine);
}

/* 1: the sample is between rank 0 and a peer at the level; SIM_LEVEL_COUNT: at
 * any level. */
static int is_pair(const fit_t *fit, const calibrate_sample_t *sample,
                   calibrate_kind_t kind, sim_level_t level)
{
    return sample->probe.kind == kind && !is_shared(fit, sample) &&
           (level == SIM_LEVEL_COUNT ||
            level_of(fit->machine, sample->probe.peer) == level);
}

/* The sample with these numbers; NULL: none. */
static const calibrate_sample_t *find(const fit_t *fit, calibrate_kind_t kind,
                                      size_t bytes, uint32_t count)
{
    unsigned i;

    for (i = 0; i < fit->count; i++) {
        const calibrate_sample_t *sample = &fit->samples[i];
        if (is_pair(fit, sample, kind, fit->level) &&
            sample->probe.bytes == bytes && sample->probe.count == count)
            return sample;
    }
    return NULL;
}

static sim_time_t time_of(double us)
{
    return us <= 0 ? 0 : (sim_time_t)(us * (double)SIM_US);
}

static sim_rate_t rate_of(double us, size_t bytes)
{
    return us <= 0 || bytes == 0
               ? 1
               : (sim_rate_t)(us * (double)SIM_US * 1000 / (double)bytes) + 1;
}

/* ---- what measurements show directly ---- */

/* Finds the protocol, by the messages that a sender completes while its peer is
 * away. */
static void take_protocol(fit_t *fit, sim_link_t *link)
{
    size_t eager = 0;
    uint32_t slots = 0, refused = UINT32_MAX;
    unsigned i;

    link->rendezvous = SIM_RENDEZVOUS_PIPELINE;
    for (i = 0; i < fit->count; i++) {
        const calibrate_sample_t *sample = &fit->samples[i];
        const calibrate_probe_t *probe = &sample->probe;
        double half = CALIBRATE_AWAY_US / 2.0;
        if (is_pair(fit, sample, CALIBRATE_ABSENT_SENDER, fit->level) &&
            sample->last_us < half)
            link->rendezvous = SIM_RENDEZVOUS_GET;
        if (!is_pair(fit, sample, CALIBRATE_ABSENT_RECEIVER, fit->level))
            continue;
        if (probe->count == 1 && sample->first_us < half &&
            probe->bytes > eager)
            eager = probe->bytes;
        if (probe->count > 1 && sample->first_us < half && probe->count > slots)
            slots = probe->count;
        if (probe->count > 1 && sample->first_us >= half &&
            probe->count < refused)
            refused = probe->count;
    }
    link->eager_bytes_max = eager;
    if (fit->level == SIM_LEVEL_GROUP && refused != UINT32_MAX)
        fit->machine->node.queue_slots = (slots + refused) / 2;
}

static void take_calls(fit_t *fit)
{
    sim_machine_t *machine = fit->machine;
    const calibrate_sample_t *few = NULL, *many = NULL;
    unsigned i, posts;

    for (i = 0; i < fit->count; i++) {
        const calibrate_sample_t *sample = &fit->samples[i];
        if (sample->probe.kind == CALIBRATE_TURN)
            machine->core.rank_linger = time_of(
                sample->first_us * CALIBRATE_IDLE_TURNS / sample->probe.count);
        if (is_shared(fit, sample))
            continue;
        if (sample->probe.kind == CALIBRATE_CALL)
            machine->core.call = time_of(sample->first_us);
        if (!is_pair(fit, sample, CALIBRATE_POST, SIM_LEVEL_GROUP))
            continue;
        if (few == NULL || sample->probe.window < few->probe.window)
            few = sample;
        if (many == NULL || sample->probe.window > many->probe.window)
            many = sample;
    }
    if (few == NULL || few->probe.window == many->probe.window)
        return;
    posts = 2 * (many->probe.window - few->probe.window);
    machine->core.post = time_of((many->first_us - few->first_us) / posts);
    machine->core.event = machine->core.post;
}

/* Times per message at two sizes give the costs of a message and of a byte. */
static void guess_eager(fit_t *fit, sim_link_t *link)
{
    const calibrate_sample_t *small = find(fit, CALIBRATE_STREAM, 4 * KIB, 24);
    const calibrate_sample_t *large = find(fit, CALIBRATE_STREAM, 8 * KIB, 24);
    const calibrate_sample_t *ping = find(fit, CALIBRATE_PING, 4 * KIB, 1);
    sim_machine_t *machine = fit->machine;

    link->latency = 100 * SIM_NS;
    link->send_overhead = link->recv_overhead = 200 * SIM_NS;
    if (small == NULL || large == NULL || ping == NULL)
        return;
    link->per_byte =
        rate_of(large->last_us - small->last_us, (size_t)24 * 4 * KIB);
    if (fit->level == SIM_LEVEL_GROUP)
        machine->core.copy =
            rate_of(large->first_us - small->first_us, (size_t)24 * 4 * KIB);
    link->send_overhead = time_of(small->first_us / 24) / 2;
    link->recv_overhead = time_of(small->last_us / 24) / 2;
    link->latency = time_of(ping->first_us) / 10;
}

static void guess_rendezvous(fit_t *fit, sim_link_t *link)
{
    const calibrate_sample_t *small = find(fit, CALIBRATE_PING, 64 * KIB, 1);
    const calibrate_sample_t *large = find(fit, CALIBRATE_PING, 1024 * KIB, 1);

    link->rendezvous_overhead = SIM_US;
    link->rendezvous_per_byte = fit->machine->core.copy;
    if (small == NULL || large == NULL)
        return;
    link->rendezvous_per_byte =
        rate_of((large->first_us - small->first_us) / 2, 960 * KIB);
}

/* Finds the size of the caches: that of the longest summed stream whose
 * messages take less than the mean of those of the shortest and of the longest
 * stream. */
static void take_cache(fit_t *fit)
{
    const calibrate_sample_t *first = NULL, *last = NULL, *sample;
    sim_machine_t *machine = fit->machine;
    double near_us, far_us;
    unsigned i;

    machine->core.cache_bytes = SIZE_MAX;
    for (i = 0; i < fit->count; i++) {
        sample = &fit->samples[i];
        if (!is_pair(fit, sample, CALIBRATE_COMBINE, SIM_LEVEL_GROUP) ||
            sample->probe.bytes != 6 * KIB)
            continue;
        if (first == NULL || sample->probe.count < first->probe.count)
            first = sample;
        if (last == NULL || sample->probe.count > last->probe.count)
            last = sample;
    }
    if (first == NULL)
        return;
    near_us = first->first_us / first->probe.count;
    far_us = last->first_us / last->probe.count;
    if (far_us < near_us * 1.1)
        return;
    machine->core.cache_bytes = 0;
    for (i = 0; i < fit->count; i++) {
        sample = &fit->samples[i];
        if (is_pair(fit, sample, CALIBRATE_COMBINE, SIM_LEVEL_GROUP) &&
            sample->probe.bytes == 6 * KIB &&
            sample->first_us / sample->probe.count < (near_us + far_us) / 2 &&
            calibrate_probe_bytes(&sample->probe) > machine->core.cache_bytes)
            machine->core.cache_bytes = calibrate_probe_bytes(&sample->probe);
    }
}

/* ---- which measurements belong to a part ---- */

static int is_stream(const fit_t *fit, const calibrate_sample_t *sample)
{
    return is_pair(fit, sample, CALIBRATE_STREAM, fit->level) ||
           is_pair(fit, sample, CALIBRATE_PING, fit->level);
}

static int is_of_all(const calibrate_sample_t *sample)
{
    return sample->probe.kind == CALIBRATE_FAN_OUT ||
           sample->probe.kind == CALIBRATE_FAN_IN ||
           sample->probe.kind == CALIBRATE_RELAY;
}

static int belongs(const fit_t *fit, const calibrate_sample_t *sample)
{
    const calibrate_probe_t *probe = &sample->probe;
    const sim_machine_t *machine = fit->machine;
    size_t bytes = calibrate_probe_bytes(probe);
    int is_eager = probe->bytes <= machine->links[fit->level].eager_bytes_max;

    switch (fit->part) {
    case CALIBRATE_PART_EAGER:
        return is_stream(fit, sample) && is_eager && bytes <= NEAR_BYTES;
    case CALIBRATE_PART_RENDEZVOUS:
        return is_stream(fit, sample) && !is_eager;
    case CALIBRATE_PART_SUM:
        return is_pair(fit, sample, CALIBRATE_COMBINE, SIM_LEVEL_GROUP) &&
               probe->bytes >= 2 * KIB && bytes <= machine->core.cache_bytes;
    case CALIBRATE_PART_FAR:
        return (is_pair(fit, sample, CALIBRATE_COMBINE, SIM_LEVEL_GROUP) ||
                is_pair(fit, sample, CALIBRATE_STREAM, SIM_LEVEL_GROUP)) &&
               is_eager && bytes > machine->core.cache_bytes;
    case CALIBRATE_PART_MEMORY:
        return is_of_all(sample) && !is_shared(fit, sample) &&
               bytes > machine->core.cache_bytes;
    case CALIBRATE_PART_SHARED:
        return is_of_all(sample) && is_shared(fit, sample) &&
               probe->bytes >= 2 * KIB;
    case CALIBRATE_PART_COUNT:
        break;
    }
    return 0;
}

/* Whether the first, and whether the last, of the probe's two times counts. */
static int first_counts(const calibrate_probe_t *probe)
{
    return probe->kind != CALIBRATE_RELAY && probe->kind != CALIBRATE_FAN_OUT;
}

static int last_counts(const calibrate_probe_t *probe)
{
    return probe->kind != CALIBRATE_PING && probe->kind != CALIBRATE_COMBINE &&
           probe->kind != CALIBRATE_FAN_IN;
}

/* ---- agreement ---- */

/* 0 ... 2, the same when both are exchanged. */
static double error_of(double simulated, double measured)
{
    double sum = simulated + measured;
    double difference = simulated - measured;

    if (sum <= 0)
        return 0;
    return 2 * (difference < 0 ? -difference : difference) / sum;
}

/* The mean over the part's measurements; their number in *count_out. */
static double disagreement(fit_t *fit, unsigned *count_out)
{
    double sum = 0;
    unsigned i, count = 0;

    for (i = 0; i < fit->count && fit->status == XYLEM_OK; i++) {
        const calibrate_sample_t *measured = &fit->samples[i];
        calibrate_sample_t simulated = *measured;
        if (!belongs(fit, measured))
            continue;
        fit->status = calibrate_simulate(fit->machine, &simulated);
        if (first_counts(&measured->probe)) {
            sum += error_of(simulated.first_us, measured->first_us);
            count++;
        }
        if (last_counts(&measured->probe)) {
            sum += error_of(simulated.last_us, measured->last_us);
            count++;
        }
    }
    *count_out = count;
    return count == 0 ? 0 : sum / count;
}

/* A number that is varied. */
typedef struct knob {
    uint64_t *value;
    uint64_t least;
} knob_t;

/* Tries one number a step up and a step down. 1 when that was better. */
static int try_steps(fit_t *fit, const knob_t *knob, double step, double *best)
{
    uint64_t before = *knob->value;
    double tries[2] = {(double)before * (1 + step) + 1,
                       (double)before * (1 - step)};
    unsigned i, count;

    for (i = 0; i < 2; i++) {
        double error;
        *knob->value = (uint64_t)tries[i];
        if (*knob->value < knob->least)
            *knob->value = knob->least;
        error = disagreement(fit, &count);
        if (error < *best && fit->status == XYLEM_OK) {
            *best = error;
            return 1;
        }
    }
    *knob->value = before;
    return 0;
}

static double descend(fit_t *fit, const knob_t *knobs, unsigned knobs_count,
                      unsigned *count_out)
{
    static const double steps[] = {0.6, 0.3, 0.15, 0.08, 0.04, 0.02};
    double best = disagreement(fit, count_out);
    unsigned s, sweep, k;

    if (*count_out == 0)
        return 0;
    for (s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        int improved = 1;
        for (sweep = 0; improved && sweep < SWEEPS_MAX; sweep++) {
            improved = 0;
            for (k = 0; k < knobs_count && fit->status == XYLEM_OK; k++)
                improved |= try_steps(fit, &knobs[k], steps[s], &best);
        }
    }
    return best;
}

/* ---- the parts ---- */

static void fit_part(fit_t *fit, calibrate_part_t part, const knob_t *knobs,
                     unsigned knobs_count, calibrate_quality_t *quality)
{
    unsigned count;
    double error;

    fit->part = part;
    error = descend(fit, knobs, knobs_count, &count);
    if (count == 0)
        return;
    quality->error[part] =
        (quality->error[part] * quality->samples[part] + error * count) /
        (quality->samples[part] + count);
    quality->samples[part] += count;
}

static int has_level(const fit_t *fit, sim_level_t level)
{
    unsigned i;

    for (i = 0; i < fit->count; i++)
        if (is_pair(fit, &fit->samples[i], CALIBRATE_PING, level))
            return 1;
    return 0;
}

/* A level without measurements is like the next one further in. */
static void fit_link(fit_t *fit, sim_level_t level,
                     calibrate_quality_t *quality)
{
    sim_machine_t *machine = fit->machine;
    sim_link_t *link = &machine->links[level];
    const knob_t eager[] = {{&link->recv_overhead, 0},
                            {&link->send_overhead, 0},
                            {&link->per_byte, RATE_LEAST},
                            {&link->latency, 0},
                            {&machine->core.copy, RATE_LEAST}};
    const knob_t rendezvous[] = {{&link->rendezvous_overhead, 0},
                                 {&link->rendezvous_per_byte, RATE_LEAST}};

    fit->level = level;
    if (!has_level(fit, level)) {
        if (level != SIM_LEVEL_GROUP)
            *link = machine->links[level - 1];
        return;
    }
    link->transport = SIM_TRANSPORT_COPY;
    take_protocol(fit, link);
    guess_eager(fit, link);
    /* The speed of a core's own copies is settled by the first link. */
    fit_part(fit, CALIBRATE_PART_EAGER, eager, level == SIM_LEVEL_GROUP ? 5 : 4,
             quality);
    guess_rendezvous(fit, link);
    fit_part(fit, CALIBRATE_PART_RENDEZVOUS, rendezvous, 2, quality);
}

static void fit_core(fit_t *fit, calibrate_quality_t *quality)
{
    sim_machine_t *machine = fit->machine;
    /* Far data are not faster than near data. */
    knob_t sum = {&machine->core.reduce, RATE_LEAST};
    knob_t far[] = {{&machine->core.copy_far, machine->core.copy},
                    {&machine->core.reduce_far, 0}};
    knob_t memory = {&machine->node.memory, 1};
    knob_t shared = {&machine->core.rank_switch, 0};

    fit->level = SIM_LEVEL_GROUP;
    machine->core.reduce = machine->core.copy;
    fit_part(fit, CALIBRATE_PART_SUM, &sum, 1, quality);
    machine->core.copy_far = machine->core.copy;
    machine->core.reduce_far = far[1].least = machine->core.reduce;
    fit_part(fit, CALIBRATE_PART_FAR, far, 2, quality);
    if (machine->core.cache_bytes != SIZE_MAX) {
        machine->node.memory =
            machine->core.copy_far / sim_machine_cores(machine) + 1;
        fit_part(fit, CALIBRATE_PART_MEMORY, &memory, 1, quality);
        if (quality->samples[CALIBRATE_PART_MEMORY] == 0)
            machine->node.memory = 0;
    }
    machine->core.rank_switch = SIM_US;
    fit_part(fit, CALIBRATE_PART_SHARED, &shared, 1, quality);
}

xylem_status_t calibrate_fit(const calibrate_sample_t *samples, unsigned count,
                             sim_machine_t *machine,
                             calibrate_quality_t *quality_out)
{
    calibrate_quality_t quality = {{0}, {0}};
    sim_machine_t found;
    fit_t fit = {.samples = samples, .count = count, .machine = &found};
    int level;

    assert(count != 0);
    found = *machine;
    found.core.copy = found.core.reduce = rate_of(0.1, KIB);
    take_calls(&fit);
    for (level = SIM_LEVEL_GROUP; level < SIM_LEVEL_COUNT; level++)
        if (fit.status == XYLEM_OK)
            fit_link(&fit, (sim_level_t)level, &quality);
    take_cache(&fit);
    if (fit.status == XYLEM_OK)
        fit_core(&fit, &quality);
    if (fit.status != XYLEM_OK)
        return fit.status;
    *machine = found;
    *quality_out = quality;
    return XYLEM_OK;
}
