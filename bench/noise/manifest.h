/* Where the numbers of a campaign come from: FILE.json beside FILE. */
#ifndef XYL_BENCH_NOISE_MANIFEST_H
#define XYL_BENCH_NOISE_MANIFEST_H

#include "bench/noise/campaign.h"

struct manifest;

/* A session of this campaign begins; those before it, which `csv` has, stay.
 * NULL: it has said why there is none. */
struct manifest *manifest_begin(const struct campaign *campaign, int argc,
                                char **argv);
/* Writes what is known by now. 1 when written; else it has said why. */
int manifest_write(struct manifest *manifest, const struct campaign *campaign);
void manifest_end(struct manifest *manifest);

#endif
