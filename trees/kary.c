/* The k-ary tree in heap order: the children of place v are the `radix` places
 * from radix * v + 1 on. Levels are filled from the left, so the first child
 * of a place has the deepest subtree. Pure functions; any thread. */
#include "trees/shapes.h"

static uint32_t kary_parent(const xyl_tree_args_t *args, uint32_t place)
{
    return (place - 1) / args->radix;
}

static void kary_children(const xyl_tree_args_t *args, uint32_t place,
                          xyl_children_t *out)
{
    uint64_t child = (uint64_t)place * args->radix + 1;
    uint64_t end = child + args->radix;

    for (; child < end && child < args->ranks; child++)
        xyl_children_add(out, (uint32_t)child);
}

/* In heap order only a chain and a star have ranges. */
static int kary_has_ranges(const xyl_tree_args_t *args)
{
    return args->radix == 1 || args->radix >= args->ranks - 1;
}

#define KARY                                                                   \
    .halves = 1, .has_ranges = kary_has_ranges, .parent = kary_parent,         \
    .children = kary_children

const xyl_tree_t xyl_tree_binary = {
    .name = "binary",
    .help = "two children each",
    .radix = {0, 2, 0},
    KARY,
};

const xyl_tree_t xyl_tree_kary = {
    .name = "kary",
    .help = "K children each",
    .radix = {1, 2, XYL_TREE_RADIX_MAX},
    KARY,
};
