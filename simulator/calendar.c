#include "simulator/calendar.h"

#include <assert.h>
#include <stdlib.h>

#include "simulator/must.h"

enum { ARITY = 4, CAPACITY_FIRST = 1024 };

void sim_calendar_init(sim_calendar_t *calendar)
{
    *calendar = (sim_calendar_t){NULL, 0, 0, 0};
}

void sim_calendar_fini(sim_calendar_t *calendar)
{
    free(calendar->heap);
}

static int is_before(const sim_entry_t *a, const sim_entry_t *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void sim_calendar_reserve(sim_calendar_t *calendar, size_t count)
{
    if (count <= calendar->capacity)
        return;
    calendar->heap =
        sim_must(realloc(calendar->heap, count * sizeof *calendar->heap));
    calendar->capacity = count;
}

void sim_calendar_add(sim_calendar_t *calendar, sim_entry_t entry)
{
    sim_entry_t *heap;
    size_t place = calendar->count++, above;

    if (place == calendar->capacity)
        sim_calendar_reserve(calendar, place == 0 ? CAPACITY_FIRST : 2 * place);
    heap = calendar->heap;
    entry.order = calendar->orders++;
    while (place > 0) {
        above = (place - 1) / ARITY;
        if (!is_before(&entry, &heap[above]))
            break;
        heap[place] = heap[above];
        place = above;
    }
    heap[place] = entry;
}

/* The smallest of the children from `first` on. */
static size_t smallest(const sim_entry_t *heap, size_t first, size_t count)
{
    size_t end = first + ARITY < count ? first + ARITY : count;
    size_t best = first, i;

    for (i = first + 1; i < end; i++)
        if (is_before(&heap[i], &heap[best]))
            best = i;
    return best;
}

sim_entry_t sim_calendar_take(sim_calendar_t *calendar)
{
    sim_entry_t *heap = calendar->heap;
    sim_entry_t first, last;
    size_t place = 0, below;

    assert(calendar->count != 0);
    first = heap[0];
    last = heap[--calendar->count];
    while ((below = ARITY * place + 1) < calendar->count) {
        below = smallest(heap, below, calendar->count);
        if (!is_before(&heap[below], &last))
            break;
        heap[place] = heap[below];
        place = below;
    }
    heap[place] = last;
    return first;
}
