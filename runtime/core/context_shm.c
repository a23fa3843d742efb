#include "runtime/core/context_shm.h"

#include <stdlib.h>

#include "progress/shm/node.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/modules.h"

enum {
    /* Reductions in a fixed order hold about three messages on 8 ranks, and
     * ten on 32, for ranks that are held up 10 % of the time. */
    BUDGET_OF_RANK = 32 << 20,
    /* With half of this budget 8 ranks lose twice as much to bursts of 20 ms in
     * calls of 4 MiB; a budget twice as large saves nothing. */
    BUDGET_MIN = 512 << 20,
    BUDGET_MAX = 1536 << 20,
    /* Less than the budget allows, so that pieces for which all ranks publish
     * their input do not become longer. */
    WINDOW_OF_RANK = 2 << 20,
    WINDOW_MIN = 64 << 20,
    WINDOW_MAX = 128 << 20,
    WINDOWS_MIN = 4, /* for which a budget has room */
    /* For all other uses than letting ranks drift apart. */
    REGION_BYTES_MORE = 64 << 20
};

typedef struct shm_state {
    xyl_shm_node_t *node; /* owns the context's `shm`; NULL: there is none */
    struct event *watch;  /* ends a sleep; NULL: this rank never sleeps */
} shm_state_t;

XYL_STATE_OF_CONTEXT(shm_state_t, shm_of, XYL_MODULE_SHM)

static uint64_t within(uint64_t bytes, uint64_t least, uint64_t most)
{
    if (bytes < least)
        return least;
    return bytes < most ? bytes : most;
}

/* The setting, or the library's choice for a node of `ranks` ranks. */
static uint64_t budget_for(const xylem_context_t *context, uint32_t ranks)
{
    if (context->config.noise_budget != 0)
        return context->config.noise_budget;
    return within((uint64_t)ranks * BUDGET_OF_RANK, BUDGET_MIN, BUDGET_MAX);
}

static uint64_t window_for(const xylem_context_t *context, uint32_t ranks)
{
    if (context->config.noise_budget != 0)
        return context->config.noise_budget / WINDOWS_MIN;
    return within((uint64_t)ranks * WINDOW_OF_RANK, WINDOW_MIN, WINDOW_MAX);
}

void xyl_context_budget_set(xylem_context_t *context, uint32_t node_ranks_max)
{
    context->sizes.budget = budget_for(context, node_ranks_max);
    context->sizes.window = window_for(context, node_ranks_max);
}

static int is_wanted(const xylem_context_t *context)
{
    return context->ranks > 1 && context->config.shm != XYL_SHM_OFF;
}

void xyl_context_shm_prepare(xylem_context_t *context,
                             xyl_shm_member_t *offer_out)
{
    const xyl_shm_node_params_t params = {
        /* All ranks of the job may turn out to be on this node. */
        .region_bytes_max =
            2 * budget_for(context, context->ranks) + REGION_BYTES_MORE,
        .ranks = context->ranks};

    if (is_wanted(context))
        shm_of(context)->node = xyl_shm_node_create(&params);
    xyl_shm_node_offer(shm_of(context)->node, offer_out);
}

int xyl_context_shm_is_open(const xylem_context_t *context)
{
    return shm_of(context)->node != NULL;
}

/* ---- joining ---- */

static int is_member(const xylem_context_t *context, uint32_t rank)
{
    const xyl_peer_t *peer = &context->peers[rank];

    return peer->is_local &&
           peer->place.node == context->peers[context->rank].place.node;
}

static xyl_shm_trouble_t try_to_join(xylem_context_t *context, int may_sleep)
{
    xyl_shm_member_t *members = calloc(context->ranks, sizeof *members);
    xyl_shm_trouble_t trouble = XYL_SHM_FINE;
    uint32_t rank, count = 0;

    if (members == NULL)
        return XYL_SHM_NO_MEMORY;
    for (rank = 0; rank < context->ranks; rank++)
        if (is_member(context, rank)) {
            members[count] = *(const xyl_shm_member_t *)xyl_peers_offer(
                &context->job.met.hellos, rank);
            members[count++].rank = rank;
        }
    if (count > 1)
        trouble = xyl_shm_node_join(shm_of(context)->node, members, count,
                                    context->rank);
    if (count > 1 && trouble == XYL_SHM_FINE && may_sleep)
        xyl_shm_node_allow_sleep(shm_of(context)->node);
    free(members);
    return trouble;
}

/* All ranks of a node share memory, or none. */
static void use_or_warn(xylem_context_t *context,
                        const xyl_shm_trouble_t *troubles)
{
    xyl_shm_trouble_t trouble = XYL_SHM_FINE;
    uint32_t rank, failed = 0, first = context->ranks, members = 0;

    for (rank = context->ranks; rank-- > 0;) {
        if (!is_member(context, rank))
            continue;
        first = rank;
        members++;
        if (troubles[rank] != XYL_SHM_FINE) {
            trouble = troubles[rank];
            failed = rank;
        }
    }
    if (trouble != XYL_SHM_FINE && first == context->rank)
        xyl_log(XYL_LOG_WARN,
                "the ranks of this node share no memory, which makes them "
                "slower: rank %u says that %s; XYLEM_SHM=off does without",
                failed, xyl_shm_trouble_text(trouble));
    if (trouble != XYL_SHM_FINE || members == 1)
        return;
    xyl_shm_node_settle(shm_of(context)->node);
    context->shm = xyl_shm_node_shm(shm_of(context)->node);
    context->engine.shm = context->heap.shm = context->shm;
}

/* 1, on all ranks alike: some node has several ranks. */
static int is_possible(const xylem_context_t *context)
{
    return is_wanted(context) && xyl_context_nodes(context) < context->ranks;
}

xyl_shm_trouble_t xyl_context_shm_join(xylem_context_t *context, int may_sleep)
{
    return is_possible(context) ? try_to_join(context, may_sleep)
                                : XYL_SHM_FINE;
}

void xyl_context_shm_settle(xylem_context_t *context,
                            const xyl_shm_trouble_t *troubles)
{
    uint32_t rank;

    if (is_possible(context)) {
        context->all_nodes_share = 1;
        for (rank = 0; rank < context->ranks; rank++)
            context->all_nodes_share &= troubles[rank] == XYL_SHM_FINE;
        use_or_warn(context, troubles);
    }
    if (context->shm != NULL)
        return;
    xyl_context_shm_unwatch(context);
    xyl_context_shm_destroy(context);
}

/* ---- sleeping ---- */

xylem_status_t xyl_context_shm_watch(xylem_context_t *context)
{
    int fd = shm_of(context)->node == NULL
                 ? -1
                 : xyl_shm_node_wake_fd(shm_of(context)->node);

    if (fd < 0 || context->driver.params.mode == XYL_DRIVER_CALLER)
        return XYLEM_OK;
    /* The byte stays in the pipe until ops->sleeps takes it out. */
    shm_of(context)->watch = xyl_driver_watch(&context->driver, fd, NULL, NULL);
    if (shm_of(context)->watch == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to be woken");
    return XYLEM_OK;
}

void xyl_context_shm_unwatch(xylem_context_t *context)
{
    xyl_driver_unwatch(shm_of(context)->watch);
    shm_of(context)->watch = NULL;
}

/* ---- the end ---- */

void xyl_context_shm_destroy(xylem_context_t *context)
{
    if (shm_of(context)->node == NULL)
        return;
    context->shm = NULL;
    context->engine.shm = NULL;
    xyl_shm_node_destroy(shm_of(context)->node);
    shm_of(context)->node = NULL;
}

const xyl_module_t xyl_shm_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(shm_state_t)},
};
