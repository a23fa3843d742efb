/* Trees of ranks: who is my parent, who are my children. Pure functions of
 * (shape, ranks, rank, root): no state, no allocation, no communication, so
 * that every rank computes its own neighbours and all agree.
 *
 * Shapes work on virtual ranks, the ranks rotated so that the root is 0;
 * in-order trees work on the ranks themselves, so that each subtree is a range.
 */
#ifndef XYL_TREES_TREE_H
#define XYL_TREES_TREE_H

#include <stdint.h>

#include "include/xylem.h"

#define XYL_TREE_NONE UINT32_MAX

enum {
    XYL_TREE_LEVELS_MAX = 8, /* switches, or node, socket, NUMA, L3, core */
    XYL_TREE_RADIX_MAX = 64
};

/* One shape with its parameter. */
typedef struct xyl_shape {
    xylem_tree_t tree; /* AUTO and TOPOLOGY are no shapes of one group */
    uint32_t radix;    /* KCHAIN, KARY: 1 ... XYL_TREE_RADIX_MAX; KNOMIAL: 2
                        * ... XYL_TREE_RADIX_MAX; ignored by the others */
} xyl_shape_t;

/* The parent of `rank` (XYL_TREE_NONE for the root) in a tree of `ranks` ranks
 * below `root`. `half` chooses the tree of XYLEM_TREE_DOUBLE (0 or 1) and is 0
 * for all others. */
uint32_t xyl_tree_parent(xyl_shape_t shape, unsigned half, uint32_t ranks,
                         uint32_t rank, uint32_t root);

/* The children of `rank`, in the order in which they are served: deepest
 * subtrees first, but for a subtree that the last rank cuts short (KNOMIAL) or
 * that extra leaves deepen (BINE). Writes up to `capacity` of them, returns how
 * many there are; `children` may be NULL when `capacity` is 0. */
uint32_t xyl_tree_children(xyl_shape_t shape, unsigned half, uint32_t ranks,
                           uint32_t rank, uint32_t root, uint32_t *children,
                           uint32_t capacity);

/* The depth: edges from the root to the deepest rank, in either half. */
uint32_t xyl_tree_depth_max(xyl_shape_t shape, uint32_t ranks, uint32_t root);

/* 1 when every subtree is a range of ranks for this root, as reductions in
 * rank order need: a rank then combines its children and itself, sorted by
 * rank. It may stand between its children (INORDER; any root but rank 0).
 * INORDER and FLAT are ordered for all roots; CHAIN, KCHAIN and KNOMIAL for
 * root 0 and for those roots where rank 0 is a child of the root; KARY only
 * where it is a chain or a star; DOUBLE and BINE are not called ordered beyond
 * two ranks. */
int xyl_tree_is_ordered(xyl_shape_t shape, uint32_t ranks, uint32_t root);

#endif
