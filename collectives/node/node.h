/* Collectives in the memory of a node: from the arguments of a call to an
 * operation with a node stage. */
#pragma once

#include "collectives/data/call.h"
#include "collectives/data/modules.h"
#include "collectives/node/program.h"
#include "collectives/stages/choice.h"

/* Tells ranks that wait for this rank's next call that this rank has refused a
 * call. `call` is the word of the refused call; 0: no call was refused, but a
 * request could not be made. The team fails if this rank cannot have its board.
 * Any thread calls this function. */
void xyl_node_refused(xylem_team_t *team, uint64_t call, xylem_status_t status);

/* 1: programs for such a problem fit into the team's board; equal on all ranks.
 */
int xyl_node_is_possible(const xylem_team_t *team,
                         const xyl_problem_t *problem);

/* Fills in `rank`, `ranks`, `node` and `shares_memory` of a problem of `seats`,
 * which share memory. XYLEM_ERR_NO_MEMORY: no memory for groups. */
xylem_status_t xyl_node_outline(xylem_team_t *team, const xyl_group_t *seats,
                                xyl_problem_t *problem);

/* Makes the operation of a call of a team on one node, whose context has shm.
 * Returns owned (free with xyl_request_discard, or by the user). The buffers
 * are not bound yet. */
xylem_status_t xyl_node_create(const xyl_call_t *call,
                               const xyl_choice_t *choice,
                               xyl_operation_t **operation_out);

/* A bcast or reduce within a node, as one level of several. */
typedef struct xyl_node_part {
    xylem_coll_t coll;
    const xyl_algorithm_t *algorithm; /* NULL: `chooser` chooses */
    const xyl_chooser_t *chooser;
    const xyl_algorithm_t *named; /* the user's wish; NULL: none */
    uint32_t named_radix;
    xyl_group_t group; /* the team's ranks of this node */
    uint32_t root;     /* rank in the group */
    int is_in_place;
    int roots_in_turn;   /* other lanes have the other ranks as their roots */
    int is_for_one;      /* only one rank of the team gets the result */
    int is_beside_trees; /* the other level passes segments on singly */
    int is_at_root, has_relay; /* see xyl_problem_on_node_t */
} xyl_node_part_t;

/* Adds a stage to a lane whose segments are consecutive. *stage_out NULL: the
 * node shares no memory, or its memory has no room for such segments; alike on
 * all ranks of the node. */
xylem_status_t xyl_node_part_add(xyl_operation_t *operation,
                                 const xyl_stage_spec_t *spec,
                                 const xyl_node_part_t *part,
                                 xyl_stage_t **stage_out);

/* Whole collectives within a node, each one level of several: a stage waits for
 * all of its input, and emits once, at its end. */

/* 1: the memory of a node has room for programs of so many seats, if the node
 * shares memory; alike on all ranks. */
int xyl_node_would_have_room(const xylem_team_t *team, uint32_t seats);
/* 1: this node shares memory, which has room for programs of so many seats
 * whose smallest part has `unit` bytes; alike on all its ranks. */
int xyl_node_has_room(const xylem_team_t *team, uint32_t seats, uint64_t unit);
/* Bytes that a piece may have in the window. */
uint64_t xyl_node_window_bytes(const xylem_team_t *team);
/* Writes a collective's program; fills in the node's part of the problem. */
xylem_status_t xyl_node_level_write(xylem_team_t *team,
                                    const xyl_group_t *seats,
                                    const xyl_chooser_t *chooser,
                                    const xyl_problem_t *problem,
                                    xyl_node_program_t *program);
xylem_status_t
xyl_node_level_add(xyl_operation_t *operation, const xyl_stage_spec_t *spec,
                   const xyl_group_t *seats, xyl_node_program_t *program,
                   const xyl_layouts_t *layouts, xyl_stage_t **stage_out);

extern const xyl_module_t xyl_node_module;
