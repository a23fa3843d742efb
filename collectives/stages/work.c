#include "collectives/stages/work.h"

#include "runtime/base/status.h"
#include "runtime/core/context.h"

xylem_status_t xyl_stage_works_add(xyl_stage_t *stage, size_t count,
                                   xyl_event_fn handle,
                                   xyl_stage_work_t **works_out)
{
    xyl_stage_work_t *works;
    size_t i;

    *works_out = NULL;
    if (xyl_collective_of(stage->operation)->exec->is_immediate)
        return XYLEM_OK;
    works =
        xyl_arena_array(&stage->operation->request.arena, count, sizeof *works);
    if (works == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for work under way");
    for (i = 0; i < count; i++) {
        works[i].work.event.handle = handle;
        works[i].work.owner = stage->operation;
        works[i].stage = stage;
        works[i].number = i;
    }
    *works_out = works;
    return XYLEM_OK;
}

void xyl_stage_continue_later(const xyl_stage_t *stage, xyl_event_t *event)
{
    xyl_operation_t *operation = stage->operation;

    event->status = XYLEM_OK;
    operation->request.posted++;
    xyl_fifo_push(&operation->request.context->engine.later, event);
}
