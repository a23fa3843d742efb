/* Runs of a campaign side by side, each in a process of its own. What they come
 * to does not depend on how many there are: the campaign takes their outcomes
 * in the order in which it has begun them. */
#ifndef XYL_SIMULATOR_PROGRAM_SIDE_H
#define XYL_SIMULATOR_PROGRAM_SIDE_H

#include "simulator/program/case.h"

struct sim_side_run {
    size_t contender, level;
    unsigned warmup, iterations;
    struct sim_outcome outcome;
    double rank_us[]; /* [ranks] */
};

struct sim_side {
    const struct simulation *simulation;
    char *runs; /* [most], shared with the processes */
    size_t run_bytes, most, begun;
    unsigned busy; /* processes that have not ended */
    int has_failed;
};

/* 1, or 0: it has said why. `most`: how many runs there will be. */
int sim_side_create(struct sim_side *side, const struct simulation *simulation,
                    size_t most);
void sim_side_destroy(struct sim_side *side);

/* Begins a run, as soon as fewer than --jobs are under way. 1, or 0: it, or one
 * before it, has failed and said why. */
int sim_side_begin(struct sim_side *side, const struct sim_case *c,
                   size_t contender, size_t level);

/* 1 when all that were begun have ended well. */
int sim_side_wait(struct sim_side *side);

const struct sim_side_run *sim_side_run(const struct sim_side *side, size_t i);

#endif
