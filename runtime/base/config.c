#include "runtime/base/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/config_types.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

#define PREFIX "XYLEM_"
/* What begins so is the simulator's, or the binding's for MPI. */
#define SIMULATOR "SIM_"
#define BINDING   "MPI_"
enum {
    PREFIX_BYTES = sizeof PREFIX - 1,
    WINDOW_MAX = 64 /* the bits of a word, see collectives/stages/edge.h */
};

/* So that a node's file of memory stays far within what a file may be. */
#define NOISE_BUDGET_MAX (UINT64_C(1) << 40)

static const xyl_config_row_t rows[] = {
#define CONFIG_ROW(field, name, type, preset, same, help)                      \
    {#name,                                                                    \
     preset,                                                                   \
     help,                                                                     \
     same,                                                                     \
     offsetof(xyl_config_t, field),                                            \
     xyl_config_parse_##type,                                                  \
     xyl_config_print_##type},
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

static xylem_status_t row_set(const xyl_config_row_t *row, const char *text,
                              const char *origin, xyl_config_t *config)
{
    uint64_t *value = (uint64_t *)(void *)((char *)config + row->offset);

    if (row->parse(text, value) == XYLEM_OK)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_CONFIG,
                    "%s" PREFIX "%s: cannot use the value '%s' (default %s): "
                    "%s",
                    origin, row->name, text, row->preset, row->help);
}

static xylem_status_t load_environment(xyl_config_t *config)
{
    char **variable;

    for (variable = environ; *variable != NULL; variable++) {
        const char *name = *variable + PREFIX_BYTES;
        const char *equals = strchr(*variable, '=');
        const xyl_config_row_t *row;
        xylem_status_t status;

        if (strncmp(*variable, PREFIX, PREFIX_BYTES) != 0 || equals < name)
            continue;
        row = row_find(name, (size_t)(equals - name));
        if (row == NULL && (strncmp(name, SIMULATOR, strlen(SIMULATOR)) == 0 ||
                            strncmp(name, BINDING, strlen(BINDING)) == 0))
            continue;
        if (row == NULL) {
            xyl_log(XYL_LOG_WARN,
                    "there is no setting %.*s; xylem-info lists all",
                    (int)(equals - *variable), *variable);
            continue;
        }
        status = row_set(row, equals + 1, "", config);
        if (status != XYLEM_OK)
            return status;
    }
    return XYLEM_OK;
}

static xylem_status_t load_settings(const char *const *settings,
                                    xyl_config_t *config)
{
    size_t i;

    for (i = 0; settings != NULL && settings[i] != NULL; i++) {
        const char *equals = strchr(settings[i], '=');
        const xyl_config_row_t *row = NULL;
        xylem_status_t status;

        if (equals != NULL)
            row = row_find(settings[i], (size_t)(equals - settings[i]));
        if (row == NULL)
            return xyl_fail(XYLEM_ERR_CONFIG,
                            "'%s' is no setting of the form NAME=value; "
                            "xylem-info lists all names",
                            settings[i]);
        status = row_set(row, equals + 1, "settings: ", config);
        if (status != XYLEM_OK)
            return status;
    }
    return XYLEM_OK;
}

static xylem_status_t check_windows(const xyl_config_t *config)
{
    if (config->recv_window > WINDOW_MAX || config->send_window > WINDOW_MAX)
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "XYLEM_SEND_WINDOW and XYLEM_RECV_WINDOW are at most "
                        "%d",
                        WINDOW_MAX);
    if (config->recv_window != 0 && config->send_window > config->recv_window)
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "XYLEM_SEND_WINDOW may not exceed XYLEM_RECV_WINDOW: "
                        "a receive must be posted for every send in flight");
    return XYLEM_OK;
}

static xylem_status_t check_noise_budget(const xyl_config_t *config)
{
    if (config->noise_budget > NOISE_BUDGET_MAX)
        return xyl_fail(XYLEM_ERR_CONFIG, "XYLEM_NOISE_BUDGET is at most 1T");
    return XYLEM_OK;
}

void xyl_config_apply_log(const char *const *settings)
{
    static const char name[] = "LOG=";
    const char *text = getenv(PREFIX "LOG");
    uint64_t level;
    size_t i;

    for (i = 0; settings != NULL && settings[i] != NULL; i++)
        if (strncmp(settings[i], name, sizeof name - 1) == 0)
            text = settings[i] + sizeof name - 1;
    if (text != NULL && xyl_config_parse_LEVEL(text, &level) == XYLEM_OK)
        xyl_log_level_set((xyl_log_level_t)level);
}

xylem_status_t xyl_config_load(const char *const *settings,
                               xyl_config_t *config_out)
{
    xyl_config_t config;
    xylem_status_t status;
    size_t i;

    for (i = 0; i < ROW_COUNT; i++) {
        status = row_set(&rows[i], rows[i].preset, "default: ", &config);
        assert(status == XYLEM_OK);
    }
    status = load_environment(&config);
    if (status == XYLEM_OK)
        status = load_settings(settings, &config);
    if (status == XYLEM_OK)
        status = check_windows(&config);
    if (status == XYLEM_OK)
        status = check_noise_budget(&config);
    if (status == XYLEM_OK)
        *config_out = config;
    return status;
}
