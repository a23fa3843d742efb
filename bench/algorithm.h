/* Names of trees and windows on command lines: "knomial:4", "binary", "2,4".
 */
#ifndef XYL_BENCH_ALGORITHM_H
#define XYL_BENCH_ALGORITHM_H

#include <stdio.h>

#include "bench/impl.h"

/* Sets tree and radix. 1 when `text` is an algorithm. */
int algorithm_parse(const char *text, struct bench_tuning *tuning);
/* Sets the windows from "N,M", 1 <= N <= M. 1 when `text` is such a pair. */
int window_parse(const char *text, struct bench_tuning *tuning);
/* One line per algorithm. */
void algorithm_list(FILE *out);

#endif
