/* Statistics of distributions of noise. No state; any thread. */
#pragma once

#include <stddef.h>

struct statistics {
    double min, mean, median, p99, max;
    double skewness; /* 0 of symmetric ones */
    double kurtosis; /* in excess of 3, that of the normal distribution */
};

/* Sorts the values. All 0 when there are none. */
struct statistics statistics_of(double *values, size_t count);

/* The largest distance between the distribution functions of two samples
 * (Kolmogorov and Smirnov); sorts both. 1 if one of them is empty. */
double statistics_distance(double *one, size_t one_count, double *other,
                           size_t other_count);
