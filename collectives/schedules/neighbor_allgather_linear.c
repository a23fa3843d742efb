/* Neighbor_allgather: one message for each edge, and nothing waits for
 * anything: what is sparse cannot be combined with what others send unless
 * somebody knows the whole graph, which no rank does here.
 *
 * An edge that a rank names several times is one message; the block is copied
 * from its first place to the others. Both ends of an edge post it as their
 * (receiver - sender modulo ranks)-th: so ranks do not begin all with the same
 * neighbour, and although only some messages are under way at once, none waits
 * in a circle. Of all edges that are left, the one that comes first in this
 * order is the first of its sender and of its receiver, so it ends.
 *
 * Hoefler, Traff, Sparse collective operations for MPI, 2009; Hoefler,
 * Schneider, Optimization principles for collective neighborhood
 * communications, 2012, who also say what is to be won where a graph is known
 * to be regular. */
#include <inttypes.h>
#include <stdlib.h>

#include "collectives/schedules/algorithm.h"
#include "runtime/base/status.h"

enum { MESSAGES_UNDER_WAY = 64 };

#define NOBODY UINT32_MAX

/* One end of this rank's edges: `index` of the list that names it. */
typedef struct edge {
    uint32_t step; /* in the order above; 0: to itself */
    uint32_t index;
} edge_t;

typedef struct edges {
    const char *name;
    const uint32_t *peers; /* the list */
    uint32_t count;
    edge_t *sorted; /* [known], without nobody; equal ones by index */
    uint32_t known;
} edges_t;

static int edges_compare(const void *a, const void *b)
{
    const edge_t *one = a, *other = b;

    if (one->step != other->step)
        return one->step < other->step ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* Sorts a list; its ranks are checked. */
static void edges_find(const xyl_problem_t *problem, int are_sources,
                       xyl_schedule_t *schedule, edges_t *edges)
{
    uint32_t ranks = problem->ranks, peer, i;

    edges->sorted = malloc(((size_t)edges->count + 1) * sizeof *edges->sorted);
    if (edges->sorted == NULL) {
        schedule->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for neighbours");
        return;
    }
    for (i = 0; i < edges->count; i++) {
        peer = edges->peers[i];
        if (peer == NOBODY)
            continue;
        if (peer >= ranks) {
            schedule->status = xyl_fail(
                XYLEM_ERR_INVALID_ARG,
                "neighbor_allgather: %s[%" PRIu32 "] is %" PRIu32
                ": the team has %" PRIu32 " ranks, and UINT32_MAX is nobody",
                edges->name, i, peer, ranks);
            return;
        }
        edges->sorted[edges->known++] =
            (edge_t){(are_sources ? problem->rank + ranks - peer
                                  : peer + ranks - problem->rank) %
                         ranks,
                     i};
    }
    qsort(edges->sorted, edges->known, sizeof *edges->sorted, edges_compare);
}

static int edges_have_own(const edges_t *edges)
{
    return edges->known != 0 && edges->sorted[0].step == 0;
}

/* Of a block that arrives, in bytes; 0 also where they are too many. */
static uint64_t received_bytes(const xyl_problem_t *problem,
                               xyl_schedule_t *schedule)
{
    const xylem_coll_args_t *args = problem->args;
    size_t type_bytes = xylem_type_bytes(args->recv_type);

    if (args->recv_count == 0)
        return problem->count;
    if (type_bytes != 0 && args->source_count != 0 &&
        args->recv_count >
            (size_t)PTRDIFF_MAX / type_bytes / args->source_count) {
        schedule->status = xyl_fail(
            XYLEM_ERR_INVALID_ARG,
            "neighbor_allgather: %" PRIu32 " blocks of %zu elements of %zu "
            "bytes exceed the address space",
            args->source_count, args->recv_count, type_bytes);
        return 0;
    }
    return args->recv_count * type_bytes;
}

/* The only edge whose other end is known here. */
static void own_edges_check(const xyl_problem_t *problem,
                            const edges_t *destinations, const edges_t *sources,
                            uint64_t received, xyl_schedule_t *schedule)
{
    if (schedule->status != XYLEM_OK)
        return;
    if (edges_have_own(destinations) != edges_have_own(sources))
        schedule->status =
            xyl_fail(XYLEM_ERR_INVALID_ARG,
                     "neighbor_allgather: rank %" PRIu32
                     " names itself among its %s only",
                     problem->rank,
                     edges_have_own(sources) ? "sources" : "destinations");
    else if (edges_have_own(sources) && received != problem->count)
        schedule->status = xyl_fail(XYLEM_ERR_INVALID_ARG,
                                    "neighbor_allgather: rank %" PRIu32
                                    " sends itself %" PRIu64
                                    " bytes and receives %" PRIu64 " of them",
                                    problem->rank, problem->count, received);
}

static void blocks_receive(const edges_t *sources, uint64_t bytes,
                           xyl_schedule_t *schedule)
{
    xyl_position_t own = xyl_position(XYL_BUFFER_SEND, 0), first = own, place;
    xyl_action_t arrived = XYL_ACTION_NONE;
    const edge_t *edge = sources->sorted;
    uint32_t i;

    for (i = 0; i < sources->known && bytes != 0; i++, edge++) {
        place = xyl_position(XYL_BUFFER_RECV, bytes * edge->index);
        if (edge->step == 0) {
            (void)xyl_schedule_copy(schedule, place, own, bytes,
                                    XYL_ACTION_NONE);
        } else if (i != 0 && edge[-1].step == edge->step) {
            (void)xyl_schedule_copy(schedule, place, first, bytes, arrived);
        } else {
            first = place;
            arrived = xyl_schedule_recv(schedule, sources->peers[edge->index],
                                        0, place, bytes, XYL_ACTION_NONE);
        }
    }
}

static void block_send(const edges_t *destinations, uint64_t bytes,
                       xyl_schedule_t *schedule)
{
    const edge_t *edge = destinations->sorted;
    uint32_t i;

    for (i = 0; i < destinations->known && bytes != 0; i++, edge++)
        if (edge->step != 0 && (i == 0 || edge[-1].step != edge->step))
            (void)xyl_schedule_send(schedule, destinations->peers[edge->index],
                                    0, xyl_position(XYL_BUFFER_SEND, 0), bytes,
                                    XYL_ACTION_NONE);
}

static void neighbor_allgather_linear(const xyl_problem_t *problem,
                                      xyl_schedule_t *schedule)
{
    const xylem_coll_args_t *args = problem->args;
    edges_t destinations = {.name = "destinations"},
            sources = {.name = "sources"};
    uint64_t received;

    if (args == NULL)
        return; /* without a call nobody has neighbours */
    destinations.peers = args->destinations;
    destinations.count = args->destination_count;
    sources.peers = args->sources;
    sources.count = args->source_count;
    schedule->flight_max = MESSAGES_UNDER_WAY;
    edges_find(problem, 0, schedule, &destinations);
    if (schedule->status == XYLEM_OK)
        edges_find(problem, 1, schedule, &sources);
    received = received_bytes(problem, schedule);
    own_edges_check(problem, &destinations, &sources, received, schedule);
    if (schedule->status == XYLEM_OK) {
        blocks_receive(&sources, received, schedule);
        block_send(&destinations, problem->count, schedule);
    }
    free(destinations.sorted);
    free(sources.sorted);
}

const xyl_algorithm_t xyl_algorithm_neighbor_allgather_linear = {
    .name = "linear",
    .help = "a message for each edge (Hoefler, Traff 2009)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(NEIGHBOR_ALLGATHER),
    .needs = XYL_READS_CALL,
    .write = neighbor_allgather_linear,
};
