/* The end of a context's life in its job: no rank takes its net down while
 * another still needs it. */
#ifndef XYL_RUNTIME_CORE_CONTEXT_LEAVE_H
#define XYL_RUNTIME_CORE_CONTEXT_LEAVE_H

#include "runtime/core/context.h"

struct xyl_notice;

/* Sends the messages that are left, and meets the other ranks, in bounded time
 * unless a bootstrap of the user's blocks. The caller drives the engine. */
void xyl_context_leave(xylem_context_t *context);

/* Handles another rank's notice that it leaves. The progressing thread. */
void xyl_context_leave_hear(xylem_context_t *context,
                            const struct xyl_notice *notice);

#endif
