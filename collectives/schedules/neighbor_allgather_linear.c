/* Neighbor_allgather: one message for each edge, none of which waits for
 * another. Messages of a sparse graph cannot be combined unless a rank knows
 * the whole graph, which no rank does here.
 *
 * An edge that a rank names several times is one message; the block is copied
 * from its first place to the others. All ranks post their edges in one order
 * (data/neighbors.h). Only some messages are under way at once. But of all
 * edges that are left, the first in this order has both its ends posted.
 *
 * Hoefler, Traff, Sparse collective operations for MPI, 2009; Hoefler,
 * Schneider, Optimization principles for collective neighborhood
 * communications, 2012, also on the gain where a graph is known to be
 * regular. */
#include "collectives/data/neighbors.h"
#include "collectives/schedules/algorithm.h"

enum { MESSAGES_UNDER_WAY = 64 };

static void blocks_receive(const xyl_neighbor_list_t *sources, uint64_t bytes,
                           xyl_schedule_t *schedule)
{
    xyl_position_t own = xyl_in_send(0), first = own, place;
    xyl_action_t arrived = XYL_ACTION_NONE;
    uint32_t i;

    for (i = 0; i < sources->known && bytes != 0; i++) {
        place = xyl_in_recv(bytes * sources->sorted[i].index);
        if (sources->sorted[i].step == 0) {
            (void)xyl_schedule_copy(schedule, place, own, bytes,
                                    XYL_ACTION_NONE);
        } else if (!xyl_neighbors_is_new(sources, i)) {
            (void)xyl_schedule_copy(schedule, place, first, bytes, arrived);
        } else {
            first = place;
            arrived =
                xyl_schedule_recv(schedule, xyl_neighbors_peer(sources, i), 0,
                                  place, bytes, XYL_ACTION_NONE);
        }
    }
}

static void neighbor_allgather_linear(const xyl_problem_t *problem,
                                      xyl_schedule_t *schedule)
{
    xyl_neighbors_t neighbors;
    uint32_t i;

    schedule->flight_max = MESSAGES_UNDER_WAY;
    schedule->status = xyl_neighbors_find(problem, &neighbors);
    if (schedule->status == XYLEM_OK) {
        blocks_receive(&neighbors.sources, neighbors.received, schedule);
        for (i = 0; i < neighbors.destinations.known && neighbors.sent != 0;
             i++)
            if (neighbors.destinations.sorted[i].step != 0 &&
                xyl_neighbors_is_new(&neighbors.destinations, i))
                (void)xyl_schedule_send(
                    schedule, xyl_neighbors_peer(&neighbors.destinations, i), 0,
                    xyl_in_send(0), neighbors.sent, XYL_ACTION_NONE);
    }
    xyl_neighbors_fini(&neighbors);
}

const xyl_algorithm_t xyl_algorithm_neighbor_allgather_linear = {
    .name = "linear",
    .help = "a message for each edge (Hoefler, Traff 2009)",
    XYL_BY_SCHEDULE(neighbor_allgather_linear),
    .colls = XYL_COLL_BIT(NEIGHBOR_ALLGATHER),
    .needs = XYL_READS_CALL,
};
