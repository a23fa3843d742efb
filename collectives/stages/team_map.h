/* The map of a team: its ranks by place, for trees that follow the machine. */
#pragma once

#include "collectives/data/modules.h"
#include "runtime/core/team.h"
#include "trees/topology_tree.h"

/* Returns the map of a team, which the first call makes; it belongs to the
 * team. NULL: no memory. Any thread calls this function. */
const xyl_topology_map_t *xyl_map_of_team(xylem_team_t *team);

/* Sorts `n` ranks by place: rank i of the map is rank world_ranks[i] of the
 * job (NULL: i). The map lies in *memory_out, which the caller frees. */
xylem_status_t xyl_map_create(const xyl_peer_t *peers,
                              const uint32_t *world_ranks, uint32_t n,
                              uint32_t **memory_out,
                              xyl_topology_map_t *map_out);

/* Gives a team that has no map yet a map that teams share; borrowed. */
void xyl_map_borrow(xylem_team_t *team, const xyl_topology_map_t *map);

extern const xyl_module_t xyl_team_map_module;
