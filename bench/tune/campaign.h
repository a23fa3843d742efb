/* One collective of a search, on one shape of ranks: its plans, and the results
 * so far. Functions that return int return 1, or 0 after a message that says
 * what is wrong. */
#pragma once

#include "bench/tune/tune.h"

enum { POINTS_MAX = TUNE_SIZES_MAX };

/* Times of a plan, for the model. */
struct points {
    struct tune_point at[POINTS_MAX];
    size_t count;
};

struct campaign {
    struct tune_search *search;
    xylem_coll_t coll;
    enum tune_arrivals arrivals;
    const size_t *bytes; /* [sizes] */
    size_t sizes;
    /* Candidates with the table's choice within nodes; all, with other choices
     * there and with neighbours of some. */
    size_t listed, plans;
    struct tune_plan *plan;
    double *measured;              /* [plans][sizes], us; 0: not yet */
    double *predicted;             /* the same, as the search expects it */
    double *by_tasks;              /* the same, by tasks of levels */
    struct points *points;         /* [plans] */
    double own[TUNE_SIZES_MAX];    /* of the library's own plan, us */
    double best[TUNE_SIZES_MAX];   /* the fastest that is known; 0: none is */
    double spread[TUNE_SIZES_MAX]; /* by which ranks come late at most, us */
    /* The least ratio of measured to expected times, of so many plans that were
     * measured whole. */
    double ratio[TUNE_SIZES_MAX];
    unsigned looks[TUNE_SIZES_MAX];
    struct tune_journal tasks; /* of levels, without a file */
    /* Each has an element for the leader of each node. */
    struct tune_leader *leaders; /* times of the levels of a plan */
    struct tune_task *timed;     /* times of the level timed last */
    double *leader_us;           /* of the last call that has any */
    double end_s;                /* after the search's begin */
    int is_over;                 /* no time is left */
};

/* The library's own choice. */
extern const struct tune_plan campaign_own_plan;

static inline double *campaign_at(const struct campaign *c, double *times,
                                  size_t plan, size_t size)
{
    return &times[plan * c->sizes + size];
}

/* ---- times ---- */

double tune_seconds_since(uint64_t begin_ns);

/* The name of a time, which is not known yet. */
struct tune_time campaign_time(const struct campaign *c,
                               const struct tune_plan *plan, size_t bytes,
                               double spread_us);

/* Facts that the first rank knows before a measurement and tells the others. */
struct campaign_verdict {
    double us;
    int is_known, is_over;
};
int campaign_ask(struct campaign *c, const struct tune_time *time,
                 struct campaign_verdict *verdict);
/* Fills c->leader_us[time->leaders], too. */
int campaign_time_anew(struct campaign *c, struct tune_time *time);
/* Finds the time in the journal, or measures it; 1 with time->us 0 if no time
 * is left. With time->leaders only known times of so many leaders count, and
 * time->leader_us are theirs until the next call. */
int campaign_time_find(struct campaign *c, struct tune_time *time);
int campaign_time_plan(struct campaign *c, const struct tune_plan *plan,
                       size_t bytes, double *us_out);

/* ---- plans ---- */

/* The plan's number, new or not; c->plans: there is no room. */
size_t campaign_add(struct campaign *c, const struct tune_plan *plan);
/* 1: the plan fits this size, and the options let it be measured; the same
 * without regard to heuristics. */
int campaign_has(const struct campaign *c, size_t plan, size_t size);
int campaign_asks_for(const struct campaign *c, size_t plan, size_t size);
int campaign_ever_has(const struct campaign *c, size_t plan);
/* A size takes no longer than that. */
void campaign_improve(struct campaign *c, size_t size, double us);
/* A plan on a whole message. */
int campaign_measure(struct campaign *c, size_t plan, size_t size);
/* The fastest measured plan; c->plans: there is none. */
size_t campaign_fastest(const struct campaign *c, size_t size);
/* 1: the time is worth a rule, as it is enough below the library's. */
int campaign_gains(const struct campaign *c, size_t size, double us);

/* ---- tasks of the model ---- */

/* The most steps of a task. */
enum { CAMPAIGN_STEPS_MOST = 9 };
/* The steps of the i-th task: no longer than the longest message, nor than the
 * memory (cache) in which a step of `step_bytes` lies. 0: there is none. */
size_t campaign_nth_steps(const struct campaign *c, size_t step_bytes,
                          size_t i);
/* The least number of plans of a size that are measured whole, which shows the
 * model's error. */
enum { CAMPAIGN_LOOKS_LEAST = 4 };
/* The model's time, corrected by its error so far. */
double campaign_corrected(const struct campaign *c, size_t size, double us);

/* ---- by_model.c ---- */

/* Measures tasks of plans, and whole the plans that may be the fastest. */
int campaign_measure_tasks(struct campaign *c);
/* How many tasks of a plan, about. */
size_t campaign_tasks(const struct campaign *c, size_t plan);

/* ---- levels.c ---- */

/* Expects the times of variants of the most promising plans in levels, which
 * have another algorithm within nodes, from tasks of levels. */
int campaign_vary_within(struct campaign *c);

/* ---- between.c ---- */

/* From the fastest plan of each size to a faster one beside it. */
int campaign_refine(struct campaign *c);
/* Finds the border between the rules of two sizes with different plans. */
int campaign_cross_check(struct campaign *c, size_t size,
                         struct tune_choice *smaller,
                         const struct tune_choice *larger);

/* ---- turns.c ---- */

/* On ranks of a job: times the finalists in turns. A plan that cannot be timed
 * in turns any more gets no rule. */
int campaign_settle(struct campaign *c, size_t size,
                    struct tune_choice *choice);
