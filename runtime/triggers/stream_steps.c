#include "runtime/triggers/stream_steps.h"

#include <stdlib.h>
#include <string.h>

#include "progress/exec/cuda/cuda.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/modules.h"

enum { STREAMS_MAX = 256, WORD_BYTES = 128, RING_FIRST = 64 };

typedef struct stream {
    uint64_t stream; /* its number, unique in the process */
    uint64_t *word;  /* written by the stream */
    uint64_t added;  /* guarded by the lock, as is the ring */
    uint64_t mask;
    xyl_stream_step_t *ring;
    uint64_t taken; /* the progressing thread's */
} stream_t;

typedef struct stream_steps {
    int has_begun;
    pthread_mutex_t lock; /* for adding, and for rings */
    _Atomic uint32_t count;
    stream_t *all[STREAMS_MAX];
    _Atomic uint64_t awaited; /* steps, of all streams */
    int is_armed;             /* the progressing thread's */
    void *words;              /* pinned; NULL: no stream yet */
    xyl_exec_t *exec;         /* owns the words */
} stream_steps_t;

XYL_STATE_OF_CONTEXT(stream_steps_t, steps_of, XYL_MODULE_STREAM_STEPS)

/* ---- polling: the progressing thread ---- */

static unsigned stream_poll(stream_steps_t *steps, stream_t *entry)
{
    /* Partner: the stream's write, which follows all writes of its work. */
    uint64_t reached = __atomic_load_n(entry->word, __ATOMIC_ACQUIRE);
    unsigned done = 0;

    for (; entry->taken < reached; done++) {
        xyl_stream_step_t step;

        pthread_mutex_lock(&steps->lock);
        step = entry->ring[entry->taken & entry->mask];
        entry->taken++;
        pthread_mutex_unlock(&steps->lock);
        atomic_fetch_sub_explicit(&steps->awaited, 1, memory_order_relaxed);
        step.reached(step.arg, step.a, step.b);
    }
    return done;
}

static unsigned streams_poll(void *arg)
{
    xylem_context_t *context = arg;
    stream_steps_t *steps = steps_of(context);
    /* Partner: the release in stream_create. */
    uint32_t i,
        count = atomic_load_explicit(&steps->count, memory_order_acquire);
    unsigned done = 0;

    for (i = 0; i < count; i++)
        done += stream_poll(steps, steps->all[i]);
    /* A thread that adds a step first counts it, then has the polling armed. */
    if (atomic_load(&steps->awaited) == 0) {
        xyl_engine_restless_remove(&context->engine,
                                   (xyl_source_t){streams_poll, context});
        steps->is_armed = 0;
    }
    return done;
}

typedef struct arm_errand {
    xylem_context_t *context;
    xylem_status_t status;
} arm_errand_t;

static void streams_arm(void *arg)
{
    arm_errand_t *errand = arg;
    xylem_context_t *context = errand->context;
    stream_steps_t *steps = steps_of(context);

    if (steps->is_armed)
        return;
    errand->status = xyl_engine_restless_add(
        &context->engine, (xyl_source_t){streams_poll, context});
    steps->is_armed = errand->status == XYLEM_OK;
}

/* ---- adding: any thread ---- */

xylem_status_t xyl_stream_steps_gpu(xylem_context_t *context, const char *call,
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

static stream_t *stream_find(const stream_steps_t *steps, uint64_t stream)
{
    uint32_t i,
        count = atomic_load_explicit(&steps->count, memory_order_relaxed);

    for (i = 0; i < count; i++)
        if (steps->all[i]->stream == stream)
            return steps->all[i];
    return NULL;
}

/* NULL: no memory, or too many streams. The lock is held. */
static stream_t *stream_create(stream_steps_t *steps, xyl_exec_t *exec,
                               uint64_t stream)
{
    uint32_t count = atomic_load_explicit(&steps->count, memory_order_relaxed);
    stream_t *entry;

    if (steps->words == NULL) {
        steps->words =
            exec->ops->mirror_take(exec, (size_t)STREAMS_MAX * WORD_BYTES);
        if (steps->words == NULL)
            return NULL;
        steps->exec = exec;
        memset(steps->words, 0, (size_t)STREAMS_MAX * WORD_BYTES);
    }
    entry = count == STREAMS_MAX ? NULL : calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->ring = calloc(RING_FIRST, sizeof *entry->ring);
    if (entry->ring == NULL) {
        free(entry);
        return NULL;
    }
    entry->mask = RING_FIRST - 1;
    entry->stream = stream;
    entry->word =
        (uint64_t *)(void *)((char *)steps->words + (size_t)count * WORD_BYTES);
    steps->all[count] = entry;
    atomic_store_explicit(&steps->count, count + 1, memory_order_release);
    return entry;
}

/* Makes room for one more step. 0: no memory. The lock is held. */
static int stream_has_room(stream_t *entry)
{
    uint64_t records = entry->mask + 1, i;
    xyl_stream_step_t *larger;

    if (entry->added - entry->taken < records)
        return 1;
    larger = calloc(2 * records, sizeof *larger);
    if (larger == NULL)
        return 0;
    for (i = entry->taken; i != entry->added; i++)
        larger[i & (2 * records - 1)] = entry->ring[i & entry->mask];
    free(entry->ring);
    entry->ring = larger;
    entry->mask = 2 * records - 1;
    return 1;
}

/* The lock is held. */
static xylem_status_t step_add(stream_steps_t *steps, xyl_exec_t *exec,
                               const xyl_cuda_library_t *library, void *stream,
                               const xyl_stream_step_t *step, int *error)
{
    stream_t *entry;
    uint64_t number;

    *error = library->stream_number(stream, &number);
    if (*error != 0)
        return XYLEM_ERR_INVALID_ARG;
    entry = stream_find(steps, number);
    if (entry == NULL)
        entry = stream_create(steps, exec, number);
    if (entry == NULL || !stream_has_room(entry))
        return XYLEM_ERR_NO_RESOURCE;
    entry->ring[entry->added & entry->mask] = *step;
    *error = library->stream_write(stream, entry->word, entry->added + 1);
    if (*error != 0)
        return XYLEM_ERR_INVALID_ARG;
    entry->added++;
    return XYLEM_OK;
}

xylem_status_t xyl_stream_steps_add(xylem_context_t *context, const char *call,
                                    void *stream, const xyl_stream_step_t *step)
{
    stream_steps_t *steps = steps_of(context);
    arm_errand_t errand = {context, XYLEM_OK};
    const xyl_cuda_library_t *library;
    xyl_exec_t *exec;
    int error = 0, is_first;
    xylem_status_t status =
        xyl_stream_steps_gpu(context, call, &exec, &library);

    if (status != XYLEM_OK)
        return status;
    is_first = atomic_fetch_add(&steps->awaited, 1) == 0;
    pthread_mutex_lock(&steps->lock);
    status = step_add(steps, exec, library, stream, step, &error);
    pthread_mutex_unlock(&steps->lock);
    if (status != XYLEM_OK)
        atomic_fetch_sub(&steps->awaited, 1);
    if (is_first) /* also if this step failed: others may have been added */
        xyl_context_do(context, streams_arm, &errand);
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

/* ---- the module ---- */

static xylem_status_t steps_begin(xylem_context_t *context)
{
    stream_steps_t *steps = steps_of(context);

    pthread_mutex_init(&steps->lock, NULL);
    steps->has_begun = 1;
    return XYLEM_OK;
}

static void steps_end(xylem_context_t *context)
{
    stream_steps_t *steps = steps_of(context);
    uint32_t i, count = atomic_load(&steps->count);

    /* The words stay if streams may still write to them. */
    if (steps->words != NULL && atomic_load(&steps->awaited) == 0)
        steps->exec->ops->mirror_give(steps->exec, steps->words,
                                      (size_t)STREAMS_MAX * WORD_BYTES);
    for (i = 0; i < count; i++) {
        free(steps->all[i]->ring);
        free(steps->all[i]);
    }
    if (steps->has_begun)
        pthread_mutex_destroy(&steps->lock);
}

const xyl_module_t xyl_stream_steps_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(stream_steps_t)},
    .context_begins = steps_begin,
    .context_ends = steps_end,
};
