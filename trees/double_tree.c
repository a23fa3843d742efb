/* Two binary trees that share the load: P. Sanders, J. Speck, J. L. Traeff,
 * "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
 * Parallel Computing 35 (2009).
 *
 * Both halves have the same form, an in-order tree of the positions
 * 1 ... ranks - 1 with the root above its top. The height of a position is the
 * number of its trailing zero bits:
 *
 *   root --------- 8                     ranks 12
 *            4           10
 *         2     6      9    11
 *        1 3   5 7
 *
 * So odd positions are leaves and even ones are not. The first half puts place
 * v at position v. The second half gives each place a position of the other
 * parity: the mirror image when ranks - 1 is even, a cyclic shift by one when
 * it is odd; only the last place then keeps its parity, and it is a leaf in
 * both. No place but the root is an inner node twice. Pure functions; any
 * thread. */

#include "trees/shapes.h"

static uint32_t double_position(const xyl_tree_args_t *args, uint32_t place)
{
    uint32_t last = args->ranks - 1;

    if (args->half == 0)
        return place;
    if (last % 2 == 0)
        return args->ranks - place;
    return place < last ? place + 1 : 1;
}

static uint32_t double_place(const xyl_tree_args_t *args, uint32_t position)
{
    uint32_t last = args->ranks - 1;

    if (args->half == 0)
        return position;
    if (last % 2 == 0)
        return args->ranks - position;
    return position > 1 ? position - 1 : last;
}

static uint32_t double_parent(const xyl_tree_args_t *args, uint32_t place)
{
    uint32_t position = double_position(args, place);
    uint32_t bit = position & (0u - position);
    uint32_t below = position - bit;
    uint64_t above = (uint64_t)position + bit;

    /* The neighbours position - bit and position + bit are both ancestors, or
     * the root, or past the end. The parent is the neighbour whose height is
     * one more than this position's, unless it is past the end. Then all
     * ancestors between it and the other neighbour are past the end, too. */
    if ((below & (bit << 1)) == 0 && above < args->ranks)
        return double_place(args, (uint32_t)above);
    return below == 0 ? 0 : double_place(args, below);
}

static void double_children(const xyl_tree_args_t *args, uint32_t place,
                            xyl_children_t *out)
{
    uint32_t position, step;

    if (args->ranks == 1)
        return;
    if (place == 0) {
        position = 1u << xyl_log2_floor(args->ranks - 1);
        xyl_children_add(out, double_place(args, position));
        return;
    }
    position = double_position(args, place);
    step = (position & (0u - position)) / 2;
    if (step == 0)
        return;
    xyl_children_add(out, double_place(args, position - step));
    /* The highest position to the right that exists, if any. */
    while (step > 0 && step >= args->ranks - position)
        step /= 2;
    if (step > 0)
        xyl_children_add(out, double_place(args, position + step));
}

const xyl_tree_t xyl_tree_double = {
    .name = "double",
    .help = "two binary trees, half each",
    .halves = 2,
    .parent = double_parent,
    .children = double_children,
};
