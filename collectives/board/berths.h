/* Berths: boards beside a team's own, for calls with tags, which keep to no
 * order. The first seat to join a tag takes a free berth for the tag, and the
 * other seats find its number in the tag's word:
 *
 *   join    the tag's word says which: there it is       | any seat may
 *           else take a berth, swap it into the word     | one swap succeeds,
 *           failed: give the berth back, read the word   | the others read
 *   leave   count this seat in; the last gives the berth back
 *
 * A seat that leaves says how many calls with the tag it has ended. The word
 * counts only seats that have ended the most calls: a seat that has ended fewer
 * has a call to make, and comes back. So a berth is given back when all seats
 * have retired the same pieces on it, and have the same next number. A seat
 * that finds no free berth says so in the word, and the tag has no berth.
 *
 * Any thread, by a lock of the caller's. */
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
    uint32_t generation; /* how often the tag had had a berth, when it left */
    uint32_t calls;      /* when it left */
} xyl_berth_seat_t;

/* The berth that a tag has just now, 0: none is taken for it yet; and the
 * lowest free berth, XYL_BERTH_NONE: none is free. */
uint32_t xyl_berth_of(const xyl_seats_t *seats, const xyl_berth_words_t *words,
                      uint32_t tag);
uint32_t xyl_berth_free(const xyl_seats_t *seats,
                        const xyl_berth_words_t *words);
/* Joins the tag; returns the tag's berth, or XYL_BERTH_NONE. The latter is so
 * for all seats if the first seat to join finds no free berth, or may not take
 * one (`may_take` 0). */
uint32_t xyl_berth_join(const xyl_seats_t *seats, xyl_berth_words_t *words,
                        uint32_t tag, xyl_berth_seat_t *mine, int may_take);
/* Leaves the tag after `calls` calls with it, modulo 2^XYL_TAG_CALLS_BITS. */
void xyl_berth_leave(const xyl_seats_t *seats, xyl_berth_words_t *words,
                     uint32_t tag, xyl_berth_seat_t *mine, uint32_t calls);
