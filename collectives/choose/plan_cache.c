#include "collectives/choose/plan_cache.h"

#include <string.h>

#include "collectives/data/description.h"
#include "collectives/data/user_op.h"

enum {
    PLANS_MAX = 32,            /* idle operations that a team keeps */
    KEPT_BYTES_MAX = 64 * 1024 /* large plans are cheap beside the work */
};

/* Arrays, by content. Those that do not matter are NULL in both. */
static int arrays_are_alike(const xylem_coll_args_t *a,
                            const xylem_coll_args_t *b, uint32_t ranks)
{
    const xyl_array_t *array = xyl_arrays(), *end = array + XYL_ARRAYS;

    for (; array < end; array++) {
        const void *of_a = xyl_array_get(array, a);
        const void *of_b = xyl_array_get(array, b);
        size_t bytes = xyl_array_bytes(array, a, ranks);
        if (of_a == NULL && of_b == NULL)
            continue;
        if (of_a == NULL || of_b == NULL ||
            bytes != xyl_array_bytes(array, b, ranks) ||
            memcmp(of_a, of_b, bytes) != 0)
            return 0;
    }
    return 1;
}

static int names_are_alike(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

/* All that a plan depends on; the rest is bound. */
static int are_alike(const xylem_coll_args_t *a, const xylem_coll_args_t *b,
                     uint32_t ranks)
{
    return a->coll == b->coll && a->count == b->count && a->type == b->type &&
           a->op == b->op && a->root == b->root &&
           ((a->flags ^ b->flags) & ~XYLEM_FLAG_AUTOFREE) == 0 &&
           a->segment_bytes == b->segment_bytes &&
           a->send_window == b->send_window &&
           a->recv_window == b->recv_window && a->recv_count == b->recv_count &&
           a->recv_type == b->recv_type &&
           (a->send == XYLEM_IN_PLACE) == (b->send == XYLEM_IN_PLACE) &&
           (a->recv == XYLEM_IN_PLACE_RECV) ==
               (b->recv == XYLEM_IN_PLACE_RECV) &&
           names_are_alike(a->algorithm, b->algorithm) &&
           (!xyl_coll_has_arrays(a->coll) || arrays_are_alike(a, b, ranks));
}

/* Without the arrays that do not matter on this rank. */
static void leave_out(const xylem_team_t *team, xylem_coll_args_t *args)
{
    xyl_arrays_leave_out(args, xyl_coll_traits(args->coll)->has_root &&
                                   team->rank == args->root);
}

typedef _Atomic(xylem_request_t *) slot_t;

static slot_t *plans_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_PLANS];
}

/* Each call has WAYS places to look at, beginning with the one returned. */
enum { WAYS = 4, SETS = PLANS_MAX / WAYS };

static slot_t *set_of(xylem_team_t *team, const xylem_coll_args_t *args)
{
    uint64_t hash = args->count * 31 + args->root;

    hash = hash * 31 + args->type * UINT64_C(7) + args->op * UINT64_C(3) +
           (uint64_t)args->coll;
    hash *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return plans_of(team) + (hash >> 32) % SETS * WAYS;
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
static xyl_operation_t *find(const xylem_team_t *team, slot_t *set,
                             const xylem_coll_args_t *args)
{
    const xyl_exec_t *exec = xyl_collective_exec(team->context, args);
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
        if (xyl_collective_of(operation)->exec == exec &&
            are_alike(&xyl_collective_of(operation)->key, args, team->size))
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
    xylem_coll_args_t key;

    if (args->on_segment != NULL || xyl_coll_traits(args->coll)->has_own_types)
        return NULL;
    if (xyl_coll_has_arrays(args->coll)) {
        key = *args;
        leave_out(team, &key);
        operation = find(team, set_of(team, args), &key);
    } else {
        operation = find(team, set_of(team, args), args);
    }
    if (operation == NULL)
        return NULL;
    operation->request.flags = args->flags;
    operation->request.on_complete = args->on_complete;
    operation->request.arg = args->arg;
    xyl_collective_bind(operation, args);
    return operation;
}

/* Copies that live as long as the operation; 0: no memory. */
static int keep_arrays(xyl_operation_t *operation, xylem_coll_args_t *key)
{
    const xyl_array_t *array = xyl_arrays(), *end = array + XYL_ARRAYS;

    for (; array < end; array++) {
        const void *elements = xyl_array_get(array, key);
        size_t bytes =
            xyl_array_bytes(array, key, operation->request.team->size);
        void *copy;
        if (elements == NULL)
            continue;
        copy = xyl_arena_alloc(&operation->request.arena, bytes);
        if (copy == NULL)
            return 0;
        xyl_array_set(array, key, memcpy(copy, elements, bytes));
    }
    return 1;
}

static int keep_name(xyl_operation_t *operation, const char **name)
{
    size_t bytes;
    char *copy;

    if (*name == NULL)
        return 1;
    bytes = strlen(*name) + 1;
    copy = xyl_arena_alloc(&operation->request.arena, bytes);
    if (copy != NULL)
        memcpy(copy, *name, bytes);
    *name = copy;
    return copy != NULL;
}

void xyl_plan_describe(xyl_operation_t *operation,
                       const xylem_coll_args_t *args)
{
    xylem_coll_args_t *key = &xyl_collective_of(operation)->key;
    int may_be_kept;

    *key = *args;
    leave_out(operation->request.team, key);
    may_be_kept =
        (args->flags & XYLEM_FLAG_PARTS) == 0 && args->on_segment == NULL &&
        args->op < XYL_USER_OP_BASE &&
        !xyl_coll_traits(args->coll)->has_own_types &&
        !xyl_sides_are_needed(args) &&
        xyl_arena_bytes(&operation->request.arena) <= KEPT_BYTES_MAX &&
        keep_arrays(operation, key) && keep_name(operation, &key->algorithm);
    operation->keep = may_be_kept ? xyl_plan_keep : NULL;
}

int xyl_plan_keep(xyl_operation_t *operation)
{
    slot_t *set =
        set_of(operation->request.team, &xyl_collective_of(operation)->key);
    xylem_request_t *evicted;

    if (operation->keep == NULL || operation->failure != XYLEM_OK)
        return 0;
    if (put(set, &operation->request))
        return 1;
    evicted = atomic_exchange_explicit(&set[0], &operation->request,
                                       memory_order_acq_rel);
    if (evicted != NULL)
        xyl_request_release(evicted);
    return 1;
}

static void plans_end(xylem_team_t *team)
{
    slot_t *plans = plans_of(team);
    unsigned i;

    for (i = 0; i < PLANS_MAX; i++) {
        xylem_request_t *kept =
            atomic_exchange_explicit(&plans[i], NULL, memory_order_acq_rel);
        if (kept != NULL)
            xyl_request_release(kept);
    }
}

const xyl_module_t xyl_plan_cache_module = {
    .name = "plan cache",
    .bytes = {[XYL_OWNER_TEAM] = PLANS_MAX * sizeof(slot_t)},
    .team_ends = plans_end,
};
