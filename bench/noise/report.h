/* What a campaign found: tables, plots. */
#ifndef XYL_BENCH_NOISE_REPORT_H
#define XYL_BENCH_NOISE_REPORT_H

#include "bench/noise/campaign.h"

/* On standard output. */
void report_tables(const struct campaign *campaign);

/* Bars of the time per level, or of the delay per rank, of each case. One of
 * several goes to FILE-COLL-BYTES.png, the delays beside bars of times to
 * FILE-one-rank.png. 1 when drawn; else it has said why. */
int report_plot(const struct campaign *campaign, const char *path);
/* Whether they could be, before the campaign runs. 0: it has said why not. */
int report_may_plot(const struct campaign *campaign, const char *path);

/* "bcast of 4 MiB"; sizes that are no whole KiB in bytes. */
void report_case(const struct noise_case *which, char *text, unsigned bytes);

#endif
