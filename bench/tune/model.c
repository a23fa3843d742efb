#include "bench/tune/model.h"

#include <math.h>

/* The later of the two points whose line holds at `at`. */
static size_t line_at(const struct tune_point *points, size_t count, double at)
{
    size_t i = 1;

    while (i + 1 < count && points[i].at < at)
        i++;
    return i;
}

static double on_line(struct tune_point a, struct tune_point b, double at)
{
    return a.us + (b.us - a.us) * (at - a.at) / (b.at - a.at);
}

double tune_model_step(const struct tune_point *points, size_t count)
{
    const struct tune_point *a = points + count - 2, *b = points + count - 1;
    double step;

    if (count < 2)
        return 0;
    step = (b->us - a->us) / (b->at - a->at);
    return step > 0 ? step : 0;
}

double tune_model_at(const struct tune_point *points, size_t count, double at)
{
    size_t i;

    if (count == 0)
        return 0;
    if (count == 1 || at <= points[0].at)
        return points[0].us;
    if (at > points[count - 1].at)
        return points[count - 1].us +
               (at - points[count - 1].at) * tune_model_step(points, count);
    i = line_at(points, count, at);
    return on_line(points[i - 1], points[i], at);
}

double tune_model_longer(double sixteenth_us, double quarter_us)
{
    const struct tune_point points[] = {{1, sixteenth_us}, {4, quarter_us}};

    return tune_model_at(points, 2, 16);
}

double tune_model_levels(double fill_us, double within_us, double between_us,
                         double overlap)
{
    return fill_us + within_us + between_us -
           overlap * fmin(within_us, between_us);
}

double tune_model_overlap(double within_us, double between_us, double all_us)
{
    double least = fmin(within_us, between_us);

    if (least <= 0)
        return 1;
    return fmax(0, fmin(1, (within_us + between_us - all_us) / least));
}

double tune_model_middle(double less, double more)
{
    return ceil(sqrt(less * more));
}
