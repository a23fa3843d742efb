/* xylem-sim: collectives of thousands of ranks on simulated machines, and the
 * calibration of such machines. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gnuplot.h"
#include "bench/common/results.h"
#include "simulator/calibrate/calibrate.h"
#include "simulator/program/elastic.h"
#include "simulator/program/goal.h"
#include "simulator/program/report.h"
#include "simulator/program/rows.h"
#include "simulator/program/runs.h"

static const char program_name[] = "xylem-sim";

/* 1: the files of the run may be written. To be asked before the run. */
static int files_may(const struct simulation *simulation)
{
    return (simulation->plot == NULL ||
            gnuplot_may_draw(simulation->program, simulation->plot)) &&
           (simulation->trace == NULL ||
            results_may_replace(simulation->program, simulation->trace,
                                "\"labels\":\"simulated"));
}

static int campaign_main(const struct simulation *simulation)
{
    struct sim_campaign campaign;
    int code = EXIT_FAILURE;

    if (!sim_campaign_create(&campaign, simulation) || !files_may(simulation))
        goto destroy_campaign;
    if (simulation->csv != NULL) {
        campaign.rows = sim_rows_begin(&campaign);
        if (campaign.rows == NULL)
            goto destroy_campaign;
    }
    sim_report_heading(simulation);
    if (!sim_runs_make(&campaign))
        goto destroy_campaign;
    sim_report_tables(&campaign);
    code = EXIT_SUCCESS;
    if (simulation->plot != NULL &&
        !sim_report_plot(&campaign, simulation->plot))
        code = EXIT_FAILURE;
destroy_campaign:
    if (!sim_rows_end(campaign.rows))
        code = EXIT_FAILURE;
    sim_campaign_destroy(&campaign);
    return code;
}

/* 1: the word is "--calibrate", or its form for calibration's own ranks. */
static int is_calibration(const char *word)
{
    static const char name[] = "--calibrate";
    size_t length = strlen(name);

    return strncmp(word, name, length) == 0 &&
           (word[length] == '\0' || word[length] == '-');
}

int main(int argc, char **argv)
{
    struct simulation simulation;
    int code = CLI_EXIT_USAGE;

    if (argc > 1 && is_calibration(argv[1]))
        return calibrate_main(argc, argv);
    switch (simulation_parse(program_name, argc, argv, &simulation)) {
    case CLI_HELP:
        code = EXIT_SUCCESS;
        break;
    case CLI_BAD:
        break;
    case CLI_RUN:
        code = simulation.elasticity     ? sim_elasticity_main(&simulation)
               : simulation.goal != NULL ? sim_goal_main(&simulation)
                                         : campaign_main(&simulation);
        break;
    }
    simulation_destroy(&simulation);
    return code;
}
