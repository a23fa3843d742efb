/* The one way into the shapes: checks the arguments, turns ranks into places
 * and back, and calls the shape's functions. Wrong arguments are programmer
 * errors here; what a user may ask for is checked above this layer. Pure
 * functions; any thread. */
#include "trees/tree.h"

#include <assert.h>
#include <stddef.h>

#include "trees/shapes.h"

typedef struct shape_ops {
    uint32_t (*parent)(const xyl_layout_t *layout, uint32_t place);
    void (*children)(const xyl_layout_t *layout, uint32_t place,
                     xyl_children_t *out);
    uint32_t (*depth)(const xyl_layout_t *layout);
    uint32_t radix_min; /* 0: the shape has no radix */
    unsigned halves;
} shape_ops_t;

/* AUTO and TOPOLOGY stay empty: they are no shapes. */
static const shape_ops_t shapes[XYLEM_TREE_COUNT] = {
    [XYLEM_TREE_FLAT] = {xyl_chains_parent, xyl_chains_children,
                         xyl_chains_depth, 0, 1},
    [XYLEM_TREE_CHAIN] = {xyl_chains_parent, xyl_chains_children,
                          xyl_chains_depth, 0, 1},
    [XYLEM_TREE_KCHAIN] = {xyl_chains_parent, xyl_chains_children,
                           xyl_chains_depth, 1, 1},
    [XYLEM_TREE_KARY] = {xyl_kary_parent, xyl_kary_children, xyl_kary_depth, 1,
                         1},
    [XYLEM_TREE_KNOMIAL] = {xyl_knomial_parent, xyl_knomial_children,
                            xyl_knomial_depth, 2, 1},
    [XYLEM_TREE_INORDER] = {xyl_inorder_parent, xyl_inorder_children,
                            xyl_inorder_depth, 0, 1},
    [XYLEM_TREE_DOUBLE] = {xyl_double_parent, xyl_double_children,
                           xyl_double_depth, 0, 2},
    [XYLEM_TREE_BINE] = {xyl_bine_parent, xyl_bine_children, xyl_bine_depth, 0,
                         1},
};

static const shape_ops_t *ops_of(xyl_shape_t shape)
{
    assert((unsigned)shape.tree < XYLEM_TREE_COUNT);
    assert(shapes[shape.tree].parent != NULL);
    return &shapes[shape.tree];
}

static xyl_layout_t layout_of(xyl_shape_t shape, unsigned half, uint32_t ranks,
                              uint32_t root)
{
    const shape_ops_t *ops = ops_of(shape);
    xyl_layout_t layout = {ranks, 0, root, half};

    assert(root < ranks);
    assert(half < ops->halves);
    if (ops->radix_min > 0) {
        assert(shape.radix >= ops->radix_min);
        assert(shape.radix <= XYL_TREE_RADIX_MAX);
        layout.radix = shape.radix;
    } else if (shape.tree == XYLEM_TREE_FLAT) {
        layout.radix = ranks; /* more chains than places: one place each */
    } else if (shape.tree == XYLEM_TREE_CHAIN) {
        layout.radix = 1;
    }
    return layout;
}

/* The rank of place 0. */
static uint32_t shift_of(xyl_shape_t shape, uint32_t root)
{
    return shape.tree == XYLEM_TREE_INORDER ? 0 : root;
}

static uint32_t place_of(uint32_t rank, uint32_t shift, uint32_t ranks)
{
    return rank >= shift ? rank - shift : rank + (ranks - shift);
}

static uint32_t rank_of(uint32_t place, uint32_t shift, uint32_t ranks)
{
    return place < ranks - shift ? place + shift : place - (ranks - shift);
}

uint32_t xyl_tree_parent(xyl_shape_t shape, unsigned half, uint32_t ranks,
                         uint32_t rank, uint32_t root)
{
    xyl_layout_t layout = layout_of(shape, half, ranks, root);
    uint32_t shift = shift_of(shape, root);
    uint32_t place;

    assert(rank < ranks);
    if (rank == root)
        return XYL_TREE_NONE;
    place = ops_of(shape)->parent(&layout, place_of(rank, shift, ranks));
    assert(place < ranks);
    return rank_of(place, shift, ranks);
}

uint32_t xyl_tree_children(xyl_shape_t shape, unsigned half, uint32_t ranks,
                           uint32_t rank, uint32_t root, uint32_t *children,
                           uint32_t capacity)
{
    xyl_layout_t layout = layout_of(shape, half, ranks, root);
    uint32_t shift = shift_of(shape, root);
    xyl_children_t out = {children, capacity, 0, ranks, shift};

    assert(rank < ranks);
    ops_of(shape)->children(&layout, place_of(rank, shift, ranks), &out);
    return out.count;
}

uint32_t xyl_tree_depth_max(xyl_shape_t shape, uint32_t ranks, uint32_t root)
{
    xyl_layout_t layout = layout_of(shape, 0, ranks, root);

    return ops_of(shape)->depth(&layout);
}

/* Whether each subtree is a range of places that begins with its top. */
static int is_made_of_ranges(xyl_shape_t shape, uint32_t ranks)
{
    switch (shape.tree) {
    case XYLEM_TREE_FLAT:
    case XYLEM_TREE_CHAIN:
    case XYLEM_TREE_KCHAIN:
    case XYLEM_TREE_KNOMIAL:
        return 1;
    case XYLEM_TREE_KARY: /* in heap order only as a chain or as a star */
        return shape.radix == 1 || shape.radix >= ranks - 1;
    case XYLEM_TREE_AUTO:
    case XYLEM_TREE_INORDER:
    case XYLEM_TREE_DOUBLE:
    case XYLEM_TREE_BINE:
    case XYLEM_TREE_TOPOLOGY:
    case XYLEM_TREE_COUNT:
    default:
        return 0;
    }
}

int xyl_tree_is_ordered(xyl_shape_t shape, uint32_t ranks, uint32_t root)
{
    xyl_layout_t layout = layout_of(shape, 0, ranks, root);

    if (shape.tree == XYLEM_TREE_INORDER || ranks <= 2)
        return 1;
    if (!is_made_of_ranges(shape, ranks))
        return 0;
    /* Rank 0 is place ranks - root. No subtree reaches across the wrap from
     * the last rank to rank 0 when one of the root's subtrees begins there. */
    return root == 0 || ops_of(shape)->parent(&layout, ranks - root) == 0;
}
