/* A few places for elements that arrive to be combined. Messages use the places
 * in turn. As many messages may be under way at once as there are places;
 * further messages need no more memory.
 */
#pragma once

#include "collectives/data/schedule.h"

enum { XYL_INBOX_PLACES = 8 };

typedef struct xyl_inbox {
    xyl_position_t places[XYL_INBOX_PLACES];
    xyl_action_t used[XYL_INBOX_PLACES]; /* the last action that touches it */
    uint32_t next;
} xyl_inbox_t;

/* Makes places for `messages` messages of at most `count` elements. */
static inline void xyl_inbox_init(xyl_inbox_t *inbox, xyl_schedule_t *schedule,
                                  uint64_t count, uint64_t messages)
{
    uint32_t i;

    inbox->next = 0;
    for (i = 0; i < XYL_INBOX_PLACES; i++) {
        inbox->places[i] =
            xyl_schedule_temp(schedule, i < messages ? count : 0);
        inbox->used[i] = XYL_ACTION_NONE;
    }
}

/* Returns a place, which is free when *after is finished. */
static inline xyl_position_t xyl_inbox_take(const xyl_inbox_t *inbox,
                                            xyl_action_t *after)
{
    *after = inbox->used[inbox->next];
    return inbox->places[inbox->next];
}

/* The place that was taken is free again when `last` is finished. */
static inline void xyl_inbox_give(xyl_inbox_t *inbox, xyl_action_t last)
{
    inbox->used[inbox->next] = last;
    inbox->next = (inbox->next + 1) % XYL_INBOX_PLACES;
}
