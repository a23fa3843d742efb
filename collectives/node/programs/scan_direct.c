/* Scan and exscan of short messages: every seat publishes its contribution and
 * combines the contributions of the seats before it; in a scan also its own. */
#include "collectives/node/programs/parts.h"

static void scan_direct_write(const xyl_problem_t *problem,
                              xyl_node_program_t *program)
{
    uint32_t end = problem->rank + (uint32_t)xyl_node_is_scan(problem);
    uint32_t seat;

    xyl_node_scan_plan(problem, problem->node.limits->scan_piece, program);
    xyl_node_publish(problem, program, xyl_in_send(0),
                     xyl_problem_bytes(problem), XYL_BOARD_ALL);
    for (seat = 0; seat < end; seat++)
        (void)xyl_node_signal(program, xyl_wait_count(seat, 1),
                              xyl_post_nothing());
    xyl_node_block_step(program, XYL_STEP_REDUCE, xyl_in_recv(0),
                        xyl_node_published(program, 0),
                        xyl_problem_bytes(problem))
        ->end_seat = end;
}

const xyl_algorithm_t xyl_algorithm_node_scan_direct = {
    .name = "node_direct",
    .help = "each rank publishes its input and combines that of all before it",
    XYL_BY_PROGRAM(scan_direct_write),
    .colls = XYL_COLL_BIT(SCAN) | XYL_COLL_BIT(EXSCAN),
};
