/* Topologies: the neighbours of this rank on a communicator, in the order of
 * MPI's neighbourhood collectives. The host is asked once per communicator, as
 * a topology does not change. */
#include <stdlib.h>

#include "bindings/mpi/call.h"

/* Makes room for `in` sources and `out` destinations. */
static void lists_make(xmpi_comm_t *comm, int in, int out)
{
    comm->sources =
        xmpi_memory((size_t)in + (size_t)out, sizeof *comm->sources);
    comm->destinations = comm->sources + in;
    comm->source_count = (uint32_t)in;
    comm->destination_count = (uint32_t)out;
}

/* MPI_PROC_NULL, a neighbour beyond the border of a grid, is negative. */
static uint32_t neighbor_of(int rank)
{
    return rank < 0 ? UINT32_MAX : (uint32_t)rank;
}

/* The neighbours in each dimension: the one before, then the one behind. */
static int find_cart(xmpi_comm_t *comm)
{
    int dims, dim, before, behind, code;

    code = xmpi_host.Cartdim_get(comm->handle, &dims);
    if (code != MPI_SUCCESS)
        return code;
    lists_make(comm, 2 * dims, 2 * dims);
    for (dim = 0; dim < dims && code == MPI_SUCCESS; dim++) {
        uint32_t *source = &comm->sources[(size_t)2 * (size_t)dim];
        uint32_t *destination = &comm->destinations[(size_t)2 * (size_t)dim];
        code = xmpi_host.Cart_shift(comm->handle, dim, 1, &before, &behind);
        source[0] = destination[0] = neighbor_of(before);
        source[1] = destination[1] = neighbor_of(behind);
    }
    return code;
}

static int find_graph(xmpi_comm_t *comm)
{
    int count, i, *ranks;
    int code =
        xmpi_host.Graph_neighbors_count(comm->handle, comm->rank, &count);

    if (code != MPI_SUCCESS)
        return code;
    ranks = xmpi_memory((size_t)count, sizeof *ranks);
    lists_make(comm, count, count);
    code = xmpi_host.Graph_neighbors(comm->handle, comm->rank, count, ranks);
    for (i = 0; i < count && code == MPI_SUCCESS; i++)
        comm->sources[i] = comm->destinations[i] = neighbor_of(ranks[i]);
    free(ranks);
    return code;
}

static int find_dist_graph(xmpi_comm_t *comm)
{
    int in, out, is_weighted, i, *ranks, *weights;
    int code = xmpi_host.Dist_graph_neighbors_count(comm->handle, &in, &out,
                                                    &is_weighted);

    if (code != MPI_SUCCESS)
        return code;
    ranks = xmpi_memory(2 * ((size_t)in + (size_t)out), sizeof *ranks);
    lists_make(comm, in, out);
    weights = ranks + in + out;
    code = xmpi_host.Dist_graph_neighbors(comm->handle, in, ranks, weights, out,
                                          ranks + in, weights + in);
    for (i = 0; i < in + out && code == MPI_SUCCESS; i++)
        comm->sources[i] = neighbor_of(ranks[i]);
    free(ranks);
    return code;
}

int xmpi_neighbors_find(xmpi_comm_t *comm)
{
    int topology = MPI_UNDEFINED;
    int code = xmpi_host.Topo_test(comm->handle, &topology);

    if (code == MPI_SUCCESS && topology == MPI_CART)
        code = find_cart(comm);
    else if (code == MPI_SUCCESS && topology == MPI_GRAPH)
        code = find_graph(comm);
    else if (code == MPI_SUCCESS && topology == MPI_DIST_GRAPH)
        code = find_dist_graph(comm);
    if (code == MPI_SUCCESS)
        return 1;
    free(comm->sources);
    comm->sources = NULL;
    return 0;
}

int xmpi_neighbors_have_gaps(const xmpi_comm_t *comm)
{
    uint32_t i = 0;

    while (i < comm->source_count && comm->sources[i] != UINT32_MAX)
        i++;
    return i < comm->source_count;
}

void xmpi_neighbors_set(const xmpi_comm_t *comm, uint64_t sent_bytes,
                        uint64_t received_bytes, xylem_coll_args_t *args)
{
    args->count = sent_bytes;
    if (sent_bytes != 0) {
        args->destinations = comm->destinations;
        args->destination_count = comm->destination_count;
    }
    if (received_bytes != 0) {
        args->recv_count = received_bytes;
        args->recv_type = XYLEM_BYTE;
        args->sources = comm->sources;
        args->source_count = comm->source_count;
    }
}
