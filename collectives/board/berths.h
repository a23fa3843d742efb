/* Berths: boards beside a team's own, for calls that keep to no order. A call's
 * tag has one; the first seat to join the tag takes a free berth, and the other
 * seats find which it is, so that nobody has to be asked:
 *
 *   join    the tag's word says which: there it is       | any seat may
 *           else take a berth, swap it into the word     | one swap succeeds,
 *           failed: give the berth back, read the word   | the others read
 *   leave   count this seat in; the last gives the berth back
 *
 * A seat that leaves says how many calls with the tag it has ended. The word
 * counts those seats that have left after the most calls: a seat that has ended
 * fewer has a call to make, and comes back. So a berth is given back when all
 * seats have retired the same pieces on it, and have the same next number.
 * Seats that find no berth free say so in the word, and the tag goes without.
 *
 * Any thread, by a lock of the caller's. */
#ifndef XYL_COLLECTIVES_BOARD_BERTHS_H
#define XYL_COLLECTIVES_BOARD_BERTHS_H

#include "collectives/board/seats.h"
#include "runtime/core/tags.h"

enum {
    XYL_BERTHS = 1024, /* of a team; numbered from 1 */
    XYL_BERTH_NONE = (1 << 16) - 1
};

/* The words that the seats share; all zeros in the beginning. */
typedef struct xyl_berth_words {
    _Atomic uint64_t taken[XYL_BERTHS / 64]; /* bits */
    _Atomic uint64_t tags[XYLEM_TAG_MAX + 1];
} xyl_berth_words_t;

/* A tag, as a seat knows it. */
typedef struct xyl_berth_seat {
    uint32_t berth;      /* 0: it has not joined, or has left */
    uint32_t generation; /* of the tag's berths, as it left */
    uint32_t calls;      /* when it left */
} xyl_berth_seat_t;

/* The berth that a tag has just now, 0: none is taken for it yet; and the
 * lowest free berth, XYL_BERTH_NONE: none is free. */
uint32_t xyl_berth_of(const xyl_seats_t *seats, const xyl_berth_words_t *words,
                      uint32_t tag);
uint32_t xyl_berth_free(const xyl_seats_t *seats,
                        const xyl_berth_words_t *words);
/* Joins the tag; returns its berth, XYL_BERTH_NONE: none. If this seat has to
 * take one, and may not (may_take 0), the tag has none. */
uint32_t xyl_berth_join(const xyl_seats_t *seats, xyl_berth_words_t *words,
                        uint32_t tag, xyl_berth_seat_t *mine, int may_take);
/* Leaves the tag after `calls` calls with it, modulo 2^XYL_TAG_CALLS_BITS. */
void xyl_berth_leave(const xyl_seats_t *seats, xyl_berth_words_t *words,
                     uint32_t tag, xyl_berth_seat_t *mine, uint32_t calls);

#endif
