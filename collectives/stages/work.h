/* The work that a stage asks of an executor (progress/exec/exec.h). If the
 * executor works inside the call, the stage needs no xyl_work_t, and no memory
 * for any. */
#pragma once

#include "collectives/stages/collective.h"

typedef struct xyl_stage_work {
    xyl_work_t work; /* first */
    xyl_stage_t *stage;
    size_t number; /* in the array */
} xyl_stage_work_t;

static inline xyl_stage_work_t *xyl_stage_work_of(xyl_event_t *event)
{
    return (xyl_stage_work_t *)(void *)event;
}

/* Makes an array of `count` works. A work ends with a call of `handle`, which
 * first calls xyl_stage_arrived. *works_out NULL: the executor needs none. */
xylem_status_t xyl_stage_works_add(xyl_stage_t *stage, size_t count,
                                   xyl_event_fn handle,
                                   xyl_stage_work_t **works_out);

/* The same for an executor other than that of the stages' buffers. */
xylem_status_t xyl_stage_works_of(xyl_stage_t *stage, const xyl_exec_t *exec,
                                  size_t count, xyl_event_fn handle,
                                  xyl_stage_work_t **works_out);

/* One of the array; NULL if there is none. */
static inline xyl_work_t *xyl_stage_work(xyl_stage_work_t *works, size_t number)
{
    return works == NULL ? NULL : &works[number].work;
}

/* Counts work under way. Returns `is_done`, which is the executor's answer. */
static inline int xyl_stage_worked(const xyl_stage_t *stage, int is_done)
{
    if (!is_done)
        stage->operation->request.posted++;
    return is_done;
}

/* A pause: a stage leaves work for the next turn, after the net's phase. */
typedef struct xyl_stage_pause {
    xyl_event_t event; /* first */
    xyl_stage_t *stage;
    void (*go_on)(xyl_stage_t *stage);
    int is_on;
} xyl_stage_pause_t;

void xyl_stage_pause_init(xyl_stage_pause_t *pause, xyl_stage_t *stage,
                          void (*go_on)(xyl_stage_t *stage));
/* Begins a pause, if none is on; `go_on` is called when it is over. */
void xyl_stage_pause(xyl_stage_pause_t *pause);
