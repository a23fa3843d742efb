#include "runtime/core/history.h"

#include "runtime/base/holder.h"
#include "runtime/core/team.h"

/* All calls that were submitted before this task have begun. */
static void refusal_run(xyl_task_t *task)
{
    xyl_history_t *history = XYL_HOLDER(xyl_history_t, refusal_task, task);
    xylem_team_t *team = XYL_HOLDER(xylem_team_t, history, history);

    /* Partner: the exchange in xyl_history_refuse. */
    atomic_store_explicit(&history->refusal_is_queued, 0, memory_order_release);
    history->refused_at = history->begun + 1;
    xyl_team_unreference(team);
}

void xyl_history_refuse(xylem_team_t *team, uint64_t call)
{
    xyl_history_t *history = &team->history;

    atomic_fetch_add_explicit(&history->refusals, 1, memory_order_relaxed);
    atomic_store_explicit(&history->refused_call, call, memory_order_relaxed);
    /* Partner: the store in refusal_run. */
    if (atomic_exchange_explicit(&history->refusal_is_queued, 1,
                                 memory_order_acquire) != 0)
        return;
    xyl_team_reference(team);
    history->refusal_task.run = refusal_run;
    xyl_engine_submit(&team->context->engine, &history->refusal_task);
}

uint32_t xyl_history_refusals(const xylem_team_t *team)
{
    return atomic_load_explicit(&team->history.refusals, memory_order_relaxed);
}
