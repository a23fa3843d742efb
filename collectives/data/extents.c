#include "collectives/data/extents.h"

#include "collectives/data/description.h"

uint32_t xyl_extents_most(const xyl_call_t *call)
{
    uint32_t sources = call->args.source_count;

    return (call->team->size > sources ? call->team->size : sources) + 1;
}

static void runs_add(xyl_extents_t *extents, uint64_t at, uint64_t bytes)
{
    xyl_run_t *last = extents->runs + extents->count;

    if (bytes == 0)
        return;
    if (extents->count != 0 && last[-1].at + last[-1].bytes == at)
        last[-1].bytes += bytes;
    else
        extents->runs[extents->count++] = (xyl_run_t){at, bytes};
}

static void runs_add_blocks(xyl_extents_t *extents,
                            const xyl_problem_t *problem,
                            const uint64_t *counts, const uint64_t *displs)
{
    uint32_t rank;

    for (rank = 0; rank < problem->ranks; rank++)
        runs_add(extents, xyl_block_at(problem, displs, rank),
                 xyl_block_count(problem, counts, rank));
}

static void extend(xyl_extents_t *extents, int64_t low, int64_t high)
{
    if (low < extents->low)
        extents->low = low;
    if (high > extents->high)
        extents->high = high;
}

/* A run's other elements lie between its first and its last. */
static void find_span(xyl_extents_t *extents)
{
    static const xyl_layout_t bytes = {.bytes = 1, .extent = 1, .high = 1};
    const xyl_layout_t *layout =
        extents->layout == NULL ? &bytes : extents->layout;
    uint32_t i;

    for (i = 0; i < extents->count; i++) {
        const xyl_run_t *run = &extents->runs[i];
        int64_t first = (int64_t)(run->at / layout->bytes);
        int64_t last = (int64_t)((run->at + run->bytes - 1) / layout->bytes);
        extend(extents, first * layout->extent + layout->low,
               first * layout->extent + layout->high);
        extend(extents, last * layout->extent + layout->low,
               last * layout->extent + layout->high);
    }
}

static uint64_t packed_total(const uint64_t *counts, uint32_t ranks)
{
    uint64_t sum = 0;
    uint32_t rank;

    for (rank = 0; rank < ranks; rank++)
        sum += counts[rank];
    return sum;
}

/* Bytes of a message, or of a block if all have one length. The problem's
 * elements may be sums (data/binned.h). */
static uint64_t unit_of(const xyl_call_t *call)
{
    return xyl_coll_traits(call->args.coll)->reduces
               ? call->args.count * call->element_bytes
               : call->problem.count;
}

static xyl_extents_t extents_begin(const xyl_layout_t *layout, xyl_run_t *runs)
{
    return (xyl_extents_t){
        .layout = layout, .runs = runs, .low = INT64_MAX, .high = INT64_MIN};
}

/* ---- input ---- */

/* The input in place, for collectives whose result has a block from each rank:
 * the rank's own block. */
static void runs_of_own_block(const xyl_call_t *call, uint64_t unit,
                              xyl_extents_t *extents)
{
    const xyl_problem_t *problem = &call->problem;
    uint32_t rank = problem->rank;

    if (xyl_coll_traits(problem->coll)->recv_varies)
        runs_add(extents, xyl_block_at(problem, problem->recv_displs, rank),
                 xyl_block_count(problem, problem->recv_counts, rank));
    else
        runs_add(extents, unit * rank, unit);
}

static void runs_of_input(const xyl_call_t *call, xyl_extents_t *extents)
{
    const xylem_coll_args_t *args = &call->args;
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    const xyl_problem_t *problem = &call->problem;
    uint64_t unit = unit_of(call);

    if (call->send == XYLEM_IN_PLACE && traits->recv_blocks &&
        !traits->send_blocks)
        runs_of_own_block(call, unit, extents);
    else if (traits->send_varies)
        runs_add_blocks(extents, problem, problem->send_counts,
                        problem->send_displs);
    else if (traits->reduces && traits->recv_varies)
        runs_add(extents, 0,
                 call->element_bytes *
                     packed_total(args->recv_counts, problem->ranks));
    else
        runs_add(extents, 0,
                 traits->send_blocks ? unit * problem->ranks : unit);
}

void xyl_extents_of_input(const xyl_call_t *call, xyl_run_t *runs,
                          xyl_extents_t *extents_out)
{
    const xylem_coll_args_t *args = &call->args;
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    int is_root = xyl_args_is_root(args, call->team->rank);
    int is_in_place =
        traits->sends == XYL_SIDE_NOBODY || call->send == XYLEM_IN_PLACE;
    xyl_extents_t extents =
        extents_begin(is_in_place ? call->sides.recv : call->sides.send, runs);

    if (xyl_coll_has_input(args->coll, is_root) &&
        (traits->sends == XYL_SIDE_NOBODY || xyl_args_sends(args, is_root)))
        runs_of_input(call, &extents);
    find_span(&extents);
    *extents_out = extents;
}

/* ---- result ---- */

static void runs_of_result(const xyl_call_t *call, xyl_extents_t *extents)
{
    const xylem_coll_args_t *args = &call->args;
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    const xyl_problem_t *problem = &call->problem;
    uint64_t unit = unit_of(call);
    uint32_t i;

    if (traits->has_neighbors && args->recv_count != 0)
        unit = args->recv_count * xylem_type_bytes(args->recv_type);
    if (traits->reduces && traits->recv_varies)
        runs_add(extents, 0,
                 args->recv_counts[problem->rank] * call->element_bytes);
    else if (traits->recv_varies)
        runs_add_blocks(extents, problem, problem->recv_counts,
                        problem->recv_displs);
    else if (traits->has_neighbors)
        for (i = 0; i < args->source_count; i++)
            runs_add(extents, args->sources[i] == UINT32_MAX ? 0 : unit * i,
                     args->sources[i] == UINT32_MAX ? 0 : unit);
    else
        runs_add(extents, 0,
                 traits->recv_blocks ? unit * problem->ranks : unit);
}

void xyl_extents_of_result(const xyl_call_t *call, xyl_run_t *runs,
                           xyl_extents_t *extents_out)
{
    const xylem_coll_args_t *args = &call->args;
    int is_root = xyl_args_is_root(args, call->team->rank);
    xyl_extents_t extents = extents_begin(call->sides.recv, runs);

    if (xyl_args_receives(args, is_root) && args->recv != XYLEM_IN_PLACE_RECV &&
        !(args->coll == XYLEM_COLL_EXSCAN && call->team->rank == 0) &&
        !(args->coll == XYLEM_COLL_BCAST && is_root))
        runs_of_result(call, &extents);
    find_span(&extents);
    *extents_out = extents;
}
