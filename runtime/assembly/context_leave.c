#include "runtime/assembly/context_leave.h"

#include "runtime/base/bits.h"
#include "runtime/base/log.h"
#include "runtime/core/detach.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/notice.h"
#include "runtime/modules.h"

/* Bounds the waits after a failure: some launchers hold living ranks in a fence
 * with a dead one, and some messages of a failed team find no receiver. */
#define AFTER_FAILURE_NS_MAX (UINT64_C(5) * 1000000000)

typedef struct leaving {
    uint32_t round;
    int has_told;   /* of this round */
    uint64_t heard; /* a bit for each round */
} leaving_t;

XYL_STATE_OF_CONTEXT(leaving_t, leaving_of, XYL_MODULE_LEAVING)

static int context_has_failures(const xylem_context_t *context)
{
    return atomic_load_explicit(&context->failures, memory_order_acquire) != 0;
}

/* If a team has failed: drops the messages of all teams that still come in, as
 * this rank receives none any more. Only failed teams have such messages. */
static void drop_the_rest(xylem_context_t *context)
{
    const xyl_net_ops_t *ops = context->net->ops;
    uint64_t slot;

    if (ops->drop == NULL ||
        atomic_load_explicit(&context->failed_teams, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&context->lock);
    for (slot = 0; slot < XYL_TEAM_SLOTS; slot++)
        if (xyl_bits_test(context->slots.used, slot))
            ops->drop(context->net, slot << XYL_SLOT_AT,
                      UINT64_MAX << XYL_SLOT_AT);
    pthread_mutex_unlock(&context->lock);
}

/* Drops the rest, and returns the result of `is_over` (NULL: 0). Returns 0 at
 * once if another thread owns the engine. */
static int look_owned(xylem_context_t *context,
                      int (*is_over)(xylem_context_t *context))
{
    int result;

    if (!xyl_engine_try_own(&context->engine))
        return 0;
    drop_the_rest(context);
    result = is_over != NULL && is_over(context);
    xyl_engine_disown(&context->engine);
    return result;
}

static int net_is_empty(xylem_context_t *context)
{
    return xyl_notices_are_sent(context) &&
           context->net->ops->is_flushed(context->net);
}

/* 1: this rank's net is empty; or a peer has failed, so that it never will be.
 */
static int is_flushed(void *arg)
{
    return context_has_failures(arg) || look_owned(arg, net_is_empty);
}

static int is_fenced(void *arg)
{
    xylem_context_t *context = arg;
    const xyl_bootstrap_ops_t *ops = context->job.bootstrap->ops;

    (void)look_owned(context, NULL);
    return (context_has_failures(context) && !ops->fence_outlives_ranks) ||
           ops->fence_blocks ||
           ops->fence_test(context->job.bootstrap) != XYLEM_IN_PROGRESS;
}

/* ---- before a fence that blocks ---- */

static void tell_of_leaving(xylem_context_t *context, uint32_t hop)
{
    xyl_notice_t *notice = xyl_notice_new(context, XYL_NOTICE_LEAVING, NULL);

    if (notice == NULL)
        return; /* the others wait until their time limit */
    *XYL_NOTICE_AS(uint32_t, notice) = leaving_of(context)->round;
    xyl_notice_send(
        context, (uint32_t)(((uint64_t)context->rank + hop) % context->ranks),
        notice);
    xyl_notice_free(context, notice);
}

/* A dissemination barrier: goes through its rounds as far as other ranks have
 * come. 1: all have come, and this rank's notices are sent. */
static int leave_further(xylem_context_t *context)
{
    leaving_t *leaving = leaving_of(context);
    uint64_t hop = UINT64_C(1) << leaving->round;

    while (hop < context->ranks) {
        if (!leaving->has_told && !xyl_notices_are_sent(context))
            return 0; /* its other notices go before its goodbye */
        if (!leaving->has_told)
            tell_of_leaving(context, (uint32_t)hop);
        leaving->has_told = 1;
        if ((leaving->heard & hop) == 0)
            return 0;
        leaving->has_told = 0;
        leaving->round++;
        hop *= 2;
    }
    return xyl_notices_are_sent(context);
}

static int all_are_leaving(void *arg)
{
    return context_has_failures(arg) || look_owned(arg, leave_further);
}

static void leave_hear(xylem_context_t *context, xyl_notice_t *notice)
{
    uint32_t round = *XYL_NOTICE_AS(uint32_t, notice);

    if (round < 32)
        leaving_of(context)->heard |= UINT64_C(1) << round;
}

/* ---- the whole ---- */

static void warn_of_late(uint64_t limit_ns)
{
    xyl_log(XYL_LOG_WARN, "not all ranks destroyed their context within %llu s",
            (unsigned long long)(limit_ns / 1000000000));
}

static int flush(xylem_context_t *context, uint64_t limit_ns)
{
    return xyl_driver_wait(&context->driver, is_flushed, context, limit_ns) ==
           XYLEM_OK;
}

/* All ranks meet by notices before one blocks in a fence, where it neither
 * answers a first message nor drops those of failed teams. 0: messages are left
 * undelivered. */
static int leave_together(xylem_context_t *context, uint64_t limit_ns,
                          uint64_t flush_ns)
{
    if (!context->job.bootstrap->ops->fence_blocks ||
        !xyl_notices_are_on(context))
        return 1;
    if (xyl_driver_wait(&context->driver, all_are_leaving, context, limit_ns) !=
        XYLEM_OK)
        warn_of_late(limit_ns);
    return flush(context, flush_ns);
}

/* Survivors of a failure wait for each other, too: the others would take a rank
 * that exits early for dead. */
void xyl_context_leave(xylem_context_t *context)
{
    uint64_t limit_ns = context->config.timeout_s * UINT64_C(1000000000);
    uint64_t flush_ns = limit_ns;
    xyl_bootstrap_t *bootstrap = context->job.bootstrap;
    int is_left;

    if (atomic_load_explicit(&context->failed_teams, memory_order_relaxed) !=
            0 &&
        flush_ns > AFTER_FAILURE_NS_MAX)
        flush_ns = AFTER_FAILURE_NS_MAX; /* messages go on in the fence */
    is_left = !xyl_detach_drain(context, flush_ns);
    is_left |= !flush(context, flush_ns);
    is_left |= !leave_together(context, limit_ns, flush_ns);
    if (is_left)
        xyl_log(XYL_LOG_WARN, "messages are left undelivered after %llu s",
                (unsigned long long)(flush_ns / 1000000000));
    xyl_failure_expect(context);
    if ((context_has_failures(context) &&
         !bootstrap->ops->fence_outlives_ranks) ||
        bootstrap->ops->fence_start(bootstrap) != XYLEM_OK)
        return;
    if (context_has_failures(context) && !bootstrap->sees_deaths &&
        limit_ns > AFTER_FAILURE_NS_MAX)
        limit_ns = AFTER_FAILURE_NS_MAX;
    if (xyl_driver_wait(&context->driver, is_fenced, context, limit_ns) !=
        XYLEM_OK)
        warn_of_late(limit_ns);
}

static xylem_status_t leaving_begins(xylem_context_t *context)
{
    xyl_notices_handle(context, XYL_NOTICE_LEAVING, 0, leave_hear);
    return XYLEM_OK;
}

const xyl_module_t xyl_leaving_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(leaving_t)},
    .context_begins = leaving_begins,
};
