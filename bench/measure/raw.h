/* Every call of every rank: written to a file, and summed up. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "bench/common/results.h"

/* A call as its rank has seen it. */
struct raw_call {
    double begin_us; /* by rank 0's clock */
    double time_us;
    double injected_us; /* noise in that time */
};

/* The most calls of a loop that are kept. */
enum { RAW_CALLS_MAX = 1 << 20 };

/* Times in classes whose bounds are 1 % apart, so that percentiles of any
 * number of calls take little memory: Tene, "HdrHistogram", 2012. */
enum { RAW_CLASSES = 3000 };
struct raw_times {
    uint64_t counts[RAW_CLASSES];
    uint64_t count;
    double max_us;
};

void raw_times_add(struct raw_times *times, double us);
/* Within 1 %; 0: there are none. `part` is 0.5 for the median. */
double raw_times_at(const struct raw_times *times, double part);

/* A file that gets its name when it is complete. */
struct raw_file {
    FILE *out; /* NULL: none is written */
    char path[RESULTS_PATH_BYTES], part[RESULTS_PATH_BYTES];
};

/* 0: the file exists or cannot be written, and `program` has printed so. */
int raw_open(struct raw_file *file, const char *program, const char *path);
void raw_write(struct raw_file *file, const char *coll, uint64_t bytes,
               const char *noise, uint32_t rank, uint64_t number,
               const struct raw_call *call);
int raw_close(struct raw_file *file, const char *program);
/* The calls have failed: the file is not made. */
void raw_discard(struct raw_file *file);
