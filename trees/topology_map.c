/* Builds the map of a team's ranks: sorts the ranks by place and finds where
 * the groups of each level begin. Once per team; any thread. */
#include <assert.h>
#include <stdlib.h>

#include "trees/topology_tree.h"

/* The keys of the sort; cores are the innermost level. */
typedef struct places {
    uint32_t ranks;
    uint32_t levels;
    const uint32_t *ids; /* [levels + 1][ranks] */
} places_t;

/* Ranks of equal places stay in order. */
static int places_compare(const void *one, const void *other, void *arg)
{
    const places_t *places = arg;
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    const uint32_t *ids = places->ids;
    uint32_t level;

    for (level = 0; level <= places->levels; level++, ids += places->ranks)
        if (ids[a] != ids[b])
            return ids[a] < ids[b] ? -1 : 1;
    return a < b ? -1 : a != b;
}

/* A position continues its group if it continues the group above and the id
 * stays the same. */
static void find_groups(const places_t *places, const uint32_t *order,
                        uint32_t *group)
{
    const uint32_t ranks = places->ranks;
    const uint32_t *ids = places->ids, *above = NULL;
    uint32_t level, i;
    int goes_on;

    for (level = 0; level < places->levels; level++) {
        group[0] = 0;
        for (i = 1; i < ranks; i++) {
            goes_on = ids[order[i]] == ids[order[i - 1]] &&
                      (above == NULL || above[i] == above[i - 1]);
            group[i] = goes_on ? group[i - 1] : i;
        }
        above = group;
        group += ranks;
        ids += ranks;
    }
}

void xyl_topology_map_build(uint32_t ranks, uint32_t levels, uint32_t *memory,
                            xyl_topology_map_t *map_out)
{
    places_t places = {ranks, levels, memory};
    uint32_t *order = memory + (size_t)ranks * (levels + 1);
    uint32_t *position = order + ranks, *group = position + ranks, i;

    assert(ranks > 0);
    assert(levels >= 1 && levels <= XYL_TREE_LEVELS_MAX);
    for (i = 0; i < ranks; i++)
        order[i] = i;
    qsort_r(order, ranks, sizeof *order, places_compare, &places);
    for (i = 0; i < ranks; i++)
        position[order[i]] = i;
    find_groups(&places, order, group);
    *map_out = (xyl_topology_map_t){.ranks = ranks,
                                    .levels = levels,
                                    .order = order,
                                    .position = position,
                                    .group = group};
}
