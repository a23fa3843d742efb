#include "collectives/choose/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/description.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/job/topology.h"

enum { FILE_BYTES_MAX = 4 << 20, OTHER_BYTES = 256 };

typedef struct xyl_tuning {
    xyl_rules_t asked, table; /* of 0 rules: none */
    xyl_rule_t *asked_rules, *table_rules;
    xyl_candidate_t *candidates;
    const xyl_candidate_t *of[XYLEM_COLL_COUNT]; /* in `candidates` */
    void *table_memory;
    char *path; /* of the file */
    xyl_limits_t limits;
    uint32_t arrivals;
} tuning_t;

static xyl_tuned_t *tuned_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_TUNING];
}

/* A setting that is a text, until its hash replaces it. */
static const char *text_of(uint64_t setting)
{
    return (const char *)(uintptr_t)setting;
}

static xylem_status_t read_asked(tuning_t *tuning, const char *text)
{
    xylem_status_t status =
        xyl_algorithms_parse(text, &tuning->asked_rules, &tuning->asked.count);

    tuning->asked.rule = tuning->asked_rules;
    tuning->asked.name = "XYLEM_ALGORITHMS";
    return status;
}

/* ---- memory of GPUs ---- */

/* 1: the rule may hold for the collective, but only in calls whose ranks ask
 * each other where their buffers lie. */
static int rule_wants_answers(const xyl_rule_t *rule, xylem_coll_t coll,
                              const xyl_algorithm_t *algorithm)
{
    const xyl_algorithm_t *within =
        rule->within == NULL ? NULL : xyl_algorithm_find(coll, rule->within);
    int is_of_gpus =
        ((algorithm->needs | (within == NULL ? 0 : within->needs)) &
         XYL_NEEDS_DEVICE) != 0;
    uint32_t i, facts;

    for (i = 0; i < rule->pays_count; i++) {
        facts = rule->pays[i].facts;
        if ((facts & XYL_FACT_UNASKED) == 0 &&
            (is_of_gpus || (facts & XYL_FACT_DEVICE) != 0))
            return 1;
    }
    return is_of_gpus && rule->pays_count == 0;
}

static uint64_t asked_from(const tuning_t *tuning, xylem_coll_t coll)
{
    uint64_t least = UINT64_MAX;
    size_t i;

    for (i = 0; i < tuning->asked.count; i++) {
        const xyl_rule_t *rule = &tuning->asked.rule[i];
        const xyl_algorithm_t *algorithm =
            rule->algorithm == NULL || (rule->colls >> coll & 1) == 0
                ? NULL
                : xyl_algorithm_find(coll, rule->algorithm);
        if (algorithm != NULL && rule->bytes_min < least &&
            rule_wants_answers(rule, coll, algorithm))
            least = rule->bytes_min;
    }
    return least;
}

static void gpus_from_set(xyl_tuned_t *tuned)
{
    const xyl_candidate_t *candidate;
    xylem_coll_t coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        uint64_t *least = &tuned->gpus_from[coll];
        *least = asked_from(tuned->tuning, coll);
        candidate = tuned->tuning->of[coll];
        for (; candidate->rule != NULL; candidate++)
            if (candidate->rule->bytes_min < *least &&
                rule_wants_answers(candidate->rule, coll, candidate->algorithm))
                *least = candidate->rule->bytes_min;
    }
}

/* ---- candidates ---- */

/* Writes the rules of a table for which the collective has an algorithm, unless
 * `to` is NULL. Returns how many. */
static size_t add_candidates(const xyl_rules_t *table, xylem_coll_t coll,
                             xyl_candidate_t *to)
{
    size_t i, count = 0;

    for (i = 0; i < table->count; i++) {
        xyl_candidate_t candidate = {&table->rule[i], NULL};
        if ((candidate.rule->colls >> coll & 1) != 0)
            candidate.algorithm =
                xyl_algorithm_find(coll, candidate.rule->algorithm);
        if (candidate.algorithm == NULL)
            continue;
        if (to != NULL)
            to[count] = candidate;
        count++;
    }
    return count;
}

/* Finds the algorithms of all rules, so that no call looks for names. */
static xylem_status_t list_candidates(xyl_tuned_t *tuned)
{
    tuning_t *tuning = tuned->tuning;
    const xyl_rules_t *tables[] = {&tuning->table, &xyl_rules_builtin};
    size_t count = XYLEM_COLL_COUNT, t;
    xyl_candidate_t *next;
    xylem_coll_t coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (t = 0; t < 2; t++)
            count += add_candidates(tables[t], coll, NULL);
    next = tuning->candidates = calloc(count, sizeof *next);
    if (next == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for rules");
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++, next++) {
        tuning->of[coll] = next;
        for (t = 0; t < 2; t++)
            next += add_candidates(tables[t], coll, next);
    }
    gpus_from_set(tuned);
    return XYLEM_OK;
}

/* Why a table for machine `name` cannot be used here; NULL: it can. */
static const char *other_machine(const char *name, char text[OTHER_BYTES])
{
    char own[OTHER_BYTES / 2];

    xyl_machine_name(own, sizeof own);
    if (name == NULL || strcmp(name, own) == 0)
        return NULL;
    snprintf(text, OTHER_BYTES,
             "its key \"machine\" names another one than \"%s\"", own);
    return text;
}

/* `*hash_out` is 0 when the file cannot be used, so that ranks notice. */
static void read_table(tuning_t *tuning, const char *path, uint64_t *hash_out)
{
    char other[OTHER_BYTES], *text = NULL;
    size_t bytes;
    const char *why = xyl_file_read(path, FILE_BYTES_MAX, &text, &bytes);

    *hash_out = 0;
    if (why == NULL) {
        *hash_out = xyl_hash(XYL_HASH_SEED, text, bytes);
        if (xyl_table_parse(path, text, bytes, &tuning->table_rules,
                            &tuning->table.count, &tuning->limits,
                            &tuning->table_memory) != XYLEM_OK)
            why = xylem_last_error();
    }
    if (why == NULL)
        why = other_machine(xyl_table_machine(tuning->table_memory), other);
    free(text);
    tuning->table.rule = tuning->table_rules;
    tuning->path = strdup(path);
    tuning->table.name = tuning->path != NULL ? tuning->path : "a file";
    if (why == NULL)
        return;
    tuning->table.count = 0;
    tuning->limits = xyl_limits_builtin;
    *hash_out = 0;
    xyl_log(XYL_LOG_WARN,
            "XYLEM_TUNING=%s is not used, the built-in table is: %s", path,
            why);
}

static void arrivals_set(tuning_t *tuning, const xyl_config_t *config)
{
    tuning->arrivals = (uint32_t)config->arrivals;
    if (config->arrivals == XYL_ARRIVALS_AUTO)
        tuning->arrivals = tuning->table.count != 0
                               ? xyl_table_arrivals(tuning->table_memory)
                               : XYL_ARRIVE_TOGETHER;
}

/* If ranks have different tables, no rank uses its own table, as all must
 * choose alike. */
static xylem_status_t tuning_joins(xylem_context_t *context)
{
    tuning_t *tuning = tuned_of(context)->tuning;

    if (!context->job.met.tables_differ)
        return XYLEM_OK;
    if (context->rank == 0)
        xyl_log(XYL_LOG_WARN,
                "ranks have found different tables, or none (%s here): all "
                "use the built-in one unless XYLEM_TUNING names another",
                tuning->path != NULL ? tuning->path : "none");
    tuning->table.count = 0;
    tuning->limits = xyl_limits_builtin;
    arrivals_set(tuning, &context->config);
    free(tuning->candidates);
    return list_candidates(tuned_of(context));
}

static xylem_status_t tuning_begins(xylem_context_t *context)
{
    xyl_config_t *config = &context->config;
    const char *asked = text_of(config->algorithms);
    xylem_status_t status = XYLEM_OK;
    tuning_t *tuning;

    tuning = calloc(1, sizeof *tuning);
    if (tuning == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for rules");
    *tuned_of(context) =
        (xyl_tuned_t){.limits = &tuning->limits, .tuning = tuning};
    tuning->limits = xyl_limits_builtin;
    if (config->tuning != 0)
        read_table(tuning, text_of(config->tuning), &config->tuning);
    if (asked != NULL) {
        config->algorithms = xyl_hash(XYL_HASH_SEED, asked, strlen(asked));
        status = read_asked(tuning, asked);
    }
    arrivals_set(tuning, config);
    return status == XYLEM_OK ? list_candidates(tuned_of(context)) : status;
}

static void tuning_ends(xylem_context_t *context)
{
    tuning_t *tuning = tuned_of(context)->tuning;

    if (tuning == NULL)
        return;
    free(tuning->asked_rules);
    free(tuning->candidates);
    free(tuning->path);
    xyl_table_free(tuning->table_rules, tuning->table_memory);
    free(tuning);
}

const xyl_rules_t *xyl_tuning_asked(const xylem_context_t *context)
{
    return &tuned_of(context)->tuning->asked;
}

const xyl_candidate_t *xyl_tuning_candidates(const xylem_context_t *context,
                                             xylem_coll_t coll)
{
    return tuned_of(context)->tuning->of[coll];
}

uint32_t xyl_tuning_arrivals(const xylem_context_t *context)
{
    return tuned_of(context)->tuning->arrivals;
}

const xyl_rules_t *xyl_tuning_table_of(const xylem_context_t *context,
                                       const xyl_rule_t *rule)
{
    const xyl_rules_t *table = &tuned_of(context)->tuning->table;

    return table->count != 0 && rule >= table->rule &&
                   rule < table->rule + table->count
               ? table
               : &xyl_rules_builtin;
}

const xyl_module_t xyl_tuning_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_tuned_t)},
    .context_begins = tuning_begins,
    .context_joins = tuning_joins,
    .context_ends = tuning_ends,
};
