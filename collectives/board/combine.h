/* Sums in shared memory to which seats add when they come, in whatever order,
 * without a lock: a seat that is held up in the middle of an addition keeps no
 * other seat from adding. This module changes words only; its caller moves the
 * bytes.
 *
 * A piece is cut into segments. A *partial* of a segment is a cell of memory
 * that holds a sum, and the number of contributions in it. Each segment has one
 * word, in which a partial lies for any seat to take:
 *
 *   untouched ----> out ----> cell, count ----> out ----> ...
 *      first takes   put         taken           put
 *
 * A seat that has taken a partial is alone with its cell: it adds its
 * contribution and puts the partial back. If the word has another partial by
 * then, the seat takes that as well, merges the two, frees one cell, and tries
 * again. The first seat of a segment begins in the segment's *home* cell. If
 * the partials of all segments that a seat lacks are taken, the seat begins
 * another partial in a *spare* cell; a piece has a few of these.
 *
 * Nothing is lost or counted twice: a cell is in one word or with one seat; it
 * changes hands by a successful swap; counts are added when sums are.
 *
 * The sum of all ends in the home cell: a merge of a home and a spare keeps the
 * home, so the partial that the first contribution went into is always there.
 * Hence a full segment holds no spare.
 *
 * No seat waits for ever. A seat waits only when it has no cell, all segments
 * that it lacks are out, and no spare is free. A seat with a cell never waits:
 * it adds, merges and puts its partial. So a partial that is out comes back,
 * and so does a spare: one that lies in a word is merged by the seat that puts
 * the home cell of its segment. A seat that stops for ever keeps at most two
 * cells of one segment; with two spares or more all others finish.
 *
 * Sleep: a seat that waits marks itself, then looks once more; a seat that
 * frees or puts a cell looks for marks afterwards, and wakes the marked seats.
 *
 * The progressing thread calls these functions. */
#pragma once

#include "collectives/board/seats.h"

enum {
    XYL_COMBINE_SEGMENTS = 64, /* of a piece at most */
    XYL_COMBINE_SPARES_MAX = 4,
    XYL_COMBINE_SEATS_MAX = 512
};

/* The words of a piece, never cleared: values begin with the piece's number,
 * and each seat takes back its own marks. */
typedef struct xyl_combine_words {
    _Alignas(128) _Atomic uint64_t segments[XYL_COMBINE_SEGMENTS];
    _Alignas(128) _Atomic uint64_t spares; /* bits of those in use */
    _Atomic uint64_t knock;                /* any value; the store wakes */
    _Atomic uint64_t waiting[XYL_COMBINE_SEATS_MAX / 64]; /* bits of seats */
} xyl_combine_words_t;

/* A piece, as one of its seats sees it. */
typedef struct xyl_combine_piece {
    const xyl_seats_t *seats;
    xyl_combine_words_t *words;
    uint64_t number;
    uint32_t segments, spares;
    uint32_t contributors; /* seats that add */
    uint32_t first;        /* segment that this seat begins with */
    xyl_sum_flags_t full;  /* flags of segments to which all have added */
} xyl_combine_piece_t;

/* Cells of a segment. */
enum { XYL_COMBINE_OUT, XYL_COMBINE_HOME, XYL_COMBINE_FIRST_SPARE };

typedef enum xyl_combine_work {
    XYL_COMBINE_COPY, /* cell = own */
    XYL_COMBINE_ADD,  /* cell = cell op own */
    XYL_COMBINE_MERGE /* cell = cell op other */
} xyl_combine_work_t;

typedef enum xyl_combine_state {
    XYL_COMBINE_FRESH,
    XYL_COMBINE_PASS,   /* has no cell; finds the segments that it lacks */
    XYL_COMBINE_LOOK,   /* looks at one segment after the other */
    XYL_COMBINE_SPARE,  /* takes a spare, because all segments were out */
    XYL_COMBINE_MARK,   /* marks itself, because there is no spare */
    XYL_COMBINE_WORK,   /* the caller works */
    XYL_COMBINE_FREE,   /* frees `other` */
    XYL_COMBINE_FREED,  /* wakes seats: a spare is free */
    XYL_COMBINE_PUT,    /* puts `cell` */
    XYL_COMBINE_BACK,   /* wakes seats: a partial is back */
    XYL_COMBINE_FULL,   /* the segment has all contributions */
    XYL_COMBINE_UNMARK, /* lacks no segment; takes its mark back */
    XYL_COMBINE_DONE
} xyl_combine_state_t;

/* How far a seat is with a piece; cleared to begin with. */
typedef struct xyl_combine {
    xyl_combine_state_t state;
    xyl_combine_work_t work;
    uint32_t is_marked;
    uint32_t segment;
    uint32_t cell, count; /* its partial */
    uint32_t other, other_count;
    uint64_t added; /* bits of segments */
    uint64_t left;  /* to be looked at in this pass */
} xyl_combine_t;

/* One step, with one access to shared words. `ready`: bits of the segments to
 * which this seat has something to add by now. If it returns XYL_SUM_WORK, the
 * caller does combine->work in combine->segment. */
xyl_sum_next_t xyl_combine_step(const xyl_combine_piece_t *piece,
                                uint64_t ready, xyl_combine_t *combine);
/* The caller has done `work`. */
void xyl_combine_worked(xyl_combine_t *combine);
