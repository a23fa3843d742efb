/* The rules of a context: what XYLEM_ALGORITHMS asks for, then those of the
 * file that XYLEM_TUNING names, then the built-in ones. Constant once read; any
 * thread. */
#ifndef XYL_COLLECTIVES_CHOOSE_TUNING_H
#define XYL_COLLECTIVES_CHOOSE_TUNING_H

#include "collectives/choose/rule.h"
#include "collectives/data/limits.h"
#include "collectives/data/modules.h"

typedef struct xyl_rules {
    const char *name; /* for texts */
    const xyl_rule_t *rule;
    size_t count;
} xyl_rules_t;

/* The built-in table. */
extern const xyl_rules_t xyl_rules_builtin;
extern const xyl_limits_t xyl_limits_builtin;

/* What XYLEM_ALGORITHMS asks for; NULL, or of 0 rules: nothing. A rule without
 * an algorithm leaves the choice to the tables. */
const xyl_rules_t *xyl_tuning_asked(const xylem_context_t *context);
/* A rule of the tables, and the collective's algorithm of that name. */
typedef struct xyl_candidate {
    const xyl_rule_t *rule; /* NULL behind the last */
    const xyl_algorithm_t *algorithm;
} xyl_candidate_t;

/* All of a collective, in the order of the tables. */
const xyl_candidate_t *xyl_tuning_candidates(const xylem_context_t *context,
                                             xylem_coll_t coll);
/* How ranks come to their calls: by XYLEM_ARRIVALS, else by the file. */
uint32_t xyl_tuning_arrivals(const xylem_context_t *context);
/* The table that a candidate's rule is of. */
const xyl_rules_t *xyl_tuning_table_of(const xylem_context_t *context,
                                       const xyl_rule_t *rule);

/* Reads what the settings name as a context begins, and puts hashes of it in
 * their place, so that ranks can compare them. A context fails when
 * XYLEM_ALGORITHMS cannot be used; of a file that cannot be used the module
 * warns, and does without. */
extern const xyl_module_t xyl_tuning_module;

/* ---- for those who read them ---- */

/* Reads "bcast=knomial:4,allreduce@0-4K=ring"; *rules_out is from malloc. */
xylem_status_t xyl_algorithms_parse(const char *text, xyl_rule_t **rules_out,
                                    size_t *count_out);
/* Reads a table's text. The texts of its rules live in *memory_out, which
 * xyl_table_free gives back; limits that it names replace those in *limits.
 * Fails with a text that begins with `file`. */
xylem_status_t xyl_table_parse(const char *file, const char *text, size_t bytes,
                               xyl_rule_t **rules_out, size_t *count_out,
                               xyl_limits_t *limits, void **memory_out);
/* The machine that a table which has been parsed is for, as xyl_machine_name
 * says it; NULL: any. */
const char *xyl_table_machine(const void *memory);
/* How its key "arrivals" says that ranks come to their calls. */
uint32_t xyl_table_arrivals(const void *memory);
void xyl_table_free(xyl_rule_t *rules, void *memory);

#endif
