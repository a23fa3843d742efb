/* Plots of a campaign. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gnuplot.h"
#include "bench/common/impl_name.h"
#include "bench/common/text.h"
#include "bench/noise/report.h"

enum { PATH_BYTES = 4096, TITLE_BYTES = 160 };

/* The contenders that have the case: names and places. */
struct shown {
    const char *names[CAMPAIGN_CONTENDERS_MAX]; /* in words */
    size_t contenders[CAMPAIGN_CONTENDERS_MAX];
    size_t count;
};

static struct shown shown_of(const struct campaign *campaign, size_t which)
{
    struct shown shown = {.count = 0};
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++) {
        const struct launch *launch = &campaign->contenders[i].launch;

        if (!launch_has(launch, campaign->options->cases[which].coll))
            continue;
        shown.names[shown.count] = impl_label(launch->name);
        shown.contenders[shown.count++] = i;
    }
    return shown;
}

static int plot_levels(const struct campaign *campaign, size_t which,
                       const struct shown *shown, const char *path)
{
    const struct noise_options *options = campaign->options;
    double us[CAMPAIGN_CONTENDERS_MAX * LEVELS_MAX];
    char words[LEVELS_MAX][TITLE_BYTES];
    const char *series[LEVELS_MAX];
    char text[TITLE_BYTES], title[2 * TITLE_BYTES];
    size_t i, k, count = options->levels.count;

    for (i = 0; i < shown->count; i++)
        for (k = 0; k < count; k++) {
            const struct campaign_cell *cell =
                campaign_cell(campaign, shown->contenders[i], which, k);

            us[i * count + k] = cell->failed ? 0 : campaign_median(&cell->us);
        }
    for (k = 0; k < count; k++) {
        sim_noise_t noise = level_noise(&options->levels.list[k], 0);

        sim_noise_words(&noise, options->levels.list[k].name, words[k],
                        sizeof words[k]);
        series[k] = words[k];
    }
    report_case(&options->cases[which], text, sizeof text);
    snprintf(title, sizeof title, "%s on %u rank%s%s", text, options->ranks,
             text_plural(options->ranks),
             count > 1
                 ? ", under noise: on the bars the slowdown that it causes"
                 : "");
    return gnuplot_bars(campaign->program, path,
                        &(struct gnuplot_bars){.title = title,
                                               .groups = shown->names,
                                               .groups_count = shown->count,
                                               .series = series,
                                               .series_count = count,
                                               .us = us});
}

/* The axis ends at the delay: a rank that loses all of it reaches the top. */
static int plot_delays(const struct campaign *campaign, size_t which,
                       const struct shown *shown, const char *path)
{
    const struct noise_options *options = campaign->options;
    char text[TITLE_BYTES], title[2 * TITLE_BYTES];
    double *ms = calloc(shown->count * options->ranks, sizeof *ms);
    unsigned rank;
    size_t i;
    int ok;

    if (ms == NULL)
        return 0;
    for (i = 0; i < shown->count; i++)
        for (rank = 0; rank < options->ranks; rank++) {
            const struct campaign_rank *numbers =
                campaign_rank(campaign, shown->contenders[i], which, rank);

            ms[i * options->ranks + rank] =
                (campaign_median(&numbers->delayed_us) -
                 campaign_median(&numbers->plain_us)) /
                1e3;
        }
    report_case(&options->cases[which], text, sizeof text);
    snprintf(title, sizeof title,
             "%s: how much later each rank finishes when rank %u is held up "
             "for %g ms",
             text, options->delay_rank, options->delay_ms);
    ok = gnuplot_rows(campaign->program, path,
                      &(struct gnuplot_rows){.title = title,
                                             .ylabel = "milliseconds",
                                             .rows = shown->names,
                                             .rows_count = shown->count,
                                             .ranks = options->ranks,
                                             .values = ms,
                                             .end = 1.2 * options->delay_ms,
                                             .marked = options->delay_rank});
    free(ms);
    return ok;
}

/* "a/b.png" -> "a/b-MORE.png". */
static void path_extend(char path[PATH_BYTES], const char *more)
{
    char from[PATH_BYTES], *slash, *dot;

    snprintf(from, sizeof from, "%s", path);
    slash = strrchr(from, '/');
    dot = strrchr(slash != NULL ? slash : from, '.');
    if (dot != NULL)
        *dot = '\0';
    snprintf(path, PATH_BYTES, "%.2000s-%s%s%.200s", from, more,
             dot != NULL ? "." : "", dot != NULL ? dot + 1 : "");
}

/* The paths of a case's pictures: of the levels, and of the rank that is held
 * up. */
static void case_paths(const struct noise_options *options, size_t which,
                       const char *path, char levels[PATH_BYTES],
                       char delays[PATH_BYTES])
{
    char part[TITLE_BYTES];

    snprintf(levels, PATH_BYTES, "%s", path);
    if (options->cases_count > 1) {
        snprintf(part, sizeof part, "%s-%zu",
                 xyl_coll_traits(options->cases[which].coll)->name,
                 options->cases[which].bytes);
        path_extend(levels, part);
    }
    snprintf(delays, PATH_BYTES, "%s", levels);
    if (options->levels.count > 0)
        path_extend(delays, "one-rank");
}

static int plot_case(const struct campaign *campaign, size_t which,
                     const char *path)
{
    const struct noise_options *options = campaign->options;
    const struct shown shown = shown_of(campaign, which);
    char levels[PATH_BYTES], delays[PATH_BYTES];
    int ok = 1;

    if (shown.count == 0)
        return 1; /* no contender has it */
    case_paths(options, which, path, levels, delays);
    if (options->levels.count > 0)
        ok = plot_levels(campaign, which, &shown, levels);
    return ok && (!options->has_delay ||
                  plot_delays(campaign, which, &shown, delays));
}

int report_may_plot(const struct campaign *campaign, const char *path)
{
    const struct noise_options *options = campaign->options;
    char levels[PATH_BYTES], delays[PATH_BYTES];
    size_t i;
    int ok = 1;

    for (i = 0; i < options->cases_count && ok; i++) {
        case_paths(options, i, path, levels, delays);
        ok = (options->levels.count == 0 ||
              gnuplot_may_draw(campaign->program, levels)) &&
             (!options->has_delay ||
              gnuplot_may_draw(campaign->program, delays));
    }
    return ok;
}

int report_plot(const struct campaign *campaign, const char *path)
{
    size_t i;
    int ok = 1;

    for (i = 0; i < campaign->options->cases_count && ok; i++)
        ok = plot_case(campaign, i, path);
    return ok;
}
