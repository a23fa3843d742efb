#include "runtime/core/request.h"

#include <assert.h>

#include "runtime/base/holder.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* ---- memory ---- */

static void callbacks_due(xyl_event_t *event);
static void request_start_run(xyl_task_t *task);

xylem_request_t *xyl_request_create(xylem_team_t *team,
                                    const xyl_request_ops_t *ops, size_t bytes)
{
    xyl_arena_t arena;
    xylem_request_t *request;

    assert(bytes >= sizeof *request);
    xyl_arena_init(&arena, &team->context->pool);
    request = xyl_arena_array(&arena, 1, bytes);
    if (request == NULL) {
        (void)xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a request");
        return NULL;
    }
    request->magic = XYL_REQUEST_MAGIC;
    request->ops = ops;
    request->context = team->context;
    request->team = team;
    request->arena = arena;
    atomic_init(&request->is_users, 1);
    request->start_task.run = request_start_run;
    request->callback_event.handle = callbacks_due;
    xyl_team_reference(team);
    pthread_mutex_lock(&team->context->lock);
    LIST_INSERT_HEAD(&team->context->requests, request, others);
    pthread_mutex_unlock(&team->context->lock);
    return request;
}

static void nothing_to_start(xylem_request_t *request)
{
    (void)request;
}

const xyl_request_ops_t xyl_request_beside = {.start = nothing_to_start};

void xyl_request_release(xylem_request_t *request)
{
    xylem_context_t *context = request->context;
    xyl_arena_t arena = request->arena;

    pthread_mutex_lock(&context->lock);
    LIST_REMOVE(request, others);
    pthread_mutex_unlock(&context->lock);
    if (request->ops->release != NULL)
        request->ops->release(request);
    request->magic = XYL_REQUEST_FREED;
    xyl_arena_fini(&arena);
}

/* 1: a detached run, or the net, still uses the request's memory. */
static int is_engaged(const xylem_request_t *request)
{
    /* Partner: the exchange in xyl_request_settle. */
    return atomic_load_explicit(&request->rest, memory_order_acquire) !=
           XYL_REST_NONE;
}

/* 1: the request cannot start again, as it failed and its memory is in use. */
static int is_broken(const xylem_request_t *request)
{
    return request->status != XYLEM_OK && is_engaged(request);
}

void xyl_request_revive(xylem_request_t *request)
{
    request->magic = XYL_REQUEST_MAGIC;
    request->is_freed = 0;
    atomic_store_explicit(&request->is_users, 1, memory_order_relaxed);
    /* A request that was freed before its callback returned is not idle. */
    atomic_store_explicit(&request->state, XYL_REQUEST_IDLE,
                          memory_order_relaxed);
    xyl_team_reference(request->team);
}

void xyl_request_persist(xylem_request_t *request)
{
    request->is_persistent = 1;
    atomic_fetch_add_explicit(&request->team->persistent, 1,
                              memory_order_relaxed);
}

void xyl_request_make_own(xylem_request_t *request)
{
    atomic_store_explicit(&request->is_users, 0, memory_order_relaxed);
}

/* From here on the request does not keep the user from destroying its team. */
static void request_mark_freed(xylem_request_t *request)
{
    request->magic = XYL_REQUEST_FREED;
    xyl_request_make_own(request);
    if (request->is_persistent)
        atomic_fetch_sub_explicit(&request->team->persistent, 1,
                                  memory_order_relaxed);
    request->is_persistent = 0;
    request->run = NULL;
}

/* On the thread that gives the request up. 1: the request is engaged, and
 * xyl_request_settle discards it. */
static int leave_to_rest(xylem_request_t *request)
{
    uint32_t rest = XYL_REST_DETACHED;

    /* Partner: the exchange in xyl_request_settle. */
    return is_engaged(request) &&
           atomic_compare_exchange_strong_explicit(
               &request->rest, &rest, XYL_REST_LEFT, memory_order_acq_rel,
               memory_order_acquire);
}

void xyl_request_discard(xylem_request_t *request)
{
    xylem_team_t *team = request->team;

    request_mark_freed(request);
    /* The request becomes idle although the net may still owe it events:
     * ops->keep takes only idle requests, and the end of the context shall not
     * wait for these events. */
    request->is_freed = 0;
    atomic_store_explicit(&request->state, XYL_REQUEST_IDLE,
                          memory_order_release);
    if (leave_to_rest(request))
        return;
    if (request->ops->keep == NULL || !request->ops->keep(request))
        xyl_request_release(request);
    xyl_team_unreference(team);
}

/* The progressing thread may still read a request that another thread frees, so
 * it runs this task to discard the request. */
static void request_freed_run(xyl_task_t *task)
{
    xylem_request_t *request = XYL_HOLDER(xylem_request_t, start_task, task);

    request->start_task.run = request_start_run;
    xyl_request_discard(request);
}

/* ---- life cycle ---- */

static void request_start_run(xyl_task_t *task)
{
    xylem_request_t *request = XYL_HOLDER(xylem_request_t, start_task, task);

    request->ops->start(request);
}

/* 1: test, start and free take the request as completed. It is idle, or its
 * callback has been called; until the callback returns, only the callback may
 * use a request with XYLEM_FLAG_AUTOFREE. */
static int request_is_over(xylem_request_t *request, uint32_t state)
{
    return state == XYL_REQUEST_IDLE ||
           (state == XYL_REQUEST_DELIVERING &&
            ((request->flags & XYLEM_FLAG_AUTOFREE) == 0 ||
             xyl_engine_in_callback(&request->context->engine)));
}

static xylem_status_t claim(xylem_request_t *request)
{
    /* Partners: the releases that make the request IDLE or DELIVERING. */
    uint32_t state =
        atomic_load_explicit(&request->state, memory_order_acquire);

    do {
        if (!request_is_over(request, state))
            return xyl_fail(XYLEM_ERR_BUSY, "the request is active already");
        if (is_broken(request))
            return xyl_fail(request->status,
                            "the request failed and cannot be started again");
        if ((request->flags & XYLEM_FLAG_AUTOFREE) != 0)
            xyl_request_make_own(request);
        if (state == XYL_REQUEST_IDLE) { /* only this thread changes it */
            /* Partner: the load in xyl_requests_look. */
            atomic_store_explicit(&request->state, XYL_REQUEST_ACTIVE,
                                  memory_order_release);
            break;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        &request->state, &state, XYL_REQUEST_ACTIVE, memory_order_acq_rel,
        memory_order_acquire));
    request->has_completed = 0;
    return XYLEM_OK;
}

/* Replaces *request, whose last run goes on, by its stand-in. */
static xylem_status_t claim_stand_in(xylem_request_t **request)
{
    xylem_request_t *other = (*request)->ops->stand_in(*request);

    if (other == NULL) {
        atomic_store_explicit(&(*request)->state, XYL_REQUEST_IDLE,
                              memory_order_release);
        return XYLEM_ERR_NO_MEMORY;
    }
    *request = other;
    return claim(other);
}

static xylem_status_t prepare_claimed(xylem_request_t *request)
{
    xylem_status_t status = request->ops->prepare(request);

    if (status != XYLEM_OK)
        atomic_store_explicit(&request->state, XYL_REQUEST_IDLE,
                              memory_order_release);
    return status;
}

/* Sets *request to the request that will run: itself, or its stand-in. */
static xylem_status_t prepare(xylem_request_t **request)
{
    xylem_status_t status = claim(*request);

    if (status == XYLEM_OK && is_engaged(*request))
        status = claim_stand_in(request);
    if (status == XYLEM_OK && (*request)->ops->prepare != NULL)
        status = prepare_claimed(*request);
    return status;
}

xylem_status_t xyl_request_start(xylem_request_t *request)
{
    xylem_status_t status = prepare(&request);

    if (status == XYLEM_OK)
        xyl_engine_submit(&request->context->engine, &request->start_task);
    return status;
}

xylem_status_t xyl_request_start_now(xylem_request_t *request)
{
    xylem_status_t status = prepare(&request);

    if (status == XYLEM_OK)
        request->ops->start(request);
    return status;
}

void xyl_request_began(xylem_request_t *request)
{
    atomic_store_explicit(&request->state, XYL_REQUEST_ACTIVE,
                          memory_order_relaxed);
    request->has_completed = 0;
}

/* As soon as the state is IDLE, another thread may free the request. */
static void publish_idle(xylem_request_t *request)
{
    xyl_driver_t *driver = &request->context->driver;

    /* Partner: the acquire of each load of the state. */
    atomic_store_explicit(&request->state, XYL_REQUEST_IDLE,
                          memory_order_release);
    xyl_driver_notify(driver);
}

void xyl_request_complete(xylem_request_t *request, xylem_status_t status)
{
    assert(!request->has_completed);
    request->status = status;
    request->has_completed = 1;
    if (request->posted != 0 &&
        atomic_load_explicit(&request->rest, memory_order_relaxed) ==
            XYL_REST_NONE) {
        request->is_zombie = 1;
        /* Before completion, as in xyl_request_detach. */
        atomic_store_explicit(&request->rest, XYL_REST_DETACHED,
                              memory_order_relaxed);
    }
    if (request->on_complete != NULL || request->is_queued)
        xyl_request_queue_callbacks(request);
    else
        publish_idle(request);
}

void xyl_request_detach(xylem_request_t *request)
{
    /* Before completion, after which the user may give the request up. */
    atomic_store_explicit(&request->rest, XYL_REST_DETACHED,
                          memory_order_relaxed);
    xyl_request_complete(request, XYLEM_OK);
}

void xyl_request_settle(xylem_request_t *request)
{
    request->is_zombie = request->posted != 0;
    if (request->is_zombie)
        return; /* xyl_request_event_back calls this again */
    /* Partners: the exchange in leave_to_rest; the loads in is_engaged, is_free
     * and plan_cache.c. */
    if (atomic_exchange_explicit(&request->rest, XYL_REST_NONE,
                                 memory_order_acq_rel) != XYL_REST_DETACHED)
        xyl_request_discard(request);
}

void xyl_request_queue_callbacks(xylem_request_t *request)
{
    if (request->is_queued)
        return;
    request->is_queued = 1;
    xyl_fifo_push(&request->context->engine.callbacks,
                  &request->callback_event);
}

static void callback_returned(xylem_request_t *request)
{
    xyl_driver_t *driver = &request->context->driver;
    uint32_t state = XYL_REQUEST_DELIVERING;

    if (request->is_freed) {
        xyl_request_discard(request);
        return;
    }
    /* The exchange fails if the request was started again, or if another thread
     * freed it by a task. Partners: those in claim and leave_to_owner. */
    if (atomic_compare_exchange_strong_explicit(
            &request->state, &state, XYL_REQUEST_IDLE, memory_order_release,
            memory_order_relaxed))
        xyl_driver_notify(driver);
}

static void callbacks_due(xyl_event_t *event)
{
    xylem_request_t *request =
        XYL_HOLDER(xylem_request_t, callback_event, event);

    request->is_queued = 0;
    if (request->ops->deliver != NULL)
        request->ops->deliver(request);
    if (!request->has_completed)
        return;
    atomic_store_explicit(&request->state, XYL_REQUEST_DELIVERING,
                          memory_order_release);
    if (request->on_complete != NULL)
        request->on_complete(request->arg, request->status);
    /* The state is another if the callback has started the request again. */
    if ((request->flags & XYLEM_FLAG_AUTOFREE) != 0 &&
        atomic_load_explicit(&request->state, memory_order_relaxed) ==
            XYL_REQUEST_DELIVERING)
        request->is_freed = 1;
    callback_returned(request);
}

/* ---- public ---- */

xylem_status_t xyl_request_check(const xylem_request_t *request,
                                 const char *call)
{
    if (request == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: the request is NULL",
                        call);
    if (request->magic == XYL_REQUEST_FREED)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "%s: the request has been freed", call);
    if (request->magic != XYL_REQUEST_MAGIC)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: this is no request",
                        call);
    return XYLEM_OK;
}

/* 1: request->run did the start; *status_out is its outcome. */
static int run_inside(xylem_request_t *request, xylem_status_t *status_out)
{
    return request->run != NULL && request->actor == NULL &&
           atomic_load_explicit(&request->state, memory_order_acquire) ==
               XYL_REQUEST_IDLE &&
           !is_engaged(request) && request->run(request, status_out);
}

xylem_status_t xylem_request_start(xylem_request_t *request)
{
    xylem_status_t status = xyl_request_check(request, "xylem_request_start");

    if (status != XYLEM_OK || run_inside(request, &status))
        return status;
    return xyl_request_start(request);
}

/* Returns the final status, and sets the error text of this thread, as another
 * may have found the cause. */
static xylem_status_t request_outcome(const xylem_request_t *request)
{
    const xylem_team_t *team = request->team;

    if (request->status == XYLEM_OK)
        return XYLEM_OK;
    return xyl_explain(request->status, "the operation failed: %s",
                       xyl_team_has_failed(team) &&
                               team->failure.status == request->status
                           ? team->failure.text
                           : xylem_status_text(request->status));
}

static int request_has_completed(xylem_request_t *request)
{
    /* Partners: the releases that make the request IDLE or DELIVERING. */
    return request_is_over(
        request, atomic_load_explicit(&request->state, memory_order_acquire));
}

/* 1: the callback has returned, too, so the user may free its argument. */
static int request_is_idle(void *arg)
{
    xylem_request_t *request = arg;

    /* Partners: the releases in publish_idle and callback_returned. */
    return atomic_load_explicit(&request->state, memory_order_acquire) ==
           XYL_REQUEST_IDLE;
}

xylem_status_t xylem_request_test(xylem_request_t *request)
{
    xylem_status_t status = xyl_request_check(request, "xylem_request_test");

    if (status != XYLEM_OK)
        return status;
    if (request_has_completed(request))
        return request_outcome(request);
    xyl_driver_turn(&request->context->driver);
    return request_has_completed(request) ? request_outcome(request)
                                          : XYLEM_IN_PROGRESS;
}

static __attribute__((cold, noinline)) xylem_status_t
wait_measured(xylem_context_t *context, int (*is_over)(void *), void *arg,
              uint64_t limit_ns)
{
    const xyl_observer_t *observer = context->observer;
    uint64_t begin = observer->time(observer->arg);
    xylem_status_t status =
        xyl_driver_wait(&context->driver, is_over, arg, limit_ns);

    if (observer->lasted != NULL)
        observer->lasted(observer->arg, XYL_LASTED_WAIT, "wait", begin, 0);
    return status;
}

static inline xylem_status_t wait_until(xylem_context_t *context,
                                        int (*is_over)(void *), void *arg,
                                        uint64_t limit_ns)
{
    if (xyl_observer_measures(context->observer))
        return wait_measured(context, is_over, arg, limit_ns);
    return xyl_driver_wait(&context->driver, is_over, arg, limit_ns);
}

xylem_status_t xyl_request_wait(xylem_request_t *request)
{
    (void)wait_until(request->context, request_is_idle, request, UINT64_MAX);
    return request_outcome(request);
}

xylem_status_t xyl_request_finish(xylem_request_t *request)
{
    xylem_status_t status = xyl_request_wait(request);

    xylem_request_free(request);
    return status;
}

static xylem_status_t check_may_wait(const xylem_request_t *request,
                                     const char *call)
{
    xylem_status_t status = xyl_request_check(request, call);

    if (status == XYLEM_OK && xyl_engine_in_callback(&request->context->engine))
        return xyl_fail(XYLEM_ERR_IN_CALLBACK,
                        "%s: a callback must not block; test the request, or "
                        "give it a callback of its own",
                        call);
    return status;
}

xylem_status_t xylem_request_wait(xylem_request_t *request)
{
    xylem_status_t status = check_may_wait(request, "xylem_request_wait");

    return status == XYLEM_OK ? xyl_request_wait(request) : status;
}

xylem_status_t xyl_request_wait_for(xylem_request_t *request, uint64_t limit_us)
{
    if (wait_until(request->context, request_is_idle, request,
                   limit_us > UINT64_MAX / 2000 ? UINT64_MAX
                                                : limit_us * 1000) != XYLEM_OK)
        return XYLEM_IN_PROGRESS;
    return request_outcome(request);
}

xylem_status_t xylem_request_wait_for(xylem_request_t *request,
                                      uint64_t limit_us)
{
    xylem_status_t status = check_may_wait(request, "xylem_request_wait_for");

    return status == XYLEM_OK ? xyl_request_wait_for(request, limit_us)
                              : status;
}

/* ---- many ---- */

typedef struct many {
    xylem_request_t *const *requests;
    size_t count;
    size_t found; /* the first that is idle; `count`: none */
} many_t;

static int is_any_idle(void *arg)
{
    many_t *many = arg;

    for (many->found = 0; many->found < many->count; many->found++)
        if (many->requests[many->found] != NULL &&
            request_is_idle(many->requests[many->found]))
            return 1;
    return 0;
}

/* Finds the one context of all requests. NULL: each of them is NULL. */
static xylem_status_t many_check(const many_t *many, const char *call,
                                 xylem_context_t **context_out)
{
    xylem_context_t *context = NULL;
    xylem_status_t status;
    size_t i;

    for (i = 0; many->requests != NULL && i < many->count; i++) {
        if (many->requests[i] == NULL)
            continue;
        status = check_may_wait(many->requests[i], call);
        if (status != XYLEM_OK)
            return status;
        if (context != NULL && context != many->requests[i]->context)
            return xyl_fail(XYLEM_ERR_INVALID_ARG,
                            "%s: the requests are of several contexts", call);
        context = many->requests[i]->context;
    }
    *context_out = context;
    return XYLEM_OK;
}

xylem_status_t xylem_request_wait_any(xylem_request_t *const *requests,
                                      size_t count, size_t *index_out)
{
    many_t many = {requests, count, 0};
    xylem_context_t *context = NULL;
    xylem_status_t status =
        many_check(&many, "xylem_request_wait_any", &context);

    if (status != XYLEM_OK)
        return status;
    if (context == NULL || index_out == NULL)
        return xyl_refuse("xylem_request_wait_any",
                          "there is no request, or index_out is NULL");
    (void)wait_until(context, is_any_idle, &many, UINT64_MAX);
    *index_out = many.found;
    return request_outcome(requests[many.found]);
}

xylem_status_t xylem_request_wait_all(xylem_request_t *const *requests,
                                      size_t count)
{
    const many_t many = {requests, count, 0};
    xylem_context_t *context = NULL;
    xylem_status_t first = XYLEM_OK,
                   status =
                       many_check(&many, "xylem_request_wait_all", &context);
    size_t i;

    if (status != XYLEM_OK)
        return status;
    for (i = 0; context != NULL && i < count; i++) {
        if (requests[i] == NULL)
            continue;
        status = xyl_request_wait(requests[i]);
        if (first == XYLEM_OK)
            first = status;
    }
    return first;
}

/* ---- freeing ---- */

/* The callback is still on the progressing thread's stack, so that thread
 * discards the request. 0: the callback has returned, and *state_out is the
 * request's new state. */
static int leave_to_owner(xylem_request_t *request, uint32_t *state_out)
{
    uint32_t state = XYL_REQUEST_DELIVERING;

    /* Partner: the exchange in callback_returned. */
    if (!atomic_compare_exchange_strong_explicit(
            &request->state, &state, XYL_REQUEST_LEFT, memory_order_acq_rel,
            memory_order_acquire)) {
        *state_out = state;
        return 0;
    }
    request_mark_freed(request);
    request->start_task.run = request_freed_run;
    xyl_engine_submit(&request->context->engine, &request->start_task);
    return 1;
}

xylem_status_t xylem_request_free(xylem_request_t *request)
{
    xylem_status_t status;
    uint32_t state;

    if (request == NULL)
        return XYLEM_OK;
    status = xyl_request_check(request, "xylem_request_free");
    if (status != XYLEM_OK)
        return status;
    if (request->actor != NULL)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_request_free: triggers act on the request; "
                        "destroy them first");
    state = atomic_load_explicit(&request->state, memory_order_acquire);
    if (state == XYL_REQUEST_DELIVERING && request_is_over(request, state) &&
        !xyl_engine_in_callback(&request->context->engine) &&
        leave_to_owner(request, &state))
        return XYLEM_OK;
    if (!request_is_over(request, state))
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_request_free: the request is active; wait for "
                        "it first");
    request_mark_freed(request);
    if (state == XYL_REQUEST_DELIVERING)
        request->is_freed = 1; /* callback_returned does the rest */
    else
        xyl_request_discard(request);
    return XYLEM_OK;
}

/* ---- the end of a context ---- */

uint32_t xyl_requests_look(xylem_context_t *context, int *are_under_way)
{
    const xylem_request_t *request;
    uint32_t held = 0, state;

    *are_under_way = 0;
    pthread_mutex_lock(&context->lock);
    LIST_FOREACH(request, &context->requests, others)
    {
        /* Partners: the stores in claim, and at the end of a run. */
        state = atomic_load_explicit(&request->state, memory_order_acquire);
        *are_under_way |= state != XYL_REQUEST_IDLE;
        held += state == XYL_REQUEST_ACTIVE &&
                atomic_load_explicit(&request->is_users, memory_order_relaxed);
    }
    pthread_mutex_unlock(&context->lock);
    return held;
}

static xylem_request_t *first_of_users(const xylem_context_t *context)
{
    xylem_request_t *request;

    LIST_FOREACH(request, &context->requests, others)
    if (atomic_load_explicit(&request->is_users, memory_order_relaxed))
        break;
    return request;
}

static xylem_request_t *first_zombie(const xylem_context_t *context)
{
    xylem_request_t *request;

    LIST_FOREACH(request, &context->requests, others)
    if (request->is_zombie)
        break;
    return request;
}

void xyl_requests_abandon(xylem_context_t *context)
{
    xylem_request_t *request;

    while ((request = first_zombie(context)) != NULL) {
        request->posted = 0; /* the net can no longer write */
        xyl_request_settle(request);
    }
    /* Discarding one request may release others; kept plans stay. */
    while ((request = first_of_users(context)) != NULL) {
        if (request->actor != NULL)
            request->actor->end(request->actor);
        xyl_request_discard(request);
    }
}
