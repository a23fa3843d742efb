/* Of the algorithms that count distances in digits: how many distances of the
 * form digit * radix^i there can be, for the largest radix and 2^32 ranks. */
#ifndef XYL_COLLECTIVES_SCHEDULES_DIGITS_H
#define XYL_COLLECTIVES_SCHEDULES_DIGITS_H

enum {
    XYL_RADIX_MAX = 64,
    XYL_DISTANCES_MAX = 6 * (XYL_RADIX_MAX - 1) /* 64^6 > 2^32; smaller radices
                                                   have fewer */
};

#endif
