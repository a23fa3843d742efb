#include "collectives/plan_cache.h"

enum { KEPT_BYTES_MAX = 64 * 1024 }; /* large plans are cheap beside the work */

/* All that a plan depends on; the rest is bound. */
static int are_alike(const xylem_coll_args_t *a, const xylem_coll_args_t *b)
{
    return a->coll == b->coll && a->count == b->count && a->type == b->type &&
           a->op == b->op && a->root == b->root &&
           ((a->flags ^ b->flags) & ~XYLEM_FLAG_AUTOFREE) == 0 &&
           a->segment_bytes == b->segment_bytes &&
           a->send_window == b->send_window &&
           a->recv_window == b->recv_window && a->tree == b->tree &&
           a->radix == b->radix;
}

static _Atomic(xylem_request_t *) *slot_of(xylem_team_t *team,
                                           const xylem_coll_args_t *args)
{
    uint64_t hash = args->count * 31 + args->root;

    hash = hash * 31 + args->type * 7 + args->op * 3 + (uint64_t)args->coll;
    hash *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return &team->plans[hash >> 60];
}

_Static_assert(XYL_PLAN_CACHE_SIZE == 16, "slot_of takes four bits");

/* Puts back what was taken for a look; gives way to a newer one. */
static void put_back(_Atomic(xylem_request_t *) *slot, xylem_request_t *request)
{
    xylem_request_t *empty = NULL;

    if (!atomic_compare_exchange_strong_explicit(
            slot, &empty, request, memory_order_acq_rel, memory_order_relaxed))
        xyl_request_release(request);
}

xyl_operation_t *xyl_plan_take(xylem_team_t *team,
                               const xylem_coll_args_t *args)
{
    _Atomic(xylem_request_t *) *slot = slot_of(team, args);
    xyl_operation_t *operation;

    if (args->on_segment != NULL ||
        atomic_load_explicit(slot, memory_order_relaxed) == NULL)
        return NULL;
    /* Partner: the exchange in xyl_plan_keep. */
    operation = xyl_operation_of(
        atomic_exchange_explicit(slot, NULL, memory_order_acq_rel));
    if (operation == NULL)
        return NULL;
    if (!are_alike(&operation->key, args)) {
        put_back(slot, &operation->request);
        return NULL;
    }
    xyl_request_revive(&operation->request);
    operation->request.flags = args->flags;
    operation->request.on_complete = args->on_complete;
    operation->request.arg = args->arg;
    operation->bind(operation, args);
    return operation;
}

void xyl_plan_describe(xyl_operation_t *operation,
                       const xylem_coll_args_t *args)
{
    operation->may_be_kept =
        (args->flags & XYLEM_FLAG_PARTS) == 0 && args->on_segment == NULL &&
        args->op < XYL_USER_OP_BASE &&
        xyl_arena_bytes(&operation->request.arena) <= KEPT_BYTES_MAX;
    operation->key = *args;
}

int xyl_plan_keep(xyl_operation_t *operation)
{
    xylem_team_t *team = operation->request.team;
    xylem_request_t *evicted;

    if (!operation->may_be_kept || operation->failure != XYLEM_OK)
        return 0;
    /* Partner: the exchange in xyl_plan_take. */
    evicted =
        atomic_exchange_explicit(slot_of(team, &operation->key),
                                 &operation->request, memory_order_acq_rel);
    if (evicted != NULL)
        xyl_request_release(evicted);
    return 1;
}

void xyl_plan_cache_clear(xylem_team_t *team)
{
    unsigned i;

    for (i = 0; i < XYL_PLAN_CACHE_SIZE; i++) {
        xylem_request_t *kept = atomic_exchange_explicit(&team->plans[i], NULL,
                                                         memory_order_acq_rel);
        if (kept != NULL)
            xyl_request_release(kept);
    }
}
