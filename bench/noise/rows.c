/* The rows of a campaign. One thread. */
#include "bench/noise/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/results.h"
#include "bench/measure/stats.h"
#include "bench/measure/worker_options.h"
#include "bench/noise/columns.h"

enum { PARAMETER_BYTES = RESULTS_SETTINGS_BYTES };

struct rows {
    struct results results;
    /* In the order of the columns. */
    char parameters[CSV_PARAMETERS][PARAMETER_BYTES];
};

/* ---- parameters ---- */

static char *parameter(struct rows *rows, enum csv_column column)
{
    return rows->parameters[column - CSV_PARAMETER_FIRST];
}

/* The name at `index` of "one|two|three". */
static void word_copy(const char *words, unsigned index, char *out)
{
    for (; index > 0; index--)
        words += strcspn(words, "|") + 1;
    snprintf(out, PARAMETER_BYTES, "%.*s", (int)strcspn(words, "|"), words);
}

static void number_print(char *out, unsigned long long value)
{
    snprintf(out, PARAMETER_BYTES, "%llu", value);
}

static void parameters_set(struct rows *rows,
                           const struct noise_options *options)
{
    const struct bench_tuning *tuning = &options->tuning;

    snprintf(parameter(rows, CSV_ALGORITHM), PARAMETER_BYTES, "%s",
             options->algorithm != NULL ? options->algorithm : "auto");
    number_print(parameter(rows, CSV_SEGMENT), tuning->segment_bytes);
    number_print(parameter(rows, CSV_SEND_WINDOW), tuning->send_window);
    number_print(parameter(rows, CSV_RECV_WINDOW), tuning->recv_window);
    number_print(parameter(rows, CSV_ROOT), options->root);
    word_copy(WORKER_MODES, options->mode, parameter(rows, CSV_MODE));
    number_print(parameter(rows, CSV_UNDER_WAY),
                 options->under_way > 0 ? options->under_way : 1);
    word_copy("rotated|one", options->osu, parameter(rows, CSV_BUFFERS));
    word_copy("no|yes", options->consume, parameter(rows, CSV_CONSUME));
    word_copy("no|yes", options->check, parameter(rows, CSV_CHECK));
    word_copy(NOISE_WAYS, options->noise_way, parameter(rows, CSV_BY));
    number_print(parameter(rows, CSV_SEED), options->seed);
    number_print(parameter(rows, CSV_ITERATIONS), options->iterations);
    snprintf(parameter(rows, CSV_SECONDS), PARAMETER_BYTES, "%g",
             options->seconds);
    number_print(parameter(rows, CSV_WARMUP), options->warmup);
    snprintf(parameter(rows, CSV_LAUNCHER), PARAMETER_BYTES, "%s",
             options->launcher != NULL ? options->launcher : "");
    results_settings(parameter(rows, CSV_SETTINGS));
}

/* ---- what the file has ---- */

static size_t contender_of(const struct campaign *campaign, const char *name)
{
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++)
        if (strcmp(campaign->contenders[i].launch.name, name) == 0)
            break;
    return i;
}

/* The noise of the experiment with one rank. */
static void delay_name(const struct noise_options *options,
                       char name[LEVEL_NAME_BYTES])
{
    snprintf(name, LEVEL_NAME_BYTES, "once:%gms,rank=%u", options->delay_ms,
             options->delay_rank);
}

static void level_take(struct campaign_cell *cell, char *const *cells)
{
    campaign_add(&cell->us, strtod(cells[CSV_TIME_US], NULL));
    campaign_add(&cell->injected, strtod(cells[CSV_INJECTED], NULL));
    cell->room_bytes = strtod(cells[CSV_ROOM_BYTES], NULL);
    cell->written = cell->us.count;
    if (*cells[CSV_P50_US] == '\0')
        return;
    campaign_add(&cell->p50_us, strtod(cells[CSV_P50_US], NULL));
    campaign_add(&cell->p99_us, strtod(cells[CSV_P99_US], NULL));
    campaign_add(&cell->most_us, strtod(cells[CSV_MAX_US], NULL));
}

static void rank_take(struct campaign_rank *numbers, char *const *cells)
{
    campaign_add(&numbers->plain_us, strtod(cells[CSV_TIME_US], NULL));
    campaign_add(&numbers->delayed_us, strtod(cells[CSV_DELAYED_US], NULL));
    numbers->written = numbers->plain_us.count;
}

struct taker {
    struct rows *rows;
    struct campaign *campaign;
};

static int has_parameters(const struct rows *rows, char *const *cells)
{
    size_t i;

    for (i = 0; i < CSV_PARAMETERS; i++)
        if (strcmp(rows->parameters[i], cells[CSV_PARAMETER_FIRST + i]) != 0)
            return 0;
    return 1;
}

/* Takes a row of the file; passes over cases that this campaign does not
 * measure. */
static void row_take(void *arg, char *const *cells)
{
    const struct taker *taker = arg;
    struct campaign *campaign = taker->campaign;
    const struct noise_options *options = campaign->options;
    size_t contender = contender_of(campaign, cells[CSV_IMPL]);
    size_t which = noise_case_find(options, cells[CSV_COLL],
                                   strtoull(cells[CSV_BYTES], NULL, 10));
    size_t level = noise_level_find(options, cells[CSV_NOISE]);
    unsigned rank = (unsigned)strtoul(cells[CSV_RANK], NULL, 10);
    char delay[LEVEL_NAME_BYTES];

    if (strtoul(cells[CSV_RANKS], NULL, 10) != options->ranks ||
        contender == campaign->contenders_count ||
        which == options->cases_count ||
        strcmp(cells[CSV_ROUND], "median") == 0 ||
        !has_parameters(taker->rows, cells))
        return;
    delay_name(options, delay);
    if (strcmp(cells[CSV_EXPERIMENT], "noise") == 0) {
        if (level < options->levels.count)
            level_take(campaign_cell(campaign, contender, which, level), cells);
    } else if (options->has_delay && rank < options->ranks &&
               strcmp(cells[CSV_NOISE], delay) == 0) {
        rank_take(campaign_rank(campaign, contender, which, rank), cells);
    }
}

struct rows *rows_begin(struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    struct rows *rows = calloc(1, sizeof *rows);
    struct taker taker = {rows, campaign};

    if (rows == NULL) {
        fprintf(stderr, "%s: out of memory\n", campaign->program);
        return NULL;
    }
    parameters_set(rows, options);
    if (!results_open(&rows->results, campaign->program, options->csv,
                      csv_titles, CSV_COLUMNS,
                      options->resume ? RESULTS_ADD : RESULTS_NEW)) {
        free(rows);
        return NULL;
    }
    results_each(&rows->results, row_take, &taker);
    return rows;
}

/* ---- what is added ---- */

/* A row up to the rank; `round` 0 stands for the median over the rounds. */
static void row_begin(struct rows *rows, const struct campaign *campaign,
                      const char *experiment, size_t contender, size_t which,
                      unsigned round)
{
    const struct noise_case *it = &campaign->options->cases[which];
    struct table *table = &rows->results.table;

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

static void empty_cells(struct table *table, unsigned count)
{
    while (count-- > 0)
        table_text(table, "");
}

/* From the number of rounds on; `count`: of a median. */
static void row_end(struct rows *rows, unsigned round, unsigned count)
{
    struct table *table = &rows->results.table;
    size_t i;

    if (round == 0)
        table_count(table, count);
    else
        table_text(table, "");
    for (i = 0; i < CSV_PARAMETERS; i++)
        table_text(table, rows->parameters[i]);
}

static double series_at(const struct campaign_series *series, unsigned round)
{
    return round == 0 ? campaign_median(series) : series->values[round - 1];
}

/* The times of single calls, if these were kept in every round. */
static void call_times(struct table *table, const struct campaign_cell *cell,
                       unsigned round)
{
    if (cell->p50_us.count < cell->us.count) {
        empty_cells(table, 3);
        return;
    }
    table_real(table, series_at(&cell->p50_us, round), 3);
    table_real(table, series_at(&cell->p99_us, round), 3);
    table_real(table, series_at(&cell->most_us, round), 3);
}

static void level_row(struct rows *rows, const struct campaign *campaign,
                      size_t contender, size_t which, size_t level,
                      unsigned round)
{
    struct table *table = &rows->results.table;
    const struct campaign_cell *cell =
        campaign_cell(campaign, contender, which, level);
    double base_us =
        campaign_median(&campaign_cell(campaign, contender, which, 0)->us);
    struct stats_range interval;

    row_begin(rows, campaign, "noise", contender, which, round);
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
    call_times(table, cell, round);
    table_real(table, cell->room_bytes, 0);
    row_end(rows, round, cell->us.count);
}

static void rank_row(struct rows *rows, const struct campaign *campaign,
                     size_t contender, size_t which, unsigned rank,
                     unsigned round)
{
    struct table *table = &rows->results.table;
    const struct campaign_rank *numbers =
        campaign_rank(campaign, contender, which, rank);
    char noise[LEVEL_NAME_BYTES];

    delay_name(campaign->options, noise);
    row_begin(rows, campaign, "one-rank", contender, which, round);
    table_text(table, noise);
    table_count(table, rank);
    table_real(table, series_at(&numbers->plain_us, round), 3);
    table_real(table, series_at(&numbers->delayed_us, round), 3);
    empty_cells(table, CSV_ROUNDS - CSV_INJECTED);
    row_end(rows, round, numbers->plain_us.count);
}

static void levels_add(struct rows *rows, struct campaign *campaign,
                       size_t contender, size_t which)
{
    size_t i;

    for (i = 0; i < campaign->options->levels.count; i++) {
        struct campaign_cell *cell =
            campaign_cell(campaign, contender, which, i);

        while (cell->written < cell->us.count)
            level_row(rows, campaign, contender, which, i, ++cell->written);
    }
}

static void ranks_add(struct rows *rows, struct campaign *campaign,
                      size_t contender, size_t which)
{
    unsigned rank;

    for (rank = 0; rank < campaign->options->ranks; rank++) {
        struct campaign_rank *numbers =
            campaign_rank(campaign, contender, which, rank);

        while (numbers->written < numbers->plain_us.count)
            rank_row(rows, campaign, contender, which, rank,
                     ++numbers->written);
    }
}

int rows_add(struct rows *rows, struct campaign *campaign)
{
    size_t i, which;

    for (which = 0; which < campaign->options->cases_count; which++)
        for (i = 0; i < campaign->contenders_count; i++) {
            levels_add(rows, campaign, i, which);
            if (campaign->options->has_delay)
                ranks_add(rows, campaign, i, which);
        }
    return results_commit(&rows->results, 0);
}

static void medians_add(struct rows *rows, const struct campaign *campaign,
                        size_t contender, size_t which)
{
    const struct noise_options *options = campaign->options;
    unsigned rank;
    size_t i;

    for (i = 0; i < options->levels.count; i++)
        if (campaign_cell(campaign, contender, which, i)->us.count > 0)
            level_row(rows, campaign, contender, which, i, 0);
    for (rank = 0; options->has_delay && rank < options->ranks; rank++)
        if (campaign_rank(campaign, contender, which, rank)->plain_us.count > 0)
            rank_row(rows, campaign, contender, which, rank, 0);
}

int rows_add_medians(struct rows *rows, const struct campaign *campaign)
{
    size_t i, which;

    for (which = 0; which < campaign->options->cases_count; which++)
        for (i = 0; i < campaign->contenders_count; i++)
            medians_add(rows, campaign, i, which);
    return results_commit(&rows->results, 1);
}

void rows_end(struct rows *rows)
{
    if (rows == NULL)
        return;
    (void)results_close(&rows->results);
    free(rows);
}
