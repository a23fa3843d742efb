/* The hosts and cores of ranks, and how their clocks agree. */
#pragma once

#include "bench/measure/clocks.h"

/* Collective. Rank 0 prints a line for each rank: its host, the cores that it
 * may use, and its clock's offset before and after the measurement. */
xylem_status_t places_print(const struct bench_impl *impl, void *state,
                            const struct clock_offset *before,
                            const struct clock_offset *after);
