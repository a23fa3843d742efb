#include "progress/engine/engine.h"

#include <pthread.h>

enum { TURNS_WITHOUT_NET = 7 };

void xyl_engine_init(xyl_engine_t *engine, const xyl_clock_t *clock)
{
    *engine = (xyl_engine_t){.clock = clock, .polls = 1, .turns_to_timers = 1};
    xyl_fifo_init(&engine->ready);
    xyl_fifo_init(&engine->later);
    xyl_fifo_init(&engine->callbacks);
    xyl_timers_init(&engine->timers);
}

static unsigned phase_net(xyl_engine_t *engine)
{
    return engine->net == NULL ? 0 : engine->net->ops->progress(engine->net);
}

unsigned xyl_engine_poll(xyl_engine_t *engine)
{
    unsigned i, done = 0;

    for (i = 0; i < engine->source_count; i++)
        done += engine->sources[i].poll(engine->sources[i].arg);
    engine->polled = done;
    return done;
}

static unsigned phase_sources(xyl_engine_t *engine)
{
    unsigned i,
        done = xyl_queue_run(&engine->submitted) + xyl_engine_poll(engine);

    /* A poll of memory costs much less than a call of the net. */
    for (i = 1; i < engine->polls && done == 0; i++)
        done = xyl_engine_poll(engine);
    return done;
}

static unsigned phase_ready(xyl_engine_t *engine)
{
    unsigned done;

    for (done = 0; done < XYL_ENGINE_BATCH_MAX; done++) {
        xyl_event_t *event = xyl_fifo_pop(&engine->ready);
        if (event == NULL)
            break;
        event->handle(event);
    }
    return done;
}

static unsigned phase_timers(xyl_engine_t *engine)
{
    if (--engine->turns_to_timers != 0)
        return 0;
    engine->turns_to_timers = XYL_ENGINE_TIMER_TURNS;
    if (engine->timers.count == 0)
        return 0;
    return xyl_timers_fire(&engine->timers, xyl_clock_now(engine->clock));
}

static uintptr_t this_thread(void)
{
    return (uintptr_t)pthread_self();
}

/* A callback that another callback pushes waits for the next turn. */
static unsigned phase_callbacks(xyl_engine_t *engine)
{
    xyl_fifo_t batch = engine->callbacks;
    unsigned done = 0;

    if (xyl_fifo_is_empty(&batch))
        return 0;
    xyl_fifo_init(&engine->callbacks);
    atomic_store_explicit(&engine->callback_thread, this_thread(),
                          memory_order_relaxed);
    while (batch.head != NULL) {
        xyl_event_t *event = batch.head;
        batch.head = event->next;
        event->handle(event);
        done++;
    }
    atomic_store_explicit(&engine->callback_thread, 0, memory_order_relaxed);
    return done;
}

/* The net gets fewer turns while stages wait for shared memory (polls > 1): a
 * call of the net costs more than a poll of all sources. */
static int net_is_due(xyl_engine_t *engine)
{
    if (engine->polls > 1 && engine->turns_to_net != 0) {
        engine->turns_to_net--;
        return 0;
    }
    engine->turns_to_net = TURNS_WITHOUT_NET;
    return 1;
}

unsigned xyl_engine_work(xyl_engine_t *engine)
{
    unsigned done;

    xyl_fifo_move(&engine->later, &engine->ready);
    done = net_is_due(engine) ? phase_net(engine) : 0;
    done += phase_sources(engine);
    done += phase_ready(engine);
    done += phase_timers(engine);
    return done;
}

unsigned xyl_engine_turn(xyl_engine_t *engine)
{
    unsigned done = xyl_engine_work(engine);

    return done + phase_callbacks(engine);
}

void xyl_engine_submit(xyl_engine_t *engine, xyl_task_t *task)
{
    /* The short way: run the task here, after those submitted before. */
    if (xyl_engine_try_own(engine)) {
        xyl_queue_run(&engine->submitted);
        if (xyl_queue_is_empty(&engine->submitted)) {
            task->run(task);
            phase_ready(engine);
            xyl_engine_disown(engine);
            return;
        }
        xyl_engine_disown(engine);
    }
    xyl_queue_push(&engine->submitted, task);
    /* Sequentially consistent, after the exchange in the push. Partner: the
     * sleeper's store, which comes before the sleeper's look at the queue.
     * Either this thread sees the sleep or the sleeper sees the task. */
    if (atomic_load(&engine->sleeping) != 0) {
        engine->wake(engine->wake_arg);
        return;
    }
    if (xyl_engine_try_own(engine)) {
        xyl_queue_run(&engine->submitted);
        xyl_engine_disown(engine);
    }
}

int xyl_engine_is_idle(xyl_engine_t *engine)
{
    return engine->polled == 0 && xyl_fifo_is_empty(&engine->ready) &&
           xyl_fifo_is_empty(&engine->later) &&
           xyl_fifo_is_empty(&engine->callbacks) &&
           xyl_queue_is_empty(&engine->submitted);
}

xylem_status_t xyl_engine_source_add(xyl_engine_t *engine, xyl_source_t source)
{
    if (engine->source_count == XYL_ENGINE_SOURCES_MAX)
        return XYLEM_ERR_NO_RESOURCE;
    engine->sources[engine->source_count++] = source;
    return XYLEM_OK;
}

xylem_status_t xyl_engine_restless_add(xyl_engine_t *engine,
                                       xyl_source_t source)
{
    xylem_status_t status = xyl_engine_source_add(engine, source);

    engine->restless += status == XYLEM_OK;
    return status;
}

void xyl_engine_restless_remove(xyl_engine_t *engine, xyl_source_t source)
{
    unsigned i = 0;

    while (engine->sources[i].poll != source.poll ||
           engine->sources[i].arg != source.arg)
        i++;
    engine->sources[i] = engine->sources[--engine->source_count];
    engine->restless--;
}

int xyl_engine_in_callback(xyl_engine_t *engine)
{
    /* Relaxed: only this thread stores its own number. */
    return atomic_load_explicit(&engine->callback_thread,
                                memory_order_relaxed) == this_thread();
}
