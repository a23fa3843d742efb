/* Plots of a campaign. One thread. */
#include <stdio.h>
#include <string.h>

#include "bench/common/gnuplot.h"
#include "bench/noise/report.h"

enum { PATH_BYTES = 4096, RANK_TICS = 32 };

static void plot_begin(FILE *pipe, const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;

    fprintf(pipe,
            "set title '%s of %zu bytes on %u ranks' noenhanced\n"
            "set key below noenhanced\n"
            "set grid ytics\n"
            "set yrange [*<0:0<*]\n",
            options->coll_name, options->bytes, options->ranks);
}

static void slowdown_write(FILE *pipe,
                           const struct campaign_contender *contender,
                           size_t level)
{
    double base_us = campaign_median(&contender->levels[0].us);
    double us = campaign_median(&contender->levels[level].us);

    if (base_us > 0 && us > 0)
        fprintf(pipe, " %.3f", 100 * (us / base_us - 1));
    else
        fputs(" NaN", pipe); /* failed: no bar */
}

/* A group of bars per implementation, one bar per level but the first. */
static void plot_levels(FILE *pipe, const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    size_t i;
    size_t k;

    fputs("$data << EOD\n", pipe);
    for (i = 0; i < campaign->contenders_count; i++) {
        fprintf(pipe, "%s", campaign->contenders[i].launch.name);
        for (k = 0; k < options->levels_count; k++)
            slowdown_write(pipe, &campaign->contenders[i], k);
        fputc('\n', pipe);
    }
    fputs("EOD\n"
          "set style data histogram\n"
          "set style histogram clustered gap 1\n"
          "set style fill solid 0.8 border -1\n"
          "set ylabel 'slowdown by noise, percent'\n"
          "set xtics noenhanced\n"
          "plot ",
          pipe);
    for (k = 1; k < options->levels_count; k++)
        fprintf(pipe, "%s$data using %zu:xtic(1) title 'up to %g ms, %g Hz'",
                k == 1 ? "" : ", ", k + 2, options->levels[k], options->hz);
    fputc('\n', pipe);
}

/* Two lines per implementation: without and with the delay. */
static void plot_delays(FILE *pipe, const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    unsigned rank;
    size_t i;

    fputs("$data << EOD\n", pipe);
    for (rank = 0; rank < options->ranks; rank++) {
        fprintf(pipe, "%u", rank);
        for (i = 0; i < campaign->contenders_count; i++) {
            const struct campaign_rank *numbers =
                &campaign->contenders[i].ranks[rank];

            if (numbers->plain_us.count == 0)
                fputs(" NaN NaN", pipe); /* failed: no line */
            else
                fprintf(pipe, " %.3f %.3f", campaign_median(&numbers->plain_us),
                        campaign_median(&numbers->delayed_us));
        }
        fputc('\n', pipe);
    }
    fprintf(pipe,
            "EOD\n"
            "set xlabel 'rank'\n"
            "set xrange [-0.5:%u.5]\n"
            "set xtics %u\n"
            "set ylabel 'time to finish, microseconds'\n"
            "plot ",
            options->ranks - 1, options->ranks / RANK_TICS + 1);
    for (i = 0; i < campaign->contenders_count; i++) {
        const char *name = campaign->contenders[i].launch.name;

        fprintf(pipe,
                "%s$data using 1:%zu with linespoints lc %zu dt 2 pt 6 title "
                "'%s', $data using 1:%zu with linespoints lc %zu pt 7 title "
                "'%s, rank %u held up %g ms'",
                i == 0 ? "" : ", ", 2 * i + 2, i + 1, name, 2 * i + 3, i + 1,
                name, options->delay_rank, options->delay_ms);
    }
    fputc('\n', pipe);
}

static int draw(const struct campaign *campaign, const char *path,
                void (*plot)(FILE *pipe, const struct campaign *campaign))
{
    FILE *pipe = gnuplot_open(campaign->program, path);

    if (pipe == NULL)
        return 0;
    plot_begin(pipe, campaign);
    plot(pipe, campaign);
    return gnuplot_close(pipe, campaign->program, path);
}

/* "a/b.png" -> "a/b-one-rank.png". */
static void second_path(const char *path, char *text, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path);

    snprintf(text, bytes, "%.*s-one-rank%s", (int)stem, path,
             dot != NULL ? dot : "");
}

int report_plot(const struct campaign *campaign, const char *path)
{
    const struct noise_options *options = campaign->options;
    char other[PATH_BYTES];
    int ok = 1;

    if (options->levels_count > 1)
        ok = draw(campaign, path, plot_levels);
    else if (options->levels_count == 1)
        fprintf(stderr, "%s: no plot of one level: it has no slowdown\n",
                campaign->program);
    if (options->has_delay && ok) {
        snprintf(other, sizeof other, "%s", path);
        if (options->levels_count > 0)
            second_path(path, other, sizeof other);
        ok = draw(campaign, other, plot_delays);
    }
    return ok;
}
