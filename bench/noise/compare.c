/* xylem-noise compare: whether two records are of the same noise, or whether
 * two campaigns have found the same. One thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/cli.h"
#include "bench/common/text.h"
#include "bench/noise/cells.h"
#include "bench/noise/record.h"
#include "bench/noise/statistics.h"
#include "simulator/noise/noise.h"

enum { WHY_BYTES = 512 };

static const char program_name[] = "xylem-noise compare";

struct settings {
    double share;
    double distance;
    double cells;
    char **files;
};

#define AT(member) offsetof(struct settings, member)

static const struct cli_option table[] = {
    {"share", 0, CLI_REAL, AT(share), 0, 1e6, "PERCENT",
     "how far shares may lie apart (default 5)"},
    {"distance", 0, CLI_REAL, AT(distance), 0, 1, "D",
     "how far distributions may lie apart (default 0.1)"},
    {"cells", 0, CLI_REAL, AT(cells), 0, 100, "PERCENT",
     "of how many of two campaigns' cells the intervals must overlap "
     "(default 90)"},
    {"FILE", 0, CLI_REST, AT(files), 0, 0, NULL, NULL},
};

static const struct cli cli = {
    .program = program_name,
    .usage = "[options] FILE OTHER",
    .summary =
        "Compares two records of noise: the share of the time that it takes, "
        "and how lengths of\nbursts are distributed (the distance of "
        "Kolmogorov and Smirnov). Ends with 0 if both are\nwithin bounds, as "
        "those of a replay and what it replays should be. Of two campaigns'\n"
        "files of numbers: in how many cells the intervals of the medians "
        "overlap, as those of a\nrepeated campaign should.",
    .options = table,
    .options_count = sizeof table / sizeof table[0]};

/* A record's numbers; `lengths_us` is the caller's. */
struct record {
    double *lengths_us;
    size_t count;
    double share;
};

static int record_load(const char *path, struct record *record_out)
{
    struct record record = {0};
    sim_noise_trace_t trace;
    char why[WHY_BYTES] = "out of memory";
    double sum = 0;
    size_t i;

    if (sim_noise_trace_load(path, &trace, why, sizeof why) != XYLEM_OK) {
        fprintf(stderr, "%s: %s\n", program_name, why);
        return 0;
    }
    record.count = trace.count;
    record.lengths_us = calloc(trace.count + 1, sizeof *record.lengths_us);
    for (i = 0; record.lengths_us != NULL && i < trace.count; i++) {
        record.lengths_us[i] = (double)trace.bursts[i].length / (double)SIM_US;
        sum += record.lengths_us[i];
    }
    record.share = sum * (double)SIM_US / (double)trace.length;
    sim_noise_trace_free(&trace);
    *record_out = record;
    return record.lengths_us != NULL;
}

static int compare(const struct settings *settings)
{
    struct record one = {0}, other = {0};
    double apart, distance;
    int code = EXIT_FAILURE;

    if (!record_load(settings->files[0], &one) ||
        !record_load(settings->files[1], &other))
        goto release;
    distance = statistics_distance(one.lengths_us, one.count, other.lengths_us,
                                   other.count);
    apart = one.share == other.share ? 0 : 100 * (other.share / one.share - 1);
    printf("share %.4f %% and %.4f %%: %+.2f %%\n"
           "%zu and %zu burst%s; distance of their lengths: %.4f\n",
           100 * one.share, 100 * other.share, apart, one.count, other.count,
           text_plural(other.count), distance);
    if (fabs(apart) <= settings->share && distance < settings->distance)
        code = EXIT_SUCCESS;
release:
    free(one.lengths_us);
    free(other.lengths_us);
    return code;
}

static int compare_campaigns(const struct settings *settings)
{
    struct cells_found found;
    double percent;

    if (!cells_compare(program_name, settings->files[0], settings->files[1],
                       stdout, &found))
        return EXIT_FAILURE;
    percent = found.both > 0 ? 100.0 * found.overlapping / found.both : 0;
    printf("%u cell%s in both, %u in one only; intervals overlap in %u: "
           "%.1f %%\nan interval is %.0f %% of its median wide (the median of "
           "them)\n",
           found.both, text_plural(found.both), found.single, found.overlapping,
           percent, found.width_percent);
    return found.both > 0 && percent >= settings->cells ? EXIT_SUCCESS
                                                        : EXIT_FAILURE;
}

int compare_main(int argc, char **argv)
{
    struct settings settings = {.share = 5, .distance = 0.1, .cells = 90};
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    if (settings.files != NULL && settings.files[0] != NULL &&
        settings.files[1] != NULL && settings.files[2] == NULL)
        return cells_is_campaign(settings.files[0])
                   ? compare_campaigns(&settings)
                   : compare(&settings);
    cli_complain(program_name, "two records or two campaigns are expected");
    return CLI_EXIT_USAGE;
}
