#include "runtime/triggers/trigger_counter.h"

#include "runtime/base/holder.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"

/* ---- counting: any thread ---- */

/* 1: the counter has got to 0. This thread then sees what other threads wrote
 * before they counted. */
static int counter_count(xyl_trigger_counter_t *counter, int64_t n)
{
    int64_t left =
        atomic_fetch_sub_explicit(&counter->left, n, memory_order_acq_rel);

    return left > 0 && left <= n;
}

void xyl_trigger_counter_count(xyl_trigger_counter_t *counter, uint64_t n)
{
    if (counter_count(counter, (int64_t)n))
        xyl_engine_submit(&counter->trigger->context->engine, &counter->task);
}

/* ---- failing and completing: the progressing thread from here on ---- */

xylem_status_t xyl_trigger_failure(const xylem_trigger_t *trigger)
{
    return (xylem_status_t)atomic_load_explicit(&trigger->status,
                                                memory_order_relaxed);
}

/* Partner: the acquire of the user's thread that waits for the word. */
static void word_write(const xylem_trigger_t *trigger, uint64_t word)
{
    if (trigger->word != NULL)
        __atomic_store_n(trigger->word, word, __ATOMIC_RELEASE);
}

void xyl_trigger_fail(xylem_trigger_t *trigger, xylem_status_t status)
{
    for (; trigger != NULL && xyl_trigger_failure(trigger) == XYLEM_OK;
         trigger = trigger->then) {
        atomic_store_explicit(&trigger->status, (uint32_t)status,
                              memory_order_relaxed);
        if (trigger->word != NULL)
            word_write(trigger, *trigger->word | status);
    }
}

void xyl_trigger_fail_with_team(xylem_trigger_t *trigger)
{
    const xylem_team_t *team;

    if (trigger->triggered == NULL)
        return;
    team = trigger->triggered->request->team;
    if (xyl_team_has_failed(team))
        xyl_trigger_fail(trigger, team->failure.status);
}

static void counter_fired(xyl_trigger_counter_t *counter)
{
    STAILQ_INSERT_TAIL(&xyl_triggers_of(counter->trigger->context)->fired,
                       counter, others);
}

/* The counter's action has begun `times` times; counts may have come since. */
static void counter_arm(xyl_trigger_counter_t *counter, int64_t times)
{
    const int64_t more = counter->threshold * times;

    if (atomic_fetch_add_explicit(&counter->left, more, memory_order_acq_rel) +
            more <=
        0)
        counter_fired(counter);
}

/* The action is done `times` times, or has failed with `status`. */
static void trigger_done(xylem_trigger_t *trigger, xylem_status_t status,
                         int64_t times)
{
    xylem_trigger_t *then = trigger->then;

    if (status != XYLEM_OK || xyl_trigger_failure(trigger) != XYLEM_OK) {
        xyl_trigger_fail(trigger, status);
        return;
    }
    if (trigger->word != NULL)
        word_write(trigger, *trigger->word + 256 * (uint64_t)times);
    /* The trigger of a request without segments has no counter. */
    if (then != NULL && then->counters != 0 &&
        counter_count(then->counter, times))
        counter_fired(then->counter);
}

/* ---- acting ---- */

static void counter_wait(xyl_trigger_counter_t *counter)
{
    STAILQ_INSERT_TAIL(&counter->trigger->waiting, counter, others);
}

static void trigger_start(xyl_trigger_counter_t *counter)
{
    xylem_request_t *request = counter->trigger->triggered->request;
    xylem_status_t status;

    if (atomic_load_explicit(&request->state, memory_order_acquire) ==
        XYL_REQUEST_ACTIVE) {
        counter_wait(counter);
        return;
    }
    status = xyl_request_start_now(request);
    if (status == XYLEM_OK)
        counter_arm(counter, 1);
    else
        xyl_trigger_fail(counter->trigger, status);
}

static void trigger_take_segment(xyl_trigger_counter_t *counter)
{
    const xylem_trigger_t *trigger = counter->trigger;

    if (trigger->triggered->takes_segments &&
        xyl_operation_take(xyl_operation_of(trigger->triggered->request),
                           (uint64_t)(counter - trigger->counter)))
        counter_arm(counter, 1);
    else
        counter_wait(counter);
}

/* Acts as often as the counter has reached its threshold, at once. */
static void trigger_nothing(xyl_trigger_counter_t *counter)
{
    const int64_t left =
        atomic_load_explicit(&counter->left, memory_order_relaxed);
    const int64_t times = 1 - left / counter->threshold;

    counter_arm(counter, times);
    trigger_done(counter->trigger, XYLEM_OK, times);
}

static void counter_act(xyl_trigger_counter_t *counter)
{
    xylem_trigger_t *trigger = counter->trigger;

    if (xyl_trigger_failure(trigger) != XYLEM_OK)
        return;
    switch (trigger->action) {
    case XYLEM_TRIGGER_NOTHING:
        trigger_nothing(counter);
        break;
    case XYLEM_TRIGGER_START:
        trigger_start(counter);
        break;
    case XYLEM_TRIGGER_SEGMENTS:
        trigger_take_segment(counter);
        break;
    case XYLEM_TRIGGER_CALL:
        trigger->is_called = 1;
        xyl_fifo_push(&trigger->context->engine.callbacks,
                      &trigger->call_event);
        break;
    }
}

/* Lets counters act one after the other, as an action may fire others. */
void xyl_triggers_run(xylem_context_t *context)
{
    xyl_triggers_t *triggers = xyl_triggers_of(context);
    xyl_trigger_counter_t *counter;

    if (triggers->is_running)
        return;
    triggers->is_running = 1;
    while ((counter = STAILQ_FIRST(&triggers->fired)) != NULL) {
        STAILQ_REMOVE_HEAD(&triggers->fired, others);
        counter_act(counter);
    }
    triggers->is_running = 0;
}

xylem_status_t xyl_trigger_count_here(xylem_trigger_t *trigger, uint64_t index,
                                      uint64_t n)
{
    if (index >= trigger->counters || n > XYL_TRIGGER_COUNT_MAX)
        return XYLEM_ERR_INVALID_ARG;
    if (counter_count(&trigger->counter[index], (int64_t)n))
        counter_fired(&trigger->counter[index]);
    return XYLEM_OK;
}

void xyl_trigger_counter_run(xyl_task_t *task)
{
    xyl_trigger_counter_t *counter =
        XYL_HOLDER(xyl_trigger_counter_t, task, task);

    counter_fired(counter);
    xyl_triggers_run(counter->trigger->context);
}

void xyl_trigger_call(xyl_event_t *event)
{
    xylem_trigger_t *trigger = XYL_HOLDER(xylem_trigger_t, call_event, event);
    xylem_context_t *context = trigger->context;

    if (xyl_trigger_failure(trigger) == XYLEM_OK)
        trigger->fn(trigger->arg);
    trigger->is_called = 0;
    if (trigger->is_over) {
        xyl_trigger_release(trigger);
        return;
    }
    if (xyl_trigger_failure(trigger) == XYLEM_OK) {
        counter_arm(trigger->counter, 1);
        trigger_done(trigger, XYLEM_OK, 1);
    }
    xyl_triggers_run(context);
}

/* ---- the requests that triggers act on ---- */

/* Lets the counters that wait for the request's start or end act again. */
static void triggered_look_again(xyl_triggered_t *triggered)
{
    xylem_trigger_t *trigger;

    LIST_FOREACH(trigger, &triggered->triggers, siblings)
    STAILQ_CONCAT(&xyl_triggers_of(trigger->context)->fired, &trigger->waiting);
    xyl_triggers_run(triggered->request->context);
}

static void triggered_takes_segments(xyl_request_actor_t *actor)
{
    xyl_triggered_t *triggered = XYL_HOLDER(xyl_triggered_t, actor, actor);

    triggered->takes_segments = 1;
    triggered_look_again(triggered);
}

static void triggered_segment(void *arg, uint64_t segment, size_t offset,
                              size_t bytes)
{
    const xyl_triggered_t *triggered = arg;

    triggered->on_segment(triggered->arg, segment, offset, bytes);
}

static void triggered_free(xyl_triggered_t *triggered)
{
    xyl_pool_release(&triggered->request->context->pool, triggered,
                     sizeof *triggered);
}

void xyl_triggered_end(xyl_triggered_t *triggered)
{
    xylem_request_t *request = triggered->request;

    request->actor = NULL;
    request->on_complete = triggered->on_complete;
    request->arg = triggered->arg;
    xyl_operation_of(request)->told.on_segment = triggered->on_segment;
    if (triggered->is_calling)
        triggered->is_over = 1;
    else
        triggered_free(triggered);
}

static void triggered_leave(xyl_request_actor_t *actor)
{
    xyl_triggered_end(XYL_HOLDER(xyl_triggered_t, actor, actor));
}

static void triggered_complete(void *arg, xylem_status_t status)
{
    xyl_triggered_t *triggered = arg;
    xylem_context_t *context = triggered->request->context;
    xylem_trigger_t *trigger;

    triggered->takes_segments = 0;
    LIST_FOREACH(trigger, &triggered->triggers, siblings)
    trigger_done(trigger, status, 1);
    triggered->is_calling = 1;
    if (triggered->on_complete != NULL)
        triggered->on_complete(triggered->arg, status);
    triggered->is_calling = 0;
    if (!triggered->is_over) {
        triggered_look_again(triggered);
        return;
    }
    /* All triggers of the request have been destroyed meanwhile. Counters that
     * they have counted act now, as they may be gone after this callback. */
    triggered_free(triggered);
    xyl_triggers_run(context);
}

xyl_triggered_t *xyl_triggered_of(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    xyl_triggered_t *triggered;

    if (request->actor != NULL)
        return XYL_HOLDER(xyl_triggered_t, actor, request->actor);
    triggered = xyl_pool_acquire(&request->context->pool, sizeof *triggered);
    if (triggered == NULL)
        return NULL;
    *triggered = (xyl_triggered_t){
        .actor = {triggered_takes_segments, triggered_leave},
        .request = request,
        .on_complete = request->on_complete,
        .arg = request->arg,
    };
    triggered->on_segment = operation->told.on_segment;
    if (operation->told.on_segment != NULL)
        operation->told.on_segment = triggered_segment;
    request->on_complete = triggered_complete;
    request->arg = triggered;
    request->actor = &triggered->actor;
    return triggered;
}

/* ---- the end ---- */

void xyl_trigger_release(xylem_trigger_t *trigger)
{
    xylem_context_t *context = trigger->context;

    pthread_mutex_lock(&context->lock);
    LIST_REMOVE(trigger, others);
    pthread_mutex_unlock(&context->lock);
    xyl_pool_release(&context->pool, trigger, trigger->bytes);
}

static xylem_status_t triggers_begin(xylem_context_t *context)
{
    STAILQ_INIT(&xyl_triggers_of(context)->fired);
    return XYLEM_OK;
}

static void triggers_fail(xylem_context_t *context)
{
    xylem_trigger_t *trigger;

    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(trigger, &xyl_triggers_of(context)->all, others)
    xyl_trigger_fail_with_team(trigger);
    pthread_mutex_unlock(&context->lock);
}

static void triggers_end(xylem_context_t *context)
{
    while (!LIST_EMPTY(&xyl_triggers_of(context)->all))
        xyl_trigger_release(LIST_FIRST(&xyl_triggers_of(context)->all));
}

const xyl_module_t xyl_triggers_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_triggers_t)},
    .context_begins = triggers_begin,
    .context_ends = triggers_end,
    .teams_failed = triggers_fail,
};
