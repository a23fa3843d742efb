/* Sums in shared memory whose bits do not depend on who comes when: seats are
 * combined in pairs, pairs with pairs, and so on, always the left one op the
 * right one. Knows words, no stages: whoever uses it moves the bytes.
 *
 *     seats    0   1   2   3   4        a node per pair, level by level; who
 *               \ /     \ /    |        has no partner goes up by itself
 *                a       b     |
 *                 \     /      |
 *                    c         |
 *                     \       /
 *                        top
 *
 * A piece is cut into segments, and each segment has such a tree. A *partial*
 * is a cell of memory that holds what a subtree has contributed. A seat that is
 * the first of its pair copies its contribution into a cell, puts that into the
 * node, and goes on with the next segment; the second takes the cell, and adds
 * its own where it lies. Higher up, two cells come together in a node:
 *
 *     untouched --> left or right --> both --> taken
 *               first puts    second puts   who has taken merges, frees one
 *                                           cell, puts the other further up
 *
 * So cells are held only while somebody is late, and the same few again and
 * again if nobody is. Whoever has put the second cell into a node sees to it
 * that it is taken, but goes on contributing for a while: one that waits may
 * take it meanwhile. Who is late is thus needed for its contribution, and the
 * work that follows from it is done by those who wait.
 *
 * Some of the cells lie in the piece's window. Others come from elsewhere when
 * they are needed, a word's at a time (a *run*), and go back when none of them
 * is in use: what is kept for those who are late takes the room that it needs,
 * and quiet pieces take none. Whoever finds no room does without: nobody waits
 * for runs.
 *
 * A seat that waits for the result looks after what it has put until it is
 * taken; others leave as soon as they have contributed, and nothing is left of
 * which they were second.
 *
 * Nobody waits for ever. Each pair of seats has a *home* cell in the window,
 * all others are anybody's. A seat may use the home cell for the first of the
 * segments that it lacks. Let s be the first segment that is not complete.
 * Cells in its tree are merged by whoever was second, and those of segments
 * before it have been freed. A seat that lacks s finds its pair's node touched,
 * and needs no cell; or the home cell is free: its partner has used it for no
 * segment behind s, as it would have contributed to s before, and segments in
 * front of s are complete.
 *
 * Sleep: who waits marks itself, then looks once more; who puts, takes or frees
 * does so, then looks for marks and wakes.
 *
 * The progressing thread.
 */
#ifndef XYL_COLLECTIVES_NODE_PAIRS_H
#define XYL_COLLECTIVES_NODE_PAIRS_H

#include "collectives/node/seats.h"

enum {
    XYL_PAIRS_SEGMENTS = 64, /* of a piece at most */
    XYL_PAIRS_SEATS_MAX = 512,
    XYL_PAIRS_CELLS_MAX = 2048,
    XYL_PAIRS_CELLS_OF_WORD = 16,
    XYL_PAIRS_RUN_MAX = 0x7fff /* its name */
};

/* Of a piece. Never cleared: values begin with the number of their piece, and
 * marks are taken back by those who made them. */
typedef struct xyl_pairs_words {
    /* Bits of the cells in use, and in front of them the run that they lie in;
     * 0: in the window, or nowhere. */
    _Alignas(128) _Atomic uint64_t
        cells[XYL_PAIRS_CELLS_MAX / XYL_PAIRS_CELLS_OF_WORD];
    _Alignas(128) _Atomic uint64_t knock; /* says nothing; wakes */
    _Atomic uint64_t waiting[XYL_PAIRS_SEATS_MAX / 64]; /* bits of seats */
    _Alignas(128) _Atomic uint64_t nodes[]; /* [segments][those of a tree] */
} xyl_pairs_words_t;

size_t xyl_pairs_words_bytes(uint32_t seats);

/* Of the cells, the first are homes, and from a multiple of
 * XYL_PAIRS_CELLS_OF_WORD on they are anybody's. */
uint32_t xyl_pairs_homes(uint32_t seats);

/* Memory for the cells of a word, by names to RUN_MAX; 0: there is none. May be
 * given back by another seat than has taken it. */
typedef struct xyl_pairs_runs {
    void *arg;
    uint32_t (*take)(void *arg);
    void (*give)(void *arg, uint32_t run);
} xyl_pairs_runs_t;

/* A piece, as one of its seats sees it. */
typedef struct xyl_pairs_piece {
    const xyl_seats_t *seats;
    xyl_pairs_words_t *words;
    uint64_t number;
    uint32_t contributors; /* of the seats; two at least */
    uint32_t place;        /* of this one among them */
    uint32_t segments;
    uint64_t ready; /* bits of those of which this seat has its contribution */
    uint32_t near;  /* cells that lie in the window: at least the homes */
    uint32_t cells; /* of all; where there are more, `near` is whole words */
    xyl_pairs_runs_t runs;
    int waits;   /* this seat, for the end: it helps meanwhile */
    int follows; /* and goes along with what it has put */
    xyl_sum_flags_t full;
} xyl_pairs_piece_t;

/* Where the operands of a work are: in the seat's own memory, in cell n - 1, or
 * in the place of the result. */
enum { XYL_PAIRS_OWN, XYL_PAIRS_RESULT = XYL_PAIRS_CELLS_MAX + 1 };

typedef enum xyl_pairs_state {
    XYL_PAIRS_FRESH,
    XYL_PAIRS_PASS, /* looks at all that it has to do */
    XYL_PAIRS_TEND, /* at what it has put */
    XYL_PAIRS_LOOK, /* at a segment that it lacks */
    XYL_PAIRS_CELL, /* whose node is untouched */
    XYL_PAIRS_RUN,  /* it has one, and looks for a word */
    XYL_PAIRS_MARK, /* there was nothing to do */
    XYL_PAIRS_WORK, /* the caller works */
    XYL_PAIRS_PUT,  /* `cell` */
    XYL_PAIRS_FREE, /* `unused` */
    XYL_PAIRS_FREE_LAST,
    XYL_PAIRS_SAY, /* to those who are marked */
    XYL_PAIRS_FULL,
    XYL_PAIRS_UNMARK,
    XYL_PAIRS_DONE
} xyl_pairs_state_t;

/* How far a seat is with a piece; cleared to begin with. */
typedef struct xyl_pairs {
    xyl_pairs_state_t state, then; /* after what is said */
    uint32_t is_marked;
    uint32_t has_swept;  /* in this pass */
    uint32_t lacks_room; /* in this pass there was no cell, nor a run */
    uint32_t run;
    uint32_t segment;
    /* What the caller is to do: `to` = `left` op `right`, if both are set
     * apart, else a copy. */
    uint32_t left, right, to;
    uint32_t is_copy, is_top;
    uint32_t cell;          /* its partial */
    uint32_t unused;        /* to be freed */
    uint32_t level, index;  /* of its partial in the tree */
    uint64_t works;         /* done */
    uint64_t added;         /* bits of segments: not read from it any more */
    uint64_t first, second; /* bits of those of which it has put a cell */
    uint64_t look, tend;    /* bits left in this pass */
    uint16_t indexes[XYL_PAIRS_SEGMENTS]; /* of what it has put */
    uint8_t levels[XYL_PAIRS_SEGMENTS];
} xyl_pairs_t;

/* One step, with one access to what is shared. */
xyl_sum_next_t xyl_pairs_step(const xyl_pairs_piece_t *piece,
                              xyl_pairs_t *pairs);
/* The run of a cell that is in use; 0: it lies in the window. */
uint32_t xyl_pairs_run_of(const xyl_pairs_piece_t *piece, uint32_t cell);
/* 1: of this seat nothing is missing. */
int xyl_pairs_has_added(const xyl_pairs_piece_t *piece,
                        const xyl_pairs_t *pairs);
/* What there was to do is done. */
void xyl_pairs_worked(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs);

#endif
