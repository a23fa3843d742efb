/* Planned operations that a team keeps for the next call that is like the last
 * one: same collective, count, type, root and tuning, only other buffers. Such
 * a call plans nothing; it binds its buffers and starts.
 *
 * The cache owns what is in it: no reference to the team, not counted as live.
 * Any thread takes and keeps plans. A short blocking call runs a plan where it
 * lies; the first such call claims the plan for the engine's owner, and only
 * an owner of the engine takes it from then on. So a call that runs inside the
 * call pays for one exchange, that of the engine. */
#ifndef XYL_COLLECTIVES_CHOOSE_PLAN_CACHE_H
#define XYL_COLLECTIVES_CHOOSE_PLAN_CACHE_H

#include "collectives/data/modules.h"
#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

/* More than most calls of a collective say, but for a tag; not 0: they do. */
static inline uintptr_t xyl_args_untagged_more(const xylem_coll_args_t *args)
{
    return (uintptr_t)args->algorithm | args->segment_bytes | args->recv_count |
           args->recv_type | args->send_window | args->recv_window;
}

/* The same with the tag: this is compared with care. */
static inline int xyl_args_say_more(const xylem_coll_args_t *args)
{
    return (xyl_args_untagged_more(args) | args->tag) != 0;
}

/* An idle operation planned for calls like `args` that go that way, bound to
 * its buffers and callbacks; NULL: there is none, or the arguments want a
 * closer look. The caller owns it, and either gives it to the user
 * (xyl_request_revive) or runs it and keeps it again. */
xyl_operation_t *xyl_plan_take(xylem_team_t *team,
                               const xylem_coll_args_t *args, xyl_way_t way);

/* The same for a short form that runs inside the call, while the plan stays
 * where it lies; not bound. The engine's owner. */
xyl_operation_t *xyl_plan_claim(xylem_team_t *team,
                                const xylem_coll_args_t *args);
/* A claimed plan is the caller's, as if taken; nobody is told of its end. The
 * engine's owner. */
void xyl_plan_withdraw(xyl_operation_t *operation);

/* Remembers what the operation was planned for, so that it may be kept. */
void xyl_plan_describe(xyl_operation_t *operation,
                       const xylem_coll_args_t *args, xyl_way_t way);

/* Takes over an idle operation; returns 0 when it is not worth keeping. */
int xyl_plan_keep(xyl_operation_t *operation);

/* The state of a context; the engine's owner's. */
typedef struct xyl_plans_context {
    unsigned inline_calls_to_turn; /* of the engine */
} xyl_plans_context_t;

static inline xyl_plans_context_t *xyl_plans_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_PLANS];
}

extern const xyl_module_t xyl_plan_cache_module;

#endif
