#include "collectives/data/schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"

enum { CAPACITY_FIRST = 32 };

void xyl_schedule_init(xyl_schedule_t *schedule, size_t element_bytes)
{
    *schedule =
        (xyl_schedule_t){.element_bytes = element_bytes, .status = XYLEM_OK};
}

void xyl_schedule_fini(xyl_schedule_t *schedule)
{
    free(schedule->actions);
    free(schedule->orders);
    schedule->actions = NULL;
    schedule->orders = NULL;
}

/* Makes room for one more in an array, and returns the array. If there is no
 * memory, it is the old one, and `status` keeps the error. */
static void *actions_grow(xyl_schedule_t *schedule, void *array, uint32_t count,
                          uint32_t *capacity, size_t bytes)
{
    void *larger;

    if (count < *capacity)
        return array;
    *capacity = *capacity == 0 ? CAPACITY_FIRST : 2 * *capacity;
    larger = realloc(array, *capacity * bytes);
    if (larger != NULL)
        return larger;
    *capacity = count;
    schedule->status =
        xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a schedule");
    return array;
}

void xyl_schedule_order(xyl_schedule_t *schedule, xyl_action_t action,
                        xyl_action_t after)
{
    xyl_order_t *order;

    if (schedule->status != XYLEM_OK || action == XYL_ACTION_NONE ||
        after == XYL_ACTION_NONE)
        return;
    assert(after < action && action < schedule->count);
    schedule->orders =
        actions_grow(schedule, schedule->orders, schedule->order_count,
                     &schedule->order_capacity, sizeof *schedule->orders);
    if (schedule->status != XYLEM_OK)
        return;
    order = &schedule->orders[schedule->order_count];
    order->action = action;
    order->next = schedule->actions[after].before;
    schedule->actions[after].before = schedule->order_count++;
    schedule->actions[action].waits++;
}

static xyl_action_t add(xyl_schedule_t *schedule, xyl_action_entry_t entry,
                        xyl_action_t after)
{
    xyl_action_t action = schedule->count;

    if (schedule->status != XYLEM_OK)
        return XYL_ACTION_NONE;
    schedule->actions =
        actions_grow(schedule, schedule->actions, schedule->count,
                     &schedule->capacity, sizeof *schedule->actions);
    if (schedule->status != XYLEM_OK)
        return XYL_ACTION_NONE;
    entry.before = XYL_ACTION_NONE;
    entry.waits = 0;
    schedule->actions[schedule->count++] = entry;
    xyl_schedule_order(schedule, action, after);
    return action;
}

xyl_position_t xyl_schedule_temp(xyl_schedule_t *schedule, uint64_t count)
{
    xyl_position_t piece = {XYL_BUFFER_TEMP, 0, schedule->temp_count};
    uint64_t line = (XYL_MEMORY_ALIGN + schedule->element_bytes - 1) /
                    schedule->element_bytes;

    /* Whole lines, so that pieces do not share one. */
    schedule->temp_count += (count + line - 1) / line * line;
    return piece;
}

static xyl_action_t message(xyl_schedule_t *schedule, xyl_action_kind_t kind,
                            uint32_t peer, uint32_t label, xyl_position_t at,
                            uint64_t count, xyl_action_t after)
{
    const xyl_action_entry_t entry = {.kind = kind,
                                      .peer = peer,
                                      .label = label,
                                      .count = count,
                                      .to = at,
                                      .left = at};

    if (label >= schedule->labels)
        schedule->labels = label + 1;
    return add(schedule, entry, after);
}

xyl_action_t xyl_schedule_send(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label, xyl_position_t from,
                               uint64_t count, xyl_action_t after)
{
    return count == 0 ? XYL_ACTION_NONE
                      : message(schedule, XYL_ACTION_SEND, peer, label, from,
                                count, after);
}

xyl_action_t xyl_schedule_recv(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label, xyl_position_t to,
                               uint64_t count, xyl_action_t after)
{
    return count == 0 ? XYL_ACTION_NONE
                      : message(schedule, XYL_ACTION_RECV, peer, label, to,
                                count, after);
}

xyl_action_t xyl_schedule_tell(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label, xyl_action_t after)
{
    return message(schedule, XYL_ACTION_SEND, peer, label,
                   xyl_position(XYL_BUFFER_TEMP, 0), 0, after);
}

xyl_action_t xyl_schedule_hear(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label)
{
    return message(schedule, XYL_ACTION_RECV, peer, label,
                   xyl_position(XYL_BUFFER_TEMP, 0), 0, XYL_ACTION_NONE);
}

xyl_action_t xyl_schedule_reduce(xyl_schedule_t *schedule, xyl_position_t to,
                                 xyl_position_t left, xyl_position_t right,
                                 uint64_t count, xyl_action_t after)
{
    const xyl_action_entry_t entry = {.kind = XYL_ACTION_REDUCE,
                                      .count = count,
                                      .to = to,
                                      .left = left,
                                      .right = right};

    return count == 0 ? after : add(schedule, entry, after);
}

xyl_action_t xyl_schedule_copy(xyl_schedule_t *schedule, xyl_position_t to,
                               xyl_position_t from, uint64_t count,
                               xyl_action_t after)
{
    const xyl_action_entry_t entry = {
        .kind = XYL_ACTION_COPY, .count = count, .to = to, .left = from};

    return count == 0 ? after : add(schedule, entry, after);
}

xyl_action_t xyl_schedule_nothing(xyl_schedule_t *schedule, xyl_action_t after)
{
    return add(schedule, (xyl_action_entry_t){.kind = XYL_ACTION_NOTHING},
               after);
}

xyl_action_t xyl_schedule_join(xyl_schedule_t *schedule, xyl_action_t one,
                               xyl_action_t other)
{
    xyl_action_t both;

    if (one == XYL_ACTION_NONE || other == XYL_ACTION_NONE)
        return one == XYL_ACTION_NONE ? other : one;
    both = xyl_schedule_nothing(schedule, one);
    xyl_schedule_order(schedule, both, other);
    return both;
}

void xyl_schedule_shift(xyl_schedule_t *schedule, uint64_t send_at,
                        uint64_t recv_at)
{
    uint32_t i;

    for (i = 0; i < schedule->count; i++) {
        xyl_position_shift(&schedule->actions[i].to, send_at, recv_at);
        xyl_position_shift(&schedule->actions[i].left, send_at, recv_at);
        xyl_position_shift(&schedule->actions[i].right, send_at, recv_at);
    }
}
