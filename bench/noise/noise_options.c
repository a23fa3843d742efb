/* The options of xylem-noise. One thread. */
#include "bench/noise/noise_options.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/text.h"
#include "bench/measure/registry.h"
#include "bench/measure/window.h"
#include "bench/measure/worker_options.h"

#define AT(member)  offsetof(struct noise_options, member)
#define BYTES_LIMIT 1099511627776.0 /* 1 TiB */

/* What a pipeline needs when a tree is asked for and no segment size: without
 * one, some implementations would send the message in one piece. */
static const size_t forced_segment_bytes = 65536;

/* Of the experiment with one rank, where the collective goes by trees. */
static const char default_tree[] = "binary";

static const struct cli_option table[] = {
    {"ranks", 'n', CLI_COUNT, AT(ranks), 1, NOISE_RANKS_MAX, "N",
     "processes (default: one per CPU, at least 2)"},
    {"coll", 'c', CLI_TEXT, AT(coll_name), 0, 0, "COLL",
     "any collective (default bcast)"},
    {"size", 's', CLI_BYTES, AT(bytes), 1, BYTES_LIMIT, "BYTES",
     "message (default 4M); in collectives of blocks what one rank sends to "
     "one rank"},
    {"max-ms", 0, CLI_TEXT, AT(max_ms), 0, 0, "MS,...",
     "longest bursts to try (default 0,10,20)"},
    {"hz", 0, CLI_REAL, AT(hz), 0.001, 1e4, "HZ",
     "bursts per second and rank (default 10)"},
    {"one-rank", 0, CLI_COUNT, AT(delay_rank), 0, NOISE_RANKS_MAX, "RANK",
     "delay this rank only; show each rank's delay"},
    {"delay-ms", 0, CLI_REAL, AT(delay_ms), 0, 1e4, "MS",
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
    {"seconds", 0, CLI_REAL, AT(seconds), 0.001, 3600, "S",
     "time per run (default 2)"},
    {"warmup", 0, CLI_COUNT, AT(warmup), 0, 1e6, "N",
     "calls before measuring (default 10)"},
    {"check", 0, CLI_FLAG, AT(check), 0, 0, NULL, "verify the results"},
    {"seed", 0, CLI_COUNT, AT(seed), 0, UINT_MAX, "N", "of the noise"},
    {"limit", 0, CLI_REAL, AT(limit_s), 1, 86400, "S",
     "longest time of one run (default 120)"},
    {"csv", 0, CLI_TEXT, AT(csv), 0, 0, "FILE", "write all numbers there"},
    {"plot", 0, CLI_TEXT, AT(plot), 0, 0, "FILE.png",
     "draw the table (needs gnuplot)"},
};

static const struct cli_alias aliases[] = {{"iters", "iterations"}};

static const struct cli cli = {
    .usage = "[-n N] [-c COLL] [-s BYTES] [--max-ms 0,10,20] [options]\n"
             "  or:  xylem-noise [-n N] [-c COLL] [-s BYTES] --one-rank RANK "
             "[options]",
    .summary =
        "Shows what noise does to a collective. Every process is held up by "
        "bursts that take\na random time below --max-ms; the table says how "
        "much slower each implementation gets.\nWith --one-rank one process is "
        "held up once, in a binary tree unless --algorithm says\notherwise; "
        "the table says how much later each rank finishes. Both are done when "
        "--max-ms\nis given, too.\n\nxylem-noise starts the processes itself, "
        "on this machine. Implementations: event (xylem),\nlocal (the floor: a "
        "loop as long as a call of event's, without other ranks), waitall,\n"
        "blocking (trees over the network, waiting for all or each of the "
        "children), openmpi-tuned,\nopenmpi-adapt, mpich; those that "
        "bench/peers.sh makes: openmpi5-tuned, openmpi5-adapt,\nmpich5, intel; "
        "only when named, xylem through its MPI binding: xylem-openmpi, "
        "xylem-mpich,\nxylem-openmpi5, xylem-mpich5, xylem-intel. waitall, "
        "blocking and adapt have bcast and reduce only.",
    .options = table,
    .options_count = sizeof table / sizeof table[0],
    .aliases = aliases,
    .aliases_count = 1};

static enum cli_result names_resolve(const char *program,
                                     struct noise_options *options)
{
    if (!coll_parse(options->coll_name, &options->coll)) {
        cli_complain(program, "-c %s: there is no such collective",
                     options->coll_name);
        return CLI_BAD;
    }
    if (options->has_delay && options->algorithm == NULL &&
        registry_is_tree(default_tree, options->coll))
        options->algorithm = default_tree;
    if (options->algorithm != NULL && options->tuning.segment_bytes == 0)
        options->tuning.segment_bytes = forced_segment_bytes;
    if (options->algorithm != NULL &&
        !registry_is_tree(options->algorithm, options->coll)) {
        cli_complain(program,
                     "--algorithm %s: unknown; --algorithm list shows all",
                     options->algorithm);
        return CLI_BAD;
    }
    options->tuning.algorithm = options->algorithm;
    if (options->window != NULL &&
        !window_parse(options->window, &options->tuning)) {
        cli_complain(program,
                     "--window %s: expected N,M with 1 <= N <= M <= 64",
                     options->window);
        return CLI_BAD;
    }
    if (xyl_coll_traits(options->coll)->reduces &&
        options->bytes % sizeof(float) != 0) {
        cli_complain(program, "-s %zu: a reduction sums floats, 4 bytes each",
                     options->bytes);
        return CLI_BAD;
    }
    return CLI_RUN;
}

static enum cli_result levels_resolve(const char *program,
                                      struct noise_options *options)
{
    size_t i;

    if (options->max_ms == NULL && options->has_delay)
        return CLI_RUN;
    if (options->max_ms == NULL)
        options->max_ms = "0,10,20";
    options->levels_count =
        text_reals(options->max_ms, options->levels, NOISE_LEVELS_MAX);
    if (options->levels_count == 0) {
        cli_complain(program,
                     "--max-ms %s: expected 1 ... %d numbers, such as "
                     "0,10,20",
                     options->max_ms, NOISE_LEVELS_MAX);
        return CLI_BAD;
    }
    for (i = 0; i < options->levels_count; i++) {
        if (options->levels[i] >= 0 && options->levels[i] * options->hz <= 1000)
            continue;
        cli_complain(program,
                     "--max-ms %g at %g Hz: expected 0 ... %g, shorter than "
                     "the time from burst to burst",
                     options->levels[i], options->hz, 1000 / options->hz);
        return CLI_BAD;
    }
    return CLI_RUN;
}

static enum cli_result ranks_resolve(const char *program,
                                     struct noise_options *options)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (options->ranks == 0)
        options->ranks = cpus < 2                 ? 2
                         : cpus > NOISE_RANKS_MAX ? NOISE_RANKS_MAX
                                                  : (unsigned)cpus;
    if (options->root >= options->ranks) {
        cli_complain(program, "--root %u: the ranks are 0 ... %u",
                     options->root, options->ranks - 1);
        return CLI_BAD;
    }
    if (options->has_delay && options->delay_rank >= options->ranks) {
        cli_complain(program, "--one-rank %u: the ranks are 0 ... %u",
                     options->delay_rank, options->ranks - 1);
        return CLI_BAD;
    }
    return CLI_RUN;
}

enum cli_result noise_options_parse(const char *program, int argc, char **argv,
                                    struct noise_options *options_out)
{
    struct cli command_line = cli;
    struct noise_options options = {.coll_name = "bcast",
                                    .bytes = (size_t)4 << 20,
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
    result = names_resolve(program, &options);
    if (result == CLI_RUN)
        result = levels_resolve(program, &options);
    if (result == CLI_RUN)
        result = ranks_resolve(program, &options);
    if (result == CLI_RUN)
        *options_out = options;
    return result;
}
