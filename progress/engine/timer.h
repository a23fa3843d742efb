/* Timers of one engine, in the order of their times; equal times fire in the
 * order in which they were started. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

typedef struct xyl_timer xyl_timer_t;
struct xyl_timer {
    uint64_t at_ns;
    void (*fire)(xyl_timer_t *timer, uint64_t now_ns);
    int is_running;
    TAILQ_ENTRY(xyl_timer) others;
};

typedef struct xyl_timers {
    TAILQ_HEAD(xyl_timer_list, xyl_timer) running; /* the next to fire first */
    uint32_t count;
} xyl_timers_t;

void xyl_timers_init(xyl_timers_t *timers);
/* The timer is not running. */
void xyl_timer_start(xyl_timers_t *timers, xyl_timer_t *timer, uint64_t at_ns);
/* A timer that is not running stays so. */
void xyl_timer_stop(xyl_timers_t *timers, xyl_timer_t *timer);
/* When the next timer is due; UINT64_MAX: none is running. */
uint64_t xyl_timers_next_ns(const xyl_timers_t *timers);
/* Fires the timers that are due, at most as many as were running at the call;
 * returns their number. A timer is stopped before its function is called; the
 * function may start the timer again. */
unsigned xyl_timers_fire(xyl_timers_t *timers, uint64_t now_ns);
