/* A rank of a benchmark. One thread. */
#include "bench/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stats.h"
#include "bench/worker_options.h"
#include "bench/workload.h"

enum { BYTES_COLUMN_WIDTH = 12 };

struct worker {
    const char *program;
    const struct worker_options *options;
    struct workload work;
    uint32_t rank;
    uint32_t ranks;
    uint64_t wrong;
    struct table table; /* rank 0 */
    struct table csv;   /* rank 0; out is NULL without --csv */
};

static void line_begin(const struct worker *worker, const char *kind)
{
    printf("%s %s impl=%s coll=%s bytes=%zu ranks=%u", WORKER_LINE_MARK, kind,
           worker->options->impl->name, worker->options->coll_name,
           worker->work.bytes, worker->ranks);
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

static void row(struct table *table, const struct worker *worker,
                const struct workload_result *result)
{
    double mb_per_s =
        result->us.max > 0 ? (double)worker->work.bytes / result->us.max : 0;

    table_count(table, worker->work.bytes);
    table_count(table, result->iterations);
    table_real(table, result->us.min, 2);
    table_real(table, result->us.avg, 2);
    table_real(table, result->us.max, 2);
    table_real(table, mb_per_s, 1);
    if (worker->options->check)
        table_count(table, result->wrong);
    else
        table_text(table, "-");
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
    if (worker->csv.out != NULL)
        row(&worker->csv, worker, &result);
    return status;
}

static xylem_status_t noise(struct worker *worker)
{
    struct workload_result result;
    xylem_status_t status = workload_noise(&worker->work, &result);

    if (status != XYLEM_OK || worker->rank != 0)
        return status;
    worker->wrong += result.wrong;
    line_begin(worker, "noise");
    line_times(&result);
    printf(" max_ms=%g hz=%g injected_percent=%.2f bursts=%.1f",
           worker->options->max_ms, worker->options->hz,
           result.injected_percent, result.bursts);
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

static xylem_status_t measure(struct worker *worker)
{
    const struct worker_options *options = worker->options;
    xylem_status_t status = XYLEM_OK;
    size_t bytes;

    for (bytes = options->bytes_first;
         bytes <= options->bytes_last && status == XYLEM_OK; bytes *= 2) {
        worker->work.bytes = bytes;
        switch (options->mode) {
        case WORKER_LATENCY:
            status = latency(worker);
            break;
        case WORKER_NOISE:
            status = noise(worker);
            break;
        case WORKER_DELAY:
            status = delay(worker);
            break;
        }
    }
    return status;
}

static int csv_open(struct worker *worker)
{
    const char *path = worker->options->csv;

    if (path == NULL || worker->options->mode != WORKER_LATENCY)
        return 1;
    worker->csv.out = fopen(path, "w");
    if (worker->csv.out == NULL)
        fprintf(stderr, "%s: cannot write %s: %s\n", worker->program, path,
                strerror(errno));
    return worker->csv.out != NULL;
}

/* Rank 0 prints what is measured, and the titles. */
static int report_begin(struct worker *worker)
{
    static const char *const titles[] = {"bytes",  "calls", "min us", "avg us",
                                         "max us", "MB/s",  "wrong"};
    const struct worker_options *options = worker->options;
    unsigned columns = sizeof titles / sizeof titles[0];

    if (worker->rank != 0)
        return 1;
    if (!csv_open(worker))
        return 0;
    if (worker->csv.out != NULL)
        table_begin(&worker->csv, worker->csv.out, TABLE_CSV, titles, columns,
                    0);
    if (options->lines || options->mode != WORKER_LATENCY)
        return 1;
    printf("%s, implementation %s, %u ranks, algorithm %s, %s\n",
           options->coll_name, options->impl->name, worker->ranks,
           options->algorithm != NULL ? options->algorithm : "auto",
           options->back_to_back ? "calls back to back"
                                 : "a barrier before each call");
    table_begin(&worker->table, stdout, TABLE_ALIGNED, titles, columns,
                BYTES_COLUMN_WIDTH);
    return 1;
}

static int report_end(struct worker *worker)
{
    if (worker->csv.out != NULL &&
        (ferror(worker->csv.out) || fclose(worker->csv.out) != 0)) {
        fprintf(stderr, "%s: could not write all of %s\n", worker->program,
                worker->options->csv);
        return 0;
    }
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
    } else if (options->mode == WORKER_DELAY &&
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

    worker->work = (struct workload){.impl = options->impl,
                                     .state = worker->work.state,
                                     .coll = options->coll,
                                     .root = options->root,
                                     .warmup = options->warmup,
                                     .iterations = options->iterations,
                                     .seconds = options->seconds,
                                     .buffers = options->buffers,
                                     .check = (int)options->check,
                                     .back_to_back = (int)options->back_to_back,
                                     .noise = {.hz = options->hz,
                                               .max_ms = options->max_ms,
                                               .seed = options->seed,
                                               .rank = worker->rank},
                                     .delay_rank = options->delay_rank,
                                     .delay_us = options->delay_ms * 1e3};
    if (!report_begin(worker))
        return EXIT_FAILURE;
    status = measure(worker);
    if (status != XYLEM_OK) {
        fprintf(stderr, "%s: rank %u: %s of %zu bytes by %s failed\n",
                worker->program, worker->rank, options->coll_name,
                worker->work.bytes, options->impl->name);
        return EXIT_FAILURE;
    }
    return report_end(worker) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int worker_main(const struct worker_program *program, int argc, char **argv)
{
    struct worker_options options;
    struct worker worker = {.program = program->name, .options = &options};
    const struct bench_impl *impl;
    void *state;
    int code = CLI_EXIT_USAGE;

    switch (worker_options_parse(program, argc, argv, &options)) {
    case CLI_HELP:
        return EXIT_SUCCESS;
    case CLI_BAD:
        return CLI_EXIT_USAGE;
    case CLI_RUN:
        break;
    }
    impl = options.impl;
    if (impl->open(&options.tuning, &state) != XYLEM_OK)
        return EXIT_FAILURE;
    worker.work.state = state;
    worker.rank = impl->rank(state);
    worker.ranks = impl->size(state);
    if (ranks_check(&worker))
        code = run(&worker);
    /* After a failure the other ranks may be stuck in a call, and waiting for
     * them would be one more hang: let the launcher clear the job. */
    if (code != EXIT_FAILURE || worker.wrong > 0)
        impl->close(state);
    return code;
}
