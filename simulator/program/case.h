/* One run of the simulator, a contender under one noise with one seed, and its
 * results. The calls of the ranks, of whatever kind, are counted and timed
 * here.
 */
#ifndef XYL_SIMULATOR_PROGRAM_CASE_H
#define XYL_SIMULATOR_PROGRAM_CASE_H

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

/* When the rank makes its first call. */
sim_time_t sim_case_arrival(const struct sim_case *c, uint32_t rank);

/* ---- for those who play the ranks ---- */

struct sim_record {
    sim_time_t begin, end; /* of the measured calls */
    unsigned calls;        /* that have ended */
    int is_over;           /* it makes no further call */
    int has_failed;
};

struct sim_tally {
    const struct sim_case *c;
    sim_world_t *world;
    unsigned ranks;
    struct sim_record *records; /* [ranks] */
    uint64_t calls;             /* of all ranks */
    unsigned complaints;
};

/* 1, or 0 without memory. Tell the tally its world then. */
int sim_tally_create(struct sim_tally *tally, const struct sim_case *c);
void sim_tally_destroy(struct sim_tally *tally);
/* Within the rank's call or callback: it makes its first call. */
void sim_tally_begin(struct sim_tally *tally, uint32_t rank);
/* A call of the rank has ended. 1: it is to make another. */
int sim_tally_end(struct sim_tally *tally, uint32_t rank);
/* A call of its has failed, because a rank has died. */
void sim_tally_fail(struct sim_tally *tally, uint32_t rank);
/* Prints an error, once, and the case fails. */
void sim_tally_complain(struct sim_tally *tally, uint32_t rank,
                        const char *text);
/* Runs the world until nothing is left to happen. 1 when every rank made its
 * calls. */
int sim_tally_drive(struct sim_tally *tally, struct sim_outcome *outcome);

/* The contenders' runs. */
int sim_program_run(const struct sim_case *c, struct sim_outcome *outcome);
int sim_elastic_run(const struct sim_case *c, struct sim_outcome *outcome);

#endif
