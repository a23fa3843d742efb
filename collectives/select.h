/* Selection: which tree, segments and windows an operation takes. Decided from
 * what is equal on all ranks, so that all decide alike. */
#ifndef XYL_COLLECTIVES_SELECT_H
#define XYL_COLLECTIVES_SELECT_H

#include "collectives/operation.h"
#include "runtime/team.h"

/* In order of precedence: the call's own tuning, the settings, the built-in
 * table. `args` has been checked. */
void xyl_select(const xylem_team_t *team, const xylem_coll_args_t *args,
                int is_commutative, xyl_plan_t *plan_out);

#endif
