/* The table that is written: a rule for each range of sizes with one plan. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/results.h"
#include "bench/tune/tune.h"
#include "collectives/data/description.h"
#include "runtime/job/topology.h"

struct tune_table {
    const struct tune_options *options;
    json_t *rules;
    json_t *limits; /* of a file that was joined; NULL: none */
    json_t *before; /* that file, whose other members stay; NULL: none */
    size_t special; /* rules for some arrivals only, which come first */
};

struct tune_table *tune_table_create(const struct tune_options *options)
{
    struct tune_table *table = calloc(1, sizeof *table);

    if (table == NULL)
        return NULL;
    table->options = options;
    table->rules = json_array();
    return table;
}

void tune_table_destroy(struct tune_table *table)
{
    if (table != NULL)
        json_decref(table->rules);
    if (table != NULL)
        json_decref(table->limits);
    if (table != NULL)
        json_decref(table->before);
    free(table);
}

/* ---- values ---- */

static json_t *bytes_json(size_t bytes)
{
    static const char units[] = "KMG";
    char text[32];
    size_t unit = 0;

    if (bytes == 0 || bytes % 1024 != 0)
        return json_integer((json_int_t)bytes);
    for (bytes /= 1024; bytes % 1024 == 0 && unit < 2; bytes /= 1024)
        unit++;
    snprintf(text, sizeof text, "%zu%c", bytes, units[unit]);
    return json_string(text);
}

/* Between the middles to the neighbours; the ends of a list are open, one value
 * alone holds for half as many to twice as many, in log space. */
static json_t *counts_json(const size_t *values, size_t count, size_t value,
                           size_t least)
{
    size_t i = 0, from, to;

    while (i + 1 < count && values[i] != value)
        i++;
    from = i > 0
               ? (size_t)tune_model_middle((double)values[i - 1], (double)value)
           : count > 1
               ? least
               : (size_t)tune_model_middle((double)value / 2, (double)value);
    to = i + 1 < count
             ? (size_t)tune_model_middle((double)value, (double)values[i + 1]) -
                   1
         : count > 1
             ? 1 << 20
             : (size_t)tune_model_middle((double)value, 2 * (double)value) - 1;
    return json_pack("[ii]", (int)(from < least ? least : from), (int)to);
}

/* ---- rules ---- */

const char *tune_memory_text(enum tune_memory memory)
{
    return memory == TUNE_IN_TURNS       ? "in turns"
           : memory == TUNE_SIDE_BY_SIDE ? "side by side"
                                         : "host";
}

/* The conditions under which a rule was measured: memory of GPUs; or memory of
 * the host, and reductions in the order that the settings ask for. */
static json_t *facts_json(xylem_coll_t coll, const struct tune_shape *shape)
{
    const char *where = shape->nodes > 1 ? "shared" : "memory";
    json_t *facts = json_array();
    char order[16];

    if (shape->memory != TUNE_HOST) {
        json_array_append_new(facts, json_string("device"));
        json_array_append_new(facts,
                              json_string(tune_memory_text(shape->memory)));
        return facts;
    }
    if (shape->node_ranks > 1)
        json_array_append_new(facts, json_string(where));
    json_array_append_new(facts, json_string("host"));
    if (xyl_coll_traits(coll)->reduces &&
        xylem_setting_get("REDUCE_ORDER", order, sizeof order) == XYLEM_OK)
        json_array_append_new(facts, json_string(strcmp(order, "arrival") == 0
                                                     ? "any order"
                                                     : "fixed order"));
    return facts;
}

static void put_where(const struct tune_table *table, json_t *rule,
                      xylem_coll_t coll, const struct tune_shape *shape)
{
    const struct tune_options *options = table->options;
    int is_simulated = options->machine != NULL;
    size_t node_ranks = shape->node_ranks, nodes = shape->nodes;
    const size_t *all_p = is_simulated ? options->node_ranks : &node_ranks;
    const size_t *all_n = is_simulated ? options->nodes : &nodes;
    json_t *p = counts_json(all_p, is_simulated ? options->node_ranks_count : 1,
                            node_ranks, node_ranks > 1 ? 2 : 1);

    json_object_set_new(rule, "team",
                        json_string(nodes > 1 ? "nodes" : "node"));
    if (nodes > 1)
        json_object_set_new(rule, "nodes",
                            counts_json(all_n,
                                        is_simulated ? options->nodes_count : 1,
                                        nodes, 2));
    json_object_set_new(rule, "node_ranks", p);
    json_object_set_new(rule, "pays",
                        json_pack("[{so}]", "when", facts_json(coll, shape)));
}

static void put_name(json_t *rule, const char *key, const char *name,
                     uint32_t radix)
{
    char text[XYL_ALGORITHM_TEXT_BYTES];

    snprintf(text, sizeof text, radix != 0 ? "%s:%u" : "%s", name, radix);
    json_object_set_new(rule, key, json_string(text));
}

/* The call's text has all in one; the table names the parts. */
static void put_plan(json_t *rule, xylem_coll_t coll,
                     const struct tune_plan *plan)
{
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;
    int is_levels = xyl_algorithm_parse(coll, plan->algorithm, &named, why) &&
                    named.between != NULL;

    if (is_levels) {
        put_name(rule, "between", named.between->name, named.between_radix);
        json_object_set_new(rule, "leaders", json_integer(named.radix));
    }
    if (is_levels && named.within != NULL)
        put_name(rule, "within", named.within, named.within_radix);
    if (is_levels && named.within_segment_bytes != 0)
        json_object_set_new(rule, "within_segment",
                            bytes_json(named.within_segment_bytes));
    json_object_set_new(
        rule, "use",
        json_string(is_levels ? named.algorithm->name : plan->algorithm));
    if (plan->segment_bytes == 0)
        return;
    json_object_set_new(rule, "segment", bytes_json(plan->segment_bytes));
    json_object_set_new(
        rule, "windows",
        json_pack("[ii]", (int)plan->send_window, (int)plan->recv_window));
}

/* The border between the rule of a size and that of the next one. */
static size_t end_of(const size_t *bytes, const struct tune_choice *choices,
                     size_t s)
{
    return choices[s].end != 0 ? choices[s].end
                               : (size_t)tune_model_middle(
                                     (double)bytes[s], (double)bytes[s + 1]);
}

/* The range of the sizes from `first` to `last`, up to the borders with their
 * neighbours. The ends of the list are open, except the first one in memory of
 * GPUs: ranks ask where buffers lie in all calls for which a rule may hold. */
static json_t *range_json(const size_t *bytes,
                          const struct tune_choice *choices, size_t first,
                          size_t last, size_t count, enum tune_memory memory)
{
    json_t *range = json_array();
    size_t begin = memory == TUNE_HOST ? 0 : bytes[0];

    json_array_append_new(
        range,
        bytes_json(first == 0 ? begin : end_of(bytes, choices, first - 1)));
    json_array_append_new(
        range, last + 1 < count ? bytes_json(end_of(bytes, choices, last) - 1)
                                : json_string("1024G"));
    return range;
}

/* Adds a rule for the sizes from `first` to `last`, which have the same plan.
 */
static int put_rule(struct tune_table *table, json_t *range, xylem_coll_t coll,
                    enum tune_arrivals arrivals, const struct tune_shape *shape,
                    const struct tune_choice *choices, size_t first,
                    size_t last)
{
    const size_t *bytes = table->options->bytes;
    json_t *rule = json_object(), *us = json_array();
    size_t s;

    json_object_set_new(rule, "for", json_string(xyl_coll_traits(coll)->name));
    put_where(table, rule, coll, shape);
    if (arrivals != TUNE_SYNCHRONISED)
        json_object_set_new(rule, "arrivals",
                            json_string(tune_arrivals_name[arrivals]));
    json_object_set_new(rule, "bytes", range);
    put_plan(rule, coll, &choices[first].plan);
    for (s = first; s <= last; s++)
        json_array_append_new(
            us, json_pack("[of]", bytes_json(bytes[s]), choices[s].us));
    json_object_set_new(rule, "us", us);
    json_object_set_new(rule, "origin", json_string("tuned"));
    return arrivals == TUNE_SYNCHRONISED
               ? json_array_append_new(table->rules, rule) == 0
               : json_array_insert_new(table->rules, table->special++, rule) ==
                     0;
}

int tune_table_add(struct tune_table *table, xylem_coll_t coll,
                   enum tune_arrivals arrivals, const struct tune_shape *shape,
                   const struct tune_choice *choices)
{
    size_t count = coll == XYLEM_COLL_BARRIER ? 1 : table->options->bytes_count;
    size_t first = 0, last;
    int ok = 1;

    for (; first < count && ok; first = last + 1) {
        for (last = first;
             choices[first].is_known && last + 1 < count &&
             choices[last + 1].is_known &&
             tune_plan_is_same(&choices[first].plan, &choices[last + 1].plan);)
            last++;
        if (choices[first].is_known)
            ok = put_rule(table,
                          range_json(table->options->bytes, choices, first,
                                     last, count, shape->memory),
                          coll, arrivals, shape, choices, first, last);
    }
    return ok;
}

int tune_table_add_sizes(struct tune_table *table,
                         const struct tune_options *options, xylem_coll_t coll,
                         const struct tune_shape *shape,
                         const struct tune_choice *choice)
{
    const struct tune_options *own = table->options;
    size_t bytes = options->bytes[0];
    int ok;

    table->options = options;
    ok = put_rule(
        table, json_pack("[oo]", bytes_json(bytes / 2), bytes_json(2 * bytes)),
        coll, TUNE_SYNCHRONISED, shape, choice, 0, 0);
    table->options = own;
    return ok;
}

int tune_table_may_write(const struct tune_options *options, const char *path)
{
    char here[128];
    const char *machine;
    json_t *other;
    int ok;

    if (access(path, F_OK) != 0)
        return 1;
    other = tune_table_load(options->program, path);
    if (other == NULL)
        return 0;
    xyl_machine_name(here, sizeof here);
    machine = json_string_value(json_object_get(other, "machine"));
    ok = options->machine == NULL
             ? machine != NULL && strcmp(machine, here) == 0
             : machine == NULL;
    if (!ok)
        cli_complain(
            options->program,
            "%s: is a table for %s, and is left as it is: name another "
            "file (-o)",
            path, machine != NULL ? machine : "any machine");
    json_decref(other);
    return ok;
}

int tune_table_join(struct tune_table *table, const char *path)
{
    json_t *other, *rule, *origin;
    size_t i;

    if (access(path, F_OK) != 0)
        return 1;
    other = tune_table_load(table->options->program, path);
    json_array_foreach(json_object_get(other, "rules"), i, rule)
    {
        origin = json_object_get(
            json_object_get(other, "origins"),
            json_is_string(json_object_get(rule, "origin"))
                ? json_string_value(json_object_get(rule, "origin"))
                : "");
        if (tune_rule_counterpart(rule, table->rules) != NULL)
            continue;
        if (json_is_string(origin))
            json_object_set(rule, "origin", origin);
        if (json_object_get(rule, "arrivals") != NULL)
            json_array_insert(table->rules, table->special++, rule);
        else
            json_array_append(table->rules, rule);
    }
    if (json_object_get(other, "limits") != NULL)
        table->limits = json_incref(json_object_get(other, "limits"));
    table->before = other;
    return other != NULL;
}

/* ---- the file ---- */

static void origin_text(const struct tune_table *table, char *text,
                        size_t bytes)
{
    const struct tune_options *options = table->options;
    time_t now = time(NULL);
    struct tm day;
    char date[32] = "";

    if (gmtime_r(&now, &day) != NULL)
        strftime(date, sizeof date, "%b %Y", &day);
    if (options->machine != NULL)
        snprintf(text, bytes, "simulated on %s by xylem-tune, %s",
                 options->machine, date);
    else
        snprintf(text, bytes, "measured by xylem-tune, %s", date);
}

int tune_table_write(const struct tune_table *table, const char *path)
{
    char text[128], part[RESULTS_PATH_BYTES];
    json_t *all = json_object();
    FILE *out;

    results_part(path, part);
    out = fopen(part, "w");
    if (out == NULL) {
        perror(part);
        json_decref(all);
        return 0;
    }
    /* So that other machines do not take the table. */
    xyl_machine_name(text, sizeof text);
    if (table->options->machine == NULL)
        json_object_set_new(all, "machine", json_string(text));
    origin_text(table, text, sizeof text);
    json_object_set_new(all, "origins", json_pack("{ss}", "tuned", text));
    json_object_set(all, "rules", table->rules);
    if (table->limits != NULL)
        json_object_set(all, "limits", table->limits);
    if (table->before != NULL)
        json_object_update_missing(all, table->before);
    tune_json_write(all, out);
    json_decref(all);
    if (fclose(out) == 0)
        return results_place(table->options->program, part, path);
    perror(part);
    remove(part);
    return 0;
}
