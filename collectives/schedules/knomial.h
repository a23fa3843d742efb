/* Blocks along k-nomial trees (trees/knomial.c) of places counted from the
 * root: a subtree is a range of places, from its own place on, so its blocks
 * lie together, but for the step from the last rank to rank 0. */
#ifndef XYL_COLLECTIVES_SCHEDULES_KNOMIAL_H
#define XYL_COLLECTIVES_SCHEDULES_KNOMIAL_H

#include "collectives/schedules/algorithm.h"

/* Places in the subtree of `place`. */
static inline uint64_t xyl_knomial_span(uint64_t place, uint64_t places,
                                        uint32_t radix)
{
    uint64_t weight = 1;

    while (place == 0 ? weight < places : place % (weight * radix) == 0)
        weight *= radix;
    return weight < places - place ? weight : places - place;
}

#endif
