/* The results of a campaign: its contenders, their cells, and the numbers that
 * follow from them. */
#include "bench/noise/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/impl_name.h"
#include "bench/measure/coll_data.h"
#include "bench/measure/stats.h"
#include "simulator/noise/floor.h"

enum { WHY_BYTES = 256 };

double campaign_median(const struct campaign_series *series)
{
    double sorted[NOISE_ROUNDS_MAX];

    memcpy(sorted, series->values, sizeof sorted);
    return stats_median(sorted, series->count);
}

struct campaign_cell *campaign_cell(const struct campaign *campaign,
                                    size_t contender, size_t which,
                                    size_t level)
{
    size_t levels = campaign->options->levels.count;

    return &campaign->contenders[contender].cells[which * levels + level];
}

struct campaign_rank *campaign_rank(const struct campaign *campaign,
                                    size_t contender, size_t which,
                                    unsigned rank)
{
    size_t ranks = campaign->options->ranks;

    return &campaign->contenders[contender].ranks[which * ranks + rank];
}

void campaign_add(struct campaign_series *series, double value)
{
    if (series->count < NOISE_ROUNDS_MAX)
        series->values[series->count++] = value;
}

double campaign_floor(const struct campaign *campaign, size_t which,
                      size_t level, double us, double depth)
{
    const struct noise_options *options = campaign->options;
    sim_noise_t noise = level_noise(&options->levels.list[level], 0);
    uint32_t sides[2];
    sim_floor_t floor = {.needs = sim_needs_of(options->cases[which].coll),
                         .ranks = options->ranks,
                         .root = options->root,
                         .work = (sim_time_t)(us * (double)SIM_US) + 1,
                         .depth = (uint64_t)depth,
                         .noise = &noise};
    double times;

    if (us <= 0 || noise.kind == SIM_NOISE_ONCE)
        return 0;
    coll_grid(options->ranks, sides);
    floor.columns = sides[1];
    times = sim_floor(&floor);
    return times > 0 ? times * us : 0;
}

/* Adds one implementation; prints what it lacks. Returns the exit code so far.
 */
static int contender_add(struct campaign *campaign, const char *name)
{
    const struct noise_options *options = campaign->options;
    struct campaign_contender *contender;
    char why[WHY_BYTES];

    if (campaign->contenders_count == CAMPAIGN_CONTENDERS_MAX) {
        cli_complain(campaign->program, "--impl names more than %d",
                     CAMPAIGN_CONTENDERS_MAX);
        return CLI_EXIT_USAGE;
    }
    contender = &campaign->contenders[campaign->contenders_count];
    if (!launch_find(name, campaign->options, &contender->launch, why,
                     sizeof why)) {
        if (options->impls != NULL)
            fprintf(stderr, "%s: %s is left out: %s\n", campaign->program, name,
                    why);
        return EXIT_SUCCESS;
    }
    if (!launch_knows_tree(&contender->launch, campaign->options))
        fprintf(stderr, "%s: %s cannot be told to use %s; it chooses itself\n",
                campaign->program, name, campaign->options->algorithm);
    campaign->contenders_count++;
    contender->cells = calloc(options->cases_count * options->levels.count + 1,
                              sizeof *contender->cells);
    if (options->has_delay)
        contender->ranks = calloc(options->cases_count * options->ranks,
                                  sizeof *contender->ranks);
    if (contender->cells != NULL &&
        (!options->has_delay || contender->ranks != NULL))
        return EXIT_SUCCESS;
    fprintf(stderr, "%s: out of memory\n", campaign->program);
    return EXIT_FAILURE;
}

static const char *known_name(const char *name, size_t length)
{
    const char *known;
    size_t i;

    for (i = 0; (known = launch_name(i)) != NULL; i++) {
        if (impl_name_is(known, name, length))
            return known;
    }
    return NULL;
}

/* Adds the implementations that the user lists. */
static int contenders_listed(struct campaign *campaign, const char *list)
{
    int code = EXIT_SUCCESS;

    while (code == EXIT_SUCCESS) {
        size_t length = strcspn(list, ",");
        const char *name = known_name(list, length);

        if (name == NULL) {
            cli_complain(campaign->program, "--impl %.*s: unknown; see --help",
                         (int)length, list);
            return CLI_EXIT_USAGE;
        }
        code = contender_add(campaign, name);
        if (list[length] == '\0')
            break;
        list += length + 1;
    }
    return code;
}

int campaign_create(struct campaign *campaign, const char *program,
                    const struct noise_options *options)
{
    int code = EXIT_SUCCESS;
    const char *name;
    size_t i;

    *campaign = (struct campaign){.program = program, .options = options};
    campaign->places = calloc(options->ranks, sizeof *campaign->places);
    if (campaign->places == NULL) {
        fprintf(stderr, "%s: out of memory\n", program);
        return EXIT_FAILURE;
    }
    if (options->impls != NULL)
        code = contenders_listed(campaign, options->impls);
    for (i = 0; options->impls == NULL && code == EXIT_SUCCESS &&
                (name = launch_name(i)) != NULL;
         i++)
        if (launch_is_default(name, options))
            code = contender_add(campaign, name);
    if (code == EXIT_SUCCESS && campaign->contenders_count == 0) {
        fprintf(stderr, "%s: no implementation can be started\n", program);
        code = EXIT_FAILURE;
    }
    return code;
}

void campaign_destroy(struct campaign *campaign)
{
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++) {
        free(campaign->contenders[i].ranks);
        free(campaign->contenders[i].cells);
    }
    campaign->contenders_count = 0;
    free(campaign->places);
}
