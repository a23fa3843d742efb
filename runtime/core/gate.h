/* Operations that wait until all ranks of their team are known to have called
 * the same (XYLEM_CHECK=full): a call that differs ends with
 * XYLEM_ERR_MISMATCH before data have moved. Operations of a team begin in the
 * order of its calls, so that one behind a closed gate holds up those that
 * follow it.
 *
 * The progressing thread, except where noted. */
#ifndef XYL_RUNTIME_CORE_GATE_H
#define XYL_RUNTIME_CORE_GATE_H

#include "runtime/core/operation.h"
#include "runtime/core/team.h"

/* Lives until it is opened. */
typedef struct xyl_gate {
    xyl_operation_t *operation; /* NULL: it is over, or there is none */
} xyl_gate_t;

/* The calling thread, before the operation is started. */
static inline void xyl_gate_close(xyl_gate_t *gate, xyl_operation_t *operation)
{
    gate->operation = operation;
    operation->gate = gate;
}

/* All ranks have called the same, or the team has failed. */
void xyl_gate_open(xyl_gate_t *gate);

/* The operation is at the end of the queue of its team. */
void xyl_gate_queue(xyl_operation_t *operation);

/* 1: the operation may begin now; else it begins when its turn comes. */
static inline int xyl_gate_may_begin(xyl_operation_t *operation)
{
    if ((operation->gate == NULL &&
         TAILQ_EMPTY(&operation->request.team->called.queued)) ||
        operation->passes_gates || operation->tag != 0)
        return 1;
    xyl_gate_queue(operation);
    return 0;
}

/* Parts that were released before the operation could begin. */
void xyl_operation_parts_go(xyl_operation_t *operation);

/* The operation is over. */
void xyl_gate_leave(xyl_operation_t *operation);

#endif
