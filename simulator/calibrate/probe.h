/* Micro-benchmarks for calibration: small programs of one or two operations
 * with a tree and segments of their own, so that each shows one cost. The same
 * programs run on real ranks (measure.c) and on simulated ones (simulate.c).
 * None is one of the collectives as the library would run them by itself.
 *
 * A probe divides the ranks into teams by color and runs its steps, one after
 * the other, on each. Everything here is pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

/* A step is over when its messages have gone: this setting is 0, so that
 * nothing is sent later. */
#define CALIBRATE_SETTING "DETACH_BYTES"

/* enumerator, name; the times at rank 0 and at the slowest of the others */
#define CALIBRATE_KIND_MAP(X)                                                  \
    X(TURN, "turn") /* looks for messages that are not there, by rank 0 */     \
    X(CALL, "call") /* an operation of a team of one */                        \
    X(POST,                                                                    \
      "post") /* only the start, at rank 0, of receiving from the peer */      \
    X(PING, "ping")       /* a message to the peer and one back */             \
    X(STREAM, "stream")   /* messages to the peer */                           \
    X(COMBINE, "combine") /* messages from the peer that are summed up */      \
    X(FAN_OUT, "fan-out") /* messages to each of the others */                 \
    X(FAN_IN, "fan-in")   /* messages from each, which are summed up */        \
    X(RELAY, "relay")     /* messages through all ranks in a row */            \
    X(ABSENT_RECEIVER, "absent-receiver") /* to a peer who is away */          \
    X(ABSENT_SENDER, "absent-sender")     /* the sender goes away */           \
    X(COPY, "copy") /* bytes copied by rank 0, or by all ranks at once */      \
    X(SUM, "sum")   /* bytes summed by rank 0, or by all ranks at once */

typedef enum calibrate_kind {
#define CALIBRATE_KIND_ENUM(kind, name) CALIBRATE_##kind,
    CALIBRATE_KIND_MAP(CALIBRATE_KIND_ENUM)
#undef CALIBRATE_KIND_ENUM
        CALIBRATE_KIND_COUNT
} calibrate_kind_t;

typedef struct calibrate_probe {
    calibrate_kind_t kind;
    uint32_t peer;  /* of rank 0; COPY, SUM: 1 when all ranks work */
    size_t bytes;   /* of a message */
    uint32_t count; /* of messages, to or from each */
    uint32_t window;
} calibrate_probe_t;

/* A measurement, or its simulation. */
typedef struct calibrate_sample {
    calibrate_probe_t probe;
    uint32_t ranks; /* of the job */
    double first_us;
    double last_us; /* 0: no other rank takes part */
} calibrate_sample_t;

enum {
    CALIBRATE_SAMPLES_MAX = 256,
    /* After as many turns without work a rank lets others use its core; see
     * progress/engine/driver.c. */
    CALIBRATE_IDLE_TURNS = 20,
    CALIBRATE_AWAY_US = 300 /* how long an absent rank is away */
};

const char *calibrate_kind_name(calibrate_kind_t kind);

/* 1 when the probe is a program of operations, not of plain work. */
int calibrate_probe_has_steps(const calibrate_probe_t *probe);
int calibrate_probe_sums(const calibrate_probe_t *probe); /* by reduction */
unsigned calibrate_probe_steps(const calibrate_probe_t *probe);
/* A rank of the probe's team may be away for CALIBRATE_AWAY_US, before its call
 * or behind it. */
typedef enum calibrate_absence {
    CALIBRATE_PRESENT,
    CALIBRATE_ABSENT_BEFORE,
    CALIBRATE_ABSENT_AFTER
} calibrate_absence_t;
calibrate_absence_t calibrate_probe_absence(const calibrate_probe_t *probe,
                                            uint32_t team_rank);
/* XYLEM_COLOR_NONE: the rank takes no part. */
uint32_t calibrate_probe_color(const calibrate_probe_t *probe, uint32_t rank);
/* All arguments of an operation but its operator, which the caller sets. Sums
 * are of 32-bit floats. */
xylem_coll_args_t calibrate_probe_args(const calibrate_probe_t *probe,
                                       unsigned step, const void *send,
                                       void *recv);
static inline size_t calibrate_probe_bytes(const calibrate_probe_t *probe)
{
    return probe->bytes * probe->count;
}

/* A sample as a line of text, and back: 1 when `line` is one. */
enum { CALIBRATE_LINE_BYTES = 256 };
void calibrate_sample_print(const calibrate_sample_t *sample, char *line);
int calibrate_sample_parse(const char *line, calibrate_sample_t *sample_out);
