/* A campaign: every contender without noise and under each noise, averaged over
 * the seeds. */
#ifndef XYL_SIMULATOR_PROGRAM_CAMPAIGN_H
#define XYL_SIMULATOR_PROGRAM_CAMPAIGN_H

#include "simulator/program/case.h"
#include "simulator/program/side.h"

/* One contender under one noise; means over the seeds, but for `runs`, the
 * number of these, and the fingerprint, which is of all runs together. */
struct sim_cell {
    unsigned runs;
    unsigned iterations;
    struct stats_range us;
    double noise_us;
    double messages[SIM_LEVEL_COUNT]; /* per call of a rank, as all below */
    double bytes[SIM_LEVEL_COUNT];
    double unexpected;
    double events;
    uint64_t fingerprint;
    double wall_s;      /* of all runs */
    double wall_events; /* of all runs */
    double memory_bytes;
    unsigned ended, failed; /* of the last run, as failed_us */
    double failed_us;
    double *rank_us; /* [ranks] */
};

struct sim_campaign {
    const struct simulation *simulation;
    size_t levels; /* 0 is the quiet one, 1 ... the noises in their order */
    struct sim_cell *cells;
    double *scratch;      /* [ranks] */
    struct sim_side side; /* where there are --jobs */
    unsigned runs_done, runs_planned;
    uint64_t begin_ns, shown_ns;
};

/* 1, or 0 without memory. Destroy it whatever it was. */
int sim_campaign_create(struct sim_campaign *campaign,
                        const struct simulation *simulation);
void sim_campaign_destroy(struct sim_campaign *campaign);

/* Runs everything. 1 when all went well; else it has said what did not. */
int sim_campaign_run(struct sim_campaign *campaign);

const struct sim_cell *sim_campaign_cell(const struct sim_campaign *campaign,
                                         size_t contender, size_t level);
/* "none" for level 0. */
const char *sim_campaign_noise(const struct sim_campaign *campaign,
                               size_t level);
/* Against the contender without noise, in per cent. */
double sim_campaign_slowdown(const struct sim_campaign *campaign,
                             size_t contender, size_t level);
/* How much later a call ends per time that noise took from a rank during it;
 * 1: each rank loses its own noise and no more. 0 when there was none. */
double sim_campaign_amplification(const struct sim_campaign *campaign,
                                  size_t contender, size_t level);

#endif
