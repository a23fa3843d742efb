#include "collectives/stages/work.h"

#include "collectives/stages/messages.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

xylem_status_t xyl_stage_works_add(xyl_stage_t *stage, size_t count,
                                   xyl_event_fn handle,
                                   xyl_stage_work_t **works_out)
{
    return xyl_stage_works_of(stage, xyl_collective_of(stage->operation)->exec,
                              count, handle, works_out);
}

xylem_status_t xyl_stage_works_of(xyl_stage_t *stage, const xyl_exec_t *exec,
                                  size_t count, xyl_event_fn handle,
                                  xyl_stage_work_t **works_out)
{
    xyl_stage_work_t *works;
    size_t i;

    *works_out = NULL;
    if (exec->is_immediate)
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

static void pause_over(xyl_event_t *event)
{
    xyl_stage_pause_t *pause = (xyl_stage_pause_t *)(void *)event;

    pause->is_on = 0;
    if (xyl_stage_arrived(pause->stage, event))
        pause->go_on(pause->stage);
}

void xyl_stage_pause_init(xyl_stage_pause_t *pause, xyl_stage_t *stage,
                          void (*go_on)(xyl_stage_t *stage))
{
    *pause = (xyl_stage_pause_t){
        .event = {.handle = pause_over}, .stage = stage, .go_on = go_on};
}

void xyl_stage_pause(xyl_stage_pause_t *pause)
{
    xylem_request_t *request = &pause->stage->operation->request;

    if (pause->is_on)
        return;
    pause->is_on = 1;
    pause->event.status = XYLEM_OK;
    request->posted++;
    xyl_fifo_push(&request->context->engine.later, &pause->event);
}
