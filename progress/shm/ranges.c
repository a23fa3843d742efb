#include "progress/shm/ranges.h"

#include <assert.h>
#include <stdlib.h>

struct xyl_range {
    xyl_range_t *previous, *next;
    uint64_t begin, bytes;
    int is_taken;
};

static void absorb_next(xyl_range_t *range)
{
    xyl_range_t *next = range->next;

    range->bytes += next->bytes;
    range->next = next->next;
    if (range->next != NULL)
        range->next->previous = range;
    free(next);
}

/* Leaves the first `bytes` in the range and returns the rest; NULL: no
 * memory. */
static xyl_range_t *split(xyl_range_t *range, uint64_t bytes)
{
    xyl_range_t *rest = calloc(1, sizeof *rest);

    assert(bytes != 0 && bytes < range->bytes && !range->is_taken);
    if (rest == NULL)
        return NULL;
    rest->begin = range->begin + bytes;
    rest->bytes = range->bytes - bytes;
    range->bytes = bytes;
    rest->previous = range;
    rest->next = range->next;
    if (range->next != NULL)
        range->next->previous = rest;
    range->next = rest;
    return rest;
}

int xyl_ranges_init(xyl_ranges_t *ranges, uint64_t bytes)
{
    ranges->first = calloc(1, sizeof *ranges->first);
    if (ranges->first == NULL)
        return 0;
    ranges->first->bytes = bytes;
    return 1;
}

void xyl_ranges_fini(xyl_ranges_t *ranges)
{
    while (ranges->first != NULL) {
        xyl_range_t *range = ranges->first;
        ranges->first = range->next;
        free(range);
    }
}

/* The bytes from the range's begin to a multiple of `align`. */
static uint64_t gap_of(const xyl_range_t *range, uint64_t align)
{
    return (align - range->begin % align) % align;
}

static int fits(const xyl_range_t *range, uint64_t bytes, uint64_t align)
{
    uint64_t gap = gap_of(range, align);

    return !range->is_taken && range->bytes >= gap &&
           range->bytes - gap >= bytes;
}

uint64_t xyl_ranges_take(xyl_ranges_t *ranges, uint64_t bytes, uint64_t align)
{
    xyl_range_t *range = ranges->first;
    uint64_t gap;

    assert(bytes != 0 && align != 0);
    while (range != NULL && !fits(range, bytes, align))
        range = range->next;
    if (range == NULL)
        return XYL_RANGES_NONE;
    gap = gap_of(range, align);
    if (gap != 0)
        range = split(range, gap);
    if (range == NULL)
        return XYL_RANGES_NONE;
    if (range->bytes > bytes && split(range, bytes) == NULL) {
        if (gap != 0)
            absorb_next(range->previous);
        return XYL_RANGES_NONE;
    }
    range->is_taken = 1;
    return range->begin;
}

uint64_t xyl_ranges_give(xyl_ranges_t *ranges, uint64_t begin)
{
    xyl_range_t *range = ranges->first;
    uint64_t bytes;

    while (range != NULL && (!range->is_taken || range->begin != begin))
        range = range->next;
    if (range == NULL)
        return 0;
    bytes = range->bytes;
    range->is_taken = 0;
    if (range->next != NULL && !range->next->is_taken)
        absorb_next(range);
    if (range->previous != NULL && !range->previous->is_taken)
        absorb_next(range->previous);
    return bytes;
}
