/* A broadcast between nodes whose segments lie in the memory of each node: what
 * comes from the net goes into the node's window and is sent on from there, and
 * the window stays until all children have it. So a leader copies no more than
 * any other seat, and its call is over, for others who are late, without a
 * copy.
 *
 *     parent ---> down ---> children          the leader's stage between nodes
 *                  | ^
 *        supplies  v |  emits
 *                  node --> window --> seats  its node's stage, which holds
 * each piece until it has been sent
 */
#ifndef XYL_COLLECTIVES_LEVELS_STORE_H
#define XYL_COLLECTIVES_LEVELS_STORE_H

#include "collectives/data/algorithm.h"
#include "collectives/stages/tree_stage.h"

/* Broadcasts within the node for leaders: as the others' program, but that
 * pieces in segments stay until they have been sent; and from the net, which
 * writes into the window. Not for selection. */
extern const xyl_algorithm_t xyl_store_bcast;
extern const xyl_algorithm_t xyl_store_bcast_from_net;

/* `node` runs one of these; `down` is the stage between nodes beside it. What
 * is too short for a window goes as without a store. */
xylem_status_t xyl_store_add(xyl_stage_t *node, xyl_stage_t *down);

#endif
