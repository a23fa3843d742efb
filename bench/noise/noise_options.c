/* The options of xylem-noise. One thread. */
#include "bench/noise/noise_options.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/text.h"
#include "bench/measure/buffers.h"
#include "bench/measure/registry.h"
#include "bench/measure/window.h"
#include "bench/measure/worker_options.h"

#define AT(member)  offsetof(struct noise_options, member)
#define BYTES_LIMIT 1099511627776.0 /* 1 TiB */

/* The segment of a named tree if the user gives none: without one, some
 * implementations would send the message in one piece. */
static const size_t forced_segment_bytes = 65536;

/* The tree that the experiment with one rank takes, if the collective has
 * trees. */
static const char default_tree[] = "binary";

static const struct cli_option table[] = {
    {"ranks", 'n', CLI_COUNT, AT(ranks), 1, NOISE_RANKS_MAX, "N",
     "processes (default: one per CPU, at least 2)"},
    {"launcher", 0, CLI_TEXT, AT(launcher), 0, 0, "COMMAND",
     "what starts the processes, {n} being how many, such as 'srun --mpi=pmix "
     "-n {n}' (default: each implementation's own; within an allocation of "
     "Slurm that)"},
    {"mode", 0, CLI_WORD, AT(mode), 0, 0, WORKER_MODES,
     "how calls are made (default blocking)"},
    {"under-way", 0, CLI_COUNT, AT(under_way), 1, BUFFERS_MAX, "K",
     "start up to K calls before the first is waited for (default 1)"},
    {"coll", 'c', CLI_TEXT, AT(coll_names), 0, 0, "COLL,...",
     "collectives, or all (default bcast)"},
    {"size", 's', CLI_TEXT, AT(sizes), 0, 0, "BYTES,...",
     "messages (default 4M); in collectives of blocks what one rank sends to "
     "one rank"},
    {"max-ms", 0, CLI_TEXT, AT(max_ms), 0, 0, "MS,...",
     "longest bursts to try (default 0,10,20)"},
    {"noise", 0, CLI_TEXT, AT(noise), 0, 0, "SPEC;...",
     "instead of --max-ms: other noise, beside none; see docs/noise.md"},
    {"by", 0, CLI_WORD, AT(noise_way), 0, 0, NOISE_WAYS,
     "how noise is injected: by a signal's handler, or by a thread that takes "
     "the core away (default signal)"},
    {"hz", 0, CLI_REAL, AT(hz), 0.001, 1e4, "HZ",
     "bursts per second and rank (default 10)"},
    {"one-rank", 0, CLI_COUNT, AT(delay_rank), 0, NOISE_RANKS_MAX, "RANK",
     "delay this rank only; show each rank's delay"},
    {"delay-ms", 0, CLI_MS, AT(delay_ms), 0, 1e4, "MS",
     "that delay (default 1)"},
    {"impl", 0, CLI_TEXT, AT(impls), 0, 0, "NAME,...",
     "implementations (default: all that are installed)"},
    {"algorithm", 0, CLI_TEXT, AT(algorithm), 0, 0, "A",
     "tree, such as binary; list shows all"},
    {"segment", 0, CLI_BYTES, AT(tuning.segment_bytes), 0, BYTES_LIMIT, "BYTES",
     "segment size (default 64K with --algorithm)"},
    {"window", 0, CLI_TEXT, AT(window), 0, 0, "N,M",
     "sends in flight and receives posted per peer"},
    {"root", 0, CLI_COUNT, AT(root), 0, NOISE_RANKS_MAX, "RANK", "default 0"},
    {"rounds", 0, CLI_COUNT, AT(rounds), 1, NOISE_ROUNDS_MAX, "R",
     "repetitions of everything (default 3)"},
    {"iterations", 'i', CLI_COUNT, AT(iterations), 0, 1e7, "N",
     "calls per run (default 0: what fits --seconds)"},
    {"seconds", 0, CLI_S, AT(seconds), 0.001, 3600, "S",
     "time per run (default 2)"},
    {"warmup", 0, CLI_COUNT, AT(warmup), 0, 1e6, "N",
     "calls before measuring (default 10)"},
    {"osu", 0, CLI_FLAG, AT(osu), 0, 0, NULL,
     "the same buffers in every call, which nobody writes"},
    {"consume", 0, CLI_FLAG, AT(consume), 0, 0, NULL,
     "read the result after each call"},
    {"check", 0, CLI_FLAG, AT(check), 0, 0, NULL, "verify the results"},
    {"seed", 0, CLI_COUNT, AT(seed), 0, UINT_MAX, "N", "of the noise"},
    {"limit", 0, CLI_S, AT(limit_s), 1, 86400, "S",
     "longest time without a result (default 120)"},
    {"csv", 0, CLI_TEXT, AT(csv), 0, 0, "FILE",
     "write all numbers there, after each run, and to FILE.json where they "
     "come from"},
    {"raw", 0, CLI_TEXT, AT(raw), 0, 0, "DIR",
     "write every call of every rank there, and percentiles to --csv"},
    {"resume", 0, CLI_FLAG, AT(resume), 0, 0, NULL, "go on where FILE ends"},
    {"plot", 0, CLI_TEXT, AT(plot), 0, 0, "FILE.png",
     "draw the table (needs gnuplot)"},
};

static const struct cli_alias aliases[] = {{"iters", "iterations"}};

static const struct cli cli = {
    .usage =
        "[-n N] [-c COLL,...] [-s BYTES,...] [--max-ms 0,10,20] [options]\n"
        "  or:  xylem-noise [-n N] [-c COLL] [-s BYTES] --one-rank RANK "
        "[options]\n"
        "  or:  xylem-noise record | compare --help",
    .summary =
        "Shows what noise does to a collective. Every process is held up by "
        "bursts that take\na random time below --max-ms; the table says how "
        "much slower each implementation gets.\nWith --one-rank one process is "
        "held up in every second call, in a binary tree unless\n--algorithm "
        "says otherwise; the table says how much later each rank finishes.\n"
        "Both are done when --max-ms is given, too.\n\nxylem-noise starts the "
        "processes itself: "
        "on this machine, or by --launcher, on any.\nImplementations: xylem, "
        "local (the floor: a loop as long as a call of xylem's, without\nother "
        "ranks), waitall, blocking (own designs: trees over the network, "
        "waiting for all or\neach of the children), openmpi-tuned, "
        "openmpi-adapt, mpich; those that "
        "bench/peers.sh makes: openmpi5-tuned, openmpi5-adapt,\nmpich5, intel; "
        "only when named, xylem through its MPI binding: xylem-openmpi, "
        "xylem-mpich,\nxylem-openmpi5, xylem-mpich5, xylem-intel. waitall, "
        "blocking and adapt have bcast and reduce only.",
    .options = table,
    .options_count = sizeof table / sizeof table[0],
    .aliases = aliases,
    .aliases_count = 1};

size_t noise_case_find(const struct noise_options *options, const char *coll,
                       size_t bytes)
{
    size_t i = 0;

    while (i < options->cases_count &&
           (options->cases[i].bytes != bytes ||
            strcmp(xyl_coll_traits(options->cases[i].coll)->name, coll) != 0))
        i++;
    return i;
}

size_t noise_level_find(const struct noise_options *options, const char *name)
{
    size_t i = 0;

    while (i < options->levels.count &&
           strcmp(options->levels.list[i].name, name) != 0)
        i++;
    return i;
}

/* Every collective with every size; nothing twice. */
static enum cli_result cases_resolve(const char *program,
                                     struct noise_options *options)
{
    xylem_coll_t colls[XYLEM_COLL_COUNT];
    size_t sizes[NOISE_SIZES_MAX], i, k;
    size_t colls_count = coll_list(options->coll_names, colls);
    size_t sizes_count = text_sizes(options->sizes, sizes, NOISE_SIZES_MAX);

    if (colls_count == 0)
        return cli_complain(program, "-c %s: there is no such collective",
                            options->coll_names);
    for (i = 0; i < sizes_count; i++)
        if (sizes[i] == 0)
            sizes_count = 0;
    if (sizes_count == 0)
        return cli_complain(program, "-s %s: expected 1 ... %d sizes",
                            options->sizes, NOISE_SIZES_MAX);
    for (i = 0; i < colls_count; i++) {
        for (k = 0; k < sizes_count; k++) {
            size_t bytes = colls[i] == XYLEM_COLL_BARRIER ? 0 : sizes[k];

            if (xyl_coll_traits(colls[i])->reduces &&
                bytes % sizeof(float) != 0)
                return cli_complain(
                    program, "-s %zu: a reduction sums floats, 4 bytes each",
                    bytes);
            if (noise_case_find(options, xyl_coll_traits(colls[i])->name,
                                bytes) == options->cases_count)
                options->cases[options->cases_count++] =
                    (struct noise_case){.coll = colls[i], .bytes = bytes};
        }
    }
    return CLI_RUN;
}

/* A tree is one for all collectives that are measured. */
static int is_tree_of_all(const char *algorithm,
                          const struct noise_options *options)
{
    size_t i;

    for (i = 0; i < options->cases_count; i++)
        if (!registry_is_tree(algorithm, options->cases[i].coll))
            return 0;
    return 1;
}

static enum cli_result names_resolve(const char *program,
                                     struct noise_options *options)
{
    if (options->has_delay && options->algorithm == NULL &&
        is_tree_of_all(default_tree, options))
        options->algorithm = default_tree;
    if (options->algorithm != NULL && options->tuning.segment_bytes == 0)
        options->tuning.segment_bytes = forced_segment_bytes;
    if (options->algorithm != NULL &&
        !is_tree_of_all(options->algorithm, options))
        return cli_complain(
            program, "--algorithm %s: unknown; --algorithm list shows all",
            options->algorithm);
    options->tuning.algorithm = options->algorithm;
    if (options->window != NULL &&
        !window_parse(options->window, &options->tuning))
        return cli_complain(program,
                            "--window %s: expected N,M with 1 <= N <= M <= 64",
                            options->window);
    if (options->raw != NULL && strlen(options->raw) > NOISE_FOLDER_BYTES)
        return cli_complain(program, "--raw: longer than %d bytes",
                            NOISE_FOLDER_BYTES);
    if (options->resume && options->csv == NULL)
        return cli_complain(program, "--resume needs --csv FILE");
    return CLI_RUN;
}

/* The levels of --noise, and none before them. */
static enum cli_result levels_resolve(const char *program,
                                      struct noise_options *options)
{
    char specs[LEVELS_MAX * LEVEL_NAME_BYTES];

    if (options->max_ms != NULL && options->noise != NULL)
        return cli_complain(program, "--noise and --max-ms say the same");
    if (options->max_ms == NULL && options->noise == NULL) {
        if (options->has_delay)
            return CLI_RUN;
        options->max_ms = "0,10,20";
    }
    if (options->noise != NULL)
        snprintf(specs, sizeof specs, "none;%s", options->noise);
    return levels_parse(program, options->max_ms, options->hz,
                        options->noise != NULL ? specs : NULL, &options->levels)
               ? CLI_RUN
               : CLI_BAD;
}

/* Within an allocation of Slurm its tasks, by its launcher. */
static void slurm_resolve(struct noise_options *options)
{
    const char *tasks = getenv("SLURM_NTASKS");

    if (getenv("SLURM_JOB_ID") == NULL || options->launcher != NULL)
        return;
    options->launcher = "srun --mpi=pmix -n {n}";
    if (options->ranks == 0 && tasks != NULL)
        options->ranks = (unsigned)strtoul(tasks, NULL, 10);
}

static enum cli_result ranks_resolve(const char *program,
                                     struct noise_options *options)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    slurm_resolve(options);
    if (options->ranks == 0)
        options->ranks = cpus < 2                 ? 2
                         : cpus > NOISE_RANKS_MAX ? NOISE_RANKS_MAX
                                                  : (unsigned)cpus;
    if (options->launcher != NULL &&
        strlen(options->launcher) > NOISE_LAUNCHER_BYTES)
        return cli_complain(program, "--launcher: longer than %d bytes",
                            NOISE_LAUNCHER_BYTES);
    if (options->under_way > 1 && options->mode == BENCH_BLOCKING)
        return cli_complain(
            program, "--under-way takes --mode nonblocking or persistent");
    if (options->root >= options->ranks)
        return cli_complain(program, "--root %u: the ranks are 0 ... %u",
                            options->root, options->ranks - 1);
    if (options->has_delay && options->delay_rank >= options->ranks)
        return cli_complain(program, "--one-rank %u: the ranks are 0 ... %u",
                            options->delay_rank, options->ranks - 1);
    return CLI_RUN;
}

enum cli_result noise_options_parse(const char *program, int argc, char **argv,
                                    struct noise_options *options_out)
{
    struct cli command_line = cli;
    struct noise_options options = {.coll_names = "bcast",
                                    .sizes = "4M",
                                    .hz = 10,
                                    .delay_rank = UINT_MAX,
                                    .delay_ms = 1,
                                    .rounds = 3,
                                    .warmup = 10,
                                    .seconds = 2,
                                    .limit_s = 120};
    enum cli_result result;

    command_line.program = program;
    result = cli_parse(&command_line, argc, argv, &options);
    if (result != CLI_RUN)
        return result;
    if (options.algorithm != NULL && strcmp(options.algorithm, "list") == 0) {
        registry_print_trees(stdout);
        return CLI_HELP;
    }
    options.has_delay = options.delay_rank != UINT_MAX;
    result = cases_resolve(program, &options);
    if (result == CLI_RUN)
        result = names_resolve(program, &options);
    if (result == CLI_RUN)
        result = levels_resolve(program, &options);
    if (result == CLI_RUN)
        result = ranks_resolve(program, &options);
    if (result == CLI_RUN)
        *options_out = options;
    return result;
}
