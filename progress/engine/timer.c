#include "progress/engine/timer.h"

#include <assert.h>
#include <stddef.h>

void xyl_timers_init(xyl_timers_t *timers)
{
    TAILQ_INIT(&timers->running);
    timers->count = 0;
}

void xyl_timer_start(xyl_timers_t *timers, xyl_timer_t *timer, uint64_t at_ns)
{
    /* From the end: most new timers fire after all others. */
    xyl_timer_t *before = TAILQ_LAST(&timers->running, xyl_timer_list);

    assert(!timer->is_running);
    while (before != NULL && before->at_ns > at_ns)
        before = TAILQ_PREV(before, xyl_timer_list, others);
    if (before == NULL)
        TAILQ_INSERT_HEAD(&timers->running, timer, others);
    else
        TAILQ_INSERT_AFTER(&timers->running, before, timer, others);
    timer->at_ns = at_ns;
    timer->is_running = 1;
    timers->count++;
}

void xyl_timer_stop(xyl_timers_t *timers, xyl_timer_t *timer)
{
    if (!timer->is_running)
        return;
    TAILQ_REMOVE(&timers->running, timer, others);
    timer->is_running = 0;
    timers->count--;
}

uint64_t xyl_timers_next_ns(const xyl_timers_t *timers)
{
    const xyl_timer_t *next = TAILQ_FIRST(&timers->running);

    return next == NULL ? UINT64_MAX : next->at_ns;
}

unsigned xyl_timers_fire(xyl_timers_t *timers, uint64_t now_ns)
{
    unsigned fired, most = timers->count;

    for (fired = 0; fired < most; fired++) {
        xyl_timer_t *timer = TAILQ_FIRST(&timers->running);
        if (timer == NULL || timer->at_ns > now_ns)
            break;
        xyl_timer_stop(timers, timer);
        timer->fire(timer, now_ns);
    }
    return fired;
}
