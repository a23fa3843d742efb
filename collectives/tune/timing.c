#include "collectives/tune/timing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/choose.h"
#include "collectives/choose/tuning.h"
#include "collectives/data/description.h"
#include "runtime/base/decimal.h"
#include "runtime/base/log.h"
#include "runtime/job/topology.h"

enum {
    CALLS_TO_SAY = 16, /* that have been timed before something is said */
    FAR_TIMES = 2,     /* a plan is far if its calls take so many times the */
    FAR_US = 5,        /* time in its rule, and longer by so much */
    TIMED_MAX = 4096,
    PER_DOUBLING = 4, /* buckets of times */
    BUCKETS = 40 * PER_DOUBLING,
    PLAN_BYTES = 128,
    MACHINE_BYTES = 128,
    PATH_BYTES = 4096
};

struct xyl_timed {
    xyl_query_t query;
    const xyl_rule_t *rule;
    char plan[PLAN_BYTES];
    double expected_us; /* 0: not measured */
    uint64_t calls, least_ns;
    /* Buckets by the logarithm of the time: a call that was held up for a
     * thousand times as long as others does not count for more. */
    uint32_t count[BUCKETS];
    uint64_t sum_ns[BUCKETS];
    struct xyl_timed *next;
};

typedef struct xyl_timing {
    xyl_observer_t observer;
    const xyl_observer_t *inner; /* that was there before; NULL: none */
    xylem_context_t *context;
    const char *record; /* NULL: nothing is kept */
    pthread_mutex_t lock;
    xyl_timed_t *list;
    uint32_t count;
} xyl_timing_t;

/* ---- the observer ---- */

static int timing_copies(void *arg, size_t bytes)
{
    const xyl_timing_t *timing = arg;

    return xyl_observer_copies(timing->inner, bytes);
}

static void timing_emitted(void *arg, const char *stage, uint32_t sequence,
                           uint64_t segment)
{
    const xyl_timing_t *timing = arg;

    timing->inner->emitted(timing->inner->arg, stage, sequence, segment);
}

static uint64_t timing_time(void *arg)
{
    const xyl_timing_t *timing = arg;

    return xyl_clock_now(timing->context->engine.clock);
}

/* Prints a line if the plan is far. Compares the least time, as ranks that come
 * late only make calls longer. */
static void say_if_far(const xyl_timing_t *timing, const xyl_timed_t *timed)
{
    double least_us = (double)timed->least_ns / 1e3;

    if (timed->calls != CALLS_TO_SAY || timed->expected_us <= 0 ||
        least_us < FAR_TIMES * timed->expected_us ||
        least_us < timed->expected_us + FAR_US)
        return;
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes on %u ranks of %u nodes: %d calls "
            "took at least %.1f us each here, %.1f times the %.1f us that rule "
            "%zu of %s was measured to take; xylem-tune finds out what is "
            "faster now",
            xyl_coll_traits(timed->query.coll)->name, timed->query.bytes,
            timed->query.ranks, timed->query.nodes, CALLS_TO_SAY, least_us,
            least_us / timed->expected_us, timed->expected_us,
            (size_t)(timed->rule -
                     xyl_tuning_table_of(timing->context, timed->rule)->rule),
            xyl_tuning_table_of(timing->context, timed->rule)->name);
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(ns | PER_DOUBLING);
    unsigned bucket =
        top * PER_DOUBLING + (unsigned)(ns >> (top - 2)) % PER_DOUBLING;

    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The mean of the times in the bucket of the median. */
static double typical_us(const xyl_timed_t *timed)
{
    uint64_t before = 0;
    unsigned i = 0;

    while (2 * (before + timed->count[i]) < timed->calls)
        before += timed->count[i++];
    return (double)timed->sum_ns[i] / 1e3 / timed->count[i];
}

static void timing_ran(void *arg, void *subject, uint64_t begin)
{
    xyl_timing_t *timing = arg;
    xyl_timed_t *timed = subject;
    uint64_t ns = timing_time(timing) - begin;

    pthread_mutex_lock(&timing->lock);
    timed->calls++;
    timed->count[bucket_of(ns)]++;
    timed->sum_ns[bucket_of(ns)] += ns;
    if (timed->calls == 1 || ns < timed->least_ns)
        timed->least_ns = ns;
    say_if_far(timing, timed);
    pthread_mutex_unlock(&timing->lock);
}

/* ---- what is timed ---- */

static xyl_timing_t *timing_of(const xylem_context_t *context)
{
    const xyl_observer_t *observer = context->observer;

    return observer != NULL && observer->ran == timing_ran ? observer->arg
                                                           : NULL;
}

static int is_alike(const xyl_timed_t *timed, const xyl_query_t *query,
                    const xyl_rule_t *rule, const char *plan)
{
    const xyl_query_t *own = &timed->query;

    return own->coll == query->coll && own->bytes == query->bytes &&
           own->ranks == query->ranks && own->nodes == query->nodes &&
           own->node_ranks == query->node_ranks && own->facts == query->facts &&
           timed->rule == rule && strcmp(timed->plan, plan) == 0;
}

static xyl_timed_t *timed_add(xyl_timing_t *timing, const xyl_query_t *query,
                              const xyl_rule_t *rule, const char *plan)
{
    xyl_timed_t *timed =
        timing->count < TIMED_MAX ? calloc(1, sizeof *timed) : NULL;

    if (timed == NULL)
        return NULL;
    timed->query = *query;
    timed->rule = rule;
    snprintf(timed->plan, sizeof timed->plan, "%s", plan);
    timed->expected_us =
        rule != NULL ? xyl_table_expects(rule, query->bytes) : 0;
    timed->next = timing->list;
    timing->list = timed;
    timing->count++;
    return timed;
}

/* Finds or adds the times of operations of that plan. */
static xyl_timed_t *timed_find(xyl_timing_t *timing, const xyl_query_t *query,
                               const xyl_rule_t *rule, const char *plan)
{
    xyl_timed_t *timed;

    pthread_mutex_lock(&timing->lock);
    timed = timing->list;
    while (timed != NULL && !is_alike(timed, query, rule, plan))
        timed = timed->next;
    if (timed == NULL)
        timed = timed_add(timing, query, rule, plan);
    pthread_mutex_unlock(&timing->lock);
    return timed;
}

/* Finds the times by the plan that the call names. */
xyl_timed_t *xyl_timing_of(const xyl_call_t *call, const xyl_choice_t *choice)
{
    const xylem_coll_args_t *args = &call->args;
    xyl_timing_t *timing = timing_of(call->team->context);
    char plan[PLAN_BYTES];
    xyl_problem_t problem;
    xyl_query_t query;

    if (timing == NULL || xyl_choose_query(call->team, args, call->way,
                                           call->combiner.is_commutative,
                                           &problem, &query) != XYLEM_OK)
        return NULL;
    snprintf(plan, sizeof plan, "%.63s %zu %u %u",
             args->algorithm != NULL ? args->algorithm : "auto",
             args->segment_bytes, args->send_window, args->recv_window);
    return timed_find(timing, &query, choice->is_named ? NULL : choice->rule,
                      plan);
}

/* ---- the end ---- */

/* Writes a line for each plan, as xylem-tune keeps its times. */
static void learnt_write(const xyl_timing_t *timing)
{
    const xylem_context_t *context = timing->context;
    char path[PATH_BYTES], machine[MACHINE_BYTES];
    const xyl_timed_t *timed;
    locale_t before;
    FILE *file;

    snprintf(path, sizeof path, "%s.%u", timing->record, context->rank);
    file = fopen(path, "we");
    if (file == NULL) {
        xyl_log(XYL_LOG_WARN, "XYLEM_TUNING_LEARN: cannot write %s: %s", path,
                strerror(errno));
        return;
    }
    xyl_machine_name(machine, sizeof machine);
    fprintf(file, "# xylem-tune 2, times of %s, xylem %s\n", machine,
            xylem_version());
    before = xyl_decimal_begin();
    for (timed = timing->list; timed != NULL; timed = timed->next)
        if (timed->calls > 0)
            fprintf(
                file, "%s %u %u %" PRIu64 " %s %.9g %" PRIu64 " synchronised\n",
                xyl_coll_traits(timed->query.coll)->name, timed->query.nodes,
                timed->query.node_ranks, timed->query.bytes, timed->plan,
                typical_us(timed), timed->calls);
    xyl_decimal_end(before);
    if (fclose(file) != 0)
        xyl_log(XYL_LOG_WARN, "XYLEM_TUNING_LEARN: cannot write all of %s",
                path);
}

void xyl_timing_begin(xylem_context_t *context, const char *record)
{
    const xyl_observer_t *inner = context->observer;
    xyl_timing_t *timing;

    if ((context->config.verbose == 0 && record == NULL) ||
        xyl_observer_measures(inner))
        return;
    timing = calloc(1, sizeof *timing);
    if (timing == NULL)
        return; /* it is no more than a service */
    timing->observer = (xyl_observer_t){
        .copies = timing_copies,
        .emitted = xyl_observer_records(inner) ? timing_emitted : NULL,
        .time = timing_time,
        .ran = timing_ran,
        .arg = timing};
    timing->inner = inner;
    timing->context = context;
    timing->record = record;
    pthread_mutex_init(&timing->lock, NULL);
    context->observer = &timing->observer;
}

void xyl_timing_end(xylem_context_t *context)
{
    xyl_timing_t *timing = timing_of(context);
    xyl_timed_t *timed;

    if (timing == NULL)
        return;
    if (timing->record != NULL)
        learnt_write(timing);
    context->observer = timing->inner;
    while ((timed = timing->list) != NULL) {
        timing->list = timed->next;
        free(timed);
    }
    pthread_mutex_destroy(&timing->lock);
    free(timing);
}
