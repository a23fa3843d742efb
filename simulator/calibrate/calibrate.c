/* xylem-sim --calibrate: starts jobs of ranks that measure, collects their
 * output, fits a machine to it and writes its file. One thread. */
#include "simulator/calibrate/calibrate.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/child.h"
#include "bench/common/cli.h"
#include "bench/common/results.h"
#include "bench/common/text.h"
#include "simulator/calibrate/fit.h"
#include "simulator/calibrate/measure.h"

#define PROGRAM "xylem-sim --calibrate"

enum {
    PATH_BYTES_MAX = 512,
    TEXT_BYTES = 16,
    ROUNDS = 25,
    ROUNDS_QUICK = 5,
    JOB_SECONDS_MAX = 600,
    SHARED_RANKS_MAX = 64
};

typedef struct settings {
    const char *out;
    const char *name;
    const char *keep;
    const char *from;
    unsigned ranks;
    unsigned quick;
} settings_t;

typedef struct calibration {
    settings_t settings;
    char launcher[PATH_BYTES_MAX + 32], program[PATH_BYTES_MAX];
    sim_machine_t machine;
    calibrate_sample_t samples[CALIBRATE_SAMPLES_MAX];
    unsigned samples_count;
} calibration_t;

static const struct cli_option table[] = {
    {"output", 'o', CLI_TEXT, offsetof(settings_t, out), 0, 0, "FILE",
     "the machine's file (default: standard output)"},
    {"ranks", 'n', CLI_COUNT, offsetof(settings_t, ranks), 2,
     CALIBRATE_RANKS_MAX, "N", "ranks that measure (default: one per core)"},
    {"name", 0, CLI_TEXT, offsetof(settings_t, name), 0, 0, "NAME",
     "what the machine is called (default: here)"},
    {"quick", 0, CLI_FLAG, offsetof(settings_t, quick), 0, 0, NULL,
     "measure less often"},
    {"keep", 0, CLI_TEXT, offsetof(settings_t, keep), 0, 0, "FILE",
     "write the measurements there, too"},
    {"from", 0, CLI_TEXT, offsetof(settings_t, from), 0, 0, "FILE",
     "measure nothing, take measurements that were kept"},
};

static const struct cli cli = {
    .program = PROGRAM,
    .usage = "[-o FILE] [options]",
    .summary =
        "Measures messages, copies and sums on this machine with the library "
        "itself and\nwrites a machine file with which xylem-sim predicts the "
        "times of collectives here.\nNothing else should run meanwhile.",
    .options = table,
    .options_count = sizeof table / sizeof table[0]};

/* ---- the machine ---- */

static uint32_t count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);

    return count > 0 ? (uint32_t)count : 1;
}

/* How many of `inner` there are in each of `outer`; at least 1. */
static uint32_t share(uint32_t inner, uint32_t outer)
{
    return inner > outer ? inner / outer : 1;
}

/* Reads the nest from hwloc, as equal parts. Groups never reach over
 * memories. */
static int nest_read(sim_machine_t *machine)
{
    hwloc_topology_t topology;
    uint32_t cores, groups, numas, sockets;

    if (hwloc_topology_init(&topology) != 0)
        return 0;
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return 0;
    }
    cores = count_of(topology, HWLOC_OBJ_CORE);
    sockets = count_of(topology, HWLOC_OBJ_PACKAGE);
    numas = count_of(topology, HWLOC_OBJ_NUMANODE);
    groups = count_of(topology, HWLOC_OBJ_L3CACHE);
    hwloc_topology_destroy(topology);
    if (numas < sockets)
        numas = sockets;
    if (groups < numas)
        groups = numas;
    sim_machine_ideal(share(cores, groups), machine);
    machine->groups_per_numa = share(groups, numas);
    machine->numas_per_socket = share(numas, sockets);
    machine->sockets_per_node = sockets;
    return 1;
}

/* ---- measuring ---- */

static int sample_add(calibration_t *calibration, const char *line)
{
    if (calibration->samples_count == CALIBRATE_SAMPLES_MAX ||
        !calibrate_sample_parse(
            line, &calibration->samples[calibration->samples_count]))
        return 0;
    calibration->samples_count++;
    return 1;
}

static void line_take(void *arg, const char *line)
{
    (void)sample_add(arg, line);
}

/* The launcher lies beside this program when installed, in a folder next to it
 * when built. */
static int programs_find(calibration_t *calibration)
{
    static const char *const places[] = {"xylem-run", "../launcher/xylem-run"};
    char *program = calibration->program, *slash;
    ssize_t length = readlink("/proc/self/exe", program, PATH_BYTES_MAX - 1);
    size_t i;

    if (length <= 0)
        return 0;
    program[length] = '\0';
    slash = strrchr(program, '/');
    for (i = 0; slash != NULL && i < sizeof places / sizeof places[0]; i++) {
        snprintf(calibration->launcher, sizeof calibration->launcher, "%.*s/%s",
                 (int)(slash - program), program, places[i]);
        if (access(calibration->launcher, X_OK) == 0)
            return 1;
    }
    fprintf(stderr, PROGRAM ": there is no xylem-run beside %s\n", program);
    return 0;
}

static int job_run(calibration_t *calibration, const char *set, uint32_t ranks)
{
    char ranks_text[TEXT_BYTES], rounds[TEXT_BYTES], why[CHILD_LINE_BYTES];
    char set_text[TEXT_BYTES], dash_n[] = "-n", mark[] = "--calibrate-rank";
    char *argv[] = {calibration->launcher,
                    dash_n,
                    ranks_text,
                    calibration->program,
                    mark,
                    set_text,
                    rounds,
                    NULL};
    struct child child = {.argv = argv,
                          .limit_s = JOB_SECONDS_MAX,
                          .on_line = line_take,
                          .arg = calibration};

    snprintf(set_text, sizeof set_text, "%s", set);
    snprintf(ranks_text, sizeof ranks_text, "%u", ranks);
    snprintf(rounds, sizeof rounds, "%d",
             calibration->settings.quick ? ROUNDS_QUICK : ROUNDS);
    fprintf(stderr, "measuring with %u rank%s (%s)\n", ranks,
            text_plural(ranks), set);
    if (child_run(&child))
        return 1;
    child_describe(&child, why, sizeof why);
    fprintf(stderr, PROGRAM ": the ranks failed: %s\n", why);
    if (child.tail_next > 0)
        fprintf(stderr, "%s\n",
                child.tail[(child.tail_next - 1) % CHILD_TAIL_LINES]);
    return 0;
}

/* Measures with a core for each rank first, then with twice as many ranks as
 * cores and, if there is time, with four times as many. */
static int measure(calibration_t *calibration)
{
    uint32_t cores = sim_machine_cores(&calibration->machine), times;
    uint32_t ranks = calibration->settings.ranks;

    if (!programs_find(calibration))
        return 0;
    if (ranks == 0)
        ranks = cores < CALIBRATE_RANKS_MAX ? cores : CALIBRATE_RANKS_MAX;
    if (ranks > cores) {
        fprintf(stderr, PROGRAM ": -n %u: there are %u cores\n", ranks, cores);
        return 0;
    }
    setenv("XYLEM_" CALIBRATE_SETTING, "0", 1);
    child_signals_install();
    if (!job_run(calibration, "full", ranks))
        return 0;
    for (times = 2; times <= (calibration->settings.quick ? 2u : 4u);
         times *= 2)
        if (cores * times <= SHARED_RANKS_MAX &&
            !job_run(calibration, "shared", cores * times))
            return 0;
    return 1;
}

/* ---- files ---- */

static FILE *file_open(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);

    if (file == NULL)
        fprintf(stderr, PROGRAM ": %s: %s\n", path, strerror(errno));
    return file;
}

static int samples_read(calibration_t *calibration)
{
    FILE *file = file_open(calibration->settings.from, "r");
    char line[CALIBRATE_LINE_BYTES];

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        (void)sample_add(calibration, line);
    fclose(file);
    return 1;
}

static int samples_write(const calibration_t *calibration)
{
    FILE *file = file_open(calibration->settings.keep, "w");
    char line[CALIBRATE_LINE_BYTES];
    unsigned i;
    int ok;

    if (file == NULL)
        return 0;
    for (i = 0; i < calibration->samples_count; i++) {
        calibrate_sample_print(&calibration->samples[i], line);
        fprintf(file, "%s\n", line);
    }
    ok = !ferror(file);
    return fclose(file) == 0 && ok;
}

static int machine_write(const calibration_t *calibration)
{
    const char *path = calibration->settings.out;
    FILE *file = path == NULL ? stdout : file_open(path, "w");
    int ok;

    if (file == NULL)
        return 0;
    ok = sim_machine_write(&calibration->machine,
                           "measured by xylem-sim --calibrate", file);
    if (path != NULL && fclose(file) != 0)
        ok = 0;
    if (!ok)
        fprintf(stderr, PROGRAM ": could not write the machine's file\n");
    return ok;
}

/* ---- the program ---- */

static void quality_print(const calibrate_quality_t *quality)
{
    unsigned part;

    fprintf(stderr, "micro-benchmarks, simulated and measured; mean error:\n");
    for (part = 0; part < CALIBRATE_PART_COUNT; part++)
        if (quality->samples[part] != 0)
            fprintf(stderr, "  %-18s %5.1f %% of %u times\n",
                    calibrate_part_name((calibrate_part_t)part),
                    100 * quality->error[part], quality->samples[part]);
}

static void machine_name(calibration_t *calibration)
{
    sim_machine_t *machine = &calibration->machine;
    const char *name = calibration->settings.name;

    snprintf(machine->name, sizeof machine->name, "%s",
             name != NULL ? name : "here");
    snprintf(machine->about, sizeof machine->about,
             "One machine of %u cores, as measured over the library: pairs, "
             "fans and rows of ranks, and more ranks than cores. Not one of "
             "its numbers comes from a collective.",
             sim_machine_cores(machine));
}

/* 1: no existing file would be overwritten. */
static int files_may(const settings_t *settings)
{
    return (settings->keep == NULL ||
            results_may_replace(PROGRAM, settings->keep, NULL)) &&
           (settings->out == NULL ||
            results_may_replace(PROGRAM, settings->out, NULL));
}

static int calibrate(calibration_t *calibration)
{
    calibrate_quality_t quality;
    xylem_status_t status;

    if (!files_may(&calibration->settings))
        return EXIT_FAILURE;
    if (!nest_read(&calibration->machine)) {
        fprintf(stderr, PROGRAM ": hwloc cannot read this machine\n");
        return EXIT_FAILURE;
    }
    if (calibration->settings.from != NULL ? !samples_read(calibration)
                                           : !measure(calibration))
        return EXIT_FAILURE;
    if (calibration->samples_count == 0) {
        fprintf(stderr, PROGRAM ": there are no measurements\n");
        return EXIT_FAILURE;
    }
    if (calibration->settings.keep != NULL && !samples_write(calibration))
        return EXIT_FAILURE;
    machine_name(calibration);
    status = calibrate_fit(calibration->samples, calibration->samples_count,
                           &calibration->machine, &quality);
    if (status != XYLEM_OK) {
        fprintf(stderr, PROGRAM ": the fit failed: %s\n",
                xylem_status_text(status));
        return EXIT_FAILURE;
    }
    quality_print(&quality);
    return machine_write(calibration) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int calibrate_main(int argc, char **argv)
{
    calibration_t *calibration;
    int code = CLI_EXIT_USAGE;

    if (strcmp(argv[1], "--calibrate-rank") == 0)
        return calibrate_measure_main(argc - 2, argv + 2);
    if (strcmp(argv[1], "--calibrate") != 0) {
        fprintf(stderr, "xylem-sim: there is no option %s\n", argv[1]);
        return code;
    }
    calibration = calloc(1, sizeof *calibration);
    if (calibration == NULL)
        return EXIT_FAILURE;
    switch (cli_parse(&cli, argc - 1, argv + 1, &calibration->settings)) {
    case CLI_HELP:
        code = EXIT_SUCCESS;
        break;
    case CLI_BAD:
        break;
    case CLI_RUN:
        code = calibrate(calibration);
        break;
    }
    free(calibration);
    return code;
}
