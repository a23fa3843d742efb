#include "collectives/data/call.h"

#include <stdlib.h>

#include "collectives/data/description.h"
#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "runtime/base/status.h"
#include "runtime/core/tags.h"

static int call_is_in_place(const xylem_coll_args_t *args)
{
    return args->send == XYLEM_IN_PLACE || args->recv == XYLEM_IN_PLACE_RECV;
}

void xyl_call_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                      int is_commutative, xyl_problem_t *problem_out)
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
        .is_in_place = call_is_in_place(args),
        .is_commutative = is_commutative,
        .has_tag = args->tag != 0,
        .tag_has_board = (args->flags & XYL_FLAG_ON_BOARD) != 0,
        .labels_max =
            args->tag == 0 ? 0 : XYL_TAG_SEQUENCES * XYL_TEAM_SEGMENT_TAGS - 1,
    };
}

/* ---- blocks ---- */

/* One side's, in the problem's unit. */
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

static uint64_t send_unit(const xyl_call_t *call)
{
    if (call->sides.send_is_empty)
        return 0;
    return xylem_type_bytes(call->args->type);
}

static uint64_t recv_unit(const xyl_call_t *call)
{
    const xylem_coll_args_t *args = call->args;

    if (xyl_coll_traits(args->coll)->reduces)
        return 1;
    if (call->sides.recv_is_empty)
        return 0;
    return xylem_type_bytes(args->recv_count != 0 ? args->recv_type
                                                  : args->type);
}

/* Whether they are all predefined types, and where they are said to be. */
static int blocks_are_plain(const uint64_t *displs, const xylem_type_t *types,
                            uint32_t ranks)
{
    uint32_t i = 0;

    while (i < ranks && !xyl_type_is_user(types[i]) &&
           xylem_type_bytes(types[i]) != 0 && displs[i] <= INT64_MAX)
        i++;
    return i == ranks;
}

/* Of an alltoallw: all blocks of a side are one element of a layout, where some
 * have gaps. */
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
    status = xyl_layout_of_blocks(call->team->context, ranks, counts, displs,
                                  types, blocks.displs, layout_out);
    for (i = 0; status == XYLEM_OK && i < ranks; i++)
        blocks.counts[i] = blocks.displs[i + 1] - blocks.displs[i];
    return status;
}

static xylem_status_t resolve_received(xyl_call_t *call, blocks_t blocks)
{
    const xylem_coll_args_t *args = call->args;

    call->problem.recv_counts = blocks.counts;
    call->problem.recv_displs = blocks.displs;
    if (xyl_coll_traits(args->coll)->has_own_types)
        return blocks_layout(call, args->recv_counts, args->recv_displs,
                             args->recv_types, blocks, &call->sides.recv);
    blocks_scale(args->recv_counts, args->recv_displs, recv_unit(call),
                 call->team->size, blocks);
    return XYLEM_OK;
}

static xylem_status_t resolve_sent(xyl_call_t *call, blocks_t blocks)
{
    const xylem_coll_args_t *args = call->args;

    call->problem.send_counts = blocks.counts;
    call->problem.send_displs = blocks.displs;
    if (xyl_coll_traits(args->coll)->has_own_types)
        return blocks_layout(call, args->send_counts, args->send_displs,
                             args->send_types, blocks, &call->sides.send);
    blocks_scale(args->send_counts, args->send_displs, send_unit(call),
                 call->team->size, blocks);
    return XYLEM_OK;
}

/* What is sent lies where the blocks go that are received. */
static void blocks_send_in_place(xyl_call_t *call)
{
    call->problem.send_counts = call->problem.recv_counts;
    call->problem.send_displs = call->problem.recv_displs;
    if (!xyl_coll_traits(call->args->coll)->has_own_types ||
        call->sides.recv == NULL)
        return;
    call->sides.send = call->sides.recv;
    xyl_layout_acquire(call->sides.send);
}

/* ---- any ---- */

/* Arrays of counts that matter on this rank. */
static int receives_blocks(const xyl_call_t *call)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->args->coll);

    return traits->recv_varies &&
           xyl_side_matters(traits->receives,
                            call->problem.rank == call->problem.root);
}

static int sends_blocks(const xyl_call_t *call)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->args->coll);

    return traits->send_varies &&
           xyl_side_matters(traits->sends,
                            call->problem.rank == call->problem.root);
}

xylem_status_t xyl_call_resolve(xyl_call_t *call)
{
    size_t ranks = call->team->size, side = 2 * ranks + 1;
    int in_place = call->args->send == XYLEM_IN_PLACE;
    xylem_status_t status = XYLEM_OK;
    int sends, receives;

    xyl_call_outline(call->team, call->args, call->combiner.is_commutative,
                     &call->problem);
    if (xyl_coll_traits(call->args->coll)->has_own_types)
        call->problem.count = 0; /* blocks have types of their own */
    sends = sends_blocks(call);
    receives = receives_blocks(call);
    if (!sends && !receives)
        return XYLEM_OK;
    call->blocks = malloc(2 * side * sizeof *call->blocks);
    if (call->blocks == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for counts");
    if (receives)
        status = resolve_received(
            call, (blocks_t){call->blocks, call->blocks + ranks});
    if (status == XYLEM_OK && sends && in_place)
        blocks_send_in_place(call);
    else if (status == XYLEM_OK && sends)
        status = resolve_sent(
            call, (blocks_t){call->blocks + side, call->blocks + side + ranks});
    return status;
}

void xyl_call_fini(xyl_call_t *call)
{
    free(call->blocks);
    call->blocks = NULL;
}
