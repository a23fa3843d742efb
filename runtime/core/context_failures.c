/* What a context does when a process has died: its operations with that
 * process fail, in the ready phase, and nobody waits for ever.
 *
 * Other teams go on. But a process that is killed while it writes a message
 * into another's shared memory leaves a gap there which nothing behind it can
 * pass, and UCX cannot tell. So from the first death on a timer looks at all
 * operations, and one that has not moved for XYLEM_STALL_S fails as well.
 */

#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/core/context.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"

enum { LOOKS_TO_STALL = 4 };

/* ---- operations that stall ---- */

static uint64_t look_ns(const xylem_context_t *context)
{
    return context->config.stall_s * UINT64_C(1000000000) / LOOKS_TO_STALL;
}

static void look_for_stalled(xyl_timer_t *timer, uint64_t now_ns)
{
    xylem_context_t *context = XYL_HOLDER(xylem_context_t, stall_timer, timer);
    xyl_operation_t *operation = LIST_FIRST(&context->operations), *older;

    while (operation != NULL) {
        older = LIST_NEXT(operation, others);
        if (++operation->looks_without_event > LOOKS_TO_STALL) {
            xyl_log(XYL_LOG_WARN,
                    "an operation has not moved for %llu s since a process "
                    "died (XYLEM_STALL_S); it fails",
                    (unsigned long long)context->config.stall_s);
            xyl_operation_fail(operation, XYLEM_ERR_NET);
        }
        operation = older;
    }
    xyl_timer_start(&context->engine.timers, timer, now_ns + look_ns(context));
}

static void watch_for_stalls(xylem_context_t *context)
{
    uint64_t period_ns = look_ns(context);

    if (period_ns != 0 && !context->stall_timer.is_running)
        xyl_timer_start(&context->engine.timers, &context->stall_timer,
                        xyl_clock_now(context->engine.clock) + period_ns);
}

/* ---- processes that die ---- */

void xyl_context_suspect(xylem_context_t *context, uint32_t peer)
{
    context->peers[peer].is_suspected = 1;
    if (context->failure_is_queued)
        return;
    context->failure_is_queued = 1;
    xyl_fifo_push(&context->engine.ready, &context->failure_event);
}

void xyl_context_peer_failed(void *arg, uint32_t peer)
{
    xyl_context_suspect(arg, peer);
}

static void fail_operations(xylem_context_t *context, uint32_t peer)
{
    xyl_operation_t *operation = LIST_FIRST(&context->operations), *older;

    while (operation != NULL) {
        older = LIST_NEXT(operation, others);
        if (xyl_team_contains(operation->request.team, peer))
            xyl_operation_fail(operation, XYLEM_ERR_PROC_FAILED);
        operation = older;
    }
}

static void suspicion_handle(xyl_event_t *event)
{
    xylem_context_t *context =
        XYL_HOLDER(xylem_context_t, failure_event, event);
    uint32_t rank;

    context->failure_is_queued = 0;
    for (rank = 0; rank < context->ranks; rank++) {
        xyl_peer_t *peer = &context->peers[rank];
        if (!peer->is_suspected || peer->has_failed)
            continue;
        peer->has_failed = 1;
        atomic_fetch_add_explicit(&context->failures, 1, memory_order_release);
        /* Who has met all others at the end may go first. */
        if (!context->is_leaving)
            xyl_log(XYL_LOG_WARN, "rank %u has died; its teams cannot go on",
                    rank);
        fail_operations(context, rank);
    }
    watch_for_stalls(context);
}

void xyl_context_failures_init(xylem_context_t *context)
{
    context->failure_event.handle = suspicion_handle;
    context->stall_timer.fire = look_for_stalled;
}
