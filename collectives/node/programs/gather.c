/* Gather(v): every seat publishes its block, the root copies them out as they
 * come. Where a block is read where it lies, its seat waits for the root.
 * Blocks whose lengths vary are handed to the root. */
#include "collectives/node/programs/parts.h"

static void write_gather_own(const xyl_problem_t *problem,
                             xyl_node_program_t *program)
{
    xyl_step_t *step;

    if (problem->is_in_place)
        return;
    xyl_node_strand(program);
    step = xyl_node_step(
        program, XYL_STEP_COPY,
        xyl_position_of(XYL_BUFFER_RECV, 0,
                        xyl_node_block_at(problem, problem->rank)),
        xyl_position_of(XYL_BUFFER_SEND, 0, 0), program->piece_bytes);
    step->total = xyl_node_block(problem, problem->rank);
    if (xyl_node_hands(problem))
        step->bytes = step->total;
}

static void gather_by_hand(const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    uint32_t i, seat;

    xyl_node_plan_parcels(problem, program);
    xyl_node_hand_over(problem, program, xyl_problem_bytes(problem),
                       xyl_problem_bytes(problem));
    if (problem->rank != problem->root) {
        (void)xyl_node_hand(program, problem->rank, problem->root,
                            xyl_position_of(XYL_BUFFER_SEND, 0, 0),
                            xyl_problem_bytes(problem));
        return;
    }
    write_gather_own(problem, program);
    for (i = 1; i < problem->ranks; i++) {
        seat = (problem->root + i) % problem->ranks;
        xyl_node_strand(program);
        (void)xyl_node_take(program, seat, seat,
                            xyl_position_of(XYL_BUFFER_RECV, 0,
                                            xyl_node_block_at(problem, seat)),
                            xyl_node_block(problem, seat));
    }
}

static void gather_write(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    uint32_t i;

    if (xyl_node_hands(problem)) {
        gather_by_hand(problem, program);
        return;
    }
    if (xyl_node_is_cut_late(problem)) {
        xyl_node_plan_blocks(problem, program,
                             problem->node.window_bytes / problem->ranks);
        program->input_bytes = program->piece_bytes;
    } else {
        xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
        program->shares = program->input_bytes != 0 &&
                          xyl_node_shares(problem, xyl_problem_bytes(problem));
    }
    xyl_node_hand_over(problem, program, xyl_problem_bytes(problem),
                       xyl_problem_bytes(problem));
    if (problem->rank != problem->root) {
        xyl_node_publish(problem, program,
                         xyl_position_of(XYL_BUFFER_SEND, 0, 0),
                         xyl_problem_bytes(problem), problem->root);
        if (program->shares)
            xyl_node_until_read_by(program, problem->root, 1);
        return;
    }
    write_gather_own(problem, program);
    for (i = 1; i < problem->ranks; i++)
        xyl_node_fetch(problem, program, (problem->root + i) % problem->ranks);
    if (!program->shares)
        return;
    xyl_node_strand(program);
    xyl_node_has_read(problem, program, XYL_WAIT_STRANDS, 0, 1);
}

const xyl_algorithm_t xyl_algorithm_node_gather = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(GATHERV),
    .program = gather_write,
};
