/* The decision: which algorithm a call takes, and all that it is run with.
 * Decided from what is equal on all ranks, so that all decide alike. In order
 * of precedence: the call, XYLEM_ALGORITHMS, the tables (rule.h). */
#ifndef XYL_COLLECTIVES_CHOOSE_CHOOSE_H
#define XYL_COLLECTIVES_CHOOSE_CHOOSE_H

#include "collectives/choose/registry.h"
#include "collectives/choose/rule.h"
#include "collectives/stages/choice.h"
#include "runtime/core/team.h"

/* `args` has been checked. Where elements have gaps does not matter, as ranks
 * need not agree on it. Fails when the call names an algorithm that the
 * collective does not have, or that does not fit. */
xylem_status_t xyl_choose(xylem_team_t *team, const xylem_coll_args_t *args,
                          int is_commutative, xyl_choice_t *choice_out);

/* The tree that the call names, or the tables' first; of a bcast, reduce or
 * allreduce. */
xylem_status_t xyl_choose_tree(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               int is_commutative, xyl_choice_t *choice_out);

/* 1 when a reduction's bits are to depend on its contributions alone. */
int xyl_choose_reproducible(const xylem_team_t *team,
                            const xylem_coll_args_t *args);

/* 1 when contributions to a reduction may be combined as they come. */
int xyl_choose_arrival_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative);

#endif
