#include "runtime/triggers/triggered.h"

#include "runtime/base/holder.h"
#include "runtime/core/operation.h"
#include "runtime/triggers/trigger_counter.h"

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
    xyl_operation_of(request)->on_segment = triggered->on_segment;
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
    xyl_trigger_done(trigger, status);
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
    triggered->on_segment = operation->on_segment;
    if (operation->on_segment != NULL)
        operation->on_segment = triggered_segment;
    request->on_complete = triggered_complete;
    request->arg = triggered;
    request->actor = &triggered->actor;
    return triggered;
}
