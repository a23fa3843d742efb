#include "collectives/at_once.h"

#include "collectives/node/stage.h"
#include "collectives/plan_cache.h"
#include "runtime/context.h"

enum {
    CALLS_TO_TURN = 64, /* then the net and timers have theirs */
    LOOKS = 64,         /* at what others have to say; then it is the engine's */
    LOOKS_IF_SHARED = 2 /* a core that they may need for that */
};

static xylem_request_t **place_of(xylem_team_t *team,
                                  const xylem_coll_args_t *args)
{
    uint64_t hash = (args->count * 31 + args->root) * 31 + args->type +
                    args->op * UINT64_C(7) + (uint64_t)args->coll * 5;

    hash *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return &team->at_once[(hash >> 32) % XYL_AT_ONCE_SIZE];
}

/* The engine's owner. Nothing is under way that would have to wait, or that
 * comes first, and nobody is missing. */
static int is_quiet(xylem_context_t *context)
{
    if (context->calls_to_turn-- == 0) {
        context->calls_to_turn = CALLS_TO_TURN;
        (void)xyl_engine_turn(&context->engine);
    }
    return context->operations == NULL &&
           atomic_load_explicit(&context->failures, memory_order_relaxed) ==
               0 &&
           xyl_engine_is_idle(&context->engine);
}

static xyl_at_once_t run(xylem_context_t *context, xyl_operation_t *operation)
{
    unsigned looks =
        context->driver.params.shares_cores ? LOOKS_IF_SHARED : LOOKS;

    if (xyl_node_stage_run(operation->lane[0], looks))
        return XYL_AT_ONCE_DONE;
    xyl_operation_began(operation);
    return XYL_AT_ONCE_BEGUN;
}

xyl_at_once_t xyl_at_once_run(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_operation_t **operation_out)
{
    xylem_context_t *context = team->context;
    xylem_request_t **place = place_of(team, args);
    xyl_at_once_t outcome = XYL_AT_ONCE_NOT;
    xyl_operation_t *operation;

    if (!xyl_engine_try_own(&context->engine))
        return XYL_AT_ONCE_NOT;
    operation = xyl_operation_of(*place);
    if (operation != NULL && xyl_plan_is_for(operation, args) &&
        is_quiet(context) && xyl_node_stage_is_next(operation->lane[0])) {
        xyl_operation_bind(operation, args);
        outcome = run(context, operation);
    }
    if (outcome == XYL_AT_ONCE_BEGUN) {
        *place = NULL;
        *operation_out = operation;
    }
    xyl_engine_disown(&context->engine);
    xyl_driver_notify(&context->driver);
    return outcome;
}

/* ---- what is kept ---- */

static int is_brief(const xyl_operation_t *operation)
{
    return operation->may_be_kept && operation->failure == XYLEM_OK &&
           operation->stages == 1 &&
           operation->request.context->marks == NULL &&
           xyl_node_stage_is_brief(operation->lane[0]);
}

int xyl_at_once_keep(xyl_operation_t *operation)
{
    xyl_engine_t *engine = &operation->request.context->engine;
    xylem_request_t **place, *before;

    if (!is_brief(operation) || !xyl_engine_try_own(engine))
        return 0;
    place = place_of(operation->request.team, &operation->key);
    before = *place;
    *place = &operation->request;
    xyl_engine_disown(engine);
    if (before != NULL && !xyl_plan_keep(xyl_operation_of(before)))
        xyl_request_release(before);
    return 1;
}

void xyl_at_once_clear(xylem_team_t *team)
{
    unsigned i;

    for (i = 0; i < XYL_AT_ONCE_SIZE; i++) {
        if (team->at_once[i] != NULL)
            xyl_request_release(team->at_once[i]);
        team->at_once[i] = NULL;
    }
}
