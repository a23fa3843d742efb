/* Hands out ranges of some memory without touching that: what it remembers is
 * kept elsewhere. First fit, neighbours that are free become one. Made for few
 * and large pieces: taking and giving back walk along a list. */
#ifndef XYL_PROGRESS_SHM_RANGES_H
#define XYL_PROGRESS_SHM_RANGES_H

#include <stdint.h>

#define XYL_RANGES_NONE UINT64_MAX

typedef struct xyl_range xyl_range_t;

typedef struct xyl_ranges {
    xyl_range_t *first; /* by place; all bytes are in one */
} xyl_ranges_t;

/* 0 ... bytes - 1, free. 0: no memory. */
int xyl_ranges_init(xyl_ranges_t *ranges, uint64_t bytes);
void xyl_ranges_fini(xyl_ranges_t *ranges);

/* Where `bytes` (not 0) are from now on taken, at a multiple of `align`;
 * XYL_RANGES_NONE: nowhere. */
uint64_t xyl_ranges_take(xyl_ranges_t *ranges, uint64_t bytes, uint64_t align);

/* What was taken at `begin` is free. Returns its bytes; 0: nothing was. */
uint64_t xyl_ranges_give(xyl_ranges_t *ranges, uint64_t begin);

#endif
