/* Timers of one engine: a binary heap of pointers ordered by (time, start
 * order), so that equal times fire in the order in which they were started. */
#ifndef XYL_PROGRESS_ENGINE_TIMER_H
#define XYL_PROGRESS_ENGINE_TIMER_H

#include <stdint.h>

#include "include/xylem.h"

enum { XYL_TIMERS_MAX = 64 }; /* running at once in one engine */

typedef struct xyl_timer xyl_timer_t;
struct xyl_timer {
    uint64_t at_ns;
    uint64_t order;
    uint32_t place; /* in the heap + 1; 0: not running */
    void (*fire)(xyl_timer_t *timer, uint64_t now_ns);
};

typedef struct xyl_timers {
    xyl_timer_t *heap[XYL_TIMERS_MAX];
    uint32_t count;
    uint64_t started;
} xyl_timers_t;

void xyl_timers_init(xyl_timers_t *timers);
/* XYLEM_ERR_NO_RESOURCE when XYL_TIMERS_MAX are running. */
xylem_status_t xyl_timer_start(xyl_timers_t *timers, xyl_timer_t *timer,
                               uint64_t at_ns);
/* A timer that is not running stays so. */
void xyl_timer_stop(xyl_timers_t *timers, xyl_timer_t *timer);
/* UINT64_MAX: none is running. */
uint64_t xyl_timers_next_ns(const xyl_timers_t *timers);
/* Fires what is due (at most what was running at the call); returns how many.
 * A timer is stopped before its function is called, which may start it again.
 */
unsigned xyl_timers_fire(xyl_timers_t *timers, uint64_t now_ns);

#endif
