/* The k-nomial tree: places are numbers in base `radix`. The parent of a place
 * is that place with its lowest nonzero digit cleared, so a place whose lowest
 * nonzero digit has the weight w heads the range of w places that begins with
 * it. The root serves the largest ranges first. Pure functions; any thread. */
#include "trees/shapes.h"

uint32_t xyl_knomial_parent(const xyl_layout_t *layout, uint32_t place)
{
    uint32_t weight = 1, digits = place;

    while (digits % layout->radix == 0) {
        digits /= layout->radix;
        weight *= layout->radix;
    }
    return place - digits % layout->radix * weight;
}

void xyl_knomial_children(const xyl_layout_t *layout, uint32_t place,
                          xyl_children_t *out)
{
    const uint64_t radix = layout->radix;
    uint64_t weight = 1, child, end;

    /* The places of the subtree, were no rank missing at the end. */
    while (weight < layout->ranks && place % (weight * radix) == 0)
        weight *= radix;
    while (weight > 1) {
        end = place + weight < layout->ranks ? place + weight : layout->ranks;
        weight /= radix;
        for (child = place + weight; child < end; child += weight)
            xyl_children_add(out, (uint32_t)child);
    }
}

uint32_t xyl_knomial_depth(const xyl_layout_t *layout)
{
    return xyl_radix_depth(layout->radix, layout->ranks);
}
