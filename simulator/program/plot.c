/* Plots of a campaign on simulated machines. One thread. */
#include "bench/common/gnuplot.h"
#include "simulator/program/report.h"

static void heading(FILE *pipe, const struct simulation *simulation)
{
    fprintf(pipe,
            "set title '%s of %zu bytes on %u ranks of %s, simulated' "
            "noenhanced\n"
            "set key below noenhanced\n"
            "set grid ytics\n"
            "set xtics noenhanced\n"
            "set yrange [*<0:0<*]\n",
            simulation->coll_name, simulation->bytes, simulation->ranks,
            simulation->machine.name);
}

/* A group of bars per contender, one bar per noise; of one without any the
 * time. */
static void plot_bars(FILE *pipe, const struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    size_t first = campaign->levels > 1, i, level;

    fputs("$data << EOD\n", pipe);
    for (i = 0; i < simulation->contenders_count; i++) {
        fprintf(pipe, "%s", simulation->contenders[i].name);
        for (level = first; level < campaign->levels; level++)
            fprintf(pipe, " %.3f",
                    first == 0 ? sim_campaign_cell(campaign, i, level)->us.avg
                               : sim_campaign_slowdown(campaign, i, level));
        fputc('\n', pipe);
    }
    fprintf(pipe,
            "EOD\n"
            "set style data histogram\n"
            "set style histogram clustered gap 1\n"
            "set style fill solid 0.8 border -1\n"
            "set ylabel '%s'\n"
            "plot ",
            first == 0 ? "time per call, microseconds"
                       : "slowdown by noise, percent");
    for (level = first; level < campaign->levels; level++) {
        fprintf(pipe, "%s$data using %zu:xtic(1) title ",
                level == first ? "" : ", ", level - first + 2);
        gnuplot_text(pipe, first == 0 ? "no noise"
                                      : sim_campaign_noise(campaign, level));
    }
    fputc('\n', pipe);
}

static void plot_ranks(FILE *pipe, const struct sim_campaign *campaign)
{
    const struct simulation *simulation = campaign->simulation;
    size_t count = campaign->levels * simulation->contenders_count, i;
    unsigned rank;

    fputs("$data << EOD\n", pipe);
    for (rank = 0; rank < simulation->ranks; rank++) {
        fprintf(pipe, "%u", rank);
        for (i = 0; i < count; i++)
            fprintf(pipe, " %.3f", campaign->cells[i].rank_us[rank]);
        fputc('\n', pipe);
    }
    fprintf(pipe,
            "EOD\n"
            "set xlabel 'rank'\n"
            "set xrange [-0.5:%u.5]\n"
            "set ylabel 'time per call, microseconds'\n"
            "plot ",
            simulation->ranks - 1);
    for (i = 0; i < count; i++) {
        size_t contender = i / campaign->levels, level = i % campaign->levels;
        char title[2 * SIM_NAME_BYTES + 8];

        snprintf(title, sizeof title, "%s, %s",
                 simulation->contenders[contender].name,
                 level == 0 ? "quiet" : sim_campaign_noise(campaign, level));
        fprintf(pipe,
                "%s$data using 1:%zu with linespoints lc %zu pt %zu title ",
                i == 0 ? "" : ", ", i + 2, contender + 1, level + 6);
        gnuplot_text(pipe, title);
    }
    fputc('\n', pipe);
}

int sim_report_plot(const struct sim_campaign *campaign, const char *path)
{
    const struct simulation *simulation = campaign->simulation;
    FILE *pipe = gnuplot_open(simulation->program, path);

    if (pipe == NULL)
        return 0;
    heading(pipe, simulation);
    if (simulation->per_rank)
        plot_ranks(pipe, campaign);
    else
        plot_bars(pipe, campaign);
    return gnuplot_close(pipe, simulation->program, path);
}
