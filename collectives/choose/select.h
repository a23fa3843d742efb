/* Selection: which tree, segments and windows an operation takes. Decided from
 * what is equal on all ranks, so that all decide alike. */
#ifndef XYL_COLLECTIVES_CHOOSE_SELECT_H
#define XYL_COLLECTIVES_CHOOSE_SELECT_H

#include "collectives/schedules/exchange.h"
#include "trees/tree.h"

/* How tree stages are run. In order of precedence: the call's own tuning, the
 * settings, the built-in table. `args` has been checked. */
void xyl_select(const xylem_team_t *team, const xylem_coll_args_t *args,
                int is_commutative, xyl_plan_t *plan_out);

/* How levels in series are run. */
typedef struct xyl_han_plan {
    xyl_plan_t frame;      /* with the tree between nodes, and lanes */
    uint32_t leaders;      /* of a node; each has a lane for every one of: */
    uint32_t halves;       /* of that tree */
    uint32_t roots;        /* nodes with roots, where there is no other */
    xyl_shape_t node_tree; /* within nodes that share no memory */
    const xyl_algorithm_t *exchange; /* between nodes; NULL: trees */
    int is_in_place;
} xyl_han_plan_t;

/* The same for levels in series; choice->radix: leaders of a node, 0 leaves it
 * to the table. */
void xyl_select_han(xylem_team_t *team, const xylem_coll_args_t *args,
                    const xyl_choice_t *choice, int is_commutative,
                    xyl_han_plan_t *plan_out);

/* The plan's windows, unless the call or a setting asks for others. */
void xyl_select_windows(const xylem_coll_args_t *args,
                        const xyl_config_t *config, xyl_plan_t *plan);

/* 1 when contributions to a reduction may be combined as they come. */
int xyl_select_arrival_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative);

/* The setting of a collective, see XYL_CONFIG_TREE. */
uint64_t xyl_choose_setting(const xyl_config_t *config, xylem_coll_t coll);

/* Which algorithm: the same precedence. Where elements have gaps does not
 * matter, as ranks need not agree on it. Fails when the call or a setting names
 * one that the collective does not have, or the call one that does not fit. */
xylem_status_t xyl_choose(xylem_team_t *team, const xylem_coll_args_t *args,
                          int is_commutative, xyl_choice_t *choice_out);

#endif
