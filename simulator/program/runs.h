/* Makes the runs of a campaign. */
#pragma once

#include "simulator/program/campaign.h"

/* Makes all runs that the campaign's file lacks. 1: all went well; 0: a message
 * says why not. */
int sim_runs_make(struct sim_campaign *campaign);
