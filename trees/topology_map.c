/* Builds the map of a team's ranks: sorts the ranks by place and finds where
 * the groups of each level begin. A merge sort from the bottom up between the
 * two arrays that this function fills anyway needs no other memory, and is
 * stable: ranks of equal places stay in order. Once per team; any thread. */
#include <assert.h>
#include <string.h>

#include "trees/topology_tree.h"

/* The keys of the sort. */
typedef struct places {
    uint32_t ranks;
    uint32_t levels;
    const uint32_t *ids; /* [levels][ranks] */
    const uint32_t *core;
} places_t;

static int is_placed_before(const places_t *places, uint32_t a, uint32_t b)
{
    const uint32_t *ids = places->ids;
    uint32_t level;

    for (level = 0; level < places->levels; level++, ids += places->ranks)
        if (ids[a] != ids[b])
            return ids[a] < ids[b];
    return places->core[a] < places->core[b];
}

/* Merges the sorted runs [begin, middle) and [middle, end) of `from`. */
static void merge_places(const places_t *places, const uint32_t *from,
                         uint32_t *to, uint32_t begin, uint32_t middle,
                         uint32_t end)
{
    uint32_t left = begin, right = middle, i;

    for (i = begin; i < end; i++) {
        if (left == middle ||
            (right < end && is_placed_before(places, from[right], from[left])))
            to[i] = from[right++];
        else
            to[i] = from[left++];
    }
}

static uint32_t smaller(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

/* Sorts all ranks into `order`; `spare` is overwritten. */
static void sort_places(const places_t *places, uint32_t *order,
                        uint32_t *spare)
{
    const uint32_t ranks = places->ranks;
    uint32_t *from = order, *to = spare, *other;
    uint64_t width, begin;
    uint32_t i;

    for (i = 0; i < ranks; i++)
        order[i] = i;
    for (width = 1; width < ranks; width *= 2) {
        for (begin = 0; begin < ranks; begin += 2 * width)
            merge_places(places, from, to, (uint32_t)begin,
                         smaller(begin + width, ranks),
                         smaller(begin + 2 * width, ranks));
        other = from;
        from = to;
        to = other;
    }
    if (from != order)
        memcpy(order, from, ranks * sizeof(*order));
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

void xyl_topology_map_build(uint32_t ranks, uint32_t levels,
                            const uint32_t *ids, const uint32_t *core,
                            uint32_t *order, uint32_t *position,
                            uint32_t *group, xyl_topology_map_t *map_out)
{
    places_t places = {ranks, levels, ids, core};
    uint32_t i;

    assert(ranks > 0);
    assert(levels >= 1 && levels <= XYL_TREE_LEVELS_MAX);
    sort_places(&places, order, position);
    for (i = 0; i < ranks; i++)
        position[order[i]] = i;
    find_groups(&places, order, group);
    *map_out = (xyl_topology_map_t){
        .ranks = ranks,
        .levels = levels,
        .order = order,
        .position = position,
        .group = group,
    };
}
