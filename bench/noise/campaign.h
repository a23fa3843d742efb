/* A campaign: every implementation at every noise level, in rounds, so that a
 * machine that becomes slower or faster meanwhile does so for all of them. */
#pragma once

#include "bench/noise/launch.h"

enum { CAMPAIGN_CONTENDERS_MAX = 16 };

/* The rounds of one number. */
struct campaign_series {
    double values[NOISE_ROUNDS_MAX];
    unsigned count;
};

/* One case under one level of noise. */
struct campaign_cell {
    struct campaign_series us;       /* mean over ranks of the time per call */
    struct campaign_series injected; /* per cent of the time */
    /* Of single calls of all ranks, with --raw. */
    struct campaign_series p50_us, p99_us, most_us;
    double room_bytes; /* for ranks to be ahead; 0: unknown */
    unsigned written;  /* rounds that the file has, which stand first */
    int failed;
};

struct campaign_rank {
    struct campaign_series plain_us;
    struct campaign_series delayed_us;
    unsigned written; /* as of a cell */
};

struct campaign_contender {
    struct launch launch;
    struct campaign_cell *cells; /* [case][level] */
    struct campaign_rank *ranks; /* [case][rank]; one is delayed */
    int delay_failed[NOISE_CASES_MAX];
};

/* The place of a rank in its last run. */
struct campaign_place {
    char host[64], cores[64];
    double clock_ahead_us, clock_error_us, clock_drift_us;
};

struct campaign {
    const char *program;
    const struct noise_options *options;
    struct campaign_contender contenders[CAMPAIGN_CONTENDERS_MAX];
    size_t contenders_count;
    struct campaign_place *places; /* of each rank */
    unsigned failures;
    unsigned runs_done;
    unsigned runs_skipped; /* of these: known from before */
    unsigned runs_planned;
    struct manifest *manifest; /* borrowed, as rows; NULL: none is written */
    struct rows *rows;
    uint64_t begin_ns;
    uint64_t shown_ns; /* when progress was last shown */
};

/* Finds the implementations; prints those that are missing. Returns the exit
 * code: 0, 1 if there is none, CLI_EXIT_USAGE for a name that does not exist.
 * Destroy the campaign in all cases. */
int campaign_create(struct campaign *campaign, const char *program,
                    const struct noise_options *options);
void campaign_destroy(struct campaign *campaign);

struct campaign_cell *campaign_cell(const struct campaign *campaign,
                                    size_t contender, size_t which,
                                    size_t level);
struct campaign_rank *campaign_rank(const struct campaign *campaign,
                                    size_t contender, size_t which,
                                    unsigned rank);

/* Adds a value, if there is room. */
void campaign_add(struct campaign_series *series, double value);
/* The median; 0 when there is no value. */
double campaign_median(const struct campaign_series *series);

/* The floor of a case under a level, for calls that take `us` without noise and
 * may be `depth` calls ahead (0: any number), in microseconds. 0: not known. */
double campaign_floor(const struct campaign *campaign, size_t which,
                      size_t level, double us, double depth);
