/* Coming events in the order of their times, events of equal times in the order
 * in which they were added. A heap of four children per node: the entries of
 * one comparison share cache lines. */
#pragma once

#include "simulator/machine.h"

typedef struct sim_entry {
    sim_time_t time;
    uint64_t order;
    void *what;
    uint32_t rank;
    uint32_t kind;
} sim_entry_t;

typedef struct sim_calendar {
    sim_entry_t *heap;
    size_t count, capacity;
    uint64_t orders;
} sim_calendar_t;

void sim_calendar_init(sim_calendar_t *calendar);
void sim_calendar_fini(sim_calendar_t *calendar);
/* Adding takes no memory until there are more than `count` entries. */
void sim_calendar_reserve(sim_calendar_t *calendar, size_t count);
/* `entry.order` is set here. */
void sim_calendar_add(sim_calendar_t *calendar, sim_entry_t entry);
/* The first entry; there is one. */
sim_entry_t sim_calendar_take(sim_calendar_t *calendar);

static inline sim_time_t sim_calendar_next(const sim_calendar_t *calendar)
{
    return calendar->count == 0 ? SIM_NEVER : calendar->heap[0].time;
}
