#include "collectives/tasks/table.h"

#include <string.h>

#include "runtime/base/status.h"
#include "runtime/faults/failure.h"

xylem_status_t xyl_tasks_check(const xylem_tasks_t *tasks, const char *call)
{
    if (tasks == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: tasks is NULL", call);
    if (tasks->magic != XYL_TASKS_MAGIC)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "%s: this is no table of tasks, or it was closed",
                        call);
    return XYLEM_OK;
}

void xyl_tasks_unreference(xylem_tasks_t *tasks)
{
    /* Partner: the same, by the last reference. At the end of a context, which
     * has no turns any more, context_ends releases the table. */
    if (atomic_fetch_sub_explicit(&tasks->references, 1,
                                  memory_order_acq_rel) == 1 &&
        tasks->context->magic == XYL_CONTEXT_MAGIC)
        xyl_engine_submit(&tasks->context->engine, &tasks->free_task);
}

xyl_task_peer_t *xyl_task_peer(xylem_tasks_t *tasks, uint32_t rank)
{
    xyl_task_peer_t *peer = tasks->peers[rank];
    uint32_t credits = xyl_task_credits_of(tasks, rank);

    if (peer != NULL)
        return peer;
    peer = xyl_pool_acquire(&tasks->context->pool, sizeof *peer);
    if (peer == NULL)
        return NULL;
    memset(peer, 0, sizeof *peer);
    peer->tasks = tasks;
    peer->rank = rank;
    peer->free_ids = UINT64_MAX >> (64 - credits);
    TAILQ_INIT(&peer->waiting);
    tasks->peers[rank] = peer;
    return peer;
}

void xyl_tasks_net_failed(xylem_tasks_t *tasks, xylem_status_t status)
{
    if (!tasks->has_failed && !tasks->is_shut)
        xyl_failure_raise(
            tasks->team, status,
            status == XYLEM_ERR_PROC_FAILED ? UINT32_MAX : tasks->context->rank,
            xylem_status_text(status));
}

/* ---- the end ---- */

void xyl_tasks_cancel_receives(xylem_tasks_t *tasks)
{
    xylem_context_t *context = tasks->context;
    xyl_served_t *served;
    uint32_t i;

    TAILQ_FOREACH(served, &tasks->posted, others)
    if (served->state == XYL_SERVED_POSTED)
        context->net->ops->cancel(context->net, &served->arrival);
    TAILQ_FOREACH(served, &tasks->served, others)
    if (served->state == XYL_SERVED_LANDING)
        context->net->ops->cancel(context->net, &served->arrival);
    for (i = 0; i < XYL_TASK_REPLY_RECEIVES; i++)
        context->net->ops->cancel(context->net, &tasks->replies[i].event);
}

/* Ends the closing when the net owes no event, or may owe one for ever. */
static void tasks_let_go(xylem_tasks_t *tasks)
{
    if (tasks->closing != NULL && (tasks->owed == 0 || tasks->has_failed)) {
        xyl_request_complete(tasks->closing, tasks->outcome);
        tasks->closing = NULL;
    }
    if (tasks->owed == 0)
        xyl_tasks_unreference(tasks);
}

void xyl_tasks_event_back(xylem_tasks_t *tasks)
{
    if (--tasks->owed == 0 && tasks->is_shut)
        tasks_let_go(tasks);
}

void xyl_tasks_shut(xylem_tasks_t *tasks)
{
    tasks->is_shut = 1;
    xyl_tasks_cancel_receives(tasks);
    tasks_let_go(tasks);
}

void xyl_tasks_look_at_end(xylem_tasks_t *tasks)
{
    if (tasks->closing == NULL || tasks->is_shut)
        return;
    if (tasks->is_over) {
        xyl_tasks_shut(tasks);
    } else if (tasks->outstanding == 0 && !tasks->has_said_farewell &&
               !tasks->has_failed) {
        tasks->has_said_farewell = 1;
        (void)xylem_segment_ready(tasks->farewell, 0);
    }
}
