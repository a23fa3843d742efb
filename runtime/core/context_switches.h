/* The switches above the job's nodes, from the file that XYLEM_TOPOLOGY names.
 */
#pragma once

#include "runtime/core/context.h"
#include "runtime/modules.h"

typedef struct xyl_context_switches {
    struct xyl_switches *switches; /* NULL once the nodes are found */
    uint32_t levels;
    uint32_t *ids; /* [nodes][levels], above each node; NULL: no file */
} xyl_context_switches_t;

XYL_STATE_OF_CONTEXT(xyl_context_switches_t, xyl_context_switches_of,
                     XYL_MODULE_SWITCHES)

extern const xyl_module_t xyl_switches_module;

/* Finds the nodes in the file, once the peers are known. In a context made of
 * parts the nodes are called node0, node1, ..., as with xylem-run. */
xylem_status_t xyl_context_switches_place(xylem_context_t *context);
