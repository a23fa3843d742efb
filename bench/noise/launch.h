/* Command lines that start the ranks of one measurement: which launcher, which
 * program, and what each MPI library must be told. */
#ifndef XYL_BENCH_NOISE_LAUNCH_H
#define XYL_BENCH_NOISE_LAUNCH_H

#include "bench/noise/noise_options.h"

enum {
    LAUNCH_PATH_BYTES = 512,
    LAUNCH_ARGS_MAX = 256,
    LAUNCH_TEXT_BYTES = 16384
};

struct launch_kind;

/* One implementation as it can be started here. */
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

/* What one run is about. */
struct launch_experiment {
    int is_delay;               /* otherwise all levels of noise */
    unsigned round;             /* each begins with another level and seed */
    int cases[NOISE_CASES_MAX]; /* which */
    double call_us;             /* of local; 0: it finds out */
};

/* The names there are; NULL ends them. */
const char *launch_name(size_t index);

/* Whether it is measured when the user names none: not by a launcher of the
 * user's where that must be the MPI library's own. */
int launch_is_default(const char *name, const struct noise_options *options);

/* Finds launcher and program. 1 when both are there and have one of the
 * collectives; otherwise `why` (of `bytes` bytes) says what is missing. */
int launch_find(const char *name, const struct noise_options *options,
                struct launch *launch_out, char *why, unsigned bytes);

/* Whether the implementation has something of its own for a collective. */
int launch_has(const struct launch *launch, xylem_coll_t coll);

/* 1 when the implementation can be told to use the tree of the options. */
int launch_knows_tree(const struct launch *launch,
                      const struct noise_options *options);

void launch_command_build(const struct launch *launch,
                          const struct noise_options *options,
                          const struct launch_experiment *experiment,
                          struct launch_command *command_out);

#endif
