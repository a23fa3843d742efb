/* What a campaign found: tables, CSV, plots. */
#ifndef XYL_BENCH_NOISE_REPORT_H
#define XYL_BENCH_NOISE_REPORT_H

#include "bench/noise/campaign.h"

/* On standard output. */
void report_tables(const struct campaign *campaign);

/* All numbers so far, in place of what the file has; with the medians when it
 * is the last time. 1 when written; else it has said why. */
int report_csv(const struct campaign *campaign, const char *path, int is_last);

/* Takes the numbers of such a file, if there is one, as measured. 1 unless it
 * is of something else, and it has said so. */
int report_resume(struct campaign *campaign, const char *path);

/* Bars of the time per level, or of the delay per rank, of each case. One of
 * several goes to FILE-COLL-BYTES.png, the delays beside bars of times to
 * FILE-one-rank.png. 1 when drawn; else it has said why. */
int report_plot(const struct campaign *campaign, const char *path);

/* "bcast of 4 MiB"; sizes that are no whole KiB in bytes. */
void report_case(const struct noise_case *which, char *text, unsigned bytes);

#endif
