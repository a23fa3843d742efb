/* Machines as JSON files, for sim_machine_load to read back. */
#include <jansson.h>
#include <stdlib.h>

#include "simulator/machine_fields.h"

typedef struct writer {
    FILE *file;
    char *from; /* a JSON string; NULL: plain numbers */
    int failed;
} writer_t;

static void write_text(writer_t *writer, const char *key, const char *text)
{
    json_t *json = json_string(text); /* NULL: no UTF-8 */
    char *quoted = json_dumps(json, JSON_ENCODE_ANY);

    if (quoted == NULL || text[0] == '\0')
        writer->failed = 1;
    else
        fprintf(writer->file, "    \"%s\": %s,\n", key, quoted);
    free(quoted);
    json_decref(json);
}

/* Only numbers have their source. */
static void write_field(writer_t *writer, const sim_field_t *field,
                        const void *object, const char *indent)
{
    uint64_t value = sim_field_load(field, object);
    char text[40];

    if (!sim_value_print(field->kind, value, text, sizeof text)) {
        writer->failed = 1;
        return;
    }
    fprintf(writer->file, "%s\"%s\": ", indent, field->key);
    if (writer->from != NULL && sim_value_forms[field->kind].words == NULL)
        fprintf(writer->file, "{\"value\": %s, \"from\": %s}", text,
                writer->from);
    else
        fprintf(writer->file, "%s", text);
}

static void write_fields(writer_t *writer, const sim_section_t *section,
                         const void *object, const char *indent)
{
    size_t i;

    for (i = 0; i < section->count; i++) {
        write_field(writer, &section->fields[i], object, indent);
        fprintf(writer->file, "%s\n", i + 1 < section->count ? "," : "");
    }
}

static void write_links(writer_t *writer, const sim_machine_t *machine)
{
    int level;

    fprintf(writer->file, "    \"links\": {\n");
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        fprintf(writer->file, "        \"%s\": {\n",
                sim_level_name((sim_level_t)level));
        write_fields(writer, &sim_section_link, &machine->links[level],
                     "            ");
        fprintf(writer->file, "        }%s\n",
                level + 1 < SIM_LEVEL_COUNT ? "," : "");
    }
    fprintf(writer->file, "    }\n}\n");
}

int sim_machine_write(const sim_machine_t *machine, const char *from,
                      FILE *file)
{
    writer_t writer = {.file = file};
    json_t *json = from == NULL ? NULL : json_string(from);
    size_t i;

    writer.from = json_dumps(json, JSON_ENCODE_ANY);
    writer.failed = (from != NULL && writer.from == NULL) ||
                    !sim_machine_cores_fit(machine);
    fprintf(file, "{\n");
    write_text(&writer, "name", machine->name);
    write_text(&writer, "about", machine->about);
    for (i = 0; i < SIM_SECTION_COUNT; i++) {
        fprintf(file, "    \"%s\": {\n", sim_sections[i].key);
        write_fields(&writer, &sim_sections[i], machine, "        ");
        fprintf(file, "    },\n");
    }
    write_links(&writer, machine);
    free(writer.from);
    json_decref(json);
    return !writer.failed && fflush(file) == 0 && !ferror(file);
}
