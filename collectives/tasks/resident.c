/* Remote tasks that a resident kernel runs: a kernel that stays on its GPU.
 * Each block of the kernel, a worker, has a box in memory of host and GPU
 * (xylem_device.h). The progressing thread puts a task into the box of a free
 * worker, and looks for the words of workers that have run theirs. */
#include <stdlib.h>
#include <string.h>

#include "collectives/tasks/table.h"
#include "include/xylem_device.h"
#include "progress/exec/cuda/cuda.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/triggers/stream_steps.h"

enum {
    RESIDENT_MAGIC = 0x78527364,
    RESIDENT_FREED = 0x78526672,
    WORKERS_MAX = 256,
    FUNCTIONS_MAX = 65535,
    WAITING_FIRST = 64,
    BOX_ALIGN = 128
};

_Static_assert(sizeof(xylem_device_box_t) % BOX_ALIGN == 0,
               "boxes have lines of their own");

/* The `arg` of an entry. */
typedef struct resident_function {
    xylem_resident_t *resident;
    uint32_t number;
} resident_function_t;

typedef struct resident_waiting {
    xylem_task_t *task;
    uint32_t function;
} resident_waiting_t;

typedef struct resident_worker {
    resident_waiting_t given; /* not yet said to have run; task NULL: none */
    uint64_t number;          /* of the task that was given last */
    uint64_t seen;            /* its last word */
    int is_asked;             /* to leave, since it came */
} resident_worker_t;

/* The progressing thread's, except members that do not change. */
struct xylem_resident {
    uint32_t magic;
    xylem_context_t *context;
    xyl_exec_t *exec; /* of pinned memory for payloads; NULL: none */
    void *owned;      /* NULL: the memory is the caller's */
    xylem_device_resident_t queue;
    resident_function_t *functions; /* [function_count] */
    uint32_t function_count;
    int is_ending;
    xylem_status_t lost;
    /* A ring of tasks that no worker has. */
    resident_waiting_t *waiting; /* [mask + 1] */
    uint64_t mask, first, last;
    resident_worker_t worker[];
};

static int is_present(const resident_worker_t *worker)
{
    return (worker->seen & 0xff) == XYLEM_DEVICE_PRESENT_;
}

/* ---- payloads ---- */

static void *resident_place(void *arg, const xylem_task_t *task)
{
    const resident_function_t *function = arg;
    xyl_exec_t *exec = function->resident->exec;

    return exec->ops->mirror_take(exec, task->payload_bytes);
}

static void resident_drop(void *arg, void *payload, size_t bytes)
{
    const resident_function_t *function = arg;
    xyl_exec_t *exec = function->resident->exec;

    exec->ops->mirror_give(exec, payload, bytes);
}

static void resident_over(xylem_resident_t *resident,
                          const resident_waiting_t *what, xylem_status_t status)
{
    xylem_task_t *task = what->task;

    if (resident->exec != NULL && task->payload != NULL &&
        task->payload_bytes != 0)
        resident_drop(&resident->functions[what->function], task->payload,
                      task->payload_bytes);
    xylem_task_end(task, status);
}

/* ---- giving and taking back ---- */

/* 1: the ring has room for one more; it grows if need be. */
static int waiting_has_room(xylem_resident_t *resident)
{
    uint64_t places = resident->mask + 1, i;
    resident_waiting_t *larger;

    if (resident->last - resident->first < places)
        return 1;
    larger = calloc(2 * places, sizeof *larger);
    if (larger == NULL)
        return 0;
    for (i = resident->first; i != resident->last; i++)
        larger[i & (2 * places - 1)] = resident->waiting[i & resident->mask];
    free(resident->waiting);
    resident->waiting = larger;
    resident->mask = 2 * places - 1;
    return 1;
}

/* Puts a task, which its worker has not run, in front of all waiting tasks. */
static void waiting_return(xylem_resident_t *resident,
                           const resident_waiting_t *what)
{
    if (!waiting_has_room(resident)) {
        resident_over(resident, what, XYLEM_ERR_NO_MEMORY);
        return;
    }
    resident->waiting[--resident->first & resident->mask] = *what;
}

/* The next word to write into a box. The worker has run all tasks that it was
 * given, so the box is the host's. */
static uint64_t box_next(xylem_resident_t *resident, uint32_t w)
{
    resident_worker_t *worker = &resident->worker[w];
    uint64_t next = xylem_device_next_(worker->seen);

    worker->number = next >> 48;
    return next;
}

static void box_give(xylem_device_box_t *box, uint64_t next, uint64_t function,
                     uint64_t words)
{
    /* Partner: the acquire in xylem_device_given_. */
    xylem_device_store_sys_(&box->given, next | function << 8 | words);
}

static void task_give(xylem_resident_t *resident, uint32_t w,
                      const resident_waiting_t *what)
{
    xylem_device_box_t *box = &resident->queue.boxes[w];
    const xylem_task_t *task = what->task;
    size_t bytes = offsetof(xylem_device_task_t, args) + task->args_bytes;
    uint64_t words = (bytes + 7) / 8, next = box_next(resident, w);
    xylem_device_copy_t copy;
    uint32_t i;

    /* Clear the rest: whole lines and whole words are written. */
    memset(copy.words, 0, XYLEM_DEVICE_LINES_ * sizeof copy.words[0]);
    copy.words[words - 1] = 0;
    copy.task.source = task->source;
    copy.task.index = task->index;
    copy.task.args_bytes = task->args_bytes;
    copy.task.payload_bytes = task->payload_bytes;
    copy.task.payload = task->payload;
    if (task->args_bytes != 0)
        memcpy(copy.task.args, task->args, task->args_bytes);
    for (i = 0; i < XYLEM_DEVICE_LINES_; i++)
        xylem_device_put_line_(&box->lines[i], copy.words[i],
                               xylem_device_mark_(next));
    if (words > XYLEM_DEVICE_LINES_)
        memcpy(box->rest, &copy.words[XYLEM_DEVICE_LINES_],
               (words - XYLEM_DEVICE_LINES_) * 8);
    resident->worker[w].given = *what;
    box_give(box, next, what->function, words);
}

/* Takes the next task that may begin; 0: there is none. */
static int waiting_take(xylem_resident_t *resident, resident_waiting_t *what)
{
    while (resident->first != resident->last) {
        xylem_status_t status;

        *what = resident->waiting[resident->first++ & resident->mask];
        status = resident->is_ending ? XYLEM_ERR_REVOKED
                                     : xyl_task_is_wanted(what->task);
        if (status == XYLEM_OK)
            return 1;
        resident_over(resident, what, status);
    }
    return 0;
}

/* Gives a free worker a task, or asks it to leave. */
static void worker_feed(xylem_resident_t *resident, uint32_t w)
{
    resident_worker_t *worker = &resident->worker[w];
    resident_waiting_t what;

    if (!is_present(worker) || worker->given.task != NULL || worker->is_asked)
        return;
    if (waiting_take(resident, &what)) {
        task_give(resident, w, &what);
    } else if (resident->is_ending) {
        worker->is_asked = 1;
        box_give(&resident->queue.boxes[w], box_next(resident, w),
                 XYLEM_DEVICE_END_, 0);
    }
}

/* Handles a word of a worker. Either the worker has run its task; or it has
 * left, or its successor has come, and then the task waits again. */
static void worker_heard(xylem_resident_t *resident, uint32_t w, uint64_t said)
{
    resident_worker_t *worker = &resident->worker[w];
    resident_waiting_t given = worker->given;
    int is_same = ((said ^ worker->seen) >> 24 & 0xffffff) == 0;

    worker->seen = said;
    worker->is_asked &= is_same;
    if (given.task == NULL)
        return;
    if (said >> 48 == worker->number) {
        worker->given.task = NULL;
        resident_over(resident, &given, (xylem_status_t)(said >> 8 & 0xffff));
    } else if (!is_same || !is_present(worker)) {
        worker->given.task = NULL;
        xylem_device_store_sys_(&resident->queue.boxes[w].given, 0);
        waiting_return(resident, &given);
    }
}

static void resident_feed(xylem_resident_t *resident)
{
    uint32_t w;

    for (w = 0; w < resident->queue.workers; w++)
        if (resident->first != resident->last || resident->is_ending)
            worker_feed(resident, w);
}

static unsigned resident_poll(void *arg)
{
    xylem_resident_t *resident = arg;
    unsigned done = 0;
    uint32_t w;

    for (w = 0; w < resident->queue.workers; w++) {
        resident_worker_t *worker = &resident->worker[w];
        /* Partner: the releases of xylem_device_serve. */
        uint64_t said = xylem_device_load_sys_(&resident->queue.boxes[w].said);

        if (said == worker->seen || resident->lost != XYLEM_OK)
            continue;
        worker_heard(resident, w, said);
        done++;
    }
    if (done != 0)
        resident_feed(resident);
    return done;
}

static void resident_hand_over(void *arg, xylem_task_t *task)
{
    const resident_function_t *function = arg;
    xylem_resident_t *resident = function->resident;
    resident_waiting_t what = {task, function->number};

    if (resident->is_ending || !waiting_has_room(resident)) {
        resident_over(resident, &what,
                      resident->is_ending ? XYLEM_ERR_REVOKED
                                          : XYLEM_ERR_NO_MEMORY);
        return;
    }
    resident->waiting[resident->last++ & resident->mask] = what;
    resident_feed(resident);
}

/* ---- creation ---- */

size_t xylem_resident_bytes(uint32_t workers)
{
    return (size_t)(workers + (workers == 0)) * sizeof(xylem_device_box_t);
}

static xylem_status_t resident_args_read(const xylem_resident_args_t *given,
                                         xylem_resident_args_t *args)
{
    xylem_status_t status = xyl_members_read(
        "xylem_resident_create", "args", given,
        XYL_BYTES_UP_TO(xylem_resident_args_t, memory), args, sizeof *args);

    if (status != XYLEM_OK)
        return status;
    args->workers += args->workers == 0;
    if (args->workers > WORKERS_MAX || args->functions == 0 ||
        args->functions > FUNCTIONS_MAX ||
        (uintptr_t)args->memory % BOX_ALIGN != 0)
        return xyl_refuse("xylem_resident_create",
                          "more than %d workers, no functions or more than %d, "
                          "or memory that is not aligned to %d bytes",
                          WORKERS_MAX, FUNCTIONS_MAX, BOX_ALIGN);
    return XYLEM_OK;
}

typedef struct resident_errand {
    xylem_resident_t *resident;
    xylem_status_t lost, status;
} resident_errand_t;

static void resident_arm(void *arg)
{
    resident_errand_t *errand = arg;
    xylem_resident_t *resident = errand->resident;

    errand->status = xyl_engine_restless_add(
        &resident->context->engine, (xyl_source_t){resident_poll, resident});
}

static void resident_free(xylem_resident_t *resident)
{
    free(resident->owned);
    free(resident->functions);
    free(resident->waiting);
    resident->magic = RESIDENT_FREED;
    free(resident);
}

/* NULL: no memory. */
static xylem_resident_t *resident_make(xylem_context_t *context,
                                       const xylem_resident_args_t *args)
{
    size_t bytes = xylem_resident_bytes(args->workers);
    xylem_resident_t *resident = calloc(
        1, sizeof *resident + args->workers * sizeof resident->worker[0]);
    uint32_t f;

    if (resident == NULL)
        return NULL;
    resident->magic = RESIDENT_MAGIC;
    resident->context = context;
    resident->function_count = args->functions;
    resident->functions = calloc(args->functions, sizeof *resident->functions);
    resident->waiting = calloc(WAITING_FIRST, sizeof *resident->waiting);
    resident->mask = WAITING_FIRST - 1;
    if (args->memory == NULL)
        resident->owned = aligned_alloc(BOX_ALIGN, bytes);
    if (resident->functions == NULL || resident->waiting == NULL ||
        (args->memory == NULL && resident->owned == NULL)) {
        resident_free(resident);
        return NULL;
    }
    for (f = 0; f < args->functions; f++)
        resident->functions[f] = (resident_function_t){resident, f};
    resident->queue = (xylem_device_resident_t){
        .struct_bytes = sizeof resident->queue,
        .boxes = args->memory != NULL ? args->memory : resident->owned,
        .workers = args->workers};
    memset(resident->queue.boxes, 0, bytes);
    return resident;
}

xylem_status_t xylem_resident_create(xylem_context_t *context,
                                     const xylem_resident_args_t *given,
                                     xylem_resident_t **resident_out)
{
    resident_errand_t errand = {.status = XYLEM_OK};
    const xyl_cuda_library_t *library;
    xylem_resident_args_t args;
    xylem_resident_t *resident;
    xylem_status_t status = xyl_context_check(context, "xylem_resident_create");

    if (status == XYLEM_OK && resident_out == NULL)
        return xyl_refuse("xylem_resident_create", "resident_out is NULL");
    if (status == XYLEM_OK)
        status = resident_args_read(given, &args);
    if (status != XYLEM_OK)
        return status;
    resident = resident_make(context, &args);
    if (resident == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a resident kernel");
    if (args.memory != NULL &&
        xyl_stream_steps_gpu(context, "xylem_resident_create", &resident->exec,
                             &library) != XYLEM_OK)
        resident->exec = NULL;
    errand.resident = resident;
    xyl_context_do(context, resident_arm, &errand);
    if (errand.status != XYLEM_OK) {
        resident_free(resident);
        return xyl_fail(
            errand.status,
            "xylem_resident_create: the context looks after too many "
            "already; destroy some");
    }
    atomic_fetch_add_explicit(&xyl_tasks_of_context(context)->held, 1,
                              memory_order_relaxed);
    *resident_out = resident;
    return XYLEM_OK;
}

static xylem_status_t resident_check(const xylem_resident_t *resident,
                                     const char *call)
{
    if (resident != NULL && resident->magic == RESIDENT_MAGIC)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                    "%s: the resident kernel is NULL or has been destroyed",
                    call);
}

xylem_status_t xylem_resident_queue(const xylem_resident_t *resident,
                                    struct xylem_device_resident *queue)
{
    xylem_status_t status = resident_check(resident, "xylem_resident_queue");

    if (status != XYLEM_OK)
        return status;
    if (queue == NULL || queue->struct_bytes < sizeof *queue)
        return xyl_refuse("xylem_resident_queue",
                          "the queue is NULL or its struct_bytes is not set");
    *queue = resident->queue;
    return XYLEM_OK;
}

xylem_status_t xylem_resident_entry(xylem_resident_t *resident,
                                    uint32_t function,
                                    xylem_task_entry_t *entry)
{
    xylem_status_t status = resident_check(resident, "xylem_resident_entry");

    if (status != XYLEM_OK)
        return status;
    if (entry == NULL || entry->struct_bytes < sizeof *entry ||
        function >= resident->function_count)
        return xyl_refuse("xylem_resident_entry",
                          "the entry is NULL, its struct_bytes is not set, or "
                          "there is no function %u",
                          function);
    entry->run = NULL;
    entry->place = resident->exec != NULL ? resident_place : NULL;
    entry->hand_over = resident_hand_over;
    entry->drop = resident->exec != NULL ? resident_drop : NULL;
    entry->arg = &resident->functions[function];
    return XYLEM_OK;
}

/* ---- the end ---- */

static void resident_end(void *arg)
{
    const resident_errand_t *errand = arg;
    xylem_resident_t *resident = errand->resident;
    resident_waiting_t what;
    uint32_t w;

    resident->is_ending = 1;
    if (errand->lost != XYLEM_OK)
        resident->lost = errand->lost;
    for (w = 0; w < resident->queue.workers && errand->lost != XYLEM_OK; w++) {
        resident_worker_t *worker = &resident->worker[w];
        what = worker->given;
        worker->given.task = NULL;
        worker->seen = 0;
        if (what.task != NULL)
            resident_over(resident, &what, errand->lost);
    }
    (void)waiting_take(resident, &what); /* all are refused */
    resident_feed(resident);
}

xylem_status_t xylem_resident_end(xylem_resident_t *resident,
                                  xylem_status_t lost)
{
    resident_errand_t errand = {.resident = resident, .lost = lost};
    xylem_status_t status = resident_check(resident, "xylem_resident_end");

    if (status != XYLEM_OK)
        return status;
    xyl_context_do(resident->context, resident_end, &errand);
    return XYLEM_OK;
}

static void resident_disarm(void *arg)
{
    resident_errand_t *errand = arg;
    xylem_resident_t *resident = errand->resident;
    uint32_t w;

    (void)resident_poll(resident); /* a last word that was not heard yet */
    errand->status =
        resident->first != resident->last ? XYLEM_ERR_BUSY : XYLEM_OK;
    for (w = 0; w < resident->queue.workers; w++)
        if (is_present(&resident->worker[w]) ||
            resident->worker[w].given.task != NULL)
            errand->status = XYLEM_ERR_BUSY;
    if (errand->status == XYLEM_OK)
        xyl_engine_restless_remove(&resident->context->engine,
                                   (xyl_source_t){resident_poll, resident});
}

xylem_status_t xylem_resident_destroy(xylem_resident_t *resident)
{
    resident_errand_t errand = {.resident = resident};
    xylem_status_t status;

    if (resident == NULL)
        return XYLEM_OK;
    status = resident_check(resident, "xylem_resident_destroy");
    if (status != XYLEM_OK)
        return status;
    xyl_context_do(resident->context, resident_disarm, &errand);
    if (errand.status != XYLEM_OK)
        return xyl_fail(errand.status,
                        "xylem_resident_destroy: tasks wait or run, or the "
                        "kernel has not ended");
    atomic_fetch_sub_explicit(&xyl_tasks_of_context(resident->context)->held, 1,
                              memory_order_release);
    resident_free(resident);
    return XYLEM_OK;
}
