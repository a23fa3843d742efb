#include "collectives/api/inline_call.h"

#include "collectives/choose/plan_cache.h"
#include "collectives/node/stage.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

enum {
    CALLS_TO_TURN = 64,    /* then net and timers have a turn */
    LOOKS = 64,            /* for the others; then the engine goes on */
    LOOKS_IF_SHARED = 2,   /* if others may need the core */
    CALLS_ALL_TOLD = 16384 /* of a team; of later ones, some */
};

/* The golden ratio's fraction of 2^64 (Knuth, TAOCP 3, 6.4). */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* 1: the engine has nothing under way, so a call may run inside now, and the
 * team has not failed. Called by the engine's owner. */
static int engine_is_quiet(xylem_context_t *context, const xylem_team_t *team)
{
    unsigned *calls_to_turn = &xyl_plans_of(context)->inline_calls_to_turn;
    xyl_engine_t *engine = &context->engine;

    if (!LIST_EMPTY(&context->operations))
        return 0;
    if ((*calls_to_turn)-- == 0) {
        *calls_to_turn = CALLS_TO_TURN;
        (void)xyl_engine_work(engine); /* this call comes before callbacks' */
    } else if (engine->polled != 0) {  /* of an operation that is over */
        (void)xyl_engine_poll(engine);
    }
    return LIST_EMPTY(&context->operations) && !xyl_team_has_failed(team) &&
           xyl_engine_is_idle(engine);
}

/* 1: the observer is told of this call even if the call need not wait. The
 * observer is told of every call that waits, from its wait on. The numbers of
 * the other told calls are spread, so that a program that alternates between
 * kinds of calls has all kinds told. */
static __attribute__((cold, noinline)) int
call_is_told(const xyl_observer_t *observer, const xyl_stage_t *stage)
{
    uint64_t number = xyl_node_stage_number(stage);

    return observer->every == 0 || number < CALLS_ALL_TOLD ||
           (number * SPREAD >> 32) % observer->every == 0;
}

static xyl_inline_outcome_t inline_run(xyl_operation_t *operation)
{
    const xylem_context_t *context = operation->request.context;
    unsigned looks =
        context->driver.params.shares_cores ? LOOKS_IF_SHARED : LOOKS;

    int is_measured = xyl_observer_measures(context->observer) &&
                      call_is_told(context->observer, operation->stage[0]);

    xyl_operation_note_called(operation);
    if (is_measured)
        xyl_operation_note_began(operation);
    if (xyl_node_stage_run(operation->stage[0], looks)) {
        if (is_measured)
            xyl_operation_note_ended(operation);
        return XYL_INLINE_DONE;
    }
    return XYL_INLINE_BEGUN;
}

xyl_inline_outcome_t xyl_inline_call(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     int way_is_known,
                                     xyl_operation_t **operation_out)
{
    xylem_context_t *context = team->context;
    xyl_inline_outcome_t outcome = XYL_INLINE_NOT;
    xyl_operation_t *operation;

    if (!xyl_engine_try_own(&context->engine))
        return XYL_INLINE_NOT;
    operation = xyl_plan_claim(team, args);
    if (operation == NULL) {
        outcome = XYL_INLINE_NOT;
    } else if (!way_is_known && !xyl_collective_of(operation)->key.asks_never) {
        outcome = XYL_INLINE_ASKS;
    } else if (engine_is_quiet(context, team) &&
               xyl_node_stage_is_next(operation->stage[0])) {
        xyl_collective_bind_again(operation, args);
        outcome = inline_run(operation);
        if (outcome == XYL_INLINE_BEGUN) {
            xyl_plan_withdraw(operation);
            xyl_operation_began(operation);
        }
        *operation_out = operation;
    }
    xyl_engine_disown(&context->engine);
    xyl_driver_notify(&context->driver);
    return outcome;
}

/* Starts a request and runs it inside the call. The engine's owner. */
static xylem_status_t start_run(xyl_operation_t *operation)
{
    xylem_status_t status = xyl_operation_take_number(operation);

    if (status != XYLEM_OK)
        return status;
    operation->request.status = XYLEM_OK;
    if (inline_run(operation) == XYL_INLINE_BEGUN)
        xyl_operation_began(operation);
    else if (operation->tag != 0)
        xyl_tag_end(operation->request.team, operation->tag);
    return XYLEM_OK;
}

int xyl_inline_start(xylem_request_t *request, xylem_status_t *status_out)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    xylem_context_t *context = request->context;
    int did = 0;

    if (!xyl_engine_try_own(&context->engine))
        return 0;
    if (engine_is_quiet(context, request->team) &&
        xyl_node_stage_is_next(operation->stage[0])) {
        *status_out = start_run(operation);
        did = 1;
    }
    xyl_engine_disown(&context->engine);
    xyl_driver_notify(&context->driver);
    return did;
}
