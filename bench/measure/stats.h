/* Numbers for reports: medians and ranges. */
#pragma once

#include <stddef.h>

/* The median of `count` values, which it sorts; 0 when there are none. */
double stats_median(double *values, size_t count);

struct stats_range {
    double min, avg, max;
};
/* Over values[0], values[stride], ..., `count` of them. */
struct stats_range stats_range(const double *values, size_t count,
                               size_t stride);

enum { STATS_INTERVAL_MAX = 128 };

/* The interval, `min` to `max`, in which the median of up to STATS_INTERVAL_MAX
 * such values lies with 95 %, by bootstrap; `avg` is the median. Equal values
 * give equal intervals. */
struct stats_range stats_interval(const double *values, size_t count);
