/* Runs a campaign, round by round. */
#pragma once

#include "bench/noise/campaign.h"

/* Runs everything and reports failures as they happen. 1 unless it was
 * interrupted. */
int rounds_run(struct campaign *campaign);
