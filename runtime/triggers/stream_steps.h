/* Steps that run when a GPU stream has ended its work so far. No thread waits
 * for the stream (docs/inside/triggers.md, "Streams"). */
#pragma once

#include "runtime/core/module.h"

struct xyl_exec;
struct xyl_cuda_library;

/* The progressing thread calls `reached`, as a source of the engine. */
typedef struct xyl_stream_step {
    void (*reached)(void *arg, uint64_t a, uint64_t b);
    void *arg;
    uint64_t a, b;
} xyl_stream_step_t;

/* At the context's end drops the steps that streams have not reached. */
extern const xyl_module_t xyl_stream_steps_module;

/* The executor of GPUs, and its library's table. XYLEM_ERR_UNSUPPORTED, with a
 * text that names `call`: there is none. */
xylem_status_t
xyl_stream_steps_gpu(xylem_context_t *context, const char *call,
                     struct xyl_exec **exec_out,
                     const struct xyl_cuda_library **library_out);

/* Any thread, also in callbacks: calls `step` once, when `stream` (of CUDA's
 * runtime) has ended its present work. After a failure the text names `call`,
 * and `step` is not called. May wait for the progressing thread's turn. */
xylem_status_t xyl_stream_steps_add(xylem_context_t *context, const char *call,
                                    void *stream,
                                    const xyl_stream_step_t *step);
