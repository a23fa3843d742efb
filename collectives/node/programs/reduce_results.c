/* The end of reductions whose result lies in the window, segment by segment. */
#include "collectives/node/programs/parts.h"

void xyl_node_write_results(const xyl_problem_t *problem,
                            xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        xyl_step_t *step = xyl_node_segment_step(
            program, problem, XYL_STEP_COPY,
            xyl_position_of(XYL_BUFFER_RECV, 0, 0),
            xyl_position_of(XYL_BUFFER_BOARD, 0, 0), slice);
        step->or_itself = program->input_bytes != 0;
        step->wait = xyl_wait_word(slice);
        step->emits = slice;
    }
}
