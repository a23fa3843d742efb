/* The options of xylem-noise. */
#ifndef XYL_BENCH_NOISE_NOISE_OPTIONS_H
#define XYL_BENCH_NOISE_NOISE_OPTIONS_H

#include "bench/common/cli.h"
#include "bench/measure/impl.h"

enum { NOISE_LEVELS_MAX = 8, NOISE_ROUNDS_MAX = 99, NOISE_RANKS_MAX = 4096 };

struct noise_options {
    unsigned ranks;
    const char *coll_name;
    size_t bytes;
    const char *max_ms;
    double hz;
    const char *impls; /* comma-separated; NULL: all there are */
    const char *csv;
    const char *plot;
    unsigned delay_rank;
    double delay_ms;
    const char *algorithm;
    const char *window;
    unsigned root;
    unsigned rounds;
    unsigned iterations;
    unsigned warmup;
    unsigned check;
    unsigned seed;
    double seconds;
    double limit_s;
    /* What follows from it. */
    xylem_coll_t coll;
    struct bench_tuning tuning;
    double levels[NOISE_LEVELS_MAX]; /* longest bursts in milliseconds */
    size_t levels_count;             /* 0: no experiment with levels */
    int has_delay;                   /* the experiment with one rank */
};

enum cli_result noise_options_parse(const char *program, int argc, char **argv,
                                    struct noise_options *options_out);

#endif
