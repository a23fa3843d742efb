/* Looks at operations that wait for long, once a second: compares what is
 * called with what others call, fails what has hung for its limit, and, once
 * a process has died, what UCX holds up; and writes down who is waited for,
 * when something hangs or SIGUSR1 has come, if XYLEM_HANG_DUMP names a file.
 *
 * The progressing thread. */
#ifndef XYL_RUNTIME_CORE_WATCH_H
#define XYL_RUNTIME_CORE_WATCH_H

#include "runtime/core/context.h"

void xyl_watch_init(xylem_context_t *context);
/* From now on, if it has not begun before. */
void xyl_watch_start(xylem_context_t *context);
/* One look. */
void xyl_watch_look(xylem_context_t *context);

#endif
