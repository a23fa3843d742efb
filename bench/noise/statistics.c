#include "bench/noise/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "bench/common/sorted.h"

static double at_part(const double *sorted, size_t count, double part)
{
    return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

struct statistics statistics_of(double *values, size_t count)
{
    double sum = 0, square = 0, cube = 0, fourth = 0, n = (double)count;
    struct statistics found;
    size_t i;

    if (count == 0)
        return (struct statistics){0};
    sorted_make(values, count);
    for (i = 0; i < count; i++)
        sum += values[i];
    for (i = 0; i < count; i++) {
        double from_mean = values[i] - sum / n;

        square += from_mean * from_mean / n;
        cube += from_mean * from_mean * from_mean / n;
        fourth += from_mean * from_mean * from_mean * from_mean / n;
    }
    found = (struct statistics){.min = values[0],
                                .mean = sum / n,
                                .median = at_part(values, count, 0.5),
                                .p99 = at_part(values, count, 0.99),
                                .max = values[count - 1]};
    if (square > 0) {
        found.skewness = cube / pow(square, 1.5);
        found.kurtosis = fourth / (square * square) - 3;
    }
    return found;
}

double statistics_distance(double *one, size_t one_count, double *other,
                           size_t other_count)
{
    double most = 0;
    size_t i = 0, k = 0;

    if (one_count == 0 || other_count == 0)
        return one_count == other_count ? 0 : 1;
    sorted_make(one, one_count);
    sorted_make(other, other_count);
    while (i < one_count && k < other_count) {
        double value = one[i] < other[k] ? one[i] : other[k];

        while (i < one_count && one[i] <= value)
            i++;
        while (k < other_count && other[k] <= value)
            k++;
        most = fmax(most, fabs((double)i / (double)one_count -
                               (double)k / (double)other_count));
    }
    return most;
}
