/* Runs of a campaign side by side, each in a process of its own. What they come
 * to does not depend on how many there are: the campaign takes their outcomes
 * in the order in which it has begun them. */
#ifndef XYL_SIMULATOR_PROGRAM_SIDE_H
#define XYL_SIMULATOR_PROGRAM_SIDE_H

#include <sys/types.h>

#include "simulator/program/numbers.h"

struct sim_side_run {
    size_t contender, level;
    unsigned warmup, iterations;
    pid_t pid;
    int has_ended; /* well */
    int is_known;  /* it was not made: the numbers are those of before */
    struct sim_numbers known;
    struct sim_outcome outcome;
    double rank_us[]; /* [ranks] */
};

struct sim_side {
    const struct simulation *simulation;
    char *runs; /* [most], shared with the processes */
    size_t run_bytes, most, begun, taken;
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

/* Puts a run that is known in its place among those that are made. 1. */
int sim_side_know(struct sim_side *side, size_t contender, size_t level,
                  const struct sim_numbers *numbers, const double *rank_us);

/* Waits until a run ends. 0: none is under way. */
int sim_side_wait_one(struct sim_side *side);

/* The next run in the order of their begins; NULL: it has not ended. */
const struct sim_side_run *sim_side_next(struct sim_side *side);

#endif
