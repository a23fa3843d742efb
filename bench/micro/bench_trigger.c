/* The gain of triggers: threads compute the input of a broadcast or an
 * allreduce tile by tile. In turns, a call follows when all input is there, a
 * trigger releases segments as tiles come, and the threads only compute. Then
 * the cost of a count, and of a record of a proxy. Run it on two ranks or more.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/cli.h"
#include "bench/measure/stats.h"
#include "include/xylem_device.h"
#include "runtime/base/clock.h"

enum { ROUNDS_MAX = 10000, THREADS_MAX = 256, COUNTS = 100000 };

enum mode { COMPUTE, AFTER, TRIGGERS, MODES };

struct settings {
    unsigned coll; /* 0: bcast, 1: allreduce */
    size_t bytes, tile, segment;
    unsigned threads, work, rounds;
};

struct bench {
    struct settings settings;
    xylem_context_t *context;
    xylem_team_t *team;
    xylem_request_t *requests[MODES]; /* of AFTER and TRIGGERS */
    xylem_trigger_t *trigger;         /* NULL: this rank has no input */
    float *input, *result;
    pthread_barrier_t begin, end; /* of the threads' part */
    enum mode mode;
    int is_over;
    double (*times)[ROUNDS_MAX]; /* [MODES], of the slowest rank, in us */
};

static void must(xylem_status_t status, const char *what)
{
    if (status == XYLEM_OK)
        return;
    fprintf(stderr, "bench_trigger: %s: %s\n", what, xylem_last_error());
    exit(EXIT_FAILURE);
}

/* ---- computing ---- */

static int has_input(const struct bench *bench)
{
    return bench->settings.coll == 1 || xylem_team_rank(bench->team) == 0;
}

static void compute_tile(struct bench *bench, size_t at, size_t bytes)
{
    size_t i, first = at / sizeof *bench->input;
    unsigned step;

    for (i = first; i < first + bytes / sizeof *bench->input; i++) {
        float x = (float)(i % 1000);
        for (step = 0; step < bench->settings.work; step++)
            x = x * 0.5f + 1;
        bench->input[i] = x;
    }
}

/* Every threads-th tile. */
static void compute(struct bench *bench, unsigned thread)
{
    const struct settings *s = &bench->settings;
    size_t at, bytes;

    for (at = thread * s->tile; at < s->bytes; at += s->threads * s->tile) {
        bytes = s->bytes - at < s->tile ? s->bytes - at : s->tile;
        compute_tile(bench, at, bytes);
        if (bench->mode == TRIGGERS)
            must(xylem_trigger_bytes(bench->trigger, at, bytes), "counting");
    }
}

struct helper {
    struct bench *bench;
    unsigned number;
    pthread_t thread;
};

static void *helper_main(void *arg)
{
    struct helper *helper = arg;

    for (;;) {
        pthread_barrier_wait(&helper->bench->begin);
        if (helper->bench->is_over)
            return NULL;
        compute(helper->bench, helper->number);
        pthread_barrier_wait(&helper->bench->end);
    }
}

static void compute_together(struct bench *bench)
{
    if (!has_input(bench))
        return;
    if (bench->settings.threads > 1)
        pthread_barrier_wait(&bench->begin);
    compute(bench, 0);
    if (bench->settings.threads > 1)
        pthread_barrier_wait(&bench->end);
}

/* ---- one round ---- */

/* The time of the slowest rank, in microseconds. */
static double round_us(struct bench *bench, enum mode mode)
{
    const xyl_clock_t *clock = xyl_clock_system();
    xylem_request_t *request = bench->requests[mode];
    double mine, slowest = 0;
    uint64_t begin;

    must(xylem_barrier(bench->team), "barrier");
    begin = xyl_clock_now(clock);
    bench->mode = mode;
    if (mode == TRIGGERS)
        must(xylem_request_start(request), "start");
    compute_together(bench);
    if (mode == AFTER)
        must(xylem_request_start(request), "start");
    if (mode != COMPUTE)
        must(xylem_request_wait(request), "wait");
    mine = (double)(xyl_clock_now(clock) - begin) / 1000;
    must(xylem_allreduce(bench->team, &mine, &slowest, 1, XYLEM_FLOAT64,
                         XYLEM_MAX),
         "allreduce");
    return slowest;
}

static void run_rounds(struct bench *bench)
{
    unsigned round, mode;

    for (mode = 0; mode < MODES; mode++) /* warms up */
        (void)round_us(bench, (enum mode)mode);
    for (round = 0; round < bench->settings.rounds; round++)
        for (mode = 0; mode < MODES; mode++)
            bench->times[mode][round] = round_us(bench, (enum mode)mode);
}

/* ---- what a count costs ---- */

/* Nanoseconds for each of COUNTS; every `threshold`-th fires. */
static double count_ns(struct bench *bench, uint64_t threshold)
{
    const xyl_clock_t *clock = xyl_clock_system();
    xylem_trigger_args_t args = XYLEM_TRIGGER_ARGS_INIT;
    xylem_trigger_t *trigger;
    uint64_t begin, i;

    args.threshold = threshold;
    must(xylem_trigger_create(bench->context, &args, &trigger), "trigger");
    begin = xyl_clock_now(clock);
    for (i = 0; i < COUNTS; i++)
        must(xylem_trigger_count(trigger, 0, 1), "count");
    begin = xyl_clock_now(clock) - begin;
    must(xylem_trigger_destroy(trigger), "destroy");
    return (double)begin / COUNTS;
}

/* The times to write a record, and until the word says that it was taken. */
static void record_ns(struct bench *bench, double *post, double *taken)
{
    const xyl_clock_t *clock = xyl_clock_system();
    xylem_proxy_args_t args = XYLEM_PROXY_ARGS_INIT;
    xylem_trigger_args_t trigger_args = XYLEM_TRIGGER_ARGS_INIT;
    xylem_device_queue_t queue = XYLEM_INIT_(xylem_device_queue_t);
    uint64_t word = 0, begin, i, batch = 512;
    xylem_trigger_t *trigger;
    xylem_proxy_t *proxy;

    trigger_args.word = &word;
    must(xylem_trigger_create(bench->context, &trigger_args, &trigger),
         "trigger");
    must(xylem_proxy_create(bench->context, &args, &proxy), "proxy");
    must(xylem_proxy_bind(proxy, 0, trigger), "bind");
    must(xylem_proxy_queue(proxy, &queue), "queue");
    must(xylem_proxy_arm(proxy, 1), "arm");
    *post = *taken = 0;
    for (i = batch; i <= COUNTS; i += batch) {
        uint64_t k;
        begin = xyl_clock_now(clock);
        for (k = 0; k < batch; k++)
            (void)xylem_device_post(&queue, 0, 0, 1, UINT64_MAX);
        *post += (double)(xyl_clock_now(clock) - begin);
        while (xylem_device_wait(&word, i, 0) != XYLEM_OK)
            xylem_progress(bench->context);
        *taken += (double)(xyl_clock_now(clock) - begin);
    }
    *post /= (double)(i - batch);
    *taken /= (double)(i - batch);
    must(xylem_proxy_destroy(proxy), "destroy");
    must(xylem_trigger_destroy(trigger), "destroy");
}

/* ---- report ---- */

static void report(struct bench *bench)
{
    static const char *const names[MODES] = {
        "computing alone", "compute all, then call", "triggers"};
    double medians[MODES], post, taken;
    unsigned mode;

    for (mode = 0; mode < MODES; mode++) {
        medians[mode] =
            stats_median(bench->times[mode], bench->settings.rounds);
        printf("%-24s %10.1f us\n", names[mode], medians[mode]);
    }
    printf("%-24s %10.2f\n", "triggers / call",
           medians[TRIGGERS] / medians[AFTER]);
    record_ns(bench, &post, &taken);
    printf("%-24s %10.1f ns\n", "a count", count_ns(bench, UINT32_MAX));
    printf("%-24s %10.1f ns\n", "a count that fires", count_ns(bench, 1));
    printf("%-24s %10.1f ns\n", "a record, written", post);
    printf("%-24s %10.1f ns\n", "a record, taken", taken);
}

/* ---- set-up ---- */

static void plan(struct bench *bench)
{
    const struct settings *s = &bench->settings;
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_trigger_args_t trigger = XYLEM_TRIGGER_ARGS_INIT;

    bench->input = calloc(s->bytes, 1);
    bench->result = calloc(s->bytes, 1);
    bench->times = calloc(MODES, sizeof *bench->times);
    if (bench->input == NULL || bench->result == NULL || bench->times == NULL)
        exit(EXIT_FAILURE);
    args.coll = s->coll == 0 ? XYLEM_COLL_BCAST : XYLEM_COLL_ALLREDUCE;
    args.send = s->coll == 0 ? NULL : bench->input;
    args.recv = s->coll == 0 ? bench->input : bench->result;
    args.count = s->bytes / sizeof *bench->input;
    args.type = XYLEM_FLOAT32;
    args.op = s->coll == 0 ? 0 : XYLEM_SUM;
    must(xylem_coll_init(bench->team, &args, &bench->requests[AFTER]), "init");
    args.flags = XYLEM_FLAG_PARTS;
    args.segment_bytes = s->segment;
    must(xylem_coll_init(bench->team, &args, &bench->requests[TRIGGERS]),
         "init");
    if (!has_input(bench))
        return;
    trigger.action = XYLEM_TRIGGER_SEGMENTS;
    trigger.request = bench->requests[TRIGGERS];
    must(xylem_trigger_create(bench->context, &trigger, &bench->trigger),
         "trigger");
}

static void run(struct bench *bench)
{
    static struct helper helpers[THREADS_MAX];
    unsigned i, threads = bench->settings.threads;

    pthread_barrier_init(&bench->begin, NULL, threads);
    pthread_barrier_init(&bench->end, NULL, threads);
    for (i = 1; i < threads; i++) {
        helpers[i] = (struct helper){.bench = bench, .number = i};
        if (pthread_create(&helpers[i].thread, NULL, helper_main,
                           &helpers[i]) != 0)
            exit(EXIT_FAILURE);
    }
    run_rounds(bench);
    bench->is_over = 1;
    if (threads > 1)
        pthread_barrier_wait(&bench->begin);
    for (i = 1; i < threads; i++)
        pthread_join(helpers[i].thread, NULL);
    if (xylem_team_rank(bench->team) == 0)
        report(bench);
}

static const struct cli_option options[] = {
    {"coll", 0, CLI_WORD, offsetof(struct settings, coll), 0, 0,
     "bcast|allreduce", "the collective (default bcast)"},
    {"bytes", 0, CLI_BYTES, offsetof(struct settings, bytes), 4, 1u << 30,
     "BYTES", "of the message (default 4M)"},
    {"tile", 0, CLI_BYTES, offsetof(struct settings, tile), 4, 1u << 30,
     "BYTES", "that are computed at a time (default 16K)"},
    {"segment", 0, CLI_BYTES, offsetof(struct settings, segment), 0, 1u << 30,
     "BYTES", "of a segment that is released (default 64K)"},
    {"threads", 0, CLI_COUNT, offsetof(struct settings, threads), 1,
     THREADS_MAX, "N", "that compute on each rank (default 1)"},
    {"work", 0, CLI_COUNT, offsetof(struct settings, work), 0, 100000, "N",
     "multiplications for each number (default 4)"},
    {"rounds", 0, CLI_COUNT, offsetof(struct settings, rounds), 1, ROUNDS_MAX,
     "N", "of which medians are printed (default 100)"},
};

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .program = "bench_trigger",
        .usage = "[OPTION]...",
        .summary = "A collective whose input is computed tile by tile: with a "
                   "call at the end, and with\na trigger that releases "
                   "segments as tiles come.",
        .options = options,
        .options_count = sizeof options / sizeof *options};
    static struct bench bench = {.settings = {.bytes = 4 << 20,
                                              .tile = 16 << 10,
                                              .segment = 64 << 10,
                                              .threads = 1,
                                              .work = 4,
                                              .rounds = 100}};
    enum cli_result result = cli_parse(&cli, argc, argv, &bench.settings);

    if (result != CLI_RUN)
        return cli_exit_code(result);
    must(xylem_context_create(NULL, &bench.context), "context");
    bench.team = xylem_context_world(bench.context);
    plan(&bench);
    run(&bench);
    must(xylem_trigger_destroy(bench.trigger), "destroy");
    must(xylem_request_free(bench.requests[TRIGGERS]), "free");
    must(xylem_request_free(bench.requests[AFTER]), "free");
    must(xylem_context_destroy(bench.context), "end");
    free(bench.times);
    free(bench.result);
    free(bench.input);
    return EXIT_SUCCESS;
}
