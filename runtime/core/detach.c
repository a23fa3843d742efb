#include "runtime/core/detach.h"

#include <assert.h>

#include "runtime/base/holder.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* ---- room ---- */

/* Returns the bytes that this rank may hold at once: its share of as many calls
 * like this one as fit the node's budget. */
static uint64_t room_for(const xyl_operation_t *operation)
{
    uint64_t budget = operation->request.context->sizes.budget;

    return operation->detach.node_holds == 0
               ? 0
               : budget / operation->detach.node_holds *
                     operation->detach.hold.bytes;
}

/* 1: every operation older than this one, the newest, is detached. */
static int is_only_one(const xyl_operation_t *operation)
{
    const xyl_operation_t *older = LIST_NEXT(operation, others);

    while (older != NULL && older->detach.is_detached)
        older = LIST_NEXT(older, others);
    return older == NULL;
}

int xyl_detach_reserve(xyl_operation_t *operation)
{
    xylem_context_t *context = operation->request.context;
    uint64_t room = room_for(operation);

    operation->detach.is_holding = 0;
    if (!operation->detach.hold.detaches || operation->detach.hold.bytes > room)
        return 1;
    if (context->held.bytes + operation->detach.hold.bytes > room) {
        if (!xyl_detach_goes_on(context) || !is_only_one(operation))
            return 1;
        assert(context->held.deferred == NULL);
        context->held.deferred = operation;
        return 0;
    }
    if (operation->detach.hold.needs_message && operation->detach.copy == NULL)
        operation->detach.copy =
            xyl_pool_acquire(&context->pool, operation->bytes);
    if (operation->detach.hold.needs_message && operation->detach.copy == NULL)
        return 1;
    context->held.bytes += operation->detach.hold.bytes;
    operation->detach.is_holding = 1;
    return 1;
}

xyl_operation_t *xyl_detach_take_deferred(xylem_context_t *context)
{
    xyl_operation_t *operation = context->held.deferred;

    context->held.deferred = NULL;
    return operation != NULL && operation->failure == XYLEM_OK ? operation
                                                               : NULL;
}

void xyl_detach_give_back(xyl_operation_t *operation)
{
    if (operation->request.context->held.deferred ==
        operation) /* it has failed */
        operation->request.context->held.deferred = NULL;
    if (!operation->detach.is_holding)
        return;
    operation->detach.is_holding = 0;
    operation->request.context->held.bytes -= operation->detach.hold.bytes;
    if (operation->request.posted == 0)
        xyl_detach_free_copy(operation);
}

void xyl_detach_free_copy(xyl_operation_t *operation)
{
    if (operation->detach.copy != NULL)
        xyl_pool_release(&operation->request.context->pool,
                         operation->detach.copy, operation->bytes);
    operation->detach.copy = NULL;
}

/* ---- from completion to the end ---- */

void xyl_detach_begin(xyl_operation_t *operation)
{
    operation->is_finishing = 0;
    operation->detach.is_detached = 1;
    atomic_fetch_add_explicit(&operation->request.context->held.detached, 1,
                              memory_order_relaxed);
    if (operation->detach.counter != NULL)
        atomic_fetch_add_explicit(operation->detach.counter, 1,
                                  memory_order_relaxed);
    xyl_request_detach(&operation->request);
}

void xyl_detach_settle(xyl_operation_t *operation)
{
    xylem_context_t *context = operation->request.context;
    _Atomic uint32_t *counter = operation->detach.counter;

    operation->detach.is_detached = 0;
    xyl_request_settle(&operation->request);
    /* Partners: the loads in xyl_detach_goes_on and in user_op.c. */
    atomic_fetch_sub_explicit(&context->held.detached, 1, memory_order_release);
    if (counter != NULL)
        atomic_fetch_sub_explicit(counter, 1, memory_order_release);
    xyl_driver_notify(&context->driver);
}

/* ---- stand-ins ---- */

static void stand_in_done(void *arg, xylem_status_t status)
{
    xyl_operation_t *operation = arg;

    xyl_request_complete(&operation->request, status);
}

static int is_free(const xyl_operation_t *operation)
{
    /* Partners: the releases at the end of the run. */
    return atomic_load_explicit(&operation->request.state,
                                memory_order_acquire) != XYL_REQUEST_ACTIVE &&
           atomic_load_explicit(&operation->request.rest,
                                memory_order_acquire) == XYL_REST_NONE;
}

xylem_request_t *xyl_detach_stand_in(xylem_request_t *request)
{
    xyl_operation_t *operation = XYL_HOLDER(xyl_operation_t, request, request);
    xyl_operation_t *other;

    for (other = operation->detach.stand_ins; other != NULL;
         other = other->detach.next_stand_in)
        if (is_free(other))
            return &other->request;
    assert(operation->maker.another != NULL);
    other = operation->maker.another(operation);
    if (other == NULL)
        return NULL;
    xyl_request_make_own(&other->request);
    other->request.on_complete = stand_in_done;
    other->request.arg = operation;
    other->detach.next_stand_in = operation->detach.stand_ins;
    operation->detach.stand_ins = other;
    return &other->request;
}

void xyl_detach_free_stand_ins(xyl_operation_t *operation)
{
    xyl_operation_t *other = operation->detach.stand_ins, *next;

    operation->detach.stand_ins = NULL;
    for (; other != NULL; other = next) {
        next = other->detach.next_stand_in;
        (void)xylem_request_free(&other->request); /* it is idle */
    }
}

/* ---- the end of a context ---- */

int xyl_detach_goes_on(const xylem_context_t *context)
{
    /* Partner: the subtraction in xyl_detach_settle. */
    return atomic_load_explicit(&context->held.detached,
                                memory_order_acquire) != 0;
}

static int is_drained(void *arg)
{
    return !xyl_detach_goes_on(arg);
}

int xyl_detach_drain(xylem_context_t *context, uint64_t limit_ns)
{
    return xyl_driver_wait(&context->driver, is_drained, context, limit_ns) ==
           XYLEM_OK;
}

void xyl_detach_abandon(xylem_context_t *context)
{
    xyl_operation_t *operation;

    while ((operation = LIST_FIRST(&context->operations)) != NULL) {
        assert(operation->detach.is_detached);
        LIST_REMOVE(operation, others);
        operation->request.posted = 0;
        operation->detach.is_detached = 0;
        xyl_detach_give_back(operation);
        xyl_request_settle(&operation->request);
    }
}
