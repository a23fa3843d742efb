/* The strategy that a model leads: few tasks of each plan, and whole messages
 * of the plans that it holds for the fastest (model.h). */
#include <string.h>

#include "bench/tune/campaign.h"

/* Plans in segments are measured at STEPS numbers of steps (model.h), plans
 * without at every SIZES_STRIDE-th size. */
enum { SIZES_STRIDE = 3, STEPS = TUNE_TASK_POINTS };

/* Times the fastest known plan: plans that the model expects to take longer are
 * measured no further. */
static const double worth_a_look = 1.25;
/* Tasks of longer segments are timed after those of shorter ones. */
static const size_t short_segment = 16384;

/* The bytes of `steps` steps. */
static size_t steps_bytes(const struct tune_plan *plan, size_t steps)
{
    return steps * plan->segment_bytes * plan->lanes;
}

static size_t steps_of(const struct tune_plan *plan, size_t bytes)
{
    size_t one = steps_bytes(plan, 1);

    return (bytes + one - 1) / one;
}

/* Measures the plan for `bytes`, which may be one of the wanted sizes. */
static int measure_bytes(struct campaign *c, size_t p, size_t bytes, double *us)
{
    size_t s = 0;

    while (s < c->sizes && (c->bytes[s] != bytes || !campaign_has(c, p, s)))
        s++;
    if (s == c->sizes)
        return campaign_time_plan(c, &c->plan[p], bytes, us);
    if (!campaign_measure(c, p, s))
        return 0;
    *us = *campaign_at(c, c->measured, p, s);
    return 1;
}

static double expect(const struct campaign *c, size_t p, size_t s,
                     const struct points *points)
{
    const struct tune_plan *plan = &c->plan[p];

    return tune_model_at(points->at, points->count,
                         (double)(plan->segment_bytes != 0
                                      ? steps_of(plan, c->bytes[s])
                                      : c->bytes[s]));
}

static int is_worth_a_look(const struct campaign *c, size_t s, double us)
{
    return c->best[s] == 0 ||
           campaign_corrected(c, s, us) < worth_a_look * c->best[s];
}

/* 1: by these points the plan may be the fastest for some size. */
static int may_win(const struct campaign *c, size_t p,
                   const struct points *points)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (campaign_has(c, p, s) &&
            is_worth_a_look(c, s, expect(c, p, s, points)))
            return 1;
    return 0;
}

/* Measures the tasks of a plan in segments, as long as it may win. */
static int measure_steps(struct campaign *c, size_t p, struct points *points)
{
    size_t i, steps, last = 0;
    double us;

    for (i = 0; i < STEPS && may_win(c, p, points); i++) {
        steps = campaign_nth_steps(c, steps_bytes(&c->plan[p], 1), i);
        if (steps <= last)
            break;
        last = steps;
        if (!measure_bytes(c, p, steps_bytes(&c->plan[p], steps), &us))
            return 0;
        if (us > 0)
            points->at[points->count++] =
                (struct tune_point){(double)steps, us};
    }
    return 1;
}

static int measure_sizes(struct campaign *c, size_t p, struct points *points)
{
    size_t s, last = c->sizes;

    while (last > 0 && !campaign_has(c, p, last - 1))
        last--;
    for (s = 0; s < last && may_win(c, p, points); s++) {
        if (s % SIZES_STRIDE != 0 && s + 1 != last)
            continue;
        if (!campaign_measure(c, p, s))
            return 0;
        if (*campaign_at(c, c->measured, p, s) > 0)
            points->at[points->count++] = (struct tune_point){
                (double)c->bytes[s], *campaign_at(c, c->measured, p, s)};
    }
    return 1;
}

/* Expects points of a plan from plans with shorter segments. */
static void expect_longer(const struct campaign *c, size_t p,
                          struct points *points)
{
    const struct tune_plan *plan = &c->plan[p];
    const struct points *sixteenth = points - 2, *quarter = points - 1;
    size_t i;

    points->count = 0;
    if (p < 2 || plan->segment_bytes == 0 || sixteenth->count == 0 ||
        strcmp(plan->algorithm, c->plan[p - 2].algorithm) != 0)
        return;
    *points = *quarter;
    if (sixteenth->count < points->count)
        points->count = sixteenth->count;
    for (i = 0; i < points->count; i++)
        points->at[i].us =
            tune_model_longer(sixteenth->at[i].us, quarter->at[i].us);
}

static int model(struct campaign *c, size_t p)
{
    struct points *points = &c->points[p];
    size_t s;

    expect_longer(c, p, points);
    if (points->count == 0 || may_win(c, p, points)) {
        points->count = 0;
        if (!(c->plan[p].segment_bytes != 0 ? measure_steps(c, p, points)
                                            : measure_sizes(c, p, points)))
            return 0;
    }
    for (s = 0; s < c->sizes; s++)
        if (campaign_has(c, p, s))
            *campaign_at(c, c->predicted, p, s) = expect(c, p, s, points);
    return 1;
}

static int promises_ever(const struct campaign *c, size_t p)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (campaign_has(c, p, s) &&
            tune_plan_promises(c->coll, &c->plan[p], &c->search->place->shape,
                               c->bytes[s]))
            return 1;
    return 0;
}

/* Models plans that are promising, or the others; and of these, plans with long
 * segments, or the others. */
static int model_some(struct campaign *c, int promise, int is_long)
{
    size_t p;

    for (p = 0; p < c->listed && !c->is_over; p++)
        if (campaign_ever_has(c, p) && promises_ever(c, p) == promise &&
            (c->plan[p].segment_bytes > short_segment) == is_long &&
            !model(c, p))
            return 0;
    return 1;
}

/* The unmeasured plan that the model expects to be the fastest; c->plans: there
 * is none. */
static size_t most_promising(const struct campaign *c, size_t s)
{
    size_t best = c->plans, p;
    double us;

    for (p = 0; p < c->plans; p++) {
        us = *campaign_at(c, c->predicted, p, s);
        if (us > 0 && *campaign_at(c, c->measured, p, s) == 0 &&
            (best == c->plans || us < *campaign_at(c, c->predicted, best, s)))
            best = p;
    }
    return best;
}

static void ratio_note(struct campaign *c, size_t p, size_t s)
{
    double ratio = *campaign_at(c, c->measured, p, s) /
                   *campaign_at(c, c->predicted, p, s);

    if (ratio > 0 && (c->looks[s]++ == 0 || ratio < c->ratio[s]))
        c->ratio[s] = ratio;
}

/* Measures the plans that may be the fastest by the model. */
static int confirm(struct campaign *c, size_t s, unsigned most)
{
    unsigned n;

    for (n = 0; n < most && n < c->search->options->confirm; n++) {
        size_t p = most_promising(c, s);
        if (p == c->plans || c->is_over ||
            !is_worth_a_look(c, s, *campaign_at(c, c->predicted, p, s)))
            break;
        if (!campaign_measure(c, p, s))
            return 0;
        ratio_note(c, p, s);
    }
    return 1;
}

static int confirm_all(struct campaign *c, unsigned most)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (!confirm(c, s, most))
            return 0;
    return 1;
}

/* The most promising come first, so that little time finds much. */
int campaign_measure_tasks(struct campaign *c)
{
    int last = c->search->options->heuristics != 0, promise;

    for (promise = 1; promise >= last; promise--)
        if (!model_some(c, promise, 0) ||
            !confirm_all(c, CAMPAIGN_LOOKS_LEAST) ||
            !model_some(c, promise, 1) ||
            !confirm_all(c, c->search->options->confirm) ||
            !campaign_vary_within(c) ||
            !confirm_all(c, c->search->options->confirm))
            return 0;
    return 1;
}

size_t campaign_tasks(const struct campaign *c, size_t p)
{
    return c->plan[p].segment_bytes != 0 ? (size_t)STEPS
                                         : c->sizes / SIZES_STRIDE + 1;
}
