/* Numbers in their order. No state; any thread. */
#pragma once

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
