#include "collectives/schedules/exchange.h"

#include "collectives/data/description.h"
#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "collectives/levels/han.h"
#include "collectives/node/node.h"
#include "collectives/stages/exchange_stage.h"
#include "runtime/base/status.h"

/* ---- the problem ---- */

static int is_in_place(const xylem_coll_args_t *args)
{
    return args->send == XYLEM_IN_PLACE || args->recv == XYLEM_IN_PLACE_RECV;
}

/* Both sides of a message in one unit: elements where the types are the same,
 * else bytes. */
static int has_one_type(const xylem_coll_args_t *args)
{
    return args->recv_count == 0 || args->recv_type == args->type;
}

void xyl_problem_outline(xylem_team_t *team, const xylem_coll_args_t *args,
                         int is_commutative, xyl_problem_t *problem_out)
{
    size_t element_bytes = xylem_type_bytes(args->type);

    *problem_out = (xyl_problem_t){
        .coll = args->coll,
        .rank = team->rank,
        .ranks = team->size,
        .root = xyl_coll_traits(args->coll)->has_root ? args->root : 0,
        .count = args->count,
        .element_bytes = element_bytes == 0 ? 1 : element_bytes,
        .is_in_place = is_in_place(args),
        .is_commutative = is_commutative,
    };
    problem_out->shares_memory = xyl_node_is_possible(team, problem_out);
    problem_out->fills_nodes = team->is_one_node || xyl_han_keeps_order(team);
    if (has_one_type(args))
        return;
    problem_out->count *= element_bytes;
    problem_out->element_bytes = 1;
}

/* Counts or displacements in the problem's unit; NULL when there is no memory.
 * `from` NULL: the sums of `counts` before each. */
static const uint64_t *array_of(xyl_operation_t *operation,
                                const uint64_t *from, uint64_t unit,
                                const uint64_t *counts)
{
    uint32_t i, ranks = operation->request.team->size;
    uint64_t *array, sum = 0;

    if (from != NULL && unit == 1)
        return from;
    array = xyl_arena_array(&operation->request.arena, ranks, sizeof *array);
    for (i = 0; array != NULL && i < ranks; i++) {
        array[i] = from != NULL ? from[i] * unit : sum;
        sum += counts[i];
    }
    return array;
}

/* Fills in one side's blocks. */
static xylem_status_t add_blocks(xyl_operation_t *operation, uint64_t unit,
                                 const uint64_t *counts, const uint64_t *displs,
                                 const uint64_t **counts_out,
                                 const uint64_t **displs_out)
{
    *counts_out = array_of(operation, counts, unit, counts);
    if (*counts_out != NULL)
        *displs_out = array_of(operation, displs, unit, *counts_out);
    if (*counts_out == NULL || *displs_out == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for counts");
    return XYLEM_OK;
}

/* One side of an alltoallw: all its blocks are one element of a layout, and the
 * problem is in packed bytes. */
static xylem_status_t
add_typed_blocks(xyl_operation_t *operation, const uint64_t *counts,
                 const uint64_t *displs, const xylem_type_t *types,
                 const xyl_layout_t **layout_out, const uint64_t **counts_out,
                 const uint64_t **displs_out)
{
    uint32_t i, ranks = operation->request.team->size;
    xyl_arena_t *arena = &operation->request.arena;
    uint64_t *packed = xyl_arena_array(arena, ranks + 1, sizeof *packed);
    uint64_t *bytes = xyl_arena_array(arena, ranks, sizeof *bytes);
    xylem_status_t status;

    if (packed == NULL || bytes == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for counts");
    status = xyl_layout_of_blocks(operation->request.context, ranks, counts,
                                  displs, types, packed, layout_out);
    if (status != XYLEM_OK)
        return status;
    for (i = 0; i < ranks; i++)
        bytes[i] = packed[i + 1] - packed[i];
    *counts_out = bytes;
    *displs_out = packed;
    return XYLEM_OK;
}

static xylem_status_t add_all_typed_blocks(xyl_operation_t *operation,
                                           const xylem_coll_args_t *args,
                                           xyl_problem_t *problem)
{
    xylem_status_t status = add_typed_blocks(
        operation, args->recv_counts, args->recv_displs, args->recv_types,
        &xyl_collective_of(operation)->sides.recv, &problem->recv_counts,
        &problem->recv_displs);

    problem->element_bytes = 1;
    problem->count = 0;
    if (status != XYLEM_OK)
        return status;
    if (args->send != XYLEM_IN_PLACE)
        return add_typed_blocks(operation, args->send_counts, args->send_displs,
                                args->send_types,
                                &xyl_collective_of(operation)->sides.send,
                                &problem->send_counts, &problem->send_displs);
    xyl_collective_of(operation)->sides.send =
        xyl_collective_of(operation)->sides.recv;
    xyl_layout_acquire(xyl_collective_of(operation)->sides.send);
    problem->send_counts = problem->recv_counts;
    problem->send_displs = problem->recv_displs;
    return XYLEM_OK;
}

static xylem_status_t add_all_blocks(xyl_operation_t *operation,
                                     const xylem_coll_args_t *args,
                                     xyl_problem_t *problem)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    uint64_t send_unit = 1, recv_unit = 1;
    xylem_status_t status = XYLEM_OK;

    if (!has_one_type(args)) {
        send_unit = xylem_type_bytes(args->type);
        recv_unit = xylem_type_bytes(args->recv_type);
    }
    if (xyl_collective_of(operation)->sides.send_is_empty)
        send_unit = 0;
    if (xyl_collective_of(operation)->sides.recv_is_empty)
        recv_unit = 0;
    if (traits->send_varies && args->send_counts != NULL &&
        args->send != XYLEM_IN_PLACE)
        status = add_blocks(operation, send_unit, args->send_counts,
                            args->send_displs, &problem->send_counts,
                            &problem->send_displs);
    if (status == XYLEM_OK && traits->recv_varies && args->recv_counts != NULL)
        status = add_blocks(operation, recv_unit, args->recv_counts,
                            args->recv_displs, &problem->recv_counts,
                            &problem->recv_displs);
    if (traits->send_varies && args->send == XYLEM_IN_PLACE) {
        problem->send_counts = problem->recv_counts;
        problem->send_displs = problem->recv_displs;
    }
    return status;
}

/* ---- the operation ---- */

static xylem_status_t add_stage(xyl_operation_t *operation,
                                const xyl_algorithm_t *algorithm,
                                const xyl_problem_t *problem)
{
    xyl_schedule_t schedule;
    xylem_status_t status;

    xyl_schedule_init(&schedule, problem->element_bytes);
    algorithm->write(problem, &schedule);
    status = xyl_schedule_status(&schedule);
    if (status == XYLEM_OK)
        status = xyl_exchange_stage_add(operation, 0, &schedule);
    if (status == XYLEM_OK)
        status = xyl_exchange_stage_layouts(
            operation->lane[0], xyl_collective_of(operation)->sides.send,
            xyl_collective_of(operation)->sides.recv);
    xyl_schedule_fini(&schedule);
    return status;
}

xylem_status_t xyl_frame_create(xylem_team_t *team,
                                const xylem_coll_args_t *args,
                                size_t segment_bytes,
                                xyl_operation_t **operation_out)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    xylem_coll_args_t frame = *args;
    xyl_plan_t plan = {.tree = XYLEM_TREE_AUTO};
    int is_root = traits->has_root && team->rank == args->root;
    int has_input = args->coll == XYLEM_COLL_BCAST
                        ? is_root
                        : traits->sends == XYL_SIDE_ALL || is_root;

    frame.count = args->count * xylem_type_bytes(args->type);
    if (traits->recv_blocks && !traits->recv_varies &&
        (traits->receives == XYL_SIDE_ALL || is_root))
        frame.count *= team->size;
    frame.type = XYLEM_BYTE;
    plan.segment_bytes = segment_bytes;
    if (segment_bytes == 0)
        plan.segment_bytes = frame.count == 0 ? 1 : frame.count;
    return xyl_collective_create(team, &frame, &plan, has_input, operation_out);
}

xylem_status_t
xyl_exchange_create(xylem_team_t *team, const xylem_coll_args_t *args,
                    const xyl_sides_t *sides, const xyl_combiner_t *combiner,
                    const xyl_choice_t *choice, xyl_operation_t **operation_out)
{
    xyl_operation_t *operation;
    xyl_problem_t problem;
    xylem_status_t status = xyl_frame_create(team, args, 0, &operation);

    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(operation)->combiner = *combiner;
    xyl_problem_outline(team, args, combiner->is_commutative, &problem);
    problem.radix = choice->radix;
    problem.segment_count = choice->segment_bytes / problem.element_bytes;
    if (args->coll == XYLEM_COLL_ALLTOALLW) {
        status = add_all_typed_blocks(operation, args, &problem);
    } else {
        xyl_collective_of(operation)->sides = *sides;
        status = add_all_blocks(operation, args, &problem);
    }
    if (status == XYLEM_OK)
        status = add_stage(operation, choice->algorithm, &problem);
    if (status != XYLEM_OK) {
        if (args->coll != XYLEM_COLL_ALLTOALLW)
            xyl_collective_of(operation)->sides =
                (xyl_sides_t){.send = NULL}; /* the caller's */
        xyl_request_discard(&operation->request);
        return status;
    }
    xyl_collective_bind(operation, args);
    *operation_out = operation;
    return XYLEM_OK;
}
