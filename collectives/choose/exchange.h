/* Collectives as schedules: from the arguments of a call to an operation with
 * an exchange stage. */
#ifndef XYL_COLLECTIVES_CHOOSE_EXCHANGE_H
#define XYL_COLLECTIVES_CHOOSE_EXCHANGE_H

#include "collectives/data/call.h"
#include "collectives/stages/choice.h"
#include "runtime/core/team.h"

/* The part of a problem that is equal on all ranks: what selection looks at. */
void xyl_problem_outline(xylem_team_t *team, const xylem_coll_args_t *args,
                         int is_commutative, xyl_problem_t *problem_out);

/* Returns owned (free with xyl_request_discard, or by the user), its buffers
 * not bound yet. */
xylem_status_t xyl_exchange_create(const xyl_call_t *call,
                                   const xyl_choice_t *choice,
                                   xyl_operation_t **operation_out);

#endif
