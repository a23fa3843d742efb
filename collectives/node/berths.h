/* Berths: boards beside a team's own, for calls that keep to no order. A call's
 * tag has one; whichever seat joins the tag first takes a free berth, and the
 * others find which it is, so that nobody has to be asked:
 *
 *   join    the tag's word says which: there it is       | as many do so as
 * seats else take a berth, swap it into the word     | one swap succeeds,
 *           failed: give the berth back, read the word   | the others read
 *   leave   count this seat in; the last gives the berth back
 *
 * A seat leaves when it has ended so many calls with the tag, and is counted
 * with those that have ended as many: whoever has ended fewer has a call to
 * make, and comes back. So a berth is given back when all have retired whatever
 * they had on it, and every seat has counted the same pieces of it. Seats that
 * find no berth free say so in the word, and the tag goes without.
 *
 * Any thread, by a lock of the caller's. */
#ifndef XYL_COLLECTIVES_NODE_BERTHS_H
#define XYL_COLLECTIVES_NODE_BERTHS_H

#include "collectives/node/seats.h"
#include "runtime/core/tags.h"

enum {
    XYL_BERTHS = 1024, /* of a team; numbered from 1 */
    XYL_BERTH_NONE = (1 << 16) - 1
};

/* What the seats share; all zeros in the beginning. */
typedef struct xyl_berth_words {
    _Atomic uint64_t taken[XYL_BERTHS / 64]; /* bits */
    _Atomic uint64_t tags[XYLEM_TAG_MAX + 1];
} xyl_berth_words_t;

/* A seat's own, of a tag. */
typedef struct xyl_berth_seat {
    uint32_t berth;      /* 0: it has not joined, or has left */
    uint32_t generation; /* of the tag's berths, as it left */
    uint32_t calls;      /* when it left */
} xyl_berth_seat_t;

/* Which berth a tag has just now, 0: none is taken for it yet; and the lowest
 * that is free, XYL_BERTH_NONE: none is. */
uint32_t xyl_berth_of(const xyl_seats_t *seats, const xyl_berth_words_t *words,
                      uint32_t tag);
uint32_t xyl_berth_free(const xyl_seats_t *seats,
                        const xyl_berth_words_t *words);
/* Which berth the tag has, XYL_BERTH_NONE: none. If it has to take one, and may
 * not (may_take 0), it has none. */
uint32_t xyl_berth_join(const xyl_seats_t *seats, xyl_berth_words_t *words,
                        uint32_t tag, xyl_berth_seat_t *mine, int may_take);
/* After `calls` calls with it, modulo 2^XYL_TAG_CALLS_BITS. */
void xyl_berth_leave(const xyl_seats_t *seats, xyl_berth_words_t *words,
                     uint32_t tag, xyl_berth_seat_t *mine, uint32_t calls);

#endif
