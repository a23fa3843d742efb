/* Trees of ranks: the parent and the children of a rank. Pure functions of
 * (shape, ranks, rank, root): no state, no allocation, no communication. Each
 * rank computes its own neighbours, and all ranks agree.
 *
 * Shapes work on virtual ranks, the ranks rotated so that the root is 0;
 * in-order trees work on the ranks themselves, so that each subtree is a range.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trees/list.h"

#define XYL_TREE_NONE UINT32_MAX

enum {
    XYL_TREE_LEVELS_MAX = 8, /* switches, or node, socket, NUMA, L3, core */
    XYL_TREE_RADIX_MAX = 64
};

/* The values of K in "name:K". */
typedef struct xyl_radix {
    uint32_t least;
    uint32_t preset; /* without ":K" */
    uint32_t most;   /* 0: the tree takes no K */
} xyl_radix_t;

struct xyl_tree_args;
struct xyl_children;

/* A kind of tree. Each, xyl_tree_NAME, is listed in trees/meson.build. The
 * functions work on places, see shapes.h. */
typedef struct xyl_tree {
    const char *name, *help;
    xyl_radix_t radix;
    unsigned halves;
    int is_by_rank; /* a place is a rank, wherever the root is */
    /* 1: each subtree is a range of places that begins with the subtree's top.
     * NULL: never. */
    int (*has_ranges)(const struct xyl_tree_args *args);
    /* NULL: the topology tree, which has a shape for each level of the
     * machine. */
    uint32_t (*parent)(const struct xyl_tree_args *args, uint32_t place);
    void (*children)(const struct xyl_tree_args *args, uint32_t place,
                     struct xyl_children *out);
} xyl_tree_t;

#define XYL_TREE_DECLARE(name) extern const xyl_tree_t xyl_tree_##name;
XYL_TREE_LIST(XYL_TREE_DECLARE)
#undef XYL_TREE_DECLARE

/* All kinds of trees; *count_out is their number. */
const xyl_tree_t *const *xyl_trees(size_t *count_out);

/* One tree with its parameter. */
typedef struct xyl_shape {
    const xyl_tree_t *tree; /* NULL: none; not xyl_tree_topology */
    uint32_t radix; /* within tree->radix; ignored if the tree takes none */
} xyl_shape_t;

/* The parent of `rank` (XYL_TREE_NONE for the root) in a tree of `ranks` ranks
 * below `root`. `half` is below tree->halves: 0, or 1 in a double tree. */
uint32_t xyl_tree_parent(xyl_shape_t shape, unsigned half, uint32_t ranks,
                         uint32_t rank, uint32_t root);

/* The children of `rank`, in the order of service: deepest subtrees first,
 * except a subtree that the last rank cuts short (k-nomial) or that extra
 * leaves deepen (bine). Writes up to `capacity` children, returns the number of
 * all; `children` may be NULL if `capacity` is 0. */
uint32_t xyl_tree_children(xyl_shape_t shape, unsigned half, uint32_t ranks,
                           uint32_t rank, uint32_t root, uint32_t *children,
                           uint32_t capacity);

/* 1: for this root each subtree is a range of ranks, as reductions in rank
 * order need: a rank then combines its children and itself, sorted by rank. In
 * an in-order tree, and in a tree whose root is not rank 0, the rank may stand
 * between its children. The in-order tree and the flat one are ordered for all
 * roots; chains and the k-nomial tree for root 0 and for those roots where rank
 * 0 is a child of the root; the k-ary tree only if it is a chain or a star;
 * this function counts the double and the bine tree as ordered only up to two
 * ranks. */
int xyl_tree_is_ordered(xyl_shape_t shape, uint32_t ranks, uint32_t root);
