/* Shared by tree.c and the files of the shapes. A shape works on
 * places 0 ... ranks - 1. For rotated shapes a place is a virtual rank: place
 * 0 is the root and place v is rank root + v, modulo `ranks`. For the in-order
 * tree a place is a rank.
 *
 * Each shape has two functions:
 *   parent:   of a place that is not the root's;
 *   children: of any place, added in the order of service.
 *
 * Everything here is a pure function; any thread may call it. */
#pragma once

#include <stdint.h>

#include "trees/tree.h"

/* One tree, as a shape sees it. */
typedef struct xyl_tree_args {
    uint32_t ranks; /* at least 1 */
    uint32_t radix; /* checked; the preset if the tree takes none */
    uint32_t root;  /* a rank */
    unsigned half;  /* below the tree's number of halves */
} xyl_tree_args_t;

/* Collects children as ranks: writes up to `capacity`, counts all. */
typedef struct xyl_children {
    uint32_t *list;
    uint32_t capacity;
    uint32_t count;
    uint32_t ranks;
    uint32_t shift; /* the rank of place 0 */
} xyl_children_t;

static inline void xyl_children_add(xyl_children_t *out, uint32_t place)
{
    uint32_t before_wrap = out->ranks - out->shift;

    if (out->count < out->capacity)
        out->list[out->count] =
            place < before_wrap ? place + out->shift : place - before_wrap;
    out->count++;
}

/* For xyl_tree_t.has_ranges. */
static inline int xyl_always_has_ranges(const xyl_tree_args_t *args)
{
    (void)args;
    return 1;
}

/* The position of the highest set bit; `value` is not 0. */
static inline uint32_t xyl_log2_floor(uint32_t value)
{
    return 31u - (uint32_t)__builtin_clz(value);
}
