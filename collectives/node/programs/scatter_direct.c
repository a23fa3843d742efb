/* Scatter(v): the root publishes one block after the other and leaves; each
 * seat copies out its own block. If the others read their blocks in the root's
 * memory, the root stays until all have read. */
#include "collectives/node/programs/parts.h"

/* Only the root has input in the window, in blocks of a piece's length. */
static xyl_position_t scatter_block_in(const xyl_problem_t *problem,
                                       const xyl_node_program_t *program,
                                       uint32_t seat)
{
    return xyl_position_of(XYL_BUFFER_INPUT, problem->root,
                           seat * program->piece_bytes);
}

/* In the root's memory, blocks lie side by side at full length. Blocks that are
 * read there all have one length. */
static uint64_t scatter_further(const xyl_problem_t *problem,
                                const xyl_node_program_t *program,
                                uint32_t seat)
{
    return xyl_problem_bytes(problem) * seat -
           scatter_block_in(problem, program, seat).at;
}

/* In levels only the root knows where blocks lie. The others can read them in
 * its memory if the blocks follow one another. */
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
    xyl_step_t *step = xyl_node_block_step(
        program, kind, scatter_block_in(problem, program, seat),
        xyl_in_send(xyl_node_block_at(problem, seat)),
        xyl_node_block(problem, seat));

    step->further = scatter_further(problem, program, seat);

    step->post = xyl_post_count(distance, seat);
}

static void write_scatter_reader(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    xyl_step_t *step =
        xyl_node_block_step(program, XYL_STEP_COPY, xyl_in_recv(0),
                            scatter_block_in(problem, program, problem->rank),
                            xyl_node_block(problem, problem->rank));

    step->further = scatter_further(problem, program, problem->rank);
    step->wait = xyl_wait_count(
        problem->root,
        (problem->rank + problem->ranks - problem->root) % problem->ranks);
}

static void scatter_direct_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    xyl_step_kind_t kind;
    uint32_t distance;

    xyl_node_plan_blocks(problem, program,
                         problem->node.window_bytes / problem->ranks);
    program->board_bytes = problem->ranks * program->piece_bytes;
    program->shares =
        !xyl_node_is_cut_late(problem) &&
        xyl_node_shares(problem, xyl_problem_bytes(problem) * problem->ranks);
    if (problem->rank != problem->root) {
        write_scatter_reader(problem, program);
        if (program->shares)
            xyl_node_has_read(program, xyl_wait_nothing(), 1);
        return;
    }
    kind = scatter_publishes(problem);
    for (distance = 1; distance < problem->ranks; distance++)
        write_scatter_block(problem, program, kind, distance);
    xyl_node_copy_own(problem, program, xyl_in_recv(0),
                      xyl_in_send(xyl_node_block_at(problem, problem->rank)),
                      program->piece_bytes);
    if (program->shares)
        xyl_node_until_read(program, 1);
}

const xyl_algorithm_t xyl_algorithm_node_scatter_direct = {
    .name = "node_direct",
    .help = "the root publishes the blocks, each rank reads its own",
    XYL_BY_PROGRAM(scatter_direct_write),
    .colls = XYL_COLL_BIT(SCATTER) | XYL_COLL_BIT(SCATTERV),
    .lacks = xyl_node_lengths_lack,
};
