/* xylem_task.h: functions that a rank has another rank run. Part of xylem.h,
 * which includes it and says what holds for all. */
#ifndef XYLEM_TASK_H
#define XYLEM_TASK_H

#include "xylem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rank makes another rank, the receiver, run a function. It names the
 * function by its index in a table that the receiver has registered, and sends
 * an argument block and a payload along. The payload is placed first, then the
 * task runs. A receiver runs no function that it has not registered. After XTQ:
 * LeBeane, "Optimizing Communication for Clusters of GPUs", PhD thesis,
 * University of Texas at Austin, 2018, chapter 4.
 *
 * Each task runs at most once. Its sender is told when the receiver has taken
 * it or run it, or why not. After the team has failed no task begins. Tasks
 * with short payloads, of one sender, that run in the engine of one receiver
 * run in the order in which they were started; other tasks run in any order.
 *
 * A receiver gives each sender credits, and has room for as many tasks of the
 * sender; further tasks wait at the sender. So tasks take at most the memory of
 * ranks * credits messages of about 2 KiB at a receiver, and of as many
 * payloads for which the library has the memory. Receivers run tasks while they
 * progress: inside calls that wait, in xylem_progress, or always, with
 * XYLEM_PROGRESS=thread. docs/inside/tasks.md describes the method. */
#define XYLEM_TASK_ARGS_MAX    1024 /* bytes of an argument block */
#define XYLEM_TASK_SHORT_MAX   1024 /* bytes of a payload that is short */
#define XYLEM_TASK_CREDITS_MAX 64
#define XYLEM_TASK_ALL         UINT32_MAX /* entries, of a table */

typedef struct xylem_tasks xylem_tasks_t;

/* A task that has come. It belongs to the library and stays until it has ended.
 * Arguments are aligned to 16 bytes, and so is a payload for which the library
 * has the memory. */
typedef struct xylem_task {
    uint32_t source; /* rank in the team */
    uint32_t index;  /* of its entry */
    size_t args_bytes;
    const void *args;
    size_t payload_bytes;
    void *payload;
} xylem_task_t;

/* These functions are called as callbacks are: on the progressing thread, with
 * no lock held. They must not block, and may start operations and tasks. Only
 * `run` of a task that was handed over is called by the thread that runs it.
 *
 * run:       runs the task. Its status is told to a sender that asks for it. It
 *            must keep no pointer to what `task` points at.
 * place:     returns memory for the payload, task->payload_bytes bytes, which
 *            have not come yet (task->payload is NULL). The memory belongs to
 *            the program. NULL: there is none, and the sender is told
 *            XYLEM_ERR_NO_RESOURCE.
 * hand_over: takes a task that is complete. Any thread later runs the task by
 *            xylem_task_run; or does the work itself and calls xylem_task_end,
 *            once.
 * drop:      takes memory back that `place` has returned, and that no task will
 *            read, because the team has failed or the entry was revoked. Called
 *            when nothing writes to the memory any more; after a failure this
 *            may be as late as inside xylem_context_destroy.
 */
typedef xylem_status_t (*xylem_task_fn)(void *arg, const xylem_task_t *task);
typedef void *(*xylem_task_place_fn)(void *arg, const xylem_task_t *task);
typedef void (*xylem_task_hand_over_fn)(void *arg, xylem_task_t *task);
typedef void (*xylem_task_drop_fn)(void *arg, void *payload, size_t bytes);

/* An entry of a table, which tasks name. It has run or hand_over, or both; an
 * entry without either is a gap in the table. */
typedef struct xylem_task_entry {
    size_t struct_bytes; /* sizeof(xylem_task_entry_t) */
    xylem_task_fn run;
    xylem_task_place_fn place;         /* NULL: the library has the memory */
    xylem_task_hand_over_fn hand_over; /* NULL: runs in the engine */
    xylem_task_drop_fn drop;           /* may be NULL */
    void *arg;                         /* handed to all of these */
    /* The bytes that it accepts; tasks with fewer or more are refused. */
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

/* Registers this rank's table, and learns where the other ranks' tables are.
 * Collective over the team, in the order of its other operations. If the team
 * fails its tasks fail, and the other way round. The i-form writes *tasks_out
 * when its request completes. As soon as a rank has its handle, it may send
 * tasks to all ranks, and get tasks from them. `params` may be NULL: this rank
 * only sends. Returns owned (give up with xylem_tasks_close). */
xylem_status_t xylem_tasks_open(xylem_team_t *team,
                                const xylem_tasks_params_t *params,
                                xylem_tasks_t **tasks_out);
xylem_status_t xylem_tasks_iopen(xylem_team_t *team,
                                 const xylem_tasks_params_t *params,
                                 xylem_tasks_t **tasks_out,
                                 xylem_request_t **request_out);

/* Waits until the tasks of all ranks have run, running those that come
 * meanwhile, and gives the handle up. Collective, as the call before. Other
 * threads must end the tasks that were handed over to them meanwhile.
 * XYLEM_ERR_BUSY, and nothing happens, while a request of this rank's tasks is
 * active. If the team has failed, the status says so, and the handle is given
 * up all the same. xylem_tasks_close accepts NULL. */
xylem_status_t xylem_tasks_close(xylem_tasks_t *tasks);
xylem_status_t xylem_tasks_iclose(xylem_tasks_t *tasks,
                                  xylem_request_t **request_out);

/* From now on no task of entry `index` begins on this rank; senders are told
 * XYLEM_ERR_REVOKED. XYLEM_TASK_ALL: no task of any entry. XYLEM_IN_PROGRESS:
 * some tasks are still under way, and may use what the entry names; a further
 * call tells whether they have ended. Any thread, also inside a task. */
xylem_status_t xylem_tasks_revoke(xylem_tasks_t *tasks, uint32_t index);

/* The request completes when the task has run, with the status that the task's
 * function has returned. Without this flag it completes with XYLEM_OK as soon
 * as the receiver has taken the task, unless the task ran at once. */
#define XYLEM_FLAG_RAN 16u
/* If this rank has no credit left with the receiver, the request completes at
 * once, with XYLEM_ERR_NO_RESOURCE; without this flag it waits for credit. */
#define XYLEM_FLAG_NO_WAIT 32u

/* A task to be sent. */
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
 *   XYLEM_ERR_NO_RESOURCE  the receiver's `place` gave no memory for the
 *                          payload; or there was no credit, with
 *                          XYLEM_FLAG_NO_WAIT
 *   XYLEM_ERR_NO_MEMORY    the library had no memory for the payload
 *   another                that of the task's function; or that with which the
 *                          team has failed, and the task may have run or not
 * request_out may be NULL with XYLEM_FLAG_AUTOFREE. Returns owned (free with
 * xylem_request_free). */
xylem_status_t xylem_task_start(xylem_tasks_t *tasks,
                                const xylem_task_args_t *args,
                                xylem_request_t **request_out);

/* Sends a task and waits until it has run. */
xylem_status_t xylem_task_call(xylem_tasks_t *tasks, uint32_t rank,
                               uint32_t index, const void *args,
                               size_t args_bytes, const void *payload,
                               size_t payload_bytes);

/* For a task that was handed over. run: runs its function on this thread, and
 * ends it. end: ends it with a status for its sender, which must not be
 * XYLEM_IN_PROGRESS. Any thread, also inside hand_over. One call of one of the
 * two, after which the task is gone. A context with tasks that have not ended
 * cannot be destroyed (XYLEM_ERR_BUSY). */
void xylem_task_run(xylem_task_t *task);
void xylem_task_end(xylem_task_t *task, xylem_status_t status);

/* A kernel of a GPU that a task runs in place of a function. Its only parameter
 * is an xylem_device_task_t by value (xylem_device.h); the task ends, for its
 * sender, when the kernel has ended. */
typedef struct xylem_kernel xylem_kernel_t;

typedef struct xylem_kernel_args {
    size_t struct_bytes;        /* sizeof(xylem_kernel_args_t) */
    void *function;             /* CUfunction, as of cudaGetFuncBySymbol */
    uint32_t grid[3], block[3]; /* 0: 1 */
    uint32_t shared_bytes;
    int device;
    uint32_t streams; /* tasks that may run side by side; up to 16; 0: 1 */
} xylem_kernel_args_t;
#define XYLEM_KERNEL_ARGS_INIT XYLEM_INIT_(xylem_kernel_args_t)

/* create:  any thread. XYLEM_ERR_UNSUPPORTED: there is no GPU, or no
 *          libxylem-cuda. Returns owned (free with xylem_kernel_destroy).
 * entry:   fills in run, place, hand_over, drop and arg of an entry whose
 *          bounds the caller sets; payloads come into pinned memory.
 * destroy: after the table has been closed. XYLEM_ERR_BUSY: tasks are still
 *          running. NULL is allowed. */
xylem_status_t xylem_kernel_create(xylem_context_t *context,
                                   const xylem_kernel_args_t *args,
                                   xylem_kernel_t **kernel_out);
xylem_status_t xylem_kernel_entry(xylem_kernel_t *kernel,
                                  xylem_task_entry_t *entry);
xylem_status_t xylem_kernel_destroy(xylem_kernel_t *kernel);

/* A resident kernel stays on its GPU and runs tasks without a launch for each:
 * a task costs two looks over the bus. The program launches the kernel, with a
 * grid of `workers` blocks that all find room on the GPU at once. Each block
 * calls xylem_device_serve (xylem_device.h) with a table of the functions that
 * it can run; tasks reach only functions that entries name. The kernel occupies
 * its blocks' part of the GPU for as long as it stays. It shares the GPU with
 * kernels of other processes by turns of milliseconds, unless they share it
 * through MPS; so the library never launches one by itself. Threads of the host
 * may stand for the blocks. As long as there is a resident kernel, the
 * progressing thread does not sleep.
 *
 * Tasks wait while no block is free or none has come. A kernel that has found
 * no task for some time may end, and be launched again. */
typedef struct xylem_resident xylem_resident_t;
struct xylem_device_resident;

typedef struct xylem_resident_args {
    size_t struct_bytes; /* sizeof(xylem_resident_args_t) */
    uint32_t workers;    /* 1 ... 256; 0: 1 */
    uint32_t functions;  /* their number in the table; 1 ... 65,535 */
    /* xylem_resident_bytes(workers) bytes that the device reaches (pinned),
     * aligned to 128 bytes; borrowed until xylem_resident_destroy. NULL: memory
     * of the library's, for threads of the host. */
    void *memory;
} xylem_resident_args_t;
#define XYLEM_RESIDENT_ARGS_INIT XYLEM_INIT_(xylem_resident_args_t)

size_t xylem_resident_bytes(uint32_t workers);

/* create:  any thread. Returns owned (free with xylem_resident_destroy; until
 *          then xylem_context_destroy returns XYLEM_ERR_BUSY).
 * queue:   fills in *queue, whose struct_bytes the caller has set, for the
 *          kernel.
 * entry:   fills in run, place, hand_over, drop and arg of an entry, whose
 *          bounds the caller sets, so that the entry stands for function
 *          `function` of the kernel's table. If there is a GPU, payloads come
 *          into pinned memory.
 * end:     no task begins any more: tasks that wait and tasks to come end with
 *          XYLEM_ERR_REVOKED. Tasks that run go on, and then each block leaves.
 *          The program progresses until the kernel has ended. `lost`: XYLEM_OK;
 *          or a status with which the tasks end that the kernel was given,
 *          because a fault of the GPU has ended the kernel and its blocks will
 *          not write any more.
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
