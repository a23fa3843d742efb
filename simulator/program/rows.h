/* The file of a campaign on simulated machines: a row for each run as it ends,
 * and for the mean over several seeds when all of these have. */
#ifndef XYL_SIMULATOR_PROGRAM_ROWS_H
#define XYL_SIMULATOR_PROGRAM_ROWS_H

#include "simulator/program/campaign.h"

struct sim_rows;

/* Opens the file that the options name, and takes what it has of runs of this
 * campaign, those with equal parameters. NULL: it has said why there is none.
 */
struct sim_rows *sim_rows_begin(const struct sim_campaign *campaign);

/* What the file had of a run, and its ranks' times into `rank_us`; NULL: it is
 * to be run. `seed` counts from the campaign's first. */
const struct sim_numbers *sim_rows_find(const struct sim_rows *rows,
                                        size_t contender, size_t level,
                                        unsigned seed, double *rank_us);

/* Adds a run, or the mean over the cell's runs, but for what the file has. 1
 * when written; else it has said why. */
int sim_rows_add(struct sim_rows *rows, const struct sim_campaign *campaign,
                 size_t contender, size_t level, unsigned seed,
                 const struct sim_numbers *numbers, const double *rank_us);
int sim_rows_add_mean(struct sim_rows *rows,
                      const struct sim_campaign *campaign, size_t contender,
                      size_t level);

/* Takes NULL. */
int sim_rows_end(struct sim_rows *rows);

#endif
