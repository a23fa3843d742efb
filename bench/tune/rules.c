/* Tables of rules as JSON, in which comments and the order of keys stay. The
 * library's reader checks that a file is a table. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/tune.h"
#include "collectives/choose/tuning.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

enum { FILE_BYTES_MAX = 4 << 20 };

json_t *tune_table_load(const char *program, const char *path)
{
    size_t bytes, count = 0;
    xyl_limits_t limits = xyl_limits_builtin;
    xyl_rule_t *rules = NULL;
    void *memory = NULL;
    char *text = NULL;
    const char *why = xyl_file_read(path, FILE_BYTES_MAX, &text, &bytes);
    json_t *table = NULL;

    xyl_log_level_set(XYL_LOG_NONE);
    if (why != NULL) {
        cli_complain(program, "%s: %s", path, why);
        return NULL;
    }
    if (xyl_table_parse(path, text, bytes, &rules, &count, &limits, &memory) ==
        XYLEM_OK) {
        table = json_incref(memory);
        xyl_table_free(rules, memory);
    } else {
        cli_complain(program, "%s", xylem_last_error());
    }
    free(text);
    return table;
}

void tune_json_write(json_t *table, FILE *out)
{
    const char *key;
    json_t *value, *rule;
    size_t i, left = json_object_size(table);

    fputs("{\n", out);
    json_object_foreach(table, key, value)
    {
        fprintf(out, "  \"%s\": ", key);
        if (json_is_array(value) && json_array_size(value) != 0)
            fputs("[\n", out);
        else
            json_dumpf(value, out, JSON_ENCODE_ANY);
        json_array_foreach(value, i, rule)
        {
            fputs("    ", out);
            json_dumpf(rule, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(5));
            fputs(i + 1 < json_array_size(value) ? ",\n" : "\n  ]", out);
        }
        fputs(--left > 0 ? ",\n" : "\n", out);
    }
    fputs("}\n", out);
}

/* 1: the key says where a rule holds. */
static int is_where(const char *key)
{
    static const char *const keys[] = {
        "for",   "team", "ranks",      "nodes",     "bytes",
        "total", "pays", "node_ranks", "ranks_are", "arrivals"};
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return 1;
    return 0;
}

/* The members that say where the rule holds; or those that say what is run. */
static json_t *part_of(json_t *rule, int where)
{
    json_t *part = json_object(), *value;
    const char *key;

    json_object_foreach(rule, key, value)
    {
        if (is_where(key) == where && strcmp(key, "us") != 0 &&
            strcmp(key, "origin") != 0 && strcmp(key, "comment") != 0)
            json_object_set(part, key, value);
    }
    return part;
}

json_t *tune_rule_counterpart(json_t *rule, const json_t *rules)
{
    json_t *where = part_of(rule, 1), *other, *found = NULL;
    size_t i;

    json_array_foreach(rules, i, other)
    {
        json_t *there = part_of(other, 1);
        if (found == NULL && json_equal(where, there))
            found = other;
        json_decref(there);
    }
    json_decref(where);
    return found;
}

int tune_rules_run_alike(json_t *a, json_t *b)
{
    json_t *one = part_of(a, 0), *other = part_of(b, 0);
    int is_equal = json_equal(one, other);

    json_decref(one);
    json_decref(other);
    return is_equal;
}
