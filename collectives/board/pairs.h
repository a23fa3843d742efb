/* Sums in shared memory whose bits do not depend on when seats come: seats are
 * combined in pairs, pairs with pairs, and so on, always the left one op the
 * right one. This module changes words only; its caller moves the bytes.
 *
 *     seats    0   1   2   3   4        a node per pair, level by level; a seat
 *               \ /     \ /    |        without a partner goes up by itself
 *                a       b     |
 *                 \     /      |
 *                    c         |
 *                     \       /
 *                        top
 *
 * A piece is cut into segments, and each segment has such a tree. A *partial*
 * is a cell of memory that holds what a subtree has contributed. The first seat
 * of a pair to come copies its contribution into a cell, puts the cell into the
 * node, and goes on with the next segment; the second seat takes the cell, and
 * adds its own contribution to it. Higher up, two cells come together in a
 * node:
 *
 *     untouched --> left or right --> both --> taken
 *               first puts    second puts   its taker merges, frees one cell,
 *                                           puts the other further up
 *
 * A seat whose input others may read where it lies puts INPUTS in place of a
 * cell, without a copy. Where INPUTS meet INPUTS, they go up together without
 * work. Where they meet a cell, or at the top, one seat combines all inputs of
 * their subtrees in one pass, in the order of the tree. A seat that has put
 * INPUTS stays until a cell or the result has its input. If late seats keep it
 * from leaving, and it need not wait for the result, it *withdraws* INPUTS that
 * have not met another partial: it takes them out of the node, combines all
 * inputs of their subtree into a cell, and puts the cell.
 *
 * docs/inside/node.md says which seat works. Cells outside the window lie in
 * *runs*, which the caller takes from elsewhere. A run has the cells whose bits
 * lie in one word (`cells` below). The seat that frees the last cell of a run
 * gives the run back. A seat that gets no run does not wait for one, but uses
 * its home cell.
 *
 * A seat that waits for the result looks after the cells that it has put until
 * they are taken. Any other seat leaves when it has contributed to all
 * segments, and every node in which it has put the second cell is taken.
 *
 * No seat waits for ever. Each pair of seats has a *home* cell in the window;
 * any seat may use the other cells. A seat uses the home cell only for the
 * first segment that it lacks. Let s be the first segment that is not complete.
 * All cells of earlier segments have been freed. If two cells meet in the tree
 * of s, the seat that has put the second cell stays until they are merged. A
 * seat that lacks s can go on in each of two cases:
 *   - Its partner's cell is in their node: the seat needs no other cell.
 *   - That cell is not there: the home cell is free. The partner has not used
 *     it for a later segment, since it would have contributed to s first, and
 *     INPUTS that no seat has combined yet do not count for this.
 *
 * Sleep: a seat that waits marks itself, then looks once more; a seat that
 * puts, takes or frees a cell looks for marks afterwards, and wakes the marked
 * seats.
 *
 * The progressing thread calls these functions. */
#pragma once

#include "collectives/board/seats.h"

enum {
    XYL_PAIRS_SEGMENTS = 64, /* of a piece at most */
    XYL_PAIRS_SEATS_MAX = 512,
    XYL_PAIRS_CELLS_MAX = 2048,
    XYL_PAIRS_CELLS_OF_WORD = 16,
    XYL_PAIRS_RUN_MAX = 0x7fff /* highest name of a run */
};

/* The words of a piece, never cleared: values begin with the piece's number,
 * and each seat takes back its own marks. */
typedef struct xyl_pairs_words {
    /* Bits of the cells in use; above them the name of the run in which the
     * cells lie. Name 0: they lie in the window, or have no memory. */
    _Alignas(128) _Atomic uint64_t
        cells[XYL_PAIRS_CELLS_MAX / XYL_PAIRS_CELLS_OF_WORD];
    _Alignas(128) _Atomic uint64_t knock; /* any value; the store wakes */
    _Atomic uint64_t waiting[XYL_PAIRS_SEATS_MAX / 64]; /* bits of seats */
    _Alignas(128) _Atomic uint64_t nodes[]; /* [segments][those of a tree] */
} xyl_pairs_words_t;

size_t xyl_pairs_words_bytes(uint32_t seats);

/* The first cells are homes; cells for any seat begin with the next word. */
uint32_t xyl_pairs_homes(uint32_t seats);

/* Functions of the caller. `take` returns the name of a run, at most RUN_MAX;
 * 0: there is none. Another seat may give the run back. */
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
    uint32_t contributors; /* seats that contribute; at least two */
    uint32_t place;        /* of this seat among the contributors */
    uint32_t segments;
    uint64_t ready; /* bits of segments of which this seat has its input */
    uint32_t near;  /* cells that lie in the window: at least the homes */
    uint32_t cells; /* in all; if more than `near`, `near` fills whole words */
    xyl_pairs_runs_t runs;
    int lies;    /* others read this seat's input where it lies */
    int leaves;  /* this seat, which has `lies`, withdraws INPUTS, and copies
                    from now on */
    int waits;   /* this seat waits for the end, and helps meanwhile */
    int follows; /* this seat follows its cells up the tree */
    xyl_sum_flags_t full;
} xyl_pairs_piece_t;

/* Where operands are: in the seat's own memory, in cell n - 1, in the place of
 * the result, or in the memory of all seats of a subtree. */
enum {
    XYL_PAIRS_OWN,
    XYL_PAIRS_RESULT = XYL_PAIRS_CELLS_MAX + 1,
    XYL_PAIRS_INPUTS /* if `is_copy`: those of one subtree */
};

typedef enum xyl_pairs_state {
    XYL_PAIRS_FRESH,
    XYL_PAIRS_PASS,     /* looks at all that it has to do */
    XYL_PAIRS_TEND,     /* looks at a cell that it has put */
    XYL_PAIRS_LOOK,     /* looks at a segment that it lacks */
    XYL_PAIRS_CELL,     /* takes a cell, because the node has none */
    XYL_PAIRS_RUN,      /* has a run, and looks for a word without one */
    XYL_PAIRS_MARK,     /* found nothing to do; marks itself */
    XYL_PAIRS_WORK,     /* the caller works */
    XYL_PAIRS_WITHDRAW, /* takes INPUTS out of a node */
    XYL_PAIRS_PUT,      /* puts `cell` */
    XYL_PAIRS_FREE,     /* frees `unused` */
    XYL_PAIRS_FREE_LAST,
    XYL_PAIRS_SAY, /* wakes the seats that are marked */
    XYL_PAIRS_FULL,
    XYL_PAIRS_LET_GO, /* the inputs that were read for the result are free */
    XYL_PAIRS_UNMARK,
    XYL_PAIRS_DONE
} xyl_pairs_state_t;

/* How far a seat is with a piece; cleared to begin with. */
typedef struct xyl_pairs {
    xyl_pairs_state_t state, then; /* the state after SAY */
    uint32_t is_marked;
    uint32_t has_swept;  /* in this pass */
    uint32_t lacks_room; /* in this pass there was neither a cell nor a run */
    uint32_t withdraws;  /* the cell that it takes is for INPUTS of a node */
    uint32_t run;
    uint32_t segment;
    /* The caller's work: `to` = `left` op `right`; `is_copy`: `to` = `left`. */
    uint32_t left, right, to;
    uint32_t is_copy, is_top, reads_inputs;
    uint32_t cell;         /* its partial; 0: none, at the top */
    uint32_t unused;       /* to be freed */
    uint32_t level, index; /* of its partial in the tree */
    uint64_t works;        /* done */
    uint64_t added; /* bits of segments that need this seat's input no more */
    uint64_t lying; /* bits of segments in which others may read this
                       seat's input */
    uint64_t first, second; /* bits of segments in which this seat has put the
                               first, the second cell of a node */
    uint64_t look, tend;    /* bits left in this pass */
    uint16_t indexes[XYL_PAIRS_SEGMENTS]; /* of the cells that it has put */
    uint8_t levels[XYL_PAIRS_SEGMENTS];
} xyl_pairs_t;

/* One step, with one access to shared words. */
xyl_sum_next_t xyl_pairs_step(const xyl_pairs_piece_t *piece,
                              xyl_pairs_t *pairs);
/* The seats, by their places, whose inputs are the left or the right operand of
 * the caller's work. A copy has one operand, on the side of its subtree. */
void xyl_pairs_inputs(const xyl_pairs_piece_t *piece, const xyl_pairs_t *pairs,
                      int is_right, uint32_t *first_out, uint32_t *end_out);
/* The run of a cell that is in use; 0: it lies in the window. */
uint32_t xyl_pairs_run_of(const xyl_pairs_piece_t *piece, uint32_t cell);
/* 1: no other seat waits for this seat any more. */
int xyl_pairs_has_added(const xyl_pairs_piece_t *piece,
                        const xyl_pairs_t *pairs);
/* The caller's work is done. */
void xyl_pairs_worked(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs);
