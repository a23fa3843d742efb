/* Steps of reductions that sum in the window, segment by segment. */
#include "collectives/node/programs/parts.h"

xyl_step_t *xyl_node_write_sum(const xyl_problem_t *problem,
                               xyl_node_program_t *program,
                               xyl_step_kind_t kind)
{
    xyl_buffer_t to =
        kind == XYL_STEP_COLLECT ? XYL_BUFFER_RECV : XYL_BUFFER_BOARD;
    xyl_step_t *step;

    xyl_node_strand(program);
    step = xyl_node_block_step(program, kind, xyl_position(to, 0),
                               xyl_in_send(0), xyl_problem_bytes(problem));
    step->sum.slice_bytes = program->segment_bytes;
    if (problem->coll == XYLEM_COLL_REDUCE)
        step->post.seat = problem->root;
    return step;
}

void xyl_node_write_results(const xyl_problem_t *problem,
                            xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        xyl_step_t *step = xyl_node_segment_step(
            program, problem, XYL_STEP_COPY, xyl_in_recv(0),
            xyl_position_of(XYL_BUFFER_BOARD, 0, 0), slice);
        step->or_itself = program->input_bytes != 0;
        step->wait = xyl_wait_word(slice);
        step->emits = slice;
    }
}
