#include "tests/support/any_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"

enum { UNTOUCHED = 0xee, GAP_MAX = 2 };

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* the test's own memory, not the library's */
    return memory;
}

/* ---- what the collectives are ---- */

const char *any_name(xylem_coll_t coll)
{
    static const char *const names[XYLEM_COLL_COUNT] = {
        "bcast",      "reduce",         "allreduce",
        "barrier",    "gather",         "gatherv",
        "scatter",    "scatterv",       "allgather",
        "allgatherv", "alltoall",       "alltoallv",
        "alltoallw",  "reduce_scatter", "reduce_scatter_block",
        "scan",       "exscan",
    };

    return names[coll];
}

int any_reduces(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_REDUCE || coll == XYLEM_COLL_ALLREDUCE ||
           coll >= XYLEM_COLL_REDUCE_SCATTER;
}

int any_has_root(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_BCAST || coll == XYLEM_COLL_REDUCE ||
           (coll >= XYLEM_COLL_GATHER && coll <= XYLEM_COLL_SCATTERV);
}

int any_takes_in_place(xylem_coll_t coll)
{
    return coll != XYLEM_COLL_BCAST && coll != XYLEM_COLL_BARRIER;
}

static int varies(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_GATHERV || coll == XYLEM_COLL_SCATTERV ||
           coll == XYLEM_COLL_ALLGATHERV || coll == XYLEM_COLL_ALLTOALLV ||
           coll == XYLEM_COLL_ALLTOALLW || coll == XYLEM_COLL_REDUCE_SCATTER;
}

static int is_alltoall(xylem_coll_t coll)
{
    return coll >= XYLEM_COLL_ALLTOALL && coll <= XYLEM_COLL_ALLTOALLW;
}

static int is_scatter(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_SCATTER || coll == XYLEM_COLL_SCATTERV;
}

static int is_reduce_scatter(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_REDUCE_SCATTER ||
           coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK;
}

/* Whether both sides of a rank are cut into blocks, or one. */
static int sends_blocks(xylem_coll_t coll)
{
    return is_scatter(coll) || is_reduce_scatter(coll) || is_alltoall(coll);
}

static int receives_blocks(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_GATHER || coll == XYLEM_COLL_GATHERV ||
           (coll >= XYLEM_COLL_ALLGATHER && coll <= XYLEM_COLL_ALLTOALLW);
}

static int is_root(const any_rank_t *any)
{
    return any->rank == any->c->root;
}

/* In place here: of the root only where there is one. */
static int is_in_place(const any_rank_t *any)
{
    return any->c->in_place && (!any_has_root(any->c->coll) || is_root(any));
}

/* Whether the caller has something in that buffer that matters. */
static int has_send(const any_rank_t *any)
{
    return !is_scatter(any->c->coll) || is_root(any);
}

static int has_recv(const any_rank_t *any)
{
    return is_root(any) || !any_has_root(any->c->coll) ||
           any->c->coll == XYLEM_COLL_BCAST || is_scatter(any->c->coll);
}

/* ---- drawing ---- */

any_case_t any_case_random(uint64_t *random, xylem_coll_t coll, uint32_t ranks)
{
    static const uint32_t most[] = {1, 3, 40, 400, 3000};
    any_case_t c = {.coll = coll, .ranks = ranks, .salt = random_next(random)};

    c.root = any_has_root(coll) ? random_below(random, ranks) : 0;
    if (random_below(random, 2) == 0)
        c.types =
            (any_types_t)random_between(random, ANY_TYPES_ONE, ANY_TYPES_TWO);
    c.count = random_below(random, most[random_below(random, 5)] + 1);
    if (coll == XYLEM_COLL_BARRIER)
        c.count = 0;
    if (c.types != ANY_TYPES_PLAIN)
        c.count = (c.count + ANY_QUANTUM - 1) / ANY_QUANTUM;
    c.in_place = any_takes_in_place(coll) && random_below(random, 3) == 0;
    c.is_ordered = any_reduces(coll) && random_below(random, 2) == 0;
    if (random_below(random, 2) == 0)
        c.segment_bytes = 8 * (size_t)(1 + random_below(random, 300));
    return c;
}

void any_case_text(const any_case_t *c, char *text, size_t bytes)
{
    static const char *const types[] = {"", ", types", ", two types"};

    snprintf(text, bytes,
             "%s%s%s on %" PRIu32 " ranks, root %" PRIu32 ", count %" PRIu64
             "%s%s, segments of %zu, algorithm %s",
             c->is_ordered ? "ordered " : "", c->in_place ? "in-place " : "",
             any_name(c->coll), c->ranks, c->root, c->count,
             varies(c->coll) ? " at most" : "", types[c->types],
             c->segment_bytes, c->algorithm[0] == '\0' ? "any" : c->algorithm);
}

/* ---- data ---- */

/* Elements that `from` has for `to`; the same both ways for alltoall, so that
 * it can be done in place. */
static uint64_t block_count(const any_case_t *c, uint32_t from, uint32_t to)
{
    uint64_t quantum = c->types == ANY_TYPES_PLAIN ? 1 : ANY_QUANTUM, key;

    if (!varies(c->coll))
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
static uint64_t element(const any_case_t *c, uint32_t from, uint32_t block,
                        uint64_t index)
{
    uint64_t bits = random_mix(c->salt ^ (uint64_t)from << 48 ^
                               (uint64_t)block << 32 ^ index);

    return c->is_ordered ? bits | 1 : bits;
}

typedef struct map {
    uint32_t a, b;
} map_t;

/* Elements of the operations are those of `arg`, an any_type_t. */
static void compose(void *result, const void *left, const void *right,
                    size_t count, void *arg)
{
    size_t i, all = count * ((const any_type_t *)arg)->unit;
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
    size_t i, all = count * ((const any_type_t *)arg)->unit;
    uint64_t l, r;

    for (i = 0; i < all; i++) {
        memcpy(&l, (const char *)left + i * sizeof l, sizeof l);
        memcpy(&r, (const char *)right + i * sizeof r, sizeof r);
        l += r;
        memcpy((char *)result + i * sizeof l, &l, sizeof l);
    }
}

static uint64_t combined(const any_case_t *c, uint32_t ranks, uint32_t block,
                         uint64_t index)
{
    any_type_t one = {.unit = 1};
    uint64_t sum = element(c, 0, block, index), next;
    uint32_t rank;

    for (rank = 1; rank < ranks; rank++) {
        next = element(c, rank, block, index);
        (c->is_ordered ? compose : add)(&sum, &sum, &next, 1, &one);
    }
    return sum;
}

/* ---- types and layout ---- */

/* Something of this rank, or of all ranks alike. */
static uint32_t draw(const any_rank_t *any, int is_own, uint32_t what,
                     uint32_t limit)
{
    uint64_t own = is_own ? (uint64_t)any->rank << 40 : 0;

    return (uint32_t)(random_mix(any->c->salt ^ own ^ (uint64_t)what << 8) %
                      limit);
}

/* Ranks describe the same bytes each in its own way. */
static int has_own_types(const any_case_t *c)
{
    return c->types == ANY_TYPES_TWO && !any_reduces(c->coll);
}

static int has_two_types(const any_case_t *c)
{
    return has_own_types(c) && c->coll != XYLEM_COLL_BCAST;
}

static void make_types(any_rank_t *any)
{
    const any_case_t *c = any->c;
    xylem_type_t plain =
        c->is_ordered ? XYLEM_TYPE_BLOCK(ANY_ELEMENT) : XYLEM_UINT64;
    uint32_t i, kind = 0;

    for (i = 0; i < ANY_POOL; i++) {
        if (c->types != ANY_TYPES_PLAIN && any_reduces(c->coll))
            kind = 1;
        else if (c->types != ANY_TYPES_PLAIN)
            kind = draw(any, has_own_types(c), has_two_types(c) ? i : 0,
                        ANY_KINDS);
        any_type_make(any->context, kind, plain, &any->pool[i]);
    }
}

static const any_type_t *type_of(const any_rank_t *any, int is_send, uint32_t i)
{
    if (any->c->coll == XYLEM_COLL_ALLTOALLW)
        return &any->pool[draw(any, 1, 100 + 2 * i + (uint32_t)is_send,
                               ANY_POOL)];
    return &any->pool[has_two_types(any->c) && !is_send];
}

/* Blocks of one type: one behind the other, with gaps where they vary. */
static void lay_out(const any_rank_t *any, any_side_t *side)
{
    const any_case_t *c = any->c;
    uint64_t at = 0;
    uint32_t i;

    for (i = 0; i < side->blocks; i++) {
        side->displs[i] = at;
        side->bases[i] = (int64_t)at * side->types[i]->extent;
        at += side->counts[i];
        if (varies(c->coll) && !is_reduce_scatter(c->coll))
            at += random_mix(c->salt + i) % (GAP_MAX + 1);
    }
}

/* Blocks of different types; displacements are bytes, and not negative. */
static void lay_out_typed(any_side_t *side)
{
    int64_t at = 0, span;
    uint32_t i;

    for (i = 0; i < side->blocks; i++) {
        const any_type_t *type = side->types[i];
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

static void side_make(any_rank_t *any, any_side_t *side, int is_send,
                      int is_blocks)
{
    const any_case_t *c = any->c;
    uint32_t i;

    any_side_init(side, is_blocks ? c->ranks : 1);
    for (i = 0; i < side->blocks; i++) {
        side->types[i] = type_of(any, is_send, i);
        side->handles[i] = side->types[i]->handle;
        if (is_blocks)
            side->elements[i] = is_send ? block_count(c, any->rank, i)
                                        : block_count(c, i, any->rank);
        else
            side->elements[i] = is_send ? block_count(c, any->rank, 0)
                                        : block_count(c, c->root, any->rank);
        side->counts[i] = side->elements[i] / side->types[i]->unit;
    }
    if (c->coll == XYLEM_COLL_ALLTOALLW)
        lay_out_typed(side);
    else
        lay_out(any, side);
    any_side_allocate(side);
}

static void make_sides(any_rank_t *any)
{
    const any_case_t *c = any->c;

    side_make(any, &any->send, 1, sends_blocks(c->coll));
    /* In place the input lies in the receive buffer. */
    if (is_reduce_scatter(c->coll) && is_in_place(any))
        side_make(any, &any->recv, 1, 1);
    else
        side_make(any, &any->recv, 0, receives_blocks(c->coll));
    any->expected = must(malloc(any->recv.bytes));
    any->sent = must(malloc(any->send.bytes));
}

/* ---- contents ---- */

static void fill_block(const any_rank_t *any, const any_side_t *side,
                       unsigned char *memory, uint32_t block, uint32_t from,
                       uint32_t number)
{
    uint64_t i;

    for (i = 0; i < side->elements[block]; i++)
        any_side_put(side, memory, block, i, element(any->c, from, number, i));
}

/* What this rank contributes. */
static void fill_own(const any_rank_t *any, const any_side_t *side)
{
    uint32_t i;

    for (i = 0; i < side->blocks; i++)
        fill_block(any, side, side->memory, i, any->rank, i);
}

static void fill_in_place(any_rank_t *any)
{
    const any_case_t *c = any->c;

    if (receives_blocks(c->coll) && !is_alltoall(c->coll))
        fill_block(any, &any->recv, any->recv.memory, any->rank, any->rank, 0);
    else if (!is_scatter(c->coll))
        fill_own(any, &any->recv);
}

static void expect_sums(any_rank_t *any, uint32_t ranks, uint32_t block)
{
    uint64_t i, count = block_count(any->c, 0, block);

    for (i = 0; i < count; i++)
        any_side_put(&any->recv, any->expected, 0, i,
                     combined(any->c, ranks, block, i));
    if (is_reduce_scatter(any->c->coll))
        any->checked_bytes = (size_t)count * ANY_ELEMENT;
}

static void expect(any_rank_t *any)
{
    const any_case_t *c = any->c;
    uint32_t i, rank = any->rank;

    memcpy(any->expected, any->recv.memory, any->recv.bytes);
    any->checked_bytes = any->recv.bytes;
    if (!has_recv(any))
        return;
    if (c->coll == XYLEM_COLL_BCAST)
        fill_block(any, &any->recv, any->expected, 0, c->root, 0);
    else if (c->coll == XYLEM_COLL_REDUCE || c->coll == XYLEM_COLL_ALLREDUCE)
        expect_sums(any, c->ranks, 0);
    else if (c->coll == XYLEM_COLL_SCAN)
        expect_sums(any, rank + 1, 0);
    else if (c->coll == XYLEM_COLL_EXSCAN && rank > 0)
        expect_sums(any, rank, 0);
    else if (is_reduce_scatter(c->coll))
        expect_sums(any, c->ranks, rank);
    else if (is_scatter(c->coll) && !is_in_place(any))
        fill_block(any, &any->recv, any->expected, 0, c->root, rank);
    else if (receives_blocks(c->coll))
        for (i = 0; i < c->ranks; i++)
            fill_block(any, &any->recv, any->expected, i, i,
                       sends_blocks(c->coll) ? rank : 0);
}

void any_rank_fill(any_rank_t *any)
{
    memset(any->send.memory, UNTOUCHED, any->send.bytes);
    memset(any->recv.memory, UNTOUCHED, any->recv.bytes);
    fill_own(any, &any->send);
    if (is_in_place(any))
        fill_in_place(any);
    else if (any->c->coll == XYLEM_COLL_BCAST && is_root(any))
        fill_own(any, &any->recv);
    memcpy(any->sent, any->send.memory, any->send.bytes);
    expect(any);
}

/* ---- arguments ---- */

static void set_counts(any_rank_t *any)
{
    const any_case_t *c = any->c;
    xylem_coll_args_t *args = &any->args;

    if (c->coll == XYLEM_COLL_REDUCE_SCATTER) {
        args->recv_counts = any->send.counts;
        return;
    }
    if (sends_blocks(c->coll) && has_send(any) && !is_in_place(any)) {
        args->send_counts = any->send.counts;
        args->send_displs = any->send.displs;
        args->send_types = any->send.handles;
    }
    if (is_scatter(c->coll) && is_in_place(any)) {
        args->send_counts = any->send.counts;
        args->send_displs = any->send.displs;
    }
    if (receives_blocks(c->coll) && has_recv(any)) {
        args->recv_counts = any->recv.counts;
        args->recv_displs = any->recv.displs;
        args->recv_types = any->recv.handles;
    }
    if (c->coll != XYLEM_COLL_ALLTOALLW)
        args->send_types = args->recv_types = NULL;
}

/* Types and counts of a message's two sides. */
static void set_types(any_rank_t *any)
{
    const any_case_t *c = any->c;
    const any_side_t *described = &any->send;
    xylem_coll_args_t *args = &any->args;

    if (c->coll == XYLEM_COLL_ALLTOALLW)
        return;
    /* Who only receives may describe that side as the only one. */
    if (c->coll == XYLEM_COLL_BCAST ||
        (!has_send(any) && draw(any, 1, 300, 2) == 0))
        described = &any->recv;
    args->type = described->types[0]->handle;
    args->count = described->counts[0];
    if (c->coll == XYLEM_COLL_SCATTERV && described == &any->send)
        args->count = any->recv.elements[0] / any->send.types[0]->unit;
    if (!has_two_types(c) || described == &any->recv || !has_recv(any))
        return;
    args->recv_type = any->recv.types[0]->handle;
    args->recv_count = varies(c->coll) ? 1 : any->recv.counts[0];
}

static void set_buffers(any_rank_t *any)
{
    const any_case_t *c = any->c;
    xylem_coll_args_t *args = &any->args;
    int hides = draw(any, 1, 301, 2) == 0;

    args->send = any->send.memory + any->send.origin;
    args->recv = any->recv.memory + any->recv.origin;
    /* What does not matter may be anything. */
    if (!has_send(any) && hides)
        args->send = NULL;
    if (!has_recv(any) && hides)
        args->recv = NULL;
    if (c->coll == XYLEM_COLL_BCAST || c->coll == XYLEM_COLL_BARRIER)
        args->send = NULL;
    if (is_in_place(any) && is_scatter(c->coll))
        args->recv = XYLEM_IN_PLACE_RECV;
    else if (is_in_place(any))
        args->send = XYLEM_IN_PLACE;
}

static void set_args(any_rank_t *any)
{
    const any_case_t *c = any->c;

    any->args = (xylem_coll_args_t){
        .struct_bytes = sizeof any->args,
        .coll = c->coll,
        .op = any->op,
        .root = c->root,
        .algorithm = c->algorithm[0] == '\0' ? NULL : c->algorithm,
        .segment_bytes = c->segment_bytes,
    };
    set_types(any);
    set_buffers(any);
    if (varies(c->coll))
        set_counts(any);
}

static int has_user_op(const any_case_t *c)
{
    return any_reduces(c->coll) &&
           (c->is_ordered || c->types != ANY_TYPES_PLAIN);
}

void any_rank_init(any_rank_t *any, const any_case_t *c, uint32_t rank,
                   xylem_context_t *context)
{
    *any = (any_rank_t){.c = c, .rank = rank, .context = context};
    make_types(any);
    any->op = XYLEM_SUM;
    if (has_user_op(c) &&
        xylem_op_create(context, c->is_ordered ? compose : add, &any->pool[0],
                        c->is_ordered ? 0 : XYLEM_OP_COMMUTATIVE,
                        &any->op) != XYLEM_OK)
        abort();
    make_sides(any);
    any_rank_fill(any);
    set_args(any);
}

void any_rank_drop_types(any_rank_t *any)
{
    uint32_t i;

    for (i = 0; i < ANY_POOL; i++)
        any_type_drop(any->context, &any->pool[i]);
}

void any_rank_fini(any_rank_t *any)
{
    any_rank_drop_types(any);
    if (has_user_op(any->c) &&
        xylem_op_destroy(any->context, any->op) != XYLEM_OK)
        abort();
    any_side_fini(&any->send);
    any_side_fini(&any->recv);
    free(any->expected);
    free(any->sent);
}

int any_rank_check(const any_rank_t *any, char *text, size_t text_bytes)
{
    size_t end = any->recv.bytes - 1, i;
    char words[200];

    for (i = 0; i < any->checked_bytes; i++)
        if (any->recv.memory[i] != any->expected[i])
            break;
    if (i == any->checked_bytes && any->recv.memory[end] == UNTOUCHED &&
        memcmp(any->send.memory, any->sent, any->send.bytes) == 0)
        return 1;
    any_case_text(any->c, words, sizeof words);
    if (i < any->checked_bytes)
        snprintf(text, text_bytes,
                 "%s: rank %" PRIu32 " is wrong from byte %zu of %zu", words,
                 any->rank, i, end);
    else
        snprintf(text, text_bytes,
                 "%s: rank %" PRIu32 " changed its send buffer, or what is "
                 "behind the receive buffer",
                 words, any->rank);
    return 0;
}
