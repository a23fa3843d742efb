/* Names of trees and windows on command lines: "knomial:4", "binary", "2,4".
 */
#ifndef XYL_BENCH_MEASURE_ALGORITHM_H
#define XYL_BENCH_MEASURE_ALGORITHM_H

#include <stdio.h>

#include "bench/measure/impl.h"

enum { ALGORITHM_RADIX_MAX = 64 };

struct algorithm {
    const char *name;
    xylem_tree_t tree;
    uint32_t radix;     /* when the name alone is given */
    uint32_t radix_min; /* 0: takes no ":K" */
    const char *help;
};

/* The trees, one after the other; NULL behind the last. The first one leaves
 * the choice to the library. */
const struct algorithm *algorithm_at(size_t index);

/* Sets tree and radix. 1 when `text` is a tree. */
int algorithm_parse(const char *text, struct bench_tuning *tuning);
/* Sets the windows from "N,M", 1 <= N <= M. 1 when `text` is such a pair. */
int window_parse(const char *text, struct bench_tuning *tuning);
/* One line per tree. */
void algorithm_list(FILE *out);

#endif
