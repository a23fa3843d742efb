/* Command lines that start the ranks of one measurement: launcher, program, and
 * the options of each MPI library. */
#pragma once

#include "bench/noise/noise_options.h"

enum {
    LAUNCH_PATH_BYTES = 512,
    LAUNCH_ARGS_MAX = 256,
    LAUNCH_TEXT_BYTES = 16384
};

struct launch_kind;

/* The start of one implementation on this machine. */
struct launch {
    const char *name;
    const struct launch_kind *kind;
    char launcher[LAUNCH_PATH_BYTES];
    char program[LAUNCH_PATH_BYTES];
    char binding[LAUNCH_PATH_BYTES]; /* to be preloaded; or empty */
};

struct launch_command {
    char *argv[LAUNCH_ARGS_MAX + 1]; /* ended by NULL; into `text` */
    unsigned args;
    size_t text_used;
    char text[LAUNCH_TEXT_BYTES];
};

/* The experiment of one run. */
struct launch_experiment {
    int is_delay;               /* otherwise all levels of noise */
    unsigned round;             /* each begins with another level and seed */
    int cases[NOISE_CASES_MAX]; /* which */
    double call_us;             /* of local; 0: local measures it */
};

/* The names there are; NULL ends them. */
const char *launch_name(size_t index);

/* 1: the implementation is measured if the user names none. 0 if the user names
 * a launcher and the MPI library needs its own. */
int launch_is_default(const char *name, const struct noise_options *options);

/* Finds launcher and program. 1: both are there and have one of the
 * collectives. 0: `why` (of `bytes` bytes) says what is missing. */
int launch_find(const char *name, const struct noise_options *options,
                struct launch *launch_out, char *why, unsigned bytes);

/* 1: the implementation has its own code for the collective. */
int launch_has(const struct launch *launch, xylem_coll_t coll);

/* 1 when the implementation can be told to use the tree of the options. */
int launch_knows_tree(const struct launch *launch,
                      const struct noise_options *options);

void launch_command_build(const struct launch *launch,
                          const struct noise_options *options,
                          const struct launch_experiment *experiment,
                          struct launch_command *command_out);
