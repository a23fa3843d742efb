/* The options of the tuner. */
#pragma once

#include "bench/common/cli.h"
#include "bench/measure/coll.h"
#include "bench/measure/device.h"

enum { TUNE_SIZES_MAX = 64, TUNE_COUNTS_MAX = 16 };

/* How the ranks of a call come to it; "": all come together. */
enum tune_arrivals {
    TUNE_SYNCHRONISED,
    TUNE_RANDOM,
    TUNE_LATE, /* one of them */
    TUNE_ARRIVALS
};
extern const char *const tune_arrivals_name[TUNE_ARRIVALS];

struct tune_options {
    /* As the user gives them: */
    const char *program;
    const char *output;
    const char *coll_name;
    const char *sizes_text;
    const char *plans; /* the beginning of their names; NULL: all */
    const char *csv;
    const char *machine; /* NULL: the ranks of this job */
    const char *nodes_text, *node_ranks_text;
    const char *arrivals_text;
    size_t bytes_first, bytes_last;
    double minutes, seconds;
    unsigned memory; /* enum bench_memory */
    unsigned exhaustive, heuristics, all, confirm, quiet;
    char **words;
    /* Derived from these: */
    xylem_coll_t colls[XYLEM_COLL_COUNT];
    size_t colls_count;
    enum tune_arrivals arrivals[TUNE_ARRIVALS];
    size_t arrivals_count;
    size_t bytes[TUNE_SIZES_MAX]; /* rising */
    size_t bytes_count;
    size_t nodes[TUNE_COUNTS_MAX], node_ranks[TUNE_COUNTS_MAX];
    size_t nodes_count, node_ranks_count;
};

/* `words` has room for argc + 1. */
enum cli_result tune_options_parse(int argc, char **argv, char **words,
                                   struct tune_options *options_out);
