/* Allreduce by slices: each seat combines a slice of its own, and copies out
 * all slices. Contributions are combined in the order of seats. For short
 * messages. Seats wait for all seats twice: for the inputs, then for the
 * slices. If a seat is held up, each other seat combines all slices itself. */
#include "collectives/node/programs/parts.h"

enum { SLICE_LEAST = 64 };

/* Bytes of each seat's slice; seats beyond the message's end have none. */
static uint64_t allreduce_slice_of(const xyl_problem_t *problem)
{
    uint64_t unit = problem->element_bytes;
    uint64_t bytes =
        (xyl_problem_bytes(problem) + problem->ranks - 1) / problem->ranks;

    if (bytes < SLICE_LEAST)
        bytes = SLICE_LEAST;
    return (bytes + unit - 1) / unit * unit;
}

/* A seat without a slice posts its count at once. */
static void write_own_slice(const xyl_problem_t *problem,
                            xyl_node_program_t *program, uint64_t slice)
{
    uint64_t at = problem->rank * slice;
    xyl_step_t *step = xyl_node_step(
        program, XYL_STEP_REDUCE, xyl_position_of(XYL_BUFFER_BOARD, 0, at),
        xyl_position_of(XYL_BUFFER_INPUT, 0, at), slice);

    step->post = xyl_post_count(2, XYL_BOARD_ALL);
    if (at >= xyl_problem_bytes(problem)) {
        step->kind = XYL_STEP_NOTHING;
        return;
    }
    step->cut.within = at;
    step->cut.total = xyl_problem_bytes(problem);
    step->end_seat = problem->ranks;
    step->wait = xyl_wait_all(1);
    step->or_itself = 1;
}

/* Copies the result in one step: cache lines that other seats have written come
 * faster if this seat reads them in close succession. */
static void write_allreduce_result(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    xyl_step_t *step = xyl_node_step(program, XYL_STEP_COPY, xyl_in_recv(0),
                                     xyl_position_of(XYL_BUFFER_BOARD, 0, 0),
                                     xyl_problem_bytes(problem));

    step->wait = xyl_wait_all(2);
    step->or_itself = 1;
}

static void slices_write(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
    program->input_bytes = xyl_board_whole_lines(xyl_problem_bytes(problem));
    program->board_bytes = program->input_bytes;
    xyl_node_publish(problem, program, xyl_in_send(0),
                     xyl_problem_bytes(problem), XYL_BOARD_ALL);
    write_own_slice(problem, program, allreduce_slice_of(problem));
    write_allreduce_result(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_allreduce_slices = {
    .name = "node_slices",
    .help = "each rank combines a slice of its own, all read all slices",
    XYL_BY_PROGRAM(slices_write),
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .lacks = xyl_node_whole_lacks,
};
