/* The four strategies of the thesis' figure 6.1: every plan on every size, or
 * few sizes of each plan and a model for the rest; each with all plans, or with
 * those alone that heuristics let pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/noise.h"
#include "bench/measure/stats.h"
#include "bench/tune/tune.h"
#include "collectives/data/description.h"

/* Steps of which plans in segments are measured, see model.h, and every which
 * size of those without. */
enum { POINTS_MAX = TUNE_SIZES_MAX, SIZES_STRIDE = 3, STEPS = 3 };
/* Beyond, a rank's blocks are not worth the memory. */
static const size_t blocks_bytes_max = (size_t)256 << 20;
/* The fastest plans of a size are timed again, in turns with what the library
 * takes: of hundreds the luckiest would win, and of noise. */
enum { FINALISTS = 3, TURNS = 7, TURNS_WON = 6 };
/* Of a campaign's time, for all else. */
static const double search_part = 0.8;
static const size_t steps_measured[STEPS] = {1, 3, 9};
/* Of the time of what the library takes by itself. */
static const double worth_a_rule = 0.97;
/* Of the time of the fastest plan that is known: what the model expects to take
 * longer is measured no further. */
static const double worth_a_look = 1.25;
/* So many plans of a size, measured whole, say how far off the model is. */
enum { LOOKS_LEAST = 4 };
/* Tasks of longer segments wait for what those of shorter ones tell. */
static const size_t short_segment = 16384;
/* Of the faster of two plans, what counts as near it. */
static const double near_best = 1.05;
/* Ranks come late by so many calls at most. */
static const double spread_calls = 2;
static const uint64_t shown_every_ns = 200000000;

/* Times of a plan, for the model. */
struct points {
    struct tune_point at[POINTS_MAX];
    size_t count;
};

/* Of one collective. */
struct campaign {
    struct tune_search *search;
    xylem_coll_t coll;
    enum tune_arrivals arrivals;
    const size_t *bytes; /* [sizes] */
    size_t sizes;
    size_t listed, plans; /* candidates, and these with neighbours of some */
    struct tune_plan *plan;
    double *measured;              /* [plans][sizes], us; 0: not yet */
    double *predicted;             /* the same, by the model */
    struct points *points;         /* [plans] */
    double own[TUNE_SIZES_MAX];    /* what the library takes by itself, us */
    double best[TUNE_SIZES_MAX];   /* the fastest that is known; 0: none is */
    double spread[TUNE_SIZES_MAX]; /* by so much ranks come late at most, us */
    /* What plans take that are measured whole, of what the model expects: the
     * least of so many. */
    double ratio[TUNE_SIZES_MAX];
    unsigned looks[TUNE_SIZES_MAX];
    double end_s; /* after the search's begin */
    int is_over;  /* no time is left */
};

static const struct tune_plan own_plan = {.algorithm = "auto", .lanes = 1};

static double seconds_since(uint64_t begin_ns)
{
    return (double)(noise_now_ns() - begin_ns) / 1e9;
}

/* ---- measuring ---- */

/* What the rest would take, if it takes as long as what has been measured. */
static double left_s(const struct tune_search *search)
{
    double most =
               60 * search->options->minutes - seconds_since(search->begin_ns),
           each = search->measuring_s / ((double)search->done + 1e-9),
           left = search->expected > search->seen
                      ? each * (double)(search->expected - search->seen)
                      : 0;

    return left < most ? left : most > 0 ? most : 0;
}

static void progress_show(struct campaign *c, const struct tune_time *time)
{
    struct tune_search *search = c->search;
    uint64_t now_ns = noise_now_ns();

    if (search->options->quiet || !search->place->is_first ||
        now_ns - search->shown_ns < shown_every_ns)
        return;
    search->shown_ns = now_ns;
    fprintf(stderr,
            "\r%zu times of about %zu; %s, %u nodes of %u, %zu bytes: %-24s "
            "about %.0f s left ",
            search->seen,
            search->expected > search->seen ? search->expected : search->seen,
            xyl_coll_traits(c->coll)->name, time->shape.nodes,
            time->shape.node_ranks, time->bytes, time->plan.algorithm,
            left_s(search));
}

/* What the first rank knows before a measurement, and tells the others. */
struct verdict {
    double us;
    int is_known, is_over;
};

static int verdict_agree(struct campaign *c, const struct tune_time *time,
                         struct verdict *verdict)
{
    struct tune_search *search = c->search;
    const struct tune_time *known;

    *verdict = (struct verdict){0};
    if (search->place->is_first) {
        known = tune_journal_find(search->journal, time);
        verdict->is_over = seconds_since(search->begin_ns) > c->end_s;
        if (known != NULL) {
            verdict->is_known = 1;
            verdict->us = known->us;
            search->cost_s += known->cost_s;
        }
    }
    return search->place->agree(search->place->state, verdict, sizeof *verdict);
}

static int time_anew(struct campaign *c, struct tune_time *time)
{
    struct tune_search *search = c->search;
    struct tune_place *place = search->place;
    uint64_t begin_ns = noise_now_ns();
    double took_s;

    progress_show(c, time);
    if (!place->time(place->state, time, &time->us) ||
        !place->agree(place->state, &time->us, sizeof time->us))
        return 0;
    took_s = seconds_since(begin_ns);
    time->cost_s = search->options->machine != NULL ? time->us / 1e6 : took_s;
    search->measuring_s += took_s;
    search->done++;
    search->cost_s += time->cost_s;
    return 1;
}

static struct tune_time time_of(const struct campaign *c,
                                const struct tune_plan *plan, size_t bytes,
                                double spread_us)
{
    return (struct tune_time){.coll = c->coll,
                              .shape = c->search->place->shape,
                              .bytes = bytes,
                              .plan = *plan,
                              .arrivals = spread_us > 0 ? c->arrivals
                                                        : TUNE_SYNCHRONISED,
                              .spread_us = spread_us};
}

/* 1 with time->us 0 when no time is left. */
static int time_find(struct campaign *c, struct tune_time *time)
{
    struct tune_search *search = c->search;
    struct verdict verdict;

    search->seen++;
    if (!verdict_agree(c, time, &verdict))
        return 0;
    c->is_over = !verdict.is_known && verdict.is_over;
    search->is_over |= c->is_over;
    time->us = verdict.us;
    if (verdict.is_known || verdict.is_over)
        return 1;
    return time_anew(c, time) && (!search->place->is_first ||
                                  tune_journal_add(search->journal, time));
}

/* Of a size, or of bytes between some. */
static double spread_of(const struct campaign *c, size_t bytes)
{
    size_t s = 0;

    while (s + 1 < c->sizes && c->bytes[s] < bytes)
        s++;
    return c->spread[s];
}

static int time_plan(struct campaign *c, const struct tune_plan *plan,
                     size_t bytes, double *us_out)
{
    struct tune_time time = time_of(c, plan, bytes, spread_of(c, bytes));
    int ok = time_find(c, &time);

    *us_out = time.us;
    return ok;
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

static void best_improve(struct campaign *c, size_t size, double us)
{
    if (us > 0 && (c->best[size] == 0 || us < c->best[size]))
        c->best[size] = us;
}

static int measure(struct campaign *c, size_t plan, size_t size)
{
    double *us = at(c, c->measured, plan, size);

    if (*us > 0 || c->is_over)
        return 1;
    if (!time_plan(c, &c->plan[plan], c->bytes[size], us))
        return 0;
    best_improve(c, size, *us);
    return 1;
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

static double expect(const struct campaign *c, size_t p, size_t s,
                     const struct points *points)
{
    const struct tune_plan *plan = &c->plan[p];

    return tune_model_at(points->at, points->count,
                         (double)(plan->segment_bytes != 0
                                      ? steps_of(plan, c->bytes[s])
                                      : c->bytes[s]));
}

/* All plans of a size may take longer than the model expects, if its tasks fit
 * into caches and the message does not. */
static double corrected(const struct campaign *c, size_t s, double us)
{
    return c->looks[s] >= LOOKS_LEAST ? c->ratio[s] * us : us;
}

static int is_worth_a_look(const struct campaign *c, size_t s, double us)
{
    return c->best[s] == 0 || corrected(c, s, us) < worth_a_look * c->best[s];
}

/* By these points, for some size. */
static int may_win(const struct campaign *c, size_t p,
                   const struct points *points)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (is_candidate(c, p, s) &&
            is_worth_a_look(c, s, expect(c, p, s, points)))
            return 1;
    return 0;
}

/* The steps of the i-th task: no longer than the longest message, nor than what
 * lies in the same memory as one step. */
static size_t nth_steps(const struct campaign *c, size_t p, size_t i)
{
    size_t one = steps_bytes(&c->plan[p], 1), most = c->bytes[c->sizes - 1];

    if (c->search->place->near_bytes != 0 &&
        most > c->search->place->near_bytes)
        most = c->search->place->near_bytes;
    most = most / one;
    return i == 0 || steps_measured[i] < most ? steps_measured[i] : most;
}

/* The tasks of a plan in segments, as long as it may win. */
static int measure_steps(struct campaign *c, size_t p, struct points *points)
{
    size_t i, steps, last = 0;
    double us;

    for (i = 0; i < STEPS && may_win(c, p, points); i++) {
        steps = nth_steps(c, p, i);
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

    while (last > 0 && !is_candidate(c, p, last - 1))
        last--;
    for (s = 0; s < last && may_win(c, p, points); s++) {
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

/* What those of shorter segments say of a plan: whether it is worth a look. */
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
        if (is_candidate(c, p, s))
            *at(c, c->predicted, p, s) = expect(c, p, s, points);
    return 1;
}

static int promises_ever(const struct campaign *c, size_t p)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (is_candidate(c, p, s) &&
            tune_plan_promises(c->coll, &c->plan[p], &c->search->place->shape,
                               c->bytes[s]))
            return 1;
    return 0;
}

/* Those that promise something, or the others; of these, the ones with long
 * segments, or the others. */
static int model_some(struct campaign *c, int promise, int is_long)
{
    size_t p;

    for (p = 0; p < c->plans && !c->is_over; p++)
        if (is_ever_candidate(c, p) && promises_ever(c, p) == promise &&
            (c->plan[p].segment_bytes > short_segment) == is_long &&
            !model(c, p))
            return 0;
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

/* Of those that have been measured; c->plans: none has been. */
static size_t fastest(const struct campaign *c, size_t s)
{
    size_t best = c->plans, p;
    double us;

    for (p = 0; p < c->plans; p++) {
        us = *at(c, c->measured, p, s);
        if (us > 0 && (best == c->plans || us < *at(c, c->measured, best, s)))
            best = p;
    }
    return best;
}

static void choose(const struct campaign *c, size_t s,
                   struct tune_choice *choice)
{
    size_t p = fastest(c, s);

    *choice = (struct tune_choice){.is_known = p < c->plans};
    if (choice->is_known) {
        choice->plan = c->plan[p];
        choice->us = *at(c, c->measured, p, s);
    }
}

static void ratio_note(struct campaign *c, size_t p, size_t s)
{
    double ratio = *at(c, c->measured, p, s) / *at(c, c->predicted, p, s);

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
            !is_worth_a_look(c, s, *at(c, c->predicted, p, s)))
            break;
        if (!measure(c, p, s))
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
static int measure_tasks(struct campaign *c)
{
    int last = c->search->options->heuristics != 0, promise;

    for (promise = 1; promise >= last; promise--)
        if (!model_some(c, promise, 0) || !confirm_all(c, LOOKS_LEAST) ||
            !model_some(c, promise, 1) ||
            !confirm_all(c, c->search->options->confirm))
            return 0;
    return 1;
}

/* ---- what lies between ---- */

/* c->plans: there is no room. */
static size_t plan_add(struct campaign *c, const struct tune_plan *plan)
{
    size_t p = 0;

    while (p < c->plans && !tune_plan_is_same(&c->plan[p], plan))
        p++;
    if (p == c->plans && c->plans < TUNE_PLANS_MAX)
        c->plan[c->plans++] = *plan;
    return p;
}

static int measure_if_asked(struct campaign *c, size_t p, size_t s)
{
    return p == c->plans || !is_asked_for(c, p, s) || measure(c, p, s);
}

/* From the fastest to a faster one, as long as there is one beside it. */
static int refine(struct campaign *c, size_t s)
{
    struct tune_plan list[TUNE_NEIGHBOURS_MAX];
    size_t p = fastest(c, s), before = c->plans, count, i;

    while (p < c->plans && p != before && !c->is_over) {
        before = p;
        count =
            tune_plan_neighbours(&c->plan[p], &c->search->place->shape, list);
        for (i = 0; i < count; i++)
            if (!measure_if_asked(c, plan_add(c, &list[i]), s))
                return 0;
        p = fastest(c, s);
    }
    return 1;
}

static int refine_all(struct campaign *c)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (!refine(c, s))
            return 0;
    return 1;
}

/* Between two sizes with different plans: which of them is faster in the middle
 * says on which side of it the border between their rules is. */
static int cross_check(struct campaign *c, size_t s,
                       struct tune_choice *smaller,
                       const struct tune_choice *larger)
{
    struct tune_search *search = c->search;
    double from = (double)c->bytes[s], to = (double)c->bytes[s + 1],
           middle = tune_model_middle(from, to), smaller_us, larger_us;
    size_t bytes = (size_t)middle / sizeof(float) * sizeof(float);

    if (!smaller->is_known || !larger->is_known ||
        tune_plan_is_same(&smaller->plan, &larger->plan))
        return 1;
    if (!time_plan(c, &smaller->plan, bytes, &smaller_us) ||
        !time_plan(c, &larger->plan, bytes, &larger_us))
        return 0;
    if (smaller_us <= 0 || larger_us <= 0)
        return 1;
    search->checked++;
    search->near_best += larger_us <= near_best * smaller_us;
    if (larger_us / smaller_us > search->worst)
        search->worst = larger_us / smaller_us;
    smaller->end =
        (size_t)(smaller_us < larger_us ? tune_model_middle(middle, to)
                                        : tune_model_middle(from, middle));
    return 1;
}

/* What the library takes, which is what others have to be faster than. */
static int measure_own(struct campaign *c)
{
    struct tune_time time;
    size_t s;

    for (s = 0; s < c->sizes; s++) {
        time = time_of(c, &own_plan, c->bytes[s], 0);
        if (!time_find(c, &time))
            return 0;
        c->own[s] = time.us;
        if (c->arrivals != TUNE_SYNCHRONISED && time.us > 0) {
            c->spread[s] = spread_calls * time.us;
            if (!time_plan(c, &own_plan, c->bytes[s], &c->own[s]))
                return 0;
        }
        best_improve(c, s, c->own[s]);
    }
    return 1;
}

/* ---- choices ---- */

/* What all measurements would have cost, by the times that are known or
 * expected, and by what the cost of measurements was. */
static double exhaustive_cost(const struct campaign *c)
{
    double us = 0, known_us = 0, known = 0, all = 0, value;
    size_t p, s;

    for (p = 0; p < c->listed; p++)
        for (s = 0; s < c->sizes; s++) {
            if (!is_asked_for(c, p, s))
                continue;
            all++;
            value = *at(c, c->measured, p, s) > 0
                        ? *at(c, c->measured, p, s)
                        : corrected(c, s, *at(c, c->predicted, p, s));
            known_us += value;
            known += value > 0;
        }
    us = known > 0 ? known_us * all / known : 0;
    return c->search->options->machine != NULL
               ? us / 1e6
               : all * (c->search->cost_s - c->search->turns_s) /
                     ((double)(c->search->done - c->search->turns) + 1e-9);
}

/* Those that are timed in turns: the library's own choice, and the fastest. */
struct finalist {
    struct tune_plan plan;
    struct tune_time time;
    double us[TURNS];
};

static size_t finalists_find(const struct campaign *c, size_t s,
                             struct finalist *list)
{
    size_t count = 1, p, best, i;

    list[0].plan = own_plan;
    for (; count <= FINALISTS; count++) {
        best = c->plans;
        for (p = 0; p < c->plans; p++) {
            double us = *at(c, c->measured, p, s);
            for (i = 1; i < count; i++)
                if (tune_plan_is_same(&list[i].plan, &c->plan[p]))
                    us = 0;
            if (us > 0 && us < worth_a_rule * c->own[s] &&
                (best == c->plans || us < *at(c, c->measured, best, s)))
                best = p;
        }
        if (best == c->plans)
            break;
        list[count].plan = c->plan[best];
    }
    return count;
}

/* By medians, and no plan that has lost more than one turn is faster than the
 * library's own: it may be the same, with luck. */
static void finalists_judge(struct finalist *list, size_t count)
{
    unsigned turn, won[1 + FINALISTS] = {0};
    size_t i;

    for (i = 0; i < count; i++)
        for (turn = 0; turn < TURNS; turn++)
            won[i] += list[i].us[turn] < list[0].us[turn];
    for (i = 0; i < count; i++) { /* which sorts them */
        list[i].time.us = stats_median(list[i].us, TURNS);
        if (i > 0 && won[i] < TURNS_WON && list[i].time.us < list[0].time.us)
            list[i].time.us = list[0].time.us;
    }
}

/* Kept by other names than those of the search. */
static int turns_take(struct campaign *c, size_t s, struct finalist *list,
                      size_t count)
{
    size_t i, turn;

    for (turn = 0; turn < TURNS; turn++)
        for (i = 0; i < count; i++) {
            list[i].time = time_of(c, &list[i].plan, c->bytes[s], c->spread[s]);
            if (!time_anew(c, &list[i].time))
                return 0;
            list[i].us[turn] = list[i].time.us;
            c->search->turns_s += list[i].time.cost_s;
            c->search->turns++;
        }
    finalists_judge(list, count);
    for (i = 0; i < count; i++) {
        snprintf(list[i].time.plan.algorithm,
                 sizeof list[i].time.plan.algorithm, "turns/%.56s",
                 list[i].plan.algorithm);
        list[i].time.cost_s = 0;
        if (c->search->place->is_first &&
            !tune_journal_add(c->search->journal, &list[i].time))
            return 0;
    }
    return 1;
}

/* 1 with *known_out 1 when all have been timed in turns before. */
static int turns_find(struct campaign *c, size_t s, struct finalist *list,
                      size_t count, int *known_out)
{
    struct verdict verdict = {.is_known = 1};
    size_t i;

    for (i = 0; i < count && verdict.is_known; i++) {
        list[i].time = time_of(c, &list[i].plan, c->bytes[s], c->spread[s]);
        snprintf(list[i].time.plan.algorithm,
                 sizeof list[i].time.plan.algorithm, "turns/%.56s",
                 list[i].plan.algorithm);
        if (!verdict_agree(c, &list[i].time, &verdict))
            return 0;
        list[i].time.us = verdict.us;
    }
    *known_out = verdict.is_known;
    c->is_over |= !verdict.is_known && verdict.is_over;
    return 1;
}

/* On ranks of a job. What cannot be timed in turns any more gets no rule. */
static int settle(struct campaign *c, size_t s, struct tune_choice *choice)
{
    struct finalist list[1 + FINALISTS];
    size_t count = finalists_find(c, s, list), i;
    int known = 0;

    choice->is_known = 0;
    if (count == 1)
        return 1;
    if (!turns_find(c, s, list, count, &known))
        return 0;
    if (!known && c->is_over)
        return 1;
    if (!known && !turns_take(c, s, list, count))
        return 0;
    c->own[s] = list[0].time.us;
    for (i = 1; i < count; i++)
        if (!choice->is_known || list[i].time.us < choice->us)
            *choice = (struct tune_choice){
                .plan = list[i].plan, .us = list[i].time.us, .is_known = 1};
    return 1;
}

/* No rule where it gains too little. */
static int compare(struct campaign *c, size_t s, struct tune_choice *choice)
{
    struct tune_search *search = c->search;
    int is_job = search->options->machine == NULL;

    if (c->own[s] <= 0 || !choice->is_known) {
        choice->is_known = 0;
        return 1;
    }
    search->compared++;
    if (is_job && !search->options->all && !settle(c, s, choice))
        return 0;
    if (!choice->is_known)
        return 1;
    if (choice->us < worth_a_rule * c->own[s]) {
        search->gained++;
        search->gain += log(c->own[s] / choice->us);
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
            struct tune_time like =
                time_of(c, &c->plan[p], c->bytes[s], c->spread[s]);
            known = tune_journal_find(c->search->journal, &like);
            if (!is_candidate(c, p, s))
                continue;
            table_text(csv, xyl_coll_traits(c->coll)->name);
            table_count(csv, like.shape.nodes);
            table_count(csv, like.shape.node_ranks);
            table_count(csv, like.bytes);
            table_text(csv, like.plan.algorithm);
            table_count(csv, like.plan.segment_bytes);
            table_real(csv, corrected(c, s, *at(c, c->predicted, p, s)), 3);
            table_real(csv, known != NULL ? known->us : 0, 3);
        }
}

/* A share of the time that is left: the first collective must not take all. */
static void campaign_begin(struct campaign *c)
{
    struct tune_search *search = c->search;
    double now_s = seconds_since(search->begin_ns),
           left = 60 * search->options->minutes - now_s;

    if (search->campaigns_left == 0)
        search->campaigns_left = 1;
    c->end_s = now_s + left / (double)search->campaigns_left--;
}

static int campaign_run(struct campaign *c, struct tune_choice *choices)
{
    const struct tune_options *options = c->search->options;
    double end_s = c->end_s;
    size_t s;
    int ok;

    if (options->machine == NULL && !options->all)
        c->end_s -=
            (1 - search_part) * (end_s - seconds_since(c->search->begin_ns));
    ok = measure_own(c) &&
         (options->exhaustive ? measure_all(c) : measure_tasks(c)) &&
         refine_all(c);
    if (!ok)
        return 0;
    c->end_s = end_s;
    for (s = 0; s < c->sizes; s++) {
        choose(c, s, &choices[s]);
        if (!compare(c, s, &choices[s]))
            return 0;
    }
    for (s = 0; s + 1 < c->sizes; s++)
        if (!cross_check(c, s, &choices[s], &choices[s + 1]))
            return 0;
    c->search->exhaustive_s += exhaustive_cost(c);
    if (c->search->csv != NULL)
        rows_write(c, c->search->csv);
    return 1;
}

/* Blocks of all ranks have an end. */
static size_t sizes_count(const struct tune_options *options, xylem_coll_t coll,
                          const struct tune_shape *shape)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);
    size_t count = options->bytes_count;

    if (coll == XYLEM_COLL_BARRIER)
        return 1;
    while ((traits->send_blocks || traits->recv_blocks) && count > 1 &&
           options->bytes[count - 1] >
               blocks_bytes_max / shape->nodes / shape->node_ranks)
        count--;
    return count;
}

static int campaign_create(struct campaign *c)
{
    c->plan = calloc(TUNE_PLANS_MAX, sizeof *c->plan);
    c->points = calloc(TUNE_PLANS_MAX, sizeof *c->points);
    c->measured = calloc(TUNE_PLANS_MAX * c->sizes, sizeof *c->measured);
    c->predicted = calloc(TUNE_PLANS_MAX * c->sizes, sizeof *c->predicted);
    if (c->plan == NULL || c->points == NULL || c->measured == NULL ||
        c->predicted == NULL)
        return 0;
    c->listed = c->plans =
        tune_plans_list(c->coll, &c->search->place->shape, c->plan);
    return 1;
}

static void campaign_destroy(struct campaign *c)
{
    free(c->plan);
    free(c->points);
    free(c->measured);
    free(c->predicted);
}

size_t tune_search_expect(const struct tune_options *options, xylem_coll_t coll,
                          const struct tune_shape *shape)
{
    struct tune_place place = {.shape = *shape};
    struct tune_search search = {.options = options, .place = &place};
    struct campaign c = {.search = &search,
                         .coll = coll,
                         .bytes = options->bytes,
                         .sizes = sizes_count(options, coll, shape)};
    size_t expected = c.sizes, p, s;

    if (campaign_create(&c) && c.plans > 1) {
        for (p = 0; p < c.plans; p++) {
            for (s = 0; s < c.sizes && options->exhaustive; s++)
                expected += (size_t)is_candidate(&c, p, s);
            if (!options->exhaustive && is_ever_candidate(&c, p))
                expected += c.plan[p].segment_bytes != 0
                                ? STEPS
                                : c.sizes / SIZES_STRIDE + 1;
        }
        if (!options->exhaustive)
            expected += c.sizes * (options->confirm / 2 + TUNE_NEIGHBOURS_MAX);
    } else {
        expected = 0;
    }
    campaign_destroy(&c);
    return expected;
}

int tune_search_run(struct tune_search *search, xylem_coll_t coll,
                    enum tune_arrivals arrivals, struct tune_choice *choices)
{
    struct campaign c = {
        .search = search,
        .coll = coll,
        .arrivals = arrivals,
        .bytes = search->options->bytes,
        .sizes = sizes_count(search->options, coll, &search->place->shape)};
    int ok;

    campaign_begin(&c);
    ok = campaign_create(&c);
    if (ok && c.plans > 1)
        ok = campaign_run(&c, choices);
    campaign_destroy(&c);
    return ok;
}
