/* The end of a context's life in its job: nobody takes its net down while
 * another still needs it. */
#ifndef XYL_RUNTIME_CORE_CONTEXT_LEAVE_H
#define XYL_RUNTIME_CORE_CONTEXT_LEAVE_H

#include "runtime/core/context.h"

struct xyl_notice;

/* Sends what is left, and meets the other ranks; in bounded time, but for a
 * bootstrap of the user's that blocks. The driver is left to the caller. */
void xyl_context_leave(xylem_context_t *context);

/* Another rank says that it leaves. The progressing thread. */
void xyl_context_leave_hear(xylem_context_t *context,
                            const struct xyl_notice *notice);

#endif
