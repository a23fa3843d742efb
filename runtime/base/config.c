#include "runtime/base/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"

#define PREFIX "XYLEM_"
/* Variables with this behind the prefix belong to the simulator. */
#define SIMULATOR "SIM_"
enum { PREFIX_BYTES = sizeof PREFIX - 1 };

enum { TIER_USER, TIER_EXPERT };

static const xyl_config_row_t rows[] = {
#define CONFIG_ROW(field, name, type, preset, same, tier, help)                \
    {#name,                                                                    \
     preset,                                                                   \
     help,                                                                     \
     same,                                                                     \
     TIER_##tier,                                                              \
     offsetof(xyl_config_t, field),                                            \
     &xyl_config_##type},
    XYL_CONFIG_MAP(CONFIG_ROW)
#undef CONFIG_ROW
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

size_t xyl_config_row_count(void)
{
    return ROW_COUNT;
}

const xyl_config_row_t *xyl_config_row(size_t index)
{
    assert(index < ROW_COUNT);
    return &rows[index];
}

static const xyl_config_row_t *row_find(const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < ROW_COUNT; i++)
        if (strlen(rows[i].name) == length &&
            strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* The state of one xyl_config_load. */
typedef struct loader {
    xyl_config_t config;
    xyl_config_origin_t *origins; /* NULL: not wanted */
} loader_t;

/* 0: the value cannot be read, and nothing has changed. An empty value counts
 * as not set. */
static int row_set(loader_t *loader, const xyl_config_row_t *row,
                   const char *text, xyl_config_origin_t origin)
{
    uint64_t *value =
        (uint64_t *)(void *)((char *)&loader->config + row->offset);

    if (*text == '\0')
        return 1;
    if (xyl_config_parse(row->type, text, value) != XYLEM_OK)
        return 0;
    if (loader->origins != NULL)
        loader->origins[row - rows] = origin;
    return 1;
}

static xylem_status_t row_fail(const xyl_config_row_t *row, const char *text,
                               const char *origin)
{
    return xyl_fail(XYLEM_ERR_CONFIG,
                    "%s" PREFIX "%s: cannot use the value '%s' (default %s): "
                    "%s",
                    origin, row->name, text, row->preset, row->help);
}

/* ---- files ---- */

/* 1: the row is XYLEM_CONF, which names the files and is read before them. */
static int is_of_environment(const xyl_config_row_t *row)
{
    return row->offset == offsetof(xyl_config_t, conf);
}

static void load_line(loader_t *loader, const char *path,
                      const xyl_config_line_t *line)
{
    xyl_config_origin_t origin = {path, line->number};
    const xyl_config_row_t *row = NULL;

    if (line->name != NULL)
        row = row_find(line->name, strlen(line->name));
    if (line->name == NULL)
        xyl_log(XYL_LOG_WARN,
                "%s:%u: this is no line of the form NAME = value; it changes "
                "nothing",
                path, line->number);
    else if (row == NULL || is_of_environment(row))
        xyl_log(XYL_LOG_WARN,
                "%s:%u: there is no setting '%s' of files; the line changes "
                "nothing (xylem-info lists all settings)",
                path, line->number, line->name);
    else if (!row_set(loader, row, line->value, origin))
        xyl_log(XYL_LOG_WARN,
                "%s:%u: %s: cannot use the value '%s'; the line changes "
                "nothing: %s",
                path, line->number, row->name, line->value, row->help);
}

static void load_files(loader_t *loader, const xyl_config_files_t *files)
{
    unsigned i;

    for (i = 0; files != NULL && i < files->count; i++) {
        xyl_config_line_t line = {.number = 0};
        char *rest = xyl_config_file_read(files->path[i]);
        loader->config.content[i] = rest;
        while (rest != NULL && xyl_config_file_next(&rest, &line))
            load_line(loader, files->path[i], &line);
    }
}

void xyl_config_release(const xyl_config_t *config)
{
    unsigned i;

    for (i = 0; i < XYL_CONFIG_FILES_MAX; i++)
        free(config->content[i]);
    free(config->settings);
}

/* ---- environment and settings ---- */

static xylem_status_t load_environment(loader_t *loader)
{
    xylem_status_t status = XYLEM_OK;
    char **variable;

    for (variable = environ; *variable != NULL; variable++) {
        const char *name = *variable + PREFIX_BYTES;
        const char *equals = strchr(*variable, '=');
        const xyl_config_row_t *row;

        if (strncmp(*variable, PREFIX, PREFIX_BYTES) != 0 || equals < name ||
            equals[1] == '\0')
            continue;
        row = row_find(name, (size_t)(equals - name));
        if (row == NULL && strncmp(name, SIMULATOR, strlen(SIMULATOR)) == 0)
            continue;
        if (row == NULL) {
            xyl_log(XYL_LOG_WARN,
                    "there is no setting %.*s; it changes nothing "
                    "(xylem-info lists all settings)",
                    (int)(equals - *variable), *variable);
            continue;
        }
        if (!row_set(loader, row, equals + 1,
                     (xyl_config_origin_t){"environment", 0}))
            status = row_fail(row, equals + 1, "");
    }
    return status;
}

/* Copies the caller's settings into one block, since texts are read later. */
static char *settings_copy(const char *const *settings)
{
    size_t bytes = 1, at = 0, i;
    char *copy;

    for (i = 0; settings[i] != NULL; i++)
        bytes += strlen(settings[i]) + 1;
    copy = malloc(bytes);
    for (i = 0; copy != NULL && settings[i] != NULL; i++) {
        size_t length = strlen(settings[i]) + 1;
        memcpy(copy + at, settings[i], length);
        at += length;
    }
    return copy;
}

static xylem_status_t load_settings(loader_t *loader,
                                    const char *const *settings)
{
    xylem_status_t status = XYLEM_OK;
    const char *copy;
    size_t i;

    if (settings == NULL)
        return XYLEM_OK;
    copy = loader->config.settings = settings_copy(settings);
    if (copy == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for settings");
    for (i = 0; settings[i] != NULL; i++, copy += strlen(copy) + 1) {
        const char *equals = strchr(copy, '=');
        const xyl_config_row_t *row = NULL;

        if (equals != NULL)
            row = row_find(copy, (size_t)(equals - copy));
        if (row == NULL || is_of_environment(row))
            status = xyl_fail(XYLEM_ERR_CONFIG,
                              "'%s' is no setting of the form NAME=value that "
                              "may be given here; xylem-info lists all names",
                              settings[i]);
        else if (!row_set(loader, row, equals + 1,
                          (xyl_config_origin_t){"settings", 0}))
            status = row_fail(row, equals + 1, "settings: ");
    }
    return status;
}

static xylem_status_t check_windows(const xyl_config_t *config)
{
    if (config->recv_window != 0 && config->send_window > config->recv_window)
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "XYLEM_SEND_WINDOW may not exceed XYLEM_RECV_WINDOW: "
                        "a receive must be posted for every send in flight");
    return XYLEM_OK;
}

void xyl_config_apply_log(const xyl_config_files_t *files,
                          const char *const *settings)
{
    loader_t loader = {.config.log = UINT64_MAX}; /* no level */
    int was_muted = xyl_log_mute(1);

    load_files(&loader, files);
    (void)load_environment(&loader);
    (void)load_settings(&loader, settings);
    (void)xyl_log_mute(was_muted);
    if (loader.config.log != UINT64_MAX)
        xyl_log_level_set((xyl_log_level_t)loader.config.log);
    xyl_config_release(&loader.config);
}

xylem_status_t xyl_config_load(const xyl_config_files_t *files,
                               const char *const *settings,
                               xyl_config_t *config_out,
                               xyl_config_origin_t *origins)
{
    loader_t loader = {.origins = origins};
    xylem_status_t status;
    uint64_t found = 0;
    size_t i;
    int is_set;

    for (i = 0; i < ROW_COUNT; i++) {
        is_set = row_set(&loader, &rows[i], rows[i].preset,
                         (xyl_config_origin_t){"default", 0});
        assert(is_set);
    }
    if (files != NULL && *files->tuning != '\0')
        (void)row_set(&loader, row_find("TUNING", sizeof "TUNING" - 1),
                      files->tuning, (xyl_config_origin_t){files->tuning, 0});
    found = loader.config.tuning;
    load_files(&loader, files);
    status = load_environment(&loader);
    if (status == XYLEM_OK)
        status = load_settings(&loader, settings);
    else
        (void)load_settings(&loader, settings);
    if (status == XYLEM_OK)
        status = check_windows(&loader.config);
    loader.config.tuning_is_found = found != 0 && loader.config.tuning == found;
    if (status != XYLEM_OK) {
        xyl_config_release(&loader.config);
        memset(loader.config.content, 0, sizeof loader.config.content);
        loader.config.settings = NULL;
    }
    *config_out = loader.config;
    return status;
}

/* For programs outside the library whose settings are in its table: the binding
 * for MPI. */
xylem_status_t xylem_setting_get(const char *name, char *text, size_t bytes)
{
    const xyl_config_row_t *row =
        name == NULL ? NULL : row_find(name, strlen(name));
    xyl_config_files_t files;
    xyl_config_t config;
    uint64_t value;
    xylem_status_t status;
    int was_muted;

    if (row == NULL || text == NULL)
        return xyl_refuse("xylem_setting_get",
                          "text is NULL, or there is no setting '%s'",
                          name == NULL ? "" : name);
    /* A program calls this for several settings, and the creation of a context
     * logs the messages. */
    was_muted = xyl_log_mute(1);
    xyl_config_files_find(&files);
    xyl_config_apply_log(&files, NULL);
    status = xyl_config_load(&files, NULL, &config, NULL);
    (void)xyl_log_mute(was_muted);
    if (status != XYLEM_OK)
        return status;
    value = xyl_config_value(&config, row);
    if (xyl_config_print(row->type, value, NULL, 0) < bytes)
        xyl_config_print(row->type, value, text, bytes);
    else
        status = xyl_fail(XYLEM_ERR_TRUNCATED,
                          "xylem_setting_get: the value of %s does not fit "
                          "into %zu bytes",
                          name, bytes);
    xyl_config_release(&config);
    return status;
}
