/* Making layouts out of other layouts, and holding them. A layout that is made
 * has one reference; a holder that needs it for longer than the call that
 * showed it acquires one more. Any thread. */
#pragma once

#include "collectives/data/layout.h"

/* Blocks of a layout, counted before neighbours are joined. */
enum { XYL_LAYOUT_BLOCKS_MAX = 1 << 24 };

/* `count` elements, the first at `offset`, `stride` bytes from one to the
 * next. */
typedef struct xyl_layout_part {
    const xyl_layout_t *layout; /* NULL: an element is `bytes` bytes in a row */
    uint64_t bytes;
    int64_t extent; /* of an element */
    int64_t offset;
    uint64_t count;
    int64_t stride;
} xyl_layout_part_t;

/* An element of the new layout is all parts, in that order; their layouts need
 * not outlive the call. With XYLEM_EXTENT_AUTO the extent reaches from the
 * beginning of the lowest to the end of the highest element of the parts.
 * XYLEM_ERR_INVALID_ARG: something does not fit into 63 bits;
 * XYLEM_ERR_NO_RESOURCE: too many blocks. Returns owned (free with
 * xyl_layout_release). */
xylem_status_t xyl_layout_create(const xyl_layout_part_t *parts,
                                 size_t parts_count, int64_t extent,
                                 xyl_layout_t **layout_out);

void xyl_layout_acquire(const xyl_layout_t *layout);
/* The last release frees the layout. NULL is allowed. */
void xyl_layout_release(const xyl_layout_t *layout);
