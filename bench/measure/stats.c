/* Numbers for reports. No state; any thread. */
#include "bench/measure/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/sorted.h"
#include "simulator/random.h"

enum { RESAMPLES = 1000 };

double stats_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    sorted_make(values, count);
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

/* Percentile method: Efron, "Bootstrap methods: another look at the jackknife",
 * Annals of Statistics 7(1), 1979. */
struct stats_range stats_interval(const double *values, size_t count)
{
    double medians[RESAMPLES], drawn[STATS_INTERVAL_MAX];
    uint64_t state = 1;
    size_t i, k;

    assert(count <= STATS_INTERVAL_MAX);
    if (count == 0)
        return (struct stats_range){0, 0, 0};
    for (i = 0; i < RESAMPLES; i++) {
        for (k = 0; k < count; k++)
            drawn[k] = values[random_below(&state, (uint32_t)count)];
        medians[i] = stats_median(drawn, count);
    }
    memcpy(drawn, values, count * sizeof *values);
    sorted_make(medians, RESAMPLES);
    return (struct stats_range){.min = medians[RESAMPLES / 40],
                                .avg = stats_median(drawn, count),
                                .max = medians[RESAMPLES - 1 - RESAMPLES / 40]};
}
