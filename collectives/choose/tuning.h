/* The rules of a context, in this order: of XYLEM_ALGORITHMS, of the file that
 * XYLEM_TUNING names, and the built-in ones. Constant once read; any thread. */
#pragma once

#include "collectives/choose/rule.h"
#include "collectives/data/limits.h"
#include "collectives/data/modules.h"

typedef struct xyl_rules {
    const char *name; /* for texts */
    const xyl_rule_t *rule;
    size_t count;
} xyl_rules_t;

extern const xyl_rules_t xyl_rules_builtin;
extern const xyl_limits_t xyl_limits_builtin;

/* The rules of XYLEM_ALGORITHMS; there may be 0. A rule without an algorithm
 * leaves the choice to the tables. */
const xyl_rules_t *xyl_tuning_asked(const xylem_context_t *context);
/* A rule of the tables, and the collective's algorithm of that name. */
typedef struct xyl_candidate {
    const xyl_rule_t *rule; /* NULL behind the last */
    const xyl_algorithm_t *algorithm;
} xyl_candidate_t;

/* All candidates of a collective, in the order of the tables. */
const xyl_candidate_t *xyl_tuning_candidates(const xylem_context_t *context,
                                             xylem_coll_t coll);
/* How ranks come to their calls, by XYLEM_ARRIVALS, else by the file. */
uint32_t xyl_tuning_arrivals(const xylem_context_t *context);
/* The table that has a candidate's rule. */
const xyl_rules_t *xyl_tuning_table_of(const xylem_context_t *context,
                                       const xyl_rule_t *rule);

/* The module reads the text and the file that the settings name when a context
 * begins, and replaces the settings by hashes that ranks can compare. The
 * context fails if XYLEM_ALGORITHMS cannot be used. If the file cannot be used,
 * the module prints a warning and does without it. */
extern const xyl_module_t xyl_tuning_module;

/* ---- parsing ---- */

/* Reads "bcast=knomial:4,allreduce@0-4K=ring"; *rules_out is from malloc. */
xylem_status_t xyl_algorithms_parse(const char *text, xyl_rule_t **rules_out,
                                    size_t *count_out);
/* Reads a table's text. The texts of its rules live in *memory_out, which
 * xyl_table_free frees; limits that the table names replace those in *limits.
 * Fails with a text that begins with `file`. */
xylem_status_t xyl_table_parse(const char *file, const char *text, size_t bytes,
                               xyl_rule_t **rules_out, size_t *count_out,
                               xyl_limits_t *limits, void **memory_out);
/* The machine that a parsed table is for, as xyl_machine_name has it; NULL: any
 * machine. */
const char *xyl_table_machine(const void *memory);
/* How ranks come to their calls, by the table's key "arrivals". */
uint32_t xyl_table_arrivals(const void *memory);
void xyl_table_free(xyl_rule_t *rules, void *memory);
