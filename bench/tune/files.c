/* Work on existing tables. The library's reader checks that a file is a table;
 * here tables are JSON, so that comments and the order of keys stay. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gnuplot.h"
#include "bench/common/table.h"
#include "bench/common/text.h"
#include "bench/tune/tune.h"
#include "collectives/choose/tuning.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

enum { TEXT_BYTES = 128, FILES_MAX = 16, PLOTS_MAX = 6, GROUPS_MAX = 64 };

/* The files of a command. */
struct files {
    const char *program;
    const char *const *paths;
    json_t *const *tables; /* NULL behind the last */
    size_t count;
};

/* A member as it stands in the file, without quotes; "": there is none. */
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

/* The keys that some rule has; returns how many. */
static size_t keys_present(const json_t *rules, const char *const *keys,
                           size_t count, const char **present)
{
    size_t found = 0, k, i;

    for (k = 0; k < count; k++)
        for (i = 0; i < json_array_size(rules); i++)
            if (json_object_get(json_array_get(rules, i), keys[k]) != NULL) {
                present[found++] = keys[k];
                break;
            }
    return found;
}

static int show(const struct files *files)
{
    static const char *const all[] = {
        "for",       "team",     "nodes",   "node_ranks", "ranks",
        "ranks_are", "arrivals", "pays",    "bytes",      "total",
        "use",       "between",  "within",  "leaders",    "segment",
        "us",        "windows",  "comment", "origin",     "within_segment"};
    enum { KEYS = sizeof all / sizeof *all };
    const json_t *rules = json_object_get(files->tables[0], "rules"), *rule;
    const char *keys[KEYS];
    size_t i, k, count = keys_present(rules, all, KEYS, keys);
    char text[TEXT_BYTES];
    struct table out;

    if (count == 0) {
        puts("no rules");
        return 1;
    }
    table_begin(&out, stdout, TABLE_ALIGNED, keys, (unsigned)count, 12);
    json_array_foreach(rules, i, rule)
    {
        for (k = 0; k < count; k++)
            table_text(&out, member_text(rule, keys[k], text));
    }
    return 1;
}

static int check(const struct files *files)
{
    const char *machine =
        json_string_value(json_object_get(files->tables[0], "machine"));
    size_t rules = json_array_size(json_object_get(files->tables[0], "rules"));
    size_t limits =
        json_object_size(json_object_get(files->tables[0], "limits"));

    printf("%zu rule%s, %zu limit%s, for %s\n", rules, text_plural(rules),
           limits, text_plural(limits),
           machine != NULL ? machine : "any machine");
    return 1;
}

/* ---- diff ---- */

static void line_print(const char *mark, const json_t *rule)
{
    fputs(mark, stdout);
    json_dumpf(rule, stdout, JSON_REAL_PRECISION(5));
    fputc('\n', stdout);
}

/* Rules that only one has, or that run something else in the other. */
static int diff(const struct files *files)
{
    json_t *rules[] = {json_object_get(files->tables[0], "rules"),
                       json_object_get(files->tables[1], "rules")};
    json_t *rule, *other;
    size_t i;

    json_array_foreach(rules[0], i, rule)
    {
        other = tune_rule_counterpart(rule, rules[1]);
        if (other != NULL && tune_rules_run_alike(rule, other))
            continue;
        line_print("- ", rule);
        if (other != NULL)
            line_print("+ ", other);
    }
    json_array_foreach(rules[1], i, rule)
    {
        if (tune_rule_counterpart(rule, rules[0]) == NULL)
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
static int merge(const struct files *files)
{
    json_t *const *tables = files->tables;
    json_t *all = tables[0], *rules = json_array(), *rule, *limits, *earlier;
    size_t t, i;

    for (t = 0; tables[t] != NULL; t++) {
        if (!json_equal(json_object_get(tables[t], "machine"),
                        json_object_get(all, "machine")) &&
            json_object_get(tables[t], "machine") !=
                json_object_get(all, "machine")) {
            cli_complain(files->program,
                         "merge: %s is for another machine than %s (key "
                         "\"machine\")",
                         files->paths[t], files->paths[0]);
            json_decref(rules);
            return 0;
        }
        earlier = json_copy(rules);
        json_array_foreach(json_object_get(tables[t], "rules"), i, rule)
        {
            spell_origin(rule, tables[t]);
            if (tune_rule_counterpart(rule, earlier) == NULL)
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

/* "3 to 5", "6+" or "2" behind `before`; "": there is none. */
static void counts_text(const char *before, const json_t *range,
                        char text[TEXT_BYTES])
{
    enum { MANY = 1 << 20 };
    json_int_t least = json_integer_value(json_array_get(range, 0)),
               most = json_integer_value(json_array_get(range, 1));

    *text = '\0';
    if (json_array_size(range) != 2)
        return;
    if (most >= MANY)
        snprintf(text, TEXT_BYTES, "%s%" JSON_INTEGER_FORMAT "+", before,
                 least);
    else if (least == most)
        snprintf(text, TEXT_BYTES, "%s%" JSON_INTEGER_FORMAT, before, most);
    else
        snprintf(text, TEXT_BYTES,
                 "%s%" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT, before,
                 least, most);
}

/* "bcast 64K, 3 to 5 x 2", nodes and ranks of each, and its time; 0: there is
 * no n-th. */
static double nth_time(const json_t *table, size_t n, char name[TEXT_BYTES])
{
    char coll[TEXT_BYTES], bytes[TEXT_BYTES], nodes[TEXT_BYTES],
        node_ranks[TEXT_BYTES], arrivals[TEXT_BYTES];
    const json_t *rule, *pair;
    size_t i, k;

    json_array_foreach(json_object_get(table, "rules"), i, rule)
    {
        json_array_foreach(json_object_get(rule, "us"), k, pair)
        {
            json_t *at = json_pack("{sO}", "bytes", json_array_get(pair, 0));
            counts_text(", ", json_object_get(rule, "nodes"), nodes);
            counts_text(" x ", json_object_get(rule, "node_ranks"), node_ranks);
            member_text(rule, "arrivals", arrivals);
            snprintf(name, TEXT_BYTES, "%.30s %.20s%.30s%.30s%s%.12s",
                     member_text(rule, "for", coll),
                     member_text(at, "bytes", bytes), nodes, node_ranks,
                     *arrivals != '\0' ? " " : "", arrivals);
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

/* Plots the times of the first file, and those of the same rules in the others.
 */
static int plot(const struct files *files)
{
    static char names[GROUPS_MAX][TEXT_BYTES];
    static double us[GROUPS_MAX * FILES_MAX];
    const char *groups[GROUPS_MAX];
    char title[2 * TEXT_BYTES], more[TEXT_BYTES];
    struct gnuplot_bars bars = {.title = title,
                                .groups = groups,
                                .series = files->paths,
                                .series_count = files->count,
                                .us = us,
                                .is_log = 1};
    size_t t;

    for (; bars.groups_count < GROUPS_MAX; bars.groups_count++) {
        size_t n = bars.groups_count;
        if (nth_time(files->tables[0], n, names[n]) <= 0)
            break;
        groups[n] = names[n];
        for (t = 0; t < bars.series_count; t++)
            us[n * bars.series_count + t] =
                time_named(files->tables[t], names[n]);
    }
    if (bars.groups_count == 0) {
        cli_complain(files->program,
                     "plot: no rule of %s says what calls take (key \"us\")",
                     files->paths[0]);
        return 0;
    }
    snprintf(title, sizeof title,
             "times of%s %zu tuned plans: by bytes, and nodes x ranks of each",
             nth_time(files->tables[0], GROUPS_MAX, more) > 0 ? " the first"
                                                              : "",
             bars.groups_count);
    return gnuplot_bars(files->program, "xylem-tuning.png", &bars);
}

/* ---- which ---- */

static const struct command {
    const char *word;
    size_t least, most;
    const char *takes;
    int (*run)(const struct files *files);
} commands[] = {
    {"show", 1, 1, "one file", show},
    {"check", 1, 1, "one file", check},
    {"plot", 1, PLOTS_MAX, "one to six files", plot},
    {"diff", 2, 2, "two files", diff},
    {"merge", 1, FILES_MAX, "one to sixteen files", merge},
};

static int command_run(const struct command *command, const char *program,
                       char *const *paths, size_t count)
{
    json_t *tables[FILES_MAX + 1] = {NULL};
    const char *names[FILES_MAX] = {NULL};
    const struct files files = {program, names, tables, count};
    int ok = 1;
    size_t i;

    for (i = 0; i < count && ok; i++) {
        names[i] = paths[i];
        tables[i] = tune_table_load(program, paths[i]);
        ok = tables[i] != NULL;
    }
    ok = ok && command->run(&files);
    for (i = 0; i < count; i++)
        json_decref(tables[i]);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A word behind the command: all of them are files. */
static const char *option_among(char *const *words)
{
    while (*words != NULL && (**words != '-' || (*words)[1] == '\0'))
        words++;
    return *words;
}

int tune_files_main(const struct tune_options *options)
{
    const char *program = options->program, *option;
    char *const *paths = options->words + 1;
    size_t i, count = 0;

    while (paths[count] != NULL)
        count++;
    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].word, options->words[0]) != 0)
            continue;
        option = option_among(paths);
        if (option != NULL)
            cli_complain(program, "%s %s: takes no options (./%s is a file)",
                         options->words[0], option, option);
        else if (count < commands[i].least || count > commands[i].most)
            cli_complain(program, "%s: takes %s, not %zu", options->words[0],
                         commands[i].takes, count);
        else
            return command_run(&commands[i], program, paths, count);
        return CLI_EXIT_USAGE;
    }
    cli_complain(program,
                 "%s: expected show, check, plot, diff, merge or learn; see "
                 "--help",
                 options->words[0]);
    return CLI_EXIT_USAGE;
}
