/* The four strategies of the thesis' figure 6.1: every plan on every size, or
 * few sizes of each plan and a model for the rest; each with all plans, or with
 * those alone that heuristics let pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/noise.h"
#include "bench/tune/tune.h"
#include "collectives/data/description.h"

/* Steps of which plans in segments are measured, see model.h, and every which
 * size of those without. */
enum { POINTS_MAX = TUNE_SIZES_MAX, SIZES_STRIDE = 3, STEPS = 3 };
static const size_t steps_measured[STEPS] = {1, 3, 9};
/* Of the time of what the library takes by itself. */
static const double worth_a_rule = 0.97;
static const uint64_t shown_every_ns = 200000000;

/* Of one collective. */
struct campaign {
    struct tune_search *search;
    xylem_coll_t coll;
    const size_t *bytes; /* [sizes] */
    size_t sizes, plans;
    struct tune_plan *plan;
    double *measured;  /* [plans][sizes], us; 0: not yet */
    double *predicted; /* the same, by the model */
};

static double seconds_since(uint64_t begin_ns)
{
    return (double)(noise_now_ns() - begin_ns) / 1e9;
}

/* ---- measuring ---- */

static void progress_show(struct campaign *c, const struct tune_time *time)
{
    struct tune_search *search = c->search;
    uint64_t now_ns = noise_now_ns();
    double left_s =
        60 * search->options->minutes - seconds_since(search->begin_ns);

    if (search->options->quiet || !search->place->is_first ||
        now_ns - search->shown_ns < shown_every_ns)
        return;
    search->shown_ns = now_ns;
    fprintf(stderr,
            "\r%zu times; %s, %u nodes of %u, %zu bytes: %-24s at most %.0f s "
            "left ",
            search->done, xyl_coll_traits(c->coll)->name, time->shape.nodes,
            time->shape.node_ranks, time->bytes, time->plan.algorithm,
            left_s > 0 ? left_s : 0);
}

/* What the first rank knows before a measurement, and tells the others. */
struct verdict {
    double us;
    int is_known, is_over;
};

static int verdict_agree(struct tune_search *search,
                         const struct tune_time *time, struct verdict *verdict)
{
    const struct tune_time *known;

    *verdict = (struct verdict){0};
    if (search->place->is_first) {
        known = tune_journal_find(search->journal, time);
        verdict->is_over =
            seconds_since(search->begin_ns) > 60 * search->options->minutes;
        if (known != NULL) {
            verdict->is_known = 1;
            verdict->us = known->us;
            search->cost_s += known->cost_s;
        }
    }
    return search->place->agree(search->place->state, verdict, sizeof *verdict);
}

/* 1 with *us_out 0 when no time is left. */
static int time_plan(struct campaign *c, const struct tune_plan *plan,
                     size_t bytes, double *us_out)
{
    struct tune_search *search = c->search;
    struct tune_place *place = search->place;
    struct tune_time time = {c->coll, place->shape, bytes, *plan, 0, 0};
    struct verdict verdict;
    uint64_t begin_ns;

    *us_out = 0;
    if (!verdict_agree(search, &time, &verdict))
        return 0;
    search->is_over = !verdict.is_known && verdict.is_over;
    *us_out = verdict.us;
    if (verdict.is_known || verdict.is_over)
        return 1;
    progress_show(c, &time);
    begin_ns = noise_now_ns();
    if (!place->time(place->state, c->coll, bytes, plan, &time.us) ||
        !place->agree(place->state, &time.us, sizeof time.us))
        return 0;
    time.cost_s = search->options->machine != NULL ? time.us / 1e6
                                                   : seconds_since(begin_ns);
    *us_out = time.us;
    search->done++;
    search->cost_s += time.cost_s;
    return !place->is_first || tune_journal_add(search->journal, &time);
}

static double *at(const struct campaign *c, double *times, size_t plan,
                  size_t size)
{
    return &times[plan * c->sizes + size];
}

static int is_asked_for(const struct campaign *c, size_t plan, size_t size)
{
    const char *begin = c->search->options->plans;

    return tune_plan_applies(&c->plan[plan], c->bytes[size]) &&
           (begin == NULL ||
            strncmp(c->plan[plan].algorithm, begin, strlen(begin)) == 0);
}

static int is_candidate(const struct campaign *c, size_t plan, size_t size)
{
    return is_asked_for(c, plan, size) &&
           (!c->search->options->heuristics ||
            tune_plan_promises(c->coll, &c->plan[plan],
                               &c->search->place->shape, c->bytes[size]));
}

static int is_ever_candidate(const struct campaign *c, size_t plan)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (is_candidate(c, plan, s))
            return 1;
    return 0;
}

static int measure(struct campaign *c, size_t plan, size_t size)
{
    double *us = at(c, c->measured, plan, size);

    return *us > 0 || c->search->is_over ||
           time_plan(c, &c->plan[plan], c->bytes[size], us);
}

/* ---- strategies ---- */

static int measure_all(struct campaign *c)
{
    size_t s, p;

    for (s = 0; s < c->sizes; s++)
        for (p = 0; p < c->plans; p++)
            if (is_candidate(c, p, s) && !measure(c, p, s))
                return 0;
    return 1;
}

/* The bytes of so many steps. */
static size_t steps_bytes(const struct tune_plan *plan, size_t steps)
{
    return steps * plan->segment_bytes * plan->lanes;
}

static size_t steps_of(const struct tune_plan *plan, size_t bytes)
{
    size_t one = steps_bytes(plan, 1);

    return (bytes + one - 1) / one;
}

/* Times of a plan, for the model. */
struct points {
    struct tune_point at[POINTS_MAX];
    size_t count;
};

/* Of bytes that may be a size which is asked for. */
static int measure_bytes(struct campaign *c, size_t p, size_t bytes, double *us)
{
    size_t s = 0;

    while (s < c->sizes && (c->bytes[s] != bytes || !is_candidate(c, p, s)))
        s++;
    if (s == c->sizes)
        return time_plan(c, &c->plan[p], bytes, us);
    if (!measure(c, p, s))
        return 0;
    *us = *at(c, c->measured, p, s);
    return 1;
}

/* The tasks of a plan in segments. */
static int measure_steps(struct campaign *c, size_t p, struct points *points)
{
    size_t i, bytes;
    double us;

    for (i = 0; i < STEPS; i++) {
        bytes = steps_bytes(&c->plan[p], steps_measured[i]);
        if (i > 0 && bytes > c->bytes[c->sizes - 1])
            break;
        if (!measure_bytes(c, p, bytes, &us))
            return 0;
        if (us > 0)
            points->at[points->count++] =
                (struct tune_point){(double)steps_measured[i], us};
    }
    return 1;
}

static int measure_sizes(struct campaign *c, size_t p, struct points *points)
{
    size_t s, last = c->sizes;

    while (last > 0 && !is_candidate(c, p, last - 1))
        last--;
    for (s = 0; s < last; s++) {
        if (s % SIZES_STRIDE != 0 && s + 1 != last)
            continue;
        if (!measure(c, p, s))
            return 0;
        if (*at(c, c->measured, p, s) > 0)
            points->at[points->count++] = (struct tune_point){
                (double)c->bytes[s], *at(c, c->measured, p, s)};
    }
    return 1;
}

/* Those of longer segments follow from those of shorter ones, where few of them
 * would be as long as the longest message. */
static int extend_points(const struct campaign *c, size_t p,
                         const struct points before[2], struct points *points)
{
    const struct tune_plan *plan = &c->plan[p];
    size_t i;

    if (p < 2 || plan->segment_bytes == 0 || before[0].count < STEPS ||
        before[1].count < STEPS ||
        strcmp(plan->algorithm, c->plan[p - 2].algorithm) != 0 ||
        steps_bytes(plan, steps_measured[STEPS - 1]) <= c->bytes[c->sizes - 1])
        return 0;
    *points = before[1];
    for (i = 0; i < points->count; i++)
        points->at[i].us =
            tune_model_longer(before[0].at[i].us, before[1].at[i].us);
    return 1;
}

static void predict(struct campaign *c, size_t p, const struct points *points)
{
    const struct tune_plan *plan = &c->plan[p];
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (is_candidate(c, p, s))
            *at(c, c->predicted, p, s) = tune_model_at(
                points->at, points->count,
                (double)(plan->segment_bytes != 0 ? steps_of(plan, c->bytes[s])
                                                  : c->bytes[s]));
}

static int model_all(struct campaign *c)
{
    struct points before[2] = {{.count = 0}, {.count = 0}}, points;
    size_t p;

    for (p = 0; p < c->plans; p++) {
        points.count = 0;
        if (is_ever_candidate(c, p) && !extend_points(c, p, before, &points) &&
            !(c->plan[p].segment_bytes != 0 ? measure_steps(c, p, &points)
                                            : measure_sizes(c, p, &points)))
            return 0;
        predict(c, p, &points);
        before[0] = before[1];
        before[1] = points;
    }
    return 1;
}

/* The plan that the model holds for the fastest of those that have not been
 * measured; c->plans: there is none. */
static size_t most_promising(const struct campaign *c, size_t s)
{
    size_t best = c->plans, p;
    double us;

    for (p = 0; p < c->plans; p++) {
        us = *at(c, c->predicted, p, s);
        if (us > 0 && *at(c, c->measured, p, s) == 0 &&
            (best == c->plans || us < *at(c, c->predicted, best, s)))
            best = p;
    }
    return best;
}

/* Measures the plans that may be the fastest by the model, until it holds none
 * for faster than the fastest of these. */
static int confirm(struct campaign *c, size_t s)
{
    double best = 0;
    unsigned n;

    for (n = 0; n < c->search->options->confirm; n++) {
        size_t p = most_promising(c, s);
        if (p == c->plans || c->search->is_over ||
            (best > 0 && *at(c, c->predicted, p, s) > best))
            break;
        if (!measure(c, p, s))
            return 0;
        if (best == 0 || *at(c, c->measured, p, s) < best)
            best = *at(c, c->measured, p, s);
    }
    return 1;
}

static int measure_tasks(struct campaign *c)
{
    size_t s;

    if (!model_all(c))
        return 0;
    for (s = 0; s < c->sizes; s++)
        if (!confirm(c, s))
            return 0;
    return 1;
}

/* ---- choices ---- */

/* Measured ones come before predicted ones, of which there is need where the
 * time ran out. */
static void choose(const struct campaign *c, size_t s,
                   struct tune_choice *choice)
{
    double *const tables[] = {c->measured, c->predicted};
    size_t t, p;

    *choice = (struct tune_choice){.is_known = 0};
    for (t = 0; t < 2 && !choice->is_known; t++)
        for (p = 0; p < c->plans; p++) {
            double us = *at(c, tables[t], p, s);
            if (us > 0 && (!choice->is_known || us < choice->us))
                *choice = (struct tune_choice){c->plan[p], us, 1};
        }
}

/* What all measurements would have cost, by the times that are known or
 * expected, and by what the cost of measurements was. */
static double exhaustive_cost(const struct campaign *c)
{
    double us = 0, known_us = 0, known = 0, all = 0, value;
    size_t p, s;

    for (p = 0; p < c->plans; p++)
        for (s = 0; s < c->sizes; s++) {
            if (!is_asked_for(c, p, s))
                continue;
            all++;
            value = *at(c, c->measured, p, s) > 0 ? *at(c, c->measured, p, s)
                                                  : *at(c, c->predicted, p, s);
            known_us += value;
            known += value > 0;
        }
    us = known > 0 ? known_us * all / known : 0;
    return c->search->options->machine != NULL
               ? us / 1e6
               : all * c->search->cost_s / ((double)c->search->done + 1e-9);
}

/* What the library takes by itself, where the tuner makes no rule. */
static int compare(struct campaign *c, size_t s, struct tune_choice *choice)
{
    static const struct tune_plan own = {.algorithm = "auto", .lanes = 1};
    struct tune_search *search = c->search;
    double us;

    if (!time_plan(c, &own, c->bytes[s], &us))
        return 0;
    if (us <= 0 || !choice->is_known)
        return 1;
    search->compared++;
    if (choice->us < us)
        search->gain += log(us / choice->us);
    if (choice->us < worth_a_rule * us) {
        search->gained++;
        return 1;
    }
    choice->is_known = (int)search->options->all;
    return 1;
}

/* Whatever is known, from earlier searches, too. */
static void rows_write(const struct campaign *c, struct table *csv)
{
    const struct tune_time *known;
    size_t p, s;

    for (p = 0; p < c->plans; p++)
        for (s = 0; s < c->sizes; s++) {
            struct tune_time like = {c->coll,     c->search->place->shape,
                                     c->bytes[s], c->plan[p],
                                     0,           0};
            known = tune_journal_find(c->search->journal, &like);
            if (!is_candidate(c, p, s))
                continue;
            table_text(csv, xyl_coll_traits(c->coll)->name);
            table_count(csv, like.shape.nodes);
            table_count(csv, like.shape.node_ranks);
            table_count(csv, like.bytes);
            table_text(csv, like.plan.algorithm);
            table_count(csv, like.plan.segment_bytes);
            table_real(csv, *at(c, c->predicted, p, s), 3);
            table_real(csv, known != NULL ? known->us : 0, 3);
        }
}

static int campaign_run(struct campaign *c, struct tune_choice *choices)
{
    size_t s;
    int ok = c->search->options->exhaustive ? measure_all(c) : measure_tasks(c);

    if (!ok)
        return 0;
    for (s = 0; s < c->sizes; s++) {
        choose(c, s, &choices[s]);
        if (!compare(c, s, &choices[s]))
            return 0;
    }
    c->search->exhaustive_s += exhaustive_cost(c);
    if (c->search->csv != NULL)
        rows_write(c, c->search->csv);
    return 1;
}

int tune_search_run(struct tune_search *search, xylem_coll_t coll,
                    struct tune_choice *choices)
{
    struct campaign c = {
        .search = search,
        .coll = coll,
        .bytes = search->options->bytes,
        .sizes = coll == XYLEM_COLL_BARRIER ? 1 : search->options->bytes_count};
    int ok = 0;

    c.plan = calloc(TUNE_PLANS_MAX, sizeof *c.plan);
    c.measured = calloc(TUNE_PLANS_MAX * c.sizes, sizeof *c.measured);
    c.predicted = calloc(TUNE_PLANS_MAX * c.sizes, sizeof *c.predicted);
    if (c.plan != NULL && c.measured != NULL && c.predicted != NULL) {
        c.plans = tune_plans_list(coll, &search->place->shape, c.plan);
        ok = campaign_run(&c, choices);
    }
    free(c.plan);
    free(c.measured);
    free(c.predicted);
    return ok;
}
