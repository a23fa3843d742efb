#include "collectives/levels/relay.h"
#include "collectives/node/programs/parts.h"

/* The root's input is copied into the window, not read where it lies, because
 * it is sent on from the window. A seat with a relay has a gate. */
static void write_segments(const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    int publishes = problem->node.is_at_root && problem->rank == problem->root;
    uint32_t segment;

    xyl_node_bcast_cut(problem, program);
    for (segment = 0; segment < program->segments; segment++)
        (void)xyl_node_bcast_segment(problem, program, segment, publishes);
    if (!problem->node.has_relay)
        return;
    xyl_node_strand(program);
    xyl_node_signal(program, xyl_wait_nothing(), xyl_post_nothing())->kind =
        XYL_STEP_GATE;
}

const xyl_algorithm_t xyl_relay_program = {
    .name = "relay",
    .help = "through the memory of a node, from where it is sent on",
    XYL_BY_PROGRAM(write_segments),
    .colls = XYL_COLL_BIT(BCAST),
};
