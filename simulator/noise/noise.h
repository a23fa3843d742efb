/* Noise takes a core away from its rank. Each rank has a sequence of bursts
 * [begin, begin + length), in order and not overlapping. They are made on
 * demand from the seed and the rank alone, and so do not depend on the rest of
 * the simulation. Repeating noise has begun long before time 0, so some ranks
 * begin in the middle of a burst. Also arrival patterns: how late ranks come to
 * their first call.
 */
#pragma once

#include "simulator/machine.h"

typedef enum sim_noise_kind {
    SIM_NOISE_NONE,
    /* A burst every 1/hz, at a random phase per rank, of a length uniform in
     * [0, max): Luo, PhD thesis, University of Tennessee, 2020, 3.4.2. */
    SIM_NOISE_UNIFORM,
    SIM_NOISE_PERIODIC, /* a burst of `max` every 1/hz, random phase per rank */
    SIM_NOISE_SYNCHRONOUS, /* the same, all ranks in phase */
    /* Bursts of `max`, from the end of one to the begin of the next gaps of
     * exponential length, 1/hz on average. */
    SIM_NOISE_POISSON,
    SIM_NOISE_ONCE, /* one burst of `max` at `at` */
    SIM_NOISE_TRACE /* recorded bursts, repeated, from a random point */
} sim_noise_kind_t;

/* A recorded burst; times from the beginning of the record. */
typedef struct sim_burst {
    sim_time_t begin;
    sim_time_t length;
} sim_burst_t;

typedef struct sim_noise_trace {
    sim_burst_t *bursts; /* in order, not overlapping */
    size_t count;
    sim_time_t length; /* of the whole record */
} sim_noise_trace_t;

/* Noise leaves a core at least this free, so that work always ends. */
#define SIM_NOISE_SHARE_MAX_PPM 900000

/* Takes a share of at most SIM_NOISE_SHARE_MAX_PPM. If bursts begin at fixed
 * times, none is longer than the time to the next: bursts never overlap. */
typedef struct sim_noise {
    sim_noise_kind_t kind;
    uint64_t mhz; /* bursts per 1000 seconds, up to 10^9; 0: quiet */
    sim_time_t max;
    sim_time_t at;
    const sim_noise_trace_t *trace; /* borrowed */
    /* The ranks that are hit: `first` ... `last`; all by default. */
    uint32_t first, last;
    uint64_t seed;
} sim_noise_t;

/* "none", "uniform:10Hz,0-20ms", "periodic:100Hz,50us", "sync:...",
 * "poisson:10Hz,1ms", "once:1ms@2ms", "trace:FILE"; each may end in
 * ",rank=R" or ",ranks=A-B" (",node=N" by `ranks_per_node`). Units: s, ms, us,
 * ns; Hz, kHz.
 * `trace_out` is filled for "trace:" (`noise_out` borrows it), empty otherwise,
 * and to be freed by sim_noise_trace_free. On failure `error` says what is
 * wrong. */
xylem_status_t sim_noise_parse(const char *text, uint32_t ranks_per_node,
                               sim_noise_t *noise_out,
                               sim_noise_trace_t *trace_out, char *error,
                               size_t error_bytes);

/* Lines "BEGIN_US LENGTH_US", ascending; '#' begins a comment; a last line
 * "length US" ends the record later than its last burst. */
xylem_status_t sim_noise_trace_load(const char *path,
                                    sim_noise_trace_t *trace_out, char *error,
                                    size_t error_bytes);
void sim_noise_trace_free(sim_noise_trace_t *trace);

/* Noise in words for a legend, "0 to 20 ms, 10 per second"; its text is `name`.
 */
void sim_noise_words(const sim_noise_t *noise, const char *name, char *text,
                     size_t bytes);

/* Part of a second that a core is taken away on average, per million. */
uint64_t sim_noise_share_ppm(const sim_noise_t *noise);

/* One rank's place in its sequence. */
typedef struct sim_noise_cursor {
    const sim_noise_t *noise; /* NULL: quiet */
    uint64_t random;          /* number of the next draw */
    sim_time_t next_period;   /* periodic kinds and traces: begin of the coming
                                 period; poisson: end of the last burst */
    size_t next_burst;        /* of a trace */
    sim_burst_t burst;        /* the first that ends after all times asked for;
                                 begin SIM_NEVER: there is none any more */
} sim_noise_cursor_t;

void sim_noise_cursor_init(sim_noise_cursor_t *cursor, const sim_noise_t *noise,
                           uint32_t rank);

/* Serves the functions below if a burst is in the way. */
sim_time_t sim_noise_stretch(sim_noise_cursor_t *cursor, sim_time_t time,
                             sim_time_t work);

/* The first time from `time` on when the core is free. Times do not decrease
 * from call to call, for both functions together. */
static inline sim_time_t sim_noise_clear(sim_noise_cursor_t *cursor,
                                         sim_time_t time)
{
    if (time < cursor->burst.begin)
        return time;
    return sim_noise_stretch(cursor, time, 0);
}

/* When `work` that begins at `time` ends, bursts not counted as work. */
static inline sim_time_t sim_noise_advance(sim_noise_cursor_t *cursor,
                                           sim_time_t time, sim_time_t work)
{
    if (time < cursor->burst.begin && work <= cursor->burst.begin - time)
        return time + work;
    return sim_noise_stretch(cursor, time, work);
}

/* -ln(u / 2^64) in units of 2^-57, for 0 < u: exponential numbers, without
 * floating point. The error is below 2^-39. */
uint64_t sim_noise_minus_ln(uint64_t u);

/* Arrival patterns: when each rank makes its first call. */
typedef enum sim_arrival {
    SIM_ARRIVAL_TOGETHER,
    SIM_ARRIVAL_ONE_LATE,     /* all at 0 but rank `rank` */
    SIM_ARRIVAL_ALL_LATE_BUT, /* all at `max` but rank `rank` */
    SIM_ARRIVAL_SORTED,       /* rank r at max * r / (ranks - 1) */
    SIM_ARRIVAL_RANDOM        /* uniform in [0, max] */
} sim_arrival_t;

typedef struct sim_arrivals {
    sim_arrival_t pattern;
    sim_time_t max;
    uint32_t rank;
    uint64_t seed;
} sim_arrivals_t;

/* "together", "one-late:1ms,rank=6", "all-late-but:1ms,rank=0",
 * "sorted:1ms", "random:1ms". */
xylem_status_t sim_arrivals_parse(const char *text, sim_arrivals_t *out,
                                  char *error, size_t error_bytes);
sim_time_t sim_arrivals_time(const sim_arrivals_t *arrivals, uint32_t rank,
                             uint32_t ranks);
