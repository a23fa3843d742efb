/* Windows on command lines: "2,4". */
#pragma once

#include "bench/measure/impl.h"

/* Sets the windows from "N,M", 1 <= N <= M. 1 when `text` is such a pair. */
int window_parse(const char *text, struct bench_tuning *tuning);
