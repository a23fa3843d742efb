/* A trigger and its counters from inside: counting, firing, failing; and the
 * requests that triggers act on. See trigger.h. */
#ifndef XYL_RUNTIME_TRIGGERS_TRIGGER_COUNTER_H
#define XYL_RUNTIME_TRIGGERS_TRIGGER_COUNTER_H

#include "runtime/core/context.h"
#include "runtime/core/request.h"
#include "runtime/modules.h"
#include "runtime/triggers/trigger.h"

#define XYL_TRIGGER_COUNT_MAX (INT64_C(1) << 48)

typedef struct xyl_trigger_counter xyl_trigger_counter_t;
STAILQ_HEAD(xyl_trigger_counters, xyl_trigger_counter);

/* Each context has one. */
typedef struct xyl_triggers {
    struct xyl_trigger_counters fired;
    int is_running;
    LIST_HEAD(, xylem_trigger) all; /* by the context's lock */
} xyl_triggers_t;

static inline xyl_triggers_t *xyl_triggers_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_TRIGGERS];
}

/* The triggers of a request. Their callbacks replace the user's, so that they
 * are told when a run of the request takes segments, and when it completes. */
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
} xyl_triggered_t;

/* A trigger has one counter for each segment, or only one. Each counter is on a
 * cache line of its own, since many threads count on it. */
struct xyl_trigger_counter {
    _Alignas(64) _Atomic int64_t left;
    xylem_trigger_t *trigger;
    int64_t threshold;
    xyl_task_t task;                          /* submitted when it fires */
    STAILQ_ENTRY(xyl_trigger_counter) others; /* fired, or waiting */
};

struct xylem_trigger {
    uint32_t magic;
    xylem_trigger_action_t action;
    xylem_context_t *context;
    xyl_triggered_t *triggered; /* the request; NULL: none */
    xylem_trigger_fn fn;
    void *arg;
    xylem_trigger_t *then;
    _Atomic uint32_t named; /* by triggers' `then`, proxies and streams */
    uint64_t *word;
    int is_by_bytes;
    _Atomic uint32_t status; /* xylem_status_t */
    xyl_event_t call_event;
    int is_called;   /* call_event is pushed, or fn has not returned */
    int is_over;     /* freed when is_called is 0 */
    size_t bytes;    /* of its memory */
    xyl_task_t task; /* frees the trigger */
    struct xyl_trigger_counters waiting; /* for the request */
    LIST_ENTRY(xylem_trigger) others;    /* of the context */
    LIST_ENTRY(xylem_trigger) siblings;  /* of the request */
    uint64_t counters;
    xyl_trigger_counter_t counter[];
};

/* Any thread. */
void xyl_trigger_counter_count(xyl_trigger_counter_t *counter, uint64_t n);
xylem_status_t xyl_trigger_failure(const xylem_trigger_t *trigger);

/* Handlers of counters' tasks and of call_event. */
void xyl_trigger_counter_run(xyl_task_t *task);
void xyl_trigger_call(xyl_event_t *event);

/* Returns the object that holds the request's triggers, and makes it if there
 * is none yet. NULL: no memory. */
xyl_triggered_t *xyl_triggered_of(xylem_request_t *request);
/* The progressing thread: no trigger acts on the request any more. Gives the
 * request its user's callbacks back. */
void xyl_triggered_end(xyl_triggered_t *triggered);

/* The progressing thread. Fails the trigger, and the chain of `then` behind it.
 */
void xyl_trigger_fail(xylem_trigger_t *trigger, xylem_status_t status);
/* Fails the trigger if its request's team has failed. */
void xyl_trigger_fail_with_team(xylem_trigger_t *trigger);

/* Frees the memory. */
void xyl_trigger_release(xylem_trigger_t *trigger);

#endif
