#include "runtime/triggers/trigger.h"

#include "runtime/base/holder.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"
#include "runtime/modules.h"
#include "runtime/triggers/stream_steps.h"

enum { TRIGGER_MAGIC = 0x78547267, TRIGGER_FREED = 0x78546672 };

typedef struct triggers {
    struct xyl_trigger_counters fired;
    int is_running;
    LIST_HEAD(, xylem_trigger) all; /* by the context's lock */
} triggers_t;

XYL_STATE_OF_CONTEXT(triggers_t, triggers_of, XYL_MODULE_TRIGGERS)

/* A request's actor: its triggers. Its callbacks replace the user's, and call
 * the user's in turn. */
typedef struct xyl_triggered {
    xyl_request_actor_t actor;
    xylem_request_t *request;
    int takes_segments; /* this run of the request does */
    int is_calling;     /* on_complete has not returned */
    int is_over;        /* freed when on_complete has returned */
    LIST_HEAD(, xylem_trigger) triggers;
    /* The user's callbacks. */
    xylem_complete_fn on_complete;
    xylem_segment_fn on_segment;
    void *arg;
} triggered_t;

/* ---- counting: any thread ---- */

/* 1: the counter has got to 0. This thread then sees what other threads wrote
 * before they counted. */
static int counter_count(xyl_trigger_counter_t *counter, int64_t n)
{
    int64_t left =
        atomic_fetch_sub_explicit(&counter->left, n, memory_order_acq_rel);

    return left > 0 && left <= n;
}

static void count_on_any_thread(xyl_trigger_counter_t *counter, uint64_t n)
{
    if (counter_count(counter, (int64_t)n))
        xyl_engine_submit(&counter->trigger->context->engine, &counter->task);
}

/* ---- failing and completing: the progressing thread from here on ---- */

static xylem_status_t trigger_failure(const xylem_trigger_t *trigger)
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

static void trigger_fail(xylem_trigger_t *trigger, xylem_status_t status)
{
    for (; trigger != NULL && trigger_failure(trigger) == XYLEM_OK;
         trigger = trigger->then) {
        atomic_store_explicit(&trigger->status, (uint32_t)status,
                              memory_order_relaxed);
        if (trigger->word != NULL)
            word_write(trigger, *trigger->word | status);
    }
}

static void trigger_fail_with_team(xylem_trigger_t *trigger)
{
    const xylem_team_t *team;

    if (trigger->triggered == NULL)
        return;
    team = trigger->triggered->request->team;
    if (xyl_team_has_failed(team))
        trigger_fail(trigger, team->failure.status);
}

static void counter_fired(xyl_trigger_counter_t *counter)
{
    STAILQ_INSERT_TAIL(&triggers_of(counter->trigger->context)->fired, counter,
                       others);
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

    if (status != XYLEM_OK || trigger_failure(trigger) != XYLEM_OK) {
        trigger_fail(trigger, status);
        return;
    }
    if (trigger->word != NULL)
        word_write(trigger, *trigger->word + 256 * (uint64_t)times);
    /* The trigger of a request without segments has no counter. */
    if (then != NULL && then->counters != 0 &&
        counter_count(then->counter, times))
        counter_fired(then->counter);
}

static void trigger_release(xylem_trigger_t *trigger)
{
    xylem_context_t *context = trigger->context;

    pthread_mutex_lock(&context->lock);
    LIST_REMOVE(trigger, others);
    pthread_mutex_unlock(&context->lock);
    xyl_pool_release(&context->pool, trigger, trigger->bytes);
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
        trigger_fail(counter->trigger, status);
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

    if (trigger_failure(trigger) != XYLEM_OK)
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
    triggers_t *triggers = triggers_of(context);
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

static void counter_run(xyl_task_t *task)
{
    xyl_trigger_counter_t *counter =
        XYL_HOLDER(xyl_trigger_counter_t, task, task);

    counter_fired(counter);
    xyl_triggers_run(counter->trigger->context);
}

static void trigger_call(xyl_event_t *event)
{
    xylem_trigger_t *trigger = XYL_HOLDER(xylem_trigger_t, call_event, event);
    xylem_context_t *context = trigger->context;

    if (trigger_failure(trigger) == XYLEM_OK)
        trigger->fn(trigger->arg);
    trigger->is_called = 0;
    if (trigger->is_over) {
        trigger_release(trigger);
        return;
    }
    if (trigger_failure(trigger) == XYLEM_OK) {
        counter_arm(trigger->counter, 1);
        trigger_done(trigger, XYLEM_OK, 1);
    }
    xyl_triggers_run(context);
}

/* ---- the requests that triggers act on ---- */

/* Lets the counters that wait for the request's start or end act again. */
static void triggered_look_again(triggered_t *triggered)
{
    xylem_trigger_t *trigger;

    LIST_FOREACH(trigger, &triggered->triggers, siblings)
    STAILQ_CONCAT(&triggers_of(trigger->context)->fired, &trigger->waiting);
    xyl_triggers_run(triggered->request->context);
}

static void triggered_takes_segments(xyl_request_actor_t *actor)
{
    triggered_t *triggered = XYL_HOLDER(triggered_t, actor, actor);

    triggered->takes_segments = 1;
    triggered_look_again(triggered);
}

static void triggered_segment(void *arg, uint64_t segment, size_t offset,
                              size_t bytes)
{
    const triggered_t *triggered = arg;

    triggered->on_segment(triggered->arg, segment, offset, bytes);
}

static void triggered_free(triggered_t *triggered)
{
    xyl_pool_release(&triggered->request->context->pool, triggered,
                     sizeof *triggered);
}

static void triggered_end(triggered_t *triggered)
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
    triggered_end(XYL_HOLDER(triggered_t, actor, actor));
}

static void triggered_complete(void *arg, xylem_status_t status)
{
    triggered_t *triggered = arg;
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
    /* All triggers of the request have been destroyed meanwhile. The counters
     * that fired above act now: they may be gone after this callback. */
    triggered_free(triggered);
    xyl_triggers_run(context);
}

static triggered_t *triggered_of(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    triggered_t *triggered;

    if (request->actor != NULL)
        return XYL_HOLDER(triggered_t, actor, request->actor);
    triggered = xyl_pool_acquire(&request->context->pool, sizeof *triggered);
    if (triggered == NULL)
        return NULL;
    *triggered = (triggered_t){
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

/* ---- creation ---- */

static xylem_status_t request_check(const xylem_context_t *context,
                                    const xylem_trigger_args_t *args)
{
    const xylem_request_t *request = args->request;
    xylem_status_t status = xyl_request_check(request, "xylem_trigger_create");

    if (status != XYLEM_OK)
        return status;
    if (request->context != context || !request->is_persistent)
        return xyl_refuse(
            "xylem_trigger_create",
            "the request is of another context, or not persistent");
    if (args->action == XYLEM_TRIGGER_SEGMENTS &&
        !((const xyl_operation_t *)request)->parts.are_awaited)
        return xyl_refuse("xylem_trigger_create",
                          "the request was made without XYLEM_FLAG_PARTS, or "
                          "this rank has no input");
    if (atomic_load_explicit(&request->state, memory_order_acquire) !=
        XYL_REQUEST_IDLE)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_trigger_create: the request is active");
    return XYLEM_OK;
}

xylem_status_t xyl_trigger_check(const xylem_trigger_t *trigger,
                                 const char *call)
{
    if (trigger != NULL && trigger->magic == TRIGGER_MAGIC)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                    "%s: the trigger is NULL or has been destroyed", call);
}

static xylem_status_t args_check(const xylem_context_t *context,
                                 const xylem_trigger_args_t *args)
{
    int has_request, has_fn;
    xylem_status_t status;

    if (args->action > XYLEM_TRIGGER_CALL)
        return xyl_refuse("xylem_trigger_create", "there is no action %d",
                          (int)args->action);
    has_request = args->action == XYLEM_TRIGGER_START ||
                  args->action == XYLEM_TRIGGER_SEGMENTS;
    has_fn = args->action == XYLEM_TRIGGER_CALL;
    if (has_request != (args->request != NULL) || has_fn != (args->fn != NULL))
        return xyl_refuse(
            "xylem_trigger_create",
            "XYLEM_TRIGGER_START and XYLEM_TRIGGER_SEGMENTS have a request, "
            "XYLEM_TRIGGER_CALL has fn, and no other action does");
    if (args->threshold > XYL_TRIGGER_COUNT_MAX ||
        (uintptr_t)args->word % 8 != 0)
        return xyl_refuse(
            "xylem_trigger_create",
            "the threshold is beyond 2^48, or the word is not aligned");
    status = has_request ? request_check(context, args) : XYLEM_OK;
    if (status == XYLEM_OK && args->then != NULL)
        status = xyl_trigger_check(args->then, "xylem_trigger_create: then");
    if (status == XYLEM_OK && args->then != NULL &&
        args->then->context != context)
        return xyl_refuse("xylem_trigger_create", "then is of another context");
    return status;
}

static uint64_t threshold_of(const xylem_trigger_args_t *args, uint64_t segment)
{
    const xyl_operation_t *operation;

    if (args->threshold != 0)
        return args->threshold;
    if (args->action != XYLEM_TRIGGER_SEGMENTS)
        return 1;
    operation = xyl_operation_of(args->request);
    return xyl_operation_users(operation,
                               xyl_operation_length(operation, segment));
}

/* Makes a trigger that is not bound to its request yet. NULL: no memory. */
static xylem_trigger_t *trigger_make(xylem_context_t *context,
                                     const xylem_trigger_args_t *args)
{
    uint64_t counters = args->action == XYLEM_TRIGGER_SEGMENTS
                            ? xyl_operation_of(args->request)->segments
                            : 1;
    xylem_trigger_t *trigger;
    size_t bytes = sizeof *trigger + counters * sizeof *trigger->counter;
    uint64_t i;

    trigger = xyl_pool_acquire(&context->pool, bytes);
    if (trigger == NULL)
        return NULL;
    *trigger = (xylem_trigger_t){
        .magic = TRIGGER_MAGIC,
        .action = args->action,
        .context = context,
        .fn = args->fn,
        .arg = args->arg,
        .then = args->then,
        .word = args->word,
        .is_by_bytes =
            args->action == XYLEM_TRIGGER_SEGMENTS && args->threshold == 0,
        .call_event = {.handle = trigger_call},
        .bytes = bytes,
        .counters = counters,
    };
    STAILQ_INIT(&trigger->waiting);
    for (i = 0; i < counters; i++) {
        trigger->counter[i] = (xyl_trigger_counter_t){
            .trigger = trigger,
            .threshold = (int64_t)threshold_of(args, i),
            .task = {.run = counter_run},
        };
        atomic_init(&trigger->counter[i].left, trigger->counter[i].threshold);
    }
    return trigger;
}

xylem_status_t xylem_trigger_create(xylem_context_t *context,
                                    const xylem_trigger_args_t *given,
                                    xylem_trigger_t **trigger_out)
{
    xylem_trigger_args_t args;
    xylem_trigger_t *trigger;
    xylem_status_t status = xyl_context_check(context, "xylem_trigger_create");

    if (status == XYLEM_OK && trigger_out == NULL)
        return xyl_refuse("xylem_trigger_create", "trigger_out is NULL");
    if (status == XYLEM_OK)
        status = xyl_members_read("xylem_trigger_create", "args", given,
                                  XYL_BYTES_UP_TO(xylem_trigger_args_t, word),
                                  &args, sizeof args);
    if (status == XYLEM_OK)
        status = args_check(context, &args);
    if (status != XYLEM_OK)
        return status;
    trigger = trigger_make(context, &args);
    if (trigger != NULL && args.request != NULL) {
        trigger->triggered = triggered_of(args.request);
        if (trigger->triggered == NULL)
            xyl_pool_release(&context->pool, trigger, trigger->bytes);
    }
    if (trigger == NULL || (args.request != NULL && trigger->triggered == NULL))
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a trigger");
    if (trigger->then != NULL)
        xyl_trigger_name(trigger->then);
    pthread_mutex_lock(&context->lock);
    LIST_INSERT_HEAD(&triggers_of(context)->all, trigger, others);
    if (trigger->triggered != NULL)
        LIST_INSERT_HEAD(&trigger->triggered->triggers, trigger, siblings);
    trigger_fail_with_team(trigger);
    pthread_mutex_unlock(&context->lock);
    *trigger_out = trigger;
    return XYLEM_OK;
}

/* ---- the other calls ---- */

void xyl_trigger_name(xylem_trigger_t *trigger)
{
    atomic_fetch_add_explicit(&trigger->named, 1, memory_order_relaxed);
}

void xyl_trigger_unname(xylem_trigger_t *trigger)
{
    atomic_fetch_sub_explicit(&trigger->named, 1, memory_order_release);
}

static xylem_status_t failure_outcome(const xylem_trigger_t *trigger)
{
    xylem_status_t status = trigger_failure(trigger);

    return status == XYLEM_OK
               ? XYLEM_OK
               : xyl_explain(status, "the trigger has failed: %s",
                             xylem_status_text(status));
}

static xylem_status_t check_count(const xylem_trigger_t *trigger,
                                  uint64_t index, uint64_t n, const char *call)
{
    xylem_status_t status = xyl_trigger_check(trigger, call);

    if (status == XYLEM_OK &&
        (index >= trigger->counters || n > XYL_TRIGGER_COUNT_MAX))
        status = xyl_fail(XYLEM_ERR_INVALID_ARG,
                          "%s: there is no counter %llu of %llu, or %llu is "
                          "beyond 2^48",
                          call, (unsigned long long)index,
                          (unsigned long long)trigger->counters,
                          (unsigned long long)n);
    return status;
}

xylem_status_t xylem_trigger_count(xylem_trigger_t *trigger, uint64_t index,
                                   uint64_t n)
{
    xylem_status_t status =
        check_count(trigger, index, n, "xylem_trigger_count");

    if (status != XYLEM_OK)
        return status;
    count_on_any_thread(&trigger->counter[index], n);
    return failure_outcome(trigger);
}

/* A stream has reached the step of xylem_stream_trigger. */
static void stream_counted(void *arg, uint64_t index, uint64_t n)
{
    xylem_trigger_t *trigger = arg;

    (void)xyl_trigger_count_here(trigger, index, n);
    xyl_trigger_unname(trigger);
    xyl_triggers_run(trigger->context);
}

xylem_status_t xylem_stream_trigger(xylem_trigger_t *trigger, uint64_t index,
                                    uint64_t n, void *stream)
{
    const xyl_stream_step_t step = {stream_counted, trigger, index, n};
    xylem_status_t status =
        check_count(trigger, index, n, "xylem_stream_trigger");

    if (status != XYLEM_OK)
        return status;
    xyl_trigger_name(trigger);
    status = xyl_stream_steps_add(trigger->context, "xylem_stream_trigger",
                                  stream, &step);
    if (status != XYLEM_OK)
        xyl_trigger_unname(trigger);
    return status;
}

xylem_status_t xylem_trigger_bytes(xylem_trigger_t *trigger, size_t offset,
                                   size_t bytes)
{
    const xyl_operation_t *operation;
    size_t segment_bytes, all, piece;
    uint64_t segment;
    xylem_status_t status = xyl_trigger_check(trigger, "xylem_trigger_bytes");

    if (status != XYLEM_OK)
        return status;
    if (!trigger->is_by_bytes)
        return xyl_refuse("xylem_trigger_bytes",
                          "the trigger does not count the bytes of segments");
    operation = xyl_operation_of(trigger->triggered->request);
    segment_bytes = xyl_operation_users(operation, operation->segment_bytes);
    all = xyl_operation_users(operation, operation->bytes);
    if (offset > all || bytes > all - offset)
        return xyl_refuse("xylem_trigger_bytes", "the message has %zu bytes",
                          all);
    for (segment = offset / segment_bytes; bytes != 0; segment++) {
        piece = segment_bytes - offset % segment_bytes;
        piece = piece < bytes ? piece : bytes;
        count_on_any_thread(&trigger->counter[segment], piece);
        offset += piece;
        bytes -= piece;
    }
    return failure_outcome(trigger);
}

xylem_status_t xylem_trigger_status(const xylem_trigger_t *trigger)
{
    xylem_status_t status = xyl_trigger_check(trigger, "xylem_trigger_status");

    if (status == XYLEM_OK)
        status = failure_outcome(trigger);
    if (status == XYLEM_OK && trigger->triggered != NULL)
        status = xylem_team_error(trigger->triggered->request->team, NULL);
    return status;
}

/* ---- the end ---- */

/* The last task of a trigger, after the tasks of its counters. */
static void trigger_last_run(xyl_task_t *task)
{
    xylem_trigger_t *trigger = XYL_HOLDER(xylem_trigger_t, task, task);

    if (trigger->is_called)
        trigger->is_over = 1;
    else
        trigger_release(trigger);
}

static void trigger_end(void *arg)
{
    xylem_trigger_t *trigger = arg;
    triggered_t *triggered = trigger->triggered;

    trigger->word = NULL;
    trigger->then = NULL;
    trigger_fail(trigger, XYLEM_ERR_CANCELED);
    if (triggered != NULL) {
        LIST_REMOVE(trigger, siblings);
        if (LIST_EMPTY(&triggered->triggers))
            triggered_end(triggered);
        trigger->triggered = NULL;
    }
    trigger->task.run = trigger_last_run;
    xyl_engine_submit(&trigger->context->engine, &trigger->task);
}

xylem_status_t xylem_trigger_destroy(xylem_trigger_t *trigger)
{
    xylem_trigger_t *then;
    xylem_status_t status;

    if (trigger == NULL)
        return XYLEM_OK;
    status = xyl_trigger_check(trigger, "xylem_trigger_destroy");
    if (status != XYLEM_OK)
        return status;
    /* Partner: the release in xyl_trigger_unname. */
    if (atomic_load_explicit(&trigger->named, memory_order_acquire) != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_trigger_destroy: it is `then` of another, or "
                        "bound to a tag, or a stream has still to count it");
    trigger->magic = TRIGGER_FREED;
    then = trigger->then;
    xyl_context_do(trigger->context, trigger_end, trigger);
    if (then != NULL)
        xyl_trigger_unname(then);
    return XYLEM_OK;
}

/* ---- the module ---- */

static xylem_status_t triggers_begin(xylem_context_t *context)
{
    STAILQ_INIT(&triggers_of(context)->fired);
    return XYLEM_OK;
}

static void triggers_fail(xylem_context_t *context)
{
    xylem_trigger_t *trigger;

    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(trigger, &triggers_of(context)->all, others)
    trigger_fail_with_team(trigger);
    pthread_mutex_unlock(&context->lock);
}

static void triggers_end(xylem_context_t *context)
{
    while (!LIST_EMPTY(&triggers_of(context)->all))
        trigger_release(LIST_FIRST(&triggers_of(context)->all));
}

const xyl_module_t xyl_triggers_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(triggers_t)},
    .context_begins = triggers_begin,
    .context_ends = triggers_end,
    .teams_failed = triggers_fail,
};
