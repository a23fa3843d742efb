/* The choice of the algorithm within nodes. The model adds up the levels of a
 * plan, each of which is timed by itself. A task of one node is the same for
 * every algorithm between nodes, in every plan and collective, and is timed
 * once. So plans that differ in the algorithm within nodes alone need no calls
 * of their own before they promise to be the fastest. */
#include <string.h>

#include "bench/tune/campaign.h"

enum {
    /* For each size the search varies so many plans, the fastest that are
     * known with the table's choice within nodes. */
    LOOKS = 4,
    STEPS = 3,
    UNIT = sizeof(float)
};
static const size_t steps_measured[STEPS] = {1, 3, 9};

/* How a message goes through the levels of a plan. */
struct way {
    size_t message;
    size_t leaders; /* of a node */
    size_t steps;   /* of each lane */
    size_t pieces;  /* through a node */
    size_t each;    /* of these, of one leader */
    size_t piece;   /* bytes */
};

/* The times of levels that run alone: until all have had their first output;
 * and from there to the end, within nodes and between them. */
struct costs {
    double fill, within, between;
};

static size_t in_units(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static struct way way_of(const struct campaign *c, const struct tune_plan *plan,
                         size_t s)
{
    size_t message = c->coll == XYLEM_COLL_BARRIER ? UNIT : c->bytes[s];
    size_t lane = (message + plan->lanes - 1) / plan->lanes;
    struct way way = {
        .message = message,
        .leaders = tune_plan_leaders(c->coll, plan),
        .piece =
            in_units(lane < plan->segment_bytes ? lane : plan->segment_bytes)};

    way.steps = (lane + way.piece - 1) / way.piece;
    way.pieces = way.steps * plan->lanes;
    way.each = way.pieces / way.leaders;
    return way;
}

/* ---- tasks ---- */

/* *us_out 0: no time is left. */
static int task_time(struct campaign *c, const struct tune_alone *alone,
                     size_t bytes, double *us_out)
{
    struct tune_time time = campaign_time(c, &alone->plan, bytes, 0);
    const struct tune_time *known;

    time.coll = alone->coll;
    time.shape = alone->shape;
    known = tune_journal_find(&c->tasks, &time);
    *us_out = known != NULL ? known->us : 0;
    if (known != NULL || c->is_over)
        return 1;
    if (!campaign_time_find(c, &time))
        return 0;
    *us_out = time.us;
    return time.us <= 0 || tune_journal_add(&c->tasks, &time);
}

/* Longer tasks than what fits into caches say no more. */
static size_t most_steps(const struct campaign *c, size_t bytes, size_t steps)
{
    size_t near = c->search->place->near_bytes / bytes;

    if (c->search->place->near_bytes == 0 || steps <= near)
        return steps;
    return near == 0 ? 1 : near;
}

/* The first output of a level, and what follows, of so many steps of `bytes`
 * each. 0 in *first_out: no time is left. */
static int level_time(struct campaign *c, const struct tune_alone *alone,
                      size_t bytes, size_t steps, double *first_out,
                      double *rest_out)
{
    size_t i, n, last = 0, most = most_steps(c, bytes, steps);
    struct points points = {.count = 0};
    double us;

    *first_out = *rest_out = 0;
    for (i = 0; i < STEPS && last < most; i++) {
        n = steps_measured[i] < most ? steps_measured[i] : most;
        last = n;
        if (!task_time(c, alone, n * bytes, &us))
            return 0;
        if (us <= 0)
            return 1;
        points.at[points.count++] = (struct tune_point){(double)n, us};
    }
    *first_out = points.at[0].us;
    *rest_out =
        tune_model_at(points.at, points.count, (double)steps) - points.at[0].us;
    return 1;
}

/* All ranks take part in all broadcasts. Each leader has its own reductions,
 * and most of the work with them. The table chooses in place of an algorithm
 * that does not fit. */
static int within_time(struct campaign *c, struct tune_alone *alone,
                       const struct way *way, double *first_out,
                       double *rest_out)
{
    alone->plan.segment_bytes = way->piece;
    if (!tune_plan_fits(alone->coll, &alone->plan, &alone->shape,
                        way->pieces * way->piece))
        tune_plan_by_table(&alone->plan);
    return level_time(c, alone, way->piece,
                      alone->coll == XYLEM_COLL_REDUCE ? way->each
                                                       : way->pieces,
                      first_out, rest_out);
}

/* Each leader has a part of a schedule's message, which goes as a whole. */
static int between_time(struct campaign *c, struct tune_alone *alone,
                        const struct way *way, double *first_out,
                        double *rest_out)
{
    size_t lanes = way->each / way->steps;

    if (alone->plan.segment_bytes == 0)
        return level_time(
            c, alone,
            in_units((way->message + way->leaders - 1) / way->leaders), 1,
            first_out, rest_out);
    alone->plan.segment_bytes = way->piece;
    return level_time(c, alone, lanes * way->piece, way->steps, first_out,
                      rest_out);
}

/* costs->fill 0: no time is left. */
static int costs_find(struct campaign *c, const struct tune_plan *plan,
                      size_t s, struct costs *costs)
{
    const struct way way = way_of(c, plan, s);
    struct tune_alone alone;
    double first, rest;
    unsigned level;
    int ok;

    *costs = (struct costs){0, 0, 0};
    for (level = 0; level < TUNE_LEVELS; level++) {
        if (!tune_plan_alone(c->coll, plan, &c->search->place->shape,
                             (enum tune_level)level, &alone))
            continue;
        ok = level == TUNE_BETWEEN
                 ? between_time(c, &alone, &way, &first, &rest)
                 : within_time(c, &alone, &way, &first, &rest);
        if (!ok)
            return 0;
        if (first <= 0) {
            costs->fill = 0;
            return 1;
        }
        costs->fill += first;
        if (level == TUNE_BETWEEN)
            costs->between += rest;
        else
            costs->within += rest;
    }
    return 1;
}

/* ---- what is expected ---- */

/* The share of the levels' work that is done side by side, by calls of a few
 * steps of the plan itself. */
static double overlap_of(const struct campaign *c, size_t p, size_t s,
                         const struct costs *costs)
{
    const struct points *points = &c->points[p];
    double steps = (double)way_of(c, &c->plan[p], s).steps;

    if (c->plan[p].segment_bytes == 0 || points->count < 2)
        return 1;
    return tune_model_overlap(costs->within, costs->between,
                              tune_model_at(points->at, points->count, steps) -
                                  points->at[0].us);
}

/* The measured time of the plan, or else the expected one. */
static double known_us(const struct campaign *c, size_t p, size_t s)
{
    double us = *campaign_at(c, c->measured, p, s);

    return us > 0
               ? us
               : campaign_corrected(c, s, *campaign_at(c, c->predicted, p, s));
}

/* The variant takes as much more or less than the plan as by their tasks. */
static int expect_variant(struct campaign *c, size_t p, size_t s,
                          const struct tune_plan *variant, double overlap,
                          double tasks_us)
{
    size_t q = campaign_add(c, variant);
    struct costs costs;
    double us, corrected;

    if (q == c->plans || !campaign_has(c, q, s) ||
        *campaign_at(c, c->predicted, q, s) > 0)
        return 1;
    if (!costs_find(c, variant, s, &costs))
        return 0;
    if (costs.fill <= 0)
        return 1;
    us = known_us(c, p, s) *
         tune_model_levels(costs.fill, costs.within, costs.between, overlap) /
         tasks_us;
    *campaign_at(c, c->by_tasks, q, s) = us;
    corrected = campaign_corrected(c, s, 1);
    *campaign_at(c, c->predicted, q, s) = us / corrected;
    return 1;
}

static int expect_variants(struct campaign *c, size_t p, size_t s)
{
    struct tune_plan variants[TUNE_WITHIN_MAX];
    size_t i, count = tune_plan_within(c->coll, &c->plan[p],
                                       &c->search->place->shape, variants);
    struct costs costs;
    double overlap, us;

    if (!costs_find(c, &c->plan[p], s, &costs))
        return 0;
    if (costs.fill <= 0)
        return 1;
    overlap = overlap_of(c, p, s, &costs);
    us = tune_model_levels(costs.fill, costs.within, costs.between, overlap);
    *campaign_at(c, c->by_tasks, p, s) = us;
    for (i = 0; i < count && !c->is_over; i++)
        if (!expect_variant(c, p, s, &variants[i], overlap, us))
            return 0;
    return 1;
}

/* The fastest plan in levels that has not been asked yet; c->plans: there is
 * none. */
static size_t next_plan(const struct campaign *c, size_t s)
{
    size_t best = c->plans, p;

    for (p = 0; p < c->listed; p++)
        if (*campaign_at(c, c->predicted, p, s) > 0 &&
            *campaign_at(c, c->by_tasks, p, s) == 0 &&
            tune_plan_leaders(c->coll, &c->plan[p]) != 0 &&
            (best == c->plans || known_us(c, p, s) < known_us(c, best, s)))
            best = p;
    return best;
}

int campaign_vary_within(struct campaign *c)
{
    size_t s, p;
    unsigned i;

    if (!c->search->place->shares_memory)
        return 1;
    for (s = 0; s < c->sizes; s++)
        for (i = 0; i < LOOKS && !c->is_over; i++) {
            p = next_plan(c, s);
            if (p == c->plans)
                break;
            if (!expect_variants(c, p, s))
                return 0;
        }
    return 1;
}
