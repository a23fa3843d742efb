/* The part of a context's life that is its node's shared memory:
 *
 *   prepare   before the ranks have told each other of themselves
 *   join      after that: this rank can, or what keeps it from that
 *   watch     with the driver started: others end this rank's sleep
 *   settle    sets context->shm where all of the node can
 *   unwatch   before the driver is stopped
 *   destroy   after everything that uses it; also for contexts without
 */
#ifndef XYL_RUNTIME_CORE_CONTEXT_SHM_H
#define XYL_RUNTIME_CORE_CONTEXT_SHM_H

#include "progress/shm/node.h"
#include "runtime/core/context.h"

/* Sets the context's noise budget, once it is known how many ranks the largest
 * node of the job has: all ranks plan with the same. */
void xyl_context_budget_set(xylem_context_t *context, uint32_t node_ranks_max);
/* What this rank offers to those of its node. */
void xyl_context_shm_prepare(xylem_context_t *context,
                             xyl_shm_member_t *offer_out);
xyl_shm_trouble_t xyl_context_shm_join(xylem_context_t *context, int may_sleep);
xylem_status_t xyl_context_shm_watch(xylem_context_t *context);
/* `troubles`: of all ranks, as they have joined. That there is no shared memory
 * is no failure; it is warned of. */
void xyl_context_shm_settle(xylem_context_t *context,
                            const xyl_shm_trouble_t *troubles);
void xyl_context_shm_unwatch(xylem_context_t *context);
void xyl_context_shm_destroy(xylem_context_t *context);

#endif
