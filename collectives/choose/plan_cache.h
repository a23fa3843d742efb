/* Planned operations that a team keeps for calls like earlier ones: of the same
 * collective, count, type, root and tuning, with other buffers. Such a call
 * plans nothing; it binds its buffers and starts.
 *
 * The cache owns its operations, which hold no reference to the team and do not
 * count as live. Any thread takes and keeps plans. A short blocking call runs a
 * plan that stays in the cache (docs/inside/stages.md, "Short calls"). */
#pragma once

#include "collectives/data/modules.h"
#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

/* Not 0: `args` sets a member, other than the tag, that most calls leave 0. */
static inline uintptr_t
xyl_plan_args_untagged_more(const xylem_coll_args_t *args)
{
    return (uintptr_t)args->algorithm | args->segment_bytes | args->recv_count |
           args->recv_type | args->send_window | args->recv_window;
}

/* 1: `args` sets such a member, or a tag. Such calls are compared member by
 * member. */
static inline int xyl_plan_args_say_more(const xylem_coll_args_t *args)
{
    return (xyl_plan_args_untagged_more(args) | args->tag) != 0;
}

/* An idle operation planned for calls like `args` that go that way, bound to
 * its buffers and callbacks; NULL: there is none, or the call reports segments.
 * The caller owns it, and either gives it to the user (xyl_request_revive) or
 * runs it and keeps it again. */
xyl_operation_t *xyl_plan_take(xylem_team_t *team,
                               const xylem_coll_args_t *args, xyl_way_t way);

/* The same for a short form that runs inside the call. The operation is not
 * bound, and stays in the cache. Called by the engine's owner. */
xyl_operation_t *xyl_plan_claim(xylem_team_t *team,
                                const xylem_coll_args_t *args);
/* Takes a claimed plan out of the cache, without callbacks; the caller then
 * owns it. Called by the engine's owner. */
void xyl_plan_withdraw(xyl_operation_t *operation);

/* Notes the call that the operation was planned for, so that it may be kept. */
void xyl_plan_describe(xyl_operation_t *operation,
                       const xylem_coll_args_t *args, xyl_way_t way);

/* Takes over an idle operation; returns 0 when it is not worth keeping. */
int xyl_plan_keep(xyl_operation_t *operation);

/* The state of a context; only the engine's owner uses it. */
typedef struct xyl_plans_context {
    unsigned inline_calls_to_turn; /* of the engine */
} xyl_plans_context_t;

static inline xyl_plans_context_t *xyl_plans_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_PLANS];
}

extern const xyl_module_t xyl_plan_cache_module;
