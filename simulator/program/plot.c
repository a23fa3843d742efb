/* Plots of a campaign on simulated machines. One thread. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/gnuplot.h"
#include "bench/common/impl_name.h"
#include "bench/common/text.h"
#include "simulator/program/report.h"

enum { TITLE_BYTES = 256, ROW_BYTES = 2 * SIM_NAME_BYTES + 8 };

static const char *level_words(const struct sim_campaign *campaign,
                               size_t level, char words[SIM_NAME_BYTES])
{
    static const sim_noise_t none = {.kind = SIM_NOISE_NONE};
    const struct noise_level *noises = campaign->simulation->noises;

    sim_noise_words(level == 0 ? &none : &noises[level - 1].noise,
                    sim_campaign_noise(campaign, level), words, SIM_NAME_BYTES);
    return words;
}

static void title_write(const struct sim_campaign *campaign, char *text,
                        const char *more)
{
    const struct simulation *simulation = campaign->simulation;

    char size[SIM_NAME_BYTES];

    text_of_bytes(simulation->bytes, size, sizeof size);
    snprintf(text, TITLE_BYTES, "%s of %s on %u rank%s of %s, simulated%s",
             simulation->coll_name, size, simulation->ranks,
             text_plural(simulation->ranks), simulation->machine.name, more);
}

static int plot_bars(const struct sim_campaign *campaign, const char *path)
{
    const struct simulation *simulation = campaign->simulation;
    double us[SIM_CONTENDERS_MAX * (SIM_NOISES_MAX + 1)];
    const char *groups[SIM_CONTENDERS_MAX], *series[SIM_NOISES_MAX + 1];
    char title[TITLE_BYTES], words[SIM_NOISES_MAX + 1][SIM_NAME_BYTES];
    size_t i, level;

    for (level = 0; level < campaign->levels; level++)
        series[level] = level_words(campaign, level, words[level]);
    for (i = 0; i < simulation->contenders_count; i++) {
        groups[i] = impl_label(simulation->contenders[i].name);
        for (level = 0; level < campaign->levels; level++)
            us[i * campaign->levels + level] =
                sim_campaign_cell(campaign, i, level)->mean.us.avg;
    }
    title_write(campaign, title,
                campaign->levels > 1 ? ": on the bars the slowdown" : "");
    return gnuplot_bars(
        simulation->program, path,
        &(struct gnuplot_bars){.title = title,
                               .groups = groups,
                               .groups_count = simulation->contenders_count,
                               .series = series,
                               .series_count = campaign->levels,
                               .us = us});
}

static int plot_ranks(const struct sim_campaign *campaign, const char *path)
{
    const struct simulation *simulation = campaign->simulation;
    size_t count = campaign->levels * simulation->contenders_count, i;
    double *values = calloc(count * simulation->ranks, sizeof *values);
    char(*names)[ROW_BYTES] = calloc(count, sizeof *names);
    const char **rows = calloc(count, sizeof *rows);
    char title[TITLE_BYTES], words[SIM_NAME_BYTES];
    double end, unit;
    unsigned rank;
    int ok = 0;

    if (values == NULL || names == NULL || rows == NULL)
        goto release;
    for (i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s, %s",
                 impl_label(simulation->contenders[i / campaign->levels].name),
                 level_words(campaign, i % campaign->levels, words));
        rows[i] = names[i];
        for (rank = 0; rank < simulation->ranks; rank++)
            values[i * simulation->ranks + rank] =
                campaign->cells[i].rank_us[rank];
    }
    end = gnuplot_axis_end(values, count * simulation->ranks);
    unit = end >= 2000 ? 1000 : 1;
    for (i = 0; i < count * simulation->ranks; i++)
        values[i] /= unit;
    title_write(campaign, title, ": time per call of each rank");
    ok = gnuplot_rows(simulation->program, path,
                      &(struct gnuplot_rows){
                          .title = title,
                          .ylabel = unit > 1 ? "milliseconds" : "microseconds",
                          .rows = rows,
                          .rows_count = count,
                          .ranks = simulation->ranks,
                          .values = values,
                          .end = end / unit,
                          .marked = simulation->ranks});
release:
    free(values);
    free(names);
    free(rows);
    return ok;
}

int sim_report_plot(const struct sim_campaign *campaign, const char *path)
{
    return campaign->simulation->per_rank ? plot_ranks(campaign, path)
                                          : plot_bars(campaign, path);
}
