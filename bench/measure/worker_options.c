/* The options of a rank. One thread. */
#include "bench/measure/worker_options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/impl_name.h"
#include "bench/common/text.h"
#include "bench/measure/buffers.h"
#include "bench/measure/noise.h"
#include "bench/measure/window.h"

#define AT(member)  offsetof(struct worker_options, member)
#define BYTES_LIMIT 1099511627776.0 /* 1 TiB */

static const struct cli_option table[] = {
    {"coll", 'c', CLI_TEXT, AT(coll_name), 0, 0, "COLL,...",
     "bcast, reduce, allreduce, barrier, gather(v), scatter(v), allgather(v), "
     "alltoall(v, w), reduce_scatter(_block), scan, exscan, "
     "neighbor_allgather; several one after "
     "the other"},
    {"begin", 'b', CLI_BYTES, AT(bytes_first), 1, BYTES_LIMIT, "BYTES",
     "smallest size (default 4): of the message of bcast, reduce, allreduce, "
     "scan and exscan; of what one rank sends to one rank in all others"},
    {"end", 'e', CLI_BYTES, AT(bytes_last), 1, BYTES_LIMIT, "BYTES",
     "largest size (default 4M); sizes double"},
    {"sizes", 0, CLI_TEXT, AT(sizes), 0, 0, "BYTES,...",
     "these sizes instead of -b ... -e"},
    {"iterations", 'i', CLI_COUNT, AT(iterations), 0, 1e7, "N",
     "calls per size (default 0: what fits --seconds)"},
    {"seconds", 0, CLI_S, AT(seconds), 0.001, 3600, "S",
     "time per size when -i is 0 (default 0.5)"},
    {"warmup", 0, CLI_COUNT, AT(warmup), 0, 1e6, "N",
     "calls before measuring (default 10)"},
    {"impl", 0, CLI_TEXT, AT(impl_name), 0, 0, "NAME",
     "which implementation to measure"},
    {"mode", 0, CLI_WORD, AT(mode), 0, 0, WORKER_MODES,
     "how calls are made (default blocking)"},
    {"under-way", 0, CLI_COUNT, AT(under_way), 1, BUFFERS_MAX, "K",
     "back to back, or under noise: start up to K calls before the first is "
     "waited for (default 1)"},
    {"algorithm", 0, CLI_TEXT, AT(algorithm), 0, 0, "A",
     "such as knomial:4 or ring; list shows those of -c, or all"},
    {"segment", 0, CLI_BYTES, AT(tuning.segment_bytes), 0, BYTES_LIMIT, "BYTES",
     "segment size (default 0: the library's choice)"},
    {"window", 0, CLI_TEXT, AT(window), 0, 0, "N,M",
     "sends in flight and receives posted per peer"},
    {"root", 0, CLI_COUNT, AT(root), 0, UINT_MAX, "RANK", "default 0"},
    {"rotate-roots", 0, CLI_FLAG, AT(rotate_roots), 0, 0, NULL,
     "--root is the first call's, and each call has the next rank as its "
     "root"},
    {"buffers", 0, CLI_COUNT, AT(buffers), 0, BUFFERS_MAX, "N",
     "rotated buffers (default 0: more than the cache)"},
    {"alloc", 0, CLI_FLAG, AT(alloc), 0, 0, NULL,
     "buffers that other ranks of the node can read"},
    {"mem", 0, CLI_WORD, AT(memory), 0, 0, BENCH_MEMORIES,
     "where buffers lie: the host, a GPU, or a GPU with copies to the host "
     "and back around each call (default host)"},
    {"back-to-back", 0, CLI_FLAG, AT(back_to_back), 0, 0, NULL,
     "no barrier between calls"},
    {"osu", 0, CLI_FLAG, AT(osu), 0, 0, NULL,
     "as OSU's benchmarks: the same buffers in every call, which nobody "
     "writes, "
     "the implementation's barrier between calls, means instead of medians"},
    {"consume", 0, CLI_FLAG, AT(consume), 0, 0, NULL,
     "read the result after each call, as a part of its time"},
    {"check", 0, CLI_FLAG, AT(check), 0, 0, NULL, "verify the results"},
    {"csv", 0, CLI_TEXT, AT(csv), 0, 0, "FILE", "write the table there, too"},
    {"raw", 0, CLI_TEXT, AT(raw), 0, 0, "FILE",
     "under noise: write every call of every rank there"},
    {"max-ms", 0, CLI_TEXT, AT(max_ms), 0, 0, "MS,...",
     "measure under noise: longest bursts"},
    {"noise", 0, CLI_TEXT, AT(noise), 0, 0, "SPEC;...",
     "measure under noise in the language of xylem-sim, or none"},
    {"hz", 0, CLI_REAL, AT(hz), 0, 1e4, "HZ", "bursts per second (default 10)"},
    {"by", 0, CLI_WORD, AT(noise_way), 0, 0, NOISE_WAYS,
     "how noise is injected (default signal)"},
    {"call-us", 0, CLI_US, AT(tuning.call_us), 0, 1e8, "US",
     "what a call of implementation local takes"},
    {"seed", 0, CLI_COUNT, AT(seed), 0, UINT_MAX, "N", "of the noise"},
    {"one-rank", 0, CLI_COUNT, AT(delay_rank), 0, UINT_MAX - 1.0, "RANK",
     "measure how a delay of this rank spreads"},
    {"delay-ms", 0, CLI_MS, AT(delay_ms), 0, 1e4, "MS",
     "that delay (default 1)"},
    {"tasks", 0, CLI_FLAG, AT(tasks), 0, 0, NULL,
     "time the tasks of HAN (ib, sb, sbib, ...) per segment size -b ... -e; "
     "several nodes, bcast or allreduce"},
    {"lines", 0, CLI_FLAG, AT(lines), 0, 0, NULL,
     "print lines for programs, no table"},
};

/* Letters of other programs, too: -n is the number of ranks there. */
static const struct cli_alias aliases[] = {{"n", "iterations"}};

static const struct worker_options defaults = {.bytes_first = 4,
                                               .bytes_last = (size_t)4 << 20,
                                               .warmup = 10,
                                               .seconds = 0.5,
                                               .hz = 10,
                                               .delay_rank = UINT_MAX,
                                               .delay_ms = 1};

static const struct bench_impl *impl_find(const struct worker_program *program,
                                          const char *name)
{
    size_t i;

    if (name == NULL)
        return program->impls[0];
    for (i = 0; i < program->impls_count; i++) {
        if (impl_name_is(program->impls[i]->name, name, strlen(name)))
            return program->impls[i];
    }
    return NULL;
}

/* The implementation says whether there is one of that name. */
static void algorithm_resolve(struct worker_options *options)
{
    static const char choice_of_library[] = "auto";

    if (options->algorithm != NULL &&
        strcmp(options->algorithm, choice_of_library) != 0)
        options->tuning.algorithm = options->algorithm;
}

static enum cli_result names_resolve(const struct worker_program *program,
                                     struct worker_options *options)
{
    const char *name = program->name;

    if (options->coll_name == NULL)
        return cli_complain(name, "-c COLL is missing; see --help");
    options->colls_count = coll_list(options->coll_name, options->colls);
    if (options->colls_count == 0)
        return cli_complain(name,
                            "-c %s: there is no such collective; see --help",
                            options->coll_name);
    options->impl = impl_find(program, options->impl_name);
    if (options->impl == NULL)
        return cli_complain(name,
                            "--impl %s: this program has no such "
                            "implementation",
                            options->impl_name);
    options->tuning.mode = (enum bench_mode)options->mode;
    if (options->window != NULL &&
        !window_parse(options->window, &options->tuning))
        return cli_complain(name,
                            "--window %s: expected N,M with 1 <= N <= M <= 64",
                            options->window);
    algorithm_resolve(options);
    return CLI_RUN;
}

/* Doubling ones, unless there is a list. */
static enum cli_result sizes_resolve(const struct worker_program *program,
                                     struct worker_options *options)
{
    size_t bytes = options->bytes_first;

    if (options->sizes != NULL) {
        options->bytes_count =
            text_sizes(options->sizes, options->bytes, WORKER_SIZES_MAX);
        if (options->bytes_count > 0)
            return CLI_RUN;
        return cli_complain(program->name,
                            "--sizes %s: expected 1 ... %d sizes",
                            options->sizes, WORKER_SIZES_MAX);
    }
    if (options->bytes_first > options->bytes_last)
        return cli_complain(program->name, "-b %zu is larger than -e %zu",
                            options->bytes_first, options->bytes_last);
    /* -e is below 2^41, so there is room. */
    for (; bytes <= options->bytes_last; bytes *= 2)
        options->bytes[options->bytes_count++] = bytes;
    return CLI_RUN;
}

/* A sum needs whole elements. */
static enum cli_result sums_check(const struct worker_program *program,
                                  const struct worker_options *options)
{
    int reduces = 0;
    size_t i;

    for (i = 0; i < options->colls_count; i++)
        reduces |= xyl_coll_traits(options->colls[i])->reduces;
    for (i = 0; reduces && i < options->bytes_count; i++) {
        if (options->bytes[i] % sizeof(float) == 0)
            continue;
        return cli_complain(program->name,
                            "%zu bytes: a reduction sums floats, 4 bytes each",
                            options->bytes[i]);
    }
    return CLI_RUN;
}

static enum cli_result levels_resolve(const struct worker_program *program,
                                      struct worker_options *options)
{
    return levels_parse(program->name, options->max_ms, options->hz,
                        options->noise, &options->levels)
               ? CLI_RUN
               : CLI_BAD;
}

static enum cli_result combination_check(const struct worker_program *program,
                                         struct worker_options *options)
{
    const char *name = program->name;
    int is_noise = options->max_ms != NULL || options->noise != NULL;
    int is_delay = options->delay_rank != UINT_MAX;

    if (options->osu && (options->check || options->buffers > 1))
        return cli_complain(name,
                            "--osu takes neither --check nor --buffers: nobody "
                            "writes its one buffer");
    if (options->memory != BENCH_MEMORY_HOST &&
        (options->back_to_back || options->alloc || options->osu ||
         options->consume || is_noise || is_delay))
        return cli_complain(
            name, "--mem takes none of --back-to-back, --alloc, --osu, "
                  "--consume, --max-ms and --one-rank");
    if (options->under_way > 1 &&
        (options->mode == BENCH_BLOCKING || options->osu))
        return cli_complain(name, "--under-way takes --mode nonblocking or "
                                  "persistent, and no --osu");
    if (options->tasks && program->tasks == NULL)
        return cli_complain(name, "--tasks: this program has none");
    if (options->tasks && (is_noise || is_delay))
        return cli_complain(name, "--tasks takes neither noise nor --one-rank");
    if (is_noise && is_delay)
        return cli_complain(name, "noise and --one-rank are two experiments");
    options->experiment = is_noise   ? WORKER_NOISE
                          : is_delay ? WORKER_DELAY
                                     : WORKER_LATENCY;
    return CLI_RUN;
}

/* For --algorithm list. */
static enum cli_result algorithms_list(const struct worker_program *program,
                                       const struct worker_options *options)
{
    xylem_coll_t coll = XYLEM_COLL_COUNT;

    if (options->coll_name != NULL && !coll_parse(options->coll_name, &coll))
        return cli_complain(program->name,
                            "-c %s: there is no such collective; see --help",
                            options->coll_name);
    if (program->algorithms_print == NULL)
        return cli_complain(program->name,
                            "there are no algorithms to choose from");
    program->algorithms_print(stdout, coll);
    return CLI_HELP;
}

enum cli_result worker_options_parse(const struct worker_program *program,
                                     int argc, char **argv,
                                     struct worker_options *options_out)
{
    const struct cli cli = {.program = program->name,
                            .usage =
                                "-c COLL [-b BEGIN] [-e END] [-i N] [options]",
                            .summary = program->summary,
                            .options = table,
                            .options_count = sizeof table / sizeof table[0],
                            .aliases = aliases,
                            .aliases_count = 1};
    struct worker_options options = defaults;
    enum cli_result result = cli_parse(&cli, argc, argv, &options);

    if (result != CLI_RUN)
        return result;
    if (options.algorithm != NULL && strcmp(options.algorithm, "list") == 0)
        return algorithms_list(program, &options);
    result = names_resolve(program, &options);
    if (result == CLI_RUN)
        result = sizes_resolve(program, &options);
    if (result == CLI_RUN)
        result = sums_check(program, &options);
    if (result == CLI_RUN)
        result = levels_resolve(program, &options);
    if (result == CLI_RUN)
        result = combination_check(program, &options);
    if (result == CLI_RUN)
        *options_out = options;
    return result;
}
