/* The inside of the node stage, for the files that implement it. */
#pragma once

#include "collectives/board/parcel.h"
#include "collectives/data/buffers.h"
#include "collectives/data/limits.h"
#include "collectives/node/share.h"
#include "collectives/node/stage.h"
#include "collectives/node/sums.h"
#include "collectives/stages/work.h"
#include "progress/engine/timer.h"

typedef enum xyl_node_state {
    XYL_NODE_NEW,
    XYL_NODE_FIRST,   /* the piece in which lengths are told has a number */
    XYL_NODE_NUMBERED /* pieces may begin */
} xyl_node_state_t;

#define XYL_NODE_NO_STRAND UINT32_MAX

/* How far a strand of a piece is. */
typedef struct xyl_strand {
    uint32_t step;
    uint32_t seen; /* seats whose counts are there */
    int has_slice; /* it has claimed a slice, or makes a result by itself */
    /* The claimed slice. While a step waits for a result that it could make by
     * itself: how often it has looked in vain. */
    uint32_t slice;
    /* Slices that all seats have published; and how many these were when this
     * seat last found none to claim. */
    uint32_t published, swept;
    uint32_t complete; /* seats whose inputs are all there */
    uint64_t done;     /* bytes of the step, or of the slice */
    uint64_t since; /* time when all inputs were seen to be there; 0: not yet */
    xyl_node_combine_t sums;
    xyl_parcel_t parcel;
    /* While an executor works on the step: */
    int is_waiting;    /* for the executor */
    uint64_t pending;  /* bytes that it works on */
    uint32_t operands; /* of a reduction: combined for its next bytes */
    xyl_work_t *work;  /* NULL: it is always done in the call */
} xyl_strand_t;

struct xyl_node_piece {
    uint64_t piece, number;
    char *slot, *window;
    uint64_t says; /* the call, as lines of seats that call the same have it */
    uint64_t mark; /* word of a claimed slice; mark | 1: of a posted one */
    uint64_t name; /* of this seat's input, if others read it there; else 0 */
    uint64_t length; /* of that input */
    char *lies;      /* where that input lies; NULL: it is copied */
    xyl_strand_t *strands;
    xyl_pairs_t *pairs;  /* of the one PAIR step; NULL: there is none */
    uint64_t begun_at;   /* set if the piece has pairs */
    uint32_t takes_left; /* blocks still to be read in their senders' memory */
    uint64_t taken_at;   /* time when none was left */
    uint32_t strands_left; /* 0: not active */
};

struct xyl_node_stage {
    xyl_stage_t stage;
    xyl_board_t *board;
    const xyl_limits_t *limits;
    TAILQ_ENTRY(xyl_node_stage) others; /* on the board */
    int is_listed;
    int is_hasty; /* a level of a short message, or of GPUs: the net comes first
                   */
    xyl_node_program_t program;
    xyl_board_extent_t extent;
    /* The first of the stages that share one piece; a stage that shares none is
     * its own first. In the first stage: how many stages share the piece, and
     * how many of these have not retired it. */
    xyl_node_stage_t *first;
    uint32_t together, together_left;
    xyl_buffers_t buffers;
    xyl_node_share_t share;
    xyl_node_gate_t gate;
    uint32_t gate_strand; /* XYL_NODE_NO_STRAND: there is none */
    uint32_t own_strands; /* of a piece, without the gate's */
    int marks_pieces;     /* it writes where other seats may write as well */
    int is_plain; /* each step only waits, moves or combines, and posts, as in
                 most short programs */
    /* The run. */
    xyl_node_state_t state;
    uint64_t largest; /* block that any seat has told */
    uint32_t strands_begin, strands_end, steps_begin; /* of present pieces */
    int is_skipped;      /* nothing is done in this run */
    int is_unsettled;    /* see xyl_stage_ops_t.settle */
    int has_input;       /* all that the first piece waits for is there */
    uint64_t input_left; /* segments */
    uint64_t *input;     /* bits, where segments come singly */
    uint64_t pieces_begun, pieces_left;
    uint64_t strands_left; /* of all pieces, but for gates */
    uint64_t enough; /* bytes to read when polled; UINT64_MAX: all there are */
    /* Ends the time for which a seat that needs no result helps with pairs, or
     * a sender waits for the receivers of its offers. */
    xyl_timer_t leaves;
    uint64_t patience_ns, works_seen;
    int has_helped;
    uint64_t *moved; /* by all stages since the net was last looked at */
    xyl_node_piece_t active[XYL_NODE_ACTIVE_MAX];
    xyl_stage_work_t *works; /* [ACTIVE_MAX][strands]; NULL: none is needed */
};

/* 1: another stage waits for segments, or for what the net brings. */
static inline int xyl_node_is_level(const xyl_stage_t *stage)
{
    return stage->operation->stages > 1 &&
           !xyl_collective_of(stage->operation)->takes_device;
}

/* The word of a segment or slice that is there. */
static inline uint64_t xyl_node_posted(const xyl_node_piece_t *piece)
{
    return piece->mark | 1;
}

/* ---- number.c ---- */

/* Gives stages of the board their numbers as far as it goes; returns the number
 * of things done. */
unsigned xyl_node_number(xyl_board_t *board);
/* Number the stage's pieces when it is the stage's turn; take_first numbers the
 * first piece alone. */
void xyl_node_number_pieces(xyl_node_stage_t *node);
void xyl_node_take_first(xyl_node_stage_t *node);
/* Called when the first piece has ended: now the number of other pieces is
 * known. 1: there are none. */
int xyl_node_first_ends(xyl_node_stage_t *node);

/* ---- move.c ---- */

/* Bytes of the step that the block still has in this piece. */
uint64_t xyl_node_bytes_of(const xyl_node_stage_t *node,
                           const xyl_node_piece_t *piece,
                           const xyl_step_t *step);
/* Goes on with bytes [at, end) of a step, for some microseconds. Returns where
 * it stopped: it stops early before input that it cannot see, and before bytes
 * on which an executor works. */
uint64_t xyl_node_work(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                       const xyl_step_t *step, xyl_strand_t *strand,
                       uint64_t at, uint64_t end);
static inline uint64_t xyl_node_turn_bytes(const xyl_node_stage_t *node)
{
    return node->enough < node->limits->seat_turn ? node->enough
                                                  : node->limits->seat_turn;
}
/* The address `from` bytes behind a spot. Elements of a private buffer must
 * have no gaps. */
char *xyl_node_address(const xyl_node_stage_t *node,
                       const xyl_node_piece_t *piece, xyl_position_t spot,
                       uint64_t from);

/* ---- transfer.c ---- */

/* OFFER, HAND and TAKE; 1: the step is done. */
int xyl_node_offer_run(const xyl_node_stage_t *node,
                       const xyl_node_piece_t *piece, const xyl_step_t *step,
                       const xyl_strand_t *strand, unsigned *did);
int xyl_node_hand_run(xyl_node_stage_t *node, const xyl_node_piece_t *piece,
                      const xyl_step_t *step, xyl_strand_t *strand,
                      unsigned *did);
/* 1: HAND's count is in the parcel's line, not in that of the sender's seat. */
int xyl_node_is_told_by_line(const xyl_node_stage_t *node,
                             const xyl_step_t *step);
/* Takes back the blocks that a failed call has offered: their memory may be
 * gone when the call returns. */
void xyl_node_hand_take_back(xyl_node_stage_t *node);
int xyl_node_take_run(xyl_node_stage_t *node, xyl_node_piece_t *piece,
                      const xyl_step_t *step, xyl_strand_t *strand,
                      unsigned *did);
/* Called by the timer `leaves` of a stage that offers. */
void xyl_node_looks_again(xyl_timer_t *timer, uint64_t now_ns);

/* ---- run.c ---- */

/* Begins the stage's next piece, which has its window. A piece in which this
 * seat has nothing to do is retired at once. */
void xyl_node_piece_begin(xyl_node_stage_t *node, xyl_node_piece_t *piece);
/* Retires pieces below `pieces`, which no seat begins; returns how many. */
unsigned xyl_node_skip_pieces(xyl_node_stage_t *node, uint64_t pieces);
/* Called by the timer `leaves` of other stages. */
void xyl_node_stop_helping(xyl_timer_t *timer, uint64_t now_ns);
/* Runs the piece as far as it goes; returns the number of things done. */
unsigned xyl_node_piece_run(xyl_node_stage_t *node, xyl_node_piece_t *piece);
