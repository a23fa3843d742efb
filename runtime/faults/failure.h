/* Failures of teams and of processes (docs/inside/runtime.md). The progressing
 * thread calls these functions. */
#pragma once

#include "runtime/core/context.h"

/* The module fails each new team that has a dead rank. */
extern const xyl_module_t xyl_failures_module;

/* Fails the team and tells its other ranks, unless it has failed before. `rank`
 * of the job is the cause. */
void xyl_failure_raise(struct xylem_team *team, xylem_status_t status,
                       uint32_t rank, const char *text);
/* Fails the team of an operation, and the operation with the team's status,
 * unless the operation has failed or ended before. */
void xyl_failure_raise_for(struct xyl_operation *operation,
                           xylem_status_t status);
/* Tells a rank of the job once more that the team has failed. */
void xyl_failure_tell(const struct xylem_team *team, uint32_t rank);
/* This rank could not make child `number` of the team: the child fails on the
 * ranks that have it. */
void xyl_failure_unmade(struct xylem_team *parent, uint32_t number);
/* The team, which is being made, is child `number` of a parent. It fails if a
 * rank could not make this child or an earlier one. */
void xyl_failure_inherit(struct xylem_team *team,
                         const struct xylem_team *parent, uint32_t number);

/* The context is about to end. From here on this rank neither logs a death nor
 * tells other ranks of it: a rank that seems dead may have passed the last
 * fence earlier, and ended. */
void xyl_failure_expect(xylem_context_t *context);
/* Notes that `peer` is dead. The teams of `peer` fail later, in the engine's
 * phase ready, so this may be called anywhere, even in a callback of the net.
 */
void xyl_failure_suspect(xylem_context_t *context, uint32_t peer);
/* Fails the teams of all suspected peers now. */
void xyl_failure_look(xylem_context_t *context);
/* xyl_failure_suspect as the net calls it; `arg` is the context. */
void xyl_failure_of_peer(void *arg, uint32_t peer);
