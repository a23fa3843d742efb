#include "runtime/core/context.h"

#include <stdio.h>

#include "runtime/base/holder.h"
#include "runtime/base/status.h"

/* ---- handles ---- */

xylem_status_t xyl_context_check(const xylem_context_t *context,
                                 const char *call)
{
    if (context == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: the context is NULL",
                        call);
    if (context->magic != XYL_CONTEXT_MAGIC)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "%s: this is no context, or it was destroyed", call);
    return XYLEM_OK;
}

xylem_status_t xyl_context_may_block(xylem_context_t *context, const char *call)
{
    return !xyl_engine_in_callback(&context->engine)
               ? XYLEM_OK
               : xyl_fail(XYLEM_ERR_IN_CALLBACK,
                          "%s: a callback must not block; use the nonblocking "
                          "form",
                          call);
}

/* ---- slots ---- */

uint32_t xyl_context_slot_acquire(xylem_context_t *context)
{
    uint64_t slot;

    pthread_mutex_lock(&context->lock);
    slot = xyl_bits_take_from(context->slots.used, context->slots.next,
                              XYL_TEAM_SLOTS);
    context->slots.next = slot + 1;
    pthread_mutex_unlock(&context->lock);
    return (uint32_t)slot;
}

void xyl_context_slot_release(xylem_context_t *context, uint32_t slot)
{
    pthread_mutex_lock(&context->lock);
    xyl_bits_clear(context->slots.used, slot);
    pthread_mutex_unlock(&context->lock);
}

/* ---- calls ---- */

void xyl_context_call_in_words(const xylem_context_t *context, uint64_t call,
                               char *text, size_t bytes)
{
    if (context->modules->call_in_words != NULL)
        context->modules->call_in_words(call, text, bytes);
    else
        snprintf(text, bytes, "something");
}

/* ---- the progressing thread ---- */

typedef struct errand {
    xyl_task_t task;
    xyl_driver_t *driver;
    void (*run)(void *arg);
    void *arg;
    _Atomic int is_done;
} errand_t;

static void errand_run(xyl_task_t *task)
{
    errand_t *errand = XYL_HOLDER(errand_t, task, task);
    xyl_driver_t *driver = errand->driver;

    errand->run(errand->arg);
    /* Partner: the load in errand_is_done, after which the errand is gone. */
    atomic_store_explicit(&errand->is_done, 1, memory_order_release);
    xyl_driver_notify(driver);
}

static int errand_is_done(void *arg)
{
    errand_t *errand = arg;

    return atomic_load_explicit(&errand->is_done, memory_order_acquire);
}

void xyl_context_do(xylem_context_t *context, void (*run)(void *arg), void *arg)
{
    errand_t errand = {{.run = errand_run}, &context->driver, run, arg, 0};

    if (xyl_engine_in_callback(&context->engine)) {
        run(arg);
        return;
    }
    xyl_engine_submit(&context->engine, &errand.task);
    (void)xyl_driver_wait(&context->driver, errand_is_done, &errand,
                          UINT64_MAX);
}

/* ---- nodes ---- */

uint32_t xyl_context_nodes(const xylem_context_t *context)
{
    uint32_t rank, nodes = 0;

    for (rank = 0; rank < context->ranks; rank++)
        if (context->peers[rank].place.node >= nodes)
            nodes = context->peers[rank].place.node + 1;
    return nodes;
}

/* ---- executors ---- */

void xyl_context_execs_look_again(xylem_context_t *context)
{
    xyl_execs_t *execs = &context->execs;
    uint32_t count;

    pthread_mutex_lock(&context->lock);
    count = execs->count;
    xyl_execs_look(execs);
    if (count == 1 && execs->count != 1)
        (void)xyl_engine_source_add(&context->engine,
                                    (xyl_source_t){xyl_execs_poll, execs});
    pthread_mutex_unlock(&context->lock);
}

/* ---- public ---- */

unsigned xylem_progress(xylem_context_t *context)
{
    if (xyl_context_check(context, "xylem_progress") != XYLEM_OK)
        return 0;
    return xyl_driver_turn(&context->driver);
}

xylem_team_t *xylem_context_world(xylem_context_t *context)
{
    if (xyl_context_check(context, "xylem_context_world") != XYLEM_OK)
        return NULL;
    return context->world;
}
