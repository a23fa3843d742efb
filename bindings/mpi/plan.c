/* Turns a call of MPI's into the arguments of a call of xylem's.
 *
 * Data that is only moved travels as bytes. Plain data stays where it is; data
 * with gaps is packed on its way, or goes through a buffer, on this rank alone.
 * So ranks may describe the same data differently, as MPI allows. Data that is
 * combined travels as elements.
 */
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

/* Data with gaps go through a buffer up to this size. Programs that make a type
 * for each call send little in each; a layout and its plan would cost more. */
enum { PACKED_BYTES_MAX = 16384 };

/* This rank's part in the two sides of a collective. */
typedef struct sides {
    const xyl_coll_traits_t *traits;
    int sends, receives; /* on this rank */
    int in_place;        /* a buffer is MPI_IN_PLACE, */
    int by_recv;         /* namely the receive buffer */
} sides_t;

/* A side as xylem sees it. */
typedef struct view {
    const xmpi_side_t *side;
    xmpi_buffer_t *buffer; /* for packed data */
    uint32_t n;            /* blocks */
    const void *address;
    xmpi_type_t *mpis;         /* of all blocks; NULL: each has its own */
    uint64_t bytes;            /* of a block, if blocks are alike */
    uint64_t count;            /* of a block, in elements of `type` */
    xylem_type_t type;         /* XYLEM_BYTE, or a type with gaps */
    uint64_t *counts, *displs; /* of `type`; NULL: blocks are alike */
    xylem_type_t *types; /* of each block, displs in bytes; NULL: all `type` */
} view_t;

static sides_t sides_of(const xmpi_call_t *call, const xmpi_comm_t *comm,
                        int is_root)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    sides_t sides = {.traits = traits,
                     .sends = xyl_side_matters(traits->sends, is_root),
                     .receives = xyl_side_matters(traits->receives, is_root)};

    if (traits->has_neighbors) {
        sides.sends &= comm->destination_count != 0;
        sides.receives &= comm->source_count != 0;
    }
    sides.by_recv = sides.receives && call->recv.buf == MPI_IN_PLACE;
    sides.in_place =
        sides.by_recv || (sides.sends && call->send.buf == MPI_IN_PLACE);
    return sides;
}

/* ---- memory of a plan ---- */

static void *plan_take(xmpi_plan_t *plan, size_t bytes)
{
    void *memory = malloc(bytes != 0 ? bytes : 1);

    if (memory != NULL)
        plan->memory[plan->memories++] = memory;
    return memory;
}

/* Takes `count` words. The first arrays of small teams lie in the plan. */
static uint64_t *plan_take_words(xmpi_plan_t *plan, size_t count)
{
    uint64_t *words = &plan->small[plan->words];

    if (count > XMPI_PLAN_SMALL - plan->words)
        return plan_take(plan, count * sizeof *words);
    plan->words += (uint32_t)count;
    return words;
}

void xmpi_plan_drop(xmpi_plan_t *plan)
{
    uint32_t i;

    for (i = 0; plan->send.blocks != NULL && i < plan->send.count; i++)
        xmpi_type_drop(plan->send.blocks[i].type);
    for (i = 0; plan->recv.blocks != NULL && i < plan->recv.count; i++)
        xmpi_type_drop(plan->recv.blocks[i].type);
    xmpi_op_drop(plan->op);
    for (i = 0; i < plan->memories; i++)
        free(plan->memory[i]);
}

/* ---- one side ---- */

/* Reads block i; returns MPI's code. */
static int read_block(const xmpi_call_t *call, const xmpi_side_t *side,
                      xmpi_type_t *type, uint32_t i, xmpi_block_t *block)
{
    int64_t count = side->counts == NULL
                        ? side->count
                        : xmpi_number_at(call, side->counts, i);

    /* The type of an empty block is not read; in MPICH it may be no type. */
    block->type = side->types == NULL
                      ? type
                      : xmpi_type_find(count == 0 ? MPI_BYTE : side->types[i]);
    if (count < 0 || block->type == NULL)
        return count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE;
    block->count = (uint64_t)count;
    if (side->displs == NULL)
        block->displ = (int64_t)i * count * block->type->extent;
    else if (side->types != NULL)
        block->displ = xmpi_number_at(call, side->displs, i);
    else
        block->displ =
            xmpi_number_at(call, side->displs, i) * block->type->extent;
    return 0;
}

/* The type of a side; NULL: its handle is no committed type. */
static xmpi_type_t *type_of(xmpi_plan_t *plan, const view_t *view)
{
    return plan->is_brief
               ? xmpi_type_look(view->side->type,
                                &plan->briefs[view->buffer == &plan->recv])
               : xmpi_type_find(view->side->type);
}

/* Gives the side a buffer for its packed data, and views the buffer. */
static int view_packed(xmpi_plan_t *plan, const xmpi_call_t *call, view_t *view)
{
    xmpi_block_t *blocks = plan_take(plan, view->n * sizeof *blocks);
    xmpi_buffer_t *buffer = view->buffer;
    uint64_t total = 0;
    uint32_t i;

    if (blocks == NULL)
        return MPI_ERR_NO_MEM;
    for (i = 0; i < view->n; i++) {
        int code = read_block(call, view->side, view->mpis, i, &blocks[i]);
        if (code != MPI_SUCCESS)
            return code;
        if (view->counts != NULL) {
            view->counts[i] = blocks[i].count * blocks[i].type->size;
            view->displs[i] = total;
        }
        total += blocks[i].count * blocks[i].type->size;
    }
    buffer->packed = plan_take(plan, total);
    if (buffer->packed == NULL)
        return MPI_ERR_NO_MEM;
    for (i = 0; i < view->n; i++)
        xmpi_type_hold(blocks[i].type);
    /* Drops const: the buffer of a send side is only read. */
    memcpy(&buffer->user, &view->side->buf, sizeof buffer->user);
    buffer->count = view->n;
    buffer->blocks = blocks;
    view->address = buffer->packed;
    view->count = view->bytes;
    view->type = XYLEM_BYTE;
    view->types = NULL;
    return MPI_SUCCESS;
}

/* Whether `bytes` of data with gaps may stay where they are and be packed on
 * their way. */
static int takes_layouts(const xmpi_call_t *call, uint64_t bytes)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);

    return !traits->reduces && !traits->has_neighbors &&
           bytes > PACKED_BYTES_MAX;
}

/* The address `bytes` behind that of a side, which may be MPI_BOTTOM. */
static const void *address_behind(const xmpi_side_t *side, int64_t bytes)
{
    return (const void *)((uintptr_t)side->buf + (uintptr_t)bytes);
}

/* Moves `address` to the block with the lowest displacement, if that is
 * negative, or if the buffer is MPI_BOTTOM. `unit`: bytes that a displacement
 * of 1 stands for. */
static void begin_at_first(view_t *view, int64_t unit)
{
    int64_t lowest = INT64_MAX, displ;
    uint32_t i;

    for (i = 0; i < view->n; i++) {
        displ = (int64_t)view->displs[i];
        if (view->counts[i] != 0 && displ < lowest)
            lowest = displ;
    }
    if (lowest == INT64_MAX || (lowest >= 0 && view->side->buf != NULL))
        return;
    for (i = 0; i < view->n; i++)
        if (view->counts[i] != 0)
            view->displs[i] -= (uint64_t)lowest;
    view->address =
        (const void *)((uintptr_t)view->address + (uintptr_t)(lowest * unit));
}

/* Turns a view in bytes into a view in elements with gaps, which stay where
 * they are; 0: the type has no layout. */
static int view_laid_out(const xmpi_call_t *call, view_t *view)
{
    const xmpi_side_t *side = view->side;
    xmpi_type_t *type = xmpi_type_find(side->type);
    uint32_t i;

    if (type == NULL || !xmpi_type_layout(type, &view->type))
        return 0;
    for (i = 0; i < view->n; i++)
        if (view->counts[i] != 0) {
            view->counts[i] = (uint64_t)xmpi_number_at(call, side->counts, i);
            view->displs[i] = (uint64_t)xmpi_number_at(call, side->displs, i);
        }
    view->address = address_behind(side, type->true_low);
    begin_at_first(view, type->extent);
    return 1;
}

/* As view_laid_out, if each block has its own type; plain blocks stay bytes. */
static int view_types(xmpi_plan_t *plan, const xmpi_call_t *call, view_t *view)
{
    const xmpi_side_t *side = view->side;
    uint32_t i, n = view->n;
    xylem_type_t *types;
    xmpi_type_t *type;

    types = (xylem_type_t *)plan_take_words(plan, n / 2 + 1);
    for (i = 0; types != NULL && i < n; i++) {
        types[i] = XYLEM_BYTE;
        type = view->counts[i] == 0 ? NULL : xmpi_type_find(side->types[i]);
        if (type == NULL || type->is_plain)
            continue;
        if (!xmpi_type_layout(type, &types[i]))
            return 0;
        view->displs[i] += (uint64_t)type->true_low;
    }
    for (i = 0; types != NULL && i < n; i++)
        if (types[i] != XYLEM_BYTE)
            view->counts[i] = (uint64_t)xmpi_number_at(call, side->counts, i);
    view->types = types;
    if (types != NULL)
        begin_at_first(view, 1);
    return types != NULL;
}

static int view_varying(xmpi_plan_t *plan, const xmpi_call_t *call,
                        view_t *view)
{
    const xmpi_side_t *side = view->side;
    int is_plain = 1, code;
    uint32_t i, n = view->n;
    uint64_t bytes = 0;

    if (side->counts == NULL || side->displs == NULL)
        return MPI_ERR_ARG;
    if (side->types == NULL) {
        view->mpis = type_of(plan, view);
        if (view->mpis == NULL)
            return MPI_ERR_TYPE;
    }
    view->counts = plan_take_words(plan, n);
    view->displs = plan_take_words(plan, n);
    if (view->counts == NULL || view->displs == NULL)
        return MPI_ERR_NO_MEM;
    for (i = 0; i < n; i++) {
        xmpi_block_t block;
        code = read_block(call, side, view->mpis, i, &block);
        if (code != MPI_SUCCESS)
            return code;
        view->counts[i] = block.count * block.type->size;
        view->displs[i] = (uint64_t)block.displ;
        bytes += view->counts[i];
        if (view->counts[i] == 0)
            view->displs[i] = 0;
        else if (!block.type->is_plain)
            is_plain = 0;
    }
    view->address = side->buf;
    if (is_plain) {
        begin_at_first(view, 1);
        return MPI_SUCCESS;
    }
    if (takes_layouts(call, bytes) &&
        (side->types == NULL ? view_laid_out(call, view)
                             : view_types(plan, call, view)))
        return MPI_SUCCESS;
    return view_packed(plan, call, view);
}

static int view_alike(xmpi_plan_t *plan, const xmpi_call_t *call, view_t *view)
{
    const xmpi_side_t *side = view->side;
    xmpi_type_t *type = type_of(plan, view);

    if (type == NULL)
        return MPI_ERR_TYPE;
    if (side->count < 0)
        return MPI_ERR_COUNT;
    view->mpis = type;
    view->bytes = view->count = (uint64_t)side->count * type->size;
    view->address = side->buf;
    if (type->is_plain || view->bytes == 0)
        return MPI_SUCCESS;
    if (takes_layouts(call, view->n * view->bytes) &&
        xmpi_type_layout(xmpi_type_find(side->type), &view->type)) {
        view->address = address_behind(side, type->true_low);
        view->count = (uint64_t)side->count;
        return MPI_SUCCESS;
    }
    return view_packed(plan, call, view);
}

/* ---- data that is moved ---- */

/* Whether MPI allows MPI_IN_PLACE for the side that has it. */
static int in_place_is_good(const xmpi_call_t *call, int is_root)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    int by_recv = traits->sends == XYL_SIDE_ROOT; /* scatter(v) */

    return xyl_side_matters(traits->takes_in_place, is_root) &&
           (by_recv ? call->send.buf : call->recv.buf) != MPI_IN_PLACE;
}

static int view_sides(xmpi_plan_t *plan, const xmpi_call_t *call,
                      const sides_t *sides, view_t *send, view_t *recv)
{
    int code = MPI_SUCCESS;

    if (sides->receives && !sides->by_recv)
        code = sides->traits->recv_varies ? view_varying(plan, call, recv)
                                          : view_alike(plan, call, recv);
    if (code == MPI_SUCCESS && sides->sends &&
        (!sides->in_place || sides->by_recv))
        code = sides->traits->send_varies ? view_varying(plan, call, send)
                                          : view_alike(plan, call, send);
    if (code != MPI_SUCCESS || sides->in_place || !sides->sends ||
        !sides->receives || send->address != recv->address ||
        send->address == NULL)
        return code;
    /* Sends a copy of the data if both sides are one buffer without
     * MPI_IN_PLACE, as Open MPI tolerates that. */
    if (send->side->types == NULL)
        send->mpis = type_of(plan, send);
    return view_packed(plan, call, send);
}

/* The view that describes this rank's block: of the data it sends, or of the
 * data it gets; NULL: arrays describe it. */
static const view_t *own_view(const xmpi_call_t *call, const sides_t *sides,
                              const view_t *send, const view_t *recv)
{
    if (sides->by_recv)
        return sides->traits->send_varies ? NULL : send;
    if (call->coll == XYLEM_COLL_ALLTOALL && !sides->in_place)
        return send;
    return sides->sends && !sides->traits->send_blocks && !sides->in_place
               ? send
               : recv;
}

/* Describes both sides of this rank, as one of them has gaps. */
static void describe_both(xylem_coll_args_t *args, const xmpi_comm_t *comm,
                          const view_t *send, const view_t *recv)
{
    args->count = send->count;
    if (send->counts != NULL && recv->counts == NULL)
        args->count = send->counts[comm->rank];
    args->type = send->type;
    args->recv_count = recv->counts != NULL ? 1 : recv->count;
    args->recv_type = recv->type;
}

/* An alltoallw: the blocks of a side without types are bytes. */
static int describe_blocks(xmpi_plan_t *plan, uint32_t n, const view_t *send,
                           const view_t *recv)
{
    xylem_type_t *bytes = (xylem_type_t *)plan_take_words(plan, n / 2 + 1);
    uint32_t i;

    if (bytes == NULL)
        return MPI_ERR_NO_MEM;
    for (i = 0; i < n; i++)
        bytes[i] = XYLEM_BYTE;
    plan->args.send_types = send->types != NULL ? send->types : bytes;
    plan->args.recv_types = recv->types != NULL ? recv->types : bytes;
    return MPI_SUCCESS;
}

/* Whether the block that this rank sends to itself is longer than its room. */
static int is_too_long(const sides_t *sides, const view_t *send,
                       const view_t *recv)
{
    return sides->sends && sides->receives && !sides->in_place &&
           !sides->traits->send_varies && !sides->traits->recv_varies &&
           !sides->traits->has_neighbors && send->bytes > recv->bytes;
}

static int plan_moves(xmpi_plan_t *plan, const xmpi_call_t *call,
                      const xmpi_comm_t *comm, const sides_t *sides)
{
    const xyl_coll_traits_t *traits = sides->traits;
    uint32_t sources =
        traits->has_neighbors ? comm->source_count : (uint32_t)comm->size;
    view_t send = {.side = &call->send,
                   .buffer = &plan->send,
                   .n = traits->send_blocks ? (uint32_t)comm->size : 1,
                   .type = XYLEM_BYTE};
    view_t recv = {.side = &call->recv,
                   .buffer = &plan->recv,
                   .n = traits->recv_blocks ? sources : 1,
                   .type = XYLEM_BYTE};
    xylem_coll_args_t *args = &plan->args;
    const view_t *own;
    int code = view_sides(plan, call, sides, &send, &recv);

    if (code != MPI_SUCCESS)
        return code;
    if (is_too_long(sides, &send, &recv))
        return MPI_ERR_TRUNCATE;
    own = own_view(call, sides, &send, &recv);
    args->send =
        sides->in_place && !sides->by_recv ? XYLEM_IN_PLACE : send.address;
    memcpy(&args->recv, &recv.address, sizeof args->recv);
    if (sides->by_recv)
        args->recv = XYLEM_IN_PLACE_RECV;
    args->count = own == NULL ? 0 : own->count;
    args->type = own == NULL ? send.type : own->type;
    if (sides->sends && sides->receives && !sides->in_place &&
        (send.type != XYLEM_BYTE || recv.type != XYLEM_BYTE))
        describe_both(args, comm, &send, &recv);
    args->send_counts = send.counts;
    args->send_displs = send.displs;
    args->recv_counts = recv.counts;
    args->recv_displs = recv.displs;
    plan->packs_recv = sides->in_place ? !sides->by_recv
                                       : call->coll == XYLEM_COLL_BCAST &&
                                             comm->rank == call->root;
    plan->packs_own = sides->in_place && !traits->send_blocks;
    if (traits->has_neighbors) {
        xmpi_neighbors_set(comm, send.bytes, recv.bytes, args);
        plan->packs_recv = xmpi_neighbors_have_gaps(comm);
    }
    return call->coll == XYLEM_COLL_ALLTOALLW
               ? describe_blocks(plan, (uint32_t)comm->size, &send, &recv)
               : MPI_SUCCESS;
}

/* ---- data that is combined ---- */

/* Counts the elements of each side; *total_out: those of all blocks. */
static int plan_counts(xmpi_plan_t *plan, const xmpi_call_t *call,
                       const xmpi_comm_t *comm, const sides_t *sides,
                       uint64_t *total_out)
{
    uint64_t *counts, total = 0;
    int64_t count;
    int i;

    if (!sides->traits->recv_varies) {
        if (call->send.count < 0)
            return MPI_ERR_COUNT;
        plan->args.count = (size_t)call->send.count;
        *total_out = plan->args.count;
        if (sides->traits->send_blocks)
            *total_out *= (uint64_t)comm->size;
        return MPI_SUCCESS;
    }
    if (call->recv.counts == NULL)
        return MPI_ERR_ARG;
    counts = plan_take_words(plan, (size_t)comm->size);
    if (counts == NULL)
        return MPI_ERR_NO_MEM;
    for (i = 0; i < comm->size; i++) {
        count = xmpi_number_at(call, call->recv.counts, (uint32_t)i);
        if (count < 0)
            return MPI_ERR_COUNT;
        counts[i] = (uint64_t)count;
        total += counts[i];
    }
    plan->args.recv_counts = counts;
    plan->args.count = (size_t)counts[comm->rank];
    *total_out = total;
    return MPI_SUCCESS;
}

/* Plans a call on elements of no bytes, which combines nothing. */
static void plan_nothing(xmpi_plan_t *plan, int ranks)
{
    /* recv_counts are the first words that the plan has taken. */
    uint64_t *counts = plan->memories != 0 ? plan->memory[0] : plan->small;
    int i;

    for (i = 0; plan->args.recv_counts != NULL && i < ranks; i++)
        counts[i] = 0;
    plan->args.count = 0;
    plan->args.op = XYLEM_BOR;
    plan->args.type = XYLEM_BYTE;
}

static xmpi_fate_t plan_op(xmpi_plan_t *plan, const xmpi_call_t *call,
                           int ranks, xmpi_type_t *type, int *error)
{
    xylem_op_t op = xmpi_op_predefined(call->op);

    if (op != XYLEM_OP_COUNT && xmpi_op_fits(op, type)) {
        plan->args.op = op;
        plan->args.type = type->kind;
        return XMPI_TAKEN;
    }
    if (op != XYLEM_OP_COUNT && !xmpi_op_is_hosts(op, type))
        return XMPI_NO_KERNEL;
    if (call->op == MPI_OP_NULL ||
        (op == XYLEM_OP_COUNT && xmpi_op_is_named(call->op))) {
        *error = MPI_ERR_OP;
        return XMPI_TAKEN;
    }
    if (type->size == 0) {
        plan_nothing(plan, ranks);
        return XMPI_TAKEN;
    }
    if (xmpi_state.must_not_call)
        return XMPI_NO_THREADS;
    if (type->size > INT32_MAX)
        return XMPI_NO_KERNEL;
    plan->op = xmpi_op_hold(call->op, type);
    if (plan->op == NULL) {
        *error = MPI_ERR_NO_MEM;
        return XMPI_TAKEN;
    }
    plan->args.op = xmpi_op_handle(plan->op);
    plan->args.type = XYLEM_TYPE_BLOCK((uint32_t)type->size);
    return XMPI_TAKEN;
}

static int pack_elements(xmpi_plan_t *plan, const xmpi_call_t *call,
                         const void *user, uint64_t count,
                         xmpi_buffer_t *buffer)
{
    const xmpi_side_t side = {
        .buf = user, .count = (MPI_Count)count, .type = call->send.type};
    view_t view = {.side = &side,
                   .buffer = buffer,
                   .n = 1,
                   .mpis = xmpi_type_find(call->send.type)};

    return view_packed(plan, call, &view);
}

/* Sides with gaps go through buffers. So does the send side if both sides are
 * one buffer. */
static int pack_sums(xmpi_plan_t *plan, const xmpi_call_t *call,
                     const sides_t *sides, xmpi_type_t *type, uint64_t total)
{
    int code = MPI_SUCCESS;
    int has_gaps = plan->op != NULL && !type->is_plain && total != 0;
    int is_alias = !sides->in_place && sides->receives && total != 0 &&
                   call->send.buf == call->recv.buf;

    /* Open MPI alone tolerates one buffer for both sides. */
    if (is_alias && !xmpi_host.is_open_mpi)
        return MPI_ERR_BUFFER;
    if ((has_gaps && !sides->in_place) || is_alias) {
        code = pack_elements(plan, call, call->send.buf, total, &plan->send);
        plan->args.send = plan->send.packed;
    }
    if (has_gaps && sides->receives && code == MPI_SUCCESS) {
        if (sides->traits->send_blocks && !sides->in_place)
            total = plan->args.count; /* what this rank receives */
        code = pack_elements(plan, call, call->recv.buf, total, &plan->recv);
        plan->args.recv = plan->recv.packed;
    }
    return code;
}

static xmpi_fate_t plan_sums(xmpi_plan_t *plan, const xmpi_call_t *call,
                             const xmpi_comm_t *comm, const sides_t *sides,
                             int *error)
{
    xmpi_type_t *type = xmpi_type_find(call->send.type);
    uint64_t total = 0;
    xmpi_fate_t fate;

    *error = type == NULL ? MPI_ERR_TYPE
                          : plan_counts(plan, call, comm, sides, &total);
    if (*error != MPI_SUCCESS)
        return XMPI_TAKEN;
    fate = plan_op(plan, call, comm->size, type, error);
    if (fate != XMPI_TAKEN || *error != MPI_SUCCESS)
        return fate;
    plan->args.send = sides->in_place ? XYLEM_IN_PLACE : call->send.buf;
    if (sides->receives) /* else it may be MPI_IN_PLACE, and is not looked at */
        memcpy(&plan->args.recv, &call->recv.buf, sizeof plan->args.recv);
    *error = pack_sums(plan, call, sides, type, total);
    /* An exscan does not write rank 0's packed buffer. Packing fills that with
     * the user's data, which the unpacking at the end puts back. */
    plan->packs_recv = sides->in_place || call->coll == XYLEM_COLL_EXSCAN;
    return fate;
}

/* ---- plans ---- */

xmpi_fate_t xmpi_plan_make(xmpi_plan_t *plan, const xmpi_call_t *call,
                           const xmpi_comm_t *comm, xmpi_form_t form,
                           int *error_out)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    int is_root = traits->has_root && call->root == comm->rank;
    sides_t sides = sides_of(call, comm, is_root);
    xmpi_fate_t fate = XMPI_TAKEN;

    memset(plan, 0, offsetof(xmpi_plan_t, memory));
    plan->args.struct_bytes = sizeof plan->args;
    plan->args.coll = call->coll;
    plan->args.root = traits->has_root ? (uint32_t)call->root : 0;
    plan->own_rank = (uint32_t)comm->rank;
    plan->is_brief = form == XMPI_BLOCKING;
    *error_out = MPI_SUCCESS;
    if (call->coll == XYLEM_COLL_BARRIER)
        return XMPI_TAKEN;
    if (traits->has_root && (call->root < 0 || call->root >= comm->size))
        *error_out = MPI_ERR_ROOT;
    else if (sides.in_place && !in_place_is_good(call, is_root))
        *error_out = MPI_ERR_BUFFER;
    else if (traits->reduces)
        fate = plan_sums(plan, call, comm, &sides, error_out);
    else
        *error_out = plan_moves(plan, call, comm, &sides);
    if (comm->hints != NULL)
        xmpi_hints_follow(comm->hints, &plan->args);
    if (fate != XMPI_TAKEN || *error_out != MPI_SUCCESS)
        xmpi_plan_drop(plan);
    return fate;
}

/* Packs or unpacks block `only`, or all (UINT32_MAX); of each block at most
 * `count_max` elements. */
static int buffer_pack(const xmpi_buffer_t *buffer, xmpi_way_t way,
                       uint32_t only, uint64_t count_max)
{
    char *at = buffer->packed;
    int code = MPI_SUCCESS;
    uint32_t i;

    for (i = 0; i < buffer->count && code == MPI_SUCCESS; i++) {
        const xmpi_block_t *block = &buffer->blocks[i];
        if (only == UINT32_MAX || only == i)
            code = xmpi_type_pack(
                block->type, way, buffer->user + block->displ,
                block->count < count_max ? block->count : count_max, at);
        at += block->count * block->type->size;
    }
    return code;
}

int xmpi_plan_pack(const xmpi_plan_t *plan)
{
    int is_own = plan->packs_own && plan->recv.count > 1;
    int code = MPI_SUCCESS;

    if (plan->send.packed != NULL)
        code = buffer_pack(&plan->send, XMPI_PACK, UINT32_MAX, UINT64_MAX);
    if (code == MPI_SUCCESS && plan->recv.packed != NULL && plan->packs_recv)
        code = buffer_pack(&plan->recv, XMPI_PACK,
                           is_own ? plan->own_rank : UINT32_MAX, UINT64_MAX);
    return code;
}

int xmpi_plan_unpack(const xmpi_plan_t *plan)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(plan->args.coll);
    /* In-place reduce_scatter leaves its result at the beginning. */
    int is_part = traits->reduces && traits->send_blocks;

    /* The root of a broadcast receives nothing. */
    if (plan->recv.packed == NULL ||
        (plan->args.coll == XYLEM_COLL_BCAST && plan->packs_recv))
        return MPI_SUCCESS;
    return buffer_pack(&plan->recv, XMPI_UNPACK, UINT32_MAX,
                       is_part ? plan->args.count : UINT64_MAX);
}
