/* XYLEM_TUNING_LEARN: a long run tries other plans now and then, in the same
 * calls on all ranks, and so learns whether its rules are the best. What comes
 * of it the observer keeps (timing.h). */
#ifndef XYL_COLLECTIVES_TUNE_LEARN_H
#define XYL_COLLECTIVES_TUNE_LEARN_H

#include "collectives/data/modules.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* The arguments that the next call of the team is run with: its own, or *own,
 * which are the same but for the plan. NULL: there is no memory, and the call
 * is to be refused, as the others count it. The thread that calls; the team is
 * one. */
const xylem_coll_args_t *xyl_learn_turn(xylem_team_t *team,
                                        const xylem_coll_args_t *args,
                                        xylem_coll_args_t *own);

/* That call has been refused on this rank: it does not count, as it has not
 * begun; `args` are its own. */
void xyl_learn_back(xylem_team_t *team, const xylem_coll_args_t *args);

/* The state of a context. */
typedef struct xyl_learning {
    const char *record; /* of XYLEM_TUNING_LEARN; NULL: nothing is learnt */
} xyl_learning_t;

static inline int xyl_learns(const xylem_team_t *team)
{
    const xyl_learning_t *learning =
        team->context->attached[XYL_MODULE_LEARNING];

    return xyl_observer_measures(team->context->observer) &&
           learning->record != NULL;
}

extern const xyl_module_t xyl_learning_module;

#endif
