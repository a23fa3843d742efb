/* Failures of teams and of processes.
 *
 * A team fails as a whole, and for good: by the first error in an operation of
 * one of its ranks, by the death of a rank, or because a rank says so. The rank
 * where that happens tells the team's other ranks the status, the rank that has
 * caused the failure, and a text. Every operation of the team that is under way
 * on a rank then fails with this status, and each later one as it starts. A
 * rank that has done its part of an operation may have completed it before it
 * is told. Keys, which are used once, tell teams apart; the slot of a failed
 * team is not used again.
 *
 * The progressing thread, except where noted. */
#ifndef XYL_RUNTIME_FAULTS_FAILURE_H
#define XYL_RUNTIME_FAULTS_FAILURE_H

#include "runtime/core/context.h"

/* A team fails as it is made if a rank of it is dead. */
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
 * rank could not make this child. The progressing thread. */
void xyl_failure_inherit(struct xylem_team *team,
                         const struct xylem_team *parent, uint32_t number);

/* The context is about to end: ranks that die from here on are not spoken of,
 * as they may have passed the last fence before this one. */
void xyl_failure_expect(xylem_context_t *context);
/* `peer` is dead: its teams fail in the ready phase. From any function. */
void xyl_failure_suspect(xylem_context_t *context, uint32_t peer);
/* Does the work of that phase at once. */
void xyl_failure_look(xylem_context_t *context);
/* xyl_failure_suspect as the net calls it; `arg` is the context. */
void xyl_failure_of_peer(void *arg, uint32_t peer);

#endif
