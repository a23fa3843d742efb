#include "runtime/core/context_switches.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/job/peers.h"
#include "runtime/job/switches.h"

/* Reads the file, and replaces its name in the context's settings by a hash of
 * its content, which must be the same on all ranks. */
static xylem_status_t switches_read(xylem_context_t *context)
{
    const char *path = (const char *)(uintptr_t)context->config.topology;
    xyl_context_switches_t *state = xyl_context_switches_of(context);
    xylem_status_t status;

    if (path == NULL)
        return XYLEM_OK;
    status = xyl_switches_read(path, &state->switches);
    if (status == XYLEM_OK)
        context->config.topology = xyl_switches_hash(state->switches);
    return status;
}

static void name_node(const xylem_context_t *context, uint32_t rank, char *name)
{
    if (context->job.bootstrap != NULL)
        xyl_peers_node(&context->job.met.hellos, rank, name);
    else
        snprintf(name, XYL_NODE_NAME_BYTES + 1, "node%u",
                 context->peers[rank].place.node);
}

xylem_status_t xyl_context_switches_place(xylem_context_t *context)
{
    xyl_context_switches_t *state = xyl_context_switches_of(context);
    xyl_switches_t *switches = state->switches;
    char name[XYL_NODE_NAME_BYTES + 1];
    uint32_t rank, levels, nodes, named = 0;

    if (switches == NULL)
        return XYLEM_OK;
    levels = xyl_switches_levels(switches);
    nodes = xyl_context_nodes(context);
    assert(levels > 0 && nodes > 0);
    state->ids = malloc((size_t)nodes * levels * sizeof *state->ids);
    if (state->ids == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for switches");
    state->levels = levels;
    for (rank = 0; rank < context->ranks; rank++) {
        uint32_t node = context->peers[rank].place.node;
        name_node(context, rank, name);
        named += (uint32_t)xyl_switches_find(
            switches, name, state->ids + (size_t)node * levels);
    }
    if (named == 0 && context->rank == 0)
        xyl_log(XYL_LOG_WARN,
                "XYLEM_TOPOLOGY: the file names no node of this job; this one "
                "is called %s",
                name);
    xyl_switches_free(switches);
    state->switches = NULL;
    return XYLEM_OK;
}

static void switches_end(xylem_context_t *context)
{
    xyl_switches_free(xyl_context_switches_of(context)->switches);
    free(xyl_context_switches_of(context)->ids);
}

const xyl_module_t xyl_switches_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_context_switches_t)},
    .context_begins = switches_read,
    .context_ends = switches_end,
};
