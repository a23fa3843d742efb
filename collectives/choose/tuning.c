#include "collectives/choose/tuning.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/description.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { FILE_BYTES_MAX = 4 << 20 };

/* Of a context for which something is set; most have none. */
typedef struct xyl_tuning {
    xyl_rules_t asked, table; /* of 0 rules: none */
    xyl_rule_t *asked_rules, *table_rules;
    uint16_t *numbers; /* of the table's rules, by collective */
    void *table_memory;
    xyl_limits_t limits;
} tuning_t;

static xyl_tuned_t *tuned_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_TUNING];
}

/* A setting that is a text, and the hash of it that ranks compare. */
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

/* By collective. */
static const char *index_table(tuning_t *tuning)
{
    size_t each = tuning->table.count + 1, i;
    uint16_t *next = calloc(XYLEM_COLL_COUNT * each, sizeof *next);
    xylem_coll_t coll;

    tuning->numbers = next;
    if (next == NULL)
        return "no memory";
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        tuning->table.of[coll] = next;
        for (i = 0; i < tuning->table.count; i++)
            if ((tuning->table_rules[i].colls >> coll & 1) != 0)
                *next++ = (uint16_t)i;
        *next++ = XYL_RULE_NONE;
    }
    return NULL;
}

/* `*hash_out` is 0 when the file cannot be used, so that ranks notice. */
static void read_table(tuning_t *tuning, const char *path, uint64_t *hash_out)
{
    size_t bytes;
    char *text = NULL;
    const char *why = xyl_file_read(path, FILE_BYTES_MAX, &text, &bytes);

    *hash_out = 0;
    if (why == NULL) {
        *hash_out = xyl_hash(XYL_HASH_SEED, text, bytes);
        if (xyl_table_parse(path, text, bytes, &tuning->table_rules,
                            &tuning->table.count, &tuning->limits,
                            &tuning->table_memory) != XYLEM_OK)
            why = xylem_last_error();
        else
            why = index_table(tuning);
    }
    free(text);
    tuning->table.rule = tuning->table_rules;
    tuning->table.name = path;
    if (why == NULL)
        return;
    tuning->table.count = 0;
    tuning->limits = xyl_limits_builtin;
    *hash_out = 0;
    xyl_log(XYL_LOG_WARN,
            "XYLEM_TUNING=%s is not used, the built-in table is: %s", path,
            why);
}

/* Each collective had a setting of its own. */
static void warn_of_old_settings(void)
{
    char name[64], *at;
    const char *value;
    xylem_coll_t coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        snprintf(name, sizeof name, "XYLEM_%s", xyl_coll_traits(coll)->name);
        for (at = name; *at != '\0'; at++)
            *at = (char)toupper((unsigned char)*at);
        value = getenv(name);
        if (value != NULL)
            xyl_log(XYL_LOG_WARN, "%s=%s: say XYLEM_ALGORITHMS=%s=%s", name,
                    value, xyl_coll_traits(coll)->name, value);
    }
}

static xylem_status_t tuning_begins(xylem_context_t *context)
{
    xyl_config_t *config = &context->config;
    const char *asked = text_of(config->algorithms);
    tuning_t *tuning;

    warn_of_old_settings();
    tuned_of(context)->limits = &xyl_limits_builtin;
    if (asked == NULL && config->tuning == 0)
        return XYLEM_OK;
    tuning = calloc(1, sizeof *tuning);
    if (tuning == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for rules");
    *tuned_of(context) = (xyl_tuned_t){&tuning->limits, tuning};
    tuning->limits = xyl_limits_builtin;
    if (config->tuning != 0)
        read_table(tuning, text_of(config->tuning), &config->tuning);
    if (asked == NULL)
        return XYLEM_OK;
    config->algorithms = xyl_hash(XYL_HASH_SEED, asked, strlen(asked));
    return read_asked(tuning, asked);
}

static void tuning_ends(xylem_context_t *context)
{
    tuning_t *tuning = tuned_of(context)->tuning;

    if (tuning == NULL)
        return;
    free(tuning->asked_rules);
    free(tuning->numbers);
    xyl_table_free(tuning->table_rules, tuning->table_memory);
    free(tuning);
}

const xyl_rules_t *xyl_tuning_asked(const xylem_context_t *context)
{
    const tuning_t *tuning = tuned_of(context)->tuning;

    return tuning != NULL ? &tuning->asked : NULL;
}

const xyl_rules_t *xyl_tuning_table(const xylem_context_t *context,
                                    uint32_t index)
{
    const tuning_t *tuning = tuned_of(context)->tuning;
    const int has_table = tuning != NULL && tuning->table.count != 0;

    if (index == 0 && has_table)
        return &tuning->table;
    return index == (uint32_t)has_table ? &xyl_rules_builtin : NULL;
}

const xyl_module_t xyl_tuning_module = {
    .name = "tuning",
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_tuned_t)},
    .context_begins = tuning_begins,
    .context_ends = tuning_ends,
};
