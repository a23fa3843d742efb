/* From a rule to a choice: what the call, the settings and the team leave of
 * it. */
#ifndef XYL_COLLECTIVES_CHOOSE_FIT_H
#define XYL_COLLECTIVES_CHOOSE_FIT_H

#include "collectives/choose/choose.h"
#include "collectives/choose/tuning.h"

typedef struct xyl_decision {
    xyl_named_t named;
    const xyl_rule_t *rule; /* that it is run by; NULL: it takes nothing */
    const char *by;         /* who has decided; NULL: the rule */
} xyl_decision_t;

void xyl_fit(xylem_team_t *team, const xylem_coll_args_t *args,
             const xyl_query_t *query, int is_commutative,
             const xyl_decision_t *decision, xyl_choice_t *choice_out);

/* Prints that what a setting asks for cannot run, and why not. */
void xyl_choice_explain_passed(const xyl_query_t *query,
                               const xyl_algorithm_t *algorithm,
                               const char *why);

/* What is named for the levels within nodes, as a call names it; NULL: nothing,
 * and the table says. */
const char *xyl_choice_within(const xyl_choice_t *choice, uint32_t *radix_out);

/* Bytes of a segment between nodes; of what has no levels, of any segment. 0:
 * it has none. */
size_t xyl_choice_segment(const xyl_choice_t *choice);

/* Prints it: what was chosen, by which rule or by whom, and what would have
 * come next. */
void xyl_choice_explain(const xylem_team_t *team, const xyl_query_t *query,
                        const struct xyl_problem *problem,
                        const xyl_decision_t *decision,
                        const xyl_choice_t *choice);

#endif
