/* The manifest as JSON. One thread. */
#include "bench/noise/manifest.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/results.h"

extern char **environ;

enum { PATH_BYTES = 4096, LINE_BYTES = 1024, SESSIONS_MAX = 10000 };

struct manifest {
    char path[RESULTS_PATH_BYTES], part[RESULTS_PATH_BYTES];
    json_t *root;
    json_t *session; /* within it */
};

static json_t *now_text(void)
{
    time_t now = time(NULL);
    char text[32];
    struct tm utc;

    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return json_string(text);
}

/* Bytes that are no text become none. */
static json_t *text_of(const char *text)
{
    json_t *made = json_string(text);

    return made != NULL ? made : json_null();
}

/* The first line of a file, or what follows `key` in the first that has it. */
static json_t *line_of(const char *path, const char *key)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");
    json_t *found = NULL;
    const char *value;

    while (file != NULL && found == NULL &&
           fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        value = key == NULL ? line : strchr(line, ':');
        if (key == NULL ||
            (strncmp(line, key, strlen(key)) == 0 && value != NULL))
            found = text_of(key == NULL ? value
                                        : value + 1 + strspn(value + 1, " "));
    }
    if (file != NULL)
        fclose(file);
    return found != NULL ? found : json_null();
}

static json_t *machine_of(void)
{
    json_t *machine = json_object();
    struct utsname names;

    if (uname(&names) == 0) {
        json_object_set_new(machine, "host", text_of(names.nodename));
        json_object_set_new(machine, "kernel", text_of(names.release));
        json_object_set_new(machine, "architecture", text_of(names.machine));
    }
    json_object_set_new(machine, "processor",
                        line_of("/proc/cpuinfo", "model name"));
    json_object_set_new(machine, "cores",
                        json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(machine, "clock", json_string("CLOCK_MONOTONIC"));
    json_object_set_new(machine, "clock_source",
                        line_of("/sys/devices/system/clocksource/clocksource0/"
                                "current_clocksource",
                                NULL));
    return machine;
}

/* The variables that may change how libraries and launchers behave. */
static json_t *environment_of(void)
{
    static const char *const heads[] = {"XYLEM_", "UCX_",   "OMPI_", "PRTE_",
                                        "MPICH_", "I_MPI_", "FI_",   "SLURM_",
                                        "NOISE_", "PATH="};
    json_t *environment = json_object();
    char **entry, name[LINE_BYTES];
    size_t i;

    for (entry = environ; *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");

        for (i = 0; i < sizeof heads / sizeof heads[0]; i++)
            if (strncmp(*entry, heads[i], strlen(heads[i])) == 0 &&
                length < sizeof name && (*entry)[length] == '=') {
                memcpy(name, *entry, length);
                name[length] = '\0';
                json_object_set_new(environment, name,
                                    text_of(*entry + length + 1));
            }
    }
    return environment;
}

/* The command line of each implementation's first run. */
static json_t *implementations_of(const struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    struct launch_experiment experiment = {.is_delay =
                                               options->levels.count == 0};
    json_t *all = json_object(), *words;
    struct launch_command command;
    size_t i;
    unsigned k;

    for (i = 0; i < options->cases_count; i++)
        experiment.cases[i] = 1;
    for (i = 0; i < campaign->contenders_count; i++) {
        const struct launch *launch = &campaign->contenders[i].launch;

        launch_command_build(launch, options, &experiment, &command);
        words = json_array();
        for (k = 0; k < command.args; k++)
            json_array_append_new(words, text_of(command.argv[k]));
        json_object_set_new(all, launch->name, words);
    }
    return all;
}

static json_t *places_of(const struct campaign *campaign)
{
    json_t *ranks = json_array();
    unsigned i;

    for (i = 0; i < campaign->options->ranks; i++) {
        const struct campaign_place *place = &campaign->places[i];

        if (place->host[0] != '\0')
            json_array_append_new(
                ranks, json_pack("{s:i s:s s:s s:f s:f s:f}", "rank", (int)i,
                                 "host", place->host, "cores", place->cores,
                                 "clock_ahead_us", place->clock_ahead_us,
                                 "clock_error_us", place->clock_error_us,
                                 "clock_drift_us", place->clock_drift_us));
    }
    return ranks;
}

static json_t *session_of(const struct campaign *campaign, int argc,
                          char **argv)
{
    char folder[PATH_BYTES];
    json_t *session = json_object(), *words = json_array();
    int i;

    for (i = 0; i < argc; i++)
        json_array_append_new(words, text_of(argv[i]));
    json_object_set_new(session, "version", json_string(xylem_version()));
    json_object_set_new(session, "begin", now_text());
    json_object_set_new(session, "command", words);
    if (getcwd(folder, sizeof folder) != NULL)
        json_object_set_new(session, "folder", text_of(folder));
    json_object_set_new(session, "seed", json_integer(campaign->options->seed));
    json_object_set_new(session, "machine", machine_of());
    json_object_set_new(session, "environment", environment_of());
    json_object_set_new(session, "implementations",
                        implementations_of(campaign));
    return session;
}

static const char format[] = "xylem-noise 1";

/* The earlier manifest of the file, with the sessions of its rows. NULL: the
 * file is of another kind, and a message says so. */
static json_t *root_of(const struct campaign *campaign, const char *path)
{
    json_t *root = json_load_file(path, 0, NULL);

    if (json_is_array(json_object_get(root, "sessions")) &&
        json_is_string(json_object_get(root, "format")))
        return root;
    json_decref(root);
    if (!results_may_replace(campaign->program, path, NULL))
        return NULL;
    return json_pack("{s:s s:[]}", "format", format, "sessions");
}

struct manifest *manifest_begin(const struct campaign *campaign, int argc,
                                char **argv)
{
    struct manifest *manifest = calloc(1, sizeof *manifest);

    if (manifest == NULL) {
        fprintf(stderr, "%s: out of memory\n", campaign->program);
        return NULL;
    }
    snprintf(manifest->path, sizeof manifest->path, "%s.json",
             campaign->options->csv);
    results_part(manifest->path, manifest->part);
    manifest->root = root_of(campaign, manifest->path);
    if (manifest->root == NULL) {
        free(manifest);
        return NULL;
    }
    manifest->session = session_of(campaign, argc, argv);
    json_array_append(json_object_get(manifest->root, "sessions"),
                      manifest->session);
    if (manifest_write(manifest, campaign))
        return manifest;
    manifest_end(manifest);
    return NULL;
}

int manifest_write(struct manifest *manifest, const struct campaign *campaign)
{
    json_t *session = manifest->session;

    json_object_set_new(session, "end", now_text());
    json_object_set_new(session, "runs_planned",
                        json_integer(campaign->runs_planned));
    json_object_set_new(
        session, "runs_done",
        json_integer(campaign->runs_done - campaign->runs_skipped));
    json_object_set_new(session, "runs_failed",
                        json_integer(campaign->failures));
    json_object_set_new(session, "ranks", places_of(campaign));
    if (json_dump_file(manifest->root, manifest->part, JSON_INDENT(2)) == 0)
        return results_place(campaign->program, manifest->part, manifest->path);
    fprintf(stderr, "%s: cannot write %s\n", campaign->program, manifest->part);
    return 0;
}

void manifest_end(struct manifest *manifest)
{
    if (manifest == NULL)
        return;
    json_decref(manifest->session);
    json_decref(manifest->root);
    free(manifest);
}
