/* The tree stages over the net: segments travel down a tree (broadcast) or up
 * (reduce).
 * Luo, PhD thesis, University of Tennessee, 2020, algorithms 3 to 5. */
#pragma once

#include "collectives/stages/collective.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/team_map.h"

/* A tree of a group. In a group of only some of the team's ranks a topology
 * tree is k-nomial, because each place has one of these ranks. If there is a
 * map, the tree has the shape at each level of the map. */
typedef struct xyl_tree_spec {
    xyl_group_t group;
    xyl_shape_t shape;
    uint32_t root;                 /* in the group */
    unsigned half;                 /* 1: the second of a double tree */
    const xyl_topology_map_t *map; /* of the group; NULL: none */
} xyl_tree_spec_t;

/* The plan's tree of the whole team. */
xyl_tree_spec_t xyl_edges_tree_of(const xyl_operation_t *operation,
                                  uint32_t root, unsigned half);

/* A stage gets its group from the tree, all else from its spec. */

/* Adds a stage that carries the message from the root to all ranks. Its input
 * comes by segment_ready at the root, elsewhere from the parent. It writes the
 * message. */
xylem_status_t xyl_down_stage_add(xyl_operation_t *operation,
                                  const xyl_stage_spec_t *spec,
                                  const xyl_tree_spec_t *tree);

/* Adds a stage that combines all ranks' contributions by the operation's
 * combiner. It reads this rank's contribution, which comes by segment_ready.
 * Only the root emits, and writes the result, possibly to the same buffer. */
xylem_status_t xyl_up_stage_add(xyl_operation_t *operation,
                                const xyl_stage_spec_t *spec,
                                const xyl_tree_spec_t *tree);

/* The edges of this rank in a tree, for both stages. */
typedef struct xyl_tree_edges {
    int has_parent;
    uint32_t child_count;
    uint32_t children_below; /* of lower rank in the group */
    xyl_edge_t parent;
    xyl_edge_t *children;
} xyl_tree_edges_t;

/* The order of a stage's children. */
typedef enum xyl_child_order {
    XYL_CHILDREN_AS_SERVED, /* the largest subtree first: its way is long */
    XYL_CHILDREN_REVERSED,  /* the smallest first: it is done early */
    XYL_CHILDREN_BY_RANK
} xyl_child_order_t;

/* Windows are M wide; `parent_limit` and `child_limit` say how many messages
 * may be in flight on an edge (N where this rank sends, M where it receives).
 */
typedef struct xyl_tree_edges_params {
    xyl_tree_spec_t tree;
    uint32_t parent_limit;
    uint32_t child_limit;
    xyl_event_fn parent_handle;
    xyl_event_fn child_handle;
    xyl_child_order_t child_order;
} xyl_tree_edges_params_t;

xylem_status_t xyl_edges_init(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                              const xyl_tree_edges_params_t *params);
void xyl_edges_reset(xyl_tree_edges_t *edges);
void xyl_edges_cancel(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                      int cancel_parent, int cancel_children);

/* Sets up a single edge, whose ranks may change. If it returns
 * XYLEM_ERR_NO_MEMORY, the caller stores a text. */
xylem_status_t xyl_edges_init_one(xyl_edge_t *edge, xyl_stage_t *stage,
                                  uint32_t window, uint32_t limit,
                                  xyl_event_fn handle);

static inline xyl_slot_t *xyl_slot_of(xyl_event_t *event)
{
    return (xyl_slot_t *)(void *)event;
}
