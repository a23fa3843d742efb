/* Scan and exscan: every seat publishes its contribution and combines those of
 * the seats before it, a scan also its own. */
#include "collectives/node/programs/parts.h"

enum { PIECE_BYTES = 64 << 10 };

static void write_wait(xyl_node_program_t *program, uint32_t seat)
{
    const xyl_spot_t nowhere = {XYL_SPACE_LINE, 0, 0};
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);

    if (step == NULL)
        return;
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = seat;
    step->wait_for = 1;
}

void xyl_node_scan(const xyl_node_problem_t *problem,
                   xyl_node_program_t *program)
{
    uint32_t end =
        problem->coll == XYLEM_COLL_SCAN ? problem->seat + 1 : problem->seat;
    xyl_node_problem_t cut = *problem;
    xyl_step_t *step;
    uint32_t seat;

    if (cut.window_bytes > (uint64_t)PIECE_BYTES * cut.seats)
        cut.window_bytes = (uint64_t)PIECE_BYTES * cut.seats;
    xyl_node_plan_inputs(&cut, program, problem->bytes);
    xyl_node_publish(problem, program, xyl_spot(XYL_SPACE_SEND, 0, 0),
                     problem->bytes, XYL_BOARD_ALL);
    for (seat = 0; seat < end; seat++)
        write_wait(program, seat);
    step =
        xyl_node_step(program, XYL_STEP_REDUCE, xyl_spot(XYL_SPACE_RECV, 0, 0),
                      xyl_node_published(program, 0), program->piece_bytes);
    if (step == NULL)
        return;
    step->total = problem->bytes;
    step->end_seat = end;
}
