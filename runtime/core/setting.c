/* Settings, for programs beside the library that have some of them: the binding
 * for MPI. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/config.h"
#include "runtime/base/config_types.h"
#include "runtime/base/status.h"

static const xyl_config_row_t *row_named(const char *name)
{
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++)
        if (strcmp(xyl_config_row(i)->name, name) == 0)
            return xyl_config_row(i);
    return NULL;
}

/* Texts are printed in full; 0: they are longer than `bytes`. */
static int value_print(const xyl_config_row_t *row, const xyl_config_t *config,
                       char *text, size_t bytes)
{
    char printed[XYL_CONFIG_TEXT_BYTES];
    const char *from = printed;
    uint64_t value;

    memcpy(&value, (const char *)config + row->offset, sizeof value);
    if (value != 0 && xyl_config_is_text(row))
        from = (const char *)(uintptr_t)value;
    else
        row->print(value, printed);
    if (strlen(from) >= bytes)
        return 0;
    memcpy(text, from, strlen(from) + 1);
    return 1;
}

xylem_status_t xylem_setting_get(const char *name, char *text, size_t bytes)
{
    const xyl_config_row_t *row = name == NULL ? NULL : row_named(name);
    xyl_config_files_t files;
    xyl_config_t config;
    xylem_status_t status;

    if (row == NULL || text == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_setting_get: text is NULL, or there is no "
                        "setting '%s'",
                        name == NULL ? "" : name);
    xyl_config_files_find(&files);
    xyl_config_apply_log(&files, NULL);
    status = xyl_config_load(&files, NULL, &config, NULL);
    if (status != XYLEM_OK)
        return status;
    if (!value_print(row, &config, text, bytes))
        status = xyl_fail(XYLEM_ERR_TRUNCATED,
                          "xylem_setting_get: the value of %s does not fit "
                          "into %zu bytes",
                          name, bytes);
    xyl_config_release(&config);
    return status;
}
