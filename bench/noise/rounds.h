/* Runs a campaign, round by round. */
#ifndef XYL_BENCH_NOISE_ROUNDS_H
#define XYL_BENCH_NOISE_ROUNDS_H

#include "bench/noise/campaign.h"

/* Runs everything and reports failures as they happen. 1 unless it was
 * interrupted. */
int rounds_run(struct campaign *campaign);

#endif
