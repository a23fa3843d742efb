/* Tables and CSV of a campaign. One thread. */
#include "bench/noise/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/table.h"
#include "bench/common/text.h"
#include "bench/measure/stats.h"
#include "bench/noise/columns.h"

enum {
    TITLE_BYTES = 32,
    NAME_WIDTH = 16,
    RANK_WIDTH = 6,
    LINE_BYTES = 1024,
    PATH_BYTES = 4096
};

static const char *const columns[CSV_COLUMNS] = {"experiment",
                                                 "impl",
                                                 "coll",
                                                 "bytes",
                                                 "ranks",
                                                 "round",
                                                 "noise",
                                                 "rank",
                                                 "time_us",
                                                 "delayed_us",
                                                 "injected_percent",
                                                 "low_us",
                                                 "high_us",
                                                 "floor_us",
                                                 "p50_us",
                                                 "p99_us",
                                                 "max_us",
                                                 "room_bytes"};

void report_case(const struct noise_case *which, char *text, unsigned bytes)
{
    const char *name = xyl_coll_traits(which->coll)->name;
    char size[TITLE_BYTES];

    text_of_bytes(which->bytes, size, sizeof size);
    if (which->bytes == 0)
        snprintf(text, bytes, "%s", name);
    else
        snprintf(text, bytes, "%s of %s", name, size);
}

/* ---- times under noise ---- */

static void heading(const struct campaign *campaign, size_t which)
{
    const struct noise_options *options = campaign->options;
    char text[LINE_BYTES];

    report_case(&options->cases[which], text, sizeof text);
    printf("%s%s, %u ranks, algorithm %s, median of %u rounds\n",
           which > 0 ? "\n" : "", text, options->ranks,
           options->algorithm != NULL ? options->algorithm : "auto",
           options->rounds);
}

/* How much of the time noise takes. */
static void levels_explain(const struct noise_options *options)
{
    size_t i;

    printf("noise on every rank:");
    for (i = 0; i < options->levels.count; i++) {
        const struct level *level = &options->levels.list[i];
        sim_noise_t noise = level_noise(level, 0);

        printf("%s %s", i == 0 ? "" : ",", level->name);
        if (sim_noise_share_ppm(&noise) > 0)
            printf(" (%.3g %% of the time)",
                   (double)sim_noise_share_ppm(&noise) / 1e4);
    }
    puts("\ntime per call in microseconds, mean over the ranks; the floor is "
         "what noise costs at least,\nif each call, as long as that "
         "implementation's without noise, waits once for whose data it needs");
    putchar('\n');
}

static void levels_row(struct table *table, const struct campaign *campaign,
                       size_t contender, size_t which)
{
    double base_us =
        campaign_median(&campaign_cell(campaign, contender, which, 0)->us);
    size_t i;

    table_text(table, campaign->contenders[contender].launch.name);
    for (i = 0; i < campaign->options->levels.count; i++) {
        const struct campaign_cell *cell =
            campaign_cell(campaign, contender, which, i);
        double us = campaign_median(&cell->us), floor_us;
        int has = cell->us.count > 0 && !cell->failed;

        if (has)
            table_real(table, us, us < 10 ? 2 : 1);
        else
            table_text(table, cell->failed ? "failed" : "-");
        if (i == 0)
            continue;
        if (has && base_us > 0)
            table_signed(table, 100 * (us / base_us - 1), 1, "%");
        else
            table_text(table, "-");
        floor_us = campaign_floor(campaign, which, i, base_us, 0);
        if (floor_us > 0)
            table_real(table, floor_us, floor_us < 10 ? 2 : 1);
        else
            table_text(table, "-");
    }
}

/* How far ranks may be ahead of each other, where that is what absorbs noise.
 */
static void depth_explain(const struct campaign *campaign, size_t which)
{
    const struct noise_options *options = campaign->options;
    const struct noise_case *it = &options->cases[which];
    char room[TITLE_BYTES];
    size_t i, level;

    if (!xyl_coll_traits(it->coll)->has_root || it->bytes == 0)
        return;
    for (i = 0; i < campaign->contenders_count; i++) {
        const struct campaign_cell *cell = campaign_cell(campaign, i, which, 0);
        double us = campaign_median(&cell->us), depth;

        if (cell->room_bytes <= 0 || us <= 0 ||
            strcmp(campaign->contenders[i].launch.name, "event") != 0)
            continue;
        depth = cell->room_bytes / (double)it->bytes;
        text_of_bytes((size_t)cell->room_bytes, room, sizeof room);
        printf("room of event: %s, %.0f calls, %.3g ms of them; the floor with "
               "it:",
               room, depth, depth * us / 1e3);
        for (level = 1; level < options->levels.count; level++)
            printf("%s %.4g us", level > 1 ? "," : "",
                   campaign_floor(campaign, which, level, us,
                                  depth < 1 ? 1 : depth));
        putchar('\n');
    }
}

static void levels_table(const struct campaign *campaign, size_t which)
{
    const struct noise_options *options = campaign->options;
    char texts[LEVELS_MAX][LEVEL_NAME_BYTES];
    const char *titles[3 * LEVELS_MAX];
    struct table table;
    unsigned count = 0;
    size_t i;

    titles[count++] = "implementation";
    for (i = 0; i < options->levels.count; i++) {
        const char *name = options->levels.list[i].name;
        const char *dash = strrchr(name, '-');

        /* Of uniform noise its longest burst is enough. */
        snprintf(texts[i], sizeof texts[i], "%s",
                 strncmp(name, "uniform:", 8) == 0 && dash != NULL ? dash + 1
                                                                   : name);
        titles[count++] = texts[i];
        if (i > 0) {
            titles[count++] = "slowdown";
            titles[count++] = "floor";
        }
    }
    table_begin(&table, stdout, TABLE_ALIGNED, titles, count, NAME_WIDTH);
    for (i = 0; i < campaign->contenders_count; i++)
        if (launch_has(&campaign->contenders[i].launch,
                       options->cases[which].coll))
            levels_row(&table, campaign, i, which);
    depth_explain(campaign, which);
}

/* ---- delays of ranks ---- */

/* How much later each rank finishes, all implementations side by side. */
static void delays_table(const struct campaign *campaign, size_t which)
{
    const struct noise_options *options = campaign->options;
    char texts[CAMPAIGN_CONTENDERS_MAX][TITLE_BYTES];
    const char *titles[1 + 2 * CAMPAIGN_CONTENDERS_MAX] = {"rank"};
    struct table table;
    unsigned count = 1;
    unsigned rank;
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++) {
        snprintf(texts[i], TITLE_BYTES, "%s",
                 campaign->contenders[i].launch.name);
        titles[count++] = texts[i];
        titles[count++] = "delay";
    }
    printf("rank %u held up for %g ms: when each rank finishes without it, and "
           "how much later\nwith it, in microseconds\n\n",
           options->delay_rank, options->delay_ms);
    table_begin(&table, stdout, TABLE_ALIGNED, titles, count, RANK_WIDTH);
    for (rank = 0; rank < options->ranks; rank++) {
        table_count(&table, rank);
        for (i = 0; i < campaign->contenders_count; i++) {
            const struct campaign_rank *numbers =
                campaign_rank(campaign, i, which, rank);
            double plain_us = campaign_median(&numbers->plain_us);
            double delayed_us = campaign_median(&numbers->delayed_us);

            if (campaign->contenders[i].delay_failed[which] ||
                numbers->plain_us.count == 0) {
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
    const struct noise_options *options = campaign->options;
    size_t i;

    if (options->levels.count > 0)
        levels_explain(options);
    for (i = 0; i < options->cases_count; i++) {
        heading(campaign, i);
        if (options->levels.count > 0)
            levels_table(campaign, i);
        if (options->levels.count > 0 && options->has_delay)
            putchar('\n');
        if (options->has_delay)
            delays_table(campaign, i);
    }
}

/* ---- the file ---- */

/* One row up to the rank; `round` 0 stands for the median over the rounds. */
static void csv_begin(struct table *table, const struct campaign *campaign,
                      const char *experiment, size_t contender, size_t which,
                      unsigned round)
{
    const struct noise_case *it = &campaign->options->cases[which];

    table_text(table, experiment);
    table_text(table, campaign->contenders[contender].launch.name);
    table_text(table, xyl_coll_traits(it->coll)->name);
    table_count(table, it->bytes);
    table_count(table, campaign->options->ranks);
    if (round == 0)
        table_text(table, "median");
    else
        table_count(table, round);
}

static double series_at(const struct campaign_series *series, unsigned round)
{
    return round == 0 ? campaign_median(series) : series->values[round - 1];
}

static void empty_cells(struct table *table, unsigned count)
{
    while (count-- > 0)
        table_text(table, "");
}

/* Of single calls, where those were kept in every round. */
static void csv_call_times(struct table *table,
                           const struct campaign_cell *cell, unsigned round)
{
    if (cell->p50_us.count < cell->us.count) {
        empty_cells(table, 3);
        return;
    }
    table_real(table, series_at(&cell->p50_us, round), 3);
    table_real(table, series_at(&cell->p99_us, round), 3);
    table_real(table, series_at(&cell->most_us, round), 3);
}

static void csv_level(struct table *table, const struct campaign *campaign,
                      size_t contender, size_t which, size_t level,
                      unsigned round)
{
    const struct campaign_cell *cell =
        campaign_cell(campaign, contender, which, level);
    double base_us =
        campaign_median(&campaign_cell(campaign, contender, which, 0)->us);
    struct stats_range interval;

    csv_begin(table, campaign, "noise", contender, which, round);
    table_text(table, campaign->options->levels.list[level].name);
    table_text(table, "all");
    table_real(table, series_at(&cell->us, round), 3);
    table_text(table, "");
    table_real(table, series_at(&cell->injected, round), 3);
    if (round != 0) {
        empty_cells(table, 3);
    } else {
        interval = stats_interval(cell->us.values, cell->us.count);
        table_real(table, interval.min, 3);
        table_real(table, interval.max, 3);
        table_real(table, campaign_floor(campaign, which, level, base_us, 0),
                   3);
    }
    csv_call_times(table, cell, round);
    table_real(table, cell->room_bytes, 0);
}

static void csv_levels(struct table *table, const struct campaign *campaign,
                       size_t contender, size_t which, int is_last)
{
    size_t i;
    unsigned round;

    for (i = 0; i < campaign->options->levels.count; i++) {
        unsigned count = campaign_cell(campaign, contender, which, i)->us.count;

        for (round = is_last ? 0 : 1; count > 0 && round <= count; round++)
            csv_level(table, campaign, contender, which, i, round);
    }
}

static void csv_delays(struct table *table, const struct campaign *campaign,
                       size_t contender, size_t which, int is_last)
{
    char noise[LEVEL_NAME_BYTES];
    unsigned rank, round;

    snprintf(noise, sizeof noise, "once:%gms,rank=%u",
             campaign->options->delay_ms, campaign->options->delay_rank);
    for (rank = 0; rank < campaign->options->ranks; rank++) {
        const struct campaign_rank *numbers =
            campaign_rank(campaign, contender, which, rank);
        unsigned count = numbers->plain_us.count;

        for (round = is_last ? 0 : 1; count > 0 && round <= count; round++) {
            csv_begin(table, campaign, "one-rank", contender, which, round);
            table_text(table, noise);
            table_count(table, rank);
            table_real(table, series_at(&numbers->plain_us, round), 3);
            table_real(table, series_at(&numbers->delayed_us, round), 3);
            empty_cells(table, CSV_COLUMNS - CSV_INJECTED);
        }
    }
}

int report_csv(const struct campaign *campaign, const char *path, int is_last)
{
    const struct noise_options *options = campaign->options;
    char other[PATH_BYTES];
    struct table table;
    size_t i, which;

    /* Whoever is killed meanwhile finds the file as it was. */
    snprintf(other, sizeof other, "%s.new", path);
    if (!table_file_open(&table, campaign->program, other, columns,
                         CSV_COLUMNS))
        return 0;
    for (which = 0; which < options->cases_count; which++) {
        for (i = 0; i < campaign->contenders_count; i++) {
            csv_levels(&table, campaign, i, which, is_last);
            if (options->has_delay)
                csv_delays(&table, campaign, i, which, is_last);
        }
    }
    if (!table_file_close(&table, campaign->program, other))
        return 0;
    if (rename(other, path) == 0)
        return 1;
    fprintf(stderr, "%s: cannot write %s: %s\n", campaign->program, path,
            strerror(errno));
    return 0;
}

/* ---- going on with a file ---- */

static size_t contender_of(const struct campaign *campaign, const char *name)
{
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++)
        if (strcmp(campaign->contenders[i].launch.name, name) == 0)
            break;
    return i;
}

static size_t case_of(const struct noise_options *options, const char *coll,
                      const char *bytes)
{
    size_t i;

    for (i = 0; i < options->cases_count; i++)
        if (strcmp(xyl_coll_traits(options->cases[i].coll)->name, coll) == 0 &&
            options->cases[i].bytes == strtoull(bytes, NULL, 10))
            break;
    return i;
}

static size_t level_of(const struct noise_options *options, const char *name)
{
    size_t i;

    for (i = 0; i < options->levels.count; i++)
        if (strcmp(options->levels.list[i].name, name) == 0)
            break;
    return i;
}

/* Takes a row; what this campaign does not measure is passed over. 0: it is of
 * another number of ranks. */
static int row_take(struct campaign *campaign, char *const *cells)
{
    const struct noise_options *options = campaign->options;
    size_t contender = contender_of(campaign, cells[CSV_IMPL]);
    size_t which = case_of(options, cells[CSV_COLL], cells[CSV_BYTES]);
    size_t level = level_of(options, cells[CSV_NOISE]);
    unsigned rank = (unsigned)strtoul(cells[CSV_RANK], NULL, 10);

    if (strtoul(cells[CSV_RANKS], NULL, 10) != options->ranks)
        return 0;
    if (contender == campaign->contenders_count ||
        which == options->cases_count ||
        strcmp(cells[CSV_ROUND], "median") == 0)
        return 1;
    if (strcmp(cells[CSV_EXPERIMENT], "noise") == 0) {
        struct campaign_cell *cell;

        if (level == options->levels.count)
            return 1;
        cell = campaign_cell(campaign, contender, which, level);
        campaign_add(&cell->us, strtod(cells[CSV_TIME_US], NULL));
        campaign_add(&cell->injected, strtod(cells[CSV_INJECTED], NULL));
        cell->room_bytes = strtod(cells[CSV_ROOM_BYTES], NULL);
        if (*cells[CSV_P50_US] != '\0') {
            campaign_add(&cell->p50_us, strtod(cells[CSV_P50_US], NULL));
            campaign_add(&cell->p99_us, strtod(cells[CSV_P99_US], NULL));
            campaign_add(&cell->most_us, strtod(cells[CSV_MAX_US], NULL));
        }
    } else if (options->has_delay && rank < options->ranks) {
        struct campaign_rank *numbers =
            campaign_rank(campaign, contender, which, rank);

        campaign_add(&numbers->plain_us, strtod(cells[CSV_TIME_US], NULL));
        campaign_add(&numbers->delayed_us, strtod(cells[CSV_DELAYED_US], NULL));
    }
    return 1;
}

int report_resume(struct campaign *campaign, const char *path)
{
    FILE *in = fopen(path, "r");
    char line[LINE_BYTES], *cells[CSV_COLUMNS];
    int ok = 1, is_first = 1;

    if (in == NULL)
        return 1; /* nothing has been measured yet */
    while (ok && fgets(line, sizeof line, in) != NULL) {
        ok = table_row_split(line, cells, CSV_COLUMNS) == CSV_COLUMNS &&
             (!is_first ||
              strcmp(cells[CSV_ROOM_BYTES], columns[CSV_ROOM_BYTES]) == 0) &&
             (is_first || row_take(campaign, cells));
        is_first = 0;
    }
    fclose(in);
    if (!ok)
        fprintf(stderr, "%s: %s is not of a campaign with these ranks\n",
                campaign->program, path);
    return ok;
}
