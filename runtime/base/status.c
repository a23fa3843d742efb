/* Names and texts of statuses, and the words of this thread's last failure. */
#include "runtime/base/status.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/log.h"

/* Per thread: the thread whose call has failed asks for the text, and a handle
 * may not exist yet. */
static _Thread_local char last_error[700];

const char *xylem_status_name(xylem_status_t status)
{
    switch (status) {
#define STATUS_NAME(name, value, text)                                         \
    case XYLEM_##name:                                                         \
        return "XYLEM_" #name;
        XYLEM_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "XYLEM_STATUS_UNKNOWN";
}

const char *xylem_status_text(xylem_status_t status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text)                                         \
    case XYLEM_##name:                                                         \
        return text;
        XYLEM_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "no status of this library";
}

const char *xylem_last_error(void)
{
    return last_error;
}

const char *xylem_version(void)
{
#define VERSION_TEXT(number) #number
#define VERSION_DOTTED(major, minor, patch)                                    \
    VERSION_TEXT(major) "." VERSION_TEXT(minor) "." VERSION_TEXT(patch)
    return VERSION_DOTTED(XYLEM_VERSION_MAJOR, XYLEM_VERSION_MINOR,
                          XYLEM_VERSION_PATCH);
}

void xyl_status_explain(const char *format, ...)
{
    va_list args;
    char *at;

    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    /* Names of files may hold any byte, but an error is one line. */
    for (at = last_error; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
}

void xyl_log_last_error(int is_error)
{
    xyl_log(is_error ? XYL_LOG_ERROR : XYL_LOG_INFO, "%s", last_error);
}
