/* Reduce and allreduce by pairs: inputs are combined in pairs and pairs with
 * pairs, as their seats come and with the same bits in any order of arrival
 * (pairs.h). In an allreduce all seats copy the result out. The root of a
 * reduce adds its input to the sum of all others if the order of operands does
 * not matter or the root is the first seat; else it copies the result out.
 *
 * Input in memory of xylem_alloc is combined where it lies. In an allreduce its
 * seat waits for the result anyway. In a reduce the seat stays for a while;
 * then it copies what late seats have not combined, and goes. */
#include "collectives/node/programs/parts.h"
#include "collectives/node/sums.h"

/* The fewest cells with which pairs make sense: the homes, and some more. */
static uint64_t cells_min(const xyl_problem_t *problem)
{
    const uint64_t each = XYL_PAIRS_CELLS_OF_WORD;

    return (xyl_pairs_homes(problem->ranks) / each + 2) * each;
}

/* The least length was simulated with one node of 4 to 32 ranks, the most was
 * measured with 2 to 16 ranks on 16 cores, Nov 2026. */
static const xyl_node_cut_t pair_cut = {XYL_PAIRS_SEGMENTS, 32 << 10, 64 << 10};

/* Half of a window is for the result, or a piece of it; the rest for cells. */
static uint64_t pair_segment_of(const xyl_problem_t *problem)
{
    uint64_t room = problem->node.long_window_bytes / 2 / cells_min(problem);
    uint64_t bytes = xyl_node_cut_length(xyl_problem_bytes(problem), pair_cut);

    if (problem->segment_bytes != 0) /* a level passes such segments on */
        return xyl_node_segment(problem->segment_bytes, UINT64_MAX,
                                problem->element_bytes);
    if (bytes > room)
        bytes = room / XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES;
    bytes = xyl_board_whole_lines(bytes);
    return xyl_node_segment(bytes, bytes, problem->element_bytes);
}

/* The most cells that can be in use at any time. */
static uint32_t cells_of(const xyl_problem_t *problem,
                         const xyl_node_program_t *program)
{
    uint64_t most = cells_min(problem) + (uint64_t)program->segments *
                                             xyl_pairs_homes(problem->ranks);

    return most < XYL_PAIRS_CELLS_MAX ? (uint32_t)most
                                      : (uint32_t)XYL_PAIRS_CELLS_MAX;
}

/* The cells that lie in the window: as many as are in use if no seat is late.
 */
static uint32_t near_cells_of(const xyl_problem_t *problem,
                              const xyl_node_program_t *program)
{
    uint64_t left = problem->node.long_window_bytes -
                    xyl_board_whole_lines(program->piece_bytes);
    uint64_t cells = left / xyl_board_whole_lines(program->segment_bytes);
    uint64_t wanted = cells_min(problem) + (uint64_t)program->segments *
                                               xyl_pairs_homes(problem->ranks) *
                                               problem->node.limits->pair_room /
                                               100;

    if (cells > wanted)
        cells = wanted;
    cells = cells / XYL_PAIRS_CELLS_OF_WORD * XYL_PAIRS_CELLS_OF_WORD;
    return cells < cells_of(problem, program) ? (uint32_t)cells
                                              : cells_of(problem, program);
}

/* 1: the root takes no part in the tree, but adds its own input to the sum of
 * the others (docs/inside/node.md, "Seats that are late"). */
static int root_is_apart(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_REDUCE && problem->ranks > 2 &&
           (problem->is_commutative || problem->root == 0);
}

static void pairs_write(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    int is_apart = root_is_apart(problem);
    int collects = is_apart && problem->rank == problem->root;
    xyl_step_t *step;

    program->segment_bytes = pair_segment_of(problem);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem),
                          problem->node.long_window_bytes / 2);
    step = xyl_node_write_sum(problem, program,
                              collects ? XYL_STEP_COLLECT : XYL_STEP_PAIR);
    step->end_seat = problem->ranks - (uint32_t)is_apart;
    step->sum.spares = near_cells_of(problem, program);
    step->sum.cells = cells_of(problem, program);
    program->shares = !problem->node.is_level &&
                      problem->element_bytes <= XYL_NODE_LIES_ELEMENT_MAX &&
                      xyl_node_shares(problem, xyl_problem_bytes(problem));
    program->board_bytes =
        xyl_board_whole_lines(program->piece_bytes) +
        step->sum.spares * xyl_board_whole_lines(program->segment_bytes);
    if (xyl_node_has_result(problem) && !is_apart)
        xyl_node_write_results(problem, program);
}

static const char *pairs_lack(const xyl_problem_t *problem)
{
    if (problem->count == 0)
        return xyl_node_lacks_data;
    /* Each seat would be the root of a message, and wait for all seats. */
    if (problem->node.roots_in_turn && !problem->node.is_for_one)
        return "needs one root at a time";
    /* Half of a window is to have room for the fewest cells. */
    return xyl_board_whole_lines(pair_segment_of(problem)) *
                       cells_min(problem) <=
                   problem->node.long_window_bytes / 2
               ? NULL
               : xyl_node_lacks_room;
}

const xyl_algorithm_t xyl_algorithm_node_reduce_pairs = {
    .name = "node_pairs",
    .help = "ranks are combined in pairs and pairs with pairs as they come",
    XYL_BY_PROGRAM(pairs_write),
    .colls = XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE),
    .lacks = pairs_lack,
};
