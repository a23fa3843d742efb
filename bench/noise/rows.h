/* The file of a campaign's numbers: a row for each round as it ends, and for
 * the medians when the campaign has ended. */
#pragma once

#include "bench/noise/campaign.h"

struct rows;

/* Opens the file that the options name. Its rows with this campaign's
 * parameters count as measured; all others stay as they are. NULL: a message
 * says why not. */
struct rows *rows_begin(struct campaign *campaign);

/* Adds the results since the last time. 1: written; 0: a message says why not.
 */
int rows_add(struct rows *rows, struct campaign *campaign);

/* Adds the medians that the file lacks. 1 as above. */
int rows_add_medians(struct rows *rows, const struct campaign *campaign);

/* Takes NULL. */
void rows_end(struct rows *rows);
