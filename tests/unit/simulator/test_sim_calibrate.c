/* Calibration, with simulated measurements: the machine fitted to them has the
 * numbers of the machine that was simulated, and takes as long in cases to
 * which it was not fitted. Also samples as lines of text. */
#include <stdlib.h>
#include <string.h>

#include "simulator/calibrate/fit.h"
#include "simulator/calibrate/simulate.h"
#include "tests/support/check.h"

#define KIB ((size_t)1 << 10)

enum { CORES = 2, SAMPLES_MAX = 128 };

typedef struct record {
    calibrate_sample_t samples[SAMPLES_MAX];
    unsigned count;
} record_t;

static sim_machine_t true_machine(void)
{
    sim_machine_t machine;
    int level;

    sim_machine_ideal(CORES, &machine);
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        sim_link_t *link = &machine.links[level];
        link->latency = 200 * SIM_NS;
        link->send_overhead = 250 * SIM_NS;
        link->recv_overhead = 210 * SIM_NS;
        link->per_byte = 110000;
        link->rendezvous_overhead = 1300 * SIM_NS;
        link->rendezvous_per_byte = 150000;
    }
    machine.core.call = 150 * SIM_NS;
    machine.core.event = machine.core.post = 20 * SIM_NS;
    machine.core.rank_switch = 1400 * SIM_NS;
    machine.core.rank_linger = 900 * SIM_NS;
    machine.core.copy = 60000;
    machine.core.reduce = 30000;
    machine.core.copy_far = 90000;
    machine.core.reduce_far = 120000;
    machine.core.cache_bytes = 1200 * KIB;
    machine.node.queue_slots = 48;
    return machine;
}

static void add(const sim_machine_t *machine, record_t *record, uint32_t ranks,
                calibrate_probe_t probe)
{
    calibrate_sample_t sample = {.probe = probe, .ranks = ranks};

    CHECK_EQ(calibrate_simulate(machine, &sample), XYLEM_OK);
    CHECK(record->count < SAMPLES_MAX);
    record->samples[record->count++] = sample;
}

static void add_pairs(const sim_machine_t *machine, record_t *record)
{
    static const size_t small[] = {64, 2 * KIB, 4 * KIB, 6 * KIB, 8 * KIB};
    static const size_t large[] = {16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB};
    static const uint32_t counts[] = {32, 48, 64, 96};
    size_t i;

    for (i = 0; i < sizeof small / sizeof small[0]; i++) {
        size_t bytes = small[i];
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_PING, 1, bytes, 1, 1});
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_STREAM, 1, bytes, 24, 8});
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_COMBINE, 1, bytes, 24, 8});
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_ABSENT_RECEIVER, 1, bytes, 1, 1});
    }
    for (i = 0; i < sizeof large / sizeof large[0]; i++) {
        size_t bytes = large[i];
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_PING, 1, bytes, 1, 1});
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_ABSENT_RECEIVER, 1, bytes, 1, 1});
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_ABSENT_SENDER, 1, bytes, 1, 1});
    }
    add(machine, record, CORES,
        (calibrate_probe_t){CALIBRATE_STREAM, 1, 64 * KIB, 8, 2});
    for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_ABSENT_RECEIVER, 1, 64, counts[i],
                                32});
}

static void add_rest(const sim_machine_t *machine, record_t *record)
{
    static const uint32_t counts[] = {48, 96, 192, 384, 768};
    static const calibrate_kind_t kinds[] = {CALIBRATE_FAN_OUT,
                                             CALIBRATE_FAN_IN, CALIBRATE_RELAY};
    size_t i;

    add(machine, record, CORES,
        (calibrate_probe_t){CALIBRATE_CALL, 0, 64, 1, 1});
    add(machine, record, CORES,
        (calibrate_probe_t){CALIBRATE_POST, 1, 64, 64, 1});
    add(machine, record, CORES,
        (calibrate_probe_t){CALIBRATE_POST, 1, 64, 64, 32});
    for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_STREAM, 1, 6 * KIB, counts[i], 8});
        add(machine, record, CORES,
            (calibrate_probe_t){CALIBRATE_COMBINE, 1, 6 * KIB, counts[i], 8});
    }
    add(machine, record, 2 * CORES,
        (calibrate_probe_t){CALIBRATE_TURN, 0, 64, 64, 1});
    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        add(machine, record, 2 * CORES,
            (calibrate_probe_t){kinds[i], 0, 8 * KIB, 1, 1});
        add(machine, record, 2 * CORES,
            (calibrate_probe_t){kinds[i], 0, 8 * KIB, 24, 4});
    }
}

static int is_near(double got, double wanted, double part)
{
    double most = wanted * part;

    return got >= wanted - most && got <= wanted + most;
}

/* Checks numbers that the measurements tell apart, and sums of others. */
static void check_numbers(const sim_machine_t *got, const sim_machine_t *wanted)
{
    const sim_link_t *link = &got->links[SIM_LEVEL_GROUP];
    const sim_link_t *true_link = &wanted->links[SIM_LEVEL_GROUP];

    CHECK_EQ(link->eager_bytes_max, true_link->eager_bytes_max);
    CHECK_EQ(link->rendezvous, true_link->rendezvous);
    CHECK_EQ(got->core.call, wanted->core.call);
    CHECK_EQ(got->core.post, wanted->core.post);
    CHECK(is_near((double)got->core.rank_linger,
                  (double)wanted->core.rank_linger, 0.1));
    CHECK(is_near(got->node.queue_slots, wanted->node.queue_slots, 0.35));
    CHECK(is_near((double)(link->recv_overhead + got->core.event),
                  (double)(true_link->recv_overhead + wanted->core.event),
                  0.2));
    CHECK(is_near((double)link->per_byte, (double)true_link->per_byte, 0.1));
    CHECK(is_near((double)link->rendezvous_per_byte,
                  (double)true_link->rendezvous_per_byte, 0.1));
    CHECK(is_near((double)got->core.reduce, (double)wanted->core.reduce, 0.2));
    CHECK(is_near((double)got->core.reduce_far, (double)wanted->core.reduce_far,
                  0.2));
    CHECK(is_near((double)got->core.cache_bytes,
                  (double)wanted->core.cache_bytes, 0.5));
}

/* Checks cases to which no number was fitted. */
static void check_predictions(const sim_machine_t *got,
                              const sim_machine_t *wanted)
{
    static const calibrate_sample_t others[] = {
        {.probe = {CALIBRATE_STREAM, 1, 5 * KIB, 40, 4}, .ranks = CORES},
        {.probe = {CALIBRATE_STREAM, 1, 128 * KIB, 6, 3}, .ranks = CORES},
        {.probe = {CALIBRATE_COMBINE, 1, 8 * KIB, 64, 4}, .ranks = CORES},
        {.probe = {CALIBRATE_COMBINE, 1, 32 * KIB, 100, 2}, .ranks = CORES},
        {.probe = {CALIBRATE_RELAY, 0, 8 * KIB, 16, 4}, .ranks = 4 * CORES},
        {.probe = {CALIBRATE_FAN_IN, 0, 4 * KIB, 8, 4}, .ranks = 4 * CORES},
    };
    size_t i;

    for (i = 0; i < sizeof others / sizeof others[0]; i++) {
        calibrate_sample_t a = others[i], b = others[i];
        CHECK_EQ(calibrate_simulate(got, &a), XYLEM_OK);
        CHECK_EQ(calibrate_simulate(wanted, &b), XYLEM_OK);
        CHECK(b.first_us > 0 && b.last_us > 0);
        CHECK(is_near(a.first_us, b.first_us, 0.15));
        CHECK(is_near(a.last_us, b.last_us, 0.15));
    }
}

static void test_known_machine(void)
{
    sim_machine_t wanted = true_machine(), got;
    record_t *record = calloc(1, sizeof *record);
    calibrate_quality_t quality;
    unsigned part;

    CHECK(record != NULL);
    if (record == NULL)
        return;
    add_pairs(&wanted, record);
    add_rest(&wanted, record);
    sim_machine_ideal(CORES, &got);
    CHECK_EQ(calibrate_fit(record->samples, record->count, &got, &quality),
             XYLEM_OK);
    for (part = 0; part < CALIBRATE_PART_COUNT; part++)
        CHECK(quality.error[part] <
              (part == CALIBRATE_PART_SHARED ? 0.2 : 0.02));
    CHECK(quality.samples[CALIBRATE_PART_EAGER] > 0);
    CHECK(quality.samples[CALIBRATE_PART_SHARED] > 0);
    check_numbers(&got, &wanted);
    check_predictions(&got, &wanted);
    free(record);
}

/* A machine whose large messages are moved by both cores. */
static void test_pipeline(void)
{
    sim_machine_t wanted = true_machine(), got;
    record_t *record = calloc(1, sizeof *record);
    calibrate_quality_t quality;

    CHECK(record != NULL);
    if (record == NULL)
        return;
    wanted.links[SIM_LEVEL_GROUP].rendezvous = SIM_RENDEZVOUS_PIPELINE;
    wanted.links[SIM_LEVEL_GROUP].eager_bytes_max = 4 * KIB;
    add_pairs(&wanted, record);
    sim_machine_ideal(CORES, &got);
    CHECK_EQ(calibrate_fit(record->samples, record->count, &got, &quality),
             XYLEM_OK);
    CHECK_EQ(got.links[SIM_LEVEL_GROUP].rendezvous, SIM_RENDEZVOUS_PIPELINE);
    CHECK_EQ(got.links[SIM_LEVEL_GROUP].eager_bytes_max, 4 * KIB);
    /* Levels without measurements are like measured ones. */
    CHECK_EQ(got.links[SIM_LEVEL_NODE].eager_bytes_max, 4 * KIB);
    CHECK_EQ(quality.samples[CALIBRATE_PART_SHARED], 0);
    free(record);
}

static void test_lines(void)
{
    char line[CALIBRATE_LINE_BYTES];
    unsigned kind;

    for (kind = 0; kind < CALIBRATE_KIND_COUNT; kind++) {
        calibrate_sample_t sample = {
            .probe = {(calibrate_kind_t)kind, 3, 12345678, 24, 8},
            .ranks = 16,
            .first_us = 1234.5,
            .last_us = 0.25};
        calibrate_sample_t back;
        memset(&back, 0, sizeof back);
        calibrate_sample_print(&sample, line);
        CHECK(calibrate_sample_parse(line, &back));
        CHECK_EQ(back.probe.kind, kind);
        CHECK_EQ(back.probe.peer, 3);
        CHECK_EQ(back.probe.bytes, 12345678);
        CHECK_EQ(back.probe.count, 24);
        CHECK_EQ(back.probe.window, 8);
        CHECK_EQ(back.ranks, 16);
        CHECK(back.first_us == 1234.5 && back.last_us == 0.25);
        CHECK(!calibrate_sample_parse(line + 1, &back));
    }
    CHECK(!calibrate_sample_parse("xylem-sample no-such 2 1 8 1 1 1 1",
                                  &(calibrate_sample_t){.ranks = 0}));
    CHECK(!calibrate_sample_parse("xylem-sample ping 2 1 8",
                                  &(calibrate_sample_t){.ranks = 0}));
}

static const check_case_t cases[] = {
    {"the machine behind the measurements", test_known_machine},
    {"a pipelined rendezvous", test_pipeline},
    {"samples as lines", test_lines},
};

CHECK_MAIN(cases)
