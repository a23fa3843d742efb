/* The cells of a campaign, and the numbers that follow from them. */
#include "simulator/program/campaign.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/noise.h"

int sim_campaign_create(struct sim_campaign *campaign,
                        const struct simulation *simulation)
{
    size_t count, i;

    *campaign = (struct sim_campaign){.simulation = simulation,
                                      .levels = simulation->noises_count + 1,
                                      .begin_ns = noise_now_ns()};
    count = campaign->levels * simulation->contenders_count;
    campaign->cells = calloc(count, sizeof *campaign->cells);
    campaign->scratch = calloc(simulation->ranks, sizeof *campaign->scratch);
    if (campaign->cells == NULL || campaign->scratch == NULL)
        goto no_memory;
    for (i = 0; i < count; i++) {
        campaign->cells[i].rank_us =
            calloc(simulation->ranks, sizeof *campaign->cells[i].rank_us);
        if (campaign->cells[i].rank_us == NULL)
            goto no_memory;
    }
    return 1;
no_memory:
    fprintf(stderr, "%s: out of memory\n", simulation->program);
    return 0;
}

void sim_campaign_destroy(struct sim_campaign *campaign)
{
    size_t count = campaign->levels * campaign->simulation->contenders_count;
    size_t i;

    for (i = 0; campaign->cells != NULL && i < count; i++)
        free(campaign->cells[i].rank_us);
    free(campaign->cells);
    free(campaign->scratch);
    sim_side_destroy(&campaign->side);
}

struct sim_cell *sim_campaign_cell(const struct sim_campaign *campaign,
                                   size_t contender, size_t level)
{
    return &campaign->cells[contender * campaign->levels + level];
}

const char *sim_campaign_noise(const struct sim_campaign *campaign,
                               size_t level)
{
    return level == 0 ? "none" : campaign->simulation->noises[level - 1].name;
}

double sim_campaign_slowdown(const struct sim_campaign *campaign,
                             size_t contender, size_t level)
{
    double quiet_us = sim_campaign_cell(campaign, contender, 0)->mean.us.avg;

    if (quiet_us <= 0)
        return 0;
    return 100 * (sim_campaign_cell(campaign, contender, level)->mean.us.avg /
                      quiet_us -
                  1);
}

double sim_campaign_amplification(const struct sim_campaign *campaign,
                                  size_t contender, size_t level)
{
    const struct sim_cell *quiet = sim_campaign_cell(campaign, contender, 0);
    const struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);

    if (cell->mean.noise_us <= 0)
        return 0;
    return (cell->mean.us.avg - quiet->mean.us.avg) / cell->mean.noise_us;
}
