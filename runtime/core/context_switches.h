/* The switches above the job's nodes, from the file that XYLEM_TOPOLOGY names.
 */
#ifndef XYL_RUNTIME_CORE_CONTEXT_SWITCHES_H
#define XYL_RUNTIME_CORE_CONTEXT_SWITCHES_H

#include "runtime/core/context.h"

/* Reads the file, and replaces its name in the context's settings by a hash of
 * its content, which must be the same on all ranks. */
xylem_status_t xyl_context_switches_read(xylem_context_t *context);
/* Finds the nodes in the file, once the peers are known. In a context made of
 * parts the nodes are called node0, node1, ..., as with xylem-run. */
xylem_status_t xyl_context_switches_place(xylem_context_t *context);
void xyl_context_switches_free(xylem_context_t *context);

/* The switches above a node, [context->switch_levels]; NULL: no file. */
static inline const uint32_t *
xyl_context_switches_of(const xylem_context_t *context, uint32_t node)
{
    if (context->switch_ids == NULL)
        return NULL;
    return context->switch_ids + (size_t)node * context->switch_levels;
}

#endif
