#include "runtime/faults/node_watch.h"

#include <stdlib.h>

#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/faults/failure.h"
#include "runtime/job/reach.h"
#include "runtime/modules.h"

#define LOOK_NS (UINT64_C(250) * 1000000)

typedef struct node_watch {
    xylem_context_t *context;
    xyl_lookout_t *lookout; /* NULL: none, or another rank has it */
    xyl_timer_t looks;
    uint32_t *leaders; /* [nodes] */
    const xyl_lookout_address_t **addresses;
} node_watch_t;

XYL_STATE_OF_CONTEXT(node_watch_t, node_watch_of, XYL_MODULE_NODE_WATCH)

/* ---- the leader ---- */

static int is_leader(const xylem_context_t *context)
{
    uint32_t node = context->peers[context->rank].place.node, rank;

    for (rank = 0; rank < context->rank; rank++)
        if (context->peers[rank].place.node == node)
            return 0;
    return 1;
}

static int are_others_elsewhere(const xylem_context_t *context)
{
    uint32_t rank;

    for (rank = 0; rank < context->ranks; rank++)
        if (!context->peers[rank].is_local)
            return 1;
    return 0;
}

void xyl_node_watch_open(xylem_context_t *context,
                         xyl_lookout_address_t *address_out)
{
    node_watch_t *watch = node_watch_of(context);

    *address_out = (xyl_lookout_address_t){.port = 0};
    if (context->config.silence_s == 0 || !are_others_elsewhere(context) ||
        !is_leader(context))
        return;
    watch->context = context;
    watch->lookout = xyl_lookout_open(address_out);
    if (watch->lookout == NULL)
        xyl_log(XYL_LOG_INFO, "nobody can watch this node: no socket, or no "
                              "address");
}

int xyl_node_watch_is_open(const xylem_context_t *context)
{
    return node_watch_of(context)->lookout != NULL;
}

/* ---- nodes that do not answer ---- */

static int is_watched(void *arg, uint32_t node)
{
    const node_watch_t *watch = arg;
    const xyl_peer_t *leader = &watch->context->peers[watch->leaders[node]];

    return !leader->is_local && !xyl_peer_is_dead(leader);
}

static void node_lost(void *arg, uint32_t node, int whole)
{
    const node_watch_t *watch = arg;
    xylem_context_t *context = watch->context;
    char name[XYL_NODE_NAME_BYTES + 1];
    uint32_t rank;

    if (!whole) {
        xyl_failure_suspect(context, watch->leaders[node]);
        return;
    }
    xyl_peers_node(&context->job.met.hellos, watch->leaders[node], name);
    xyl_log(XYL_LOG_WARN,
            "node %s has not answered for %llu s (XYLEM_SILENCE_S): its ranks "
            "are taken for dead",
            name, (unsigned long long)context->config.silence_s);
    for (rank = 0; rank < context->ranks; rank++)
        if (context->peers[rank].place.node == node)
            xyl_failure_suspect(context, rank);
}

static void look(xyl_timer_t *timer, uint64_t now_ns)
{
    node_watch_t *watch = XYL_HOLDER(node_watch_t, looks, timer);

    xyl_lookout_look(watch->lookout, now_ns);
    xyl_timer_start(&watch->context->engine.timers, timer, now_ns + LOOK_NS);
}

/* ---- begin and end ---- */

xylem_status_t xyl_node_watch_start(xylem_context_t *context)
{
    node_watch_t *watch = node_watch_of(context);
    uint32_t rank, nodes = xyl_context_nodes(context);
    xyl_lookout_params_t params = {.nodes = nodes,
                                   .silence_s = context->config.silence_s,
                                   .is_watched = is_watched,
                                   .lost = node_lost,
                                   .arg = watch};

    if (watch->lookout == NULL)
        return XYLEM_OK;
    watch->leaders = calloc(nodes, sizeof *watch->leaders);
    /* Pointers. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    watch->addresses = calloc(nodes, sizeof *watch->addresses);
    if (watch->leaders == NULL || watch->addresses == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to watch nodes");
    for (rank = context->ranks; rank-- > 0;) {
        uint32_t node = context->peers[rank].place.node;
        watch->leaders[node] = rank;
        watch->addresses[node] = xyl_reach_lookout(&context->job.reaches, rank);
    }
    params.node = context->peers[context->rank].place.node;
    params.addresses = watch->addresses;
    if (xyl_lookout_begin(watch->lookout, &params) != XYLEM_OK)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to watch nodes");
    watch->looks.fire = look;
    xyl_timer_start(&context->engine.timers, &watch->looks,
                    xyl_clock_now(context->engine.clock));
    return XYLEM_OK;
}

void xyl_node_watch_stop(xylem_context_t *context)
{
    node_watch_t *watch = node_watch_of(context);

    if (watch->lookout == NULL)
        return;
    xyl_timer_stop(&context->engine.timers, &watch->looks);
    xyl_lookout_close(watch->lookout);
    free(watch->addresses);
    free(watch->leaders);
}

const xyl_module_t xyl_node_watch_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(node_watch_t)},
};
