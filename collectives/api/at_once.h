/* Short blocking calls within a node, run inside the call: a kept plan of one
 * stage that moves one piece over shared memory is worked off then and there.
 * Neither its request nor the engine hears of it, unless it has to wait for
 * others so long that the net must be looked after; then it goes on like any.
 *
 * What a team keeps for such calls belongs to the engine's owner: one exchange
 * makes sure of engine and plan. */
#ifndef XYL_COLLECTIVES_API_AT_ONCE_H
#define XYL_COLLECTIVES_API_AT_ONCE_H

#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

typedef enum xyl_at_once {
    XYL_AT_ONCE_NOT,  /* nothing was done: the call goes the long way */
    XYL_AT_ONCE_DONE, /* it is over, without an error */
    XYL_AT_ONCE_BEGUN /* *operation_out is active, and the caller's */
} xyl_at_once_t;

/* Any thread; `args` is a short form's, without tuning. */
xyl_at_once_t xyl_at_once_run(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_operation_t **operation_out);

/* Any thread: takes over an idle operation for later calls; 0: it is not of
 * that kind. */
int xyl_at_once_keep(xyl_operation_t *operation);

/* Frees all that is kept; at the end of the team. */
void xyl_at_once_clear(xylem_team_t *team);

#endif
