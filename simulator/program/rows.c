/* The rows of a campaign. Numbers have six digits behind the point, to which
 * the campaign has rounded them, so they are read as they were written. One
 * thread.
 */
#include "simulator/program/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/results.h"

enum { DIGITS = 6, PARAMETER_BYTES = RESULTS_SETTINGS_BYTES };

enum column {
    MACHINE,
    NODES,
    PPN,
    COLL,
    BYTES,
    IMPL,
    ALGORITHM,
    NOISE,
    SEEDS,
    RANK,
    CALLS,
    MIN_US,
    AVG_US,
    MAX_US,
    SLOWDOWN,
    NOISE_US,
    AMPLIFICATION,
    TRAFFIC, /* messages and bytes of each level */
    UNEXPECTED = TRAFFIC + 2 * SIM_LEVEL_COUNT,
    EVENTS,
    FINGERPRINT,
    FLOOR_US,
    ENDED,
    TOLD,
    TOLD_US,
    SEED, /* the first seed; from here on columns are parameters */
    SHARED_MEMORY,
    SEGMENT,
    SEND_WINDOW,
    RECV_WINDOW,
    ROOT,
    ARRIVAL,
    ITERATIONS,
    WARMUP,
    PAYLOAD,
    JITTER,
    KILL,
    SETTINGS,
    COLUMNS
};

static const char *const titles[] = {"machine",
                                     "nodes",
                                     "ppn",
                                     "coll",
                                     "bytes",
                                     "impl",
                                     "algorithm",
                                     "noise",
                                     "seeds",
                                     "rank",
                                     "calls",
                                     "min_us",
                                     "avg_us",
                                     "max_us",
                                     "slowdown_percent",
                                     "noise_us",
                                     "amplification",
                                     "group_messages",
                                     "group_bytes",
                                     "numa_messages",
                                     "numa_bytes",
                                     "socket_messages",
                                     "socket_bytes",
                                     "node_messages",
                                     "node_bytes",
                                     "switch_messages",
                                     "switch_bytes",
                                     "system_messages",
                                     "system_bytes",
                                     "unexpected",
                                     "events",
                                     "fingerprint",
                                     "floor_us",
                                     "ended",
                                     "told",
                                     "told_us",
                                     "seed",
                                     "shared_memory",
                                     "segment",
                                     "send_window",
                                     "recv_window",
                                     "root",
                                     "arrival",
                                     "iterations",
                                     "warmup",
                                     "payload",
                                     "jitter",
                                     "kill",
                                     "settings"};
_Static_assert(sizeof titles / sizeof titles[0] == COLUMNS, "titles, columns");
_Static_assert((int)COLUMNS <= (int)TABLE_COLUMNS_MAX, "the room of a table");

/* A run that the file had. */
struct known {
    struct sim_numbers numbers;
    int has_all;
    unsigned ranks;  /* that have a row */
    double *rank_us; /* [ranks]; with --per-rank */
};

struct sim_rows {
    const struct sim_campaign *campaign;
    struct results results;
    struct known *known; /* [contender][level][seed] */
    size_t known_count;
    /* The parameters as the file has them, without those that differ from row
     * to row. */
    char parameters[COLUMNS][PARAMETER_BYTES];
};

/* ---- parameters ---- */

static void number_print(char *out, unsigned long long value)
{
    snprintf(out, PARAMETER_BYTES, "%llu", value);
}

static void text_print(char *out, const char *text)
{
    snprintf(out, PARAMETER_BYTES, "%s", text != NULL ? text : "");
}

static int is_parameter(enum column column)
{
    switch ((int)column) {
    case MACHINE:
    case NODES:
    case PPN:
    case COLL:
    case BYTES:
    case ALGORITHM:
        return 1;
    default:
        return column > SEED;
    }
}

static void parameters_set(struct sim_rows *rows)
{
    static const char *const payloads[] = {"none", "moved", "watched"};
    const struct simulation *simulation = rows->campaign->simulation;
    const struct bench_tuning *tuning = &simulation->tuning;

    text_print(rows->parameters[MACHINE], simulation->machine.name);
    number_print(rows->parameters[NODES], simulation->nodes);
    number_print(rows->parameters[PPN], simulation->ranks_per_node);
    text_print(rows->parameters[COLL], simulation->coll_name);
    number_print(rows->parameters[BYTES], simulation->bytes);
    text_print(rows->parameters[ALGORITHM],
               simulation->algorithm != NULL ? simulation->algorithm : "auto");
    text_print(rows->parameters[SHARED_MEMORY],
               simulation->shares_memory ? "yes" : "no");
    number_print(rows->parameters[SEGMENT], tuning->segment_bytes);
    number_print(rows->parameters[SEND_WINDOW], tuning->send_window);
    number_print(rows->parameters[RECV_WINDOW], tuning->recv_window);
    number_print(rows->parameters[ROOT], simulation->root);
    text_print(rows->parameters[ARRIVAL], simulation->arrival);
    if (simulation->iterations == SIM_AUTO)
        text_print(rows->parameters[ITERATIONS], "auto");
    else
        number_print(rows->parameters[ITERATIONS], simulation->iterations);
    number_print(rows->parameters[WARMUP], simulation->warmup);
    text_print(rows->parameters[PAYLOAD], payloads[simulation->payload_word]);
    text_print(rows->parameters[JITTER], simulation->jitter_text);
    text_print(rows->parameters[KILL], simulation->kill);
    results_settings(rows->parameters[SETTINGS]);
}

/* ---- what the file has ---- */

static struct known *known_at(const struct sim_rows *rows, size_t contender,
                              size_t level, unsigned seed)
{
    const struct sim_campaign *campaign = rows->campaign;

    return &rows->known[(contender * campaign->levels + level) *
                            campaign->simulation->seeds +
                        seed];
}

static int has_parameters(const struct sim_rows *rows, char *const *cells)
{
    int i;

    for (i = 0; i < COLUMNS; i++)
        if (is_parameter((enum column)i) &&
            strcmp(rows->parameters[i], cells[i]) != 0)
            return 0;
    return 1;
}

/* The run of a row. NULL: it is none of this campaign's. */
static struct known *known_of(const struct sim_rows *rows, char *const *cells)
{
    const struct sim_campaign *campaign = rows->campaign;
    const struct simulation *simulation = campaign->simulation;
    uint64_t seed = strtoull(cells[SEED], NULL, 10);
    size_t contender = 0, level = 0;

    if (!has_parameters(rows, cells) || strcmp(cells[SEEDS], "1") != 0 ||
        seed < simulation->seed || seed - simulation->seed >= simulation->seeds)
        return NULL;
    while (contender < simulation->contenders_count &&
           strcmp(simulation->contenders[contender].name, cells[IMPL]) != 0)
        contender++;
    while (level < campaign->levels &&
           strcmp(sim_campaign_noise(campaign, level), cells[NOISE]) != 0)
        level++;
    if (contender == simulation->contenders_count || level == campaign->levels)
        return NULL;
    return known_at(rows, contender, level,
                    (unsigned)(seed - simulation->seed));
}

static double real_at(char *const *cells, int column)
{
    return strtod(cells[column], NULL);
}

static void numbers_take(struct sim_numbers *numbers, char *const *cells)
{
    int i;

    *numbers = (struct sim_numbers){
        .iterations = (unsigned)strtoul(cells[CALLS], NULL, 10),
        .us = {.min = real_at(cells, MIN_US),
               .avg = real_at(cells, AVG_US),
               .max = real_at(cells, MAX_US)},
        .noise_us = real_at(cells, NOISE_US),
        .unexpected = real_at(cells, UNEXPECTED),
        .events = real_at(cells, EVENTS),
        .fingerprint = strtoull(cells[FINGERPRINT], NULL, 16),
        .ended = (unsigned)strtoul(cells[ENDED], NULL, 10),
        .failed = (unsigned)strtoul(cells[TOLD], NULL, 10),
        .failed_us = real_at(cells, TOLD_US)};
    for (i = 0; i < SIM_LEVEL_COUNT; i++) {
        numbers->messages[i] = real_at(cells, TRAFFIC + 2 * i);
        numbers->bytes[i] = real_at(cells, TRAFFIC + 2 * i + 1);
    }
}

static void row_take(void *arg, char *const *cells)
{
    const struct sim_rows *rows = arg;
    struct known *known = known_of(rows, cells);
    unsigned ranks = rows->campaign->simulation->ranks, rank;

    if (known == NULL)
        return;
    if (strcmp(cells[RANK], "all") == 0) {
        numbers_take(&known->numbers, cells);
        known->has_all = 1;
        return;
    }
    rank = (unsigned)strtoul(cells[RANK], NULL, 10);
    if (known->rank_us == NULL)
        known->rank_us = calloc(ranks, sizeof *known->rank_us);
    if (known->rank_us == NULL || rank >= ranks)
        return;
    known->rank_us[rank] = real_at(cells, AVG_US);
    known->ranks++;
}

struct sim_rows *sim_rows_begin(const struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    struct sim_rows *rows = calloc(1, sizeof *rows);

    if (rows != NULL) {
        rows->campaign = campaign;
        rows->known_count =
            campaign->levels * simulation->contenders_count * simulation->seeds;
        rows->known = calloc(rows->known_count, sizeof *rows->known);
    }
    if (rows == NULL || rows->known == NULL) {
        fprintf(stderr, "%s: out of memory\n", simulation->program);
        free(rows);
        return NULL;
    }
    parameters_set(rows);
    if (!results_open(&rows->results, simulation->program, simulation->csv,
                      titles, COLUMNS,
                      simulation->resume ? RESULTS_ADD : RESULTS_NEW)) {
        free(rows->known);
        free(rows);
        return NULL;
    }
    results_each(&rows->results, row_take, rows);
    return rows;
}

const struct sim_numbers *sim_rows_find(const struct sim_rows *rows,
                                        size_t contender, size_t level,
                                        unsigned seed, double *rank_us)
{
    const struct simulation *simulation = rows->campaign->simulation;
    const struct known *known = known_at(rows, contender, level, seed);

    if (!known->has_all ||
        (simulation->per_rank && known->ranks < simulation->ranks))
        return NULL;
    if (known->rank_us != NULL)
        memcpy(rank_us, known->rank_us, simulation->ranks * sizeof *rank_us);
    return &known->numbers;
}

/* ---- what is added ---- */

/* A row is of some runs, from a seed on. */
struct row {
    const char *impl, *noise;
    unsigned seeds, seed;
    const struct sim_numbers *numbers;
    double slowdown, amplification, floor_us;
};

static void row_begin(struct sim_rows *rows, const struct row *row,
                      const char *rank)
{
    struct table *table = &rows->results.table;
    int i;

    for (i = MACHINE; i <= BYTES; i++)
        table_text(table, rows->parameters[i]);
    table_text(table, row->impl);
    table_text(table, rows->parameters[ALGORITHM]);
    table_text(table, row->noise);
    table_count(table, row->seeds);
    table_text(table, rank);
    table_count(table, row->numbers->iterations);
}

static void row_end(struct sim_rows *rows, const struct row *row)
{
    int i;

    table_count(&rows->results.table, row->seed);
    for (i = SEED + 1; i < COLUMNS; i++)
        table_text(&rows->results.table, rows->parameters[i]);
}

static void row_of_all(struct sim_rows *rows, const struct row *row)
{
    const struct sim_numbers *numbers = row->numbers;
    struct table *table = &rows->results.table;
    char text[32];
    int i;

    row_begin(rows, row, "all");
    table_real(table, numbers->us.min, DIGITS);
    table_real(table, numbers->us.avg, DIGITS);
    table_real(table, numbers->us.max, DIGITS);
    table_real(table, row->slowdown, 3);
    table_real(table, numbers->noise_us, DIGITS);
    table_real(table, row->amplification, 4);
    for (i = 0; i < SIM_LEVEL_COUNT; i++) {
        table_real(table, numbers->messages[i], DIGITS);
        table_real(table, numbers->bytes[i], DIGITS);
    }
    table_real(table, numbers->unexpected, DIGITS);
    table_real(table, numbers->events, DIGITS);
    snprintf(text, sizeof text, "%016" PRIx64, numbers->fingerprint);
    table_text(table, text);
    table_real(table, row->floor_us, 3);
    table_count(table, numbers->ended);
    table_count(table, numbers->failed);
    table_real(table, numbers->failed_us, DIGITS);
    row_end(rows, row);
}

static void row_of_rank(struct sim_rows *rows, const struct row *row,
                        unsigned rank, double us)
{
    struct table *table = &rows->results.table;
    char text[32];
    int i;

    snprintf(text, sizeof text, "%u", rank);
    row_begin(rows, row, text);
    table_text(table, "");
    table_real(table, us, DIGITS);
    for (i = MAX_US; i < SEED; i++)
        table_text(table, "");
    row_end(rows, row);
}

static int rows_add(struct sim_rows *rows, const struct row *row,
                    const double *rank_us)
{
    const struct simulation *simulation = rows->campaign->simulation;
    unsigned rank;

    row_of_all(rows, row);
    for (rank = 0; simulation->per_rank && rank < simulation->ranks; rank++)
        row_of_rank(rows, row, rank, rank_us[rank]);
    return results_commit(&rows->results, 1);
}

static struct row row_of(const struct sim_campaign *campaign, size_t contender,
                         size_t level, const struct sim_numbers *numbers)
{
    double quiet_us = sim_campaign_cell(campaign, contender, 0)->mean.us.avg;
    struct row row = {
        .impl = campaign->simulation->contenders[contender].name,
        .noise = sim_campaign_noise(campaign, level),
        .numbers = numbers,
        .floor_us = sim_campaign_cell(campaign, contender, level)->floor_us};

    if (quiet_us > 0)
        row.slowdown = 100 * (numbers->us.avg / quiet_us - 1);
    if (numbers->noise_us > 0)
        row.amplification = (numbers->us.avg - quiet_us) / numbers->noise_us;
    return row;
}

int sim_rows_add(struct sim_rows *rows, const struct sim_campaign *campaign,
                 size_t contender, size_t level, unsigned seed,
                 const struct sim_numbers *numbers, const double *rank_us)
{
    struct row row = row_of(campaign, contender, level, numbers);

    row.seeds = 1;
    row.seed = campaign->simulation->seed + seed;
    return rows_add(rows, &row, rank_us);
}

int sim_rows_add_mean(struct sim_rows *rows,
                      const struct sim_campaign *campaign, size_t contender,
                      size_t level)
{
    const struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);
    struct row row = row_of(campaign, contender, level, &cell->mean);

    row.seeds = cell->runs;
    row.seed = campaign->simulation->seed;
    return rows_add(rows, &row, cell->rank_us);
}

int sim_rows_end(struct sim_rows *rows)
{
    int ok;
    size_t i;

    if (rows == NULL)
        return 1;
    ok = results_close(&rows->results);
    for (i = 0; i < rows->known_count; i++)
        free(rows->known[i].rank_us);
    free(rows->known);
    free(rows);
    return ok;
}
