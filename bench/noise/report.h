/* The results of a campaign: tables, plots. */
#pragma once

#include "bench/noise/campaign.h"

/* On standard output. */
void report_tables(const struct campaign *campaign);

/* Draws bars of the time per level, or of the delay per rank, for each case:
 * several cases to FILE-COLL-BYTES.png, delays beside bars of times to
 * FILE-one-rank.png. 1: drawn; 0: a message says why not. */
int report_plot(const struct campaign *campaign, const char *path);
/* 1: plots are possible, as far as is known before the campaign. 0: a message
 * says why not. */
int report_may_plot(const struct campaign *campaign, const char *path);

/* "bcast of 4 MiB"; sizes that are no whole KiB in bytes. */
void report_case(const struct noise_case *which, char *text, unsigned bytes);
