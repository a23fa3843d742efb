/* One run of the simulator, a contender under one noise with one seed, and its
 * results. */
#pragma once

#include "bench/measure/stats.h"
#include "simulator/program/options.h"

struct sim_case {
    const struct simulation *simulation;
    const struct contender *contender;
    const sim_noise_t *noise; /* NULL: quiet */
    uint64_t seed;
    unsigned warmup, iterations; /* calls of each rank */
    xyl_trace_t *trace;          /* may be NULL */
    /* Told now and then which part of the calls is done. May be NULL. */
    void (*progress)(void *arg, double part);
    void *progress_arg;
    double *rank_us; /* [ranks]: filled with each rank's time per call */
};

struct sim_outcome {
    struct stats_range us; /* time per call, over the ranks */
    double noise_us;       /* per call, the mean over ranks */
    double wall_s;
    sim_counts_t counts;
    /* With a rank that dies: */
    unsigned ended;   /* ranks that made all their calls */
    unsigned failed;  /* ranks that were told of the death */
    double failed_us; /* when the last of those was */
};

/* 1: the run came to its end and all results were right; 0: a message says why
 * not. */
int sim_case_run(const struct sim_case *c, struct sim_outcome *outcome_out);
