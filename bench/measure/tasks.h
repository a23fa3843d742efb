/* xylem-bench --tasks: the cost of HAN's tasks for each leader of a node, and
 * how well simultaneous tasks overlap. After Luo, PhD thesis, University of
 * Tennessee, 2020, section 5.3: algorithms 9 and 10, equation 5.3. */
#pragma once

#include "bench/measure/worker_options.h"

/* Returns the exit code. */
int tasks_main(const char *program, const struct worker_options *options);
