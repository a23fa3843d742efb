/* Triggers: counters that begin work when they reach their thresholds. Any
 * thread counts, by one atomic subtraction; all else happens on the progressing
 * thread. docs/inside/triggers.md draws the states of a counter. */
#pragma once

#include "runtime/core/context.h"
#include "runtime/core/module.h"
#include "runtime/core/request.h"

#define XYL_TRIGGER_COUNT_MAX (INT64_C(1) << 48)

typedef struct xyl_trigger_counter xyl_trigger_counter_t;
STAILQ_HEAD(xyl_trigger_counters, xyl_trigger_counter);

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
    struct xyl_triggered *triggered; /* the request; NULL: none */
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

/* If a team fails, fails the triggers of its requests, even of idle requests,
 * since the user may wait for a trigger's word. At the context's end frees the
 * triggers that are left. */
extern const xyl_module_t xyl_triggers_module;

/* XYLEM_OK when `trigger` is one; else fails with a text that names `call`. */
xylem_status_t xyl_trigger_check(const xylem_trigger_t *trigger,
                                 const char *call);
/* Any thread: a trigger that is named cannot be destroyed. */
void xyl_trigger_name(xylem_trigger_t *trigger);
void xyl_trigger_unname(xylem_trigger_t *trigger);
/* The progressing thread: counts; a counter that fires acts in the next
 * xyl_triggers_run. XYLEM_ERR_INVALID_ARG, without a text: there is no such
 * counter, or n is larger than XYL_TRIGGER_COUNT_MAX. */
xylem_status_t xyl_trigger_count_here(xylem_trigger_t *trigger, uint64_t index,
                                      uint64_t n);
void xyl_triggers_run(xylem_context_t *context);
