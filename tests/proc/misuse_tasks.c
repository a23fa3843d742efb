/* Mode tasks of `misuse`: tables that cannot be, tasks that nobody may send,
 * and handles that are given up while tasks are not answered. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/misuse.h"

static struct {
    xylem_tasks_t *tasks;
    xylem_task_t *kept; /* handed over, and not ended yet */
    uint32_t ran;
} all;

static xylem_status_t run(void *arg, const xylem_task_t *task)
{
    (void)arg;
    (void)task;
    FAILS(xylem_task_call(all.tasks, 0, 0, NULL, 0, NULL, 0),
          XYLEM_ERR_IN_CALLBACK, "must not block");
    FAILS(xylem_tasks_close(all.tasks), XYLEM_ERR_IN_CALLBACK,
          "must not block");
    all.ran++;
    return XYLEM_OK;
}

static void keep(void *arg, xylem_task_t *task)
{
    (void)arg;
    REQUIRE(all.kept == NULL, "two tasks");
    all.kept = task;
}

static xylem_task_entry_t entry_of(xylem_task_fn fn)
{
    xylem_task_entry_t entry = XYLEM_TASK_ENTRY_INIT;

    entry.run = fn;
    entry.args_max = 8;
    entry.payload_min = 1;
    entry.payload_max = 8;
    return entry;
}

#define NO_TABLE(word, ...)                                                    \
    do {                                                                       \
        xylem_tasks_params_t bad = XYLEM_TASKS_PARAMS_INIT;                    \
        xylem_task_entry_t entry = entry_of(run);                              \
        bad.entries = &entry;                                                  \
        bad.entry_count = 1;                                                   \
        __VA_ARGS__;                                                           \
        FAILS(xylem_tasks_open(job->world, &bad, &tasks),                      \
              XYLEM_ERR_INVALID_ARG, word);                                    \
    } while (0)

static void bad_tables(const job_t *job)
{
    xylem_tasks_t *tasks = UNTOUCHED;

    NO_TABLE("struct_bytes", bad.struct_bytes = 0);
    NO_TABLE("65 credits", bad.credits = XYLEM_TASK_CREDITS_MAX + 1);
    NO_TABLE("entries is NULL", bad.entries = NULL);
    NO_TABLE("entries (at most", bad.entry_count = UINT32_MAX);
    NO_TABLE("an entry", entry.struct_bytes = 1);
    NO_TABLE("entry 0 takes 9 to 8 bytes", entry.args_min = 9);
    NO_TABLE("of which there are", entry.args_max = XYLEM_TASK_ARGS_MAX + 1);
    NO_TABLE("of payload", entry.payload_min = 9);
    FAILS(xylem_tasks_open(NULL, NULL, &tasks), XYLEM_ERR_INVALID_HANDLE,
          "NULL");
    FAILS(xylem_tasks_open(job->world, NULL, NULL), XYLEM_ERR_INVALID_ARG,
          "an output is NULL");
    FAILS(xylem_tasks_iopen(job->world, NULL, &tasks, NULL),
          XYLEM_ERR_INVALID_ARG, "an output is NULL");
    REQUIRE(tasks == UNTOUCHED, "a refused call has written its output");
}

#define NO_TASK(word, ...)                                                     \
    do {                                                                       \
        xylem_task_args_t bad = good;                                          \
        __VA_ARGS__;                                                           \
        FAILS(xylem_task_start(all.tasks, &bad, &request),                     \
              XYLEM_ERR_INVALID_ARG, word);                                    \
    } while (0)

static void bad_tasks(const job_t *job)
{
    xylem_request_t *request = UNTOUCHED;
    xylem_task_args_t good = XYLEM_TASK_ARGS_INIT;
    /* As long as a table may be. */
    _Alignas(64) static char other[4096];

    NO_TASK("struct_bytes", bad.struct_bytes = 3);
    NO_TASK("outside the team", bad.rank = job->ranks);
    NO_TASK("more is a payload", bad.args = &good;
            bad.args_bytes = XYLEM_TASK_ARGS_MAX + 1);
    NO_TASK("args or payload is NULL", bad.args_bytes = 1);
    NO_TASK("args or payload is NULL", bad.payload_bytes = 1);
    NO_TASK("there is no flag", bad.flags = 1u << 30);
    FAILS(xylem_task_start(all.tasks, &good, NULL), XYLEM_ERR_INVALID_ARG,
          "request_out is NULL");
    FAILS(xylem_task_start(NULL, &good, &request), XYLEM_ERR_INVALID_HANDLE,
          "NULL");
    FAILS(xylem_task_start((xylem_tasks_t *)(void *)other, &good, &request),
          XYLEM_ERR_INVALID_HANDLE, "no table of tasks");
    FAILS(xylem_tasks_revoke(all.tasks, 77), XYLEM_ERR_INVALID_ARG, "77");
    REQUIRE(request == UNTOUCHED, "a refused call has written its output");
}

/* What only the receiver can tell. */
static void refused_there(const job_t *job)
{
    const char bytes[9] = {0};
    uint32_t to = (job->rank + 1) % job->ranks;

    FAILS(xylem_task_call(all.tasks, to, 9, NULL, 0, bytes, 1),
          XYLEM_ERR_INVALID_ARG, "");
    FAILS(xylem_task_call(all.tasks, to, 0, NULL, 0, NULL, 0),
          XYLEM_ERR_INVALID_ARG, "");
    FAILS(xylem_task_call(all.tasks, to, 0, NULL, 0, bytes, 9),
          XYLEM_ERR_TRUNCATED, "");
    FAILS(xylem_task_call(all.tasks, to, 0, bytes, 9, bytes, 1),
          XYLEM_ERR_TRUNCATED, "");
}

/* Whether the dump has the line. */
static int dump_has(const job_t *job, const char *words)
{
    char path[4096], line[512];
    int found = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s.%u", getenv("XYLEM_HANG_DUMP"), job->rank);
    file = fopen(path, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strstr(line, words) != NULL;
    if (file != NULL)
        fclose(file);
    return found;
}

/* With XYLEM_HANG_DUMP, SIGUSR1 has it written down who waits for whom. */
static void is_dumped(const job_t *job)
{
    enum { TRIES = 30000 };
    int i;

    if (getenv("XYLEM_HANG_DUMP") == NULL)
        return;
    raise(SIGUSR1);
    for (i = 0; i < TRIES && !dump_has(job, "here: index 1 of rank "); i++) {
        (void)xylem_progress(job->context);
        usleep(1000);
    }
    REQUIRE(
        dump_has(job, " has not ended 1, 0 more wait for credit: indices 1"),
        "the dump does not name who is waited for");
    REQUIRE(dump_has(job, "handed over or running"),
            "the dump does not have what is here");
}

/* To this rank itself: neither table nor context can be given up before it is
 * ended, whether its sender waits for that or not. */
static void not_answered(const job_t *job, uint32_t flags)
{
    xylem_task_args_t args = XYLEM_TASK_ARGS_INIT;
    xylem_request_t *request, *closing = UNTOUCHED;

    args.rank = job->rank;
    args.index = 1;
    args.flags = flags;
    args.payload = "x";
    args.payload_bytes = 1;
    MUST(xylem_task_start(all.tasks, &args, &request));
    while (all.kept == NULL)
        (void)xylem_progress(job->context);
    if (flags == 0)
        MUST(xylem_request_wait(request)); /* it was taken */
    REQUIRE((xylem_request_test(request) == XYLEM_OK) == (flags == 0),
            "a task that has not run is over");
    if (flags != 0) {
        is_dumped(job);
        FAILS(xylem_tasks_close(all.tasks), XYLEM_ERR_BUSY, "are active");
        FAILS(xylem_tasks_iclose(all.tasks, &closing), XYLEM_ERR_BUSY,
              "are active");
        REQUIRE(closing == UNTOUCHED, "a refused call has written its output");
        FAILS(xylem_request_free(request), XYLEM_ERR_BUSY, "");
    } else {
        MUST(xylem_request_free(request));
    }
    FAILS(xylem_context_destroy(job->context), XYLEM_ERR_BUSY,
          flags != 0 ? "active requests: 1" : "tasks that have not ended");
    xylem_task_end(all.kept, XYLEM_OK);
    all.kept = NULL;
    if (flags != 0) {
        MUST(xylem_request_wait(request));
        MUST(xylem_request_free(request));
    }
}

void mode_tasks(job_t *job)
{
    xylem_task_entry_t entries[] = {entry_of(run), entry_of(NULL)};
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;

    entries[1].hand_over = keep;
    params.entries = entries;
    params.entry_count = 2;
    bad_tables(job);
    MUST(xylem_tasks_open(job->world, &params, &all.tasks));
    MUST(xylem_barrier(job->world)); /* tasks read the handle */
    bad_tasks(job);
    refused_there(job);
    MUST(xylem_task_call(all.tasks, 0, 0, NULL, 0, "x", 1));
    not_answered(job, XYLEM_FLAG_RAN);
    not_answered(job, 0);
    FAILS(xylem_tasks_iclose(all.tasks, NULL), XYLEM_ERR_INVALID_ARG,
          "request_out is NULL");
    MUST(xylem_barrier(job->world)); /* no task comes any more */
    MUST(xylem_tasks_close(all.tasks));
    MUST(xylem_tasks_close(NULL));
    REQUIRE(all.ran == (job->rank == 0 ? job->ranks : 0), "%u tasks have run",
            all.ran);
}
