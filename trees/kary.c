/* The k-ary tree in heap order: the children of place v are the `radix` places
 * from radix * v + 1 on. Levels are filled from the left, so the first child
 * of a place has the deepest subtree. Pure functions; any thread. */
#include "trees/shapes.h"

uint32_t xyl_radix_depth(uint32_t radix, uint32_t ranks)
{
    uint64_t first = 1; /* on the level below the current one */
    uint32_t depth = 0;

    if (radix == 1)
        return ranks - 1;
    while (first < ranks) {
        first = first * radix + 1;
        depth++;
    }
    return depth;
}

uint32_t xyl_kary_parent(const xyl_layout_t *layout, uint32_t place)
{
    return (place - 1) / layout->radix;
}

void xyl_kary_children(const xyl_layout_t *layout, uint32_t place,
                       xyl_children_t *out)
{
    uint64_t child = (uint64_t)place * layout->radix + 1;
    uint64_t end = child + layout->radix;

    for (; child < end && child < layout->ranks; child++)
        xyl_children_add(out, (uint32_t)child);
}

uint32_t xyl_kary_depth(const xyl_layout_t *layout)
{
    return xyl_radix_depth(layout->radix, layout->ranks);
}
