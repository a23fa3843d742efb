/* The tree stages over the net: segments travel down a tree (broadcast) or up
 * (reduce), each edge with a window of its own, no child waiting for its
 * siblings and no segment for another.
 * Luo, PhD thesis, University of Tennessee, 2020, algorithms 3 to 5. */
#ifndef XYL_COLLECTIVES_STAGES_TREE_STAGE_H
#define XYL_COLLECTIVES_STAGES_TREE_STAGE_H

#include "collectives/stages/collective.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/team_map.h"

/* Which tree of a group. Among some ranks of a team, TOPOLOGY is KNOMIAL: they
 * are one of each place. With a map the shape is that of each of its levels. */
typedef struct xyl_tree_spec {
    xyl_group_t group;
    xyl_shape_t shape;
    uint32_t root;                 /* in the group */
    unsigned half;                 /* 1: the second of a double tree */
    const xyl_topology_map_t *map; /* of the group; NULL: none */
} xyl_tree_spec_t;

/* The plan's tree of the whole team. */
xyl_tree_spec_t xyl_tree_of_team(const xyl_operation_t *operation,
                                 uint32_t root, unsigned half);

/* Stages are added as specs say, but for their group, which is the tree's. */

/* Adds a stage that carries the message from the root to everybody. At the
 * root its input is segment_ready; elsewhere what the parent sends. The message
 * is what it writes. */
xylem_status_t xyl_down_stage_add(xyl_operation_t *operation,
                                  const xyl_stage_spec_t *spec,
                                  const xyl_tree_spec_t *tree);

/* Adds a stage that combines what everybody has with the operation's combiner.
 * Every rank's input is segment_ready; only the root emits. It reads this
 * rank's contribution, and writes the result at the root (which may be the same
 * buffer); elsewhere nothing. */
xylem_status_t xyl_up_stage_add(xyl_operation_t *operation,
                                const xyl_stage_spec_t *spec,
                                const xyl_tree_spec_t *tree);

/* The edges of this rank in a tree, for both stages. */
typedef struct xyl_tree_edges {
    int has_parent;
    uint32_t child_count;
    uint32_t children_below; /* whose rank in the group is below this one's */
    xyl_edge_t parent;
    xyl_edge_t *children;
} xyl_tree_edges_t;

/* How a stage wants its children. */
typedef enum xyl_child_order {
    XYL_CHILDREN_AS_SERVED, /* the largest subtree first: whose way is long */
    XYL_CHILDREN_REVERSED,  /* the smallest first: who is done early */
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

xylem_status_t xyl_tree_edges_init(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                                   const xyl_tree_edges_params_t *params);
void xyl_tree_edges_reset(xyl_tree_edges_t *edges);
void xyl_tree_edges_cancel(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                           int cancel_parent, int cancel_children);

/* A single edge, whose ranks may change; XYLEM_ERR_NO_MEMORY, without a text.
 */
xylem_status_t xyl_edge_init(xyl_edge_t *edge, xyl_stage_t *stage,
                             uint32_t window, uint32_t limit,
                             xyl_event_fn handle);

static inline xyl_slot_t *xyl_slot_of(xyl_event_t *event)
{
    return (xyl_slot_t *)(void *)event;
}

#endif
