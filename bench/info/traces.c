/* Records are put together by the clocks that they name: CLOCK_MONOTONIC if all
 * are of one host, else the time of day, which is as good as the hosts' clocks
 * are. One thread. */
#include "bench/info/traces.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/results.h"

enum { LINE_BYTES = 512, HOST_BYTES = 256 };

/* A trace, or bursts as spans of a trace. */
struct part {
    json_t *events; /* owned */
    char host[HOST_BYTES];
    double monotonic_ns, realtime_ns; /* of its time 0 */
};

struct parts {
    const char *program;
    struct part *all;
    size_t count;
};

static int complain(const struct parts *parts, const char *path,
                    const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", parts->program, path, what);
    return 0;
}

static const json_t *event_named(const json_t *events, const char *name)
{
    const char *its;
    json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
    {
        its = json_string_value(json_object_get(event, "name"));
        if (its != NULL && strcmp(its, name) == 0)
            return event;
    }
    return NULL;
}

static double text_number(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? strtod(text, NULL) : 0;
}

static int trace_read(struct parts *parts, const char *path)
{
    struct part *part = &parts->all[parts->count];
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    const json_t *clock;
    const char *host;

    part->events = json_incref(json_object_get(root, "traceEvents"));
    json_decref(root);
    clock = json_object_get(event_named(part->events, "clock"), "args");
    host = json_string_value(json_object_get(clock, "host"));
    if (host == NULL) {
        json_decref(part->events);
        return complain(parts, path,
                        root == NULL ? error.text
                                     : "no record that XYLEM_TRACE has made");
    }
    snprintf(part->host, sizeof part->host, "%s", host);
    part->monotonic_ns = text_number(clock, "monotonic_ns");
    part->realtime_ns = text_number(clock, "realtime_ns");
    parts->count++;
    return 1;
}

/* Reads bursts of a rank, which the first line names. The rank's node is not
 * known here: its trace tells the process later. */
static int noise_read_log(struct parts *parts, const char *path)
{
    struct part *part = &parts->all[parts->count];
    FILE *file = fopen(path, "re");
    char line[LINE_BYTES] = "";
    double begin, length;
    unsigned rank = 0;
    int good;

    good =
        file != NULL && fgets(line, sizeof line, file) != NULL &&
        sscanf(line,
               "# bursts of rank %u on %255s from monotonic_ns %lf "
               "realtime_ns %lf",
               &rank, part->host, &part->monotonic_ns, &part->realtime_ns) == 4;
    part->events = json_array();
    while (good && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%lf %lf", &begin, &length) == 2)
            json_array_append_new(part->events,
                                  json_pack("{s:s s:s s:i s:I s:f s:f}", "ph",
                                            "X", "name", "noise", "pid", 0,
                                            "tid", (json_int_t)rank + 1, "ts",
                                            begin, "dur", length));
    if (file != NULL)
        fclose(file);
    if (!good) {
        json_decref(part->events);
        return complain(parts, path, "no record of NOISE_LOG");
    }
    parts->count++;
    return 1;
}

static int part_read(struct parts *parts, const char *path)
{
    FILE *file = fopen(path, "re");
    int first = file != NULL ? getc(file) : EOF;

    if (file != NULL)
        fclose(file);
    if (first == EOF)
        return complain(parts, path, "cannot be read, or is empty");
    return first == '#' ? noise_read_log(parts, path) : trace_read(parts, path);
}

/* The process that has the thread; 1 if none is known. */
static json_int_t process_of(const struct parts *parts, json_int_t thread)
{
    size_t i, k;
    json_t *event;

    for (i = 0; i < parts->count; i++)
        json_array_foreach(parts->all[i].events, k, event)
        {
            json_int_t process =
                json_integer_value(json_object_get(event, "pid"));

            if (json_integer_value(json_object_get(event, "tid")) == thread &&
                process != 0)
                return process;
        }
    return 1;
}

/* Moves a part's events to the common time, and into `events`. */
static void part_add(const struct parts *parts, struct part *part,
                     double shift_us, json_t *events)
{
    json_int_t process = 0;
    json_t *event;
    size_t i;

    json_array_foreach(part->events, i, event)
    {
        json_t *time = json_object_get(event, "ts");

        if (time != NULL)
            json_object_set_new(event, "ts",
                                json_real(json_number_value(time) + shift_us));
        if (json_integer_value(json_object_get(event, "pid")) == 0) {
            if (process == 0)
                process = process_of(
                    parts, json_integer_value(json_object_get(event, "tid")));
            json_object_set_new(event, "pid", json_integer(process));
        }
        json_array_append(events, event);
    }
}

/* The words by which a merged record differs from its parts. */
static const char merged_mark[] = "\"otherData\":{\"clock\":";

static json_t *parts_merge(const struct parts *parts)
{
    json_t *events = json_array();
    const char *clock = "CLOCK_MONOTONIC";
    double first_ns = 0;
    size_t i;

    for (i = 1; i < parts->count; i++)
        if (strcmp(parts->all[i].host, parts->all[0].host) != 0)
            clock = "CLOCK_REALTIME";
    for (i = 0; i < parts->count; i++) {
        struct part *part = &parts->all[i];

        if (strcmp(clock, "CLOCK_REALTIME") == 0)
            part->monotonic_ns = part->realtime_ns;
        if (i == 0 || part->monotonic_ns < first_ns)
            first_ns = part->monotonic_ns;
    }
    for (i = 0; i < parts->count; i++)
        part_add(parts, &parts->all[i],
                 (parts->all[i].monotonic_ns - first_ns) / 1e3, events);
    return json_pack("{s:s s:o s:{s:s}}", "displayTimeUnit", "ns",
                     "traceEvents", events, "otherData", "clock", clock);
}

int traces_merge(const char *program, const char *out, char *const *files)
{
    struct parts parts = {.program = program};
    char part[RESULTS_PATH_BYTES];
    size_t count = 0, i;
    json_t *merged;
    int ok = 1;

    while (files[count] != NULL)
        count++;
    if (!results_may_replace(program, out, merged_mark))
        return 0;
    parts.all = calloc(count + 1, sizeof *parts.all);
    if (parts.all == NULL)
        return complain(&parts, out, "out of memory");
    for (i = 0; i < count && ok; i++)
        ok = part_read(&parts, files[i]);
    if (ok) {
        merged = parts_merge(&parts);
        results_part(out, part);
        if (json_dump_file(merged, part, JSON_COMPACT) != 0)
            ok = complain(&parts, part, "cannot be written");
        else
            ok = results_place(program, part, out);
        json_decref(merged);
    }
    for (i = 0; i < parts.count; i++)
        json_decref(parts.all[i].events);
    free(parts.all);
    return ok;
}
