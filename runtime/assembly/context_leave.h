/* The end of a context's life in its job: no rank takes its net down while
 * another still needs it. */
#pragma once

#include "runtime/core/context.h"

extern const xyl_module_t xyl_leaving_module;

/* Sends the messages that are left, and meets the other ranks, in bounded time
 * unless the user's own bootstrap blocks. The caller drives the engine. */
void xyl_context_leave(xylem_context_t *context);
