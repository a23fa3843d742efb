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

/* While ranks meet they say much alike, since most of them have the same
 * settings, and it is to be read once per job. From xyl_log_hold on the lines
 * of this thread wait until the ranks have compared them; those of the first
 * rank, which will be the one to say them, do not. */
void xyl_log_hold(int is_first);
/* Equal for equal lines since the last call of xyl_log_hold or xyl_log_tell; 0:
 * there were none. */
uint64_t xyl_log_held(void);
/* Says what waits, or drops it if another rank says the same. */
void xyl_log_tell(int is_said_elsewhere);
/* Says what waits, and holds no longer. */
void xyl_log_let_go(void);

#endif
