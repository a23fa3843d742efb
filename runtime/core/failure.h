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
#ifndef XYL_RUNTIME_CORE_FAILURE_H
#define XYL_RUNTIME_CORE_FAILURE_H

#include "runtime/core/context.h"

struct xyl_notice;

void xyl_failures_init(xylem_context_t *context);

/* Fails the team and tells its other ranks, unless it has failed before. `rank`
 * of the job is the cause. */
void xyl_team_fail(struct xylem_team *team, xylem_status_t status,
                   uint32_t rank, const char *text);
/* Tells a rank of the job once more that the team has failed. */
void xyl_team_tell_failure(const struct xylem_team *team, uint32_t rank);
/* Rank `one` of the job has called `first`, rank `other` something else, or
 * the same after something else. */
void xyl_team_differs(struct xylem_team *team, uint32_t one, uint64_t first,
                      uint32_t other, uint64_t second);
/* By its key, with a reference for the caller. NULL: no team in use has it. */
struct xylem_team *xyl_team_find(xylem_context_t *context, uint64_t key);
/* The same, without a reference; the context's lock is held. NULL: none. */
struct xylem_team *xyl_team_listed(xylem_context_t *context, uint64_t key);
/* xyl_team_fail as a task, for any thread; this rank is the cause.
 * XYLEM_ERR_NO_MEMORY: nothing happens. */
xylem_status_t xyl_team_fail_later(struct xylem_team *team,
                                   xylem_status_t status, const char *text);
/* This rank could not make child `number` of the team: the child fails on the
 * ranks that have it. */
void xyl_team_unmade(struct xylem_team *parent, uint32_t number);
/* Fails a team that has just been put on the context's list if a rank of it is
 * dead. Any thread, with the context's lock. */
void xyl_team_made(struct xylem_team *team);
/* The same for child `number` of a parent, if a rank could not make it. */
void xyl_team_is_child(struct xylem_team *team, const struct xylem_team *parent,
                       uint32_t number);

/* `peer` is dead: its teams fail in the ready phase. From any function. */
void xyl_context_suspect(xylem_context_t *context, uint32_t peer);
/* Does the work of that phase at once. */
void xyl_context_suspects_look(xylem_context_t *context);
/* xyl_context_suspect as the net calls it; `arg` is the context. */
void xyl_context_peer_failed(void *arg, uint32_t peer);

/* Handles a notice that has arrived. */
void xyl_failure_notice(xylem_context_t *context, struct xyl_notice *notice);

#endif
