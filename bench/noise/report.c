/* Tables of a campaign. One thread. */
#include "bench/noise/report.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/impl_name.h"
#include "bench/common/table.h"
#include "bench/common/text.h"

enum { TITLE_BYTES = 32, NAME_WIDTH = 16, RANK_WIDTH = 6, LINE_BYTES = 1024 };

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

/* Which contenders are no library of others. */
static void designs_explain(const struct campaign *campaign)
{
    const char *names[CAMPAIGN_CONTENDERS_MAX];
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++)
        names[i] = campaign->contenders[i].launch.name;
    impl_note(stdout, names, campaign->contenders_count);
}

/* ---- times under noise ---- */

static void heading(const struct campaign *campaign, size_t which)
{
    const struct noise_options *options = campaign->options;
    char text[LINE_BYTES];

    report_case(&options->cases[which], text, sizeof text);
    printf("%s%s, %u rank%s, algorithm %s, %s%u round%s\n",
           which > 0 ? "\n" : "", text, options->ranks,
           text_plural(options->ranks),
           options->algorithm != NULL ? options->algorithm : "auto",
           options->rounds > 1 ? "median of " : "", options->rounds,
           text_plural(options->rounds));
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

/* Prints how far ranks may be ahead of each other, if that absorbs noise. */
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
            strcmp(campaign->contenders[i].launch.name, IMPL_XYLEM) != 0)
            continue;
        depth = cell->room_bytes / (double)it->bytes;
        text_of_bytes((size_t)cell->room_bytes, room, sizeof room);
        printf("room of " IMPL_XYLEM
               ": %s, %.0f calls, %.3g ms of them; the floor with "
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

        /* The longest burst is enough to name uniform noise. */
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
    designs_explain(campaign);
    if (options->levels.count > 0)
        putchar('\n');
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
