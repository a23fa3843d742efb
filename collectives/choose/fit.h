/* From a rule to a choice: the call and the settings replace parameters, the
 * team limits them. */
#pragma once

#include "collectives/choose/choose.h"
#include "collectives/choose/tuning.h"

typedef struct xyl_decision {
    xyl_named_t named;
    const xyl_rule_t *rule; /* gives the parameters; NULL: there are none */
    const char *by;         /* the reason in words; NULL: the rule decided */
} xyl_decision_t;

void xyl_fit(xylem_team_t *team, const xylem_coll_args_t *args,
             const xyl_query_t *query, int is_commutative,
             const xyl_decision_t *decision, xyl_choice_t *choice_out);

/* Prints why an algorithm that a setting asks for cannot run. */
void xyl_explain_passed(const xyl_query_t *query,
                        const xyl_algorithm_t *algorithm, const char *why);

/* The algorithm within nodes, as a call names it; NULL: the table decides. */
const char *xyl_choice_within(const xyl_choice_t *choice, uint32_t *radix_out);

/* Bytes of a segment; with levels, of a segment between nodes. 0: there are no
 * segments. */
size_t xyl_choice_segment(const xyl_choice_t *choice);

/* Prints the choice, the rule or the setting that decided, and the algorithms
 * that would have come next. */
void xyl_explain_choice(const xylem_team_t *team, const xyl_query_t *query,
                        const struct xyl_problem *problem,
                        const xyl_decision_t *decision,
                        const xyl_choice_t *choice);
