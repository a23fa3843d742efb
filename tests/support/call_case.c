#include "tests/support/call_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/description.h"
#include "simulator/random.h"
#include "tests/support/call_neighbors.h"

enum { UNTOUCHED = 0xee, GAP_MAX = 2 };

/* ---- what the collectives are ---- */

static const xyl_coll_traits_t *traits_of(const call_case_t *c)
{
    return xyl_coll_traits(c->coll);
}

/* 1: blocks have counts of their own. */
static int varies(const call_case_t *c)
{
    return traits_of(c)->send_varies || traits_of(c)->recv_varies;
}

static int is_alltoall(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->send_blocks &&
           xyl_coll_traits(coll)->recv_blocks;
}

static int is_scatter(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->sends == XYL_SIDE_ROOT;
}

static int is_reduce_scatter(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->reduces && xyl_coll_traits(coll)->send_blocks;
}

static int is_root(const call_rank_t *call)
{
    return call->rank == call->c->root;
}

/* 1: the call is in place on this rank; if there is a root, only on the root.
 */
static int is_in_place(const call_rank_t *call)
{
    return call->c->in_place &&
           (!traits_of(call->c)->has_root || is_root(call));
}

/* 1: the content of the send buffer matters. */
static int has_send(const call_rank_t *call)
{
    if (traits_of(call->c)->has_neighbors)
        return call->args.destination_count != 0;
    return !is_scatter(call->c->coll) || is_root(call);
}

static int has_recv(const call_rank_t *call)
{
    if (traits_of(call->c)->has_neighbors)
        return call->args.source_count != 0;
    return traits_of(call->c)->receives != XYL_SIDE_ROOT || is_root(call);
}

/* ---- drawing ---- */

call_case_t call_case_random(uint64_t *random, xylem_coll_t coll,
                             uint32_t ranks)
{
    static const uint32_t most[] = {1, 3, 40, 400, 3000};
    call_case_t c = {.coll = coll, .ranks = ranks, .salt = random_next(random)};

    c.root = xyl_coll_traits(coll)->has_root ? random_below(random, ranks) : 0;
    if (random_below(random, 2) == 0)
        c.types = (call_types_t)random_between(random, CALL_TYPES_ONE,
                                               CALL_TYPES_TWO);
    c.count = random_below(random, most[random_below(random, 5)] + 1);
    if (coll == XYLEM_COLL_BARRIER)
        c.count = 0;
    if (c.types != CALL_TYPES_PLAIN)
        c.count = (c.count + CALL_QUANTUM - 1) / CALL_QUANTUM;
    c.in_place = xyl_coll_traits(coll)->takes_in_place != XYL_SIDE_NOBODY &&
                 random_below(random, 3) == 0;
    c.is_ordered =
        xyl_coll_traits(coll)->reduces && random_below(random, 2) == 0;
    if (random_below(random, 2) == 0)
        c.segment_bytes = 8 * (size_t)(1 + random_below(random, 300));
    return c;
}

void call_case_text(const call_case_t *c, char *text, size_t bytes)
{
    static const char *const types[] = {"", ", types", ", two types"};

    snprintf(text, bytes,
             "%s%s%s on %" PRIu32 " ranks, root %" PRIu32 ", count %" PRIu64
             "%s%s, segments of %zu, algorithm %s",
             c->is_ordered ? "ordered " : "", c->in_place ? "in-place " : "",
             xylem_coll_name(c->coll), c->ranks, c->root, c->count,
             varies(c) ? " at most" : "", types[c->types], c->segment_bytes,
             c->algorithm[0] == '\0' ? "any" : c->algorithm);
}

/* ---- data ---- */

/* Elements that `from` has for `to`; the same both ways for alltoall, so that
 * it can be done in place. */
static uint64_t block_count(const call_case_t *c, uint32_t from, uint32_t to)
{
    uint64_t quantum = c->types == CALL_TYPES_PLAIN ? 1 : CALL_QUANTUM, key;

    if (!varies(c))
        return c->count * quantum;
    if (c->coll == XYLEM_COLL_GATHERV || c->coll == XYLEM_COLL_ALLGATHERV)
        key = from;
    else if (is_alltoall(c->coll))
        key = from < to ? (uint64_t)from << 20 | to : (uint64_t)to << 20 | from;
    else
        key = to;
    return random_mix(c->salt ^ key << 7) % (c->count + 1) * quantum;
}

/* The operation's element: a number, or a map {a, b} with odd a. */
static uint64_t element(const call_case_t *c, uint32_t from, uint32_t block,
                        uint64_t index)
{
    uint64_t bits = random_mix(c->salt ^ (uint64_t)from << 48 ^
                               (uint64_t)block << 32 ^ index);

    return c->is_ordered ? bits | 1 : bits;
}

typedef struct map {
    uint32_t a, b;
} map_t;

/* Elements of the operations have the type `arg`, a call_type_t. */
static void compose(void *result, const void *left, const void *right,
                    size_t count, void *arg)
{
    size_t i, all = count * ((const call_type_t *)arg)->unit;
    map_t l, r, both;

    for (i = 0; i < all; i++) {
        memcpy(&l, (const char *)left + i * sizeof l, sizeof l);
        memcpy(&r, (const char *)right + i * sizeof r, sizeof r);
        both = (map_t){l.a * r.a, l.b * r.a + r.b};
        memcpy((char *)result + i * sizeof both, &both, sizeof both);
    }
}

static void add(void *result, const void *left, const void *right, size_t count,
                void *arg)
{
    size_t i, all = count * ((const call_type_t *)arg)->unit;
    uint64_t l, r;

    for (i = 0; i < all; i++) {
        memcpy(&l, (const char *)left + i * sizeof l, sizeof l);
        memcpy(&r, (const char *)right + i * sizeof r, sizeof r);
        l += r;
        memcpy((char *)result + i * sizeof l, &l, sizeof l);
    }
}

static uint64_t combined(const call_case_t *c, uint32_t ranks, uint32_t block,
                         uint64_t index)
{
    call_type_t one = {.unit = 1};
    uint64_t sum = element(c, 0, block, index), next;
    uint32_t rank;

    for (rank = 1; rank < ranks; rank++) {
        next = element(c, rank, block, index);
        (c->is_ordered ? compose : add)(&sum, &sum, &next, 1, &one);
    }
    return sum;
}

/* ---- neighbours ---- */

static void make_neighbors(call_rank_t *call)
{
    size_t most = call_neighbors_most(call->c->ranks);
    uint32_t *destinations = call_must(calloc(most, sizeof *destinations));
    uint32_t *sources = call_must(calloc(most, sizeof *sources));

    call->args.destinations = destinations;
    call->args.destination_count = call_neighbors(call->c->salt, call->c->ranks,
                                                  call->rank, 0, destinations);
    call->args.sources = sources;
    call->args.source_count =
        call_neighbors(call->c->salt, call->c->ranks, call->rank, 1, sources);
}

/* The rank of block `i` of a result of blocks. */
static uint32_t source_of(const call_rank_t *call, uint32_t i)
{
    if (!traits_of(call->c)->has_neighbors)
        return i;
    return i < call->args.source_count ? call->args.sources[i] : UINT32_MAX;
}

/* The blocks of the result; 1 if it has none. */
static uint32_t result_blocks(const call_rank_t *call)
{
    if (!traits_of(call->c)->has_neighbors)
        return call->c->ranks;
    return call->args.source_count != 0 ? call->args.source_count : 1;
}

/* ---- types and layout ---- */

/* Something of this rank, or of all ranks alike. */
static uint32_t draw(const call_rank_t *call, int is_own, uint32_t what,
                     uint32_t limit)
{
    uint64_t own = is_own ? (uint64_t)call->rank << 40 : 0;

    return (uint32_t)(random_mix(call->c->salt ^ own ^ (uint64_t)what << 8) %
                      limit);
}

/* Ranks describe the same bytes each in its own way. */
static int has_own_types(const call_case_t *c)
{
    return c->types == CALL_TYPES_TWO && !traits_of(c)->reduces;
}

static int has_two_types(const call_case_t *c)
{
    return has_own_types(c) && c->coll != XYLEM_COLL_BCAST;
}

static void make_types(call_rank_t *call)
{
    const call_case_t *c = call->c;
    xylem_type_t plain =
        c->is_ordered ? XYLEM_TYPE_BLOCK(CALL_ELEMENT) : XYLEM_UINT64;
    uint32_t i, kind = 0;

    for (i = 0; i < CALL_POOL; i++) {
        if (c->types != CALL_TYPES_PLAIN && traits_of(c)->reduces)
            kind = 1;
        else if (c->types != CALL_TYPES_PLAIN)
            kind = draw(call, has_own_types(c), has_two_types(c) ? i : 0,
                        CALL_KINDS);
        call_type_make(call->context, kind, plain, &call->pool[i]);
    }
}

static const call_type_t *type_of(const call_rank_t *call, int is_send,
                                  uint32_t i)
{
    if (call->c->coll == XYLEM_COLL_ALLTOALLW)
        return &call->pool[draw(call, 1, 100 + 2 * i + (uint32_t)is_send,
                                CALL_POOL)];
    return &call->pool[has_two_types(call->c) && !is_send];
}

/* Lays out blocks of one type: one behind the other, with gaps if they vary. */
static void lay_out(const call_rank_t *call, call_side_t *side)
{
    const call_case_t *c = call->c;
    uint64_t at = 0;
    uint32_t i;

    for (i = 0; i < side->blocks; i++) {
        side->displs[i] = at;
        side->bases[i] = (int64_t)at * side->types[i]->extent;
        at += side->counts[i];
        if (varies(c) && !is_reduce_scatter(c->coll))
            at += random_mix(c->salt + i) % (GAP_MAX + 1);
    }
}

/* Blocks of different types; displacements are bytes, and not negative. */
static void lay_out_typed(call_side_t *side)
{
    int64_t at = 0, span;
    uint32_t i;

    for (i = 0; i < side->blocks; i++) {
        const call_type_t *type = side->types[i];
        if (side->counts[i] == 0)
            continue;
        span = (int64_t)(side->counts[i] - 1) * type->extent;
        side->bases[i] = at - type->low - (span < 0 ? span : 0);
        if (side->bases[i] < 0)
            side->bases[i] = 0;
        side->displs[i] = (uint64_t)side->bases[i];
        at = side->bases[i] + type->high + (span > 0 ? span : 0);
    }
}

static void side_make(call_rank_t *call, call_side_t *side, int is_send,
                      int is_blocks)
{
    const call_case_t *c = call->c;
    uint32_t i;

    call_side_init(side, !is_blocks ? 1
                         : is_send  ? c->ranks
                                    : result_blocks(call));
    for (i = 0; i < side->blocks; i++) {
        side->types[i] = type_of(call, is_send, i);
        side->handles[i] = side->types[i]->handle;
        if (is_blocks)
            side->elements[i] = is_send ? block_count(c, call->rank, i)
                                        : block_count(c, i, call->rank);
        else
            side->elements[i] = is_send ? block_count(c, call->rank, 0)
                                        : block_count(c, c->root, call->rank);
        side->counts[i] = side->elements[i] / side->types[i]->unit;
    }
    if (c->coll == XYLEM_COLL_ALLTOALLW)
        lay_out_typed(side);
    else
        lay_out(call, side);
    call_side_allocate(side);
}

static void make_sides(call_rank_t *call)
{
    const call_case_t *c = call->c;

    side_make(call, &call->send, 1, traits_of(c)->send_blocks);
    /* If in place, the input lies in the receive buffer. */
    if (is_reduce_scatter(c->coll) && is_in_place(call))
        side_make(call, &call->recv, 1, 1);
    else
        side_make(call, &call->recv, 0, traits_of(c)->recv_blocks);
    call->expected = call_must(malloc(call->recv.bytes));
    call->sent = call_must(malloc(call->send.bytes));
}

/* ---- contents ---- */

static void fill_block(const call_rank_t *call, const call_side_t *side,
                       unsigned char *memory, uint32_t block, uint32_t from,
                       uint32_t number)
{
    uint64_t i;

    for (i = 0; i < side->elements[block]; i++)
        call_side_put(side, memory, block, i,
                      element(call->c, from, number, i));
}

/* Writes this rank's contribution. */
static void fill_own(const call_rank_t *call, const call_side_t *side)
{
    uint32_t i;

    for (i = 0; i < side->blocks; i++)
        fill_block(call, side, side->memory, i, call->rank, i);
}

static void fill_in_place(call_rank_t *call)
{
    const call_case_t *c = call->c;

    if (traits_of(c)->recv_blocks && !is_alltoall(c->coll))
        fill_block(call, &call->recv, call->recv.memory, call->rank, call->rank,
                   0);
    else if (!is_scatter(c->coll))
        fill_own(call, &call->recv);
}

static void expect_sums(call_rank_t *call, uint32_t ranks, uint32_t block)
{
    uint64_t i, count = block_count(call->c, 0, block);

    for (i = 0; i < count; i++)
        call_side_put(&call->recv, call->expected, 0, i,
                      combined(call->c, ranks, block, i));
    if (is_reduce_scatter(call->c->coll))
        call->checked_bytes = (size_t)count * CALL_ELEMENT;
}

static void expect(call_rank_t *call)
{
    const call_case_t *c = call->c;
    uint32_t i, rank = call->rank;

    memcpy(call->expected, call->recv.memory, call->recv.bytes);
    call->checked_bytes = call->recv.bytes;
    if (!has_recv(call))
        return;
    if (c->coll == XYLEM_COLL_BCAST)
        fill_block(call, &call->recv, call->expected, 0, c->root, 0);
    else if (c->coll == XYLEM_COLL_REDUCE || c->coll == XYLEM_COLL_ALLREDUCE)
        expect_sums(call, c->ranks, 0);
    else if (c->coll == XYLEM_COLL_SCAN)
        expect_sums(call, rank + 1, 0);
    else if (c->coll == XYLEM_COLL_EXSCAN && rank > 0)
        expect_sums(call, rank, 0);
    else if (is_reduce_scatter(c->coll))
        expect_sums(call, c->ranks, rank);
    else if (is_scatter(c->coll) && !is_in_place(call))
        fill_block(call, &call->recv, call->expected, 0, c->root, rank);
    else if (traits_of(c)->recv_blocks)
        for (i = 0; i < call->recv.blocks; i++)
            if (source_of(call, i) != UINT32_MAX)
                fill_block(call, &call->recv, call->expected, i,
                           source_of(call, i),
                           traits_of(c)->send_blocks ? rank : 0);
}

void call_rank_fill(call_rank_t *call)
{
    memset(call->send.memory, UNTOUCHED, call->send.bytes);
    memset(call->recv.memory, UNTOUCHED, call->recv.bytes);
    fill_own(call, &call->send);
    if (is_in_place(call))
        fill_in_place(call);
    else if (call->c->coll == XYLEM_COLL_BCAST && is_root(call))
        fill_own(call, &call->recv);
    memcpy(call->sent, call->send.memory, call->send.bytes);
    call_side_bring(&call->send);
    call_side_bring(&call->recv);
    expect(call);
}

/* ---- arguments ---- */

static void set_counts(call_rank_t *call)
{
    const call_case_t *c = call->c;
    xylem_coll_args_t *args = &call->args;

    if (c->coll == XYLEM_COLL_REDUCE_SCATTER) {
        args->recv_counts = call->send.counts;
        return;
    }
    if (traits_of(c)->send_blocks && has_send(call) && !is_in_place(call)) {
        args->send_counts = call->send.counts;
        args->send_displs = call->send.displs;
        args->send_types = call->send.handles;
    }
    if (is_scatter(c->coll) && is_in_place(call)) {
        args->send_counts = call->send.counts;
        args->send_displs = call->send.displs;
    }
    if (traits_of(c)->recv_blocks && has_recv(call)) {
        args->recv_counts = call->recv.counts;
        args->recv_displs = call->recv.displs;
        args->recv_types = call->recv.handles;
    }
    if (c->coll != XYLEM_COLL_ALLTOALLW)
        args->send_types = args->recv_types = NULL;
}

/* Types and counts of a message's two sides. */
static void set_types(call_rank_t *call)
{
    const call_case_t *c = call->c;
    const call_side_t *described = &call->send;
    xylem_coll_args_t *args = &call->args;

    if (c->coll == XYLEM_COLL_ALLTOALLW)
        return;
    /* A rank that only receives may describe that side as the only one. */
    if (c->coll == XYLEM_COLL_BCAST ||
        (!has_send(call) && draw(call, 1, 300, 2) == 0))
        described = &call->recv;
    args->type = described->types[0]->handle;
    args->count = described->counts[0];
    if (c->coll == XYLEM_COLL_SCATTERV && described == &call->send)
        args->count = call->recv.elements[0] / call->send.types[0]->unit;
    if (!has_two_types(c) || described == &call->recv || !has_recv(call))
        return;
    args->recv_type = call->recv.types[0]->handle;
    args->recv_count = varies(c) ? 1 : call->recv.counts[0];
}

static void set_buffers(call_rank_t *call)
{
    const call_case_t *c = call->c;
    xylem_coll_args_t *args = &call->args;
    int hides = draw(call, 1, 301, 2) == 0;

    args->send = call->send.there + call->send.origin;
    args->recv = call->recv.there + call->recv.origin;
    /* Arguments that do not matter may have any value. */
    if (!has_send(call) && hides)
        args->send = NULL;
    if (!has_recv(call) && hides)
        args->recv = NULL;
    if (c->coll == XYLEM_COLL_BCAST || c->coll == XYLEM_COLL_BARRIER)
        args->send = NULL;
    if (is_in_place(call) && is_scatter(c->coll))
        args->recv = XYLEM_IN_PLACE_RECV;
    else if (is_in_place(call))
        args->send = XYLEM_IN_PLACE;
}

static void set_args(call_rank_t *call)
{
    const call_case_t *c = call->c;

    call->args.struct_bytes = sizeof call->args;
    call->args.coll = c->coll;
    call->args.op = call->op;
    call->args.root = c->root;
    call->args.algorithm = c->algorithm[0] == '\0' ? NULL : c->algorithm;
    call->args.segment_bytes = c->segment_bytes;
    set_types(call);
    set_buffers(call);
    if (varies(c))
        set_counts(call);
}

static int has_user_op(const call_case_t *c)
{
    return traits_of(c)->reduces &&
           (c->is_ordered || c->types != CALL_TYPES_PLAIN);
}

void call_rank_init(call_rank_t *call, const call_case_t *c, uint32_t rank,
                    xylem_context_t *context)
{
    *call = (call_rank_t){.c = c, .rank = rank, .context = context};
    make_types(call);
    call->op = XYLEM_SUM;
    if (has_user_op(c) &&
        xylem_op_create(context, c->is_ordered ? compose : add, &call->pool[0],
                        c->is_ordered ? 0 : XYLEM_OP_COMMUTATIVE,
                        &call->op) != XYLEM_OK)
        abort();
    if (traits_of(c)->has_neighbors)
        make_neighbors(call);
    make_sides(call);
    call_rank_fill(call);
    set_args(call);
}

void call_rank_drop_types(call_rank_t *call)
{
    uint32_t i;

    for (i = 0; i < CALL_POOL; i++)
        call_type_drop(call->context, &call->pool[i]);
}

void call_rank_fini(call_rank_t *call)
{
    call_rank_drop_types(call);
    if (has_user_op(call->c) &&
        xylem_op_destroy(call->context, call->op) != XYLEM_OK)
        abort();
    call_side_fini(&call->send);
    call_side_fini(&call->recv);
    free((void *)(uintptr_t)call->args.destinations);
    free((void *)(uintptr_t)call->args.sources);
    free(call->expected);
    free(call->sent);
}

int call_rank_check(const call_rank_t *call, char *text, size_t text_bytes)
{
    size_t end = call->recv.bytes - 1, i;
    char words[200];

    call_side_fetch(&call->send);
    call_side_fetch(&call->recv);
    for (i = 0; i < call->checked_bytes; i++)
        if (call->recv.memory[i] != call->expected[i])
            break;
    if (i == call->checked_bytes && call->recv.memory[end] == UNTOUCHED &&
        memcmp(call->send.memory, call->sent, call->send.bytes) == 0)
        return 1;
    call_case_text(call->c, words, sizeof words);
    if (i < call->checked_bytes)
        snprintf(text, text_bytes,
                 "%s: rank %" PRIu32 " is wrong from byte %zu of %zu", words,
                 call->rank, i, end);
    else
        snprintf(text, text_bytes,
                 "%s: rank %" PRIu32 " changed its send buffer, or what is "
                 "behind the receive buffer",
                 words, call->rank);
    return 0;
}
