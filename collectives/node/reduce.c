/* Reduce and allreduce. Short: every seat publishes, and whoever gets the
 * result combines all contributions. Long: after HAN's SOLO (Luo et al. 2020,
 * fig. 5.4), with claims: the seats combine different slices at once, each the
 * next that nobody has taken, and whoever gets the result copies it out.
 * Contributions are combined in the order of seats. */
#include "collectives/node/parts.h"

enum {
    ALONE_BYTES = 4 << 10, /* to here every receiver combines all by itself */
    PIECE_BYTES = 256 << 10,
    SLICE_BYTES_MIN = 4 << 10
};

static int has_result(const xyl_node_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_ALLREDUCE ||
           problem->seat == problem->root;
}

static void write_short(const xyl_node_problem_t *problem,
                        xyl_node_program_t *program)
{
    xyl_step_t *step;

    xyl_node_publish(
        problem, program, xyl_spot(XYL_SPACE_SEND, 0, 0), problem->bytes,
        problem->coll == XYLEM_COLL_ALLREDUCE ? XYL_BOARD_ALL : problem->root);
    if (!has_result(problem))
        return;
    step =
        xyl_node_step(program, XYL_STEP_REDUCE, xyl_spot(XYL_SPACE_RECV, 0, 0),
                      xyl_node_published(program, 0), program->piece_bytes);
    if (step == NULL)
        return;
    step->total = problem->bytes;
    step->end_seat = problem->seats;
    step->wait = XYL_WAIT_ALL_COUNTS;
    step->wait_for = 1;
}

/* Slices come one after the other, and are published so. */
static void write_inputs(const xyl_node_problem_t *problem,
                         xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        uint64_t at = slice * program->segment_bytes;
        xyl_step_t *step = xyl_node_step(
            program, XYL_STEP_COPY,
            xyl_spot(XYL_SPACE_INPUT, problem->seat, at),
            xyl_spot(XYL_SPACE_SEND, 0, at), program->segment_bytes);
        if (step == NULL)
            return;
        step->within = at;
        step->total = problem->bytes;
        step->wait = XYL_WAIT_SEGMENT;
        step->wait_for = slice;
        step->post = XYL_POST_COUNT;
        step->post_value = slice + 1;
    }
}

static void write_claims(const xyl_node_problem_t *problem,
                         xyl_node_program_t *program)
{
    xyl_step_t *step;

    xyl_node_strand(program);
    step =
        xyl_node_step(program, XYL_STEP_CLAIM, xyl_spot(XYL_SPACE_BOARD, 0, 0),
                      xyl_spot(XYL_SPACE_INPUT, 0, 0), program->piece_bytes);
    if (step == NULL)
        return;
    step->total = problem->bytes;
    step->end_seat = problem->seats;
    step->slices = program->segments;
    step->slice_bytes = program->segment_bytes;
    if (problem->coll == XYLEM_COLL_REDUCE)
        step->post_seat = problem->root;
}

static void write_results(const xyl_node_problem_t *problem,
                          xyl_node_program_t *program)
{
    uint32_t slice;

    xyl_node_strand(program);
    for (slice = 0; slice < program->segments; slice++) {
        uint64_t at = slice * program->segment_bytes;
        xyl_step_t *step = xyl_node_step(
            program, XYL_STEP_COPY, xyl_spot(XYL_SPACE_RECV, 0, at),
            xyl_spot(XYL_SPACE_BOARD, 0, at), program->segment_bytes);
        if (step == NULL)
            return;
        step->within = at;
        step->total = problem->bytes;
        step->wait = XYL_WAIT_WORD;
        step->wait_for = slice;
        step->emits = slice;
    }
}

/* As wanted, if a piece has room; else as many slices as seats. */
static uint64_t slice_of(const xyl_node_problem_t *problem, uint64_t room)
{
    uint64_t bytes = problem->segment_bytes;

    if (bytes == 0)
        bytes = ((problem->bytes < room ? problem->bytes : room) +
                 problem->seats - 1) /
                problem->seats;
    if (bytes < SLICE_BYTES_MIN && problem->segment_bytes == 0)
        bytes = SLICE_BYTES_MIN;
    return xyl_node_segment(bytes, room, problem->element_bytes);
}

void xyl_node_reduce(const xyl_node_problem_t *problem,
                     xyl_node_program_t *program)
{
    uint64_t room = problem->window_bytes / (problem->seats + 1) / 128 * 128;

    if (problem->bytes <= ALONE_BYTES &&
        (problem->segment_bytes == 0 ||
         problem->bytes <= problem->segment_bytes)) {
        xyl_node_plan_inputs(problem, program, problem->bytes);
        write_short(problem, program);
        return;
    }
    if (room > PIECE_BYTES && problem->segment_bytes < PIECE_BYTES)
        room = PIECE_BYTES;
    program->segment_bytes = slice_of(problem, room);
    xyl_node_cut_segments(program, problem->bytes, room);
    program->input_bytes = (program->piece_bytes + 127) / 128 * 128;
    program->board_bytes = program->piece_bytes;
    write_inputs(problem, program);
    write_claims(problem, program);
    if (has_result(problem))
        write_results(problem, program);
}
