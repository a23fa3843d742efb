/* The k-nomial tree: places are numbers in base `radix`. The parent of a place
 * is that place with its lowest nonzero digit cleared, so a place whose lowest
 * nonzero digit has the weight w heads the range of w places that begins with
 * it. The root serves the largest ranges first. Pure functions; any thread. */
#include "trees/shapes.h"

static uint32_t knomial_parent(const xyl_tree_args_t *args, uint32_t place)
{
    uint32_t weight = 1, digits = place;

    while (digits % args->radix == 0) {
        digits /= args->radix;
        weight *= args->radix;
    }
    return place - digits % args->radix * weight;
}

static void knomial_children(const xyl_tree_args_t *args, uint32_t place,
                             xyl_children_t *out)
{
    const uint64_t radix = args->radix;
    uint64_t weight = 1, child, end;

    /* `weight`: the places of the subtree if no rank is missing at the end. */
    while (weight < args->ranks && place % (weight * radix) == 0)
        weight *= radix;
    while (weight > 1) {
        end = place + weight < args->ranks ? place + weight : args->ranks;
        weight /= radix;
        for (child = place + weight; child < end; child += weight)
            xyl_children_add(out, (uint32_t)child);
    }
}

#define KNOMIAL                                                                \
    .halves = 1, .has_ranges = xyl_always_has_ranges,                          \
    .parent = knomial_parent, .children = knomial_children

const xyl_tree_t xyl_tree_binomial = {
    .name = "binomial",
    .help = "knomial:2",
    .radix = {0, 2, 0},
    KNOMIAL,
};

const xyl_tree_t xyl_tree_knomial = {
    .name = "knomial",
    .help = "K-nomial",
    .radix = {2, 4, XYL_TREE_RADIX_MAX},
    KNOMIAL,
};
