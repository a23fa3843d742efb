#include "collectives/levels/relay.h"
#include "collectives/node/programs/parts.h"

/* On the root's node the root publishes segments, on others relays do. The
 * root's input is not read where it lies, as it is sent on from the window. */
static void write_segments(const xyl_problem_t *problem,
                           xyl_node_program_t *program, int has_root,
                           int has_relay)
{
    int publishes = has_root && problem->rank == problem->root;
    uint32_t segment;

    xyl_node_bcast_cut(problem, program);
    for (segment = 0; segment < program->segments; segment++)
        (void)xyl_node_bcast_segment(problem, program, segment, publishes);
    if (!has_relay)
        return;
    xyl_node_strand(program);
    xyl_node_signal(program, xyl_wait_nothing(), xyl_post_nothing())->kind =
        XYL_STEP_GATE;
}

/* Functions that write a program, with a gate if this seat has a relay. */
#define WRITE(name, has_root, has_relay)                                       \
    static void name(const xyl_problem_t *problem,                             \
                     xyl_node_program_t *program)                              \
    {                                                                          \
        write_segments(problem, program, has_root, has_relay);                 \
    }
WRITE(write_copies, 0, 0)
WRITE(write_copies_with_gate, 0, 1)
WRITE(write_root, 1, 0)
WRITE(write_root_with_gate, 1, 1)

#define RELAY_PROGRAM(write)                                                   \
    {                                                                          \
        .name = "relay",                                                       \
        .help = "through the memory of a node, from where it is sent on",      \
        XYL_BY_PROGRAM(write), .colls = XYL_COLL_BIT(BCAST),                   \
    }

static const xyl_algorithm_t programs[2][2] = {
    {RELAY_PROGRAM(write_copies), RELAY_PROGRAM(write_copies_with_gate)},
    {RELAY_PROGRAM(write_root), RELAY_PROGRAM(write_root_with_gate)}};

const xyl_algorithm_t *xyl_relay_program(int is_at_root, int has_relay)
{
    return &programs[is_at_root][has_relay];
}
