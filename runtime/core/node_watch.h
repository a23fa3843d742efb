/* The leader of each node, its lowest rank, watches the leaders of others
 * (runtime/job/lookout.h), and takes all ranks of a node for dead that does not
 * answer any more (XYLEM_SILENCE_S). Others do without. */
#ifndef XYL_RUNTIME_CORE_NODE_WATCH_H
#define XYL_RUNTIME_CORE_NODE_WATCH_H

#include "runtime/core/context.h"
#include "runtime/job/lookout.h"

/* When it is known who lives where; *address_out is told to all ranks. */
void xyl_node_watch_open(xylem_context_t *context,
                         xyl_lookout_address_t *address_out);
/* When theirs are known. */
xylem_status_t xyl_node_watch_start(xylem_context_t *context);
void xyl_node_watch_stop(xylem_context_t *context);

#endif
