/* Makes the runs of a campaign. */
#ifndef XYL_SIMULATOR_PROGRAM_RUNS_H
#define XYL_SIMULATOR_PROGRAM_RUNS_H

#include "simulator/program/campaign.h"

/* Makes all runs that the campaign's file lacks. 1: all went well; 0: a message
 * says why not. */
int sim_runs_make(struct sim_campaign *campaign);

#endif
