/* Triggers: counters that begin work when they reach their thresholds.
 *
 * A counter counts down to 0, by one atomic subtraction of whoever counts, and
 * fires when it gets there. It is then the progressing thread's until that has
 * done what is to be done, and adds the threshold again: so each multiple of
 * the threshold fires exactly once, however many counts have come meanwhile.
 *
 *   ARMED    left > 0; at 0 it fires
 *   FIRED    left <= 0; acts in this turn: begun at once, it is ARMED again
 *            (left += threshold), else
 *   WAITING  as the request is under way or was not started; FIRED again then
 *
 * All but counting happens on the progressing thread. trigger.c has the life of
 * a trigger, trigger_counter.c its counting and acting, triggered.c the
 * requests that triggers act on. */
#ifndef XYL_RUNTIME_CORE_TRIGGER_H
#define XYL_RUNTIME_CORE_TRIGGER_H

#include <sys/queue.h>

#include "include/xylem.h"

typedef struct xyl_trigger_counter xyl_trigger_counter_t;
STAILQ_HEAD(xyl_trigger_counters, xyl_trigger_counter);

/* Of a context. */
typedef struct xyl_triggers {
    struct xyl_trigger_counters fired;
    int is_running;
    LIST_HEAD(, xylem_trigger) all;   /* by the context's lock */
    LIST_HEAD(, xylem_proxy) armed;   /* see proxy.h */
    LIST_HEAD(, xylem_proxy) proxies; /* by the context's lock */
} xyl_triggers_t;

/* XYLEM_OK when `trigger` is one; else fails with a text that names `call`. */
xylem_status_t xyl_trigger_check(const xylem_trigger_t *trigger,
                                 const char *call);
xylem_context_t *xyl_trigger_context(const xylem_trigger_t *trigger);
/* Any thread: it is not destroyed while somebody names it. */
void xyl_trigger_name(xylem_trigger_t *trigger);
void xyl_trigger_unname(xylem_trigger_t *trigger);
/* The progressing thread: counts up; what fires begins with the next
 * xyl_triggers_run. XYLEM_ERR_INVALID_ARG, without words: there is no such
 * counter, or n is beyond what a counter takes. */
xylem_status_t xyl_trigger_count_here(xylem_trigger_t *trigger, uint64_t index,
                                      uint64_t n);
void xyl_triggers_run(xylem_context_t *context);
/* The progressing thread: those of requests whose teams have failed fail, also
 * when nothing is under way, as there may be who waits for their words. */
void xyl_triggers_fail(xylem_context_t *context);

void xyl_triggers_init(xylem_context_t *context);
/* Frees those that are left. */
void xyl_triggers_fini(xylem_context_t *context);

#endif
