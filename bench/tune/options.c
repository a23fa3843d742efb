#include "bench/tune/options.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/text.h"

#define AT(member) offsetof(struct tune_options, member)

static const char name[] = "xylem-tune";
static const double bytes_limit = 1099511627776.0; /* 1 TiB */
static const size_t bytes_first = 8;
/* From the size of the shortest rule for memory of GPUs on, ranks ask each
 * other where buffers lie, also if these are the host's. */
static const size_t gpu_bytes_first = 1024;

static const struct cli_option table[] = {
    {"output", 'o', CLI_TEXT, AT(output), 0, 0, "FILE",
     "the table to write (default xylem-tuning.json); FILE.times keeps what "
     "has "
     "been measured, so that the same command goes on where it was broken off"},
    {"coll", 'c', CLI_TEXT, AT(coll_name), 0, 0, "COLL,...",
     "collectives (default all of which the library knows the sizes)"},
    {"begin", 'b', CLI_BYTES, AT(bytes_first), 4, 1099511627776.0, "BYTES",
     "smallest size (default 8; with --mem cuda 1K)"},
    {"end", 'e', CLI_BYTES, AT(bytes_last), 4, 1099511627776.0, "BYTES",
     "largest size (default 4M); sizes grow by factors of 4"},
    {"sizes", 0, CLI_TEXT, AT(sizes_text), 0, 0, "BYTES,...",
     "these, rising, instead of -b ... -e"},
    {"minutes", 0, CLI_MIN, AT(minutes), 0.001, 1e5, "M",
     "stop measuring after that long (default 10)"},
    {"seconds", 0, CLI_S, AT(seconds), 0.0001, 60, "S",
     "time for one plan and size, if calls are short (default 0.02)"},
    {"mem", 0, CLI_WORD, AT(memory), 0, 0, "host|cuda",
     "where buffers lie; cuda: in memory of GPUs, one for each rank in turn "
     "(default host)"},
    {"exhaustive", 0, CLI_FLAG, AT(exhaustive), 0, 0, NULL,
     "measure every plan for every size, instead of few sizes of each, by "
     "which "
     "a model of their cost tells the rest"},
    {"heuristics", 0, CLI_FLAG, AT(heuristics), 0, 0, NULL,
     "pass over plans that seldom are the best"},
    {"confirm", 0, CLI_COUNT, AT(confirm), 0, 100, "N",
     "plans to measure of each size at most, the best by the model (default "
     "16)"},
    {"arrivals", 0, CLI_TEXT, AT(arrivals_text), 0, 0, "WHICH,...",
     "how ranks come to their calls: synchronised, random (up to twice as late "
     "as a call takes) and late (one of them); rules for the latter two hold "
     "where XYLEM_ARRIVALS says so (default synchronised)"},
    {"plans", 0, CLI_TEXT, AT(plans), 0, 0, "TEXT",
     "those alone whose names begin so, as in han:1/"},
    {"csv", 0, CLI_TEXT, AT(csv), 0, 0, "FILE",
     "write what the model expects of every plan and size, and what is "
     "measured"},
    {"all", 0, CLI_FLAG, AT(all), 0, 0, NULL,
     "write rules also where the built-in table is as good"},
    {"simulate", 'm', CLI_TEXT, AT(machine), 0, 0, "MACHINE",
     "on simulated ranks of this machine (a name that xylem-sim knows, or a "
     "file), instead of the ranks of this job"},
    {"nodes", 'N', CLI_TEXT, AT(nodes_text), 0, 0, "N,...",
     "simulated nodes (default 2)"},
    {"ppn", 'p', CLI_TEXT, AT(node_ranks_text), 0, 0, "P,...",
     "simulated ranks on each node (default 2)"},
    {"quiet", 'q', CLI_FLAG, AT(quiet), 0, 0, NULL,
     "show no progress, nor what was learnt"},
    {"command", 0, CLI_REST, AT(words), 0, 0, NULL, NULL},
};

static const struct cli cli = {
    .program = name,
    .usage =
        "[-c COLL,...] [-o FILE] [options]\n"
        "       xylem-run -n N xylem-tune [options]\n"
        "       xylem-tune show|check FILE\n"
        "       xylem-tune diff FILE FILE\n"
        "       xylem-tune plot FILE... (to xylem-tuning.png)\n"
        "       xylem-tune [-o FILE] learn FILE.RANK... (of "
        "XYLEM_TUNING_LEARN=FILE; into a table)\n"
        "       xylem-tune merge FILE FILE... (the first wins; to standard "
        "output)",
    .summary = "Finds the fastest plan of each collective and size on this "
               "machine, and writes them\nas a table that XYLEM_TUNING=FILE "
               "makes programs use.\n",
    .options = table,
    .options_count = sizeof table / sizeof table[0],
};

static const struct tune_options defaults = {
    .program = name,
    .output = "xylem-tuning.json",
    .coll_name = "all",
    .arrivals_text = "synchronised",
    .bytes_last = (size_t)4 << 20,
    .minutes = 10,
    .seconds = 0.02,
    .confirm = 16,
    .nodes_text = "2",
    .node_ranks_text = "2",
};

static int are_rising(const size_t *values, size_t count, size_t most)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (values[i] == 0 || values[i] > most ||
            (i > 0 && values[i] <= values[i - 1]))
            return 0;
    return count > 0;
}

/* Whole elements of reductions. */
static int sizes_resolve(struct tune_options *options)
{
    size_t bytes = options->bytes_first, i;

    if (bytes == 0)
        bytes = options->memory == BENCH_MEMORY_CUDA ? gpu_bytes_first
                                                     : bytes_first;
    if (options->sizes_text != NULL)
        options->bytes_count =
            text_sizes(options->sizes_text, options->bytes, TUNE_SIZES_MAX);
    for (; options->sizes_text == NULL && bytes <= options->bytes_last;
         bytes *= 4)
        options->bytes[options->bytes_count++] = bytes;
    for (i = 0; i < options->bytes_count; i++)
        if (options->bytes[i] % sizeof(float) != 0)
            return 0;
    return are_rising(options->bytes, options->bytes_count,
                      (size_t)bytes_limit);
}

static int take_arrivals(void *values, size_t index, const char *part)
{
    enum tune_arrivals *arrivals = values;
    int i;

    for (i = 0; i < TUNE_ARRIVALS; i++)
        if (strcmp(part, tune_arrivals_name[i]) == 0) {
            arrivals[index] = (enum tune_arrivals)i;
            return 1;
        }
    return 0;
}

/* 1: the library knows the sizes when it chooses. */
static int has_sizes(xylem_coll_t coll)
{
    return !xyl_coll_varies(coll) || coll == XYLEM_COLL_ALLGATHERV ||
           coll == XYLEM_COLL_REDUCE_SCATTER;
}

/* Removes collectives whose sizes the library does not know from "all"; 0: the
 * user has named one. */
static int colls_resolve(struct tune_options *options)
{
    size_t i, kept = 0;

    for (i = 0; i < options->colls_count; i++)
        if (has_sizes(options->colls[i]))
            options->colls[kept++] = options->colls[i];
        else if (strcmp(options->coll_name, "all") != 0)
            return 0;
    options->colls_count = kept;
    return 1;
}

static enum cli_result resolve(struct tune_options *options)
{
    enum { COUNT_MAX = 1 << 16 };

    options->colls_count = coll_list(options->coll_name, options->colls);
    options->arrivals_count = text_list(options->arrivals_text, take_arrivals,
                                        options->arrivals, TUNE_ARRIVALS);
    options->nodes_count =
        text_sizes(options->nodes_text, options->nodes, TUNE_COUNTS_MAX);
    options->node_ranks_count = text_sizes(
        options->node_ranks_text, options->node_ranks, TUNE_COUNTS_MAX);
    if (options->colls_count == 0)
        cli_complain(name,
                     "-c %s: there is no such collective; xylem-bench "
                     "--help lists them",
                     options->coll_name);
    else if (!colls_resolve(options))
        cli_complain(name,
                     "-c %s: the library chooses without knowing the sizes of "
                     "gatherv, scatterv, alltoallv, alltoallw and neighbor_...",
                     options->coll_name);
    else if (options->memory != BENCH_MEMORY_HOST && options->machine != NULL)
        cli_complain(name, "--mem cuda: simulated ranks have no GPUs");
    else if (options->arrivals_count == 0)
        cli_complain(name,
                     "--arrivals %s: expected synchronised, random or late",
                     options->arrivals_text);
    else if (!sizes_resolve(options))
        cli_complain(name, "sizes must be rising multiples of 4, at most %d",
                     TUNE_SIZES_MAX);
    else if (!are_rising(options->nodes, options->nodes_count, COUNT_MAX) ||
             !are_rising(options->node_ranks, options->node_ranks_count,
                         COUNT_MAX))
        cli_complain(name, "-N %s -p %s: expected rising numbers",
                     options->nodes_text, options->node_ranks_text);
    else
        return CLI_RUN;
    return CLI_BAD;
}

enum cli_result tune_options_parse(int argc, char **argv, char **words,
                                   struct tune_options *options_out)
{
    struct tune_options options = defaults;
    enum cli_result result;

    words[0] = NULL;
    options.words = words;
    result = cli_parse(&cli, argc, argv, &options);
    if (result == CLI_RUN && (options.words == NULL || *options.words == NULL))
        result = resolve(&options);
    *options_out = options;
    return result;
}
