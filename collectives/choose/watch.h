/* Whether plans take the time that their rules were written for: an observer
 * that times calls while XYLEM_VERBOSE=select asks for it, says where a plan is
 * far from its prediction, and, for XYLEM_TUNING_LEARN, keeps what it has seen
 * for xylem-tune learn. Costs nothing otherwise. */
#ifndef XYL_COLLECTIVES_CHOOSE_WATCH_H
#define XYL_COLLECTIVES_CHOOSE_WATCH_H

#include "collectives/choose/rule.h"
#include "collectives/data/modules.h"
#include "runtime/core/team.h"

enum { XYL_WATCH_PLAN_BYTES = 128 };

/* Of calls that are alike. */
typedef struct xyl_watched xyl_watched_t;

/* Whom an operation that is planned like this reports to; NULL: nobody watches,
 * or there is no memory. `rule` may be NULL; `plan` says what is run: its name,
 * segment and windows. */
xyl_watched_t *xyl_watch_plan(const xylem_team_t *team,
                              const xyl_query_t *query, const xyl_rule_t *rule,
                              const char *plan);

/* Of a context whose ranks have met, and at its end. */
void xyl_watch_begin(xylem_context_t *context);
void xyl_watch_end(xylem_context_t *context);

#endif
