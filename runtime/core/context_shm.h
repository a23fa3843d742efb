/* A context's use of its node's shared memory, in the order of calls:
 *
 *   prepare   before the ranks' first exchange
 *   join      afterwards: maps the memory, or says why this rank cannot
 *   watch     with the driver started: lets others end this rank's sleep
 *   settle    sets context->shm if all ranks of the node have joined
 *   unwatch   before the driver is stopped
 *   destroy   after everything that uses the memory
 */
#pragma once

#include "progress/shm/node.h"
#include "runtime/core/context.h"

extern const xyl_module_t xyl_shm_module;

/* Sets the context's noise budget. `node_ranks_max`: the ranks on the largest
 * node of the job, so that all ranks plan alike. */
void xyl_context_budget_set(xylem_context_t *context, uint32_t node_ranks_max);
/* Writes what this rank offers the other ranks of its node. */
void xyl_context_shm_prepare(xylem_context_t *context,
                             xyl_shm_member_t *offer_out);
/* 1: this rank has memory to share. */
int xyl_context_shm_is_open(const xylem_context_t *context);
xyl_shm_trouble_t xyl_context_shm_join(xylem_context_t *context, int may_sleep);
xylem_status_t xyl_context_shm_watch(xylem_context_t *context);
/* `troubles`: the results of `join` on all ranks. A node without shared
 * memory is no failure; one rank prints a warning. */
void xyl_context_shm_settle(xylem_context_t *context,
                            const xyl_shm_trouble_t *troubles);
void xyl_context_shm_unwatch(xylem_context_t *context);
void xyl_context_shm_destroy(xylem_context_t *context);
