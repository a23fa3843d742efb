/* Two facts that a node stage writes into its seat's line before the seat posts
 * in a piece, and reads in the lines of others: which call the stage runs, and
 * the name of its input if others read it where it lies, else 0. */
#pragma once

#include "collectives/board/board.h"
#include "collectives/data/buffers.h"
#include "runtime/core/stage.h"

typedef struct xyl_node_stage xyl_node_stage_t;
typedef struct xyl_node_piece xyl_node_piece_t;

/* This seat's input, if other seats may read it where it lies; and the
 * differences that this seat has found in other seats' lines. */
typedef struct xyl_node_share {
    int has_input;
    xyl_buffer_t buffer;
    uint64_t at, end; /* in `buffer`: the input's byte 0, and its end */
    uint64_t name;    /* name of byte 0 in this run; 0: the input is copied */
    /* The seat whose input this seat cannot see, and the seat that calls
     * something else; XYL_BOARD_ALL: none. */
    uint32_t cannot_see, differs;
    uint64_t differs_by; /* the call of that seat */
    /* The length of a seat's input, as that seat says and as this seat knows;
     * equal: there is no wrong length. */
    uint64_t length, length_known;
    uint64_t past; /* hash of this call and all before it on the board */
    int is_explained;
} xyl_node_share_t;

void xyl_node_share_plan(xyl_node_stage_t *node);
/* Asks the shared memory (progress/shm/shm.h) for the name of the input. */
void xyl_node_share_start(xyl_node_stage_t *node);
/* Called when the stage gets its first number, and once more when the pieces
 * behind a first piece get theirs. */
void xyl_node_share_number(xyl_node_stage_t *node);
/* Called when the piece begins. Sets the words by which the piece tells its
 * call and its input. */
void xyl_node_share_piece(const xyl_node_stage_t *node,
                          xyl_node_piece_t *piece);
/* Writes this seat's call and the name of its input into its line. Called just
 * before the seat posts there: between two writes that lie apart, a polling
 * seat would fetch the line. */
void xyl_node_share_say(const xyl_node_stage_t *node,
                        const xyl_node_piece_t *piece);
/* A seat that posts nothing in a piece leaves its line as an earlier piece of
 * the slot had it. The generation in the call's word tells the two pieces
 * apart, but the word has only few bits for it. So in one of RENEWED
 * generations each seat writes its call as the piece begins. */
enum { XYL_NODE_RENEWED = 64 };
void xyl_node_share_renew(const xyl_node_stage_t *node, uint64_t number);
/* 0: no number of the piece, whose first is `number`, has that generation. */
static inline int xyl_node_may_renew(uint64_t number)
{
    return number / XYL_BOARD_SLOTS % XYL_NODE_RENEWED >= XYL_NODE_RENEWED - 2;
}
/* 1: this seat's line has the call and the name of this piece. A seat that
 * posts only words of segments need not write them again. */
int xyl_node_share_is_said(const xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece);
/* Notes that `seat`, whose line is `line`, calls something else. */
void xyl_node_share_differs(xyl_node_share_t *share,
                            const xyl_board_line_t *line, uint32_t seat);
/* 1: a seat that has posted in this piece has made the same calls as this seat:
 * this one and all before it. 0: the calls differ, and the difference is noted.
 */
static inline int xyl_node_is_alike(xyl_node_share_t *share,
                                    const xyl_board_line_t *line, uint32_t seat)
{
    /* Partner: the store in say (share.c), before the seat posts. */
    if (atomic_load_explicit(&line->past, memory_order_relaxed) == share->past)
        return 1;
    xyl_node_share_differs(share, line, seat);
    return 0;
}
/* Looks for seats that call something else, even if they have not posted. */
void xyl_node_compare(xyl_stage_t *stage);
/* The address of `bytes` bytes of a seat's input, from offset `at` in the
 * window (`further` more in the seat's own memory); NULL: this seat cannot see
 * them. The seat must have posted that they are there. */
const char *xyl_node_input(xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece, uint32_t seat,
                           uint64_t at, uint64_t further, size_t bytes);
/* 1: some input could not be seen, or a seat calls something else, and the
 * operation has failed. */
int xyl_node_share_failed(xyl_node_stage_t *node);
