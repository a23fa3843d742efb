/* Reduce and allreduce in the order of arrival, with one buffer in the window
 * instead of one per seat (combine.h). In a reduce every seat but the root adds
 * to the buffer and leaves, and the root adds last. In an allreduce all seats
 * add to the buffer, and copy out the full sums. */
#include "collectives/node/programs/parts.h"

/* Two seats need no spare: in a reduce only one adds to the buffer, and in an
 * allreduce each waits for the other anyway. */
static uint32_t spares_of(const xyl_problem_t *problem)
{
    if (problem->ranks <= 2)
        return 0;
    return problem->ranks < XYL_COMBINE_SPARES_MAX ? problem->ranks
                                                   : XYL_COMBINE_SPARES_MAX;
}

/* Measured with 2 to 16 ranks on 16 cores, Nov 2026. */
static const xyl_node_cut_t sum_cut = {32, 8 << 10, 128 << 10};

/* Sums begin at multiples of a line, as do spares. */
static void accumulator_write(const xyl_problem_t *problem,
                              xyl_node_program_t *program)
{
    uint64_t window = problem->node.window_bytes / 128 * 128, spare_bytes;
    uint32_t spares = spares_of(problem);
    int collects =
        problem->coll == XYLEM_COLL_REDUCE && problem->rank == problem->root;

    program->segment_bytes = xyl_node_segment_of(
        problem, sum_cut, window / (spares + 1) / 128 * 128);
    spare_bytes = xyl_board_whole_lines(program->segment_bytes);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem),
                          window - spares * spare_bytes);
    program->board_bytes =
        xyl_board_whole_lines(program->piece_bytes) + spares * spare_bytes;
    xyl_node_write_sum(problem, program,
                       collects ? XYL_STEP_COLLECT : XYL_STEP_COMBINE)
        ->sum.spares = spares;
    if (problem->coll == XYLEM_COLL_ALLREDUCE)
        xyl_node_write_results(problem, program);
}

static const char *accumulator_lacks(const xyl_problem_t *problem)
{
    if (problem->count == 0)
        return xyl_node_lacks_data;
    return problem->in_arrival_order
               ? NULL
               : "combines in the order of arrival: XYLEM_REDUCE_ORDER=arrival";
}

const xyl_algorithm_t xyl_algorithm_node_reduce_accumulator = {
    .name = "node_accumulator",
    .help = "all ranks add to one sum as they come",
    XYL_BY_PROGRAM(accumulator_write),
    .colls = XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE),
    .lacks = accumulator_lacks,
};
