/* Reduce and allreduce in which every receiver combines all contributions by
 * itself, segment by segment: for short messages, and for two seats. */
#include "collectives/node/programs/parts.h"

/* 1: this seat combines its contribution in SEND, where the result does not
 * overwrite it before its turn. */
static int takes_send(const xyl_problem_t *problem)
{
    return !problem->is_in_place || problem->rank <= 1;
}

static int reduce_direct_publishes(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_ALLREDUCE ||
           problem->rank != problem->root || !takes_send(problem);
}

void xyl_node_reduce_inputs(const xyl_problem_t *problem,
                            xyl_node_program_t *program)
{
    uint32_t segment;

    for (segment = 0; segment < program->segments; segment++) {
        xyl_step_t *step = xyl_node_segment_step(
            program, problem,
            problem->is_in_place ? XYL_STEP_COPY : XYL_STEP_PUBLISH,
            xyl_node_published(program, problem->rank), xyl_in_send(0),
            segment);
        step->wait = xyl_wait_segment(segment);
        step->post = xyl_post_count(segment + 1, XYL_BOARD_ALL);
        if (problem->coll == XYLEM_COLL_REDUCE)
            step->post.seat = problem->root;
    }
}

static void write_reduce_direct_result(const xyl_problem_t *problem,
                                       xyl_node_program_t *program,
                                       uint32_t segment)
{
    const xyl_position_t result = xyl_in_recv(0);
    xyl_step_t *step = xyl_node_segment_step(program, problem, XYL_STEP_NOTHING,
                                             result, result, segment);

    step->wait = xyl_wait_segment(segment); /* of its own input */
    step = xyl_node_segment_step(program, problem, XYL_STEP_REDUCE, result,
                                 xyl_node_published(program, 0), segment);
    step->wait = xyl_wait_all(segment + 1);
    step->end_seat = problem->ranks;
    step->takes_send = takes_send(problem);
    step->emits = segment;
}

/* Measured with 2 to 16 ranks on 16 cores, Nov 2026. */
static const xyl_node_cut_t direct_cut = {4, 32 << 10, 64 << 10};

/* Plans inputs in the lines of the seats if there is only one short segment. */
void xyl_node_reduce_plan(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    uint64_t room = xyl_node_room(problem, problem->ranks);

    program->segment_bytes = xyl_node_segment_of(problem, direct_cut, room);
    xyl_node_cut_segments(program, xyl_problem_bytes(problem), room);
    if (program->pieces > 1 || program->segments > 1 ||
        xyl_problem_bytes(problem) > XYL_BOARD_INLINE_BYTES)
        program->input_bytes = xyl_board_whole_lines(program->piece_bytes);
    xyl_node_leave_caches(problem, program, xyl_problem_bytes(problem),
                          xyl_problem_bytes(problem));
}

/* In place, the result overwrites the input, which is published before. */
static void reduce_direct_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint32_t segment;

    xyl_node_reduce_plan(problem, program);
    program->shares = problem->coll == XYLEM_COLL_ALLREDUCE &&
                      program->input_bytes != 0 &&
                      xyl_node_shares(problem, xyl_problem_bytes(problem));
    xyl_node_strand(program);
    if (reduce_direct_publishes(problem))
        xyl_node_reduce_inputs(problem, program);
    if (!xyl_node_has_result(problem))
        return;
    if (!reduce_direct_publishes(problem) || !problem->is_in_place)
        xyl_node_strand(program);
    for (segment = 0; segment < program->segments; segment++)
        write_reduce_direct_result(problem, program, segment);
    /* A seat has read all inputs when it has its result. */
    xyl_node_end_reading(program,
                         xyl_wait_count(problem->rank, program->segments),
                         program->segments + 1);
}

const xyl_algorithm_t xyl_algorithm_node_reduce_direct = {
    .name = "node_direct",
    .help = "each receiver combines the input of all",
    XYL_BY_PROGRAM(reduce_direct_write),
    .colls = XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE),
};
