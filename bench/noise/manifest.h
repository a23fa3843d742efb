/* The origin of a campaign's numbers: FILE.json beside FILE. */
#pragma once

#include "bench/noise/campaign.h"

struct manifest;

/* Begins a session of this campaign; earlier sessions of `csv` stay. NULL: a
 * message says why not. */
struct manifest *manifest_begin(const struct campaign *campaign, int argc,
                                char **argv);
/* Writes what is known by now. 1: written; 0: a message says why not. */
int manifest_write(struct manifest *manifest, const struct campaign *campaign);
void manifest_end(struct manifest *manifest);
