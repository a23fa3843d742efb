/* The log: one line on standard error per message, written by one write(2), so
 * that lines of several ranks do not mix, or a call of the program's function,
 * see xylem_log_set. The level, the rank and that function are the process's: a
 * log exists before the first context and after the last. */
#ifndef XYL_BASE_LOG_H
#define XYL_BASE_LOG_H

#include <stdint.h>

typedef enum xyl_log_level {
    XYL_LOG_NONE,
    XYL_LOG_ERROR,
    XYL_LOG_WARN,
    XYL_LOG_INFO,
    XYL_LOG_DEBUG
} xyl_log_level_t;

void xyl_log_level_set(xyl_log_level_t level);
/* Which rank lines begin with; UINT32_MAX for none. */
void xyl_log_rank_set(uint32_t rank);
void xyl_log(xyl_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
