/* The options of a rank. */
#pragma once

#include "bench/common/cli.h"
#include "bench/measure/coll.h"
#include "bench/measure/device.h"
#include "bench/measure/levels.h"
#include "bench/measure/worker.h"

/* The names of enum bench_mode, in its order. */
#define WORKER_MODES "blocking|nonblocking|persistent"

enum { WORKER_SIZES_MAX = 64 };

enum worker_experiment { WORKER_LATENCY, WORKER_NOISE, WORKER_DELAY };

struct worker_options {
    /* As the user gives them: */
    const char *coll_name;
    const char *impl_name;
    const char *algorithm;
    const char *window;
    const char *csv;
    const char *raw;
    const char *sizes;
    const char *max_ms;
    const char *noise;
    size_t bytes_first;
    size_t bytes_last;
    unsigned mode;      /* enum bench_mode */
    unsigned memory;    /* enum bench_memory */
    unsigned noise_way; /* enum noise_way */
    unsigned under_way;
    unsigned iterations;
    unsigned warmup;
    unsigned buffers;
    unsigned root;
    unsigned alloc;
    unsigned check;
    unsigned back_to_back;
    unsigned rotate_roots;
    unsigned osu;
    unsigned consume;
    unsigned lines;
    unsigned tasks;
    unsigned seed;
    unsigned delay_rank;
    double seconds;
    double hz;
    double delay_ms;
    /* Derived from these: */
    enum worker_experiment experiment;
    xylem_coll_t colls[XYLEM_COLL_COUNT];
    size_t colls_count;
    size_t bytes[WORKER_SIZES_MAX];
    size_t bytes_count;
    struct levels levels;
    const struct bench_impl *impl;
    struct bench_tuning tuning;
};

enum cli_result worker_options_parse(const struct worker_program *program,
                                     int argc, char **argv,
                                     struct worker_options *options_out);
