#include "collectives/board/combine.h"

#include <assert.h>

enum { CELL_AT = 12, NUMBER_AT = 16, CELL_MASK = 0xf, COUNT_MASK = 0xfff };

_Static_assert((int)XYL_COMBINE_SEATS_MAX <= (int)COUNT_MASK,
               "counts fit into a word");
_Static_assert((int)XYL_COMBINE_FIRST_SPARE + (int)XYL_COMBINE_SPARES_MAX <=
                   (int)CELL_MASK,
               "cells fit into a word");

/* ---- words ---- */

static uint64_t word_of(const xyl_combine_piece_t *piece, uint32_t cell,
                        uint32_t count)
{
    return piece->number << NUMBER_AT | (uint64_t)cell << CELL_AT | count;
}

static uint32_t cell_in(uint64_t word)
{
    return (uint32_t)(word >> CELL_AT) & CELL_MASK;
}

static uint32_t count_in(uint64_t word)
{
    return (uint32_t)word & COUNT_MASK;
}

static int combine_is_of(const xyl_combine_piece_t *piece, uint64_t word)
{
    return word >> NUMBER_AT == piece->number;
}

/* Takes the partial that lies in the segment's word, or the home cell if this
 * seat is the first. 0: the partial is out. */
static int combine_take(const xyl_combine_piece_t *piece,
                        xyl_combine_t *combine)
{
    _Atomic uint64_t *word = &piece->words->segments[combine->segment];
    uint64_t out = word_of(piece, XYL_COMBINE_OUT, 0);
    uint64_t seen = xyl_seats_get(piece->seats, word);

    do {
        if (seen == out)
            return 0;
    } while (!xyl_seats_swap(piece->seats, word, &seen, out));
    combine->work =
        combine_is_of(piece, seen) ? XYL_COMBINE_ADD : XYL_COMBINE_COPY;
    combine->cell =
        combine_is_of(piece, seen) ? cell_in(seen) : XYL_COMBINE_HOME;
    combine->count = combine_is_of(piece, seen) ? count_in(seen) : 0;
    return 1;
}

/* 1: puts the partial into the segment's word; 0: takes one from it as
 * `other`. */
static int combine_put(const xyl_combine_piece_t *piece, xyl_combine_t *combine)
{
    _Atomic uint64_t *word = &piece->words->segments[combine->segment];
    uint64_t out = word_of(piece, XYL_COMBINE_OUT, 0);
    uint64_t seen = out;

    while (!xyl_seats_swap(
        piece->seats, word, &seen,
        seen == out ? word_of(piece, combine->cell, combine->count) : out))
        continue; /* `seen` is what lies there now */
    if (seen == out)
        return 1;
    assert(combine_is_of(piece, seen));
    combine->other = cell_in(seen);
    combine->other_count = count_in(seen);
    return 0;
}

/* A free spare becomes `cell`. 0: there is none. */
static int spare_take(const xyl_combine_piece_t *piece, xyl_combine_t *combine)
{
    _Atomic uint64_t *word = &piece->words->spares;
    uint64_t all = (UINT64_C(1) << piece->spares) - 1;
    uint64_t seen = xyl_seats_get(piece->seats, word), used;

    do {
        used = combine_is_of(piece, seen) ? seen & all : 0;
        if (used == all)
            return 0;
    } while (!xyl_seats_swap(piece->seats, word, &seen,
                             word_of(piece, 0, 0) | used | (used + 1)));
    combine->cell = XYL_COMBINE_FIRST_SPARE + (uint32_t)__builtin_ctzll(~used);
    combine->count = 0;
    combine->work = XYL_COMBINE_COPY;
    return 1;
}

static void spare_free(const xyl_combine_piece_t *piece, uint32_t cell)
{
    _Atomic uint64_t *word = &piece->words->spares;
    uint64_t bit = UINT64_C(1) << (cell - XYL_COMBINE_FIRST_SPARE);
    uint64_t seen = xyl_seats_get(piece->seats, word);

    assert(cell >= XYL_COMBINE_FIRST_SPARE);
    do
        assert(combine_is_of(piece, seen) && (seen & bit) != 0);
    while (!xyl_seats_swap(piece->seats, word, &seen, seen & ~bit));
}

/* Wakes the seats that are marked. */
static void combine_knock(const xyl_combine_piece_t *piece)
{
    xyl_seats_wake(piece->seats, piece->words->waiting, &piece->words->knock,
                   word_of(piece, 0, 1));
}

/* ---- steps ---- */

static uint64_t lacking(const xyl_combine_piece_t *piece, uint64_t ready,
                        const xyl_combine_t *combine)
{
    return ready & ~combine->added & UINT64_MAX >> (64 - piece->segments);
}

static xyl_sum_next_t combine_pass(const xyl_combine_piece_t *piece,
                                   uint64_t ready, xyl_combine_t *combine)
{
    combine->left = lacking(piece, ready, combine);
    if (lacking(piece, UINT64_MAX, combine) == 0) {
        combine->state =
            combine->is_marked ? XYL_COMBINE_UNMARK : XYL_COMBINE_DONE;
        return XYL_SUM_STEP;
    }
    if (combine->left == 0)
        return XYL_SUM_WAIT;
    combine->state = XYL_COMBINE_LOOK;
    return XYL_SUM_STEP;
}

static void combine_look(const xyl_combine_piece_t *piece,
                         xyl_combine_t *combine)
{
    combine->segment = xyl_sum_first_from(combine->left, combine->segment);
    if (combine_take(piece, combine)) {
        combine->state = XYL_COMBINE_WORK;
        return;
    }
    combine->left &= ~(UINT64_C(1) << combine->segment);
    if (combine->left == 0)
        combine->state = XYL_COMBINE_SPARE;
}

static xyl_sum_next_t spare(const xyl_combine_piece_t *piece, uint64_t ready,
                            xyl_combine_t *combine)
{
    if (spare_take(piece, combine)) {
        combine->segment = xyl_sum_first_from(lacking(piece, ready, combine),
                                              combine->segment);
        combine->state = XYL_COMBINE_WORK;
        return XYL_SUM_STEP;
    }
    if (!combine->is_marked) {
        combine->state = XYL_COMBINE_MARK;
        return XYL_SUM_STEP;
    }
    combine->state = XYL_COMBINE_PASS;
    return XYL_SUM_WAIT;
}

/* A merge keeps the home cell. */
static void prefer_home(xyl_combine_t *combine)
{
    uint32_t cell = combine->cell, count = combine->count;

    if (combine->other != XYL_COMBINE_HOME)
        return;
    combine->cell = combine->other;
    combine->count = combine->other_count;
    combine->other = cell;
    combine->other_count = count;
}

static void bring_back(const xyl_combine_piece_t *piece, xyl_combine_t *combine)
{
    if (!combine_put(piece, combine)) {
        prefer_home(combine);
        combine->work = XYL_COMBINE_MERGE;
        combine->state = XYL_COMBINE_WORK;
        return;
    }
    assert(combine->count <= piece->contributors);
    combine->added |= UINT64_C(1) << combine->segment;
    combine->state = XYL_COMBINE_BACK;
    if (combine->count < piece->contributors)
        return;
    assert(combine->cell == XYL_COMBINE_HOME);
    combine->state = XYL_COMBINE_FULL;
}

xyl_sum_next_t xyl_combine_step(const xyl_combine_piece_t *piece,
                                uint64_t ready, xyl_combine_t *combine)
{
    switch (combine->state) {
    case XYL_COMBINE_FRESH:
        assert(piece->segments != 0 && piece->segments <= XYL_COMBINE_SEGMENTS);
        combine->segment = piece->first;
        combine->state = XYL_COMBINE_PASS;
        return combine_pass(piece, ready, combine);
    case XYL_COMBINE_PASS:
        return combine_pass(piece, ready, combine);
    case XYL_COMBINE_LOOK:
        combine_look(piece, combine);
        break;
    case XYL_COMBINE_SPARE:
        return spare(piece, ready, combine);
    case XYL_COMBINE_MARK:
        xyl_seats_mark(piece->seats, piece->words->waiting, 1);
        combine->is_marked = 1;
        combine->state = XYL_COMBINE_PASS;
        break;
    case XYL_COMBINE_WORK:
        return XYL_SUM_WORK;
    case XYL_COMBINE_FREE:
        spare_free(piece, combine->other);
        combine->state = XYL_COMBINE_FREED;
        break;
    case XYL_COMBINE_FREED:
        combine_knock(piece);
        combine->state = XYL_COMBINE_PUT;
        break;
    case XYL_COMBINE_PUT:
        bring_back(piece, combine);
        break;
    case XYL_COMBINE_BACK:
        combine_knock(piece);
        combine->state = XYL_COMBINE_PASS;
        break;
    case XYL_COMBINE_FULL:
        xyl_sum_mark_full(piece->seats, &piece->full, combine->segment);
        combine->state = XYL_COMBINE_PASS;
        break;
    case XYL_COMBINE_UNMARK:
        xyl_seats_mark(piece->seats, piece->words->waiting, 0);
        combine->is_marked = 0;
        combine->state = XYL_COMBINE_DONE;
        break;
    case XYL_COMBINE_DONE:
        return XYL_SUM_NONE;
    }
    return XYL_SUM_STEP;
}

void xyl_combine_worked(xyl_combine_t *combine)
{
    assert(combine->state == XYL_COMBINE_WORK);
    if (combine->work == XYL_COMBINE_MERGE) {
        combine->count += combine->other_count;
        combine->state = XYL_COMBINE_FREE;
    } else {
        combine->count++;
        combine->state = XYL_COMBINE_PUT;
    }
}
