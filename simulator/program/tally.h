/* The calls of the ranks in one case, of whatever kind: counted and timed. */
#pragma once

#include "simulator/program/case.h"

/* When the rank makes its first call. */
sim_time_t sim_case_arrival(const struct sim_case *c, uint32_t rank);

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

/* 1, or 0 without memory. Set the tally's `world` afterwards. */
int sim_tally_create(struct sim_tally *tally, const struct sim_case *c);
void sim_tally_destroy(struct sim_tally *tally);
/* Within the rank's call or callback: it makes its first call. */
void sim_tally_begin(struct sim_tally *tally, uint32_t rank);
/* A call of the rank has ended. 1: it is to make another. */
int sim_tally_end(struct sim_tally *tally, uint32_t rank);
/* A call of the rank has failed, because a rank has died. */
void sim_tally_fail(struct sim_tally *tally, uint32_t rank);
/* Prints an error, once, and the case fails. */
void sim_tally_complain(struct sim_tally *tally, uint32_t rank,
                        const char *text);
/* Runs the world until nothing is left to happen. 1 when every rank made its
 * calls. */
int sim_tally_drive(struct sim_tally *tally, struct sim_outcome *outcome);
