/* The trees of a team: what it remembers of its rank's place in them. Any
 * thread. */
#ifndef XYL_COLLECTIVES_STAGES_TEAM_TREES_H
#define XYL_COLLECTIVES_STAGES_TEAM_TREES_H

#include "collectives/data/modules.h"
#include "runtime/core/team.h"
#include "trees/topology_tree.h"
#include "trees/tree.h"

/* The neighbours of this rank in one tree. */
typedef struct xyl_tree_key {
    xyl_shape_t shape;
    unsigned half;
    uint32_t root;
} xyl_tree_key_t;

typedef struct xyl_neighbours {
    xyl_tree_key_t key;
    uint32_t parent;
    uint32_t child_count;
    uint32_t capacity;
    uint32_t *children; /* NULL: the entry is unused */
} xyl_neighbours_t;

/* Copies this rank's neighbours; children_out is allocated from `arena`. */
xylem_status_t xyl_team_neighbours(xylem_team_t *team,
                                   const xyl_tree_key_t *key,
                                   xyl_arena_t *arena,
                                   xyl_neighbours_t *neighbours_out);

/* Sorts `n` ranks by place: rank i of the map is rank world_ranks[i] of the
 * job (NULL: i). The map lies in *memory_out, which the caller frees. */
xylem_status_t xyl_team_map_create(const xyl_peer_t *peers,
                                   const uint32_t *world_ranks, uint32_t n,
                                   uint32_t **memory_out,
                                   xyl_topology_map_t *map_out);

/* The map that topology trees of the team are made from, unless there is one
 * already: for teams that share one, which is borrowed. */
void xyl_team_map_borrow(xylem_team_t *team, const xyl_topology_map_t *map);

extern const xyl_module_t xyl_team_trees_module;

#endif
