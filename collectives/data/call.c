#include "collectives/data/call.h"

#include <assert.h>
#include <stdlib.h>

#include "collectives/data/binned.h"
#include "collectives/data/call_word.h"
#include "collectives/data/description.h"
#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "collectives/data/user_op.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/tags.h"

int xyl_call_is_reproducible(const xylem_team_t *team,
                             const xylem_coll_args_t *args)
{
    return xyl_coll_traits(args->coll)->reduces &&
           ((args->flags & XYLEM_FLAG_REPRODUCIBLE) != 0 ||
            (team->context->config.reduce_order == XYL_ORDER_REPRODUCIBLE &&
             (args->flags & XYLEM_FLAG_ARRIVAL_ORDER) == 0));
}

int xyl_call_takes_any_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative)
{
    return is_commutative &&
           ((args->flags & XYLEM_FLAG_ARRIVAL_ORDER) != 0 ||
            team->context->config.reduce_order == XYL_ORDER_ARRIVAL ||
            (xyl_coll_traits(args->coll)->reduces &&
             xyl_op_is_orderless(args->op, args->type)));
}

uint64_t xyl_call_common_bytes(const xylem_team_t *team,
                               const xylem_coll_args_t *args)
{
    uint64_t sum = 0;
    uint32_t i;

    assert(team->size > 0);
    if (!xyl_coll_has_common_counts(args->coll) || args->recv_counts == NULL)
        return 0;
    for (i = 0; i < team->size; i++)
        sum += args->recv_counts[i];
    return sum * xyl_args_common_unit(args) / team->size;
}

void xyl_call_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                      xyl_way_t way, int is_commutative,
                      xyl_problem_t *problem_out)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    size_t type_bytes = xylem_type_bytes(args->type);

    *problem_out = (xyl_problem_t){
        .coll = args->coll,
        .args = args,
        .rank = team->rank,
        .ranks = team->size,
        .root = traits->has_root ? args->root : 0,
        .count = traits->reduces ? args->count : args->count * type_bytes,
        .element_bytes = traits->reduces ? type_bytes : 1,
        .is_in_place =
            args->send == XYLEM_IN_PLACE || args->recv == XYLEM_IN_PLACE_RECV,
        .is_commutative = is_commutative,
        .has_tag = args->tag != 0,
        .tag_has_board = way.has_board,
        .labels_max =
            args->tag == 0 ? 0 : XYL_TAG_SEQUENCES * XYL_TEAM_SEGMENT_TAGS - 1,
    };
}

/* ---- blocks ---- */

/* The blocks of one side, in the problem's unit. */
typedef struct blocks {
    uint64_t *counts, *displs; /* [ranks], [ranks + 1] */
} blocks_t;

/* `displs` NULL: one behind the other. */
static void blocks_scale(const uint64_t *counts, const uint64_t *displs,
                         uint64_t unit, uint32_t ranks, blocks_t blocks)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < ranks; i++) {
        blocks.counts[i] = counts[i] * unit;
        blocks.displs[i] = displs == NULL ? sum : displs[i] * unit;
        sum += blocks.counts[i];
    }
}

static uint64_t blocks_unit(const xyl_call_t *call, int are_sent)
{
    const xylem_coll_args_t *args = &call->args;

    if (!are_sent && xyl_coll_traits(args->coll)->reduces)
        return 1;
    if (are_sent ? call->sides.send_is_empty : call->sides.recv_is_empty)
        return 0;
    return xylem_type_bytes(!are_sent && args->recv_count != 0 ? args->recv_type
                                                               : args->type);
}

/* 1: all types are predefined, and no displacement is negative. */
static int blocks_are_plain(const uint64_t *displs, const xylem_type_t *types,
                            uint32_t ranks)
{
    uint32_t i = 0;

    while (i < ranks && !xyl_type_is_user(types[i]) &&
           xylem_type_bytes(types[i]) != 0 && displs[i] <= INT64_MAX)
        i++;
    return i == ranks;
}

/* Resolves the blocks of one side of an alltoallw: unless all are plain, they
 * are one element of a layout. */
static xylem_status_t blocks_layout(const xyl_call_t *call,
                                    const uint64_t *counts,
                                    const uint64_t *displs,
                                    const xylem_type_t *types, blocks_t blocks,
                                    const xyl_layout_t **layout_out)
{
    uint32_t i, ranks = call->team->size;
    xylem_status_t status;

    if (blocks_are_plain(displs, types, ranks)) {
        for (i = 0; i < ranks; i++) {
            blocks.counts[i] = counts[i] * xylem_type_bytes(types[i]);
            blocks.displs[i] = displs[i];
        }
        return XYLEM_OK;
    }
    status =
        xyl_types_layout_of_blocks(call->team->context, ranks, counts, displs,
                                   types, blocks.displs, layout_out);
    for (i = 0; status == XYLEM_OK && i < ranks; i++)
        blocks.counts[i] = blocks.displs[i + 1] - blocks.displs[i];
    return status;
}

static xylem_status_t resolve_blocks(xyl_call_t *call, int are_sent,
                                     blocks_t blocks)
{
    const xylem_coll_args_t *args = &call->args;
    const uint64_t *counts = are_sent ? args->send_counts : args->recv_counts;
    const uint64_t *displs = are_sent ? args->send_displs : args->recv_displs;

    if (are_sent) {
        call->problem.send_counts = blocks.counts;
        call->problem.send_displs = blocks.displs;
    } else {
        call->problem.recv_counts = blocks.counts;
        call->problem.recv_displs = blocks.displs;
    }
    if (xyl_coll_traits(args->coll)->has_own_types)
        return blocks_layout(call, counts, displs,
                             are_sent ? args->send_types : args->recv_types,
                             blocks,
                             are_sent ? &call->sides.send : &call->sides.recv);
    blocks_scale(counts, displs, blocks_unit(call, are_sent), call->team->size,
                 blocks);
    return XYLEM_OK;
}

/* In place, the block for a rank lies where the block from that rank goes. */
static void blocks_send_in_place(xyl_call_t *call)
{
    call->problem.send_counts = call->problem.recv_counts;
    call->problem.send_displs = call->problem.recv_displs;
    if (!xyl_coll_traits(call->args.coll)->has_own_types ||
        call->sides.recv == NULL)
        return;
    call->sides.send = call->sides.recv;
    xyl_layout_acquire(call->sides.send);
}

/* ---- the problem ---- */

/* Finds the problem from team, args, combiner and sides; for an alltoallw,
 * whose blocks have types, also the sides. */
static xylem_status_t find_problem(xyl_call_t *call)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->args.coll);
    size_t ranks = call->team->size, side = 2 * ranks + 1;
    int is_root = xyl_args_is_root(&call->args, call->team->rank);
    /* Arrays of counts that matter on this rank. */
    int sends = traits->send_varies && xyl_args_sends(&call->args, is_root);
    int receives =
        traits->recv_varies && xyl_args_receives(&call->args, is_root);
    int in_place = call->args.send == XYLEM_IN_PLACE;
    xylem_status_t status = XYLEM_OK;

    xyl_call_outline(call->team, &call->args, call->way,
                     call->combiner.is_commutative, &call->problem);
    call->problem.combines_sums = call->combiner.binned != NULL;
    call->problem.in_arrival_order = xyl_call_takes_any_order(
        call->team, &call->args, call->combiner.is_commutative);
    if (traits->has_own_types)
        call->problem.count = 0; /* blocks have types of their own */
    if (!sends && !receives)
        return XYLEM_OK;
    call->blocks = malloc(2 * side * sizeof *call->blocks);
    if (call->blocks == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for counts");
    if (receives)
        status = resolve_blocks(call, 0,
                                (blocks_t){call->blocks, call->blocks + ranks});
    if (status == XYLEM_OK && sends && in_place)
        blocks_send_in_place(call);
    else if (status == XYLEM_OK && sends)
        status = resolve_blocks(
            call, 1,
            (blocks_t){call->blocks + side, call->blocks + side + ranks});
    return status;
}

/* ---- in the reproducible order ---- */

/* Puts sums in the place of elements. One plan serves all calls, in place or
 * not, as stages at its ends know the user's buffers. */
static void combine_sums(xyl_call_t *call, const xyl_binned_t *binned)
{
    xylem_coll_args_t *args = &call->args;

    call->combiner = binned->merge;
    call->combiner.binned = binned;
    args->segment_bytes *= binned->bytes / xylem_type_bytes(args->type);
    args->type = XYLEM_TYPE_BLOCK((uint32_t)binned->bytes);
    if (xyl_args_receives(args, xyl_args_is_root(args, call->team->rank)))
        args->send = XYLEM_IN_PLACE;
}

/* Replaces the combiner if bits are to depend on contributions alone. If only a
 * setting asks for such bits, it means all calls of a program. So a call whose
 * operation cannot have such bits keeps its fixed order. */
static xylem_status_t make_reproducible(xyl_call_t *call)
{
    const xylem_team_t *team = call->team;
    xylem_coll_args_t *args = &call->args;
    xylem_op_t op = args->op;
    xylem_type_t type = args->type;
    xyl_kernel_fn extreme = xyl_binned_extreme(op, type);
    const xyl_binned_t *binned;

    if (!xyl_call_is_reproducible(team, args) || xyl_op_is_orderless(op, type))
        return XYLEM_OK;
    binned = xyl_binned_find(op, type, team->size, xyl_isa_best());
    if (binned == NULL && extreme == NULL) {
        if ((args->flags & XYLEM_FLAG_REPRODUCIBLE) == 0)
            return XYLEM_OK;
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "%s: XYLEM_FLAG_REPRODUCIBLE: operation %s on %s has "
                        "no reproducible form among %u ranks; without the flag "
                        "it is combined in a fixed order",
                        xyl_coll_traits(args->coll)->name,
                        op < XYLEM_OP_COUNT ? xylem_op_name(op) : "of a user",
                        xylem_type_name(type), team->size);
    }
    args->flags |= XYLEM_FLAG_ARRIVAL_ORDER;
    if (binned != NULL)
        combine_sums(call, binned);
    else
        call->combiner.kernel = extreme;
    return XYLEM_OK;
}

/* ---- a call ---- */

xylem_status_t xyl_call_pack(xylem_team_t *team, const xylem_coll_args_t *said,
                             xyl_call_t *call_out)
{
    int is_root = xyl_args_is_root(said, team->rank);
    xylem_coll_args_t *args = &call_out->args;

    *call_out = (xyl_call_t){.team = team,
                             .args = *said,
                             .send = said->send,
                             .combiner = {.is_commutative = 1}};
    if (xyl_coll_has_arrays(said->coll))
        xyl_arrays_leave_out(args, is_root);
    if (!xyl_args_receives(said, is_root))
        args->on_segment = NULL;
    return xyl_sides_are_needed(said)
               ? xyl_sides_replace(team, args, &call_out->sides)
               : XYLEM_OK;
}

void xyl_call_to_bytes(xyl_call_t *call)
{
    xylem_coll_args_t *args = &call->args;

    if (xyl_coll_traits(args->coll)->reduces || xyl_coll_varies(args->coll))
        return;
    args->count *= xylem_type_bytes(args->type);
    args->type = XYLEM_BYTE;
    args->recv_count = 0;
}

xylem_status_t xyl_call_resolve(xyl_call_t *call)
{
    int reduces = xyl_coll_traits(call->args.coll)->reduces;
    xylem_status_t status = XYLEM_OK;

    xyl_call_to_bytes(call);
    call->element_bytes = xylem_type_bytes(call->args.type);
    call->word = xyl_word_of_call(&call->args, call->team->size);
    if (reduces)
        status = xyl_combiner_find(call->team->context, &call->args,
                                   &call->combiner);
    if (status == XYLEM_OK && reduces)
        status = make_reproducible(call);
    return status == XYLEM_OK ? find_problem(call) : status;
}

void xyl_call_fini(xyl_call_t *call)
{
    free(call->blocks);
    call->blocks = NULL;
}

void xyl_call_give_up(xyl_call_t *call)
{
    xyl_sides_release(&call->sides);
    xyl_call_fini(call);
}
