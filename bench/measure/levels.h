/* Levels of noise, as the options of programs name them. */
#pragma once

#include "simulator/noise/noise.h"

enum { LEVELS_MAX = 16, LEVEL_NAME_BYTES = 128 };

struct level {
    char name[LEVEL_NAME_BYTES]; /* as sim_noise_parse takes it */
    sim_noise_t noise;
    sim_noise_trace_t trace;
};

struct levels {
    struct level list[LEVELS_MAX];
    size_t count;
};

/* Reads levels from "0,10,20", the longest bursts in milliseconds of uniform
 * noise of `hz`, or from "SPEC;SPEC", in the language of noise; a NULL is not
 * read. Equal levels are taken once. 1: done; 0: `program` has printed what is
 * wrong. Call levels_free in both cases. */
int levels_parse(const char *program, const char *max_ms, double hz,
                 const char *specs, struct levels *levels_out);
void levels_free(struct levels *levels);

/* The noise of a level, which borrows its record. */
sim_noise_t level_noise(const struct level *level, uint64_t seed);
