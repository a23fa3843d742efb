#include "runtime/job/switches.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/status.h"

enum { FILE_BYTES_MAX = 16 << 20 };

struct xyl_switches {
    json_t *names;   /* name of a switch -> its index in the file */
    json_t *nodes;   /* name of a node -> the index of its switch */
    uint32_t *above; /* [count]; XYL_SWITCH_NONE: none */
    uint32_t count;
    uint32_t levels;
    uint64_t hash;
};

typedef struct reader {
    const char *file;
    const json_t *list; /* of the file's switches */
    xyl_switches_t *switches;
} reader_t;

/* ---- complaints ---- */

static xylem_status_t no_memory(void)
{
    return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a network's switches");
}

/* Complains of a switch, or of its member `where`. */
#define WRONG(reader, index, where, ...)                                       \
    xyl_fail(XYLEM_ERR_CONFIG, "XYLEM_TOPOLOGY: %s: switches[%u]" where,       \
             (reader)->file, index, __VA_ARGS__)

static const char *switch_name(const reader_t *reader, uint32_t index)
{
    return json_string_value(
        json_object_get(json_array_get(reader->list, index), "name"));
}

/* ---- reading ---- */

static int is_name(const json_t *json)
{
    return json_is_string(json) && json_string_length(json) != 0;
}

static xylem_status_t check_switch(const reader_t *reader, uint32_t index)
{
    json_t *one = json_array_get(reader->list, index), *value;
    const char *key;

    if (!json_is_object(one))
        return WRONG(reader, index, ": wants %s", "an object");
    json_object_foreach(one, key, value)
    {
        int is_list = strcmp(key, "nodes") == 0 || strcmp(key, "switches") == 0;
        if (!is_list && strcmp(key, "name") != 0)
            return WRONG(reader, index,
                         ".%s: there is no such key; there are \"name\", "
                         "\"nodes\" and \"switches\"",
                         key);
        if (is_list && !json_is_array(value))
            return WRONG(reader, index, ".%s: wants an array", key);
    }
    if (!is_name(json_object_get(one, "name")))
        return WRONG(reader, index, ".name: wants %s", "a name");
    return XYLEM_OK;
}

/* The names of all switches are read first, since a switch may stand before or
 * after the switches below it. */
static xylem_status_t switch_read_name(const reader_t *reader, uint32_t index)
{
    xyl_switches_t *switches = reader->switches;
    const json_t *other;
    xylem_status_t status = check_switch(reader, index);
    const char *name;

    if (status != XYLEM_OK)
        return status;
    name = switch_name(reader, index);
    other = json_object_get(switches->names, name);
    if (other != NULL)
        return WRONG(reader, index, ".name: switches[%u] is called %s already",
                     (uint32_t)json_integer_value(other), name);
    if (json_object_set_new(switches->names, name, json_integer(index)) != 0)
        return no_memory();
    return XYLEM_OK;
}

static xylem_status_t read_node(const reader_t *reader, uint32_t index,
                                size_t at, const json_t *name)
{
    json_t *nodes = reader->switches->nodes;
    const json_t *other = json_object_get(nodes, json_string_value(name));

    if (other != NULL)
        return WRONG(reader, index,
                     ".nodes[%zu]: node %s is below switch %s already", at,
                     json_string_value(name),
                     switch_name(reader, (uint32_t)json_integer_value(other)));
    if (json_object_set_new(nodes, json_string_value(name),
                            json_integer(index)) != 0)
        return no_memory();
    return XYLEM_OK;
}

static xylem_status_t read_below(const reader_t *reader, uint32_t index,
                                 size_t at, const json_t *name)
{
    uint32_t *above = reader->switches->above;
    const json_t *found =
        json_object_get(reader->switches->names, json_string_value(name));
    uint32_t below = (uint32_t)json_integer_value(found);

    if (found == NULL)
        return WRONG(reader, index, ".switches[%zu]: there is no switch %s", at,
                     json_string_value(name));
    if (above[below] != XYL_SWITCH_NONE)
        return WRONG(
            reader, index, ".switches[%zu]: switch %s is below %s already", at,
            json_string_value(name), switch_name(reader, above[below]));
    above[below] = index;
    return XYLEM_OK;
}

typedef xylem_status_t (*read_fn)(const reader_t *reader, uint32_t index,
                                  size_t at, const json_t *name);

static xylem_status_t read_list(const reader_t *reader, uint32_t index,
                                const char *key, read_fn read_one)
{
    const json_t *list =
        json_object_get(json_array_get(reader->list, index), key);
    xylem_status_t status = XYLEM_OK;
    size_t at;

    for (at = 0; at < json_array_size(list) && status == XYLEM_OK; at++) {
        const json_t *name = json_array_get(list, at);
        if (!is_name(name))
            return WRONG(reader, index, ".%s[%zu]: wants a name", key, at);
        status = read_one(reader, index, at, name);
    }
    return status;
}

/* Counts the switches from this one upwards, and checks their number. */
static xylem_status_t levels_measure(const reader_t *reader, uint32_t index)
{
    xyl_switches_t *switches = reader->switches;
    uint32_t levels = 1, at = index;

    while (switches->above[at] != XYL_SWITCH_NONE &&
           levels <= switches->count) {
        at = switches->above[at];
        levels++;
    }
    if (levels > switches->count)
        return WRONG(reader, index, ": the switches above %s go in a circle",
                     switch_name(reader, index));
    if (levels > XYL_SWITCH_LEVELS_MAX)
        return WRONG(reader, index,
                     ": there are %u levels from %s up; at most %d", levels,
                     switch_name(reader, index), XYL_SWITCH_LEVELS_MAX);
    if (levels > switches->levels)
        switches->levels = levels;
    return XYLEM_OK;
}

static xylem_status_t read_switches(const reader_t *reader)
{
    xyl_switches_t *switches = reader->switches;
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    switches->above = malloc(switches->count * sizeof *switches->above);
    if (switches->above == NULL)
        return no_memory();
    for (i = 0; i < switches->count && status == XYLEM_OK; i++) {
        switches->above[i] = XYL_SWITCH_NONE;
        status = switch_read_name(reader, i);
    }
    for (i = 0; i < switches->count && status == XYLEM_OK; i++) {
        status = read_list(reader, i, "nodes", read_node);
        if (status == XYLEM_OK)
            status = read_list(reader, i, "switches", read_below);
    }
    for (i = 0; i < switches->count && status == XYLEM_OK; i++)
        status = levels_measure(reader, i);
    return status;
}

static xylem_status_t network_read(reader_t *reader, json_t *document)
{
    const char *key;
    json_t *value;

    if (!json_is_object(document))
        return xyl_fail(XYLEM_ERR_CONFIG, "XYLEM_TOPOLOGY: %s: wants an object",
                        reader->file);
    json_object_foreach(document, key, value)
    {
        if (strcmp(key, "switches") != 0)
            return xyl_fail(XYLEM_ERR_CONFIG,
                            "XYLEM_TOPOLOGY: %s: %s: there is no such key; "
                            "there is \"switches\"",
                            reader->file, key);
    }
    reader->list = json_object_get(document, "switches");
    if (!json_is_array(reader->list) || json_array_size(reader->list) == 0)
        return xyl_fail(
            XYLEM_ERR_CONFIG,
            "XYLEM_TOPOLOGY: %s: switches: wants an array of at least one",
            reader->file);
    reader->switches->count = (uint32_t)json_array_size(reader->list);
    return read_switches(reader);
}

xylem_status_t xyl_switches_parse(const char *file, const char *text,
                                  size_t bytes, xyl_switches_t **switches_out)
{
    reader_t reader = {.file = file,
                       .switches = calloc(1, sizeof *reader.switches)};
    xyl_switches_t *switches = reader.switches;
    json_error_t wrong;
    json_t *document;
    xylem_status_t status;

    if (switches == NULL)
        return no_memory();
    switches->hash = xyl_hash(XYL_HASH_SEED, text, bytes);
    switches->names = json_object();
    switches->nodes = json_object();
    document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &wrong);
    if (switches->names == NULL || switches->nodes == NULL)
        status = no_memory();
    else if (document == NULL)
        status = xyl_fail(XYLEM_ERR_CONFIG,
                          "XYLEM_TOPOLOGY: %s: line %d, column %d: %s", file,
                          wrong.line, wrong.column, wrong.text);
    else
        status = network_read(&reader, document);
    json_decref(document);
    if (status == XYLEM_OK)
        *switches_out = switches;
    else
        xyl_switches_free(switches);
    return status;
}

xylem_status_t xyl_switches_read(const char *path,
                                 xyl_switches_t **switches_out)
{
    xylem_status_t status;
    size_t bytes;
    char *text;
    const char *why = xyl_file_read(path, FILE_BYTES_MAX, &text, &bytes);

    if (why != NULL)
        return xyl_fail(XYLEM_ERR_CONFIG, "XYLEM_TOPOLOGY: %s: %s", path, why);
    status = xyl_switches_parse(path, text, bytes, switches_out);
    free(text);
    return status;
}

void xyl_switches_free(xyl_switches_t *switches)
{
    if (switches == NULL)
        return;
    json_decref(switches->names);
    json_decref(switches->nodes);
    free(switches->above);
    free(switches);
}

/* ---- asking ---- */

uint64_t xyl_switches_hash(const xyl_switches_t *switches)
{
    return switches->hash;
}

uint32_t xyl_switches_levels(const xyl_switches_t *switches)
{
    return switches->levels;
}

int xyl_switches_find(const xyl_switches_t *switches, const char *node,
                      uint32_t *ids)
{
    const json_t *found = json_object_get(switches->nodes, node);
    uint32_t depth = 0, i, at;

    for (i = 0; i < switches->levels; i++)
        ids[i] = XYL_SWITCH_NONE;
    if (found == NULL)
        return 0;
    at = (uint32_t)json_integer_value(found);
    for (i = at; i != XYL_SWITCH_NONE; i = switches->above[i])
        depth++;
    for (i = at; i != XYL_SWITCH_NONE; i = switches->above[i])
        ids[--depth] = i;
    return 1;
}
