/* Barrier: every seat posts and looks at all others. */
#include "collectives/node/parts.h"

void xyl_node_barrier(const xyl_node_problem_t *problem,
                      xyl_node_program_t *program)
{
    const xyl_spot_t nowhere = {XYL_SPACE_LINE, problem->seat, 0};
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);

    if (step != NULL) {
        step->post = XYL_POST_COUNT;
        step->post_value = 1;
    }
    step = xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);
    if (step != NULL) {
        step->wait = XYL_WAIT_ALL_COUNTS;
        step->wait_for = 1;
    }
}
