/* Once a second this module looks at the operations that are under way. It has
 * the calls of those that wait compared (mismatch.h). It fails operations that
 * have waited for their limit and, once a process has died, operations that UCX
 * may hold up. It writes dumps (XYLEM_HANG_DUMP).
 *
 * The progressing thread. */
#pragma once

#include "runtime/core/context.h"

/* Starts the looks when a rank has died. */
extern const xyl_module_t xyl_hangs_module;

/* Starts the looks, unless they have started before. */
void xyl_hangs_start(xylem_context_t *context);
void xyl_hangs_look(xylem_context_t *context);
