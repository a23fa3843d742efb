/* The two designs that event-driven collectives replace, on the same network,
 * trees, segments and kernels as the library's own:
 *
 * blocking  one transfer at a time, child by child
 *           (Luo, PhD thesis, University of Tennessee, 2020, algorithm 1)
 * waitall   all transfers of a segment at once, then a wait for all of them
 *           (the same, algorithm 2)
 *
 * For comparison only; nothing in the library uses this. One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/impl_event.h"
#include "collectives/op.h"
#include "collectives/select.h"
#include "runtime/team.h"

/* One transfer that somebody waits for. */
typedef struct transfer {
    xyl_event_t event;
    int is_done;
} transfer_t;

/* One collective of one rank. A segment's transfers with its children lie in
 * children[segment % 2], so that the next segment's can be posted. */
typedef struct run {
    xylem_context_t *context;
    xylem_team_t *team;
    xyl_plan_t plan;
    xyl_arena_t arena;
    xyl_neighbours_t tree;
    uint32_t sequence;
    size_t bytes;
    uint64_t segments;
    transfer_t parent[2];
    transfer_t *children[2];
} run_t;

static void transfer_done(xyl_event_t *event)
{
    ((transfer_t *)(void *)event)->is_done = 1;
}

static int is_done(void *arg)
{
    return ((const transfer_t *)arg)->is_done;
}

static void await(run_t *run, transfer_t *transfer)
{
    if (transfer->event.handle != NULL)
        xyl_driver_wait(&run->context->driver, is_done, transfer, UINT64_MAX);
}

static size_t length_of(const run_t *run, uint64_t segment)
{
    size_t left = run->bytes - (size_t)segment * run->plan.segment_bytes;

    return left < run->plan.segment_bytes ? left : run->plan.segment_bytes;
}

static size_t offset_of(const run_t *run, uint64_t segment)
{
    return (size_t)segment * run->plan.segment_bytes;
}

static void own_engine(run_t *run)
{
    while (!xyl_engine_try_own(&run->context->engine))
        continue; /* one thread: taken at once */
}

static void start_send(run_t *run, uint32_t peer, uint64_t segment,
                       const void *buf, transfer_t *transfer)
{
    xyl_net_t *net = run->context->net;

    *transfer = (transfer_t){.event.handle = transfer_done};
    own_engine(run);
    net->ops->send(
        net, xyl_team_world_rank(run->team, peer),
        xyl_team_tag(run->team, run->team->rank, peer, run->sequence, segment),
        buf, length_of(run, segment), &transfer->event);
    xyl_engine_disown(&run->context->engine);
}

static void start_recv(run_t *run, uint32_t peer, uint64_t segment, void *buf,
                       transfer_t *transfer)
{
    xyl_net_t *net = run->context->net;

    *transfer = (transfer_t){.event.handle = transfer_done};
    own_engine(run);
    net->ops->recv(
        net,
        xyl_team_tag(run->team, peer, run->team->rank, run->sequence, segment),
        buf, length_of(run, segment), &transfer->event);
    xyl_engine_disown(&run->context->engine);
}

static void await_children(run_t *run, uint64_t segment)
{
    uint32_t i;

    for (i = 0; i < run->tree.child_count; i++)
        await(run, &run->children[segment % 2][i]);
}

/* ---- broadcast ---- */

static void bcast_blocking(run_t *run, char *buf)
{
    uint64_t segment;
    uint32_t i;

    for (segment = 0; segment < run->segments; segment++) {
        char *at = buf + offset_of(run, segment);
        if (run->tree.parent != XYL_TREE_NONE) {
            start_recv(run, run->tree.parent, segment, at, &run->parent[0]);
            await(run, &run->parent[0]);
        }
        for (i = 0; i < run->tree.child_count; i++) {
            transfer_t *transfer = &run->children[0][i];
            start_send(run, run->tree.children[i], segment, at, transfer);
            await(run, transfer);
        }
    }
}

static void bcast_waitall(run_t *run, char *buf)
{
    int has_parent = run->tree.parent != XYL_TREE_NONE;
    uint64_t segment;
    uint32_t i;

    if (has_parent)
        start_recv(run, run->tree.parent, 0, buf, &run->parent[0]);
    for (segment = 0; segment < run->segments; segment++) {
        char *at = buf + offset_of(run, segment);
        if (has_parent && segment + 1 < run->segments)
            start_recv(run, run->tree.parent, segment + 1,
                       buf + offset_of(run, segment + 1),
                       &run->parent[(segment + 1) % 2]);
        if (has_parent)
            await(run, &run->parent[segment % 2]);
        for (i = 0; i < run->tree.child_count; i++)
            start_send(run, run->tree.children[i], segment, at,
                       &run->children[0][i]);
        await_children(run, 0);
    }
}

/* ---- reduce ---- */

/* Buffers of the children's contributions: [segment % 2][child]. */
static char *temp_of(const run_t *run, char *temp, uint64_t segment,
                     uint32_t child)
{
    return temp + ((segment % 2) * run->tree.child_count + child) *
                      run->plan.segment_bytes;
}

static void recv_children(run_t *run, uint64_t segment, char *temp)
{
    uint32_t i;

    for (i = 0; i < run->tree.child_count; i++)
        start_recv(run, run->tree.children[i], segment,
                   temp_of(run, temp, segment, i),
                   &run->children[segment % 2][i]);
}

/* The first child's buffer, or the result at the root, accumulates. Returns
 * what is to be sent. */
static const char *combine(run_t *run, uint64_t segment, const char *own,
                           char *result, char *temp)
{
    xyl_kernel_fn sum =
        xyl_kernel_find(XYLEM_SUM, XYLEM_FLOAT32, xyl_isa_best());
    size_t count = length_of(run, segment) / sizeof(float);
    const char *left = own + offset_of(run, segment);
    char *into = result != NULL ? result + offset_of(run, segment)
                                : temp_of(run, temp, segment, 0);
    uint32_t i;

    if (run->tree.child_count == 0 && result != NULL)
        memcpy(into, left, length_of(run, segment));
    for (i = 0; i < run->tree.child_count; i++) {
        sum(into, left, temp_of(run, temp, segment, i), count);
        left = into;
    }
    return left;
}

static void reduce_blocking(run_t *run, const char *own, char *result,
                            char *temp)
{
    uint64_t segment;
    uint32_t i;

    for (segment = 0; segment < run->segments; segment++) {
        const char *sum;
        for (i = 0; i < run->tree.child_count; i++) {
            transfer_t *transfer = &run->children[segment % 2][i];
            start_recv(run, run->tree.children[i], segment,
                       temp_of(run, temp, segment, i), transfer);
            await(run, transfer);
        }
        sum = combine(run, segment, own, result, temp);
        if (run->tree.parent == XYL_TREE_NONE)
            continue;
        start_send(run, run->tree.parent, segment, sum, &run->parent[0]);
        await(run, &run->parent[0]);
    }
}

static void reduce_waitall(run_t *run, const char *own, char *result,
                           char *temp)
{
    uint64_t segment;

    recv_children(run, 0, temp);
    for (segment = 0; segment < run->segments; segment++) {
        const char *sum;
        /* The buffers of segment + 1 are still being sent as segment - 1. */
        await(run, &run->parent[(segment + 1) % 2]);
        if (segment + 1 < run->segments)
            recv_children(run, segment + 1, temp);
        await_children(run, segment);
        sum = combine(run, segment, own, result, temp);
        if (run->tree.parent != XYL_TREE_NONE)
            start_send(run, run->tree.parent, segment, sum,
                       &run->parent[segment % 2]);
    }
    await(run, &run->parent[0]);
    await(run, &run->parent[1]);
}

/* ---- frame ---- */

static xylem_status_t run_open(run_t *run, const struct event_state *state,
                               xylem_coll_args_t *args)
{
    xyl_tree_key_t key;
    xylem_status_t status;
    uint32_t i;

    args->struct_bytes = sizeof *args;
    args->segment_bytes = state->tuning.segment_bytes;
    args->tree = state->tuning.tree;
    args->radix = state->tuning.radix;
    *run = (run_t){.context = state->context, .team = state->world};
    run->bytes = args->count * xylem_type_bytes(args->type);
    xyl_select(run->team, args, 1, &run->plan);
    run->plan.segment_bytes &= ~(size_t)3;
    if (run->plan.segment_bytes > run->bytes)
        run->plan.segment_bytes = (run->bytes + 3) & ~(size_t)3;
    run->segments =
        run->bytes == 0 ? 0 : (run->bytes - 1) / run->plan.segment_bytes + 1;
    run->sequence = atomic_fetch_add(&run->team->sequence, 1);
    /* These designs know one tree: of two, they take the first. */
    key = (xyl_tree_key_t){{run->plan.tree, run->plan.radix}, 0, args->root};
    xyl_arena_init(&run->arena, &run->context->pool);
    status = xyl_team_neighbours(run->team, &key, &run->arena, &run->tree);
    for (i = 0; i < 2 && status == XYLEM_OK; i++) {
        run->children[i] = xyl_arena_array(&run->arena, run->tree.child_count,
                                           sizeof *run->children[i]);
        if (run->children[i] == NULL)
            status = XYLEM_ERR_NO_MEMORY;
    }
    if (status != XYLEM_OK)
        fprintf(stderr, "%s\n", xylem_status_text(status));
    return status;
}

static xylem_status_t bcast(void *arg, void *buf, size_t bytes, uint32_t root,
                            void (*algorithm)(run_t *run, char *buf))
{
    xylem_coll_args_t args = {.coll = XYLEM_COLL_BCAST,
                              .count = bytes,
                              .type = XYLEM_BYTE,
                              .root = root};
    run_t run;
    xylem_status_t status = run_open(&run, arg, &args);

    if (status == XYLEM_OK && run.segments != 0)
        algorithm(&run, buf);
    xyl_arena_fini(&run.arena);
    return status;
}

static xylem_status_t
reduce(void *arg, const void *send, void *recv, size_t bytes, uint32_t root,
       void (*algorithm)(run_t *run, const char *own, char *result, char *temp))
{
    xylem_coll_args_t args = {.coll = XYLEM_COLL_REDUCE,
                              .count = bytes / sizeof(float),
                              .type = XYLEM_FLOAT32,
                              .root = root};
    run_t run;
    char *temp = NULL;
    xylem_status_t status = run_open(&run, arg, &args);

    if (status == XYLEM_OK) {
        temp = xyl_arena_alloc(&run.arena, 2 * (size_t)run.tree.child_count *
                                               run.plan.segment_bytes);
        if (temp == NULL)
            status = XYLEM_ERR_NO_MEMORY;
    }
    if (status == XYLEM_OK && run.segments != 0)
        algorithm(&run, send, run.team->rank == root ? recv : NULL, temp);
    xyl_arena_fini(&run.arena);
    return status;
}

/* ---- the tables ---- */

static xylem_status_t blocking_bcast(void *state, void *buf, size_t bytes,
                                     uint32_t root)
{
    return bcast(state, buf, bytes, root, bcast_blocking);
}

static xylem_status_t blocking_reduce(void *state, const void *send, void *recv,
                                      size_t bytes, uint32_t root)
{
    return reduce(state, send, recv, bytes, root, reduce_blocking);
}

static xylem_status_t waitall_bcast(void *state, void *buf, size_t bytes,
                                    uint32_t root)
{
    return bcast(state, buf, bytes, root, bcast_waitall);
}

static xylem_status_t waitall_reduce(void *state, const void *send, void *recv,
                                     size_t bytes, uint32_t root)
{
    return reduce(state, send, recv, bytes, root, reduce_waitall);
}

/* As the library's own, but transfers are posted by the calling thread. */
static xylem_status_t rival_open(const struct bench_tuning *tuning,
                                 void **state_out)
{
    xylem_status_t status = impl_event()->open(tuning, state_out);
    struct event_state *state = status == XYLEM_OK ? *state_out : NULL;

    if (state == NULL ||
        state->context->driver.params.mode != XYL_DRIVER_THREAD)
        return status;
    fprintf(stderr, "waitall and blocking cannot use a progress thread\n");
    impl_event()->close(state);
    return XYLEM_ERR_UNSUPPORTED;
}

static struct bench_impl rival(const char *name)
{
    struct bench_impl impl = *impl_event();

    impl.name = name;
    impl.open = rival_open;
    return impl;
}

const struct bench_impl *rival_waitall(void)
{
    static struct bench_impl impl;

    impl = rival("waitall");
    impl.bcast = waitall_bcast;
    impl.reduce = waitall_reduce;
    return &impl;
}

const struct bench_impl *rival_blocking(void)
{
    static struct bench_impl impl;

    impl = rival("blocking");
    impl.bcast = blocking_bcast;
    impl.reduce = blocking_reduce;
    return &impl;
}
