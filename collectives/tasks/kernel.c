/* Remote tasks whose function is a kernel: the library launches it on a stream
 * of its own, and the task ends when the stream has ended the kernel. */
#include <stdlib.h>
#include <string.h>

#include "include/xylem_device.h"
#include "progress/exec/cuda/cuda.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/triggers/stream_steps.h"

enum { MAGIC = 0x784b6e6c, FREED = 0x784b6672, STREAMS_MAX = 16 };

struct xylem_kernel {
    uint32_t magic;
    xylem_context_t *context;
    xyl_exec_t *exec;
    const xyl_cuda_library_t *library;
    xylem_kernel_args_t args;
    xyl_cuda_stream_t *streams[STREAMS_MAX];
    uint32_t next; /* stream; the progressing thread's */
    _Atomic uint32_t running;
};

/* ---- a task: the progressing thread ---- */

/* The payload comes into pinned memory, where the GPU reads it. */
static void *kernel_place(void *arg, const xylem_task_t *task)
{
    const xylem_kernel_t *kernel = arg;

    return kernel->exec->ops->mirror_take(kernel->exec, task->payload_bytes);
}

static void kernel_drop(void *arg, void *payload, size_t bytes)
{
    const xylem_kernel_t *kernel = arg;

    kernel->exec->ops->mirror_give(kernel->exec, payload, bytes);
}

static void kernel_end(xylem_kernel_t *kernel, xylem_task_t *task,
                       xylem_status_t status)
{
    if (task->payload != NULL && task->payload_bytes != 0)
        kernel_drop(kernel, task->payload, task->payload_bytes);
    atomic_fetch_sub_explicit(&kernel->running, 1, memory_order_release);
    xylem_task_end(task, status);
}

static void kernel_reached(void *arg, uint64_t task, uint64_t unused)
{
    (void)unused;
    kernel_end(arg, (xylem_task_t *)(uintptr_t)task, XYLEM_OK);
}

static xylem_status_t kernel_launch(xylem_kernel_t *kernel, xylem_task_t *task)
{
    const xylem_kernel_args_t *args = &kernel->args;
    xyl_cuda_stream_t *stream = kernel->streams[kernel->next];
    xyl_stream_step_t step = {kernel_reached, kernel, (uintptr_t)task, 0};
    xylem_device_task_t given = {.source = task->source,
                                 .index = task->index,
                                 .args_bytes = task->args_bytes,
                                 .payload_bytes = task->payload_bytes,
                                 .payload = task->payload};
    xyl_cuda_launch_t launch = {.function = args->function,
                                .shared_bytes = args->shared_bytes,
                                .parameter = &given,
                                .parameter_bytes = sizeof given};

    memcpy(launch.grid, args->grid, sizeof launch.grid);
    memcpy(launch.block, args->block, sizeof launch.block);
    memcpy(given.args, task->args, task->args_bytes);
    kernel->next = (kernel->next + 1) % args->streams;
    if (kernel->library->launch(stream, &launch) != 0)
        return XYLEM_ERR_NO_RESOURCE;
    return xyl_stream_steps_add(kernel->context, "a remote task",
                                kernel->library->stream_of_runtime(stream),
                                &step);
}

static void kernel_hand_over(void *arg, xylem_task_t *task)
{
    xylem_kernel_t *kernel = arg;
    xylem_status_t status;

    atomic_fetch_add_explicit(&kernel->running, 1, memory_order_relaxed);
    status = kernel_launch(kernel, task);
    if (status != XYLEM_OK)
        kernel_end(kernel, task, status);
}

/* ---- registering ---- */

static xylem_status_t args_read(const xylem_kernel_args_t *given,
                                xylem_kernel_args_t *args)
{
    xylem_status_t status = xyl_members_read(
        "xylem_kernel_create", "args", given,
        XYL_BYTES_UP_TO(xylem_kernel_args_t, streams), args, sizeof *args);
    uint32_t i;

    if (status != XYLEM_OK)
        return status;
    for (i = 0; i < 3; i++) {
        args->grid[i] += args->grid[i] == 0;
        args->block[i] += args->block[i] == 0;
    }
    args->streams += args->streams == 0;
    if (args->function == NULL || args->streams > STREAMS_MAX)
        return xyl_refuse(
            "xylem_kernel_create",
            "the function is NULL, or there are more than %u streams",
            STREAMS_MAX);
    return XYLEM_OK;
}

static void kernel_free(xylem_kernel_t *kernel)
{
    uint32_t i;

    for (i = 0; i < kernel->args.streams; i++)
        if (kernel->streams[i] != NULL)
            kernel->library->stream_destroy(kernel->streams[i]);
    kernel->magic = FREED;
    free(kernel);
}

xylem_status_t xylem_kernel_create(xylem_context_t *context,
                                   const xylem_kernel_args_t *given,
                                   xylem_kernel_t **kernel_out)
{
    xylem_kernel_t *kernel;
    int error = 0;
    uint32_t i;
    xylem_status_t status = xyl_context_check(context, "xylem_kernel_create");

    if (status == XYLEM_OK && kernel_out == NULL)
        return xyl_refuse("xylem_kernel_create", "kernel_out is NULL");
    if (status != XYLEM_OK)
        return status;
    kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a kernel");
    kernel->magic = MAGIC;
    kernel->context = context;
    status = args_read(given, &kernel->args);
    if (status == XYLEM_OK)
        status = xyl_stream_steps_gpu(context, "xylem_kernel_create",
                                      &kernel->exec, &kernel->library);
    for (i = 0; i < kernel->args.streams && status == XYLEM_OK && error == 0;
         i++)
        error = kernel->library->stream_create(kernel->args.device,
                                               &kernel->streams[i]);
    if (error != 0)
        status = xyl_fail(XYLEM_ERR_NO_RESOURCE, "xylem_kernel_create: %s",
                          kernel->library->error_text(error));
    if (status != XYLEM_OK) {
        kernel_free(kernel);
        return status;
    }
    *kernel_out = kernel;
    return XYLEM_OK;
}

static xylem_status_t kernel_check(const xylem_kernel_t *kernel,
                                   const char *call)
{
    if (kernel != NULL && kernel->magic == MAGIC)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                    "%s: the kernel is NULL or has been destroyed", call);
}

xylem_status_t xylem_kernel_entry(xylem_kernel_t *kernel,
                                  xylem_task_entry_t *entry)
{
    xylem_status_t status = kernel_check(kernel, "xylem_kernel_entry");

    if (status != XYLEM_OK)
        return status;
    if (entry == NULL || entry->struct_bytes < sizeof *entry)
        return xyl_refuse("xylem_kernel_entry",
                          "the entry is NULL or its struct_bytes is not set");
    entry->run = NULL;
    entry->place = kernel_place;
    entry->hand_over = kernel_hand_over;
    entry->drop = kernel_drop;
    entry->arg = kernel;
    return XYLEM_OK;
}

xylem_status_t xylem_kernel_destroy(xylem_kernel_t *kernel)
{
    xylem_status_t status;

    if (kernel == NULL)
        return XYLEM_OK;
    status = kernel_check(kernel, "xylem_kernel_destroy");
    if (status != XYLEM_OK)
        return status;
    /* Partner: the release in kernel_end. */
    if (atomic_load_explicit(&kernel->running, memory_order_acquire) != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_kernel_destroy: tasks of it run still");
    kernel_free(kernel);
    return XYLEM_OK;
}
