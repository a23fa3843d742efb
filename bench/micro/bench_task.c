/* The cost of a remote task beside a message: two ranks answer each other in
 * turns, by messages of the net itself and by tasks whose function notes that
 * it has run; and the time until the sender knows that a task has run. Run it
 * on two ranks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/cli.h"
#include "bench/measure/stats.h"
#include "progress/net/net.h"
#include "runtime/base/clock.h"
#include "runtime/core/context.h"

enum { ROUNDS_MAX = 1000, MESSAGE_BYTES = 40 };

/* No team's, which are numbered from 0 on. */
static const uint64_t own_tag = UINT64_C(16000) << 50;

enum mode { MESSAGE, TASK, TASK_RAN, MODES };

struct settings {
    unsigned rounds, exchanges;
};

struct bench {
    struct settings settings;
    xylem_context_t *context;
    xylem_tasks_t *tasks;
    uint32_t rank;
    uint64_t come, awaited; /* messages, or tasks */
    xyl_event_t sent, arrival;
    char out[MESSAGE_BYTES], in[MESSAGE_BYTES];
    double (*times)[ROUNDS_MAX]; /* [MODES], us */
};

static void must(xylem_status_t status, const char *what)
{
    if (status == XYLEM_OK)
        return;
    fprintf(stderr, "bench_task: %s: %s\n", what, xylem_last_error());
    exit(EXIT_FAILURE);
}

static xylem_status_t task_runs(void *arg, const xylem_task_t *task)
{
    struct bench *bench = arg;

    (void)task;
    bench->come++;
    return XYLEM_OK;
}

static void arrived(xyl_event_t *event)
{
    struct bench *bench =
        (struct bench *)(void *)((char *)event -
                                 offsetof(struct bench, arrival));

    bench->come++;
}

static void sent(xyl_event_t *event)
{
    (void)event;
}

/* ---- exchanges ---- */

static void expect(struct bench *bench)
{
    xyl_net_t *net = bench->context->net;

    bench->arrival = (xyl_event_t){.handle = arrived};
    net->ops->recv(net, own_tag, bench->in, sizeof bench->in, &bench->arrival);
}

static void send_message(struct bench *bench)
{
    xyl_net_t *net = bench->context->net;

    bench->sent = (xyl_event_t){.handle = sent};
    net->ops->send(net, bench->rank == 0, own_tag, bench->out,
                   sizeof bench->out, &bench->sent);
}

static void send_task(struct bench *bench, int waits)
{
    uint64_t argument = 1;
    xylem_task_args_t args = XYLEM_TASK_ARGS_INIT;
    xylem_request_t *request;

    args.rank = bench->rank == 0;
    args.args = &argument;
    args.args_bytes = sizeof argument;
    args.flags = waits ? XYLEM_FLAG_RAN : XYLEM_FLAG_AUTOFREE;
    must(xylem_task_start(bench->tasks, &args, waits ? &request : NULL),
         "task");
    if (!waits)
        return;
    must(xylem_request_wait(request), "task");
    must(xylem_request_free(request), "task");
}

/* Waits for one more message or task. */
static void await(struct bench *bench)
{
    bench->awaited++;
    while (bench->come < bench->awaited)
        (void)xylem_progress(bench->context);
}

static void send_one(struct bench *bench, enum mode mode)
{
    if (mode == MESSAGE)
        send_message(bench);
    else
        send_task(bench, mode == TASK_RAN);
}

/* There and back; with TASK_RAN the answer says that the task has run. */
static void exchange(struct bench *bench, enum mode mode, int is_last)
{
    if (bench->rank != 0) {
        await(bench);
        if (mode == MESSAGE && !is_last)
            expect(bench);
    } else if (mode == MESSAGE) {
        expect(bench);
    }
    if (bench->rank == 0 || mode != TASK_RAN)
        send_one(bench, mode);
    if (bench->rank == 0 && mode != TASK_RAN)
        await(bench);
}

static double round_us(struct bench *bench, enum mode mode)
{
    unsigned i, exchanges = bench->settings.exchanges;
    uint64_t begin;

    if (mode == MESSAGE && bench->rank != 0)
        expect(bench);
    must(xylem_barrier(xylem_context_world(bench->context)), "barrier");
    begin = xyl_clock_now(xyl_clock_system());
    for (i = 0; i < exchanges; i++)
        exchange(bench, mode, i + 1 == exchanges);
    return (double)(xyl_clock_now(xyl_clock_system()) - begin) / 1000 /
           exchanges;
}

static void report(const struct bench *bench)
{
    static const char *const names[MODES] = {
        "a message, and one back", "a task, and one back",
        "a task that is known to have run"};
    unsigned mode;

    for (mode = 0; mode < MODES; mode++)
        printf("%-34s %8.2f us\n", names[mode],
               stats_median(bench->times[mode], bench->settings.rounds));
}

static void run(struct bench *bench)
{
    unsigned round, mode;

    bench->times = calloc(MODES, sizeof *bench->times);
    if (bench->times == NULL)
        exit(EXIT_FAILURE);
    for (round = 0; round < bench->settings.rounds; round++)
        for (mode = 0; mode < MODES; mode++)
            bench->times[mode][round] = round_us(bench, (enum mode)mode);
    if (bench->rank == 0)
        report(bench);
    free(bench->times);
}

static const struct cli_option options[] = {
    {"rounds", 0, CLI_COUNT, offsetof(struct settings, rounds), 1, ROUNDS_MAX,
     "N", "of which medians are printed (default 21)"},
    {"exchanges", 0, CLI_COUNT, offsetof(struct settings, exchanges), 1,
     1000000, "N", "in a round (default 5000)"},
};

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .program = "bench_task",
        .usage = "[OPTION]...",
        .summary = "A remote task beside a message, on two ranks.",
        .options = options,
        .options_count = sizeof options / sizeof *options};
    static struct bench bench = {.settings = {.rounds = 21, .exchanges = 5000}};
    enum cli_result result = cli_parse(&cli, argc, argv, &bench.settings);
    xylem_task_entry_t entry = XYLEM_TASK_ENTRY_INIT;
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;

    if (result != CLI_RUN)
        return cli_exit_code(result);
    must(xylem_context_create(NULL, &bench.context), "context");
    if (xylem_team_size(xylem_context_world(bench.context)) != 2) {
        fprintf(stderr, "bench_task: run it on two ranks\n");
        return EXIT_FAILURE;
    }
    bench.rank = xylem_team_rank(xylem_context_world(bench.context));
    entry.run = task_runs;
    entry.arg = &bench;
    entry.args_max = sizeof(uint64_t);
    params.entries = &entry;
    params.entry_count = 1;
    must(xylem_tasks_open(xylem_context_world(bench.context), &params,
                          &bench.tasks),
         "tasks");
    run(&bench);
    must(xylem_barrier(xylem_context_world(bench.context)), "barrier");
    while (xylem_tasks_close(bench.tasks) == XYLEM_ERR_BUSY)
        (void)xylem_progress(bench.context);
    must(xylem_context_destroy(bench.context), "end");
    return EXIT_SUCCESS;
}
