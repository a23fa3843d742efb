/* The recorder, for XYLEM_TRACE: an observer that keeps a rank's events in
 * memory and writes them when the context ends, so that it disturbs a run by
 * little more than readings of the clock.
 *
 * Any thread may record events; the context begins and ends the recorder. */
#pragma once

#include "runtime/core/context.h"

/* Does nothing unless the setting names a file. */
xylem_status_t xyl_tracing_begin(xylem_context_t *context);
void xyl_tracing_end(xylem_context_t *context);
