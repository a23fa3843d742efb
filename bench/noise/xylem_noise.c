/* xylem-noise: measures the effect of noise on a collective. It starts ranks
 * that measure (xylem-bench and the drivers of the MPI libraries), and uses no
 * library itself. One thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/common/child.h"
#include "bench/common/results.h"
#include "bench/noise/campaign.h"
#include "bench/noise/manifest.h"
#include "bench/noise/record.h"
#include "bench/noise/report.h"
#include "bench/noise/rounds.h"
#include "bench/noise/rows.h"

enum { EXIT_INTERRUPTED = 130 };

static const char program_name[] = "xylem-noise";

static int is_under_launcher(void)
{
    return getenv("PMIX_NAMESPACE") != NULL ||
           getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_RANK") != NULL;
}

/* Opens the files that a campaign writes beside its numbers. */
static int files_begin(struct campaign *campaign, int argc, char **argv)
{
    const struct noise_options *options = campaign->options;

    if (options->plot != NULL && !report_may_plot(campaign, options->plot))
        return 0;
    if (options->raw != NULL && mkdir(options->raw, 0777) != 0 &&
        errno != EEXIST) {
        fprintf(stderr, "%s: cannot make %s: %s\n", program_name, options->raw,
                strerror(errno));
        return 0;
    }
    if (options->raw != NULL) /* of ranks that were killed */
        results_parts_sweep(options->raw);
    if (options->csv == NULL)
        return 1;
    campaign->rows = rows_begin(campaign);
    if (campaign->rows != NULL)
        campaign->manifest = manifest_begin(campaign, argc, argv);
    return campaign->manifest != NULL;
}

static int campaign_main(const struct noise_options *options, int argc,
                         char **argv)
{
    struct campaign campaign;
    int code = campaign_create(&campaign, program_name, options);

    if (code != EXIT_SUCCESS)
        goto destroy_campaign;
    if (!files_begin(&campaign, argc, argv)) {
        code = EXIT_FAILURE;
        goto destroy_campaign;
    }
    child_signals_install();
    if (!rounds_run(&campaign)) {
        fprintf(stderr, "%s: interrupted\n", program_name);
        code = EXIT_INTERRUPTED;
        goto destroy_campaign;
    }
    report_tables(&campaign);
    if (options->raw != NULL)
        results_parts_sweep(options->raw);
    if (campaign.failures > 0)
        code = EXIT_FAILURE;
    if (campaign.rows != NULL && !rows_add_medians(campaign.rows, &campaign))
        code = EXIT_FAILURE;
    if (options->plot != NULL && !report_plot(&campaign, options->plot))
        code = EXIT_FAILURE;
destroy_campaign:
    manifest_end(campaign.manifest);
    rows_end(campaign.rows);
    campaign_destroy(&campaign);
    return code;
}

/* The commands that the first argument may name; without one it is a campaign.
 */
static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"record", record_main}, {"compare", compare_main}};

int main(int argc, char **argv)
{
    struct noise_options options;
    enum cli_result parsed;
    size_t i;

    for (i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    parsed = noise_options_parse(program_name, argc, argv, &options);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    if (is_under_launcher()) {
        cli_complain(program_name,
                     "starts its ranks itself: run it without mpirun or "
                     "xylem-run, as in xylem-noise -n 4 -c bcast, or as in "
                     "xylem-noise --launcher 'mpirun -n {n}' -n 4 -c bcast");
        return CLI_EXIT_USAGE;
    }
    return campaign_main(&options, argc, argv);
}
