/* K-nomial trees by digits: places are written with base `radix`; the parent
 * of a place is the place with its lowest nonzero digit made 0. Place 0 is the
 * top. A subtree is a range of places, from its own place on.
 *
 * The children of a place, largest subtrees first:
 *     for (weight = xyl_knomial_weight(place, places, radix) / radix;
 *          weight != 0; weight /= radix)
 *         for (child = place + weight;
 *              child < places && child < place + radix * weight;
 *              child += weight)
 */
#ifndef XYL_COLLECTIVES_SCHEDULES_KNOMIAL_H
#define XYL_COLLECTIVES_SCHEDULES_KNOMIAL_H

#include <stdint.h>

/* What the lowest nonzero digit of a place counts for; of place 0: a power of
 * `radix` that no place reaches. */
static inline uint64_t xyl_knomial_weight(uint64_t place, uint64_t places,
                                          uint32_t radix)
{
    uint64_t weight = 1;

    while (place == 0 ? weight < places : place % (weight * radix) == 0)
        weight *= radix;
    return weight;
}

/* Places in the subtree of `place`, whose weight is given. */
static inline uint64_t xyl_knomial_span(uint64_t place, uint64_t places,
                                        uint64_t weight)
{
    return weight < places - place ? weight : places - place;
}

/* Not of place 0. */
static inline uint64_t xyl_knomial_parent(uint64_t place, uint64_t weight,
                                          uint32_t radix)
{
    return place - place / weight % radix * weight;
}

#endif
