/* Scatter(v) by parcels (parcel.h): the root hands each seat its block by a
 * line between the two, so that a seat looks at a line of its own. If long
 * blocks are offered, each seat reads its own in the root's memory: all seats
 * copy at once, instead of the root one block after the other. */
#include "collectives/node/programs/parts.h"

/* 1: all seats know that the blocks are short. Such blocks take no window. */
static int are_in_lines(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_SCATTER &&
           xyl_problem_bytes(problem) <= XYL_PARCEL_SHORT;
}

/* How a block goes to `seat`, or comes from it. */
static xyl_transfer_t scatter_transfer(const xyl_node_program_t *program,
                                       uint32_t seat, uint64_t bytes)
{
    if (xyl_node_is_offered(program, bytes))
        return (xyl_transfer_t){XYL_FORM_PEER, seat};
    return (xyl_transfer_t){xyl_node_form(program, bytes), seat};
}

static void hand_scatter_block(const xyl_problem_t *problem,
                               xyl_node_program_t *program, uint32_t seat)
{
    uint64_t bytes = xyl_node_block(problem, seat);
    const xyl_transfer_t to_seat = scatter_transfer(program, seat, bytes);

    xyl_node_hand(program, to_seat, xyl_node_line_of(seat),
                  xyl_in_send(xyl_node_block_at(problem, seat)), bytes);
    program->offers |= xyl_form_is_offered(to_seat.form);
}

/* Blocks that go in parts have strands of their own, because such a strand may
 * wait for its seat. */
static void scatter_parcels_write(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    uint64_t own = xyl_node_block(problem, problem->rank);
    uint32_t distance, seat;
    int go_in_parts;

    xyl_node_plan_parcels(problem, program);
    if (are_in_lines(problem))
        program->cell = program->cells = program->input_bytes = 0;
    if (problem->rank != problem->root) {
        xyl_node_take(program, scatter_transfer(program, problem->root, own),
                      xyl_node_line_of(problem->rank), xyl_in_recv(0), own);
        return;
    }
    go_in_parts = !are_in_lines(problem) &&
                  xyl_node_block_max(problem) > program->input_bytes;
    for (distance = 1; distance < problem->ranks; distance++) {
        seat = (problem->root + distance) % problem->ranks;
        if (go_in_parts)
            xyl_node_strand(program);
        hand_scatter_block(problem, program, seat);
    }
    if (go_in_parts)
        xyl_node_strand(program);
    xyl_node_copy_own(problem, program, xyl_in_recv(0),
                      xyl_in_send(xyl_node_block_at(problem, problem->rank)),
                      own);
}

const xyl_algorithm_t xyl_algorithm_node_scatter_parcels = {
    .name = "node_parcels",
    .help = "the root hands each rank its block by a line between the two",
    XYL_BY_PROGRAM(scatter_parcels_write),
    .colls = XYL_COLL_BIT(SCATTER) | XYL_COLL_BIT(SCATTERV),
    .lacks = xyl_node_parcels_lack,
};

/* Offers blocks that are longer than a cell. */
static void scatter_read_write(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    program->read_from = xyl_node_cell(problem) + 1;
    scatter_parcels_write(problem, program);
}

static const char *scatter_read_lacks(const xyl_problem_t *problem)
{
    return xyl_problem_bytes(problem) > xyl_node_cell(problem)
               ? xyl_node_parcels_lack(problem)
               : "needs longer blocks";
}

const xyl_algorithm_t xyl_algorithm_node_scatter_read = {
    .name = "node_read",
    .help = "each rank reads its block where it lies in the root's memory",
    XYL_BY_PROGRAM(scatter_read_write),
    .colls = XYL_COLL_BIT(SCATTER),
    .lacks = scatter_read_lacks,
};

enum { READ_KIB = 2048 };

/* Offers a block that is longer than a cell, if it lies in memory of
 * xylem_alloc, or if blocks of its length for all other seats have at least K
 * KiB together (node_read:K). */
static void scatterv_read_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint64_t others = problem->ranks - 1;

    program->read_from = xyl_node_cell(problem) + 1;
    program->pull_from =
        (xyl_node_read_from(problem, READ_KIB) + others - 1) / others;
    scatter_parcels_write(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_scatterv_read = {
    .name = "node_read",
    .help = "each rank reads its block where it lies in the root's memory, if "
            "that is of xylem_alloc or blocks of its length have K KiB in all",
    XYL_BY_PROGRAM(scatterv_read_write),
    .colls = XYL_COLL_BIT(SCATTERV),
    .radix = {1, READ_KIB, XYL_NODE_READ_KIB_MAX},
    .lacks = xyl_node_parcels_lack,
};
