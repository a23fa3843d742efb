/* Below which switches the nodes of the job lie: what XYLEM_TOPOLOGY names. */
#ifndef XYL_RUNTIME_CORE_CONTEXT_SWITCHES_H
#define XYL_RUNTIME_CORE_CONTEXT_SWITCHES_H

#include "runtime/core/context.h"

/* Reads the file. In the context's settings its name gives way to a hash of
 * its content, which is what must be the same on all ranks. */
xylem_status_t xyl_context_switches_read(xylem_context_t *context);
/* Finds the nodes in it, once the peers are known. In a context made of parts
 * they are called node0, node1, ..., as those that xylem-run presents. */
xylem_status_t xyl_context_switches_place(xylem_context_t *context);
void xyl_context_switches_free(xylem_context_t *context);

/* Of a node of the job, [context->switch_levels]; NULL: there is no file. */
static inline const uint32_t *
xyl_context_switches_of(const xylem_context_t *context, uint32_t node)
{
    if (context->switch_ids == NULL)
        return NULL;
    return context->switch_ids + (size_t)node * context->switch_levels;
}

#endif
