/* The file of a campaign's numbers: a row for each round as it ends, and for
 * the medians when the campaign has ended. */
#ifndef XYL_BENCH_NOISE_ROWS_H
#define XYL_BENCH_NOISE_ROWS_H

#include "bench/noise/campaign.h"

struct rows;

/* Opens the file that the options name. Rows of this campaign that it has,
 * those with equal parameters, are taken as measured; all others stay as they
 * are. NULL: it has said why there is none. */
struct rows *rows_begin(struct campaign *campaign);

/* Adds what has been measured since the last time. 1 when written; else it has
 * said why. */
int rows_add(struct rows *rows, struct campaign *campaign);

/* Adds the medians, but for those that the file has. 1 as above. */
int rows_add_medians(struct rows *rows, const struct campaign *campaign);

/* Takes NULL. */
void rows_end(struct rows *rows);

#endif
