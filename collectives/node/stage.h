/* The node stage: runs a node program on a board, once per piece. */
#pragma once

#include "collectives/board/board.h"
#include "collectives/data/layout.h"
#include "collectives/node/program.h"
#include "collectives/stages/collective.h"

/* Adds a stage that runs `program` (copied) on a board that outlives the stage.
 * The stage reads SEND and writes RECV, by `layouts` if elements have gaps. */
xylem_status_t
xyl_node_stage_add(xyl_operation_t *operation, const xyl_stage_spec_t *spec,
                   xyl_board_t *board, const xyl_node_program_t *program,
                   const xyl_layouts_t *layouts, xyl_stage_t **stage_out);

/* Lets the stage share one piece, and so one slot, with the earlier stage
 * `beside` and all stages that share the piece of `beside`. Does nothing if a
 * stage has several pieces, or if words or room do not suffice for all. Both
 * programs must wait for words and gates alone. Called before the first run, on
 * all seats alike. */
void xyl_node_stage_join(xyl_stage_t *stage, xyl_stage_t *beside);

/* For sums in the reproducible order (binned.h): a stage that only adds its
 * input to sums in the window takes the user's numbers. If it is the only
 * stage, the seat that adds last makes numbers of the sums. */
void xyl_node_stage_make_sums(xyl_stage_t *stage, int is_alone);

/* A gate (XYL_STEP_GATE). Each poll of the stage calls `may_go` for each piece
 * that has begun. 1: the gate is open; `*did` counts the work done. A
 * stage that waits for nothing but gates is released. */
typedef struct xyl_node_gate {
    int (*may_go)(void *arg, uint64_t piece, unsigned *did);
    void *arg;
} xyl_node_gate_t;

void xyl_node_stage_set_gate(xyl_stage_t *stage, const xyl_node_gate_t *gate);

/* Sets whether this run skips the stage, which then only retires its pieces, as
 * soon as its input is there. Called before a piece begins, on all seats alike.
 */
void xyl_node_stage_skip(xyl_stage_t *stage, int is_skipped);

/* The next four functions are for a stage with one piece, in which each seat
 * publishes some input and posts the count 1. The gate may call them while the
 * piece is under way. */
/* 1: the seat has posted, so that its input can be read. */
int xyl_node_stage_has_come(xyl_stage_t *stage, uint32_t seat);
/* Where the input of a seat lies in the window. */
char *xyl_node_stage_input(const xyl_stage_t *stage, uint32_t seat);
/* A word in this seat's input, which any seat may wait for. */
void xyl_node_stage_set(const xyl_stage_t *stage, _Atomic uint64_t *word,
                        uint64_t value);
uint64_t xyl_node_stage_get(const xyl_stage_t *stage,
                            const _Atomic uint64_t *word);

/* Segments of a piece. */
uint64_t xyl_node_stage_segments(const xyl_stage_t *stage);

/* Where a segment of a broadcast lies in the window, while its piece is under
 * way; NULL: the piece is not under way. */
char *xyl_node_stage_place(const xyl_stage_t *stage, uint64_t index);

/* Publishes to all seats that a segment, whose piece is under way, is in its
 * place; is_published: 1 once a seat has published that. */
void xyl_node_stage_publish(const xyl_stage_t *stage, uint64_t index);
int xyl_node_stage_is_published(const xyl_stage_t *stage, uint64_t index);

/* The leader's beats, a number that grows, show other seats that the leader is
 * alive. 0 beats: there is none yet, or this seat has not come to the piece.
 * The leader calls let_go when no seat needs the places of a piece any more;
 * the piece is under way. */
void xyl_node_stage_beat(const xyl_stage_t *stage, uint64_t index);
uint64_t xyl_node_stage_beats(const xyl_stage_t *stage, uint64_t index);
void xyl_node_stage_let_go(const xyl_stage_t *stage, uint64_t piece);
int xyl_node_stage_is_let_go(const xyl_stage_t *stage, uint64_t piece);

/* Moves the stages of an idle operation to another board of the same seats. */
void xyl_node_stages_move(const xyl_operation_t *operation, xyl_board_t *board);

/* 1: the stage's whole work is one piece, known beforehand, so that it may run
 * inside a call. */
int xyl_node_stage_is_brief(const xyl_stage_t *stage);
/* Called by the progressing thread. 1: no stage is under way on the stage's
 * board, so the stage would get the board's next number. */
int xyl_node_stage_is_next(const xyl_stage_t *stage);
/* The number of the board's next piece, alike on all ranks. */
uint64_t xyl_node_stage_number(const xyl_stage_t *stage);
/* Called by the progressing thread. Runs a stage that is brief, next, bound,
 * and the only one of its operation, with all input there; looks up to `looks`
 * times. 1: the stage is over, without emit or completion. 0: the stage goes on
 * as if started. */
int xyl_node_stage_run(xyl_stage_t *stage, unsigned looks);

/* An engine source: looks after all node stages of a context; `arg` is the
 * xyl_node_context_t. */
unsigned xyl_node_stages_poll(void *arg);

/* Tells the other seats that this seat has refused a call. */
void xyl_node_share_refusal(xyl_board_t *board, uint64_t call);
