/* xylem_task.h: functions that a rank has another rank run. Part of xylem.h,
 * which includes it and says what holds for all. */
#ifndef XYLEM_TASK_H
#define XYLEM_TASK_H

#include "xylem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rank has a function run on another: it names the function by its index in a
 * table that the receiver has registered, and sends an argument block and a
 * payload along. The payload is placed first, then the task runs. Nothing runs
 * that was not registered. After XTQ: LeBeane, "Optimizing Communication for
 * Clusters of GPUs", PhD thesis, University of Texas at Austin, 2018, chapter
 * 4.
 *
 * Each task runs once at most; its sender is told when it has been taken, or
 * has run, or why not. After the team has failed none begins. Tasks of one
 * sender that run in the engine of one receiver and have short payloads run in
 * the order in which they were started; nothing else is said of the order.
 *
 * A receiver has room for so many tasks of each sender as it gives credits.
 * What a sender starts beyond waits at the sender. So the memory that tasks
 * take at a receiver is bounded by ranks * credits messages of about 2 KiB, and
 * as many payloads that the library has memory for. Receivers run tasks while
 * they progress: inside calls that wait, in xylem_progress, or always, with
 * XYLEM_PROGRESS=thread. docs/inside/tasks.md says how it is done. */
#define XYLEM_TASK_ARGS_MAX    1024 /* bytes of an argument block */
#define XYLEM_TASK_SHORT_MAX   1024 /* bytes of a payload that is short */
#define XYLEM_TASK_CREDITS_MAX 64
#define XYLEM_TASK_ALL         UINT32_MAX /* entries, of a table */

typedef struct xylem_tasks xylem_tasks_t;

/* A task that has come. It belongs to the library and is there until it has
 * ended. Arguments, and a payload where the library has the memory for it, are
 * aligned to 16 bytes. */
typedef struct xylem_task {
    uint32_t source; /* rank in the team */
    uint32_t index;  /* of its entry */
    size_t args_bytes;
    const void *args;
    size_t payload_bytes;
    void *payload;
} xylem_task_t;

/* All of these but a function that a pool runs are called as callbacks are: on
 * the progressing thread, with no lock held; they must not block, and may start
 * operations and tasks.
 *
 * run:       the function. Its status is the sender's, if that asks for it;
 *            what task points at must not be kept.
 * place:     memory for the payload, of task->payload_bytes that are to come,
 *            so that task->payload is NULL; it belongs to the caller. NULL:
 *            none, and the sender is told XYLEM_ERR_NO_RESOURCE.
 * hand_over: a task that is complete. Any thread runs it later, by
 *            xylem_task_run, or does itself what is to be done and calls
 *            xylem_task_end, once.
 * drop:      memory that `place` has given will not be read by a task, as the
 *            team has failed meanwhile or the entry was revoked. Comes when
 *            nothing writes to it any more: after a failure maybe only inside
 *            xylem_context_destroy.
 */
typedef xylem_status_t (*xylem_task_fn)(void *arg, const xylem_task_t *task);
typedef void *(*xylem_task_place_fn)(void *arg, const xylem_task_t *task);
typedef void (*xylem_task_hand_over_fn)(void *arg, xylem_task_t *task);
typedef void (*xylem_task_drop_fn)(void *arg, void *payload, size_t bytes);

/* What a task may name. At least one of run and hand_over; an entry without
 * either is a gap in the table. */
typedef struct xylem_task_entry {
    size_t struct_bytes; /* sizeof(xylem_task_entry_t) */
    xylem_task_fn run;
    xylem_task_place_fn place;         /* NULL: the library has the memory */
    xylem_task_hand_over_fn hand_over; /* NULL: runs in the engine */
    xylem_task_drop_fn drop;           /* may be NULL */
    void *arg;                         /* handed to all */
    /* Bytes that it takes; what is outside is refused. */
    size_t args_min, args_max; /* up to XYLEM_TASK_ARGS_MAX */
    size_t payload_min, payload_max;
} xylem_task_entry_t;
#define XYLEM_TASK_ENTRY_INIT XYLEM_INIT_(xylem_task_entry_t)

typedef struct xylem_tasks_params {
    size_t struct_bytes; /* sizeof(xylem_tasks_params_t) */
    /* [entry_count], borrowed during the call; ranks may have different ones.
     * NULL with 0: this rank only sends. */
    const xylem_task_entry_t *entries;
    uint32_t entry_count;
    /* Tasks of each sender that may be under way to this rank or wait here; 1
     * ... XYLEM_TASK_CREDITS_MAX; 0: 16. */
    uint32_t credits;
} xylem_tasks_params_t;
#define XYLEM_TASKS_PARAMS_INIT XYLEM_INIT_(xylem_tasks_params_t)

/* Registers this rank's table and learns where those of the others are.
 * Collective over the team, which fails with its tasks, and they with it; in
 * the order of its other operations. The i-form writes *tasks_out when its
 * request completes. As soon as a rank has its handle it may send to all, and
 * be sent tasks. `params` may be NULL: this rank only sends. Returns owned
 * (give up with xylem_tasks_close). */
xylem_status_t xylem_tasks_open(xylem_team_t *team,
                                const xylem_tasks_params_t *params,
                                xylem_tasks_t **tasks_out);
xylem_status_t xylem_tasks_iopen(xylem_team_t *team,
                                 const xylem_tasks_params_t *params,
                                 xylem_tasks_t **tasks_out,
                                 xylem_request_t **request_out);

/* Waits until the tasks of all ranks have run, meanwhile runs those that come,
 * and gives the handle up. Collective, as the call before. Tasks that were
 * handed over must be ended by others meanwhile. XYLEM_ERR_BUSY, and nothing
 * happens, while a request of this rank's tasks is active. The handle is gone
 * also where the team has failed, which the status then says. NULL is allowed
 * with the first, and does nothing. */
xylem_status_t xylem_tasks_close(xylem_tasks_t *tasks);
xylem_status_t xylem_tasks_iclose(xylem_tasks_t *tasks,
                                  xylem_request_t **request_out);

/* From now on no task of the entry begins on this rank; senders are told
 * XYLEM_ERR_REVOKED. XYLEM_TASK_ALL: of any entry. XYLEM_IN_PROGRESS: some are
 * under way still, and may use what the entry names; calling again tells. Any
 * thread, also inside a task. */
xylem_status_t xylem_tasks_revoke(xylem_tasks_t *tasks, uint32_t index);

/* The request completes when the task has run, with the status that its
 * function has returned; without the flag as soon as the receiver has taken it,
 * with XYLEM_OK, unless it ran at once. */
#define XYLEM_FLAG_RAN 16u
/* Where the receiver has no credit left the request completes at once, with
 * XYLEM_ERR_NO_RESOURCE; without the flag it waits for credit. */
#define XYLEM_FLAG_NO_WAIT 32u

/* What is sent to whom. */
typedef struct xylem_task_args {
    size_t struct_bytes; /* sizeof(xylem_task_args_t) */
    uint32_t rank;       /* of the team; may be this one */
    uint32_t index;      /* in that rank's table */
    uint32_t flags;      /* XYLEM_FLAG_RAN, _NO_WAIT, _AUTOFREE */
    const void *args;    /* copied by the call */
    size_t args_bytes;   /* up to XYLEM_TASK_ARGS_MAX */
    const void *payload; /* borrowed until the request completes */
    size_t payload_bytes;
    xylem_complete_fn on_complete; /* may be NULL */
    void *arg;
} xylem_task_args_t;
#define XYLEM_TASK_ARGS_INIT XYLEM_INIT_(xylem_task_args_t)

/* Sends a task. Any thread, also in callbacks and tasks. The request's status:
 *   XYLEM_OK               taken, or has run
 *   XYLEM_ERR_INVALID_ARG  the receiver has no such entry, or something is
 *                          shorter than the entry takes
 *   XYLEM_ERR_TRUNCATED    something is longer than the entry takes
 *   XYLEM_ERR_REVOKED      the receiver has revoked the entry
 *   XYLEM_ERR_NO_RESOURCE  the receiver had no place for the payload; or no
 *                          credit, with XYLEM_FLAG_NO_WAIT
 *   XYLEM_ERR_NO_MEMORY    the same, of the library's memory
 *   another                that of the task's function; or that with which the
 *                          team has failed, and the task may have run or not
 * request_out may be NULL with XYLEM_FLAG_AUTOFREE. Returns owned (free with
 * xylem_request_free). */
xylem_status_t xylem_task_start(xylem_tasks_t *tasks,
                                const xylem_task_args_t *args,
                                xylem_request_t **request_out);

/* The same, blocking, until it has run. */
xylem_status_t xylem_task_call(xylem_tasks_t *tasks, uint32_t rank,
                               uint32_t index, const void *args,
                               size_t args_bytes, const void *payload,
                               size_t payload_bytes);

/* Of a task that was handed over: runs its function on this thread and ends it;
 * or ends it with a status for its sender (XYLEM_IN_PROGRESS is none). Any
 * thread, also inside hand_over; once. It is gone then. A context with tasks
 * that have not ended cannot be destroyed (XYLEM_ERR_BUSY). */
void xylem_task_run(xylem_task_t *task);
void xylem_task_end(xylem_task_t *task, xylem_status_t status);

/* A kernel of a GPU as what a task runs. Its only parameter is an
 * xylem_device_task_t by value (xylem_device.h); the task ends, for its sender,
 * when the kernel has ended. */
typedef struct xylem_kernel xylem_kernel_t;

typedef struct xylem_kernel_args {
    size_t struct_bytes;        /* sizeof(xylem_kernel_args_t) */
    void *function;             /* CUfunction, as of cudaGetFuncBySymbol */
    uint32_t grid[3], block[3]; /* 0: 1 */
    uint32_t shared_bytes;
    int device;
    uint32_t streams; /* so many tasks run side by side; up to 16; 0: 1 */
} xylem_kernel_args_t;
#define XYLEM_KERNEL_ARGS_INIT XYLEM_INIT_(xylem_kernel_args_t)

/* create:  any thread. XYLEM_ERR_UNSUPPORTED: there is no GPU, or no
 *          libxylem-cuda. Returns owned (free with xylem_kernel_destroy).
 * entry:   fills in run, place, hand_over, drop and arg of an entry whose
 *          bounds the caller sets; payloads come into pinned memory.
 * destroy: after the table has been closed. XYLEM_ERR_BUSY: tasks run still.
 *          NULL is allowed. */
xylem_status_t xylem_kernel_create(xylem_context_t *context,
                                   const xylem_kernel_args_t *args,
                                   xylem_kernel_t **kernel_out);
xylem_status_t xylem_kernel_entry(xylem_kernel_t *kernel,
                                  xylem_task_entry_t *entry);
xylem_status_t xylem_kernel_destroy(xylem_kernel_t *kernel);

/* A kernel that stays on its GPU and runs tasks without being launched for
 * each: a task costs two looks over the bus and no launch. The program launches
 * it, with a grid of `workers` blocks that all find room on the GPU at once;
 * each calls xylem_device_serve (xylem_device.h) with a table of the functions
 * that it can run. Only those run, and of them only what entries name. It
 * occupies its blocks' part of the GPU for as long as it stays, and shares the
 * GPU with kernels of other processes by turns of milliseconds unless that is
 * by MPS: so nothing of the library's starts one. Threads of the host may stand
 * for the blocks. As long as there is one whoever progresses does not sleep.
 *
 * Tasks wait while no block is free or none has come. A kernel that has found
 * no task for some time may end, and be launched again. */
typedef struct xylem_resident xylem_resident_t;
struct xylem_device_resident;

typedef struct xylem_resident_args {
    size_t struct_bytes; /* sizeof(xylem_resident_args_t) */
    uint32_t workers;    /* 1 ... 256; 0: 1 */
    uint32_t functions;  /* that there are in the table; 1 ... 65,535 */
    /* xylem_resident_bytes(workers) bytes that the device reaches (pinned),
     * aligned to 128 bytes; borrowed until it is destroyed. NULL: memory of the
     * library's, for threads of the host. */
    void *memory;
} xylem_resident_args_t;
#define XYLEM_RESIDENT_ARGS_INIT XYLEM_INIT_(xylem_resident_args_t)

size_t xylem_resident_bytes(uint32_t workers);

/* create:  any thread. Returns owned (free with xylem_resident_destroy, before
 *          the context, which is XYLEM_ERR_BUSY until then).
 * queue:   for the kernel: *queue with its struct_bytes set is filled in.
 * entry:   fills in run, place, hand_over, drop and arg of an entry that is
 *          function `function` of the table, and whose bounds the caller sets.
 *          Where there is a GPU payloads come into pinned memory.
 * end:     no task begins any more: those that wait end with
 *          XYLEM_ERR_REVOKED, as do those to come, what runs goes on, and then
 *          each block leaves; progress until the kernel has ended. `lost`:
 *          XYLEM_OK; or the kernel is gone without a word (a fault of the GPU,
 *          whose blocks will not write any more), and what was given to it ends
 *          with this status.
 * destroy: after the table has been closed. XYLEM_ERR_BUSY: tasks wait or run,
 *          or blocks have not left. NULL is allowed. */
xylem_status_t xylem_resident_create(xylem_context_t *context,
                                     const xylem_resident_args_t *args,
                                     xylem_resident_t **resident_out);
xylem_status_t xylem_resident_queue(const xylem_resident_t *resident,
                                    struct xylem_device_resident *queue);
xylem_status_t xylem_resident_entry(xylem_resident_t *resident,
                                    uint32_t function,
                                    xylem_task_entry_t *entry);
xylem_status_t xylem_resident_end(xylem_resident_t *resident,
                                  xylem_status_t lost);
xylem_status_t xylem_resident_destroy(xylem_resident_t *resident);

#ifdef __cplusplus
}
#endif

#endif
