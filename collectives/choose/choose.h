/* The decision: which algorithm a call takes, with all its parameters. Its
 * inputs are equal on all ranks, so that all decide alike. The call decides
 * first, then XYLEM_ALGORITHMS, then the tables (rule.h). */
#pragma once

#include "collectives/choose/registry.h"
#include "collectives/choose/rule.h"
#include "collectives/stages/choice.h"
#include "runtime/core/team.h"

/* `args` has been checked. The choice does not depend on gaps in types, as
 * these may differ from rank to rank. Fails when the call names an algorithm
 * that the collective does not have, or that does not fit. */
xylem_status_t xyl_choose(xylem_team_t *team, const xylem_coll_args_t *args,
                          xyl_way_t way, int is_commutative,
                          xyl_choice_t *choice_out);

/* The query with which xyl_choose looks a call up in the tables, and the part
 * of the call's problem that is equal on all ranks. Fails without memory. */
xylem_status_t xyl_choose_query(xylem_team_t *team,
                                const xylem_coll_args_t *args, xyl_way_t way,
                                int is_commutative, xyl_problem_t *problem_out,
                                xyl_query_t *query_out);

/* A plan, in the words of calls. */
typedef struct xyl_other {
    char algorithm[XYL_ALGORITHM_TEXT_BYTES];
    size_t segment_bytes;
    uint32_t send_window, recv_window;
} xyl_other_t;
enum { XYL_OTHERS_MAX = 4 };

/* Finds plans that may be as good as the choice: the choice with shorter and
 * with longer segments, and the plans of the next rules. Returns how many. */
uint32_t xyl_choose_others(xylem_team_t *team, const xylem_coll_args_t *args,
                           xyl_other_t others[XYL_OTHERS_MAX]);

/* Chooses the tree that the call names, or else the tables' first; for a bcast,
 * reduce or allreduce. */
xylem_status_t xyl_choose_tree(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               int is_commutative, xyl_choice_t *choice_out);
