#include "bench/tune/campaign.h"

#include <math.h>
#include <string.h>

#include "bench/measure/noise.h"
#include "collectives/data/description.h"

static const uint64_t shown_every_ns = 200000000;
/* A rule is worth while if its plan takes at most this share of the time of the
 * library's own plan. */
static const double worth_a_rule = 0.97;

const struct tune_plan campaign_own_plan = {.algorithm = "auto", .lanes = 1};

double tune_seconds_since(uint64_t begin_ns)
{
    return (double)(noise_now_ns() - begin_ns) / 1e9;
}

/* ---- times ---- */

/* The time for the rest, if it takes as long as the measurements so far. */
static double left_s(const struct tune_search *search)
{
    double most = 60 * search->options->minutes -
                  tune_seconds_since(search->begin_ns),
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

static int knows_leaders(const struct tune_time *known,
                         const struct tune_time *time)
{
    return time->leaders == 0 || known->leaders == time->leaders;
}

int campaign_ask(struct campaign *c, const struct tune_time *time,
                 struct campaign_verdict *verdict)
{
    struct tune_search *search = c->search;
    size_t bytes = time->leaders * sizeof *c->leader_us;
    struct tune_time *known;

    *verdict = (struct campaign_verdict){0};
    if (search->place->is_first) {
        known = tune_journal_find(search->journal, time);
        verdict->is_over = tune_seconds_since(search->begin_ns) > c->end_s;
        if (known != NULL && knows_leaders(known, time)) {
            verdict->is_known = 1;
            verdict->us = known->us;
            search->cost_s += known->is_counted ? 0 : known->cost_s;
            known->is_counted = 1;
            if (bytes > 0)
                memcpy(c->leader_us, known->leader_us, bytes);
        }
    }
    return search->place->agree(search->place->state, verdict,
                                sizeof *verdict) &&
           (!verdict->is_known || bytes == 0 ||
            search->place->agree(search->place->state, c->leader_us, bytes));
}

int campaign_time_anew(struct campaign *c, struct tune_time *time)
{
    struct tune_search *search = c->search;
    struct tune_place *place = search->place;
    uint64_t begin_ns = noise_now_ns();
    double took_s;
    uint32_t i;

    progress_show(c, time);
    if (!place->time(place->state, time, &time->us, c->leader_us) ||
        !place->agree(place->state, &time->us, sizeof time->us))
        return 0;
    for (i = 0; i < time->leaders; i++) /* as in the journal */
        c->leader_us[i] = round(c->leader_us[i] * 1e3) / 1e3;
    time->leader_us = c->leader_us;
    time->is_counted = 1;
    took_s = tune_seconds_since(begin_ns);
    time->cost_s = search->options->machine != NULL ? time->us / 1e6 : took_s;
    search->measuring_s += took_s;
    search->done++;
    search->cost_s += time->cost_s;
    return 1;
}

struct tune_time campaign_time(const struct campaign *c,
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

/* A plan in levels is timed with its leaders: of its calls of few steps
 * levels.c may ask for them later. */
static uint32_t leaders_kept(const struct campaign *c,
                             const struct tune_time *time)
{
    uint32_t nodes = c->search->place->shape.nodes;

    return time->leaders != 0 || nodes == 1 ||
                   time->arrivals != TUNE_SYNCHRONISED ||
                   tune_plan_leaders(c->coll, &time->plan) == 0
               ? time->leaders
               : nodes;
}

int campaign_time_find(struct campaign *c, struct tune_time *time)
{
    struct tune_search *search = c->search;
    struct campaign_verdict verdict;

    search->seen++;
    if (!campaign_ask(c, time, &verdict))
        return 0;
    c->is_over = !verdict.is_known && verdict.is_over;
    search->is_over |= c->is_over;
    time->us = verdict.us;
    time->leader_us = c->leader_us;
    if (verdict.is_known || verdict.is_over)
        return 1;
    time->leaders = leaders_kept(c, time);
    return campaign_time_anew(c, time) &&
           (!search->place->is_first ||
            tune_journal_add(search->journal, time));
}

/* The spread for a size, or for bytes between two sizes. */
static double spread_of(const struct campaign *c, size_t bytes)
{
    size_t s = 0;

    while (s + 1 < c->sizes && c->bytes[s] < bytes)
        s++;
    return c->spread[s];
}

int campaign_time_plan(struct campaign *c, const struct tune_plan *plan,
                       size_t bytes, double *us_out)
{
    struct tune_time time = campaign_time(c, plan, bytes, spread_of(c, bytes));
    int ok = campaign_time_find(c, &time);

    *us_out = time.us;
    return ok;
}

/* ---- plans ---- */

size_t campaign_add(struct campaign *c, const struct tune_plan *plan)
{
    size_t p = 0;

    while (p < c->plans && !tune_plan_is_same(&c->plan[p], plan))
        p++;
    if (p == c->plans && c->plans < TUNE_PLANS_MAX)
        c->plan[c->plans++] = *plan;
    return p;
}

int campaign_asks_for(const struct campaign *c, size_t plan, size_t size)
{
    const char *begin = c->search->options->plans;

    return tune_plan_applies(&c->plan[plan], c->bytes[size]) &&
           tune_plan_fits(c->coll, &c->plan[plan], &c->search->place->shape,
                          c->bytes[size]) &&
           (begin == NULL ||
            strncmp(c->plan[plan].algorithm, begin, strlen(begin)) == 0);
}

int campaign_has(const struct campaign *c, size_t plan, size_t size)
{
    return campaign_asks_for(c, plan, size) &&
           (!c->search->options->heuristics ||
            tune_plan_promises(c->coll, &c->plan[plan],
                               &c->search->place->shape, c->bytes[size]));
}

int campaign_ever_has(const struct campaign *c, size_t plan)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (campaign_has(c, plan, s))
            return 1;
    return 0;
}

void campaign_improve(struct campaign *c, size_t size, double us)
{
    if (us > 0 && (c->best[size] == 0 || us < c->best[size]))
        c->best[size] = us;
}

int campaign_measure(struct campaign *c, size_t plan, size_t size)
{
    double *us = campaign_at(c, c->measured, plan, size);

    if (*us > 0 || c->is_over)
        return 1;
    if (!campaign_time_plan(c, &c->plan[plan], c->bytes[size], us))
        return 0;
    campaign_improve(c, size, *us);
    return 1;
}

size_t campaign_fastest(const struct campaign *c, size_t s)
{
    size_t best = c->plans, p;
    double us;

    for (p = 0; p < c->plans; p++) {
        us = *campaign_at(c, c->measured, p, s);
        if (us > 0 &&
            (best == c->plans || us < *campaign_at(c, c->measured, best, s)))
            best = p;
    }
    return best;
}

int campaign_gains(const struct campaign *c, size_t s, double us)
{
    return us < worth_a_rule * c->own[s];
}

size_t campaign_nth_steps(const struct campaign *c, size_t step_bytes, size_t i)
{
    static const size_t steps[TUNE_TASK_POINTS] = {1, 3, CAMPAIGN_STEPS_MOST};
    size_t most = c->bytes[c->sizes - 1];

    if (i >= TUNE_TASK_POINTS)
        return 0;
    if (c->search->place->near_bytes != 0 &&
        most > c->search->place->near_bytes)
        most = c->search->place->near_bytes;
    most = most / step_bytes;
    return i == 0 || steps[i] < most ? steps[i] : most;
}

/* All plans of a size may take longer than the model expects, if its tasks fit
 * into caches and the message does not. */
double campaign_corrected(const struct campaign *c, size_t s, double us)
{
    return c->looks[s] >= CAMPAIGN_LOOKS_LEAST ? c->ratio[s] * us : us;
}
