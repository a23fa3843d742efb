#include "runtime/core/gate.h"

void xyl_gate_queue(xyl_operation_t *operation)
{
    operation->is_queued = 1;
    TAILQ_INSERT_TAIL(&operation->request.team->called.queued, operation,
                      queued);
}

static void queue_remove(xyl_operation_t *operation)
{
    operation->is_queued = 0;
    TAILQ_REMOVE(&operation->request.team->called.queued, operation, queued);
}

void xyl_gate_open(xyl_gate_t *gate)
{
    xyl_operation_t *operation = gate->operation;
    xylem_team_t *team;

    if (operation == NULL)
        return;
    team = operation->request.team;
    operation->gate = NULL;
    gate->operation = NULL;
    while ((operation = TAILQ_FIRST(&team->called.queued)) != NULL &&
           operation->gate == NULL) {
        int has_parts = operation->is_queued == 2;

        /* One that has failed stays, as it does not begin. */
        if (operation->failure != XYLEM_OK)
            return;
        queue_remove(operation);
        xyl_operation_begin(operation);
        if (has_parts)
            xyl_operation_parts_go(operation);
    }
}

void xyl_gate_leave(xyl_operation_t *operation)
{
    if (operation->is_queued)
        queue_remove(operation);
    if (operation->gate != NULL)
        operation->gate->operation = NULL;
    operation->gate = NULL;
}
