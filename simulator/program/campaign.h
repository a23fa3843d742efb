/* A campaign: every contender without noise and under each noise, averaged over
 * the seeds. */
#pragma once

#include "simulator/program/case.h"
#include "simulator/program/side.h"

/* One contender under one noise. */
struct sim_cell {
    unsigned runs;
    struct sim_numbers mean; /* over the seeds */
    double floor_us;         /* the least cost of the noise; 0: not known */
    double wall_s;           /* of all runs that were made, as wall_events */
    double wall_events;
    double memory_bytes;
    double *rank_us; /* [ranks] */
};

struct sim_rows;

struct sim_campaign {
    const struct simulation *simulation;
    size_t levels; /* 0 is the quiet one, 1 ... the noises in their order */
    struct sim_cell *cells;
    double *scratch;       /* [ranks] */
    struct sim_side side;  /* with --jobs */
    struct sim_rows *rows; /* NULL: no file is written */
    unsigned runs_done, runs_planned;
    uint64_t begin_ns, shown_ns;
};

/* 1, or 0 without memory. Destroy the campaign in both cases. */
int sim_campaign_create(struct sim_campaign *campaign,
                        const struct simulation *simulation);
void sim_campaign_destroy(struct sim_campaign *campaign);

struct sim_cell *sim_campaign_cell(const struct sim_campaign *campaign,
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
