/* Scatter(v): the root publishes one block after the other and leaves; each
 * seat copies out its own. Where the root's blocks are read where they lie, it
 * stays until all have. Blocks whose lengths vary, short ones and long ones are
 * handed: then each seat looks at a line of its own. */
#include "collectives/node/parcel.h"
#include "collectives/node/programs/parts.h"

/* Blocks that all know to be short take no window. */
static int are_in_lines(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_SCATTER &&
           xyl_problem_bytes(problem) <= XYL_PARCEL_SHORT;
}

/* Its receiver reads it where it lies: instead of the root copying all of them,
 * one after the other, all copy at once. Where they differ, as if they did not.
 */
static int is_read_there(const xyl_problem_t *problem, uint64_t block)
{
    return !problem->node.is_level &&
           block * (problem->ranks - 1) >= problem->node.limits->parcel_read &&
           block > xyl_node_cell(problem);
}

static int scatters_by_hand(const xyl_problem_t *problem)
{
    return are_in_lines(problem) || xyl_node_hands(problem) ||
           (problem->coll == XYLEM_COLL_SCATTER &&
            is_read_there(problem, xyl_problem_bytes(problem)));
}

/* The root alone has input in the window: blocks as long as a piece has them.
 */
static xyl_position_t scatter_block_in(const xyl_problem_t *problem,
                                       const xyl_node_program_t *program,
                                       uint32_t seat)
{
    return xyl_position_of(XYL_BUFFER_INPUT, problem->root,
                           seat * program->piece_bytes);
}

/* Where it lies it has them as long as they are, and all alike if it is
 * shared. */
static uint64_t scatter_further(const xyl_problem_t *problem,
                                const xyl_node_program_t *program,
                                uint32_t seat)
{
    return xyl_problem_bytes(problem) * seat -
           scatter_block_in(problem, program, seat).at;
}

/* In levels the root alone knows where blocks lie. The others read them where
 * they lie if they follow one another. */
static xyl_step_kind_t scatter_publishes(const xyl_problem_t *problem)
{
    uint64_t first = xyl_node_block_at(problem, 0);
    uint32_t seat;

    for (seat = 1; seat < problem->ranks; seat++)
        if (xyl_node_block_at(problem, seat) !=
            first + xyl_problem_bytes(problem) * seat)
            return XYL_STEP_COPY;
    return XYL_STEP_PUBLISH;
}

static void write_scatter_block(const xyl_problem_t *problem,
                                xyl_node_program_t *program,
                                xyl_step_kind_t kind, uint32_t distance)
{
    uint32_t seat = (problem->root + distance) % problem->ranks;
    xyl_step_t *step = xyl_node_step(
        program, kind, scatter_block_in(problem, program, seat),
        xyl_position_of(XYL_BUFFER_SEND, 0, xyl_node_block_at(problem, seat)),
        program->piece_bytes);

    step->further = scatter_further(problem, program, seat);
    step->total = xyl_node_block(problem, seat);
    step->post = XYL_POST_COUNT;
    step->post_value = distance;
    step->post_seat = seat;
}

static void write_scatter_own(const xyl_problem_t *problem,
                              xyl_node_program_t *program)
{
    xyl_step_t *step;

    if (problem->is_in_place)
        return;
    step = xyl_node_step(
        program, XYL_STEP_COPY, xyl_position_of(XYL_BUFFER_RECV, 0, 0),
        xyl_position_of(XYL_BUFFER_SEND, 0,
                        xyl_node_block_at(problem, problem->rank)),
        program->piece_bytes);
    step->total = xyl_node_block(problem, problem->rank);
    if (scatters_by_hand(problem))
        step->bytes = step->total;
}

static void write_scatter_reader(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    xyl_step_t *step = xyl_node_step(
        program, XYL_STEP_COPY, xyl_position_of(XYL_BUFFER_RECV, 0, 0),
        scatter_block_in(problem, program, problem->rank),
        program->piece_bytes);

    step->further = scatter_further(problem, program, problem->rank);
    step->total = xyl_node_block(problem, problem->rank);
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = problem->root;
    step->wait_for =
        (problem->rank + problem->ranks - problem->root) % problem->ranks;
}

static void hand_scatter_block(const xyl_problem_t *problem,
                               xyl_node_program_t *program, uint32_t seat)
{
    xyl_step_t *step = xyl_node_hand(
        program, seat, seat,
        xyl_position_of(XYL_BUFFER_SEND, 0, xyl_node_block_at(problem, seat)),
        xyl_node_block(problem, seat));

    step->offers = is_read_there(problem, xyl_node_block(problem, seat));
    program->offers |= step->offers;
}

/* A block that has to go in parts may wait for its seat, and nothing else does.
 */
static void scatter_by_hand(const xyl_problem_t *problem,
                            xyl_node_program_t *program)
{
    uint32_t distance, seat;
    int go_in_parts;

    xyl_node_plan_parcels(problem, program);
    if (are_in_lines(problem))
        program->cell = program->cells = program->input_bytes = 0;
    if (problem->rank != problem->root) {
        (void)xyl_node_take(program, problem->rank, problem->root,
                            xyl_position_of(XYL_BUFFER_RECV, 0, 0),
                            xyl_node_block(problem, problem->rank));
        return;
    }
    go_in_parts = !are_in_lines(problem) &&
                  xyl_node_block_max(problem) > program->input_bytes;
    for (distance = 1; distance < problem->ranks; distance++) {
        seat = (problem->root + distance) % problem->ranks;
        if (go_in_parts)
            xyl_node_strand(program);
        hand_scatter_block(problem, program, seat);
    }
    if (go_in_parts)
        xyl_node_strand(program);
    write_scatter_own(problem, program);
}

static void scatter_write(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    xyl_step_kind_t kind;
    uint32_t distance;

    if (scatters_by_hand(problem)) {
        scatter_by_hand(problem, program);
        return;
    }

    xyl_node_plan_blocks(problem, program,
                         problem->node.window_bytes / problem->ranks);
    program->board_bytes = problem->ranks * program->piece_bytes;
    program->shares =
        !xyl_node_is_cut_late(problem) &&
        xyl_node_shares(problem, xyl_problem_bytes(problem) * problem->ranks);
    if (problem->rank != problem->root) {
        write_scatter_reader(problem, program);
        if (program->shares)
            xyl_node_has_read(problem, program, XYL_WAIT_NOTHING, 0, 1);
        return;
    }
    kind = scatter_publishes(problem);
    for (distance = 1; distance < problem->ranks; distance++)
        write_scatter_block(problem, program, kind, distance);
    write_scatter_own(problem, program);
    if (program->shares)
        xyl_node_until_read(program, 1);
}

const xyl_algorithm_t xyl_algorithm_node_scatter = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(SCATTER) | XYL_COLL_BIT(SCATTERV),
    .program = scatter_write,
};
