/* The log. A message is a line on standard error, written by one write(2), so
 * that lines of several ranks do not mix; or a call of the program's function
 * (xylem_log_set). The level, the rank and that function belong to the process:
 * the log exists before the first context and after the last. */
#pragma once

#include <stdint.h>

typedef enum xyl_log_level {
    XYL_LOG_NONE,
    XYL_LOG_ERROR,
    XYL_LOG_WARN,
    XYL_LOG_INFO,
    XYL_LOG_DEBUG
} xyl_log_level_t;

void xyl_log_level_set(xyl_log_level_t level);
/* The rank at the beginning of lines; UINT32_MAX: none. */
void xyl_log_rank_set(uint32_t rank);
void xyl_log(xyl_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 1: drops what this thread logs from now on. Returns the value before. */
int xyl_log_mute(int is_muted);

/* While ranks meet, most of them log equal lines, since most have the same
 * settings; a job should print those lines once. From xyl_log_hold on the lines
 * of this thread are held until the ranks have compared theirs. The first rank
 * prints its lines at once. */
void xyl_log_hold(int is_first);
/* A hash of the lines since the last call of xyl_log_hold or xyl_log_tell; 0:
 * there were none. */
uint64_t xyl_log_held(void);
/* Prints the held lines, or drops them if another rank prints the same. */
void xyl_log_tell(int is_said_elsewhere);
/* Prints the held lines, and holds no longer. */
void xyl_log_let_go(void);
