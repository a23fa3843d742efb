/* What a campaign found: tables, CSV, plots. */
#ifndef XYL_BENCH_NOISE_REPORT_H
#define XYL_BENCH_NOISE_REPORT_H

#include "bench/noise/campaign.h"

/* On standard output. */
void report_tables(const struct campaign *campaign);

/* All numbers, the medians included. 1 when written; else it has said why. */
int report_csv(const struct campaign *campaign, const char *path);

/* Bars of the time per level, or lines of the time per rank; the latter go to
 * FILE-one-rank.png when both have been measured. 1 when drawn; else it has
 * said why. */
int report_plot(const struct campaign *campaign, const char *path);

#endif
