/* Tables of rules as JSON, see table.json. */
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/tuning.h"
#include "collectives/data/description.h"
#include "collectives/stages/edge.h"
#include "runtime/base/config.h"
#include "runtime/base/status.h"
#include "runtime/core/operation.h"

enum { COLLS_ALL = (1 << XYLEM_COLL_COUNT) - 1 };
enum { RULES_MAX = 4096, COUNT_MAX = 1 << 20 };

typedef struct reader {
    const char *file;
    const json_t *origins; /* names of origins to their texts; NULL: none */
    size_t number;         /* of the rule */
    xyl_rule_t *rule;
} reader_t;

/* ---- complaints ---- */

static xylem_status_t wrong(const reader_t *reader, const char *key,
                            const char *wants)
{
    return xyl_fail(XYLEM_ERR_CONFIG, "%s: rules[%zu].%s: wants %s",
                    reader->file, reader->number, key, wants);
}

/* ---- values ---- */

/* A number, or a text like "16K". */
static int number_read(const json_t *json, uint64_t most, uint64_t *value_out)
{
    if (json_is_integer(json) && json_integer_value(json) >= 0)
        *value_out = (uint64_t)json_integer_value(json);
    else if (!json_is_string(json) ||
             xyl_config_parse_bytes(json_string_value(json), value_out) !=
                 XYLEM_OK)
        return 0;
    return *value_out <= most;
}

static int table_count_read(const json_t *json, uint32_t most,
                            uint32_t *value_out)
{
    uint64_t value;

    if (!number_read(json, most, &value) || value == 0)
        return 0;
    *value_out = (uint32_t)value;
    return 1;
}

/* Reads the most, or a pair of the least and the most. */
static int range_read(const json_t *json, uint64_t *least_out,
                      uint64_t *most_out)
{
    if (!json_is_array(json))
        return number_read(json, UINT64_MAX, most_out);
    return json_array_size(json) == 2 &&
           number_read(json_array_get(json, 0), UINT64_MAX, least_out) &&
           number_read(json_array_get(json, 1), UINT64_MAX, most_out) &&
           *least_out <= *most_out;
}

/* The number of a word in a list that NULL ends. */
static int word_read(const json_t *json, const char *const *words,
                     uint32_t *number_out)
{
    uint32_t i;

    for (i = 0; json_is_string(json) && words[i] != NULL; i++)
        if (strcmp(words[i], json_string_value(json)) == 0) {
            *number_out = i;
            return 1;
        }
    return 0;
}

/* The bits of a word, or of a list of words. */
static int words_read(const json_t *json, const char *const *words,
                      uint32_t *bits_out)
{
    uint32_t number, bits = 0;
    size_t i;

    if (word_read(json, words, &number))
        bits = 1u << number;
    for (i = 0; i < json_array_size(json); i++) {
        if (!word_read(json_array_get(json, i), words, &number))
            return 0;
        bits |= 1u << number;
    }
    *bits_out = bits;
    return bits != 0;
}

/* ---- the members of a rule ---- */

static int coll_add(const json_t *json, uint32_t *colls)
{
    const char *name = json_is_string(json) ? json_string_value(json) : "";
    xylem_coll_t coll = xyl_coll_named(name, strlen(name));

    *colls |= coll != XYLEM_COLL_COUNT ? 1u << coll : 0;
    return coll != XYLEM_COLL_COUNT;
}

static xylem_status_t read_for(const reader_t *reader, const json_t *json)
{
    static const char wants[] = "a collective, a list of them, or \"all\"";
    size_t i;

    if (json_is_string(json) && strcmp(json_string_value(json), "all") == 0)
        reader->rule->colls = COLLS_ALL;
    else if (!json_is_array(json) && !coll_add(json, &reader->rule->colls))
        return wrong(reader, "for", wants);
    for (i = 0; i < json_array_size(json); i++)
        if (!coll_add(json_array_get(json, i), &reader->rule->colls))
            return wrong(reader, "for", wants);
    return XYLEM_OK;
}

static const char *const arrivals_words[] = {"synchronised", "random", "late",
                                             NULL};

/* Reads words of which each has a bit: kinds of teams, or of arrivals. */
static xylem_status_t read_words(const reader_t *reader, const char *key,
                                 const json_t *json)
{
    static const char *const teams[] = {"node",    "nodes", "seats",
                                        "leaders", "board", NULL};
    int is_team = strcmp(key, "team") == 0;

    if (words_read(json, is_team ? teams : arrivals_words,
                   is_team ? &reader->rule->teams : &reader->rule->arrivals))
        return XYLEM_OK;
    return wrong(reader, key,
                 is_team ? "\"node\", \"nodes\", \"seats\", \"leaders\" or "
                           "\"board\", or a list of them"
                         : "\"synchronised\", \"random\" or \"late\", or a "
                           "list of them");
}

static xylem_status_t read_ranks_are(const reader_t *reader, const json_t *json)
{
    if (!json_is_string(json) ||
        strcmp(json_string_value(json), "power of two") != 0)
        return wrong(reader, "ranks_are", "\"power of two\"");
    reader->rule->power_of_two = 1;
    return XYLEM_OK;
}

static int facts_read(const json_t *json, uint32_t *facts)
{
    static const char *const words[] = {
        "shared",  "switches",     "many nodes", "room",        "memory",
        "device",  "any order",    "host",       "fixed order", "same bits",
        "unasked", "side by side", "in turns",   NULL};

    return json_is_array(json) &&
           (json_array_size(json) == 0 || words_read(json, words, facts));
}

static int pays_member_read(const char *key, const json_t *json,
                            xyl_pays_t *pays)
{
    if (strcmp(key, "when") == 0)
        return facts_read(json, &pays->facts);
    if (strcmp(key, "node_ranks") == 0)
        return table_count_read(json, COUNT_MAX, &pays->node_ranks_max);
    return strcmp(key, "node_bytes") == 0 &&
           number_read(json, UINT64_MAX, &pays->node_bytes_max);
}

static xylem_status_t read_pays(const reader_t *reader, const json_t *json)
{
    xyl_rule_t *rule = reader->rule;
    const char *key;
    json_t *one, *value;
    size_t i, count = json_array_size(json);

    if (count == 0 || count > XYL_PAYS_MAX)
        return wrong(reader, "pays", "a list of 1 to 3 objects");
    rule->pays_count = (uint32_t)count;
    for (i = 0; i < count; i++) {
        rule->pays[i] = (xyl_pays_t){0, UINT32_MAX, UINT64_MAX};
        one = json_array_get(json, i);
        if (!json_is_object(one))
            return wrong(reader, "pays", "a list of 1 to 3 objects");
        json_object_foreach(one, key, value)
        {
            if (!pays_member_read(key, value, &rule->pays[i]))
                return wrong(reader, "pays",
                             "\"when\" (a list of \"shared\", \"switches\", "
                             "\"many nodes\", \"room\", \"memory\", "
                             "\"device\", \"any order\", \"host\", "
                             "\"fixed order\", \"same bits\", "
                             "\"unasked\", \"side by side\", "
                             "\"in turns\"), "
                             "\"node_ranks\" and \"node_bytes\"");
        }
    }
    return XYLEM_OK;
}

static xylem_status_t read_windows(const reader_t *reader, const json_t *json)
{
    xyl_rule_t *rule = reader->rule;

    if (json_array_size(json) != 2 ||
        !table_count_read(json_array_get(json, 0), XYL_WINDOW_MAX,
                          &rule->send_window) ||
        !table_count_read(json_array_get(json, 1), XYL_WINDOW_MAX,
                          &rule->recv_window) ||
        rule->send_window > rule->recv_window)
        return wrong(reader, "windows", "[N, M] with 1 <= N <= M <= 64");
    return XYLEM_OK;
}

static xylem_status_t read_segment(const reader_t *reader, const json_t *json)
{
    uint64_t bytes;

    if (!number_read(json, SIZE_MAX / 2, &bytes) || bytes == 0)
        return wrong(reader, "segment", "bytes");
    reader->rule->segment_bytes = (size_t)bytes;
    return XYLEM_OK;
}

static xylem_status_t read_range(const reader_t *reader, const char *key,
                                 const json_t *json)
{
    xyl_rule_t *rule = reader->rule;
    int is_right = strcmp(key, "bytes") == 0
                       ? range_read(json, &rule->bytes_min, &rule->bytes_max)
                       : range_read(json, &rule->total_min, &rule->total_max);

    return is_right ? XYLEM_OK : wrong(reader, key, "bytes, or [least, most]");
}

static xylem_status_t read_counts(const reader_t *reader, const char *key,
                                  const json_t *json)
{
    xyl_rule_t *rule = reader->rule;
    xyl_counts_t *counts = strcmp(key, "ranks") == 0   ? &rule->ranks
                           : strcmp(key, "nodes") == 0 ? &rule->nodes
                                                       : &rule->node_ranks;
    uint64_t least = 0, most;

    if (!range_read(json, &least, &most) || most == 0 || most > COUNT_MAX)
        return wrong(reader, key, "a number, or [least, most]");
    *counts = (xyl_counts_t){(uint32_t)least, (uint32_t)most};
    return XYLEM_OK;
}

static xylem_status_t read_origin(const reader_t *reader, const json_t *json)
{
    const char *name = json_string_value(json), *text;

    if (name == NULL)
        return wrong(reader, "origin", "a text");
    text = json_string_value(json_object_get(reader->origins, name));
    reader->rule->origin = text != NULL ? text : name;
    return XYLEM_OK;
}

/* Reads pairs of bytes, rising, and the time that a call of them takes. */
static xylem_status_t read_us(const reader_t *reader, const json_t *json)
{
    uint64_t bytes, before = 0;
    const json_t *pair;
    size_t i;

    for (i = 0; i < json_array_size(json); i++, before = bytes + 1) {
        pair = json_array_get(json, i);
        if (json_array_size(pair) != 2 ||
            !number_read(json_array_get(pair, 0), UINT64_MAX - 1, &bytes) ||
            bytes < before || !json_is_number(json_array_get(pair, 1)) ||
            json_number_value(json_array_get(pair, 1)) <= 0)
            return wrong(reader, "us", "a list of [bytes, microseconds]");
    }
    if (!json_is_array(json))
        return wrong(reader, "us", "a list of [bytes, microseconds]");
    reader->rule->us = json;
    return XYLEM_OK;
}

static double pair_us(const json_t *list, size_t i, double *bytes_out)
{
    const json_t *pair = json_array_get(list, i);
    uint64_t bytes = 0;

    (void)number_read(json_array_get(pair, 0), UINT64_MAX, &bytes);
    *bytes_out = bytes > 0 ? (double)bytes : 1;
    return json_number_value(json_array_get(pair, 1));
}

/* Interpolates between two points. Up to a factor of 2 beyond the first and the
 * last point it returns that point's time. */
double xyl_table_expects(const xyl_rule_t *rule, uint64_t bytes)
{
    const json_t *list = rule->us;
    double at = bytes > 0 ? (double)bytes : 1, x[2], us[2];
    size_t i, count = json_array_size(list);

    if (count == 0)
        return 0;
    us[0] = pair_us(list, 0, &x[0]);
    if (at <= x[0])
        return at * 2 >= x[0] ? us[0] : 0;
    for (i = 1; i < count; i++, x[0] = x[1], us[0] = us[1]) {
        us[1] = pair_us(list, i, &x[1]);
        if (at <= x[1])
            return us[0] + (us[1] - us[0]) * (at - x[0]) / (x[1] - x[0]);
    }
    return at <= 2 * x[0] ? us[0] : 0;
}

/* ---- algorithms ---- */

/* Adds "key=value" of a member that is there; 0: its value has no such text. */
static int part_add(const json_t *json, const char *key, char separator,
                    char *text, size_t room)
{
    const json_t *value = json_object_get(json, key);
    size_t length = strlen(text);
    int added = 0;

    if (json_is_string(value))
        added = snprintf(text + length, room - length, "%c%s=%s", separator,
                         key, json_string_value(value));
    else if (json_is_integer(value))
        added =
            snprintf(text + length, room - length, "%c%s=%" JSON_INTEGER_FORMAT,
                     separator, key, json_integer_value(value));
    return added > 0 && (size_t)added < room - length;
}

/* Joins the members that name an algorithm and its parts into one text, as a
 * call would name it. */
static xylem_status_t text_of(const reader_t *reader, const json_t *json,
                              char *text, size_t room)
{
    static const char *const parts[] = {"between", "leaders", "within",
                                        "within_segment", "segment"};
    const json_t *use = json_object_get(json, "use");
    char separator = ':';
    size_t i;

    if (reader->rule->colls == 0 || !json_is_string(use))
        return wrong(reader, "for", "\"for\" and \"use\" in every rule");
    snprintf(text, room, "%s", json_string_value(use));
    for (i = 0; i < sizeof parts / sizeof *parts; i++) {
        /* A segment without other parts is not one of levels. */
        if (json_object_get(json, parts[i]) == NULL ||
            (separator == ':' && strcmp(parts[i], "segment") == 0))
            continue;
        if (!part_add(json, parts[i], separator, text, room))
            return wrong(reader, parts[i], "a number, or a text");
        separator = ',';
    }
    return XYLEM_OK;
}

/* Checks that the rule has the members that trees and levels need. */
static xylem_status_t check_frame(const reader_t *reader,
                                  const xyl_named_t *named)
{
    const xyl_algorithm_t *algorithm = named->algorithm;

    if (algorithm == NULL)
        return wrong(reader, "use", "an algorithm");
    if (algorithm->kind == XYL_ALGORITHM_LANES &&
        (named->between == NULL || named->radix == 0))
        return wrong(reader, "use", "\"between\" and \"leaders\" beside it");
    if ((algorithm->kind == XYL_ALGORITHM_LANES ||
         algorithm->kind == XYL_ALGORITHM_TREE) &&
        (reader->rule->segment_bytes == 0 || reader->rule->send_window == 0))
        return wrong(reader, "use", "\"segment\" and \"windows\" beside it");
    return XYLEM_OK;
}

/* Reads an algorithm that all collectives of the rule must have; in a rule for
 * "all", it holds for those that have it. */
static xylem_status_t read_algorithms(const reader_t *reader,
                                      const json_t *json)
{
    const char *use = json_string_value(json_object_get(json, "use"));
    char text[2 * XYL_ALGORITHM_TEXT_BYTES], why[XYL_ALGORITHM_WHY_BYTES] = "";
    xyl_rule_t *rule = reader->rule;
    size_t segment_bytes = rule->segment_bytes;
    xylem_status_t status = text_of(reader, json, text, sizeof text);
    xyl_named_t named;
    xylem_coll_t coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT && status == XYLEM_OK; coll++) {
        if ((rule->colls >> coll & 1) == 0 ||
            (rule->colls == COLLS_ALL &&
             !xyl_algorithm_parse(coll, use, &named, why)))
            continue;
        if (!xyl_algorithm_parse(coll, text, &named, why))
            return xyl_fail(XYLEM_ERR_CONFIG,
                            "%s: rules[%zu].use: %s for %s: %s", reader->file,
                            reader->number, text, xyl_coll_traits(coll)->name,
                            why);
        status = check_frame(reader, &named);
        if (rule->algorithm == NULL) {
            xyl_rule_name(rule, &named);
            rule->segment_bytes = segment_bytes;
        }
    }
    if (status == XYLEM_OK && rule->algorithm == NULL)
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: rules[%zu].use: %s: %s",
                        reader->file, reader->number, use, why);
    return status;
}

/* ---- rules ---- */

static xylem_status_t read_member(const reader_t *reader, const char *key,
                                  const json_t *json)
{
    static const struct {
        const char *key;
        xylem_status_t (*read)(const reader_t *reader, const json_t *json);
    } members[] = {{"for", read_for},
                   {"pays", read_pays},
                   {"windows", read_windows},
                   {"origin", read_origin},
                   {"ranks_are", read_ranks_are},
                   {"us", read_us},
                   {"segment", read_segment},
                   {"use", NULL}, /* these are read together */
                   {"between", NULL},
                   {"leaders", NULL},
                   {"within", NULL},
                   {"within_segment", NULL},
                   {"comment", NULL}}; /* for readers of the table */
    size_t i;

    for (i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i].key, key) == 0)
            return members[i].read == NULL ? XYLEM_OK
                                           : members[i].read(reader, json);
    if (strcmp(key, "team") == 0 || strcmp(key, "arrivals") == 0)
        return read_words(reader, key, json);
    if (strcmp(key, "bytes") == 0 || strcmp(key, "total") == 0)
        return read_range(reader, key, json);
    if (strcmp(key, "ranks") == 0 || strcmp(key, "nodes") == 0 ||
        strcmp(key, "node_ranks") == 0)
        return read_counts(reader, key, json);
    return xyl_fail(XYLEM_ERR_CONFIG, "%s: rules[%zu].%s: there is no such key",
                    reader->file, reader->number, key);
}

static xylem_status_t read_rule(const reader_t *reader, json_t *json)
{
    xylem_status_t status = XYLEM_OK;
    const char *key;
    json_t *value;

    *reader->rule = (xyl_rule_t){XYL_RULE_ANYWHERE, .origin = reader->file};
    if (!json_is_object(json))
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: rules[%zu]: wants an object",
                        reader->file, reader->number);
    json_object_foreach(json, key, value)
    {
        if (status == XYLEM_OK)
            status = read_member(reader, key, value);
    }
    return status == XYLEM_OK ? read_algorithms(reader, json) : status;
}

/* ---- limits ---- */

static xylem_status_t read_limit(const char *file, const char *key,
                                 const json_t *json, xyl_limits_t *limits)
{
    static const struct {
        const char *name;
        uint64_t least, most;
        size_t offset;
    } known[] = {
#define LIMIT_ROW(name, least, most)                                           \
    {#name, least, most, offsetof(xyl_limits_t, name)},
        XYL_LIMIT_MAP(LIMIT_ROW)
#undef LIMIT_ROW
    };
    uint64_t value;
    size_t i;

    for (i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, key) != 0)
            continue;
        if (!number_read(json_object_get(json, "value"), known[i].most,
                         &value) ||
            value < known[i].least)
            return xyl_fail(
                XYLEM_ERR_CONFIG,
                "%s: limits.%s: wants an object with a \"value\" of "
                "%" PRIu64 " ... %" PRIu64,
                file, key, known[i].least, known[i].most);
        memcpy((char *)limits + known[i].offset, &value, sizeof value);
        return XYLEM_OK;
    }
    return xyl_fail(XYLEM_ERR_CONFIG, "%s: limits.%s: there is no such limit",
                    file, key);
}

static xylem_status_t read_limits(const char *file, json_t *object,
                                  xyl_limits_t *limits)
{
    xylem_status_t status = XYLEM_OK;
    const char *key;
    json_t *value;

    if (object != NULL && !json_is_object(object))
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: limits: wants an object", file);
    json_object_foreach(object, key, value)
    {
        if (status == XYLEM_OK)
            status = read_limit(file, key, value, limits);
    }
    return status;
}

static xylem_status_t read_document(const char *file, const json_t *document,
                                    xyl_rule_t **rules_out, size_t *count_out)
{
    const json_t *list = json_object_get(document, "rules");
    size_t count = json_array_size(list);
    reader_t reader = {file, json_object_get(document, "origins"), 0, NULL};
    xyl_rule_t *rules;
    xylem_status_t status = XYLEM_OK;

    if (json_is_array(list)
            ? count == 0
            : list == NULL && json_object_get(document, "limits") != NULL) {
        *rules_out = NULL;
        *count_out = 0;
        return XYLEM_OK;
    }
    if (count == 0 || count > RULES_MAX)
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "%s: wants an object with a list \"rules\" of at "
                        "most %d",
                        file, RULES_MAX);
    rules = calloc(count, sizeof *rules);
    if (rules == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for rules");
    for (; reader.number < count && status == XYLEM_OK; reader.number++) {
        reader.rule = &rules[reader.number];
        status = read_rule(&reader, json_array_get(list, reader.number));
    }
    if (status != XYLEM_OK) {
        free(rules);
        return status;
    }
    *rules_out = rules;
    *count_out = count;
    return XYLEM_OK;
}

/* ---- the document ---- */

/* 1: a backslash and `escape`, in a JSON text, are a control character. */
static int is_control(const char *escape, size_t bytes)
{
    if (bytes == 0 || *escape == '\0')
        return 0;
    if (*escape != 'u')
        return strchr("bfnrt", *escape) != NULL;
    return bytes > 4 && escape[1] == '0' && escape[2] == '0' &&
           (strchr("0189", escape[3]) != NULL ||
            (escape[3] == '7' && (escape[4] | ' ') == 'f'));
}

/* 1: a JSON document's texts, which may be printed, have no control characters.
 * In valid JSON, bytes below a blank only stand between texts. */
static int is_plain(const char *text, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i++) {
        if (text[i] == 0x7f || (text[i] == '\xc2' && i + 1 < bytes &&
                                (text[i + 1] & '\xe0') == '\x80'))
            return 0;
        if (text[i] == '\\') {
            i++;
            if (is_control(&text[i], bytes - i))
                return 0;
        }
    }
    return 1;
}

/* Checks the members beside the rules. */
static xylem_status_t check_document(const char *file, const json_t *document,
                                     int is_plain_text)
{
    static const char *const keys[] = {"about",    "comment", "machine",
                                       "arrivals", "origins", "rules",
                                       "limits",   NULL};
    const json_t *machine = json_object_get(document, "machine");
    const json_t *arrivals = json_object_get(document, "arrivals");
    uint32_t number;
    const char *key;
    json_t *value;
    size_t i;

    if (!is_plain_text)
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: a text has control characters",
                        file);
    if (machine != NULL && !json_is_string(machine))
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: machine: wants a text", file);
    if (arrivals != NULL && !word_read(arrivals, arrivals_words, &number))
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "%s: arrivals: wants \"synchronised\", \"random\" or "
                        "\"late\"",
                        file);
    json_object_foreach((json_t *)document, key, value)
    {
        for (i = 0; keys[i] != NULL && strcmp(keys[i], key) != 0; i++)
            ;
        if (keys[i] == NULL)
            return xyl_fail(XYLEM_ERR_CONFIG, "%s: %s: there is no such key",
                            file, key);
    }
    return XYLEM_OK;
}

static int is_blank(const char *text, size_t bytes)
{
    size_t i = 0;

    while (i < bytes &&
           (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')))
        i++;
    return i == bytes;
}

xylem_status_t xyl_table_parse(const char *file, const char *text, size_t bytes,
                               xyl_rule_t **rules_out, size_t *count_out,
                               xyl_limits_t *limits, void **memory_out)
{
    json_error_t error;
    json_t *document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    xylem_status_t status;

    if (document == NULL && is_blank(text, bytes))
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: is empty", file);
    if (document == NULL)
        return xyl_fail(XYLEM_ERR_CONFIG, "%s: line %d, column %d: %s", file,
                        error.line, error.column, error.text);
    status = check_document(file, document, is_plain(text, bytes));
    if (status == XYLEM_OK)
        status = read_limits(file, json_object_get(document, "limits"), limits);
    if (status == XYLEM_OK)
        status = read_document(file, document, rules_out, count_out);
    if (status == XYLEM_OK)
        *memory_out = document;
    else
        json_decref(document);
    return status;
}

uint32_t xyl_table_arrivals(const void *memory)
{
    uint32_t number;

    return word_read(json_object_get(memory, "arrivals"), arrivals_words,
                     &number)
               ? 1u << number
               : XYL_ARRIVE_TOGETHER;
}

const char *xyl_table_machine(const void *memory)
{
    return json_string_value(json_object_get(memory, "machine"));
}

void xyl_table_free(xyl_rule_t *rules, void *memory)
{
    free(rules);
    json_decref(memory);
}
