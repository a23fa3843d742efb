#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 512 };

/* State of the process, not of a context; docs/architecture.md lists all that
 * there is. */
static _Atomic int log_level = XYL_LOG_WARN;
static _Atomic uint32_t log_rank = UINT32_MAX;

void xyl_log_level_set(xyl_log_level_t level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

void xyl_log_rank_set(uint32_t rank)
{
    atomic_store_explicit(&log_rank, rank, memory_order_relaxed);
}

int xyl_log_enabled(xyl_log_level_t level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

static size_t line_begin(char *line, xyl_log_level_t level)
{
    static const char *const names[] = {"note", "error", "warning", "info",
                                        "debug"};
    uint32_t rank = atomic_load_explicit(&log_rank, memory_order_relaxed);

    if (rank == UINT32_MAX)
        return (size_t)snprintf(line, LINE_BYTES_MAX,
                                "xylem: %s: ", names[level]);
    return (size_t)snprintf(line, LINE_BYTES_MAX, "xylem: rank %u: %s: ", rank,
                            names[level]);
}

void xyl_log(xyl_log_level_t level, const char *format, ...)
{
    char line[LINE_BYTES_MAX];
    va_list args;
    size_t length;
    int text;

    if (!xyl_log_enabled(level))
        return;
    length = line_begin(line, level);
    va_start(args, format);
    text = vsnprintf(line + length, sizeof line - length - 1, format, args);
    va_end(args);
    if (text > 0)
        length += (size_t)text;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* nowhere left to complain */
}
