/* Tables and CSV of a campaign. One thread. */
#include "bench/noise/report.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/table.h"

enum { TITLE_BYTES = 32, NAME_WIDTH = 16, RANK_WIDTH = 6 };

static void heading(const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;

    printf("%s of %zu bytes, %u ranks, algorithm %s, median of %u rounds\n",
           options->coll_name, options->bytes, options->ranks,
           options->algorithm != NULL ? options->algorithm : "auto",
           options->rounds);
}

/* How much of the time noise takes; bursts are half of the longest on
 * average. */
static void levels_explain(const struct noise_options *options)
{
    size_t i;

    printf("noise on every rank, %g bursts per second:", options->hz);
    for (i = 0; i < options->levels_count; i++) {
        const char *comma = i == 0 ? "" : ",";

        if (options->levels[i] > 0)
            printf("%s up to %g ms (%.3g %% of the time)", comma,
                   options->levels[i], options->levels[i] * options->hz / 20);
        else
            printf("%s none", comma);
    }
    puts("\ntime per call in microseconds, mean over the ranks\n");
}

static void levels_row(struct table *table, const struct campaign *campaign,
                       const struct campaign_contender *contender)
{
    double base_us = campaign_median(&contender->levels[0].us);
    size_t i;

    table_text(table, contender->launch.name);
    for (i = 0; i < campaign->options->levels_count; i++) {
        const struct campaign_level *level = &contender->levels[i];
        double us = campaign_median(&level->us);
        int has = level->us.count > 0 && !level->failed;

        if (has)
            table_real(table, us, 1);
        else
            table_text(table, level->failed ? "failed" : "-");
        if (i == 0)
            continue;
        if (has && base_us > 0)
            table_signed(table, 100 * (us / base_us - 1), 1, "%");
        else
            table_text(table, "-");
    }
}

static void levels_table(const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    char texts[2 * NOISE_LEVELS_MAX][TITLE_BYTES];
    const char *titles[2 * NOISE_LEVELS_MAX];
    struct table table;
    unsigned columns = 0;
    size_t i;

    titles[columns++] = "implementation";
    for (i = 0; i < options->levels_count; i++) {
        snprintf(texts[columns], TITLE_BYTES, "%g ms", options->levels[i]);
        titles[columns] = texts[columns];
        columns++;
        if (i > 0)
            titles[columns++] = "slowdown";
    }
    levels_explain(options);
    table_begin(&table, stdout, TABLE_ALIGNED, titles, columns, NAME_WIDTH);
    for (i = 0; i < campaign->contenders_count; i++)
        levels_row(&table, campaign, &campaign->contenders[i]);
}

/* How much later each rank finishes, all implementations side by side. */
static void delays_table(const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    char texts[CAMPAIGN_CONTENDERS_MAX][TITLE_BYTES];
    const char *titles[1 + 2 * CAMPAIGN_CONTENDERS_MAX] = {"rank"};
    struct table table;
    unsigned columns = 1;
    unsigned rank;
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++) {
        snprintf(texts[i], TITLE_BYTES, "%s",
                 campaign->contenders[i].launch.name);
        titles[columns++] = texts[i];
        titles[columns++] = "delay";
    }
    printf("rank %u held up for %g ms: when each rank finishes without it, and "
           "how much later\nwith it, in microseconds\n\n",
           options->delay_rank, options->delay_ms);
    table_begin(&table, stdout, TABLE_ALIGNED, titles, columns, RANK_WIDTH);
    for (rank = 0; rank < options->ranks; rank++) {
        table_count(&table, rank);
        for (i = 0; i < campaign->contenders_count; i++) {
            const struct campaign_contender *contender =
                &campaign->contenders[i];
            double plain_us = campaign_median(&contender->ranks[rank].plain_us);
            double delayed_us =
                campaign_median(&contender->ranks[rank].delayed_us);

            if (contender->delay_failed) {
                table_text(&table, "failed");
                table_text(&table, "-");
                continue;
            }
            table_real(&table, plain_us, 1);
            table_signed(&table, delayed_us - plain_us, 1, "");
        }
    }
}

void report_tables(const struct campaign *campaign)
{
    heading(campaign);
    if (campaign->options->levels_count > 0)
        levels_table(campaign);
    if (campaign->options->levels_count > 0 && campaign->options->has_delay)
        putchar('\n');
    if (campaign->options->has_delay)
        delays_table(campaign);
}

/* One row; `round` 0 stands for the median over the rounds. */
static void csv_begin(struct table *table, const struct campaign *campaign,
                      const char *experiment,
                      const struct campaign_contender *contender,
                      unsigned round)
{
    const struct noise_options *options = campaign->options;

    table_text(table, experiment);
    table_text(table, contender->launch.name);
    table_text(table, options->coll_name);
    table_count(table, options->bytes);
    table_count(table, options->ranks);
    if (round == 0)
        table_text(table, "median");
    else
        table_count(table, round);
}

static double series_at(const struct campaign_series *series, unsigned round)
{
    return round == 0 ? campaign_median(series) : series->values[round - 1];
}

static void csv_levels(struct table *table, const struct campaign *campaign,
                       const struct campaign_contender *contender)
{
    size_t i;
    unsigned round;

    for (i = 0; i < campaign->options->levels_count; i++) {
        const struct campaign_series *us = &contender->levels[i].us;

        for (round = 0; us->count > 0 && round <= us->count; round++) {
            csv_begin(table, campaign, "noise", contender, round);
            table_real(table, campaign->options->levels[i], 3);
            table_real(table, campaign->options->hz, 3);
            table_text(table, "all");
            table_real(table, series_at(us, round), 3);
            table_text(table, "");
        }
    }
}

static void csv_delays(struct table *table, const struct campaign *campaign,
                       const struct campaign_contender *contender)
{
    unsigned rank;
    unsigned round;

    for (rank = 0; rank < campaign->options->ranks; rank++) {
        const struct campaign_rank *numbers = &contender->ranks[rank];
        unsigned count = numbers->plain_us.count;

        for (round = 0; count > 0 && round <= count; round++) {
            csv_begin(table, campaign, "one-rank", contender, round);
            table_real(table, campaign->options->delay_ms, 3);
            table_text(table, "");
            table_count(table, rank);
            table_real(table, series_at(&numbers->plain_us, round), 3);
            table_real(table, series_at(&numbers->delayed_us, round), 3);
        }
    }
}

int report_csv(const struct campaign *campaign, const char *path)
{
    static const char *const titles[] = {
        "experiment", "impl", "coll", "bytes",   "ranks",     "round",
        "max_ms",     "hz",   "rank", "time_us", "delayed_us"};
    struct table table;
    size_t i;

    if (!table_file_open(&table, campaign->program, path, titles,
                         sizeof titles / sizeof titles[0]))
        return 0;
    for (i = 0; i < campaign->contenders_count; i++) {
        csv_levels(&table, campaign, &campaign->contenders[i]);
        if (campaign->options->has_delay)
            csv_delays(&table, campaign, &campaign->contenders[i]);
    }
    return table_file_close(&table, campaign->program, path);
}
