/* Gatherv: each seat hands the root its block (parcel.h). Only these two know
 * the block's length. */
#include "collectives/node/programs/parts.h"

static void hand_gather_block(const xyl_problem_t *problem,
                              xyl_node_program_t *program)
{
    uint64_t bytes = xyl_problem_bytes(problem);
    const xyl_transfer_t to_root = {xyl_node_form(program, bytes),
                                    problem->root};

    xyl_node_hand(program, to_root, xyl_node_line_of(problem->rank),
                  xyl_position_of(XYL_BUFFER_SEND, 0, 0), bytes);
}

static void take_gather_block(const xyl_problem_t *problem,
                              xyl_node_program_t *program, uint32_t seat)
{
    uint64_t bytes = xyl_node_block(problem, seat);
    const xyl_transfer_t from_seat = {xyl_node_form(program, bytes), seat};

    xyl_node_take(
        program, from_seat, xyl_node_line_of(seat),
        xyl_position_of(XYL_BUFFER_RECV, 0, xyl_node_block_at(problem, seat)),
        bytes);
}

static void gather_parcels_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    uint32_t i, seat;

    xyl_node_plan_parcels(problem, program);
    xyl_node_hand_over(problem, program, xyl_problem_bytes(problem),
                       xyl_problem_bytes(problem));
    if (problem->rank != problem->root) {
        hand_gather_block(problem, program);
        return;
    }
    xyl_node_gather_own(problem, program,
                        xyl_node_block(problem, problem->rank));
    for (i = 1; i < problem->ranks; i++) {
        seat = (problem->root + i) % problem->ranks;
        xyl_node_strand(program);
        take_gather_block(problem, program, seat);
    }
}

const xyl_algorithm_t xyl_algorithm_node_gather_parcels = {
    .name = "node_parcels",
    .help = "each rank hands the root its block by a line between the two",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(GATHERV),
    .lacks = xyl_node_parcels_lack,
    .program = gather_parcels_write,
};
