#include "runtime/triggers/trigger.h"

#include "runtime/base/holder.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"
#include "runtime/triggers/stream_steps.h"
#include "runtime/triggers/trigger_counter.h"

enum { TRIGGER_MAGIC = 0x78547267, TRIGGER_FREED = 0x78546672 };

/* ---- creation ---- */

static xylem_status_t request_check(const xylem_context_t *context,
                                    const xylem_trigger_args_t *args)
{
    const xylem_request_t *request = args->request;
    xylem_status_t status = xyl_request_check(request, "xylem_trigger_create");

    if (status != XYLEM_OK)
        return status;
    if (request->context != context || !request->is_persistent)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: the request is of another "
                        "context, or not persistent");
    if (args->action == XYLEM_TRIGGER_SEGMENTS &&
        !((const xyl_operation_t *)request)->parts.are_awaited)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: the request was made without "
                        "XYLEM_FLAG_PARTS, or this rank has no input");
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
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: there is no action %d",
                        (int)args->action);
    has_request = args->action == XYLEM_TRIGGER_START ||
                  args->action == XYLEM_TRIGGER_SEGMENTS;
    has_fn = args->action == XYLEM_TRIGGER_CALL;
    if (has_request != (args->request != NULL) || has_fn != (args->fn != NULL))
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: XYLEM_TRIGGER_START and "
                        "XYLEM_TRIGGER_SEGMENTS have a request, "
                        "XYLEM_TRIGGER_CALL has fn, and no other action does");
    if (args->threshold > XYL_TRIGGER_COUNT_MAX ||
        (uintptr_t)args->word % 8 != 0)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: the threshold is beyond 2^48, "
                        "or the word is not aligned");
    status = has_request ? request_check(context, args) : XYLEM_OK;
    if (status == XYLEM_OK && args->then != NULL)
        status = xyl_trigger_check(args->then, "xylem_trigger_create: then");
    if (status == XYLEM_OK && args->then != NULL &&
        args->then->context != context)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: then is of another context");
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
        .call_event = {.handle = xyl_trigger_call},
        .bytes = bytes,
        .counters = counters,
    };
    STAILQ_INIT(&trigger->waiting);
    for (i = 0; i < counters; i++) {
        trigger->counter[i] = (xyl_trigger_counter_t){
            .trigger = trigger,
            .threshold = (int64_t)threshold_of(args, i),
            .task = {.run = xyl_trigger_counter_run},
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
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_create: trigger_out is NULL");
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
        trigger->triggered = xyl_triggered_of(args.request);
        if (trigger->triggered == NULL)
            xyl_pool_release(&context->pool, trigger, trigger->bytes);
    }
    if (trigger == NULL || (args.request != NULL && trigger->triggered == NULL))
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a trigger");
    if (trigger->then != NULL)
        xyl_trigger_name(trigger->then);
    pthread_mutex_lock(&context->lock);
    LIST_INSERT_HEAD(&xyl_triggers_of(context)->all, trigger, others);
    if (trigger->triggered != NULL)
        LIST_INSERT_HEAD(&trigger->triggered->triggers, trigger, siblings);
    xyl_trigger_fail_with_team(trigger);
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
    xylem_status_t status = xyl_trigger_failure(trigger);

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
    xyl_trigger_counter_count(&trigger->counter[index], n);
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
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_bytes: the trigger does not count the "
                        "bytes of segments");
    operation = xyl_operation_of(trigger->triggered->request);
    segment_bytes = xyl_operation_users(operation, operation->segment_bytes);
    all = xyl_operation_users(operation, operation->bytes);
    if (offset > all || bytes > all - offset)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_trigger_bytes: the message has %zu bytes", all);
    for (segment = offset / segment_bytes; bytes != 0; segment++) {
        piece = segment_bytes - offset % segment_bytes;
        piece = piece < bytes ? piece : bytes;
        xyl_trigger_counter_count(&trigger->counter[segment], piece);
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
        xyl_trigger_release(trigger);
}

static void trigger_end(void *arg)
{
    xylem_trigger_t *trigger = arg;
    xyl_triggered_t *triggered = trigger->triggered;

    trigger->word = NULL;
    trigger->then = NULL;
    xyl_trigger_fail(trigger, XYLEM_ERR_CANCELED);
    if (triggered != NULL) {
        LIST_REMOVE(trigger, siblings);
        if (LIST_EMPTY(&triggered->triggers))
            xyl_triggered_end(triggered);
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
