/* Remote tasks between processes:
 *
 *   tasks sweep COUNT    each rank sends COUNT tasks of all kinds
 *   tasks death COUNT    the last rank kills itself meanwhile; the others go on
 *                        without it, and send as many again
 *
 * Each task is counted where it runs, and what its sender was told is compared
 * with that: none is lost, none runs twice, none that was not registered runs.
 * Tasks of a kind are run by a thread of the receiver's own, those of another
 * by threads that stand for blocks of a kernel that stays. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

/* Blocks let others have the processor: those who give them tasks, too. */
#include <sched.h>
#define XYLEM_DEVICE_STEP_() ((void)sched_yield())
#include "include/xylem_device.h"

enum { IN_FLIGHT = 40, BYTES_MAX = 40000, POOL_MAX = 4096, PATIENCE_S = 240 };
enum { BLOCKS = 2, LOOKS = 300 };

enum {
    SHORT,
    POOLED,
    PLACED,
    REVOKED,
    STAYS,
    ENTRIES,
    BEYOND = ENTRIES,
    KINDS
};

typedef struct args {
    uint32_t number, check;
} args_t;

typedef struct sent {
    _Atomic uint32_t told;
    xylem_status_t status;
    uint32_t kind;
} sent_t;

static struct {
    job_t job;
    xylem_team_t *team;
    xylem_tasks_t *tasks;
    uint32_t ranks, rank, count;
    uint64_t random;
    uint32_t dies_at;           /* the task whose end is this rank's; 0: none */
    sent_t *sent;               /* [count] */
    _Atomic uint8_t *ran;       /* [ranks * count]: how often, here */
    _Atomic uint32_t under_way; /* of this rank's */
    char *payload;              /* [BYTES_MAX]: byte i is i * 11 */
    /* The pool. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    xylem_task_t *handed[POOL_MAX];
    uint32_t handed_count;
    int is_over;
    /* The kernel that stays. */
    xylem_resident_t *resident;
    xylem_device_resident_t queue;
    pthread_t blocks[BLOCKS];
    _Atomic uint32_t blocks_left;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .changed = PTHREAD_COND_INITIALIZER};

/* ---- at the receiver ---- */

static xylem_status_t run(void *arg, const xylem_task_t *task)
{
    const char *payload = task->payload;
    args_t args;
    size_t i;

    memcpy(&args, task->args, sizeof args);
    REQUIRE(args.check == ~args.number && args.number < all.count,
            "a task with wrong arguments");
    REQUIRE(task->index < ENTRIES, "a task that is not registered");
    for (i = 0; i < task->payload_bytes; i++)
        REQUIRE(payload[i] == (char)(i * 11), "task %u: byte %zu is wrong",
                args.number, i);
    atomic_fetch_add(&all.ran[task->source * all.count + args.number], 1);
    if (arg != NULL)
        free(task->payload);
    return XYLEM_OK;
}

static void *place(void *arg, const xylem_task_t *task)
{
    (void)arg;
    return malloc(task->payload_bytes);
}

static void drop(void *arg, void *payload, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(payload);
}

static void hand_over(void *arg, xylem_task_t *task)
{
    (void)arg;
    pthread_mutex_lock(&all.lock);
    REQUIRE(all.handed_count < POOL_MAX, "more tasks than credits");
    all.handed[all.handed_count++] = task;
    pthread_cond_signal(&all.changed);
    pthread_mutex_unlock(&all.lock);
}

static void *pool(void *arg)
{
    xylem_task_t *task;

    (void)arg;
    for (;;) {
        pthread_mutex_lock(&all.lock);
        while (all.handed_count == 0 && !all.is_over)
            pthread_cond_wait(&all.changed, &all.lock);
        task = all.handed_count == 0 ? NULL : all.handed[--all.handed_count];
        pthread_mutex_unlock(&all.lock);
        if (task == NULL)
            return NULL;
        xylem_task_run(task);
    }
}

static void pool_begin(void)
{
    all.is_over = 0;
    REQUIRE(pthread_create(&all.thread, NULL, pool, NULL) == 0, "no thread");
}

static void pool_end(void)
{
    pthread_mutex_lock(&all.lock);
    all.is_over = 1;
    pthread_cond_signal(&all.changed);
    pthread_mutex_unlock(&all.lock);
    pthread_join(all.thread, NULL);
}

/* ---- blocks, which go and come ---- */

static int run_in_block(const xylem_device_task_t *task)
{
    const xylem_task_t seen = {.source = task->source,
                               .index = task->index,
                               .args_bytes = (size_t)task->args_bytes,
                               .args = task->args,
                               .payload_bytes = (size_t)task->payload_bytes,
                               .payload = task->payload};

    return (int)run(NULL, &seen);
}

static void *block(void *arg)
{
    static const xylem_device_task_fn functions[] = {run_in_block};
    uint32_t number = (uint32_t)(uintptr_t)arg;

    while (xylem_device_serve(&all.queue, number, functions, 1, LOOKS) !=
           XYLEM_OK)
        usleep(20);
    atomic_fetch_sub(&all.blocks_left, 1);
    return NULL;
}

static void blocks_begin(xylem_task_entry_t *entry)
{
    xylem_resident_args_t args = XYLEM_RESIDENT_ARGS_INIT;
    uintptr_t b;

    args.workers = BLOCKS;
    args.functions = 1;
    MUST(xylem_resident_create(all.job.context, &args, &all.resident));
    MUST(xylem_resident_entry(all.resident, 0, entry));
    all.queue.struct_bytes = sizeof all.queue;
    MUST(xylem_resident_queue(all.resident, &all.queue));
    atomic_store(&all.blocks_left, BLOCKS);
    for (b = 0; b < BLOCKS; b++)
        REQUIRE(pthread_create(&all.blocks[b], NULL, block, (void *)b) == 0,
                "no thread");
}

static void blocks_end(void)
{
    int b;

    MUST(xylem_resident_end(all.resident, XYLEM_OK));
    while (atomic_load(&all.blocks_left) != 0)
        (void)xylem_progress(all.job.context);
    for (b = 0; b < BLOCKS; b++)
        pthread_join(all.blocks[b], NULL);
    MUST(xylem_resident_destroy(all.resident));
}

#define ENTRY                                                                  \
    .struct_bytes = sizeof(xylem_task_entry_t), .run = run,                    \
    .args_min = sizeof(args_t), .args_max = sizeof(args_t),                    \
    .payload_max = BYTES_MAX
static const xylem_task_entry_t entries[ENTRIES] = {
    [SHORT] = {ENTRY},
    [POOLED] = {ENTRY, .hand_over = hand_over},
    [PLACED] = {ENTRY, .place = place, .drop = drop, .arg = &all},
    [REVOKED] = {ENTRY},
    [STAYS] = {ENTRY},
};

/* ---- at the sender ---- */

static void told(void *arg, xylem_status_t status)
{
    sent_t *sent = arg;

    /* On the progressing thread: not in the midst of a message, where UCX
     * leaves a queue in shared memory that nobody gets past. */
    if (all.dies_at != 0 && sent == &all.sent[all.dies_at])
        kill(getpid(), SIGKILL);
    sent->status = status;
    atomic_fetch_add(&sent->told, 1);
    atomic_fetch_sub(&all.under_way, 1);
}

static void start_one(uint32_t number)
{
    const args_t args = {number, ~number};
    sent_t *sent = &all.sent[number];
    uint32_t draw = job_random(&all.random);
    xylem_task_args_t call = XYLEM_TASK_ARGS_INIT;

    sent->kind = draw % KINDS;
    call.rank = draw / 8 % all.ranks;
    call.index = sent->kind;
    call.flags = XYLEM_FLAG_AUTOFREE | XYLEM_FLAG_RAN;
    call.args = &args;
    call.args_bytes = sizeof args;
    call.payload = all.payload;
    call.payload_bytes = job_random(&all.random) % 4 != 0
                             ? job_random(&all.random) % 100
                             : job_random(&all.random) % BYTES_MAX;
    call.on_complete = told;
    call.arg = sent;
    atomic_fetch_add(&all.under_way, 1);
    MUST(xylem_task_start(all.tasks, &call, NULL));
}

static void wait_for(uint32_t under_way)
{
    while (atomic_load(&all.under_way) > under_way)
        if (xylem_progress(all.job.context) == 0)
            usleep(1);
}

static void send_all(void)
{
    uint32_t number;

    for (number = 0; number < all.count; number++) {
        wait_for(IN_FLIGHT);
        start_one(number);
        if (number == all.count / 2)
            (void)xylem_tasks_revoke(all.tasks, REVOKED);
    }
    wait_for(0);
}

/* ---- the job ---- */

static void begin(xylem_team_t *team)
{
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
    xylem_task_entry_t table[ENTRIES];

    all.team = team;
    all.ranks = xylem_team_size(team);
    all.rank = xylem_team_rank(team);
    all.sent = job_memory(all.count * sizeof *all.sent);
    all.ran = job_memory((size_t)all.ranks * all.count);
    memcpy(table, entries, sizeof table);
    blocks_begin(&table[STAYS]);
    params.entries = table;
    params.entry_count = ENTRIES;
    MUST(xylem_tasks_open(team, &params, &all.tasks));
    pool_begin();
}

static void end(void)
{
    free(all.sent);
    free((void *)all.ran);
}

/* What the senders were told, against what has run. */
static void compare(void)
{
    size_t bytes = (size_t)all.ranks * all.count;
    const uint8_t *own;
    uint32_t i;

    MUST(xylem_allreduce(all.team, XYLEM_IN_PLACE, (void *)all.ran, bytes,
                         XYLEM_UINT8, XYLEM_SUM));
    own = (const uint8_t *)all.ran + (size_t)all.rank * all.count;
    for (i = 0; i < all.count; i++) {
        const sent_t *sent = &all.sent[i];
        xylem_status_t status = sent->status;
        REQUIRE(atomic_load(&sent->told) == 1, "task %u: told %u times", i,
                atomic_load(&sent->told));
        REQUIRE(own[i] == (status == XYLEM_OK), "task %u: %s, and ran %u times",
                i, xylem_status_name(status), own[i]);
        REQUIRE(status == XYLEM_OK ||
                    (sent->kind == BEYOND && status == XYLEM_ERR_INVALID_ARG) ||
                    (sent->kind == REVOKED && status == XYLEM_ERR_REVOKED),
                "task %u of kind %u: %s", i, sent->kind,
                xylem_status_name(status));
    }
}

static void sweep(xylem_team_t *team)
{
    begin(team);
    send_all();
    MUST(xylem_tasks_close(all.tasks));
    pool_end();
    blocks_end();
    compare();
    end();
}

static void check_after_death(void)
{
    uint32_t i;

    for (i = 0; i < all.count; i++) {
        xylem_status_t status = all.sent[i].status;
        REQUIRE(atomic_load(&all.sent[i].told) == 1, "task %u: told %u times",
                i, atomic_load(&all.sent[i].told));
        REQUIRE(status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED ||
                    status == XYLEM_ERR_REVOKED ||
                    status == XYLEM_ERR_INVALID_ARG,
                "task %u: %s", i, xylem_status_name(status));
    }
    for (i = 0; i < all.ranks * all.count; i++)
        REQUIRE(atomic_load(&all.ran[i]) <= 1, "a task has run twice");
}

static void death(void)
{
    xylem_team_t *rest;
    xylem_status_t status;

    begin(all.job.world);
    all.dies_at = all.rank == all.ranks - 1 ? all.count / 3 : 0;
    send_all();
    status = xylem_tasks_close(all.tasks);
    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "closing: %s",
            xylem_status_name(status));
    pool_end();
    blocks_end();
    check_after_death();
    end();
    MUST(xylem_team_shrink(all.job.world, &rest));
    REQUIRE(xylem_team_size(rest) == all.job.ranks - 1, "not one has died");
    sweep(rest);
    MUST(xylem_team_destroy(rest));
}

int main(int argc, char **argv)
{
    size_t i;

    if (argc != 3)
        return 2;
    alarm(PATIENCE_S);
    job_begin(&all.job);
    all.count = (uint32_t)atoi(argv[2]);
    all.random = all.job.rank + 1;
    all.payload = job_memory(BYTES_MAX);
    for (i = 0; i < BYTES_MAX; i++)
        all.payload[i] = (char)(i * 11);
    if (strcmp(argv[1], "death") == 0)
        death();
    else
        sweep(all.job.world);
    free(all.payload);
    job_end(&all.job);
    if (strcmp(argv[1], "death") == 0)
        printf("rank %u survived\n", all.job.rank);
    return 0;
}
