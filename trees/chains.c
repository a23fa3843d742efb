/* Chains below the root: places 1 ... ranks - 1 are cut into contiguous
 * chains, as equal as possible, the longer ones first; the root serves the
 * first place of each.
 *
 *   ranks 8, radix 3:   0 -+- 1 - 2 - 3
 *                          +- 4 - 5
 *                          +- 6 - 7
 *
 * The pipeline is one chain; the flat tree is ranks - 1 chains of one place.
 * Every subtree is a range of places. Pure functions; any thread. */
#include <assert.h>

#include "trees/shapes.h"

/* How places 1 ... ranks - 1 are cut. */
typedef struct cut {
    uint32_t chains;
    uint32_t length; /* of the shorter chains */
    uint32_t longer; /* how many chains have one place more */
} cut_t;

static cut_t cut_of(const xyl_tree_args_t *args)
{
    uint32_t others = args->ranks - 1;
    cut_t cut = {0, 0, 0};

    if (others == 0)
        return cut;
    cut.chains = args->radix < others ? args->radix : others;
    cut.length = others / cut.chains;
    cut.longer = others % cut.chains;
    return cut;
}

static int is_first_of_chain(cut_t cut, uint32_t place)
{
    uint32_t longer_end = cut.longer * (cut.length + 1);

    assert(place > 0 && cut.length > 0); /* a chain has a place at least */
    if (place - 1 < longer_end)
        return (place - 1) % (cut.length + 1) == 0;
    return (place - 1 - longer_end) % cut.length == 0;
}

static uint32_t chains_parent(const xyl_tree_args_t *args, uint32_t place)
{
    return is_first_of_chain(cut_of(args), place) ? 0 : place - 1;
}

static void chains_children(const xyl_tree_args_t *args, uint32_t place,
                            xyl_children_t *out)
{
    cut_t cut = cut_of(args);
    uint32_t chain, first = 1;

    if (place != 0) {
        if (place + 1 < args->ranks && !is_first_of_chain(cut, place + 1))
            xyl_children_add(out, place + 1);
        return;
    }
    for (chain = 0; chain < cut.chains; chain++) {
        xyl_children_add(out, first);
        first += cut.length + (chain < cut.longer);
    }
    assert(first == args->ranks);
}

#define CHAINS                                                                 \
    .halves = 1, .has_ranges = xyl_always_has_ranges, .parent = chains_parent, \
    .children = chains_children

const xyl_tree_t xyl_tree_flat = {
    .name = "flat",
    .help = "the root serves everybody",
    .radix = {0, UINT32_MAX, 0},
    CHAINS,
};

const xyl_tree_t xyl_tree_chain = {
    .name = "chain",
    .help = "one pipeline through all ranks",
    .radix = {0, 1, 0},
    CHAINS,
};

const xyl_tree_t xyl_tree_kchain = {
    .name = "kchain",
    .help = "K chains below the root",
    .radix = {1, 4, XYL_TREE_RADIX_MAX},
    CHAINS,
};
