/* Gather(v): each seat hands the root its block (parcel.h). Only these two know
 * the block's length. */
#include "collectives/node/programs/parts.h"

static void gather_parcels_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    uint64_t bytes = xyl_problem_bytes(problem);
    uint32_t i, seat;

    xyl_node_plan_parcels(problem, program);
    xyl_node_leave_caches(problem, program, bytes, bytes);
    if (problem->rank != problem->root) {
        xyl_node_hand(
            program,
            (xyl_transfer_t){xyl_node_form(program, bytes), problem->root},
            xyl_node_line_of(problem->rank), xyl_in_send(0), bytes);
        return;
    }
    if (!problem->is_in_place)
        xyl_node_strand(program);
    xyl_node_copy_own(problem, program,
                      xyl_in_recv(xyl_node_block_at(problem, problem->rank)),
                      xyl_in_send(0), xyl_node_block(problem, problem->rank));
    for (i = 1; i < problem->ranks; i++) {
        seat = (problem->root + i) % problem->ranks;
        bytes = xyl_node_block(problem, seat);
        xyl_node_strand(program);
        xyl_node_take(program,
                      (xyl_transfer_t){xyl_node_form(program, bytes), seat},
                      xyl_node_line_of(seat),
                      xyl_in_recv(xyl_node_block_at(problem, seat)), bytes);
    }
}

const xyl_algorithm_t xyl_algorithm_node_gather_parcels = {
    .name = "node_parcels",
    .help = "each rank hands the root its block by a line between the two",
    XYL_BY_PROGRAM(gather_parcels_write),
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(GATHERV),
    .lacks = xyl_node_parcels_lack,
};
