/* Clocks of ranks on several nodes: how far each is ahead of rank 0's.
 *
 * Rank 0 asks, and the rank answers with its time, which lies between the
 * question and the answer's arrival: Cristian, "Probabilistic clock
 * synchronization", Distributed Computing 3, 1989. The shortest of several
 * rounds has the least error. Both ways are broadcasts, as implementations have
 * no messages in common; the bound holds whatever way these take.
 */
#pragma once

#include "bench/measure/impl.h"

struct clock_offset {
    double ahead_ns; /* of rank 0's clock; 0 if it may be the same clock */
    double error_ns; /* bound of ahead_ns's error, either way */
};

/* Collective, with two broadcasts per rank and round; takes each rank's own. */
xylem_status_t clocks_align(const struct bench_impl *impl, void *state,
                            struct clock_offset *mine_out);
