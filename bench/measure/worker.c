/* A rank of a benchmark. One thread. */
#include "bench/measure/worker.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/common/results.h"
#include "bench/common/text.h"
#include "bench/measure/coll_data.h"
#include "bench/measure/places.h"
#include "bench/measure/worker_options.h"
#include "bench/measure/workload.h"

enum { BYTES_COLUMN_WIDTH = 12 };

struct worker {
    const char *program;
    const struct worker_options *options;
    struct workload work;
    uint32_t rank;
    uint32_t ranks;
    uint64_t wrong;
    int is_refused;
    struct table table; /* rank 0 */
    struct results csv; /* rank 0; without --csv its file is -1 */
    struct workload_raw raw;
};

static const char *coll_name(const struct worker *worker)
{
    return xyl_coll_traits(worker->work.coll)->name;
}

static const char *mode_name(const struct worker_options *options)
{
    static const char *const modes[] = {[BENCH_BLOCKING] = "blocking",
                                        [BENCH_NONBLOCKING] = "nonblocking",
                                        [BENCH_PERSISTENT] = "persistent"};

    return modes[options->mode];
}

static void line_begin(const struct worker *worker, const char *kind)
{
    printf("%s %s impl=%s coll=%s bytes=%zu ranks=%u", WORKER_LINE_MARK, kind,
           worker->options->impl->name, coll_name(worker), worker->work.bytes,
           worker->ranks);
}

static void line_end(const struct workload_result *result)
{
    printf(" iterations=%u wrong=%llu\n", result->iterations,
           (unsigned long long)result->wrong);
    fflush(stdout);
}

static void line_times(const struct workload_result *result)
{
    printf(" min_us=%.3f avg_us=%.3f max_us=%.3f", result->us.min,
           result->us.avg, result->us.max);
}

/* The cells of a file's row behind its numbers: the options of the run. */
static void row_parameters(struct table *table, const struct worker *worker)
{
    const struct worker_options *options = worker->options;
    char settings[RESULTS_SETTINGS_BYTES];

    table_text(table, options->impl->name);
    table_count(table, worker->ranks);
    table_text(table, options->algorithm != NULL ? options->algorithm : "auto");
    table_count(table, options->tuning.segment_bytes);
    table_count(table, options->tuning.send_window);
    table_count(table, options->tuning.recv_window);
    if (options->rotate_roots)
        table_text(table, "all");
    else
        table_count(table, options->root);
    table_text(table, mode_name(options));
    table_count(table, options->under_way > 0 ? options->under_way : 1);
    table_text(table, options->back_to_back ? "no" : "yes");
    table_text(table, options->osu ? "one" : "rotated");
    table_text(table, options->consume ? "yes" : "no");
    table_text(table, options->alloc ? "yes" : "no");
    results_settings(settings);
    table_text(table, settings);
}

static void row(struct table *table, const struct worker *worker,
                const struct workload_result *result)
{
    const struct coll_part part = {.coll = worker->work.coll,
                                   .ranks = worker->ranks};
    double bytes = (double)worker->work.bytes * coll_blocks(&part);
    double mb_per_s = result->us.max > 0 ? bytes / result->us.max : 0;
    int is_on_device = worker->work.device != NULL;

    if (table == &worker->csv.table)
        table_text(table, coll_name(worker));
    table_count(table, worker->work.bytes);
    table_count(table, result->iterations);
    table_real(table, result->us.min, 2);
    table_real(table, result->us.avg, 2);
    table_real(table, result->us.max, 2);
    if (is_on_device) {
        table_real(table, mb_per_s / 1e3, 3);
        table_real(table, mb_per_s / 1e3 * coll_bus_share(&part), 3);
    } else {
        table_real(table, mb_per_s, 1);
    }
    if (worker->options->check)
        table_count(table, result->wrong);
    else
        table_text(table, "-");
    if (table == &worker->csv.table)
        row_parameters(table, worker);
}

#define PARAMETER_TITLES                                                       \
    "impl", "ranks", "algorithm", "segment", "send_window", "recv_window",     \
        "root", "mode", "under_way", "barriers", "buffers", "consume",         \
        "alloc", "settings"
enum { PARAMETERS = 14 };

/* The columns of a file; a table lacks the first one and the last PARAMETERS.
 */
static const char *const *titles_of(const struct worker *worker,
                                    unsigned *count_out)
{
    static const char *const plain[] = {"coll",   "bytes",  "calls",
                                        "min us", "avg us", "max us",
                                        "MB/s",   "wrong",  PARAMETER_TITLES};
    /* GB/s as nccl-tests count them. */
    static const char *const device[] = {
        "coll",   "bytes",      "calls",      "min us", "avg us",
        "max us", "algbw GB/s", "busbw GB/s", "wrong",  PARAMETER_TITLES};
    int is_on_device = worker->work.device != NULL;

    *count_out = is_on_device ? sizeof device / sizeof *device
                              : sizeof plain / sizeof *plain;
    return is_on_device ? device : plain;
}

/* Rank 0 prints the kind of measurement, and the titles. */
static void table_head(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    unsigned count;
    const char *const *titles = titles_of(worker, &count);

    if (worker->rank != 0 || options->lines ||
        options->experiment != WORKER_LATENCY)
        return;
    printf(
        "%s, implementation %s, %u rank%s, algorithm %s, %s calls, %s%s%s%s; "
        "bytes of each %s\n",
        coll_name(worker), options->impl->name, worker->ranks,
        text_plural(worker->ranks),
        options->algorithm != NULL ? options->algorithm : "auto",
        mode_name(options),
        options->back_to_back ? "back to back" : "a barrier before each",
        options->osu ? ", one buffer as in OSU's" : "",
        options->rotate_roots ? ", roots rotate" : "",
        options->consume ? ", results read" : "", coll_unit(worker->work.coll));
    /* The collective stands above. */
    table_begin(&worker->table, stdout, TABLE_ALIGNED, titles + 1,
                count - 1 - PARAMETERS, BYTES_COLUMN_WIDTH);
}

static xylem_status_t latency(struct worker *worker)
{
    struct workload_result result;
    xylem_status_t status = workload_latency(&worker->work, &result);

    if (status != XYLEM_OK || worker->rank != 0)
        return status;
    worker->wrong += result.wrong;
    if (worker->options->lines) {
        line_begin(worker, "latency");
        line_times(&result);
        line_end(&result);
    } else {
        row(&worker->table, worker, &result);
    }
    if (worker->csv.file >= 0) {
        row(&worker->csv.table, worker, &result);
        (void)results_commit(&worker->csv, 0); /* its end reports errors */
    }
    return status;
}

static xylem_status_t noise(struct worker *worker, const struct level *level)
{
    struct workload_result result;
    xylem_status_t status;

    worker->work.noise = level_noise(level, worker->options->seed);
    worker->raw.noise = level->name;
    status = workload_noise(&worker->work, &result);
    if (status != XYLEM_OK || worker->rank != 0)
        return status;
    worker->wrong += result.wrong;
    line_begin(worker, "noise");
    line_times(&result);
    printf(" noise=%s by=%s injected_percent=%.2f bursts=%.1f", level->name,
           noise_way_text(), result.injected_percent, result.bursts);
    if (worker->options->impl->room != NULL)
        printf(" room_bytes=%llu",
               (unsigned long long)worker->options->impl->room(
                   worker->work.state));
    if (worker->work.raw != NULL)
        printf(" p50_us=%.3f p99_us=%.3f most_us=%.3f", result.p50_us,
               result.p99_us, result.most_us);
    line_end(&result);
    return status;
}

static xylem_status_t delay(struct worker *worker)
{
    struct workload_finish *finish = NULL;
    struct workload_result result;
    xylem_status_t status;
    uint32_t i;

    if (worker->rank == 0) {
        finish = calloc(worker->ranks, sizeof *finish);
        if (finish == NULL) {
            fprintf(stderr, "%s: out of memory\n", worker->program);
            return XYLEM_ERR_NO_MEMORY;
        }
    }
    status = workload_delay(&worker->work, finish, &result);
    if (status == XYLEM_OK && worker->rank == 0) {
        worker->wrong += result.wrong;
        for (i = 0; i < worker->ranks; i++) {
            line_begin(worker, "delay");
            printf(" rank=%u plain_us=%.3f delayed_us=%.3f", i,
                   finish[i].plain_us, finish[i].delayed_us);
            line_end(&result);
        }
    }
    free(finish);
    return status;
}

/* 1: the implementation cannot do it; rank 0 prints why. */
static int is_refused(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    const struct bench_call call = {.coll = worker->work.coll,
                                    .bytes = worker->work.bytes,
                                    .root = worker->work.root};
    const char *why = options->impl->refusal(worker->work.state, &call);

    if (why == NULL)
        return 0;
    cli_complain(worker->program, "%s of %zu bytes by %s%s%s: %s",
                 coll_name(worker), call.bytes, options->impl->name,
                 options->algorithm != NULL ? ", algorithm " : "",
                 options->algorithm != NULL ? options->algorithm : "", why);
    worker->is_refused = 1;
    return 1;
}

static xylem_status_t measure_one(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    xylem_status_t status = XYLEM_OK;
    size_t i;

    switch (worker->options->experiment) {
    case WORKER_LATENCY:
        return latency(worker);
    case WORKER_NOISE:
        for (i = 0; i < options->levels.count && status == XYLEM_OK; i++)
            status = noise(worker, &options->levels.list[i]);
        return status;
    case WORKER_DELAY:
        return delay(worker);
    }
    return XYLEM_ERR_INTERNAL;
}

/* Measures one collective; a barrier has no size. A refusal ends the sizes. */
static xylem_status_t measure_sizes(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    int is_barrier = worker->work.coll == XYLEM_COLL_BARRIER;
    size_t i, count = is_barrier ? 1 : options->bytes_count;
    xylem_status_t status = XYLEM_OK;

    for (i = 0; i < count && status == XYLEM_OK; i++) {
        worker->work.bytes = is_barrier ? 0 : options->bytes[i];
        if (is_refused(worker))
            break;
        if (i == 0)
            table_head(worker);
        status = measure_one(worker);
    }
    return status;
}

static xylem_status_t measure(struct worker *worker)
{
    xylem_status_t status = XYLEM_OK;
    size_t i;

    for (i = 0; i < worker->options->colls_count && status == XYLEM_OK; i++) {
        worker->work.coll = worker->options->colls[i];
        status = measure_sizes(worker);
    }
    return status;
}

/* Measures, and compares clocks before and after. */
static xylem_status_t measure_aligned(struct worker *worker)
{
    const struct bench_impl *impl = worker->options->impl;
    struct clock_offset before, after;
    void *state = worker->work.state;
    xylem_status_t status = clocks_align(impl, state, &before);

    worker->raw.clock = before;
    worker->work.clock_ahead_ns = before.ahead_ns;
    if (status == XYLEM_OK)
        status = measure(worker);
    if (status == XYLEM_OK)
        status = clocks_align(impl, state, &after);
    return status == XYLEM_OK ? places_print(impl, state, &before, &after)
                              : status;
}

static int raw_begin(struct worker *worker)
{
    const struct worker_options *options = worker->options;

    if (options->raw == NULL || options->experiment != WORKER_NOISE)
        return 1;
    worker->work.raw = &worker->raw;
    return worker->rank != 0 ||
           raw_open(&worker->raw.file, worker->program, options->raw);
}

static int report_begin(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    unsigned count;
    const char *const *titles = titles_of(worker, &count);

    if (!raw_begin(worker))
        return 0;
    return worker->rank != 0 || options->csv == NULL ||
           options->experiment != WORKER_LATENCY ||
           results_open(&worker->csv, worker->program, options->csv, titles,
                        count, RESULTS_ADD);
}

/* Rank 0 opens the files, and tells the others whether it could. Returns the
 * exit code: CLI_EXIT_USAGE on all ranks if it could not. */
static int files_agree(struct worker *worker)
{
    const struct bench_impl *impl = worker->options->impl;
    int ok = report_begin(worker);

    if (!ok)
        raw_discard(&worker->raw.file);
    if (impl->bcast(worker->work.state, &ok, sizeof ok, 0) != XYLEM_OK)
        return EXIT_FAILURE;
    return ok ? EXIT_SUCCESS : CLI_EXIT_USAGE;
}

static int report_end(struct worker *worker)
{
    if (!raw_close(&worker->raw.file, worker->program))
        return 0;
    if (!results_close(&worker->csv))
        return 0;
    if (worker->wrong > 0)
        fprintf(stderr, "%s: %llu elements of the results were wrong\n",
                worker->program, (unsigned long long)worker->wrong);
    return worker->wrong == 0;
}

static int ranks_check(const struct worker *worker)
{
    const struct worker_options *options = worker->options;
    const char *name = NULL;
    uint32_t rank = 0;

    if (options->root >= worker->ranks) {
        name = "root";
        rank = options->root;
    } else if (options->experiment == WORKER_DELAY &&
               options->delay_rank >= worker->ranks) {
        name = "one-rank";
        rank = options->delay_rank;
    }
    if (name != NULL)
        cli_complain(worker->program, "--%s %u: the ranks are 0 ... %u", name,
                     rank, worker->ranks - 1);
    return name == NULL;
}

static int run(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    xylem_status_t status;
    int code;

    worker->work =
        (struct workload){.impl = options->impl,
                          .state = worker->work.state,
                          .root = options->root,
                          .rotate_roots = (int)options->rotate_roots,
                          .warmup = options->warmup,
                          .iterations = options->iterations,
                          .seconds = options->seconds,
                          .buffers = options->buffers,
                          .own_memory = (int)options->alloc,
                          .memory = (enum bench_memory)options->memory,
                          .device = worker->work.device,
                          .check = (int)options->check,
                          .osu = (int)options->osu,
                          .consume = (int)options->consume,
                          .back_to_back = (int)options->back_to_back,
                          .under_way = options->under_way,
                          .noise_way = (enum noise_way)options->noise_way,
                          .delay_rank = options->delay_rank,
                          .delay_us = options->delay_ms * 1e3};
    code = files_agree(worker);
    if (code != EXIT_SUCCESS)
        return code;
    status = options->experiment == WORKER_NOISE ? measure_aligned(worker)
                                                 : measure(worker);
    if (status != XYLEM_OK) {
        fprintf(stderr, "%s: rank %u: %s of %zu bytes by %s failed\n",
                worker->program, worker->rank, coll_name(worker),
                worker->work.bytes, options->impl->name);
        raw_discard(&worker->raw.file);
        return EXIT_FAILURE;
    }
    if (!report_end(worker))
        return EXIT_FAILURE;
    return worker->is_refused ? CLI_EXIT_USAGE : EXIT_SUCCESS;
}

int worker_main(const struct worker_program *program, int argc, char **argv)
{
    struct worker_options options;
    struct worker worker = {
        .program = program->name, .options = &options, .csv = {.file = -1}};
    const struct bench_impl *impl;
    void *state;
    int code = CLI_EXIT_USAGE;
    enum cli_result parsed;

    parsed = worker_options_parse(program, argc, argv, &options);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    if (options.tasks)
        return program->tasks(program->name, &options);
    impl = options.impl;
    if (impl->open(&options.tuning, &state) != XYLEM_OK)
        return EXIT_FAILURE;
    worker.work.state = state;
    worker.rank = impl->rank(state);
    worker.ranks = impl->size(state);
    if (options.memory != BENCH_MEMORY_HOST &&
        device_open(worker.rank, &worker.work.device) != XYLEM_OK)
        code = EXIT_FAILURE;
    else if (ranks_check(&worker))
        code = run(&worker);
    /* After a failure the other ranks may be stuck in a call, and waiting for
     * them would be one more hang: let the launcher clear the job. */
    if (code != EXIT_FAILURE || worker.wrong > 0)
        impl->close(state);
    device_close(worker.work.device);
    return code;
}
