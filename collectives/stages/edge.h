/* One edge of a tree as one of its two ranks sees it: the window of segments
 * that travel over it. Index i is posted only if i < base + window, on both
 * sides, base being the finished prefix; the reason is in
 * docs/inside/stages.md, "The window rule".
 *
 * The number of slots is a power of two: a division by any other number costs
 * more than all else that is done with an event. Only the progressing thread
 * touches edges. */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "progress/event.h"

enum { XYL_WINDOW_MAX = 64 };

typedef struct xyl_edge xyl_edge_t;

/* The event of one send or receive, and its index. */
typedef struct xyl_slot {
    xyl_event_t event;
    xyl_edge_t *edge;
    uint64_t index;
} xyl_slot_t;

struct xyl_edge {
    struct xyl_stage *stage; /* that has the edge */
    uint32_t number;         /* of the edge in its stage */
    uint32_t peer;           /* rank in the team */
    uint32_t self;           /* rank in the team that its sends name */
    uint64_t base;
    uint64_t posted;   /* bit i: index base + i was posted */
    uint64_t finished; /* bit i: index base + i is finished */
    uint32_t window;   /* M */
    uint32_t limit;    /* posted and not finished at once: N, or M */
    uint32_t inflight;
    uint32_t slot_mask; /* slots - 1 */
    xyl_slot_t *slots;  /* [xyl_edge_slot_count(window)] */
};

#define XYL_EDGE_NO_INDEX UINT64_MAX

static inline uint32_t xyl_edge_slot_count(uint32_t window)
{
    uint32_t count = 1;

    while (count < window)
        count *= 2;
    return count;
}

/* The slot of a posted index. */
static inline xyl_slot_t *xyl_edge_slot(const xyl_edge_t *edge, uint64_t index)
{
    return &edge->slots[index & edge->slot_mask];
}

static inline void xyl_edge_reset(xyl_edge_t *edge)
{
    edge->base = 0;
    edge->posted = 0;
    edge->finished = 0;
    edge->inflight = 0;
}

static inline uint64_t xyl_edge_window_mask(const xyl_edge_t *edge)
{
    return UINT64_MAX >> (XYL_WINDOW_MAX - edge->window);
}

/* The lowest index that may be posted now, of those whose bit, relative to
 * base, is set in `candidates`. */
static inline uint64_t xyl_edge_pick(const xyl_edge_t *edge,
                                     uint64_t candidates)
{
    uint64_t open = candidates & ~edge->posted & xyl_edge_window_mask(edge);

    if (edge->inflight == edge->limit || open == 0)
        return XYL_EDGE_NO_INDEX;
    return edge->base + (unsigned)__builtin_ctzll(open);
}

/* Takes note that `index` is posted; returns the slot whose event to use. */
static inline xyl_slot_t *xyl_edge_post(xyl_edge_t *edge, uint64_t index)
{
    xyl_slot_t *slot = xyl_edge_slot(edge, index);

    assert(index - edge->base < edge->window);
    edge->posted |= UINT64_C(1) << (index - edge->base);
    edge->inflight++;
    slot->index = index;
    return slot;
}

/* Takes note that `index` is finished and moves the window. */
static inline void xyl_edge_finish(xyl_edge_t *edge, uint64_t index)
{
    uint64_t bit = UINT64_C(1) << (index - edge->base);
    unsigned prefix;

    assert((edge->posted & bit) != 0 && (edge->finished & bit) == 0);
    edge->inflight--;
    edge->finished |= bit;
    if (edge->finished == UINT64_MAX) {
        edge->base += XYL_WINDOW_MAX;
        edge->posted = edge->finished = 0;
        return;
    }
    prefix = (unsigned)__builtin_ctzll(~edge->finished);
    edge->base += prefix;
    edge->posted >>= prefix;
    edge->finished >>= prefix;
}
