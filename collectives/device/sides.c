#include <string.h>

#include "collectives/data/description.h"
#include "collectives/device/plan.h"

static int is_root(const xyl_problem_t *problem)
{
    return problem->rank == problem->root;
}

/* ---- blocks that differ ---- */

/* Fills in one side of the cells, with places from the lowest block on; returns
 * the place of that block. */
static uint64_t cells_fill(const xyl_problem_t *problem, const uint64_t *counts,
                           const uint64_t *displs, xyl_device_cell_t *cell,
                           int sends, uint64_t *bytes_out)
{
    uint64_t low = UINT64_MAX, high = 0;
    uint32_t rank;

    for (rank = 0; rank < problem->ranks; rank++) {
        uint64_t bytes = xyl_block_count(problem, counts, rank);
        uint64_t at = xyl_block_at(problem, displs, rank);
        if (bytes != 0 && at < low)
            low = at;
        if (bytes != 0 && at + bytes > high)
            high = at + bytes;
    }
    if (low > high)
        low = high = 0;
    for (rank = 0; rank < problem->ranks; rank++) {
        uint64_t bytes = xyl_block_count(problem, counts, rank);
        uint64_t at =
            bytes == 0 ? 0 : xyl_block_at(problem, displs, rank) - low;
        if (sends) {
            cell[rank].send_at = at;
            cell[rank].send_bytes = bytes;
        } else {
            cell[rank].recv_at = at;
            cell[rank].recv_bytes = bytes;
        }
    }
    *bytes_out = high - low;
    return low;
}

static void sides_of_cells(xyl_device_plan_t *plan,
                           const xyl_problem_t *problem)
{
    xyl_device_side_t *input = &plan->input, *result = &plan->result;
    xylem_coll_t coll = problem->coll;
    uint64_t own = problem->count;
    int all = coll == XYLEM_COLL_ALLGATHERV;
    uint32_t rank;

    if (problem->recv_counts != NULL) {
        result->at =
            cells_fill(problem, problem->recv_counts, problem->recv_displs,
                       plan->cell, 0, &result->bytes);
        result->has_gaps = 1;
    } else if (coll == XYLEM_COLL_SCATTERV && !problem->is_in_place) {
        result->bytes = own;
        plan->cell[problem->root].recv_bytes = own;
    }
    if (problem->send_counts != NULL) {
        input->at =
            cells_fill(problem, problem->send_counts, problem->send_displs,
                       plan->cell, 1, &input->bytes);
        input->is_copied = coll == XYLEM_COLL_ALLTOALLV && problem->is_in_place;
        return;
    }
    if (coll == XYLEM_COLL_SCATTERV)
        return;
    if (problem->is_in_place && problem->recv_counts != NULL) {
        own = xyl_block_count(problem, problem->recv_counts, problem->rank);
        input->at = xyl_block_at(problem, problem->recv_displs, problem->rank);
    }
    input->bytes = own;
    /* Fills in cells for one block, which goes to the root or to all ranks. */
    for (rank = 0; rank < problem->ranks; rank++)
        plan->cell[rank].send_bytes = all || rank == problem->root ? own : 0;
}

/* ---- reductions of blocks ---- */

static int blocks_find(xyl_device_plan_t *plan, const xyl_problem_t *problem)
{
    uint64_t *counts =
        xyl_arena_array(&plan->operation->request.arena,
                        2 * (size_t)problem->ranks, sizeof *counts);
    uint64_t sum = 0;
    uint32_t rank;

    if (counts == NULL)
        return 0;
    plan->counts = counts;
    plan->places = counts + problem->ranks;
    for (rank = 0; rank < problem->ranks; rank++) {
        counts[rank] = xyl_block_count(problem, problem->recv_counts, rank);
        plan->places[rank] = sum;
        sum += counts[rank];
    }
    plan->input.bytes = sum * plan->element_bytes;
    plan->result.bytes = counts[problem->rank] * plan->element_bytes;
    /* The result would be written where other ranks still read. */
    plan->result.is_copied = problem->is_in_place;
    return 1;
}

/* ---- blocks of one length; all collectives ---- */

static void sides_alike(xyl_device_plan_t *plan, const xyl_problem_t *problem)
{
    xyl_device_side_t *input = &plan->input, *result = &plan->result;
    uint64_t bytes = plan->count * plan->element_bytes;
    uint64_t all = bytes * problem->ranks;
    int in_place = problem->is_in_place;

    switch ((int)problem->coll) {
    case XYLEM_COLL_BCAST:
        input->bytes = is_root(problem) ? bytes : 0;
        result->bytes = is_root(problem) ? 0 : bytes;
        break;
    case XYLEM_COLL_REDUCE:
        input->bytes = bytes;
        result->bytes = is_root(problem) ? bytes : 0;
        break;
    case XYLEM_COLL_EXSCAN:
        input->bytes = bytes;
        result->bytes = problem->rank == 0 ? 0 : bytes;
        break;
    case XYLEM_COLL_ALLGATHER:
    case XYLEM_COLL_GATHER:
        input->at = in_place ? problem->rank * bytes : 0;
        input->bytes = bytes;
        result->bytes =
            problem->coll == XYLEM_COLL_ALLGATHER || is_root(problem) ? all : 0;
        break;
    case XYLEM_COLL_SCATTER:
        input->bytes = is_root(problem) ? all : 0;
        result->bytes = in_place ? 0 : bytes;
        break;
    case XYLEM_COLL_ALLTOALL:
        input->bytes = result->bytes = all;
        input->is_copied = in_place;
        break;
    default: /* allreduce, scan */
        input->bytes = result->bytes = bytes;
    }
}

/* 1: the input lies in the result's buffer. A rank that scatters in place reads
 * its send buffer, as all others do. */
static int reads_where_it_writes(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_BCAST ||
           (problem->is_in_place && problem->coll != XYLEM_COLL_SCATTER &&
            problem->coll != XYLEM_COLL_SCATTERV);
}

int xyl_device_sides_find(xyl_device_plan_t *plan, const xyl_problem_t *problem,
                          const xyl_layout_t *send, const xyl_layout_t *recv)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(problem->coll);

    if (traits->reduces && traits->recv_blocks == 0 &&
        (problem->coll == XYLEM_COLL_REDUCE_SCATTER ||
         problem->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK)) {
        if (!blocks_find(plan, problem))
            return 0;
    } else if (plan->cell != NULL) {
        sides_of_cells(plan, problem);
    } else {
        sides_alike(plan, problem);
    }
    plan->input.layout = reads_where_it_writes(problem) ? recv : send;
    plan->result.layout = recv;
    return 1;
}
