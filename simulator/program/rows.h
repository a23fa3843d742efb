/* The file of a campaign on simulated machines: a row for each run as it ends,
 * and one for the mean over several seeds when all of their runs have ended. */
#pragma once

#include "simulator/program/campaign.h"

struct sim_rows;

/* Opens the file that the options name, and takes its runs with this campaign's
 * parameters. NULL: a message says why not. */
struct sim_rows *sim_rows_begin(const struct sim_campaign *campaign);

/* The file's numbers of a run; writes its ranks' times to `rank_us`. NULL: the
 * run is to be made. `seed` counts from the campaign's first. */
const struct sim_numbers *sim_rows_find(const struct sim_rows *rows,
                                        size_t contender, size_t level,
                                        unsigned seed, double *rank_us);

/* Adds a run, or the mean over the cell's runs, unless the file has it. 1:
 * written; 0: a message says why not. */
int sim_rows_add(struct sim_rows *rows, const struct sim_campaign *campaign,
                 size_t contender, size_t level, unsigned seed,
                 const struct sim_numbers *numbers, const double *rank_us);
int sim_rows_add_mean(struct sim_rows *rows,
                      const struct sim_campaign *campaign, size_t contender,
                      size_t level);

/* Takes NULL. */
int sim_rows_end(struct sim_rows *rows);
