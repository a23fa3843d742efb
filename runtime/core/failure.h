/* What fails, and who is told.
 *
 * A team fails as a whole, and for good: by the first thing that goes wrong in
 * an operation of one of its ranks, by the death of one, or because a rank says
 * so. The rank where that happens tells all others of the team, with the
 * status, the rank that has caused it and words; there every operation of the
 * team that is under way fails with the same, and each later one as it starts.
 * A rank that has done its part of an operation may have completed it before it
 * hears. Teams are told apart by their keys, which are used once, and the slot
 * of one that has failed is not used again.
 *
 * The progressing thread, except where noted. */
#ifndef XYL_RUNTIME_CORE_FAILURE_H
#define XYL_RUNTIME_CORE_FAILURE_H

#include "runtime/core/context.h"

struct xyl_notice;

void xyl_failures_init(xylem_context_t *context);

/* Tells the others, unless it has failed before. `rank` of the job has caused
 * it. */
void xyl_team_fail(struct xylem_team *team, xylem_status_t status,
                   uint32_t rank, const char *text);
/* Once more, to a rank of the job that has not heard of it. */
void xyl_team_tell_failure(const struct xylem_team *team, uint32_t rank);
/* Rank `one` of the job has called `first`, rank `other` something else, or
 * the same after something else. */
void xyl_team_differs(struct xylem_team *team, uint32_t one, uint64_t first,
                      uint32_t other, uint64_t second);
/* By its key; to be unreferenced. NULL: none is in use. */
struct xylem_team *xyl_team_find(xylem_context_t *context, uint64_t key);
/* By its key, with the context's lock. NULL: there is none. */
struct xylem_team *xyl_team_listed(xylem_context_t *context, uint64_t key);
/* The same as a task, for any thread. XYLEM_ERR_NO_MEMORY: nothing happens. */
xylem_status_t xyl_team_fail_later(struct xylem_team *team,
                                   xylem_status_t status, const char *text);
/* Child `number` of the team, which is being made, is not there on this rank:
 * it fails on those that have it. */
void xyl_team_unmade(struct xylem_team *parent, uint32_t number);
/* A team that has just been put on the context's list: fails if a rank of it is
 * dead. Any thread, with the context's lock. */
void xyl_team_made(struct xylem_team *team);
/* And it is child `number` of its parent: fails if a rank has not made it. */
void xyl_team_is_child(struct xylem_team *team, const struct xylem_team *parent,
                       uint32_t number);

/* From anywhere: `peer` is dead. Operations fail in the ready phase. */
void xyl_context_suspect(xylem_context_t *context, uint32_t peer);
/* At once, what is left to that phase. */
void xyl_context_suspects_look(xylem_context_t *context);
/* The same as xyl_context_suspect, as the net calls it; `arg` is the context.
 */
void xyl_context_peer_failed(void *arg, uint32_t peer);

/* One has arrived. */
void xyl_failure_notice(xylem_context_t *context, struct xyl_notice *notice);

#endif
