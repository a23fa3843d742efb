/* XYLEM_TUNING_LEARN: a long run tries other plans now and then, in the same
 * calls on all ranks, and so learns whether its rules are the best. The
 * observer keeps the times (timing.h). */
#pragma once

#include "collectives/data/modules.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* The arguments with which the next call of the team runs: `args`, or *own,
 * which differ from these only in the plan. NULL: no memory; the call must be
 * refused, as the other ranks count it. The calling thread; the team has been
 * checked. */
const xylem_coll_args_t *xyl_learn_turn(xylem_team_t *team,
                                        const xylem_coll_args_t *args,
                                        xylem_coll_args_t *own);

/* Takes back a call that this rank has refused: it has not begun, and does not
 * count. `args` are its own. */
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
