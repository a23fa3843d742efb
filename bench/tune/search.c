/* The four strategies of the thesis' figure 6.1: every plan on every size, or
 * few sizes of each plan and a model for the rest; each with all plans, or only
 * with those that heuristics let pass. */
#include <math.h>
#include <stdlib.h>

#include "bench/tune/campaign.h"
#include "collectives/data/description.h"

/* Beyond, a rank's blocks are not worth the memory. */
static const size_t blocks_bytes_max = (size_t)256 << 20;
/* The share of a campaign's time for its search. */
static const double search_part = 0.8;
/* Ranks come late by at most this times the time of a call. */
static const double spread_calls = 2;

/* ---- strategies ---- */

static int measure_all(struct campaign *c)
{
    size_t s, p;

    for (s = 0; s < c->sizes; s++)
        for (p = 0; p < c->plans; p++)
            if (campaign_has(c, p, s) && !campaign_measure(c, p, s))
                return 0;
    return 1;
}

/* Measures the library's own plan, which others have to beat. */
static int measure_own(struct campaign *c)
{
    struct tune_time time;
    size_t s;

    for (s = 0; s < c->sizes; s++) {
        time = campaign_time(c, &campaign_own_plan, c->bytes[s], 0);
        if (!campaign_time_find(c, &time))
            return 0;
        c->own[s] = time.us;
        if (c->arrivals != TUNE_SYNCHRONISED && time.us > 0) {
            c->spread[s] = spread_calls * time.us;
            if (!campaign_time_plan(c, &campaign_own_plan, c->bytes[s],
                                    &c->own[s]))
                return 0;
        }
        campaign_improve(c, s, c->own[s]);
    }
    return 1;
}

static void choose(const struct campaign *c, size_t s,
                   struct tune_choice *choice)
{
    size_t p = campaign_fastest(c, s);

    *choice = (struct tune_choice){.is_known = p < c->plans};
    if (choice->is_known) {
        choice->plan = c->plan[p];
        choice->us = *campaign_at(c, c->measured, p, s);
    }
}

/* ---- what comes of it ---- */

/* A plan with all its variants within nodes counts as so many plans. */
static double plans_like(const struct campaign *c, size_t p)
{
    struct tune_plan variants[TUNE_WITHIN_MAX];

    if (!c->search->place->shares_memory)
        return 1;
    return 1 + (double)tune_plan_within(c->coll, &c->plan[p],
                                        &c->search->place->shape, variants);
}

/* The cost of measuring everything, from known or expected times and the cost
 * of the measurements so far. */
static double exhaustive_cost(const struct campaign *c)
{
    double us = 0, known_us = 0, known = 0, all = 0, value, like;
    size_t p, s;

    for (p = 0; p < c->listed; p++) {
        like = plans_like(c, p);
        for (s = 0; s < c->sizes; s++) {
            if (!campaign_asks_for(c, p, s))
                continue;
            all += like;
            value = *campaign_at(c, c->measured, p, s) > 0
                        ? *campaign_at(c, c->measured, p, s)
                        : campaign_corrected(
                              c, s, *campaign_at(c, c->predicted, p, s));
            known_us += value;
            known += value > 0;
        }
    }
    us = known > 0 ? known_us * all / known : 0;
    return c->search->options->machine != NULL
               ? us / 1e6
               : all * (c->search->cost_s - c->search->turns_s) /
                     ((double)(c->search->done - c->search->turns) + 1e-9);
}

/* Drops a choice that gains too little for a rule. */
static int compare(struct campaign *c, size_t s, struct tune_choice *choice)
{
    struct tune_search *search = c->search;
    int is_job = search->options->machine == NULL;

    if (c->own[s] <= 0 || !choice->is_known) {
        choice->is_known = 0;
        return 1;
    }
    search->compared++;
    if (is_job && !search->options->all && !campaign_settle(c, s, choice))
        return 0;
    if (!choice->is_known)
        return 1;
    if (campaign_gains(c, s, choice->us)) {
        search->gained++;
        search->gain += log(c->own[s] / choice->us);
        return 1;
    }
    choice->is_known = (int)search->options->all;
    return 1;
}

/* The time that the model expects from calls of few steps of the plan; 0: no
 * such call was measured. */
static double by_calls(const struct campaign *c, size_t p, size_t s)
{
    return tune_plan_names_within(c->coll, &c->plan[p])
               ? 0
               : campaign_corrected(c, s, *campaign_at(c, c->predicted, p, s));
}

static void error_add(struct tune_error *error, double expected, double us)
{
    if (expected <= 0)
        return;
    error->sum += fabs(expected / us - 1);
    error->count++;
}

/* Adds the errors of both models for the plans in levels that both know. */
static void errors_add(const struct campaign *c)
{
    struct tune_search *search = c->search;
    size_t p, s;
    double us;

    for (p = 0; p < c->plans; p++)
        for (s = 0; s < c->sizes; s++) {
            us = *campaign_at(c, c->measured, p, s);
            if (us <= 0 || *campaign_at(c, c->by_tasks, p, s) <= 0)
                continue;
            error_add(&search->by_calls, by_calls(c, p, s), us);
            error_add(&search->by_tasks, *campaign_at(c, c->by_tasks, p, s),
                      us);
        }
}

/* Writes all that is known, also from earlier searches. */
static void rows_write(const struct campaign *c, struct table *csv)
{
    const struct tune_time *known;
    size_t p, s;

    for (p = 0; p < c->plans; p++)
        for (s = 0; s < c->sizes; s++) {
            struct tune_time like =
                campaign_time(c, &c->plan[p], c->bytes[s], c->spread[s]);
            known = tune_journal_find(c->search->journal, &like);
            if (!campaign_has(c, p, s))
                continue;
            table_text(csv, xyl_coll_traits(c->coll)->name);
            table_count(csv, like.shape.nodes);
            table_count(csv, like.shape.node_ranks);
            table_count(csv, like.bytes);
            table_text(csv, like.plan.algorithm);
            table_count(csv, like.plan.segment_bytes);
            table_real(csv, by_calls(c, p, s), 3);
            table_real(csv, known != NULL ? known->us : 0, 3);
            table_real(csv, *campaign_at(c, c->by_tasks, p, s), 3);
        }
}

/* ---- campaigns ---- */

/* A share of the time that is left: the first collective must not take all. */
static void campaign_begin(struct campaign *c)
{
    struct tune_search *search = c->search;
    double now_s = tune_seconds_since(search->begin_ns),
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
        c->end_s -= (1 - search_part) *
                    (end_s - tune_seconds_since(c->search->begin_ns));
    ok = measure_own(c) &&
         (options->exhaustive ? measure_all(c) : campaign_measure_tasks(c)) &&
         campaign_refine(c);
    if (!ok)
        return 0;
    c->end_s = end_s;
    for (s = 0; s < c->sizes; s++) {
        choose(c, s, &choices[s]);
        if (!compare(c, s, &choices[s]))
            return 0;
    }
    for (s = 0; s + 1 < c->sizes; s++)
        if (!campaign_cross_check(c, s, &choices[s], &choices[s + 1]))
            return 0;
    c->search->exhaustive_s += exhaustive_cost(c);
    errors_add(c);
    if (c->search->csv != NULL)
        rows_write(c, &c->search->csv->table);
    return c->search->csv == NULL || results_commit(c->search->csv, 1);
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

static void add_all_within(struct campaign *c)
{
    struct tune_plan variants[TUNE_WITHIN_MAX];
    size_t p, i, count;

    for (p = 0; p < c->listed; p++) {
        count = tune_plan_within(c->coll, &c->plan[p], &c->search->place->shape,
                                 variants);
        for (i = 0; i < count && c->plans < TUNE_PLANS_MAX; i++)
            c->plan[c->plans++] = variants[i];
    }
}

static int campaign_create(struct campaign *c)
{
    c->plan = calloc(TUNE_PLANS_MAX, sizeof *c->plan);
    c->points = calloc(TUNE_PLANS_MAX, sizeof *c->points);
    c->measured = calloc(TUNE_PLANS_MAX * c->sizes, sizeof *c->measured);
    c->predicted = calloc(TUNE_PLANS_MAX * c->sizes, sizeof *c->predicted);
    c->by_tasks = calloc(TUNE_PLANS_MAX * c->sizes, sizeof *c->by_tasks);
    c->leaders = calloc(c->search->place->shape.nodes, sizeof *c->leaders);
    c->timed = calloc(c->search->place->shape.nodes, sizeof *c->timed);
    c->leader_us = calloc(c->search->place->shape.nodes, sizeof *c->leader_us);
    if (c->leaders == NULL || c->timed == NULL || c->leader_us == NULL)
        return 0;
    if (c->plan == NULL || c->points == NULL || c->measured == NULL ||
        c->predicted == NULL || c->by_tasks == NULL)
        return 0;
    c->listed = c->plans =
        tune_plans_list(c->coll, &c->search->place->shape, c->plan);
    if (c->search->options->exhaustive && c->search->place->shares_memory)
        add_all_within(c);
    return 1;
}

static void campaign_destroy(struct campaign *c)
{
    free(c->plan);
    free(c->points);
    free(c->measured);
    free(c->predicted);
    free(c->by_tasks);
    free(c->leaders);
    free(c->timed);
    free(c->leader_us);
    tune_journal_close(&c->tasks);
}

size_t tune_search_expect(const struct tune_options *options, xylem_coll_t coll,
                          const struct tune_shape *shape)
{
    struct tune_place place = {.shape = *shape, .shares_memory = 1};
    struct tune_search search = {.options = options, .place = &place};
    struct campaign c = {.search = &search,
                         .coll = coll,
                         .bytes = options->bytes,
                         .sizes = sizes_count(options, coll, shape)};
    size_t expected = c.sizes, p, s;

    if (campaign_create(&c) && c.plans > 1) {
        for (p = 0; p < c.plans; p++) {
            for (s = 0; s < c.sizes && options->exhaustive; s++)
                expected += (size_t)campaign_has(&c, p, s);
            if (!options->exhaustive && campaign_ever_has(&c, p))
                expected += campaign_tasks(&c, p);
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
