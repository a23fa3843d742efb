#include "collectives/choose/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/tuning.h"
#include "collectives/data/description.h"
#include "runtime/base/decimal.h"
#include "runtime/base/log.h"
#include "runtime/job/topology.h"

enum {
    CALLS_TO_SAY = 16, /* that have been timed before something is said */
    FAR_TIMES = 2,     /* as long as it was measured to take is far, where */
    FAR_US = 5,        /* it is at least that much, too */
    WATCHED_MAX = 4096,
    PER_DOUBLING = 4, /* buckets of times */
    BUCKETS = 40 * PER_DOUBLING,
    MACHINE_BYTES = 128,
    PATH_BYTES = 4096
};

struct xyl_watched {
    xyl_query_t query;
    const xyl_rule_t *rule;
    char plan[XYL_WATCH_PLAN_BYTES];
    double expected_us; /* 0: nobody has measured it */
    uint64_t calls, least_ns;
    /* By their logarithm: a call that was held up for a thousand times as long
     * as others does not count for more. */
    uint32_t count[BUCKETS];
    uint64_t sum_ns[BUCKETS];
    struct xyl_watched *next;
};

typedef struct xyl_watch {
    xyl_observer_t observer;
    const xyl_observer_t *inner; /* that was there before; NULL: none */
    xylem_context_t *context;
    pthread_mutex_t lock;
    xyl_watched_t *list;
    uint32_t count;
} xyl_watch_t;

/* ---- the observer ---- */

static int watch_copies(void *arg, size_t bytes)
{
    const xyl_watch_t *watch = arg;

    return xyl_observer_copies(watch->inner, bytes);
}

static void watch_emitted(void *arg, const char *stage, uint32_t sequence,
                          uint64_t segment)
{
    const xyl_watch_t *watch = arg;

    watch->inner->emitted(watch->inner->arg, stage, sequence, segment);
}

static uint64_t watch_time(void *arg)
{
    const xyl_watch_t *watch = arg;

    return xyl_clock_now(watch->context->engine.clock);
}

static void watch_lasted(void *arg, xyl_lasted_t what, const char *name,
                         uint64_t begin, uint64_t bytes)
{
    (void)arg;
    (void)what;
    (void)name;
    (void)begin;
    (void)bytes;
}

/* The least, since others who come late can only make a call longer. */
static void say_if_far(const xyl_watch_t *watch, const xyl_watched_t *watched)
{
    double least_us = (double)watched->least_ns / 1e3;

    if (watched->calls != CALLS_TO_SAY || watched->expected_us <= 0 ||
        least_us < FAR_TIMES * watched->expected_us ||
        least_us < watched->expected_us + FAR_US)
        return;
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes on %u ranks of %u nodes: %d calls "
            "took at least %.1f us each here, %.1f times the %.1f us that rule "
            "%zu of %s was measured to take; xylem-tune finds out what is "
            "faster now",
            xyl_coll_traits(watched->query.coll)->name, watched->query.bytes,
            watched->query.ranks, watched->query.nodes, CALLS_TO_SAY, least_us,
            least_us / watched->expected_us, watched->expected_us,
            (size_t)(watched->rule -
                     xyl_tuning_table_of(watch->context, watched->rule)->rule),
            xyl_tuning_table_of(watch->context, watched->rule)->name);
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(ns | PER_DOUBLING);
    unsigned bucket =
        top * PER_DOUBLING + (unsigned)(ns >> (top - 2)) % PER_DOUBLING;

    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The mean of those that are as long as the one in the middle, about. */
static double typical_us(const xyl_watched_t *watched)
{
    uint64_t before = 0;
    unsigned i = 0;

    while (2 * (before + watched->count[i]) < watched->calls)
        before += watched->count[i++];
    return (double)watched->sum_ns[i] / 1e3 / watched->count[i];
}

static void watch_ran(void *arg, void *subject, uint64_t begin)
{
    xyl_watch_t *watch = arg;
    xyl_watched_t *watched = subject;
    uint64_t ns = watch_time(watch) - begin;

    pthread_mutex_lock(&watch->lock);
    watched->calls++;
    watched->count[bucket_of(ns)]++;
    watched->sum_ns[bucket_of(ns)] += ns;
    if (watched->calls == 1 || ns < watched->least_ns)
        watched->least_ns = ns;
    say_if_far(watch, watched);
    pthread_mutex_unlock(&watch->lock);
}

/* ---- what is watched ---- */

static xyl_watch_t *watch_of(const xylem_context_t *context)
{
    const xyl_observer_t *observer = context->observer;

    return observer != NULL && observer->ran == watch_ran ? observer->arg
                                                          : NULL;
}

static int is_alike(const xyl_watched_t *watched, const xyl_query_t *query,
                    const xyl_rule_t *rule, const char *plan)
{
    const xyl_query_t *own = &watched->query;

    return own->coll == query->coll && own->bytes == query->bytes &&
           own->ranks == query->ranks && own->nodes == query->nodes &&
           own->node_ranks == query->node_ranks && own->facts == query->facts &&
           watched->rule == rule && strcmp(watched->plan, plan) == 0;
}

static xyl_watched_t *watched_add(xyl_watch_t *watch, const xyl_query_t *query,
                                  const xyl_rule_t *rule, const char *plan)
{
    xyl_watched_t *watched =
        watch->count < WATCHED_MAX ? calloc(1, sizeof *watched) : NULL;

    if (watched == NULL)
        return NULL;
    watched->query = *query;
    watched->rule = rule;
    snprintf(watched->plan, sizeof watched->plan, "%s", plan);
    watched->expected_us =
        rule != NULL ? xyl_rule_expects(rule, query->bytes) : 0;
    watched->next = watch->list;
    watch->list = watched;
    watch->count++;
    return watched;
}

xyl_watched_t *xyl_watch_plan(const xylem_team_t *team,
                              const xyl_query_t *query, const xyl_rule_t *rule,
                              const char *plan)
{
    xyl_watch_t *watch = watch_of(team->context);
    xyl_watched_t *watched;

    if (watch == NULL)
        return NULL;
    pthread_mutex_lock(&watch->lock);
    watched = watch->list;
    while (watched != NULL && !is_alike(watched, query, rule, plan))
        watched = watched->next;
    if (watched == NULL)
        watched = watched_add(watch, query, rule, plan);
    pthread_mutex_unlock(&watch->lock);
    return watched;
}

/* ---- the end ---- */

/* A line for each, as xylem-tune keeps its times. */
static void learnt_write(const xyl_watch_t *watch)
{
    const xylem_context_t *context = watch->context;
    char path[PATH_BYTES], machine[MACHINE_BYTES];
    const xyl_watched_t *watched;
    locale_t before;
    FILE *file;

    snprintf(path, sizeof path, "%s.%u", xyl_tuning_learn(context),
             context->rank);
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
    for (watched = watch->list; watched != NULL; watched = watched->next)
        if (watched->calls > 0)
            fprintf(file,
                    "%s %u %u %" PRIu64 " %s %.9g %" PRIu64 " synchronised\n",
                    xyl_coll_traits(watched->query.coll)->name,
                    watched->query.nodes, watched->query.node_ranks,
                    watched->query.bytes, watched->plan, typical_us(watched),
                    watched->calls);
    xyl_decimal_end(before);
    if (fclose(file) != 0)
        xyl_log(XYL_LOG_WARN, "XYLEM_TUNING_LEARN: cannot write all of %s",
                path);
}

void xyl_watch_begin(xylem_context_t *context)
{
    const xyl_observer_t *inner = context->observer;
    xyl_watch_t *watch;

    if ((context->config.verbose == 0 && xyl_tuning_learn(context) == NULL) ||
        xyl_observer_measures(inner))
        return;
    watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return; /* it is no more than a service */
    watch->observer = (xyl_observer_t){
        .copies = watch_copies,
        .emitted = xyl_observer_records(inner) ? watch_emitted : NULL,
        .time = watch_time,
        .lasted = watch_lasted,
        .ran = watch_ran,
        .arg = watch};
    watch->inner = inner;
    watch->context = context;
    pthread_mutex_init(&watch->lock, NULL);
    context->observer = &watch->observer;
}

void xyl_watch_end(xylem_context_t *context)
{
    xyl_watch_t *watch = watch_of(context);
    xyl_watched_t *watched;

    if (watch == NULL)
        return;
    if (xyl_tuning_learn(context) != NULL)
        learnt_write(watch);
    context->observer = watch->inner;
    while ((watched = watch->list) != NULL) {
        watch->list = watched->next;
        free(watched);
    }
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
