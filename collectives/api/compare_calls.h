/* XYLEM_CHECK=full: before each call of a collective its ranks tell each other
 * what they call, all of it that is equal on all ranks, whether somebody waits
 * for another in the call or not. Calls that are refused count as calls of
 * nothing. */
#ifndef XYL_COLLECTIVES_API_COMPARE_CALLS_H
#define XYL_COLLECTIVES_API_COMPARE_CALLS_H

#include "runtime/core/team.h"

/* Begins to; where ranks differ the team fails, with both calls in words.
 * `call` is the call's word, 0: this rank's call was refused. Any thread, in
 * the order of calls. What has no memory for it is left to the others. */
void xyl_calls_compare(xylem_team_t *team, const xylem_coll_args_t *args,
                       uint64_t call);

#endif
