/* Tables of a campaign on simulated machines. Lines that depend on the computer
 * come last, and can be left out. One thread. */
#include "simulator/program/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/impl_name.h"
#include "bench/common/table.h"
#include "bench/common/text.h"
#include "bench/measure/coll.h"

enum { LABEL_BYTES = 2 * SIM_NAME_BYTES + 16, LABEL_WIDTH = 24 };
enum { RANK_WIDTH = 6, CELL_BYTES = 2 * SIM_NAME_BYTES };

static const double mib = 1048576;

/* "gather of 64 bytes per block, root 0" */
static void call_print(const struct simulation *simulation)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(simulation->coll);

    fputs(simulation->coll_name, stdout);
    if (simulation->coll != XYLEM_COLL_BARRIER)
        printf(" of %zu byte%s", simulation->bytes,
               text_plural(simulation->bytes));
    if (traits->send_blocks || traits->recv_blocks)
        fputs(" per block", stdout);
    if (traits->has_root)
        printf(", root %u", simulation->root);
}

void sim_report_heading(const struct simulation *simulation)
{
    const sim_machine_t *machine = &simulation->machine;
    const char *names[SIM_CONTENDERS_MAX];
    size_t i;

    printf("machine %s: %u node%s of %u rank%s (%u core%s), %u rank%s%s\n",
           machine->name, simulation->nodes, text_plural(simulation->nodes),
           simulation->ranks_per_node, text_plural(simulation->ranks_per_node),
           sim_machine_cores(machine), text_plural(sim_machine_cores(machine)),
           simulation->ranks, text_plural(simulation->ranks),
           simulation->ranks_per_node == 1 ? ""
           : simulation->shares_memory     ? ", shared memory within nodes"
                                           : ", messages within nodes");
    call_print(simulation);
    printf(", algorithm %s, %u call%s for warm-up, seed %u",
           simulation->algorithm != NULL ? simulation->algorithm : "auto",
           simulation->warmup, text_plural(simulation->warmup),
           simulation->seed);
    if (simulation->seeds > 1)
        printf(" ... %u", simulation->seed + simulation->seeds - 1);
    putchar('\n');
    for (i = 0; i < simulation->contenders_count; i++)
        names[i] = simulation->contenders[i].name;
    impl_note(stdout, names, simulation->contenders_count);
    putchar('\n');
    fflush(stdout);
}

/* ---- rows: every contender under every noise ---- */

typedef void (*row_fn)(struct table *table, const struct sim_campaign *campaign,
                       size_t contender, size_t level);

static void label_write(const struct sim_campaign *campaign, size_t contender,
                        size_t level, char *text)
{
    const char *name = campaign->simulation->contenders[contender].name;

    if (campaign->levels == 1)
        snprintf(text, LABEL_BYTES, "%s", name);
    else
        snprintf(text, LABEL_BYTES, "%s, %s", name,
                 level == 0 ? "quiet" : sim_campaign_noise(campaign, level));
}

static int label_width(const struct sim_campaign *campaign)
{
    int width = LABEL_WIDTH;
    char text[LABEL_BYTES];
    size_t i, level;

    for (i = 0; i < campaign->simulation->contenders_count; i++) {
        for (level = 0; level < campaign->levels; level++) {
            label_write(campaign, i, level, text);
            if ((int)strlen(text) > width)
                width = (int)strlen(text);
        }
    }
    return width;
}

static void rows_print(const struct sim_campaign *campaign,
                       const char *const *titles, unsigned columns, row_fn row)
{
    struct table table;
    char text[LABEL_BYTES];
    size_t i, level;

    table_begin(&table, stdout, TABLE_ALIGNED, titles, columns,
                label_width(campaign));
    for (i = 0; i < campaign->simulation->contenders_count; i++) {
        for (level = 0; level < campaign->levels; level++) {
            label_write(campaign, i, level, text);
            table_text(&table, text);
            row(&table, campaign, i, level);
        }
    }
}

/* ---- times ---- */

static void time_row(struct table *table, const struct sim_campaign *campaign,
                     size_t contender, size_t level)
{
    const struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);

    table_count(table, cell->mean.iterations);
    table_real(table, cell->mean.us.min, 2);
    table_real(table, cell->mean.us.avg, 2);
    table_real(table, cell->mean.us.max, 2);
    if (campaign->levels == 1)
        return;
    if (level == 0) {
        table_text(table, "");
        table_text(table, "");
        table_text(table, "");
        table_text(table, "");
        return;
    }
    table_signed(table, sim_campaign_slowdown(campaign, contender, level), 1,
                 "%");
    table_real(table, cell->mean.noise_us, 2);
    if (cell->mean.noise_us > 0)
        table_real(table,
                   sim_campaign_amplification(campaign, contender, level), 2);
    else
        table_text(table, "-");
    if (cell->floor_us > 0)
        table_real(table, cell->floor_us, 2);
    else
        table_text(table, "-");
}

static void times_print(const struct sim_campaign *campaign)
{
    static const char *const titles[] = {
        "implementation", "calls", "min",       "avg",  "max",
        "slowdown",       "noise", "amplified", "floor"};

    puts("time per call over the ranks, and noise during it, in "
         "microseconds");
    rows_print(campaign, titles, campaign->levels == 1 ? 5 : 9, time_row);
}

/* If a rank dies, no call is timed. */
static void death_row(struct table *table, const struct sim_campaign *campaign,
                      size_t contender, size_t level)
{
    const struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);

    table_count(table, cell->mean.ended);
    table_count(table, cell->mean.failed);
    if (cell->mean.failed > 0)
        table_real(table, cell->mean.failed_us, 2);
    else
        table_text(table, "-");
}

static void deaths_print(const struct sim_campaign *campaign)
{
    static const char *const titles[] = {"implementation", "ranks ended",
                                         "ranks told", "the last at us"};

    printf("rank %" PRIu32 " dies %.3f us after the begin: ranks whose calls "
           "ended well, and ranks that\nwere told that a process has died\n",
           campaign->simulation->kill_rank,
           (double)campaign->simulation->kill_time / (double)SIM_US);
    rows_print(campaign, titles, 4, death_row);
}

static void ranks_print(const struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    char texts[TABLE_COLUMNS_MAX][LABEL_BYTES];
    const char *titles[TABLE_COLUMNS_MAX] = {"rank"};
    struct table table;
    unsigned columns = 1, rank;
    size_t i, level;

    for (i = 0; i < simulation->contenders_count; i++) {
        for (level = 0; level < campaign->levels && columns < TABLE_COLUMNS_MAX;
             level++) {
            label_write(campaign, i, level, texts[columns]);
            titles[columns] = texts[columns];
            columns++;
        }
    }
    puts("\ntime per call of each rank, in microseconds");
    table_begin(&table, stdout, TABLE_ALIGNED, titles, columns, RANK_WIDTH);
    for (rank = 0; rank < simulation->ranks; rank++) {
        unsigned column;

        table_count(&table, rank);
        for (column = 1; column < columns; column++)
            table_real(&table, campaign->cells[column - 1].rank_us[rank], 2);
    }
}

/* ---- traffic ---- */

static int is_used(const struct sim_campaign *campaign, unsigned level)
{
    size_t count = campaign->levels * campaign->simulation->contenders_count;
    size_t i;

    for (i = 0; i < count; i++) {
        if (campaign->cells[i].mean.messages[level] > 0)
            return 1;
    }
    return 0;
}

static void traffic_row(struct table *table,
                        const struct sim_campaign *campaign, size_t contender,
                        size_t level)
{
    const struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);
    char text[CELL_BYTES];
    unsigned i;

    for (i = 0; i < SIM_LEVEL_COUNT; i++) {
        if (!is_used(campaign, i))
            continue;
        snprintf(text, sizeof text, "%.0f (%.2f)", cell->mean.messages[i],
                 cell->mean.bytes[i] / mib);
        table_text(table, text);
    }
    table_real(table, cell->mean.unexpected, 0);
    table_real(table, cell->mean.events, 0);
    snprintf(text, sizeof text, "%016" PRIx64, cell->mean.fingerprint);
    table_text(table, text);
}

static void traffic_print(const struct sim_campaign *campaign)
{
    static const char blank[] = "                ";
    char texts[SIM_LEVEL_COUNT][LABEL_BYTES];
    const char *titles[TABLE_COLUMNS_MAX] = {"implementation"};
    unsigned columns = 1, i;

    for (i = 0; i < SIM_LEVEL_COUNT; i++) {
        const char *name = sim_level_name((sim_level_t)i);
        int pad = 16 - (int)strlen(name);

        if (!is_used(campaign, i))
            continue;
        snprintf(texts[i], LABEL_BYTES, "%.*s%s", pad, blank, name);
        titles[columns++] = texts[i];
    }
    titles[columns++] = "unexpected";
    titles[columns++] = "events";
    titles[columns++] = "     fingerprint";
    puts("\nper call of all ranks: messages and (MiB) by what the ranks share, "
         "messages that came\nbefore their receive, and steps of the "
         "simulation; the fingerprint is of the whole run");
    rows_print(campaign, titles, columns, traffic_row);
}

/* ---- this computer ---- */

static void wall_row(struct table *table, const struct sim_campaign *campaign,
                     size_t contender, size_t level)
{
    const struct sim_cell *cell = sim_campaign_cell(campaign, contender, level);

    table_real(table, cell->wall_s, 2);
    table_real(table, cell->wall_events / (cell->wall_s + 1e-9) / 1e6, 2);
    table_real(table, cell->memory_bytes / 1024 / campaign->simulation->ranks,
               1);
}

static void wall_print(const struct sim_campaign *campaign)
{
    static const char *const titles[] = {"implementation", "seconds",
                                         "events/us", "KiB/rank"};

    puts("\nthe simulation itself, on this computer");
    rows_print(campaign, titles, 4, wall_row);
}

void sim_report_tables(const struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;

    if (simulation->has_kill)
        deaths_print(campaign);
    else
        times_print(campaign);
    if (simulation->per_rank)
        ranks_print(campaign);
    traffic_print(campaign);
    if (!simulation->no_wall)
        wall_print(campaign);
}
