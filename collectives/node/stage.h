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

/* Lets the stage share one piece, and so one slot, with `beside`, which was
 * added before it, and with the stages that `beside` shares it with. Does
 * nothing if a stage has several pieces, or there are not words and room for
 * all. Both programs must wait for words and gates alone. Before the first run,
 * alike on all seats. */
void xyl_node_stage_join(xyl_stage_t *stage, xyl_stage_t *beside);

/* For sums of the user's numbers: if the stage only adds its input to sums in
 * the window, it adds the numbers as they are; if there is no other stage, the
 * seat that adds last makes numbers of the sums. */
void xyl_node_stage_take_numbers(xyl_stage_t *stage, int is_alone);

/* A gate (XYL_STEP_GATE). The stage asks it whenever it is polled, for each
 * piece that has begun. 1: the gate is open; `*did` counts what was done. A
 * stage that waits for nothing but gates is released. */
typedef struct xyl_node_gate {
    int (*may_go)(void *arg, uint64_t piece, unsigned *did);
    void *arg;
} xyl_node_gate_t;

void xyl_node_stage_set_gate(xyl_stage_t *stage, const xyl_node_gate_t *gate);

/* Sets whether the present run does without the stage, which then only retires
 * its pieces when its input is there. Before that, on all seats alike. */
void xyl_node_stage_skip(xyl_stage_t *stage, int is_skipped);

/* Segments of a piece. */
uint64_t xyl_node_stage_segments(const xyl_stage_t *stage);

/* Where a segment of a broadcast lies in the window, while its piece is under
 * way; NULL: it is not. */
char *xyl_node_stage_place(const xyl_stage_t *stage, uint64_t index);

/* Publishes to all seats that a segment is in its place, in a piece that is
 * under way; and whether that is published. */
void xyl_node_stage_publish(const xyl_stage_t *stage, uint64_t index);
int xyl_node_stage_is_published(const xyl_stage_t *stage, uint64_t index);

/* The leader shows the other seats that it is alive, by a number that grows,
 * and in the end that no place in the piece is needed any more. In pieces that
 * are under way; 0 beats: this seat has not come to the piece yet. */
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
/* The progressing thread: runs a stage that is brief, next, bound, and the only
 * one of its operation, with all input there; looks up to `looks` times. 1: it
 * is over, and nobody is told. 0: it is under way as if it had been started. */
int xyl_node_stage_run(xyl_stage_t *stage, unsigned looks);

/* An engine source: looks after all node stages of a context; `arg` is the
 * xyl_node_context_t. */
unsigned xyl_node_stages_poll(void *arg);

/* Says to the other seats that this seat's next call was refused. */
void xyl_node_share_refusal(xyl_board_t *board, uint64_t call);

#endif
