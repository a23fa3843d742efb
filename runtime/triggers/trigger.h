/* Triggers: counters that begin work when they reach their thresholds.
 *
 * Any thread counts, by one atomic subtraction; a counter that gets to 0 fires.
 * The progressing thread then acts, and adds the threshold again: so each
 * multiple of the threshold fires exactly once, however many counts have come
 * meanwhile.
 *
 *   ARMED    left > 0; fires at 0
 *   FIRED    left <= 0; acts in this turn: ARMED again (left += threshold) if
 *            the action begins at once, else WAITING
 *   WAITING  for the request to end or to start; then FIRED again
 *
 * All but counting happens on the progressing thread. trigger.c has the life of
 * a trigger, trigger_counter.c its counting and acting, and the requests that
 * triggers act on. */
#ifndef XYL_RUNTIME_TRIGGERS_TRIGGER_H
#define XYL_RUNTIME_TRIGGERS_TRIGGER_H

#include "runtime/core/module.h"

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
#endif
