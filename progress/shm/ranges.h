/* Hands out ranges of some memory without touching it: the records lie
 * elsewhere. Takes the first free range that fits, and merges neighbouring free
 * ranges. For few and large ranges, as take and give walk along a list. */
#pragma once

#include <stdint.h>

#define XYL_RANGES_NONE UINT64_MAX

typedef struct xyl_range xyl_range_t;

typedef struct xyl_ranges {
    xyl_range_t *first; /* sorted by place; the ranges cover all bytes */
} xyl_ranges_t;

/* Begins with one free range, 0 ... bytes - 1. Returns 0: no memory. */
int xyl_ranges_init(xyl_ranges_t *ranges, uint64_t bytes);
void xyl_ranges_fini(xyl_ranges_t *ranges);

/* Takes `bytes` (not 0) at a multiple of `align`; returns their place.
 * XYL_RANGES_NONE: there is no room. */
uint64_t xyl_ranges_take(xyl_ranges_t *ranges, uint64_t bytes, uint64_t align);

/* Frees the range taken at `begin`. Returns its bytes; 0: none begins there. */
uint64_t xyl_ranges_give(xyl_ranges_t *ranges, uint64_t begin);
