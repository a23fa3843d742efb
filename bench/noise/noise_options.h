/* The options of xylem-noise. */
#pragma once

#include "bench/common/cli.h"
#include "bench/measure/coll.h"
#include "bench/measure/impl.h"
#include "bench/measure/levels.h"
#include "bench/measure/noise.h"

enum {
    NOISE_ROUNDS_MAX = 99,
    NOISE_RANKS_MAX = 4096,
    NOISE_SIZES_MAX = 16,
    NOISE_LAUNCHER_BYTES = 2048,
    NOISE_FOLDER_BYTES = 1024,
    NOISE_CASES_MAX = NOISE_SIZES_MAX * XYLEM_COLL_COUNT
};

/* A measured case: one collective with one size. */
struct noise_case {
    xylem_coll_t coll;
    size_t bytes; /* 0 of a barrier */
};

struct noise_options {
    unsigned ranks;
    const char *launcher; /* NULL: each implementation's own */
    unsigned mode;        /* enum bench_mode */
    unsigned under_way;
    const char *coll_names;
    const char *sizes;
    const char *max_ms;
    const char *noise;
    double hz;
    unsigned noise_way; /* enum noise_way */
    const char *impls;  /* comma-separated; NULL: all there are */
    const char *csv;
    const char *raw; /* a folder; NULL: none */
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
    unsigned osu;
    unsigned consume;
    unsigned resume;
    unsigned seed;
    double seconds;
    double limit_s;
    /* Derived from these: */
    struct noise_case cases[NOISE_CASES_MAX];
    size_t cases_count;
    struct bench_tuning tuning;
    struct levels levels; /* none: no experiment with levels */
    int has_delay;        /* the experiment with one rank */
};

enum cli_result noise_options_parse(const char *program, int argc, char **argv,
                                    struct noise_options *options_out);

/* The number of a case, or of a level by its name; how many there are: none
 * is that. */
size_t noise_case_find(const struct noise_options *options, const char *coll,
                       size_t bytes);
size_t noise_level_find(const struct noise_options *options, const char *name);
