/* XYLEM_TUNING_LEARN: a long run tries other plans now and then, in the same
 * calls on all ranks, and so learns whether its rules are the best. What comes
 * of it the observer keeps (watch.h). */
#ifndef XYL_COLLECTIVES_CHOOSE_LEARN_H
#define XYL_COLLECTIVES_CHOOSE_LEARN_H

#include "collectives/choose/watch.h"

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

/* Of a team. */
typedef struct xyl_learner xyl_learner_t;
void xyl_learner_free(xyl_learner_t *learner);

#endif
