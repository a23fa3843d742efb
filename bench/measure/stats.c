/* Numbers for reports. No state; any thread. */
#include "bench/measure/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

double stats_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    if (count % 2 == 1)
        return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct stats_range stats_range(const double *values, size_t count,
                               size_t stride)
{
    struct stats_range range = {0, 0, 0};
    size_t i;

    if (count == 0)
        return range;
    range.min = range.max = values[0];
    for (i = 0; i < count; i++) {
        double value = values[i * stride];

        range.min = fmin(range.min, value);
        range.max = fmax(range.max, value);
        range.avg += value / (double)count;
    }
    return range;
}
