/* XYLEM_CHECK=full: before each call of a collective its ranks tell each other
 * what they call, all of it that is equal on all ranks, whether somebody waits
 * for another in the call or not. The call begins when all have told the same.
 * Calls that are refused count as calls of nothing. */
#ifndef XYL_COLLECTIVES_API_COMPARE_CALLS_H
#define XYL_COLLECTIVES_API_COMPARE_CALLS_H

#include "runtime/core/team.h"

/* Begins to; where ranks differ the team fails, and the call with it, with both
 * calls in words. NULL: this rank's call was refused; else the operation is
 * started next. Any thread, in the order of calls. What has no memory for it is
 * left to the others. */
void xyl_calls_compare(xylem_team_t *team, const xylem_coll_args_t *args,
                       struct xyl_operation *operation);

#endif
