/* Planned operations that a team keeps for the next call that is like the last
 * one: same collective, count, type, root and tuning, only other buffers. Such
 * a call plans nothing; it binds its buffers and starts.
 *
 * The cache owns what is in it: no reference to the team, not counted as live.
 * Any thread: plans are taken and put by one exchange each. */
#ifndef XYL_COLLECTIVES_CHOOSE_PLAN_CACHE_H
#define XYL_COLLECTIVES_CHOOSE_PLAN_CACHE_H

#include "collectives/data/modules.h"
#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

/* An idle operation planned for calls like `args`, bound to its buffers and
 * callbacks; NULL: there is none. The caller owns it, and either gives it to
 * the user (xyl_request_revive) or runs it and keeps it again. */
xyl_operation_t *xyl_plan_take(xylem_team_t *team,
                               const xylem_coll_args_t *args);

/* Remembers what the operation was planned for, so that it may be kept. */
void xyl_plan_describe(xyl_operation_t *operation,
                       const xylem_coll_args_t *args);

/* Takes over an idle operation; returns 0 when it is not worth keeping. */
int xyl_plan_keep(xyl_operation_t *operation);

extern const xyl_module_t xyl_plan_cache_module;

#endif
