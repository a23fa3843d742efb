/* What a rank does, for XYLEM_TRACE: an observer that keeps what it is told in
 * memory, and writes it when the context ends, so that a run is disturbed by
 * little more than readings of the clock.
 *
 * Any thread may tell; the context begins and ends it. */
#ifndef XYL_RUNTIME_CORE_RECORDER_H
#define XYL_RUNTIME_CORE_RECORDER_H

#include "runtime/core/context.h"

/* Does nothing unless the setting names a file. */
xylem_status_t xyl_recorder_begin(xylem_context_t *context);
void xyl_recorder_end(xylem_context_t *context);

#endif
