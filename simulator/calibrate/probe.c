/* The programs of the micro-benchmarks. */
#include "simulator/calibrate/probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_MARK "xylem-sample"

static const char *const names[] = {
#define KIND_NAME(kind, name) name,
    CALIBRATE_KIND_MAP(KIND_NAME)
#undef KIND_NAME
};

const char *calibrate_kind_name(calibrate_kind_t kind)
{
    return names[kind];
}

int calibrate_probe_has_steps(const calibrate_probe_t *probe)
{
    return probe->kind != CALIBRATE_COPY && probe->kind != CALIBRATE_SUM &&
           probe->kind != CALIBRATE_TURN;
}

int calibrate_probe_sums(const calibrate_probe_t *probe)
{
    return probe->kind == CALIBRATE_COMBINE || probe->kind == CALIBRATE_FAN_IN;
}

unsigned calibrate_probe_steps(const calibrate_probe_t *probe)
{
    return probe->kind == CALIBRATE_PING ? 2 : 1;
}

calibrate_absence_t calibrate_probe_absence(const calibrate_probe_t *probe,
                                            uint32_t team_rank)
{
    int is_early = probe->kind == CALIBRATE_ABSENT_RECEIVER ||
                   probe->kind == CALIBRATE_POST;

    if (is_early && team_rank != 0)
        return CALIBRATE_ABSENT_BEFORE;
    return probe->kind == CALIBRATE_ABSENT_SENDER && team_rank == 0
               ? CALIBRATE_ABSENT_AFTER
               : CALIBRATE_PRESENT;
}

uint32_t calibrate_probe_color(const calibrate_probe_t *probe, uint32_t rank)
{
    switch (probe->kind) {
    case CALIBRATE_CALL:
        return rank;
    case CALIBRATE_POST:
    case CALIBRATE_PING:
    case CALIBRATE_STREAM:
    case CALIBRATE_COMBINE:
    case CALIBRATE_ABSENT_RECEIVER:
    case CALIBRATE_ABSENT_SENDER:
        return rank == 0 || rank == probe->peer ? 0 : XYLEM_COLOR_NONE;
    case CALIBRATE_FAN_OUT:
    case CALIBRATE_FAN_IN:
    case CALIBRATE_RELAY:
        return 0;
    case CALIBRATE_TURN:
    case CALIBRATE_COPY:
    case CALIBRATE_SUM:
    case CALIBRATE_KIND_COUNT:
        break;
    }
    return XYLEM_COLOR_NONE;
}

xylem_coll_args_t calibrate_probe_args(const calibrate_probe_t *probe,
                                       unsigned step, const void *send,
                                       void *recv)
{
    int sums = calibrate_probe_sums(probe);
    int is_flat =
        probe->kind == CALIBRATE_FAN_OUT || probe->kind == CALIBRATE_FAN_IN;
    size_t bytes = calibrate_probe_bytes(probe);

    return (xylem_coll_args_t){
        .struct_bytes = sizeof(xylem_coll_args_t),
        .coll = sums ? XYLEM_COLL_REDUCE : XYLEM_COLL_BCAST,
        .send = sums ? send : NULL,
        .recv = recv,
        .count = sums ? bytes / sizeof(float) : bytes,
        .type = sums ? XYLEM_FLOAT32 : XYLEM_BYTE,
        /* Messages back, or to rank 0 alone, have rank 1 as their root. */
        .root = probe->kind == CALIBRATE_POST ? 1 : step,
        .segment_bytes = probe->bytes,
        .send_window = probe->window,
        .recv_window = probe->window * 2,
        .algorithm = is_flat ? "flat" : "chain"};
}

void calibrate_sample_print(const calibrate_sample_t *sample, char *line)
{
    const calibrate_probe_t *probe = &sample->probe;

    snprintf(line, CALIBRATE_LINE_BYTES,
             LINE_MARK " %s %" PRIu32 " %" PRIu32 " %zu %" PRIu32 " %" PRIu32
                       " %.3f %.3f",
             names[probe->kind], sample->ranks, probe->peer, probe->bytes,
             probe->count, probe->window, sample->first_us, sample->last_us);
}

int calibrate_sample_parse(const char *line, calibrate_sample_t *sample_out)
{
    calibrate_sample_t sample = {0};
    calibrate_probe_t *probe = &sample.probe;
    char name[32];
    unsigned kind;

    if (sscanf(line,
               LINE_MARK " %31s %" SCNu32 " %" SCNu32 " %zu %" SCNu32
                         " %" SCNu32 " %lf %lf",
               name, &sample.ranks, &probe->peer, &probe->bytes, &probe->count,
               &probe->window, &sample.first_us, &sample.last_us) != 8)
        return 0;
    for (kind = 0; kind < CALIBRATE_KIND_COUNT; kind++) {
        if (strcmp(name, names[kind]) != 0)
            continue;
        probe->kind = (calibrate_kind_t)kind;
        *sample_out = sample;
        return 1;
    }
    return 0;
}
