/* The only entry to the shapes: checks the arguments, turns ranks into places
 * and back, and calls the shape's functions. Wrong arguments are programmer
 * errors here; the layer above checks a user's wishes. Pure functions; any
 * thread. */
#include "trees/tree.h"

#include <assert.h>
#include <stddef.h>

#include "trees/shapes.h"

static const xyl_tree_t *const all[] = {
#define TREE_ADDRESS(name) &xyl_tree_##name,
    XYL_TREE_LIST(TREE_ADDRESS)
#undef TREE_ADDRESS
};

#define TREE_NUMBER(name) TREE_##name,
enum { XYL_TREE_LIST(TREE_NUMBER) TREE_COUNT };
#undef TREE_NUMBER

const xyl_tree_t *const *xyl_trees(size_t *count_out)
{
    *count_out = TREE_COUNT;
    return all;
}

static xyl_tree_args_t args_of(xyl_shape_t shape, unsigned half, uint32_t ranks,
                               uint32_t root)
{
    const xyl_radix_t *radix = &shape.tree->radix;
    xyl_tree_args_t args = {ranks, radix->preset, root, half};

    assert(shape.tree->parent != NULL);
    assert(root < ranks);
    assert(half < shape.tree->halves);
    if (radix->most > 0) {
        assert(shape.radix >= radix->least);
        assert(shape.radix <= radix->most);
        args.radix = shape.radix;
    }
    return args;
}

/* The rank of place 0. */
static uint32_t shift_of(xyl_shape_t shape, uint32_t root)
{
    return shape.tree->is_by_rank ? 0 : root;
}

static uint32_t place_of_rank(uint32_t rank, uint32_t shift, uint32_t ranks)
{
    return rank >= shift ? rank - shift : rank + (ranks - shift);
}

uint32_t xyl_tree_parent(xyl_shape_t shape, unsigned half, uint32_t ranks,
                         uint32_t rank, uint32_t root)
{
    xyl_tree_args_t args = args_of(shape, half, ranks, root);
    uint32_t shift = shift_of(shape, root);
    uint32_t place;

    assert(rank < ranks);
    if (rank == root)
        return XYL_TREE_NONE;
    place = shape.tree->parent(&args, place_of_rank(rank, shift, ranks));
    assert(place < ranks);
    return place < ranks - shift ? place + shift : place - (ranks - shift);
}

uint32_t xyl_tree_children(xyl_shape_t shape, unsigned half, uint32_t ranks,
                           uint32_t rank, uint32_t root, uint32_t *children,
                           uint32_t capacity)
{
    xyl_tree_args_t args = args_of(shape, half, ranks, root);
    uint32_t shift = shift_of(shape, root);
    xyl_children_t out = {children, capacity, 0, ranks, shift};

    assert(rank < ranks);
    shape.tree->children(&args, place_of_rank(rank, shift, ranks), &out);
    return out.count;
}

int xyl_tree_is_ordered(xyl_shape_t shape, uint32_t ranks, uint32_t root)
{
    xyl_tree_args_t args = args_of(shape, 0, ranks, root);

    if (shape.tree->is_by_rank || ranks <= 2)
        return 1;
    if (shape.tree->has_ranges == NULL || !shape.tree->has_ranges(&args))
        return 0;
    /* Rank 0 is place ranks - root. No subtree reaches across the wrap from the
     * last rank to rank 0 if rank 0 is a child of the root, as a subtree begins
     * there. */
    return root == 0 || shape.tree->parent(&args, ranks - root) == 0;
}
