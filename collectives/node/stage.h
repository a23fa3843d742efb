/* The node stage: runs a node program on a board, once per piece. */
#ifndef XYL_COLLECTIVES_NODE_STAGE_H
#define XYL_COLLECTIVES_NODE_STAGE_H

#include "collectives/data/layout.h"
#include "collectives/node/board.h"
#include "collectives/node/program.h"
#include "collectives/stages/collective.h"

/* Adds a stage that runs `program` (copied). The board outlives it. It reads
 * what programs call SEND, and writes RECV; layouts as of an exchange stage. */
xylem_status_t
xyl_node_stage_add(xyl_operation_t *operation, const xyl_stage_spec_t *spec,
                   xyl_board_t *board, const xyl_node_program_t *program,
                   const xyl_layouts_t *layouts, xyl_stage_t **stage_out);

/* Has the stage's only piece be one with that of `beside`, which was added
 * before it, or of those that this one has joined, if there are words and room
 * for both: one slot for all of them. Seats of both programs wait for words and
 * gates alone. Before the first run, alike on all seats. */
void xyl_node_stage_join(xyl_stage_t *stage, xyl_stage_t *beside);

/* Where sums of the user's numbers are combined: if the stage does nothing with
 * its input but add it to sums in the window, it adds the numbers as they are;
 * and if there is no other stage, whoever adds last makes numbers of the sums.
 */
void xyl_node_stage_take_numbers(xyl_stage_t *stage, int is_alone);

/* A gate (XYL_STEP_GATE): asked for each piece that has begun whenever the
 * stage is polled. 1: it is open; `*did` counts what was done. A stage that
 * waits for nothing else any more is released. */
typedef struct xyl_node_gate {
    int (*may_go)(void *arg, uint64_t piece, unsigned *did);
    void *arg;
} xyl_node_gate_t;

void xyl_node_stage_set_gate(xyl_stage_t *stage, const xyl_node_gate_t *gate);

/* Whether the run that is under way does without the stage, which then only
 * retires its pieces, when its input is there: on all seats alike, before that.
 */
void xyl_node_stage_skip(xyl_stage_t *stage, int is_skipped);

/* Segments of a piece. */
uint64_t xyl_node_stage_segments(const xyl_stage_t *stage);

/* Where a segment of a broadcast lies in the window, while its piece is under
 * way; NULL: it is not. */
char *xyl_node_stage_place(const xyl_stage_t *stage, uint64_t index);

/* A segment is in its place, and is published to all; and whether it is. Of
 * pieces that are under way. */
void xyl_node_stage_publish(const xyl_stage_t *stage, uint64_t index);
int xyl_node_stage_is_published(const xyl_stage_t *stage, uint64_t index);

/* One seat shows the others that it is alive, by a number that grows; and in
 * the end that what has a place in the piece is needed no more. Of pieces that
 * are under way; 0 beats: it has not come to the piece yet. */
void xyl_node_stage_beat(const xyl_stage_t *stage, uint64_t index);
uint64_t xyl_node_stage_beats(const xyl_stage_t *stage, uint64_t index);
void xyl_node_stage_let_go(const xyl_stage_t *stage, uint64_t piece);
int xyl_node_stage_is_let_go(const xyl_stage_t *stage, uint64_t piece);

/* The next run of an idle operation is on another board of the same seats. */
void xyl_node_stages_move(const xyl_operation_t *operation, xyl_board_t *board);

/* For operations that run inside a call: 1 where the stage's whole work is one
 * piece, known beforehand. */
int xyl_node_stage_is_brief(const xyl_stage_t *stage);
/* The progressing thread: 1 when no other stage is under way on its board, and
 * this seat has kept count with the others. */
int xyl_node_stage_is_next(const xyl_stage_t *stage);
/* How many pieces its team has begun, on all ranks alike. */
uint64_t xyl_node_stage_number(const xyl_stage_t *stage);
/* The progressing thread, of a stage that is brief, next, bound, and the only
 * one of its operation, with all input there: runs it, looking up to `looks`
 * times. 1: it is over, and nobody is told. 0: it is under way like any that
 * was started. */
int xyl_node_stage_run(xyl_stage_t *stage, unsigned looks);

/* An engine source: looks after all node stages of a context; `arg` is the
 * xyl_node_context_t. */
unsigned xyl_node_stages_poll(void *arg);

/* This seat has been refused what would be the next call. */
void xyl_node_share_refusal(xyl_board_t *board, uint64_t call);

#endif
