/* The topology-aware tree: groups of ranks per level of the machine, each
 * group with a tree of its own shape, its leader a member of the group above.
 * Luo, PhD thesis, University of Tennessee, 2020, section 4.2; re-rooting as
 * in its figure 4.5. */
#pragma once

#include "trees/tree.h"

/* Ranks sorted by (ids[0], ids[1], ..., core, rank): a group of any level is a
 * range of `order`. Built once per team; borrowed by every tree. */
typedef struct xyl_topology_map {
    uint32_t ranks;
    uint32_t levels;          /* 1 ... XYL_TREE_LEVELS_MAX; 0 = outermost */
    const uint32_t *order;    /* [ranks] position -> rank */
    const uint32_t *position; /* [ranks] rank -> position */
    /* [levels][ranks]: group[level * ranks + position] is the position at
     * which the group of that level begins. Two ranks are in one group of a
     * level when they agree in all ids down to it. */
    const uint32_t *group;
} xyl_topology_map_t;

/* Words of the memory of a map. */
#define XYL_MAP_WORDS(ranks, levels) ((size_t)(ranks) * (2 * (levels) + 3))

/* Builds a map in XYL_MAP_WORDS of the caller's, which stay the map's. They
 * begin with ids[level * ranks + rank], and core[rank] as one level more. */
void xyl_topology_map_build(uint32_t ranks, uint32_t levels, uint32_t *memory,
                            xyl_topology_map_t *map_out);

/* shapes[level] joins the leaders of the groups of that level within the group
 * above; shapes[levels] joins the ranks of an innermost group. The leader of a
 * group is the root if the root is a member, else the first member in `order`.
 * `half` holds for all double trees among the shapes: a rank that leads no
 * group is an inner rank in at most one of the two trees. */
uint32_t xyl_topology_tree_parent(const xyl_topology_map_t *map,
                                  const xyl_shape_t *shapes, unsigned half,
                                  uint32_t rank, uint32_t root);
uint32_t xyl_topology_tree_children(const xyl_topology_map_t *map,
                                    const xyl_shape_t *shapes, unsigned half,
                                    uint32_t rank, uint32_t root,
                                    uint32_t *children, uint32_t capacity);
