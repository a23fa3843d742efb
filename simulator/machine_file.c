/* Machines from JSON files; docs/machines.md says what may stand in one.
 *
 * Every error is one line, "FILE: KEY.PATH: what is wrong"; the first one ends
 * the reading. Without state; any thread.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/machine_fields.h"

enum { PATH_BYTES = 64, SUFFIX_BYTES = 5 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const machine_keys[] = {
    "name", "about", "nest", "links", "core", "node", "nic",
};

/* ---- complaints ---- */

typedef struct reader {
    const char *file;
    char path[PATH_BYTES]; /* of the object being read: "links.node" */
    char *error;
    size_t error_bytes;
} reader_t;

/* Keys and names may hold anything; an error is one line. */
static void make_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

__attribute__((format(printf, 3, 4))) static xylem_status_t
complain(const reader_t *reader, const char *key, const char *format, ...)
{
    const char *dot = reader->path[0] != '\0' && key[0] != '\0' ? "." : "";
    char text[512];
    va_list args;

    if (reader->error_bytes == 0)
        return XYLEM_ERR_CONFIG;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (reader->path[0] == '\0' && key[0] == '\0')
        snprintf(reader->error, reader->error_bytes, "%s: %s", reader->file,
                 text);
    else
        snprintf(reader->error, reader->error_bytes, "%s: %s%s%s: %s",
                 reader->file, reader->path, dot, key, text);
    make_one_line(reader->error);
    return XYLEM_ERR_CONFIG;
}

static const char *type_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a decimal";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a truth value";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

/* Insertions, deletions and replacements that turn `a` into `b`. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[SIM_KEY_BYTES_MAX + 1], length = strlen(b), i, j;

    assert(length <= SIM_KEY_BYTES_MAX);
    for (j = 0; j <= length; j++)
        row[j] = j;
    for (i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (j = 1; j <= length; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[length];
}

/* An unknown key is an error, which names the nearest known one. */
static xylem_status_t complain_unknown(const reader_t *reader, const char *key,
                                       const char *const *keys, size_t count)
{
    size_t best = SIZE_MAX, nearest = 0, i;

    for (i = 0; i < count && strlen(key) <= SIM_KEY_BYTES_MAX; i++) {
        size_t distance = edit_distance(key, keys[i]);
        if (distance < best) {
            best = distance;
            nearest = i;
        }
    }
    if (best == SIZE_MAX || best * 2 > strlen(keys[nearest]))
        return complain(reader, key, "there is no such key");
    return complain(reader, key, "there is no such key; is it \"%s\"?",
                    keys[nearest]);
}

static xylem_status_t check_keys(const reader_t *reader, json_t *json,
                                 const char *const *keys, size_t count)
{
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        size_t i = 0;
        while (i < count && strcmp(keys[i], key) != 0)
            i++;
        if (i == count)
            return complain_unknown(reader, key, keys, count);
    }
    return XYLEM_OK;
}

/* `extra` is one more key, that the caller reads; may be NULL. */
static xylem_status_t check_fields(const reader_t *reader, json_t *json,
                                   const sim_section_t *section,
                                   const char *extra)
{
    const char *keys[SIM_FIELDS_MAX + 1];
    size_t i;

    assert(section->count <= SIM_FIELDS_MAX);
    for (i = 0; i < section->count; i++)
        keys[i] = section->fields[i].key;
    if (extra != NULL)
        keys[i++] = extra;
    return check_keys(reader, json, keys, i);
}

/* ---- reading ---- */

/* Goes one place inwards or back out: "links" to "links.node". */
static void reader_enter(reader_t *reader, const char *section,
                         const char *level)
{
    snprintf(reader->path, sizeof reader->path, "%s%s%s", section,
             level[0] != '\0' ? "." : "", level);
}

/* The value itself, out of {"value": V, "from": "..."}. */
static xylem_status_t unwrap(const reader_t *reader, const char *key,
                             const json_t *json, const json_t **value_out)
{
    const json_t *value, *from;

    if (!json_is_object(json)) {
        *value_out = json;
        return XYLEM_OK;
    }
    value = json_object_get(json, "value");
    from = json_object_get(json, "from");
    if (value == NULL)
        return complain(reader, key, "\"value\" is missing");
    if (from == NULL)
        return complain(reader, key, "\"from\" is missing: the source of it");
    if (!json_is_string(from))
        return complain(reader, key, "\"from\" wants a string, not %s",
                        type_name(from));
    if (json_object_size(json) != 2)
        return complain(reader, key,
                        "has more keys than \"value\" and \"from\"");
    *value_out = value;
    return XYLEM_OK;
}

static xylem_status_t read_word(const reader_t *reader,
                                const sim_field_t *field, const json_t *json,
                                uint64_t *value_out)
{
    const char *const *words = sim_value_forms[field->kind].words;
    uint64_t i;

    for (i = 0; json_is_string(json) && words[i] != NULL; i++)
        if (strcmp(json_string_value(json), words[i]) == 0) {
            *value_out = i;
            return XYLEM_OK;
        }
    return complain(reader, field->key, "wants \"%s\" or \"%s\", not %s%s%s",
                    words[0], words[1], json_is_string(json) ? "\"" : "",
                    json_is_string(json) ? json_string_value(json)
                                         : type_name(json),
                    json_is_string(json) ? "\"" : "");
}

static xylem_status_t read_number(const reader_t *reader,
                                  const sim_field_t *field, const json_t *json,
                                  uint64_t *value_out)
{
    const sim_value_form_t *form = &sim_value_forms[field->kind];
    const char *or_unbounded =
        form->may_be_unbounded ? " or \"unbounded\"" : "";
    double number = json_number_value(json);

    if (form->may_be_unbounded && json_is_string(json) &&
        strcmp(json_string_value(json), "unbounded") == 0) {
        *value_out = sim_value_unbounded(field->kind);
        return XYLEM_OK;
    }
    if (form->is_whole ? !json_is_integer(json) : !json_is_number(json))
        return complain(reader, field->key, "wants %s%s, not %s",
                        form->is_whole ? "an integer" : "a number",
                        or_unbounded, type_name(json));
    if (!(number >= form->min && number <= form->max))
        return complain(reader, field->key,
                        "wants %.15g ... %.15g%s, not %.15g", form->min,
                        form->max, or_unbounded, number);
    *value_out = sim_value_from_decimal(field->kind, number);
    return XYLEM_OK;
}

static xylem_status_t read_field(const reader_t *reader,
                                 const sim_field_t *field, const json_t *json,
                                 void *object)
{
    xylem_status_t status;
    uint64_t value = 0;

    status = unwrap(reader, field->key, json, &json);
    if (status == XYLEM_OK)
        status = sim_value_forms[field->kind].words != NULL
                     ? read_word(reader, field, json, &value)
                     : read_number(reader, field, json, &value);
    if (status == XYLEM_OK)
        sim_field_store(field, object, value);
    return status;
}

/* `may_miss`: members of `object` whose keys are missing stay as they are. */
static xylem_status_t read_fields(const reader_t *reader, json_t *json,
                                  const sim_section_t *section, int may_miss,
                                  void *object)
{
    xylem_status_t status = XYLEM_OK;
    size_t i;

    for (i = 0; i < section->count && status == XYLEM_OK; i++) {
        const sim_field_t *field = &section->fields[i];
        const json_t *value = json_object_get(json, field->key);
        if (value != NULL)
            status = read_field(reader, field, value, object);
        else if (!may_miss && !field->is_optional)
            status = complain(reader, field->key, "is missing");
    }
    return status;
}

/* Copies a link that is further in and so was read before. */
static xylem_status_t read_as(const reader_t *reader, const json_t *json,
                              int level, sim_machine_t *machine)
{
    int other;

    if (!json_is_string(json))
        return complain(reader, "as", "wants a string, not %s",
                        type_name(json));
    for (other = 0; other < level; other++)
        if (strcmp(json_string_value(json),
                   sim_level_name((sim_level_t)other)) == 0) {
            machine->links[level] = machine->links[other];
            return XYLEM_OK;
        }
    return complain(reader, "as",
                    "\"%s\" is not the name of a level further in",
                    json_string_value(json));
}

static xylem_status_t read_link(reader_t *reader, json_t *json, int level,
                                sim_machine_t *machine)
{
    const json_t *as = json_object_get(json, "as");
    sim_link_t *link = &machine->links[level];
    xylem_status_t status;
    int has_rate;

    if (!json_is_object(json))
        return complain(reader, "", "wants an object, not %s", type_name(json));
    status = check_fields(reader, json, &sim_section_link, "as");
    if (status == XYLEM_OK && as != NULL)
        status = read_as(reader, as, level, machine);
    has_rate = json_object_get(json, "gb_per_s") != NULL ||
               (as != NULL && link->transport == SIM_TRANSPORT_NIC);
    if (status == XYLEM_OK)
        status = read_fields(reader, json, &sim_section_link, as != NULL, link);
    if (status == XYLEM_OK && link->transport == SIM_TRANSPORT_NIC && !has_rate)
        status = complain(reader, "gb_per_s", "is missing; \"nic\" needs it");
    return status;
}

static xylem_status_t read_links(reader_t *reader, json_t *json,
                                 sim_machine_t *machine)
{
    const char *names[SIM_LEVEL_COUNT];
    xylem_status_t status;
    json_t *link;
    int level;

    for (level = 0; level < SIM_LEVEL_COUNT; level++)
        names[level] = sim_level_name((sim_level_t)level);
    status = check_keys(reader, json, names, SIM_LEVEL_COUNT);
    for (level = 0; level < SIM_LEVEL_COUNT && status == XYLEM_OK; level++) {
        link = json_object_get(json, names[level]);
        if (link == NULL)
            return complain(reader, names[level], "is missing");
        reader_enter(reader, "links", names[level]);
        status = read_link(reader, link, level, machine);
        reader_enter(reader, "links", "");
    }
    return status;
}

static xylem_status_t read_text(const reader_t *reader, json_t *root,
                                const char *key, char *text, size_t bytes)
{
    const json_t *json = json_object_get(root, key);

    if (json == NULL)
        return complain(reader, key, "is missing");
    if (!json_is_string(json))
        return complain(reader, key, "wants a string, not %s", type_name(json));
    if (json_string_length(json) >= bytes || json_string_length(json) == 0)
        return complain(reader, key, "wants 1 ... %zu bytes, not %zu",
                        bytes - 1, json_string_length(json));
    memcpy(text, json_string_value(json), json_string_length(json) + 1);
    return XYLEM_OK;
}

/* The object `key` of the machine. */
static xylem_status_t get_object(const reader_t *reader, json_t *root,
                                 const char *key, json_t **json_out)
{
    json_t *json = json_object_get(root, key);

    if (json == NULL)
        return complain(reader, key, "is missing");
    if (!json_is_object(json))
        return complain(reader, key, "wants an object, not %s",
                        type_name(json));
    *json_out = json;
    return XYLEM_OK;
}

static xylem_status_t read_section(reader_t *reader, json_t *root,
                                   const sim_section_t *section,
                                   sim_machine_t *machine)
{
    json_t *json = NULL;
    xylem_status_t status;

    status = get_object(reader, root, section->key, &json);
    reader_enter(reader, section->key, "");
    if (status == XYLEM_OK)
        status = check_fields(reader, json, section, NULL);
    if (status == XYLEM_OK)
        status = read_fields(reader, json, section, 0, machine);
    reader_enter(reader, "", "");
    return status;
}

static xylem_status_t read_machine(reader_t *reader, json_t *root,
                                   sim_machine_t *machine)
{
    xylem_status_t status;
    json_t *links = NULL;
    size_t i;

    if (!json_is_object(root))
        return complain(reader, "", "wants an object, not %s", type_name(root));
    status = check_keys(reader, root, machine_keys, COUNT_OF(machine_keys));
    if (status == XYLEM_OK)
        status = read_text(reader, root, "name", machine->name,
                           sizeof machine->name);
    if (status == XYLEM_OK)
        status = read_text(reader, root, "about", machine->about,
                           sizeof machine->about);
    for (i = 0; i < SIM_SECTION_COUNT && status == XYLEM_OK; i++)
        status = read_section(reader, root, &sim_sections[i], machine);
    if (status == XYLEM_OK && !sim_machine_cores_fit(machine))
        status = complain(reader, "nest", "has more than %d cores in a node",
                          SIM_CORES_MAX);
    if (status == XYLEM_OK)
        status = get_object(reader, root, "links", &links);
    if (status != XYLEM_OK)
        return status;
    reader_enter(reader, "links", "");
    return read_links(reader, links, machine);
}

/* ---- files ---- */

static int is_path(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') != NULL ||
           (length > SUFFIX_BYTES &&
            strcmp(name + length - SUFFIX_BYTES, ".json") == 0);
}

/* The file that `name` stands for, whether or not there is one. */
static void find_file(const char *name, char *path, size_t bytes)
{
    const char *const folders[] = {getenv("XYLEM_SIM_MACHINES"),
                                   SIM_MACHINES_SOURCE, SIM_MACHINES_INSTALLED};
    size_t i;

    snprintf(path, bytes, "%s", name);
    for (i = 0; i < COUNT_OF(folders) && !is_path(path); i++) {
        if (folders[i] == NULL || folders[i][0] == '\0')
            continue;
        snprintf(path, bytes, "%s/%s.json", folders[i], name);
        if (access(path, F_OK) != 0)
            snprintf(path, bytes, "%s", name);
    }
}

static xylem_status_t complain_no_file(const reader_t *reader, int reason)
{
    const char *const *names = sim_machine_names();
    char list[256] = "";
    size_t used = 0, i;

    for (i = 0; names[i] != NULL; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i == 0 ? "" : ", ", names[i]);
    (void)complain(reader, "",
                   "cannot be read: %s; give a file, or a machine of these: %s",
                   strerror(reason), list);
    return XYLEM_ERR_INVALID_ARG;
}

static xylem_status_t complain_no_json(const reader_t *reader,
                                       const json_error_t *wrong)
{
    (void)complain(reader, "", "no JSON: line %d, column %d: %s", wrong->line,
                   wrong->column, wrong->text);
    return json_error_code(wrong) == json_error_out_of_memory
               ? XYLEM_ERR_NO_MEMORY
               : XYLEM_ERR_CONFIG;
}

xylem_status_t sim_machine_load(const char *name, sim_machine_t *machine_out,
                                char *error, size_t error_bytes)
{
    reader_t reader = {.error = error, .error_bytes = error_bytes};
    sim_machine_t machine = {0};
    char path[PATH_MAX];
    xylem_status_t status;
    json_error_t wrong;
    json_t *root;
    FILE *file;

    find_file(name, path, sizeof path);
    reader.file = path;
    file = is_path(path) ? fopen(path, "re") : NULL;
    if (file == NULL)
        return complain_no_file(&reader, is_path(path) ? errno : ENOENT);
    root = json_loadf(file, JSON_REJECT_DUPLICATES, &wrong);
    fclose(file);
    status = root != NULL ? read_machine(&reader, root, &machine)
                          : complain_no_json(&reader, &wrong);
    json_decref(root);
    if (status == XYLEM_OK)
        *machine_out = machine;
    return status;
}
