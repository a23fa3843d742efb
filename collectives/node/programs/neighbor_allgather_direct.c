/* Neighbor_allgather: every seat publishes its block once, and copies out the
 * blocks of its sources as they come. No seat knows the lengths of other seats'
 * blocks, so each seat tells the length of its block in its line, and there is
 * one piece.
 *
 * A block longer than a cell is offered to each destination by a line between
 * the two seats, and read in the sender's memory. The sender's own line has the
 * length of a long block, too. So a destination finds the length in one place,
 * and fails if it expects another. A seat waits only for neighbours, and sends
 * its block in parts to a destination that is late to read, as in a long
 * alltoall.
 *
 *   a seat's part of the window
 *     its own cell | line, cell | line, cell | ...   one for each other seat,
 *                                                    by the distance to it
 *
 * If a source is named several times, the seat takes its block once and copies
 * it to the other places. */
#include "collectives/data/neighbors.h"
#include "collectives/node/programs/parts.h"

enum {
    BETWEEN = XYL_PARCEL_BETWEEN_LEAST,
    OWN_LEAST = 512 /* a shorter cell is taken from the pool */
};

static uint64_t own_cell(const xyl_problem_t *problem, uint64_t room)
{
    const uint64_t line = XYL_BOARD_LINE_BYTES;
    const uint64_t others = (uint64_t)(problem->ranks - 1) * BETWEEN;
    uint64_t most = problem->node.limits->parcel_cell, cell;

    room = room / problem->ranks;
    cell = room > others ? room - others : 0;
    return (cell < most ? cell : most) / line * line;
}

/* Plans cells beside the slots if there is room enough: taking a window of the
 * pool doubles the cost of a short call. */
static void plan(const xyl_problem_t *problem, xyl_node_program_t *program)
{
    uint64_t beside = xyl_node_unpooled(problem);
    uint64_t cell = own_cell(problem, beside);

    if (cell < OWN_LEAST || beside > problem->node.window_bytes)
        cell = own_cell(problem, problem->node.window_bytes);
    xyl_node_plan_parcels(problem, program);
    program->cell = cell;
    program->read_from = cell + 1;
    program->between = BETWEEN;
    program->is_sparse = 1;
    program->cells = program->input_bytes =
        cell + (uint64_t)(problem->ranks - 1) * BETWEEN;
}

/* Line and cell by which a seat's block goes to the seat at `distance`. */
static xyl_position_t between(const xyl_node_program_t *program, uint32_t seat,
                              uint32_t distance)
{
    return xyl_position_of(XYL_BUFFER_INPUT, seat,
                           program->cell + (distance - 1) * program->between);
}

/* Offers the block to a destination; or (`hands`) waits until the destination
 * has read it, or sends it in parts. */
static void pass(const xyl_problem_t *problem, xyl_node_program_t *program,
                 const xyl_neighbors_t *neighbors, uint32_t edge, int hands)
{
    const xyl_neighbor_list_t *destinations = &neighbors->destinations;
    const xyl_transfer_t to_edge = {XYL_FORM_TOLD_PEER,
                                    xyl_neighbors_peer(destinations, edge)};
    const xyl_position_t own = xyl_in_send(0);
    const xyl_position_t through =
        between(program, problem->rank, destinations->sorted[edge].step);

    if (!hands) {
        xyl_node_offer(program, to_edge, through, own, neighbors->sent);
        return;
    }
    xyl_node_strand(program);
    xyl_node_hand(program, to_edge, through, own, neighbors->sent);
}

/* 1: the edge goes neither to this seat nor to the seat of the edge before. */
static int goes_to_another(const xyl_neighbor_list_t *edges, uint32_t edge)
{
    return edges->sorted[edge].step != 0 && xyl_neighbors_is_new(edges, edge);
}

/* Publishes the block for all destinations at once. A seat without destinations
 * hands an empty block that no seat takes. */
static void publish(const xyl_problem_t *problem, xyl_node_program_t *program,
                    const xyl_neighbors_t *neighbors)
{
    const xyl_neighbor_list_t *destinations = &neighbors->destinations;
    xyl_transfer_t to_all = {XYL_FORM_INLINE, XYL_BOARD_ALL};
    uint32_t others = 0, i;

    for (i = 0; i < destinations->known; i++) {
        if (!goes_to_another(destinations, i))
            continue;
        to_all.seat =
            others++ == 0 ? xyl_neighbors_peer(destinations, i) : XYL_BOARD_ALL;
        if (xyl_node_is_offered(program, neighbors->sent))
            pass(problem, program, neighbors, i, 0);
    }
    if (others != 0)
        to_all.form = xyl_node_is_offered(program, neighbors->sent)
                          ? XYL_FORM_LENGTH
                          : xyl_node_form(program, neighbors->sent);
    xyl_node_hand(program, to_all, xyl_node_line_of(problem->rank),
                  xyl_in_send(0), others == 0 ? 0 : neighbors->sent);
}

static void take(xyl_node_program_t *program, const xyl_neighbors_t *neighbors,
                 uint32_t edge)
{
    const xyl_neighbor_list_t *sources = &neighbors->sources;
    xyl_transfer_t from_edge = {
        xyl_node_form(program, neighbors->received),
        xyl_neighbors_peer(sources, edge),
    };
    xyl_position_t through = xyl_node_line_of(from_edge.seat);

    if (xyl_node_is_offered(program, neighbors->received)) {
        from_edge.form = XYL_FORM_TOLD_PEER;
        through = between(program, from_edge.seat, sources->sorted[edge].step);
        program->offers = 1;
    }
    xyl_node_strand(program);
    xyl_node_take(
        program, from_edge, through,
        xyl_in_recv(neighbors->received * sources->sorted[edge].index),
        neighbors->received);
}

static void fetch(xyl_node_program_t *program, const xyl_neighbors_t *neighbors)
{
    const xyl_neighbor_list_t *sources = &neighbors->sources;
    xyl_position_t first = xyl_in_send(0), place;
    uint32_t i;

    for (i = 0; i < sources->known; i++) {
        place = xyl_in_recv(neighbors->received * sources->sorted[i].index);
        if (!goes_to_another(sources, i)) {
            (void)xyl_node_step(program, XYL_STEP_COPY, place, first,
                                neighbors->received);
            continue;
        }
        take(program, neighbors, i);
        first = place;
    }
}

static void neighbor_allgather_direct_write(const xyl_problem_t *problem,
                                            xyl_node_program_t *program)
{
    xyl_neighbors_t neighbors;
    xylem_status_t status = xyl_neighbors_find(problem, &neighbors);
    const xyl_neighbor_list_t *destinations = &neighbors.destinations;
    uint32_t i;

    if (status == XYLEM_OK) {
        plan(problem, program);
        xyl_node_leave_caches(problem, program, neighbors.sent, neighbors.sent);
        publish(problem, program, &neighbors);
        fetch(program, &neighbors);
        for (i = 0; i < destinations->known; i++)
            if (xyl_node_is_offered(program, neighbors.sent) &&
                goes_to_another(destinations, i))
                pass(problem, program, &neighbors, i, 1);
    } else {
        xyl_node_program_fail(program, status);
    }
    xyl_neighbors_fini(&neighbors);
}

const xyl_algorithm_t xyl_algorithm_node_neighbor_allgather_direct = {
    .name = "node_direct",
    .help = "each rank publishes its block, its destinations read it",
    XYL_BY_PROGRAM(neighbor_allgather_direct_write),
    .colls = XYL_COLL_BIT(NEIGHBOR_ALLGATHER),
    .needs = XYL_READS_CALL,
};
