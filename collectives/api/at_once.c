#include "collectives/api/at_once.h"

#include "collectives/choose/plan_cache.h"
#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/node/stage.h"
#include "runtime/core/context.h"

enum {
    CALLS_TO_TURN = 64, /* then the net and timers have theirs */
    BRIEF_MAX = 16,     /* plans that a team keeps for such calls */
    LOOKS = 64, /* at what others have to say; then it is the engine's */
    LOOKS_IF_SHARED = 2 /* a core that they may need for that */
};

/* ---- what a call is about ---- */

/* What a blocking call is about, beside its buffers, and the idle operation
 * for it. A team has some; the engine's owner's. */
typedef struct xyl_brief_call {
    xylem_request_t *request; /* NULL: none */
    uint64_t count;
    xylem_coll_t coll;
    xylem_type_t type;
    xylem_op_t op;
    uint32_t root;
    uint8_t sends, receives; /* it has something in that buffer */
    uint8_t is_in_place;     /* in the one that it receives into */
} xyl_brief_call_t;

static uint8_t in_place(const xylem_coll_args_t *args)
{
    return (uint8_t)((args->send == XYLEM_IN_PLACE) |
                     (args->recv == XYLEM_IN_PLACE_RECV) << 1);
}

static xyl_brief_call_t *briefs_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_AT_ONCE];
}

static xyl_brief_call_t *place_of(xylem_team_t *team,
                                  const xylem_coll_args_t *args)
{
    uint64_t hash = (args->count * 31 + args->root) * 31 + args->type +
                    args->op * UINT64_C(7) + (uint64_t)args->coll * 5;

    hash *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return briefs_of(team) + (hash >> 32) % BRIEF_MAX;
}

/* Of those that can be run so, all that the call says but its buffers. */
static int is_alike(const xyl_brief_call_t *brief,
                    const xylem_coll_args_t *args)
{
    return ((brief->count ^ args->count) |
            ((uint32_t)brief->coll ^ (uint32_t)args->coll) |
            (brief->type ^ args->type) | (brief->op ^ args->op) |
            (brief->root ^ args->root) |
            (uint32_t)(brief->is_in_place ^ in_place(args))) == 0;
}

/* What xyl_arguments_check_frame may still object to. */
static int has_buffers(const xyl_brief_call_t *brief,
                       const xylem_coll_args_t *args)
{
    return (!brief->sends || args->send != NULL) &&
           (!brief->receives || args->recv != NULL) &&
           (!brief->sends || !brief->receives || args->send != args->recv);
}

static xyl_brief_call_t brief_of(xyl_operation_t *operation)
{
    const xylem_coll_args_t *key = &xyl_collective_of(operation)->key;
    const xyl_coll_traits_t *traits = xyl_coll_traits(key->coll);
    int is_root =
        traits->has_root && operation->request.team->rank == key->root;
    uint8_t place = in_place(key);

    return (xyl_brief_call_t){.request = &operation->request,
                              .count = key->count,
                              .coll = key->coll,
                              .type = key->type,
                              .op = key->op,
                              .root = key->root,
                              .is_in_place = place,
                              .sends = key->count != 0 && (place & 1) == 0 &&
                                       xyl_side_matters(traits->sends, is_root),
                              .receives =
                                  key->count != 0 && (place & 2) == 0 &&
                                  xyl_side_matters(traits->receives, is_root)};
}

/* ---- running ---- */

static int has_failures(const xylem_context_t *context)
{
    return atomic_load_explicit(&context->failures, memory_order_relaxed) != 0;
}

/* The engine's owner. Nothing is under way that would have to wait, or that
 * comes first, and nobody is missing, as far as a look at the engine tells. */
static int is_quiet(xylem_context_t *context)
{
    xyl_at_once_context_t *at_once = xyl_at_once_of(context);
    xyl_engine_t *engine = &context->engine;

    if (!LIST_EMPTY(&context->operations))
        return 0;
    if (at_once->calls_to_turn-- == 0) {
        at_once->calls_to_turn = CALLS_TO_TURN;
        (void)xyl_engine_turn(engine);
    } else if (engine->polled != 0) { /* of an operation that is over */
        (void)xyl_engine_poll(engine);
    }
    return LIST_EMPTY(&context->operations) && !has_failures(context) &&
           xyl_engine_is_idle(engine);
}

static xyl_at_once_t run(xylem_context_t *context, xyl_operation_t *operation)
{
    unsigned looks =
        context->driver.params.shares_cores ? LOOKS_IF_SHARED : LOOKS;

    if (xyl_node_stage_run(operation->stage[0], looks))
        return XYL_AT_ONCE_DONE;
    xyl_operation_began(operation);
    return XYL_AT_ONCE_BEGUN;
}

xyl_at_once_t xyl_at_once_run(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_operation_t **operation_out)
{
    xylem_context_t *context = team->context;
    xyl_brief_call_t *brief = place_of(team, args);
    xyl_at_once_t outcome = XYL_AT_ONCE_NOT;
    xyl_operation_t *operation;

    if (!xyl_engine_try_own(&context->engine))
        return XYL_AT_ONCE_NOT;
    operation = xyl_operation_of(brief->request);
    if (operation != NULL && is_alike(brief, args) &&
        has_buffers(brief, args) && is_quiet(context) &&
        xyl_node_stage_is_next(operation->stage[0])) {
        xyl_collective_bind(operation, args);
        outcome = run(context, operation);
    }
    if (outcome == XYL_AT_ONCE_BEGUN) {
        brief->request = NULL;
        *operation_out = operation;
    }
    xyl_engine_disown(&context->engine);
    xyl_driver_notify(&context->driver);
    return outcome;
}

/* ---- what is kept ---- */

static int is_plain(const xylem_coll_args_t *key)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(key->coll);

    return !traits->send_varies && !traits->recv_varies && key->flags == 0 &&
           key->recv_count == 0 && key->recv_type == 0 &&
           key->segment_bytes == 0 && key->send_window == 0 &&
           key->recv_window == 0 && key->algorithm == NULL;
}

/* Where others send messages for it, it takes numbers like theirs. */
static int is_brief(const xyl_operation_t *operation)
{
    uint64_t most = xyl_limits_of(operation->request.context)->inside_call;

    return operation->keep != NULL && operation->failure == XYLEM_OK &&
           is_plain(&xyl_collective_of(operation)->key) &&
           operation->stages == 1 && operation->sequences == 0 &&
           operation->bytes <= most &&
           xyl_collective_of(operation)->written <= most &&
           !xyl_observer_records(operation->request.context->observer) &&
           xyl_node_stage_is_brief(operation->stage[0]);
}

int xyl_at_once_keep(xyl_operation_t *operation)
{
    xyl_engine_t *engine = &operation->request.context->engine;
    xylem_request_t *before;
    xyl_brief_call_t *brief;

    if (!is_brief(operation) || !xyl_engine_try_own(engine))
        return 0;
    brief =
        place_of(operation->request.team, &xyl_collective_of(operation)->key);
    before = brief->request;
    *brief = brief_of(operation);
    xyl_engine_disown(engine);
    if (before != NULL && !xyl_plan_keep(xyl_operation_of(before)))
        xyl_request_release(before);
    return 1;
}

static void briefs_end(xylem_team_t *team)
{
    xyl_brief_call_t *briefs = briefs_of(team);
    unsigned i;

    for (i = 0; i < BRIEF_MAX; i++)
        if (briefs[i].request != NULL)
            xyl_request_release(briefs[i].request);
}

const xyl_module_t xyl_at_once_module = {
    .name = "at once",
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_at_once_context_t),
              [XYL_OWNER_TEAM] = BRIEF_MAX * sizeof(xyl_brief_call_t)},
    .team_ends = briefs_end,
};
