/* Short blocking calls within a node, run inside the call: a kept plan of one
 * stage that moves one piece over shared memory is worked off then and there.
 * Neither its request nor the engine hears of it, unless it has to wait for
 * others so long that the net must be looked after; then it goes on like any.
 *
 * What a team keeps for such calls belongs to the engine's owner: one exchange
 * makes sure of engine and plan. */
#ifndef XYL_COLLECTIVES_API_AT_ONCE_H
#define XYL_COLLECTIVES_API_AT_ONCE_H

#include "collectives/data/modules.h"
#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

typedef enum xyl_at_once {
    XYL_AT_ONCE_NOT,  /* nothing was done: the call goes the long way */
    XYL_AT_ONCE_DONE, /* it is over, without an error */
    XYL_AT_ONCE_BEGUN /* *operation_out is active, and the caller's */
} xyl_at_once_t;

/* Any thread; `args` is a short form's, without tuning. */
xyl_at_once_t xyl_at_once_run(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_operation_t **operation_out);

/* Any thread: takes over an idle operation for later calls; 0: it is not of
 * that kind. */
int xyl_at_once_keep(xyl_operation_t *operation);

/* The state of a context. */
typedef struct xyl_at_once_context {
    unsigned calls_to_turn; /* of the engine */
} xyl_at_once_context_t;

static inline xyl_at_once_context_t *
xyl_at_once_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_AT_ONCE];
}

extern const xyl_module_t xyl_at_once_module;

#endif
