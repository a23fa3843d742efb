/* The engine: turns completions into the work that depends on them.
 *
 * One turn, in this order, each phase bounded:
 *   net        the backend moves data and pushes events
 *   sources    tasks submitted by other threads, then registered polls
 *   ready      handlers of events, in the order of completion
 *   timers     functions of the timers that are due
 *   callbacks  the user's
 *
 * One thread at a time owns the engine and runs turns. Handlers run to
 * completion, never nest and never block. Any thread submits tasks.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "progress/engine/queue.h"
#include "progress/engine/timer.h"
#include "progress/event.h"
#include "progress/net/net.h"
#include "runtime/base/clock.h"

enum {
    XYL_ENGINE_BATCH_MAX = 256,  /* events of one turn */
    XYL_ENGINE_TIMER_TURNS = 64, /* turns from one look at the clock to the
                                    next */
    XYL_ENGINE_SOURCES_MAX = 8
};

typedef struct xyl_source {
    unsigned (*poll)(void *arg); /* returns the number of things done */
    void *arg;
} xyl_source_t;

typedef struct xyl_engine {
    xyl_fifo_t ready;
    xyl_fifo_t later; /* ready in the next turn, after the net's phase */
    xyl_fifo_t callbacks;
    xyl_net_t *net; /* NULL until attached */
    /* Memory shared with other ranks. They read there whether this engine's
     * owner sleeps. NULL: there is none. */
    struct xyl_shm *shm;
    const xyl_clock_t *clock;
    xyl_timers_t timers;
    xyl_source_t sources[XYL_ENGINE_SOURCES_MAX];
    unsigned source_count;
    unsigned restless;     /* sources with no signal that ends a sleep */
    unsigned polls;        /* rounds of the sources in a turn without work */
    unsigned turns_to_net; /* turns until the net's phase; while polls > 1 */
    unsigned polled;       /* things that the sources did in their last round */
    unsigned turns_to_timers;
    /* 1 while a thread owns the engine. Partner of each acquire: the release
     * by the previous owner. */
    _Alignas(128) atomic_uint owned;
    /* The thread that is inside a user callback; 0: none. */
    _Atomic uintptr_t callback_thread;
    _Alignas(128) _Atomic int sleeping; /* the owner sleeps: wake it */
    void (*wake)(void *arg); /* any thread; NULL: the owner never sleeps */
    void *wake_arg;
    _Alignas(128) xyl_queue_t submitted;
} xyl_engine_t;

void xyl_engine_init(xyl_engine_t *engine, const xyl_clock_t *clock);

/* Ownership, for any thread. Only the owner runs turns and touches the state of
 * an operation. */
static inline int xyl_engine_try_own(xyl_engine_t *engine)
{
    unsigned free = 0;

    if (atomic_load_explicit(&engine->owned, memory_order_relaxed) != 0)
        return 0;
    /* Partner: the release in xyl_engine_disown. */
    return atomic_compare_exchange_strong_explicit(
        &engine->owned, &free, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void xyl_engine_disown(xyl_engine_t *engine)
{
    atomic_store_explicit(&engine->owned, 0, memory_order_release);
}

/* The owner. Returns the number of things done. */
unsigned xyl_engine_turn(xyl_engine_t *engine);
/* A turn without callbacks, for use inside a call of the user's. */
unsigned xyl_engine_work(xyl_engine_t *engine);

/* Any thread: runs `task` on the owner's thread. If no thread owns the engine
 * the caller runs the submitted tasks and the handlers of ready events at once
 * (no callbacks), so that communication starts inside the starting call. */
void xyl_engine_submit(xyl_engine_t *engine, xyl_task_t *task);

/* The owner: polls the registered sources alone. Returns the number of things
 * done. */
unsigned xyl_engine_poll(xyl_engine_t *engine);

/* The owner: 1 when no event is ready, no task submitted, no callback due, and
 * the last round of the sources found nothing to do. */
int xyl_engine_is_idle(xyl_engine_t *engine);

xylem_status_t xyl_engine_source_add(xyl_engine_t *engine, xyl_source_t source);
/* The owner, not inside a poll. A restless source reads memory that a device
 * writes, which wakes no thread, so the owner does not sleep while there is
 * one. */
xylem_status_t xyl_engine_restless_add(xyl_engine_t *engine,
                                       xyl_source_t source);
void xyl_engine_restless_remove(xyl_engine_t *engine, xyl_source_t source);

/* 1 when the calling thread is inside a callback of this engine. */
int xyl_engine_in_callback(xyl_engine_t *engine);
