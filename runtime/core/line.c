#include "runtime/core/line.h"

#include <stdlib.h>
#include <string.h>

#include "progress/exec/cuda/cuda.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { WORD_BYTES = 128, RING_FIRST = 64 };

struct xyl_line {
    uint64_t stream; /* its number, unique in the process */
    uint64_t *word;  /* written by the stream */
    uint64_t added;  /* guarded by the lock, as is the ring */
    uint64_t mask;
    xyl_line_step_t *ring;
    uint64_t taken; /* the progressing thread's */
};

/* ---- polling: the progressing thread ---- */

static unsigned line_poll(xyl_lines_t *lines, xyl_line_t *line)
{
    /* Partner: the stream's write, which follows all writes of its work. */
    uint64_t reached = __atomic_load_n(line->word, __ATOMIC_ACQUIRE);
    unsigned done = 0;

    for (; line->taken < reached; done++) {
        xyl_line_step_t step;

        pthread_mutex_lock(&lines->lock);
        step = line->ring[line->taken & line->mask];
        line->taken++;
        pthread_mutex_unlock(&lines->lock);
        atomic_fetch_sub_explicit(&lines->awaited, 1, memory_order_relaxed);
        step.reached(step.arg, step.a, step.b);
    }
    return done;
}

static unsigned lines_poll(void *arg)
{
    xylem_context_t *context = arg;
    xyl_lines_t *lines = &context->lines;
    /* Partner: the release in line_create. */
    uint32_t i,
        count = atomic_load_explicit(&lines->count, memory_order_acquire);
    unsigned done = 0;

    for (i = 0; i < count; i++)
        done += line_poll(lines, lines->all[i]);
    if (done != 0)
        xyl_triggers_run(context);
    /* A thread that adds a step first counts it, then has the lines armed. */
    if (atomic_load(&lines->awaited) == 0) {
        xyl_engine_restless_remove(&context->engine,
                                   (xyl_source_t){lines_poll, context});
        lines->is_armed = 0;
    }
    return done;
}

typedef struct lines_errand {
    xylem_context_t *context;
    xylem_status_t status;
} lines_errand_t;

static void lines_arm(void *arg)
{
    lines_errand_t *errand = arg;
    xylem_context_t *context = errand->context;

    if (context->lines.is_armed)
        return;
    errand->status = xyl_engine_restless_add(
        &context->engine, (xyl_source_t){lines_poll, context});
    context->lines.is_armed = errand->status == XYLEM_OK;
}

/* ---- adding: any thread ---- */

xylem_status_t xyl_lines_gpu(xylem_context_t *context, const char *call,
                             xyl_exec_t **exec_out,
                             const xyl_cuda_library_t **library_out)
{
    uint32_t i;

    xyl_context_execs_look(context);
    for (i = 0; i < atomic_load(&context->execs.count); i++) {
        *exec_out = context->execs.all[i];
        *library_out = xyl_cuda_library_of(*exec_out);
        if (*library_out != NULL)
            return XYLEM_OK;
    }
    return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                    "%s: there is no GPU, or no libxylem-cuda", call);
}

static xyl_line_t *line_find(const xyl_lines_t *lines, uint64_t stream)
{
    uint32_t i,
        count = atomic_load_explicit(&lines->count, memory_order_relaxed);

    for (i = 0; i < count; i++)
        if (lines->all[i]->stream == stream)
            return lines->all[i];
    return NULL;
}

/* NULL: no memory, or too many lines. The lock is held. */
static xyl_line_t *line_create(xyl_lines_t *lines, xyl_exec_t *exec,
                               uint64_t stream)
{
    uint32_t count = atomic_load_explicit(&lines->count, memory_order_relaxed);
    xyl_line_t *line;

    if (lines->words == NULL) {
        lines->words =
            exec->ops->mirror_take(exec, (size_t)XYL_LINES_MAX * WORD_BYTES);
        if (lines->words == NULL)
            return NULL;
        lines->exec = exec;
        memset(lines->words, 0, (size_t)XYL_LINES_MAX * WORD_BYTES);
    }
    line = count == XYL_LINES_MAX ? NULL : calloc(1, sizeof *line);
    if (line == NULL)
        return NULL;
    line->ring = calloc(RING_FIRST, sizeof *line->ring);
    if (line->ring == NULL) {
        free(line);
        return NULL;
    }
    line->mask = RING_FIRST - 1;
    line->stream = stream;
    line->word =
        (uint64_t *)(void *)((char *)lines->words + (size_t)count * WORD_BYTES);
    lines->all[count] = line;
    atomic_store_explicit(&lines->count, count + 1, memory_order_release);
    return line;
}

/* Makes room for one more step. 0: no memory. The lock is held. */
static int line_has_room(xyl_line_t *line)
{
    uint64_t records = line->mask + 1, i;
    xyl_line_step_t *larger;

    if (line->added - line->taken < records)
        return 1;
    larger = calloc(2 * records, sizeof *larger);
    if (larger == NULL)
        return 0;
    for (i = line->taken; i != line->added; i++)
        larger[i & (2 * records - 1)] = line->ring[i & line->mask];
    free(line->ring);
    line->ring = larger;
    line->mask = 2 * records - 1;
    return 1;
}

/* The lock is held. */
static xylem_status_t step_add(xyl_lines_t *lines, xyl_exec_t *exec,
                               const xyl_cuda_library_t *library, void *stream,
                               const xyl_line_step_t *step, int *error)
{
    xyl_line_t *line;
    uint64_t number;

    *error = library->stream_number(stream, &number);
    if (*error != 0)
        return XYLEM_ERR_INVALID_ARG;
    line = line_find(lines, number);
    if (line == NULL)
        line = line_create(lines, exec, number);
    if (line == NULL || !line_has_room(line))
        return XYLEM_ERR_NO_RESOURCE;
    line->ring[line->added & line->mask] = *step;
    *error = library->stream_write(stream, line->word, line->added + 1);
    if (*error != 0)
        return XYLEM_ERR_INVALID_ARG;
    line->added++;
    return XYLEM_OK;
}

xylem_status_t xyl_line_add(xylem_context_t *context, const char *call,
                            void *stream, const xyl_line_step_t *step)
{
    xyl_lines_t *lines = &context->lines;
    lines_errand_t errand = {context, XYLEM_OK};
    const xyl_cuda_library_t *library;
    xyl_exec_t *exec;
    int error = 0, is_first;
    xylem_status_t status = xyl_lines_gpu(context, call, &exec, &library);

    if (status != XYLEM_OK)
        return status;
    is_first = atomic_fetch_add(&lines->awaited, 1) == 0;
    pthread_mutex_lock(&lines->lock);
    status = step_add(lines, exec, library, stream, step, &error);
    pthread_mutex_unlock(&lines->lock);
    if (status != XYLEM_OK)
        atomic_fetch_sub(&lines->awaited, 1);
    if (is_first) /* also if this step failed: others may have been added */
        xyl_context_do(context, lines_arm, &errand);
    if (status != XYLEM_OK)
        return xyl_fail(status, "%s: %s", call,
                        error != 0 ? library->error_text(error)
                                   : "too many streams, or no memory");
    return errand.status == XYLEM_OK
               ? XYLEM_OK
               : xyl_fail(errand.status,
                          "%s: the context looks after too many resident "
                          "kernels already; destroy some",
                          call);
}

/* ---- the end ---- */

void xyl_lines_init(xylem_context_t *context)
{
    pthread_mutex_init(&context->lines.lock, NULL);
}

void xyl_lines_fini(xylem_context_t *context)
{
    xyl_lines_t *lines = &context->lines;
    uint32_t i, count = atomic_load(&lines->count);

    /* Words that streams may still write to stay. */
    if (lines->words != NULL && atomic_load(&lines->awaited) == 0)
        lines->exec->ops->mirror_give(lines->exec, lines->words,
                                      (size_t)XYL_LINES_MAX * WORD_BYTES);
    for (i = 0; i < count; i++) {
        free(lines->all[i]->ring);
        free(lines->all[i]);
    }
    pthread_mutex_destroy(&lines->lock);
}
