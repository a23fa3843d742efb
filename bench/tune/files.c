/* Work on tables that are there. What a table is the library's reader says;
 * here they are JSON, so that comments and the order of keys stay. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gnuplot.h"
#include "bench/common/table.h"
#include "bench/tune/tune.h"
#include "collectives/choose/tuning.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

enum {
    FILE_BYTES_MAX = 4 << 20,
    TEXT_BYTES = 128,
    FILES_MAX = 16,
    PLOTS_MAX = 6,
    GROUPS_MAX = 64
};

/* NULL: it is no table, and `program` has said why. */
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

/* A member as it stands in the file, without quotes; "" where there is none. */
static const char *member_text(const json_t *rule, const char *key,
                               char text[TEXT_BYTES])
{
    const json_t *value = json_object_get(rule, key);
    char *dumped;

    *text = '\0';
    if (json_is_string(value)) {
        snprintf(text, TEXT_BYTES, "%s", json_string_value(value));
    } else if (value != NULL) {
        dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                       JSON_REAL_PRECISION(5));
        snprintf(text, TEXT_BYTES, "%s", dumped != NULL ? dumped : "");
        free(dumped);
    }
    return text;
}

/* ---- show, check ---- */

static int show(const char *program, json_t *const *tables)
{
    static const char *const keys[] = {
        "for",     "team",    "nodes",   "node_ranks", "ranks", "bytes", "use",
        "between", "leaders", "segment", "windows",    "us",    "origin"};
    enum { KEYS = sizeof keys / sizeof *keys };
    char text[TEXT_BYTES];
    struct table out;
    const json_t *rule;
    size_t i, k;

    (void)program;
    table_begin(&out, stdout, TABLE_ALIGNED, keys, KEYS, 12);
    json_array_foreach(json_object_get(tables[0], "rules"), i, rule)
    {
        for (k = 0; k < KEYS; k++)
            table_text(&out, member_text(rule, keys[k], text));
    }
    return 1;
}

static int check(const char *program, json_t *const *tables)
{
    const char *machine =
        json_string_value(json_object_get(tables[0], "machine"));

    (void)program;
    printf("%zu rules, %zu limits, for %s\n",
           json_array_size(json_object_get(tables[0], "rules")),
           json_object_size(json_object_get(tables[0], "limits")),
           machine != NULL ? machine : "any machine");
    return 1;
}

/* ---- diff ---- */

/* What says where a rule holds. */
static int is_where(const char *key)
{
    static const char *const keys[] = {"for",   "team",  "ranks",
                                       "nodes", "bytes", "node_ranks",
                                       "total", "pays",  "ranks_are"};
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return 1;
    return 0;
}

/* Those members alone; or those that say what is run. */
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

/* The rule of the same place; NULL: there is none. */
static json_t *counterpart(json_t *rule, const json_t *rules)
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

static void line_print(const char *mark, const json_t *rule)
{
    fputs(mark, stdout);
    json_dumpf(rule, stdout, JSON_REAL_PRECISION(5));
    fputc('\n', stdout);
}

static int runs_alike(json_t *a, json_t *b)
{
    json_t *one = part_of(a, 0), *other = part_of(b, 0);
    int is_equal = json_equal(one, other);

    json_decref(one);
    json_decref(other);
    return is_equal;
}

/* Rules that only one has, or that run something else in the other. */
static int diff(const char *program, json_t *const *tables)
{
    json_t *rules[] = {json_object_get(tables[0], "rules"),
                       json_object_get(tables[1], "rules")};
    json_t *rule, *other;
    size_t i;

    (void)program;
    json_array_foreach(rules[0], i, rule)
    {
        other = counterpart(rule, rules[1]);
        if (other != NULL && runs_alike(rule, other))
            continue;
        line_print("- ", rule);
        if (other != NULL)
            line_print("+ ", other);
    }
    json_array_foreach(rules[1], i, rule)
    {
        if (counterpart(rule, rules[0]) == NULL)
            line_print("+ ", rule);
    }
    return 1;
}

/* ---- merge ---- */

/* A table's names of origins are its own. */
static void spell_origin(json_t *rule, const json_t *table)
{
    const char *name = json_string_value(json_object_get(rule, "origin"));
    json_t *text =
        name == NULL ? NULL
                     : json_object_get(json_object_get(table, "origins"), name);

    if (json_is_string(text))
        json_object_set(rule, "origin", text);
}

/* The first rule that holds is taken, so that earlier files win. */
static int merge(const char *program, json_t *const *tables)
{
    json_t *all = tables[0], *rules = json_array(), *rule, *limits, *earlier;
    size_t t, i;

    for (t = 0; tables[t] != NULL; t++) {
        if (!json_equal(json_object_get(tables[t], "machine"),
                        json_object_get(all, "machine")) &&
            json_object_get(tables[t], "machine") !=
                json_object_get(all, "machine")) {
            cli_complain(program, "merge: the files are for different machines "
                                  "(key \"machine\")");
            json_decref(rules);
            return 0;
        }
        earlier = json_copy(rules);
        json_array_foreach(json_object_get(tables[t], "rules"), i, rule)
        {
            spell_origin(rule, tables[t]);
            if (counterpart(rule, earlier) == NULL)
                json_array_append(rules, rule);
        }
        json_decref(earlier);
        limits = json_object_get(tables[t], "limits");
        if (t > 0 && limits != NULL &&
            json_object_update_missing(json_object_get(all, "limits"),
                                       limits) != 0)
            json_object_set(all, "limits", limits);
    }
    json_object_del(all, "origins");
    json_object_set_new(all, "rules", rules);
    tune_json_write(all, stdout);
    return 1;
}

/* ---- plot ---- */

/* "bcast, 64K, nodes [3,5]", and its time; 0: there is no n-th. */
static double nth_time(const json_t *table, size_t n, char name[TEXT_BYTES])
{
    char coll[TEXT_BYTES], bytes[TEXT_BYTES], nodes[TEXT_BYTES];
    const json_t *rule, *pair;
    size_t i, k;

    json_array_foreach(json_object_get(table, "rules"), i, rule)
    {
        json_array_foreach(json_object_get(rule, "us"), k, pair)
        {
            json_t *at = json_pack("{sO}", "bytes", json_array_get(pair, 0));
            snprintf(name, TEXT_BYTES, "%.30s %.20s %.30s",
                     member_text(rule, "for", coll),
                     member_text(at, "bytes", bytes),
                     member_text(rule, "nodes", nodes));
            json_decref(at);
            if (n-- == 0)
                return json_number_value(json_array_get(pair, 1));
        }
    }
    return 0;
}

static double time_named(const json_t *table, const char *wanted)
{
    char name[TEXT_BYTES];
    double us;
    size_t n;

    for (n = 0; (us = nth_time(table, n, name)) > 0; n++)
        if (strcmp(name, wanted) == 0)
            return us;
    return 0;
}

/* The times that the first has, and those of the same in the others. */
static int plot(const char *program, json_t *const *tables)
{
    static const char *const files[FILES_MAX] = {"first",  "second", "third",
                                                 "fourth", "fifth",  "sixth"};
    static char names[GROUPS_MAX][TEXT_BYTES];
    static double us[GROUPS_MAX * FILES_MAX];
    const char *groups[GROUPS_MAX];
    struct gnuplot_bars bars = {.title = "times of tuned plans",
                                .groups = groups,
                                .series = files,
                                .us = us};
    size_t t;

    while (tables[bars.series_count] != NULL)
        bars.series_count++;
    for (; bars.groups_count < GROUPS_MAX; bars.groups_count++) {
        size_t n = bars.groups_count;
        if (nth_time(tables[0], n, names[n]) <= 0)
            break;
        groups[n] = names[n];
        for (t = 0; t < bars.series_count; t++)
            us[n * bars.series_count + t] = time_named(tables[t], names[n]);
    }
    return gnuplot_bars(program, "xylem-tuning.png", &bars);
}

/* ---- which ---- */

static const struct command {
    const char *word;
    size_t least, most; /* files */
    int (*run)(const char *program, json_t *const *tables);
} commands[] = {
    {"show", 1, 1, show},           {"check", 1, 1, check},
    {"plot", 1, PLOTS_MAX, plot},   {"diff", 2, 2, diff},
    {"merge", 1, FILES_MAX, merge},
};

static int command_run(const struct command *command, const char *program,
                       char *const *paths, size_t count)
{
    json_t *tables[FILES_MAX + 1] = {NULL};
    int ok = 1;
    size_t i;

    for (i = 0; i < count && ok; i++) {
        tables[i] = tune_table_load(program, paths[i]);
        ok = tables[i] != NULL;
    }
    ok = ok && command->run(program, tables);
    for (i = 0; i < count; i++)
        json_decref(tables[i]);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int tune_files_main(const struct tune_options *options)
{
    size_t i, count = 0;

    while (options->words[count + 1] != NULL)
        count++;
    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].word, options->words[0]) != 0)
            continue;
        if (count >= commands[i].least && count <= commands[i].most)
            return command_run(&commands[i], options->program,
                               options->words + 1, count);
        cli_complain(options->program, "%s: %zu files are not what it takes",
                     options->words[0], count);
        return CLI_EXIT_USAGE;
    }
    cli_complain(options->program,
                 "%s: expected show, check, plot, diff, merge or learn; see "
                 "--help",
                 options->words[0]);
    return CLI_EXIT_USAGE;
}
