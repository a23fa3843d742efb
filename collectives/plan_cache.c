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

typedef _Atomic(xylem_request_t *) slot_t;

/* Each call has WAYS places to look at, beginning with the one returned. */
enum { WAYS = 4, SETS = XYL_PLAN_CACHE_SIZE / WAYS };

static slot_t *set_of(xylem_team_t *team, const xylem_coll_args_t *args)
{
    uint64_t hash = args->count * 31 + args->root;

    hash = hash * 31 + args->type * UINT64_C(7) + args->op * UINT64_C(3) +
           (uint64_t)args->coll;
    hash *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return &team->plans[(hash >> 32) % SETS * WAYS];
}

/* Puts an operation where a place is free; 0: none is. */
static int put(slot_t *set, xylem_request_t *request)
{
    unsigned way;

    for (way = 0; way < WAYS; way++) {
        xylem_request_t *empty = NULL;
        /* Partner: the exchange in xyl_plan_take. */
        if (atomic_load_explicit(&set[way], memory_order_relaxed) == NULL &&
            atomic_compare_exchange_strong_explicit(&set[way], &empty, request,
                                                    memory_order_acq_rel,
                                                    memory_order_relaxed))
            return 1;
    }
    return 0;
}

/* The kept operation for calls like `args`, taken out of its place. One that
 * turns out to be for other calls is put back. */
static xyl_operation_t *find(slot_t *set, const xylem_coll_args_t *args)
{
    xyl_operation_t *operation;
    unsigned way;

    for (way = 0; way < WAYS; way++) {
        if (atomic_load_explicit(&set[way], memory_order_relaxed) == NULL)
            continue;
        /* Partner: the exchanges that put it there. */
        operation = xyl_operation_of(
            atomic_exchange_explicit(&set[way], NULL, memory_order_acq_rel));
        if (operation == NULL)
            continue;
        if (are_alike(&operation->key, args))
            return operation;
        if (!put(set, &operation->request))
            xyl_request_release(&operation->request);
    }
    return NULL;
}

xyl_operation_t *xyl_plan_take(xylem_team_t *team,
                               const xylem_coll_args_t *args)
{
    xyl_operation_t *operation;

    if (args->on_segment != NULL)
        return NULL;
    operation = find(set_of(team, args), args);
    if (operation == NULL)
        return NULL;
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
    slot_t *set = set_of(operation->request.team, &operation->key);
    xylem_request_t *evicted;

    if (!operation->may_be_kept || operation->failure != XYLEM_OK)
        return 0;
    if (put(set, &operation->request))
        return 1;
    evicted = atomic_exchange_explicit(&set[0], &operation->request,
                                       memory_order_acq_rel);
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
