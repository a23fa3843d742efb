#include "collectives/data/neighbors.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/base/status.h"

#define NOBODY UINT32_MAX

static int edges_compare(const void *a, const void *b)
{
    const xyl_neighbor_t *one = a, *other = b;

    if (one->step != other->step)
        return one->step < other->step ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

static xylem_status_t edges_find(const xyl_problem_t *problem, int are_sources,
                                 xyl_neighbor_list_t *edges)
{
    uint32_t ranks = problem->ranks, peer, i;

    edges->sorted = malloc(((size_t)edges->count + 1) * sizeof *edges->sorted);
    if (edges->sorted == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for neighbours");
    for (i = 0; i < edges->count; i++) {
        peer = edges->peers[i];
        if (peer == NOBODY)
            continue;
        if (peer >= ranks)
            return xyl_fail(XYLEM_ERR_INVALID_ARG,
                            "neighbor_allgather: %s[%" PRIu32 "] is %" PRIu32
                            ": the team has %" PRIu32
                            " ranks, and UINT32_MAX is nobody",
                            edges->name, i, peer, ranks);
        edges->sorted[edges->known++] =
            (xyl_neighbor_t){(are_sources ? problem->rank + ranks - peer
                                          : peer + ranks - problem->rank) %
                                 ranks,
                             i};
    }
    qsort(edges->sorted, edges->known, sizeof *edges->sorted, edges_compare);
    return XYLEM_OK;
}

static int edges_have_own(const xyl_neighbor_list_t *edges)
{
    return edges->known != 0 && edges->sorted[0].step == 0;
}

/* Finds the bytes of each received block. */
static xylem_status_t received_find(const xyl_problem_t *problem,
                                    xyl_neighbors_t *neighbors)
{
    const xylem_coll_args_t *args = problem->args;
    size_t type_bytes = xylem_type_bytes(args->recv_type);

    neighbors->received = problem->count;
    if (args->recv_count == 0)
        return XYLEM_OK;
    if (type_bytes != 0 && args->source_count != 0 &&
        args->recv_count >
            (size_t)PTRDIFF_MAX / type_bytes / args->source_count)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "neighbor_allgather: %" PRIu32
                        " blocks of %zu elements of %zu "
                        "bytes exceed the address space",
                        args->source_count, args->recv_count, type_bytes);
    neighbors->received = args->recv_count * type_bytes;
    return XYLEM_OK;
}

/* Checks the edge to this rank itself, the only one whose two ends are
 * known. */
static xylem_status_t own_edges_check(const xyl_problem_t *problem,
                                      const xyl_neighbors_t *neighbors)
{
    int is_source = edges_have_own(&neighbors->sources);

    if (edges_have_own(&neighbors->destinations) != is_source)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "neighbor_allgather: rank %" PRIu32
                        " names itself among its %s only",
                        problem->rank, is_source ? "sources" : "destinations");
    if (is_source && neighbors->received != neighbors->sent)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "neighbor_allgather: rank %" PRIu32
                        " sends itself %" PRIu64 " bytes and receives %" PRIu64
                        " of them",
                        problem->rank, neighbors->sent, neighbors->received);
    return XYLEM_OK;
}

xylem_status_t xyl_neighbors_find(const xyl_problem_t *problem,
                                  xyl_neighbors_t *neighbors)
{
    const xylem_coll_args_t *args = problem->args;
    xylem_status_t status;

    *neighbors = (xyl_neighbors_t){.destinations.name = "destinations",
                                   .sources.name = "sources",
                                   .sent = problem->count};
    if (args == NULL)
        return XYLEM_OK;
    neighbors->destinations.peers = args->destinations;
    neighbors->destinations.count = args->destination_count;
    neighbors->sources.peers = args->sources;
    neighbors->sources.count = args->source_count;
    status = edges_find(problem, 0, &neighbors->destinations);
    if (status == XYLEM_OK)
        status = edges_find(problem, 1, &neighbors->sources);
    if (status == XYLEM_OK)
        status = received_find(problem, neighbors);
    if (status == XYLEM_OK)
        status = own_edges_check(problem, neighbors);
    return status;
}

void xyl_neighbors_fini(xyl_neighbors_t *neighbors)
{
    free(neighbors->destinations.sorted);
    free(neighbors->sources.sorted);
}
