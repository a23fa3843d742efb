/* The nodes of a team, for collectives of several levels. Nodes are numbered in
 * the order of their first ranks, the ranks of a node (its seats) in ascending
 * order. */
#pragma once

#include "collectives/data/modules.h"
#include "runtime/core/team.h"
#include "trees/topology_tree.h"

typedef struct xyl_levels {
    uint32_t ranks;
    uint32_t nodes;
    uint32_t node;    /* this rank's */
    uint32_t seat;    /* this rank's, on its node */
    uint32_t largest; /* seats of the largest node */
    uint32_t *starts; /* [nodes + 1] in `order` */
    uint32_t *helped; /* bits: lanes that needed help; progressing thread */
    uint32_t *order;  /* [ranks] node after node; NULL: the order of ranks */
    /* The nodes' switches; map.ranks is 0 if trees cannot gain by switches. */
    xyl_topology_map_t map;
    uint32_t *map_memory;
} xyl_levels_t;

/* Returns the levels of a team, which the first call makes; they belong to the
 * team. NULL: no memory. Any thread calls this function. */
const xyl_levels_t *xyl_levels_of_team(xylem_team_t *team);
extern const xyl_module_t xyl_team_levels_module;

static inline uint32_t xyl_levels_seats(const xyl_levels_t *levels,
                                        uint32_t node)
{
    return levels->starts[node + 1] - levels->starts[node];
}

/* The switches, for trees over the nodes; NULL: none. */
static inline const xyl_topology_map_t *
xyl_levels_switches(const xyl_levels_t *levels)
{
    return levels->map.ranks != 0 ? &levels->map : NULL;
}

/* The team's rank at a seat of a node. */
static inline uint32_t xyl_levels_rank(const xyl_levels_t *levels,
                                       uint32_t node, uint32_t seat)
{
    uint32_t at = levels->starts[node] + seat;

    return levels->order == NULL ? at : levels->order[at];
}

/* The node and the seat of a rank of the team. */
void xyl_levels_find(const xyl_levels_t *levels, uint32_t rank,
                     uint32_t *node_out, uint32_t *seat_out);
