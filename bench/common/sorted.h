/* Numbers in their order. No state; any thread. */
#ifndef XYL_BENCH_COMMON_SORTED_H
#define XYL_BENCH_COMMON_SORTED_H

#include <stdlib.h>

static inline int sorted_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static inline void sorted_make(double *values, size_t count)
{
    qsort(values, count, sizeof *values, sorted_compare);
}

#endif
