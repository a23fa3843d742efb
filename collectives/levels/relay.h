/* A broadcast between nodes whose segments lie in the memory of the nodes. On
 * each node one seat leads a lane: what comes to it from the net goes into the
 * node's window, and is sent on from there, and the window stays until all
 * children have it. So a leader copies no more than any other seat, and its
 * call is over for its user when it has the message; the rest goes on detached.
 *
 *     parent ---> relay ---> children         of the leader
 *                  |  ^
 *       publishes  v  |  emits
 *                 window --> node             of every seat
 *
 * Nobody has to wait for a leader that is late or held up: a few more seats of
 * a node stand by. Whoever has missed segments for a while asks the leader of
 * the parent's node, and those who stand by there, and takes the first offer:
 *
 *     leader, or who stands by   -- "from i on is missing" -->  all of these
 *     who has that               -- "I can send it" ---------->
 *                                <-- "do", or "no more" ------
 *                                -- segments ----------------->  to the window
 *
 * Nothing that was begun is taken back: a leader that comes later gets all
 * segments once more, into the same places of the window, which stays until
 * then; and it sends all of them. So whoever is late leaves no message behind
 * that nobody receives.
 */
#ifndef XYL_COLLECTIVES_LEVELS_RELAY_H
#define XYL_COLLECTIVES_LEVELS_RELAY_H

#include "collectives/data/algorithm.h"
#include "collectives/levels/team_levels.h"
#include "collectives/stages/tree_stage.h"

enum { XYL_RELAY_SEATS = 3 /* of a node: the leader, and who stands by */ };

typedef struct xyl_relay_spec {
    xyl_tree_spec_t tree; /* between leaders */
    const xyl_levels_t *levels;
    uint32_t lane;     /* of the operation */
    uint32_t place;    /* 0: it leads; else how many come before it */
    xyl_stage_t *node; /* the node's stage, which runs a program below */
    uint64_t wait_ns;  /* for segments, per place; 0: however long it takes */
} xyl_relay_spec_t;

/* Adds the stage behind the node's, for lanes that carry something. It takes
 * two numbers for its messages. The message is what it writes. */
xylem_status_t xyl_relay_stage_add(xyl_operation_t *operation,
                                   const xyl_stage_spec_t *stage,
                                   const xyl_relay_spec_t *spec);

/* Broadcasts within the node: of the root's node, and of others, where the net
 * writes into the window; each for seats that have a relay, and for those that
 * have none. Not for selection. */
const xyl_algorithm_t *xyl_relay_program(int is_at_root, int has_relay);

#endif
