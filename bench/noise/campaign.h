/* A campaign: every implementation at every noise level, in rounds, so that a
 * machine that becomes slower or faster meanwhile does so for all of them. */
#ifndef XYL_BENCH_NOISE_CAMPAIGN_H
#define XYL_BENCH_NOISE_CAMPAIGN_H

#include "bench/noise/launch.h"

enum { CAMPAIGN_CONTENDERS_MAX = 16 };

/* The rounds of one number. */
struct campaign_series {
    double values[NOISE_ROUNDS_MAX];
    unsigned count;
};

struct campaign_level {
    struct campaign_series us; /* mean over ranks of the time per call */
    int failed;
};

struct campaign_rank {
    struct campaign_series plain_us;
    struct campaign_series delayed_us;
};

struct campaign_contender {
    struct launch launch;
    struct campaign_level levels[NOISE_LEVELS_MAX];
    struct campaign_rank *ranks; /* with one delayed rank */
    int delay_failed;
};

struct campaign {
    const char *program;
    const struct noise_options *options;
    struct campaign_contender contenders[CAMPAIGN_CONTENDERS_MAX];
    size_t contenders_count;
    unsigned failures;
    unsigned runs_done;
    unsigned runs_planned;
    uint64_t begin_ns;
    uint64_t shown_ns; /* when progress was last shown */
};

/* Finds the implementations; says which are missing. The exit code: 0, 1 when
 * there is none, CLI_EXIT_USAGE for a name that does not exist. Destroy the
 * campaign whatever it was. */
int campaign_create(struct campaign *campaign, const char *program,
                    const struct noise_options *options);
void campaign_destroy(struct campaign *campaign);

/* Runs everything and reports failures as they happen. 1 unless it was
 * interrupted. */
int campaign_run(struct campaign *campaign);

/* The median; 0 when there is no value. */
double campaign_median(const struct campaign_series *series);

#endif
