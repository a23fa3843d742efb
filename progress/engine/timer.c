#include "progress/engine/timer.h"

#include <assert.h>
#include <stddef.h>

void xyl_timers_init(xyl_timers_t *timers)
{
    timers->count = 0;
    timers->started = 0;
}

static int is_before(const xyl_timer_t *a, const xyl_timer_t *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void put(xyl_timers_t *timers, xyl_timer_t *timer, uint32_t place)
{
    timers->heap[place] = timer;
    timer->place = place + 1;
}

static void sift_up(xyl_timers_t *timers, xyl_timer_t *timer, uint32_t place)
{
    while (place > 0) {
        uint32_t above = (place - 1) / 2;
        if (!is_before(timer, timers->heap[above]))
            break;
        put(timers, timers->heap[above], place);
        place = above;
    }
    put(timers, timer, place);
}

static void sift_down(xyl_timers_t *timers, xyl_timer_t *timer, uint32_t place)
{
    for (;;) {
        uint32_t below = 2 * place + 1;
        if (below >= timers->count)
            break;
        if (below + 1 < timers->count &&
            is_before(timers->heap[below + 1], timers->heap[below]))
            below++;
        if (!is_before(timers->heap[below], timer))
            break;
        put(timers, timers->heap[below], place);
        place = below;
    }
    put(timers, timer, place);
}

xylem_status_t xyl_timer_start(xyl_timers_t *timers, xyl_timer_t *timer,
                               uint64_t at_ns)
{
    assert(timer->place == 0);
    if (timers->count == XYL_TIMERS_MAX)
        return XYLEM_ERR_NO_RESOURCE;
    timer->at_ns = at_ns;
    timer->order = timers->started++;
    sift_up(timers, timer, timers->count++);
    return XYLEM_OK;
}

void xyl_timer_stop(xyl_timers_t *timers, xyl_timer_t *timer)
{
    uint32_t place = timer->place - 1;
    xyl_timer_t *last;

    if (timer->place == 0)
        return;
    assert(timers->heap[place] == timer);
    timer->place = 0;
    last = timers->heap[--timers->count];
    if (last == timer)
        return;
    if (place > 0 && is_before(last, timers->heap[(place - 1) / 2]))
        sift_up(timers, last, place);
    else
        sift_down(timers, last, place);
}

uint64_t xyl_timers_next_ns(const xyl_timers_t *timers)
{
    return timers->count == 0 ? UINT64_MAX : timers->heap[0]->at_ns;
}

unsigned xyl_timers_fire(xyl_timers_t *timers, uint64_t now_ns)
{
    unsigned fired, most = timers->count;

    for (fired = 0; fired < most; fired++) {
        xyl_timer_t *timer = timers->count == 0 ? NULL : timers->heap[0];
        if (timer == NULL || timer->at_ns > now_ns)
            break;
        xyl_timer_stop(timers, timer);
        timer->fire(timer, now_ns);
    }
    return fired;
}
