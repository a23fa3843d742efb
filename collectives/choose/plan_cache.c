#include "collectives/choose/plan_cache.h"

#include <string.h>

#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/data/user_op.h"
#include "collectives/node/stage.h"
#include "collectives/node/tagged.h"

enum {
    HOMES = 32, /* places at which the places for a call may begin */
    WAYS = 4,   /* places for a call; other calls may share them */
    PLACES = HOMES + WAYS - 1,
    KEPT_BYTES_MAX = 64 * 1024, /* a larger plan costs less than its run */
    KEPT_MIRRORS_MAX = 1 << 20
};

/* ---- comparing calls ---- */

/* Flags that may differ between calls that use one plan. */
#define FLAGS_BOUND ((uint32_t)XYLEM_FLAG_AUTOFREE)

/* The kinds of address that may stand for a buffer; bits. */
enum { ADDRESS_NULL = 1, ADDRESS_IN_PLACE = 2, ADDRESS_BUFFER = 4 };

static uint8_t address_kind(const void *address)
{
    if (address == NULL)
        return ADDRESS_NULL;
    return address == XYLEM_IN_PLACE || address == XYLEM_IN_PLACE_RECV
               ? ADDRESS_IN_PLACE
               : ADDRESS_BUFFER;
}

/* Compares arrays by content; a key has NULL for those that do not matter. */
static int arrays_are_alike(const xylem_coll_args_t *kept,
                            const xylem_coll_args_t *args,
                            const xylem_team_t *team)
{
    const xyl_array_t *array = xyl_arrays(), *end = array + XYL_ARRAYS;
    int is_root = xyl_args_is_root(kept, team->rank);

    for (; array < end; array++) {
        const void *mine = xyl_array_get(array, kept);
        const void *theirs = xyl_array_get(array, args);
        size_t bytes = xyl_array_bytes(array, kept, team->size);
        if (!xyl_array_matters(array, kept, is_root) &&
            !xyl_array_matters(array, args, is_root))
            continue;
        if ((mine == NULL) != (theirs == NULL) ||
            bytes != xyl_array_bytes(array, args, team->size) ||
            (mine != NULL && memcmp(mine, theirs, bytes) != 0))
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

__attribute__((noinline)) static int
details_are_alike(const xylem_coll_args_t *kept, const xylem_coll_args_t *args,
                  const xylem_team_t *team)
{
    return (kept->tag == 0) == (args->tag == 0) && args->tag <= XYLEM_TAG_MAX &&
           kept->segment_bytes == args->segment_bytes &&
           kept->send_window == args->send_window &&
           kept->recv_window == args->recv_window &&
           kept->recv_count == args->recv_count &&
           kept->recv_type == args->recv_type &&
           names_are_alike(kept->algorithm, args->algorithm) &&
           (!xyl_coll_has_arrays(kept->coll) ||
            arrays_are_alike(kept, args, team));
}

/* Compares all arguments of a short form but the buffers, which are bound, and
 * all that xyl_arguments_check_frame checks. */
static inline int call_is_alike(const xyl_operation_t *operation,
                                const xylem_coll_args_t *args)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);
    const xyl_plan_key_t *key = &collective->key;
    const xylem_context_t *context = operation->request.context;

    return ((key->args.count ^ args->count) |
            ((uint32_t)key->args.coll ^ (uint32_t)args->coll) |
            (key->args.type ^ args->type) | (key->args.op ^ args->op) |
            (key->args.root ^ args->root)) == 0 &&
           (key->send & address_kind(args->send)) != 0 &&
           (key->recv & address_kind(args->recv)) != 0 &&
           (key->may_be_same || args->send != args->recv) &&
           (context->execs.count == 1 ||
            collective->users_exec == xyl_collective_exec(context, args));
}

/* Compares what a plan that runs inside the call depends on. Only short forms
 * run such plans; they have no further arguments but arrays. */
static inline int call_may_run_inline(const xyl_operation_t *operation,
                                      const xylem_coll_args_t *args)
{
    const xyl_plan_key_t *key = &xyl_collective_of(operation)->key;

    return call_is_alike(operation, args) &&
           (!key->says_more ||
            details_are_alike(&key->args, args, operation->request.team));
}

/* Compares all that a plan depends on. */
static inline int plan_suits(const xyl_operation_t *operation,
                             const xylem_coll_args_t *args, xyl_way_t way)
{
    const xyl_plan_key_t *key = &xyl_collective_of(operation)->key;

    return call_is_alike(operation, args) && xyl_way_is(key->way, way) &&
           ((key->args.flags ^ args->flags) & ~FLAGS_BOUND) == 0 &&
           (key->says_more
                ? details_are_alike(&key->args, args, operation->request.team)
                : !xyl_plan_args_say_more(args));
}

/* ---- places ---- */

/* `kept` is 0, or an operation's address with bits. PLACE_OWNERS: only the
 * engine's owner may read or take the operation; without this bit any thread
 * takes it by an exchange. PLACE_INLINE: the plan may run inside a call. */
typedef struct plan_place {
    _Atomic uintptr_t kept;
    _Atomic uint64_t mark; /* mark_of the plan's calls, or an older mark */
} plan_place_t;
enum { PLACE_OWNERS = 1, PLACE_INLINE = 2, PLACE_BITS = 3 };

static xyl_operation_t *plan_in(uintptr_t kept)
{
    return (xyl_operation_t *)(kept & ~(uintptr_t)PLACE_BITS);
}

static plan_place_t *plan_places_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_PLANS];
}

/* Calls that are alike have equal marks. */
static inline uint64_t mark_of(const xylem_coll_args_t *args)
{
    return args->count ^ (uint64_t)args->root << 16 ^
           (uint64_t)args->type << 32 ^ (uint64_t)args->op << 40 ^
           (uint64_t)args->coll << 48;
}

/* The first of the WAYS places for calls with the mark; those of other calls
 * may begin among them. */
static inline plan_place_t *places_for(const xylem_team_t *team, uint64_t mark)
{
    uint64_t hash = mark * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / 1.618 */

    return plan_places_of(team) + ((hash >> 32) * HOMES >> 32);
}

static inline int place_may_suit(plan_place_t *place, uint64_t mark)
{
    return atomic_load_explicit(&place->mark, memory_order_relaxed) == mark;
}

/* Puts an operation into a free place. 0: none is free. If two threads race for
 * a place, the loser's mark may stay, so that no call finds the plan. */
static int place_fill(plan_place_t *places, xyl_operation_t *operation)
{
    const xyl_plan_key_t *key = &xyl_collective_of(operation)->key;
    uintptr_t kept = (uintptr_t)operation;
    unsigned way;

    if (key->runs_inline)
        kept |= PLACE_INLINE;
    for (way = 0; way < WAYS; way++) {
        uintptr_t empty = 0;
        if (atomic_load_explicit(&places[way].kept, memory_order_relaxed) != 0)
            continue;
        atomic_store_explicit(&places[way].mark, mark_of(&key->args),
                              memory_order_relaxed);
        /* Partner: the exchange of the thread that takes it. */
        if (atomic_compare_exchange_strong_explicit(&places[way].kept, &empty,
                                                    kept, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return 1;
    }
    return 0;
}

/* Takes a plan that has PLACE_OWNERS out of a place. NULL: it does not suit
 * `args` (NULL: any suits), or another thread owns the engine. */
static xyl_operation_t *place_empty_owners(xylem_context_t *context,
                                           plan_place_t *place,
                                           const xylem_coll_args_t *args,
                                           xyl_way_t way)
{
    xyl_operation_t *operation = NULL;
    uintptr_t kept;

    if (!xyl_engine_try_own(&context->engine))
        return NULL;
    kept = atomic_load_explicit(&place->kept, memory_order_relaxed);
    if ((kept & PLACE_OWNERS) != 0 &&
        (args == NULL || plan_suits(plan_in(kept), args, way))) {
        operation = plan_in(kept);
        atomic_store_explicit(&place->kept, 0, memory_order_release);
    }
    xyl_engine_disown(&context->engine);
    xyl_driver_notify(&context->driver);
    return operation;
}

/* Takes any plan out of a place, as place_empty_owners does. Puts a plan that
 * does not suit back into one of `places`. */
static xyl_operation_t *place_empty(xylem_context_t *context,
                                    plan_place_t *places, unsigned number,
                                    const xylem_coll_args_t *args,
                                    xyl_way_t way)
{
    uintptr_t kept =
        atomic_load_explicit(&places[number].kept, memory_order_relaxed);
    xyl_operation_t *operation = plan_in(kept);

    if ((kept & PLACE_OWNERS) != 0)
        return place_empty_owners(context, &places[number], args, way);
    /* Partner: the exchange that put it there. */
    if (kept == 0 || !atomic_compare_exchange_strong_explicit(
                         &places[number].kept, &kept, 0, memory_order_acq_rel,
                         memory_order_relaxed))
        return NULL;
    if (args == NULL || plan_suits(operation, args, way))
        return operation;
    if (!place_fill(places, operation))
        xyl_request_release(&operation->request);
    return NULL;
}

/* ---- taking ---- */

/* Sets flags, callback, hang limit and tag; moves stages to the tag's board. */
static void set_end(xyl_operation_t *operation, const xylem_coll_args_t *args,
                    xyl_way_t way)
{
    operation->request.flags = args->flags;
    operation->request.on_complete = args->on_complete;
    operation->request.arg = args->arg;
    operation->looks_max = args->limit_s;
    operation->tag = args->tag;
    if (way.has_board)
        xyl_node_stages_move(
            operation, xyl_node_tag_board(operation->request.team, args->tag));
}

xyl_operation_t *xyl_plan_take(xylem_team_t *team,
                               const xylem_coll_args_t *args, xyl_way_t way)
{
    uint64_t mark = mark_of(args);
    plan_place_t *places = places_for(team, mark);
    xyl_operation_t *operation = NULL;
    unsigned i;

    if (args->on_segment != NULL)
        return NULL;
    for (i = 0; i < WAYS && operation == NULL; i++)
        if (place_may_suit(&places[i], mark))
            operation = place_empty(team->context, places, i, args, way);
    if (operation == NULL)
        return NULL;
    set_end(operation, args, way);
    xyl_collective_bind(operation, args);
    return operation;
}

xyl_operation_t *xyl_plan_claim(xylem_team_t *team,
                                const xylem_coll_args_t *args)
{
    uint64_t mark = mark_of(args);
    plan_place_t *place = places_for(team, mark), *end = place + WAYS;

    for (; place < end; place++) {
        uintptr_t kept =
            atomic_load_explicit(&place->kept, memory_order_relaxed);
        if ((kept & PLACE_INLINE) == 0 || !place_may_suit(place, mark))
            continue;
        /* Partner: the exchange that put it there. */
        if ((kept & PLACE_OWNERS) == 0 &&
            !atomic_compare_exchange_strong_explicit(
                &place->kept, &kept, kept | PLACE_OWNERS, memory_order_acq_rel,
                memory_order_relaxed))
            continue;
        if (call_may_run_inline(plan_in(kept), args))
            return plan_in(kept);
    }
    return NULL;
}

void xyl_plan_withdraw(xyl_operation_t *operation)
{
    const xylem_coll_args_t *key = &xyl_collective_of(operation)->key.args;
    plan_place_t *place = places_for(operation->request.team, mark_of(key));

    while (plan_in(atomic_load_explicit(&place->kept, memory_order_relaxed)) !=
           operation)
        place++;
    atomic_store_explicit(&place->kept, 0, memory_order_release);
    set_end(operation, &(xylem_coll_args_t){.flags = 0}, (xyl_way_t){0});
}

/* ---- keeping ---- */

/* A copy that lives as long as the operation; NULL: no memory. */
static void *plan_copy(xyl_operation_t *operation, const void *from,
                       size_t bytes)
{
    void *copy = xyl_arena_alloc(&operation->request.arena, bytes);

    return copy == NULL ? NULL : memcpy(copy, from, bytes);
}

/* The kinds of address that other calls of the plan may have: the same if this
 * call needs the buffer or is in place, else NULL or a buffer. */
static uint8_t addresses_like(const void *address, int is_needed)
{
    uint8_t kind = address_kind(address);

    if (kind == ADDRESS_IN_PLACE || (is_needed && kind == ADDRESS_BUFFER))
        return kind;
    return ADDRESS_NULL | ADDRESS_BUFFER;
}

static void key_set(xyl_plan_key_t *key, const xylem_team_t *team,
                    const xylem_coll_args_t *args, xyl_way_t way)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    int is_root = xyl_args_is_root(args, team->rank),
        varies = xyl_coll_varies(args->coll);
    int sends = xyl_args_sends(args, is_root);
    int receives = xyl_args_receives(args, is_root);
    int is_full = args->count != 0 || varies;

    key->args = *args;
    key->way = way;
    if (xyl_coll_has_arrays(args->coll))
        xyl_arrays_leave_out(&key->args, is_root);
    key->says_more =
        xyl_plan_args_say_more(args) || xyl_coll_has_arrays(args->coll);
    key->send = addresses_like(args->send, sends && is_full);
    key->recv = addresses_like(args->recv, receives && is_full);
    key->may_be_same = !sends || !receives || args->count == 0 ||
                       traits->send_varies || traits->recv_varies;
}

/* Copies the arrays and the name that the key borrows. 0: no memory. */
static int key_keep(xyl_operation_t *operation, xylem_coll_args_t *args)
{
    const xyl_array_t *array = xyl_arrays();
    const xyl_array_t *end =
        xyl_coll_has_arrays(args->coll) ? array + XYL_ARRAYS : array;
    const char *name = args->algorithm;

    for (; array < end; array++) {
        const void *elements = xyl_array_get(array, args);
        if (elements == NULL)
            continue;
        elements = plan_copy(
            operation, elements,
            xyl_array_bytes(array, args, operation->request.team->size));
        if (elements == NULL)
            return 0;
        xyl_array_set(array, args, elements);
    }
    if (name != NULL)
        args->algorithm = plan_copy(operation, name, strlen(name) + 1);
    return (name == NULL) == (args->algorithm == NULL);
}

/* 1: the operation is short, and has one stage that runs one piece of a node
 * program. It has no sequence numbers, as it exchanges no messages. */
static int runs_inline(const xyl_operation_t *operation)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);
    const xylem_context_t *context = operation->request.context;
    uint64_t most = xyl_limits_of(context)->inside_call;
    const xylem_coll_args_t *args = &collective->key.args;

    return xyl_plan_args_untagged_more(args) == 0 &&
           (args->flags & ~FLAGS_BOUND) == 0 &&
           collective->key.way.memory == XYL_MEMORY_HOST &&
           operation->stages == 1 && operation->sequences == 0 &&
           operation->bytes <= most && collective->written <= most &&
           (!xyl_observer_records(context->observer) ||
            xyl_observer_measures(context->observer)) &&
           xyl_node_stage_is_brief(operation->stage[0]);
}

/* 1: the call names types of the user's, whose handles later types may get. */
static int types_may_go(const xyl_operation_t *operation,
                        const xylem_coll_args_t *args)
{
    const xyl_sides_t *sides = &xyl_collective_of(operation)->sides;

    if (xyl_coll_traits(args->coll)->has_own_types)
        return sides->send != NULL || sides->recv != NULL;
    return xyl_sides_are_needed(args);
}

void xyl_plan_describe(xyl_operation_t *operation,
                       const xylem_coll_args_t *args, xyl_way_t way)
{
    const xyl_mirror_t *mirrors = xyl_collective_of(operation)->mirrors;
    xyl_plan_key_t *key = &xyl_collective_of(operation)->key;

    key_set(key, operation->request.team, args, way);
    operation->record.name = xyl_coll_traits(args->coll)->name;
    /* A stand-in (detach.h) is planned from the key, which must last. */
    if (xyl_sides_are_needed(args) ||
        (operation->detach.hold.detaches && !key_keep(operation, &key->args)))
        operation->detach.hold.detaches = 0;
    if ((args->flags & XYLEM_FLAG_PARTS) != 0 || args->on_segment != NULL ||
        args->op >= XYL_USER_OP_BASE || types_may_go(operation, args) ||
        mirrors[0].bytes + mirrors[1].bytes + mirrors[2].bytes >
            KEPT_MIRRORS_MAX ||
        xyl_arena_bytes(&operation->request.arena) > KEPT_BYTES_MAX)
        return;
    key->runs_inline = (uint8_t)runs_inline(operation);
    if (operation->detach.hold.detaches || key_keep(operation, &key->args))
        operation->maker.keep = xyl_plan_keep;
}

int xyl_plan_keep(xyl_operation_t *operation)
{
    xylem_team_t *team = operation->request.team;
    plan_place_t *places =
        places_for(team, mark_of(&xyl_collective_of(operation)->key.args));
    xyl_operation_t *evicted = NULL;
    unsigned way;

    if (operation->maker.keep == NULL || operation->failure != XYLEM_OK ||
        atomic_load_explicit(&operation->request.rest, memory_order_acquire) !=
            XYL_REST_NONE)
        return 0;
    if (place_fill(places, operation))
        return 1;
    /* Evicts from the last place that can be emptied: lookups end there. */
    for (way = WAYS; way-- > 0 && evicted == NULL;)
        evicted = place_empty(team->context, places, way, NULL, (xyl_way_t){0});
    if (evicted == NULL)
        return 0;
    xyl_request_release(&evicted->request);
    return place_fill(places, operation);
}

static void plans_end(xylem_team_t *team)
{
    plan_place_t *places = plan_places_of(team);
    unsigned i;

    for (i = 0; i < PLACES; i++) {
        uintptr_t kept =
            atomic_exchange_explicit(&places[i].kept, 0, memory_order_acq_rel);
        if (kept != 0)
            xyl_request_release(&plan_in(kept)->request);
    }
}

const xyl_module_t xyl_plan_cache_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_plans_context_t),
              [XYL_OWNER_TEAM] = PLACES * sizeof(plan_place_t)},
    .team_ends = plans_end,
};
