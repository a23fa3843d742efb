/* Runs of a campaign side by side, each in a process of its own. The campaign
 * takes their outcomes in the order in which it has begun them; so the number
 * of runs at a time does not change the results. */
#pragma once

#include <sys/types.h>

#include "simulator/program/numbers.h"

struct sim_side_run {
    size_t contender, level;
    unsigned warmup, iterations;
    pid_t pid;
    int has_ended; /* well */
    int is_known;  /* the run was not made: its numbers are from the file */
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

/* 1, or 0 after a message. `most`: how many runs there will be. */
int sim_side_create(struct sim_side *side, const struct simulation *simulation,
                    size_t most);
void sim_side_destroy(struct sim_side *side);

/* Begins a run, as soon as fewer than --jobs are under way. 0: it, or an
 * earlier run, has failed with a message. */
int sim_side_begin(struct sim_side *side, const struct sim_case *c,
                   size_t contender, size_t level);

/* Puts a known run in its place among those that are made. Returns 1. */
int sim_side_know(struct sim_side *side, size_t contender, size_t level,
                  const struct sim_numbers *numbers, const double *rank_us);

/* Waits until a run ends. 0: none is under way. */
int sim_side_wait_one(struct sim_side *side);

/* The next run in the order of the begins; NULL: it has not ended. */
const struct sim_side_run *sim_side_next(struct sim_side *side);
