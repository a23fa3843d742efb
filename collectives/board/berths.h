/* Berths: boards beside a team's own, for calls with tags. Calls with different
 * tags have no order. The first seat to join a tag takes a free berth for the
 * tag, and the other seats find its number in the tag's word:
 *
 *   join    the tag's word has a berth: use it           | any seat may
 *           else take a berth, swap it into the word     | one swap succeeds,
 *           failed: give the berth back, read the word   | the others read
 *   leave   count this seat in; the last gives the berth back
 *
 * A seat that leaves writes into the word how many calls with the tag it has
 * ended. The word counts only the leavers that have ended the most calls: a
 * seat that has ended fewer still has a call to make, so it comes back. So a
 * berth is given back when all seats have retired the same pieces on it, and
 * have the same next number. A seat that finds no free berth says so in the
 * word, and the tag has no berth.
 *
 * Any thread calls these functions, under a lock of the caller's. */
#pragma once

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
    uint32_t generation; /* berths that the tag had had when it left */
    uint32_t calls;      /* when it left */
} xyl_berth_seat_t;

/* The first function returns the berth that a tag has just now; 0: none is
 * taken for the tag yet. The second returns the lowest free berth;
 * XYL_BERTH_NONE: none is free. */
uint32_t xyl_berth_of(const xyl_seats_t *seats, const xyl_berth_words_t *words,
                      uint32_t tag);
uint32_t xyl_berth_free(const xyl_seats_t *seats,
                        const xyl_berth_words_t *words);
/* Joins the tag; returns the tag's berth, or XYL_BERTH_NONE. All seats get
 * XYL_BERTH_NONE if the first seat to join finds no free berth, or may not take
 * one (`may_take` 0). */
uint32_t xyl_berth_join(const xyl_seats_t *seats, xyl_berth_words_t *words,
                        uint32_t tag, xyl_berth_seat_t *mine, int may_take);
/* Leaves the tag after `calls` calls with it, modulo 2^XYL_TAG_CALLS_BITS. */
void xyl_berth_leave(const xyl_seats_t *seats, xyl_berth_words_t *words,
                     uint32_t tag, xyl_berth_seat_t *mine, uint32_t calls);
