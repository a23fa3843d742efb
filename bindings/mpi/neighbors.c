/* Topologies: the neighbours of this rank on a communicator, in the order of
 * MPI's neighbourhood collectives. The host is asked once per communicator, as
 * a topology does not change. */
#include <stdlib.h>

#include "bindings/mpi/call.h"

static void lists_make(xmpi_comm_t *comm, int in, int out)
{
    comm->sources =
        xmpi_memory((size_t)in + (size_t)out, sizeof *comm->sources);
    comm->destinations = comm->sources + in;
    comm->source_count = (uint32_t)in;
    comm->destination_count = (uint32_t)out;
}

/* The functions below let the host write ranks into the lists. */

/* The neighbours in each dimension: the one before, then the one behind. */
static int find_cart(xmpi_comm_t *comm)
{
    int dims, dim, code = xmpi_host.Cartdim_get(comm->handle, &dims);

    if (code != MPI_SUCCESS)
        return code;
    lists_make(comm, 2 * dims, 2 * dims);
    for (dim = 0; dim < dims && code == MPI_SUCCESS; dim++) {
        int *pair = (int *)comm->sources + (size_t)2 * (size_t)dim;
        code = xmpi_host.Cart_shift(comm->handle, dim, 1, &pair[0], &pair[1]);
    }
    return code;
}

static int find_graph(xmpi_comm_t *comm)
{
    int count;
    int code =
        xmpi_host.Graph_neighbors_count(comm->handle, comm->rank, &count);

    if (code != MPI_SUCCESS)
        return code;
    lists_make(comm, count, count);
    return xmpi_host.Graph_neighbors(comm->handle, comm->rank, count,
                                     (int *)comm->sources);
}

static int find_dist_graph(xmpi_comm_t *comm)
{
    int in, out, is_weighted, *weights;
    int code = xmpi_host.Dist_graph_neighbors_count(comm->handle, &in, &out,
                                                    &is_weighted);

    if (code != MPI_SUCCESS)
        return code;
    lists_make(comm, in, out);
    weights = xmpi_memory((size_t)in + (size_t)out, sizeof *weights);
    code = xmpi_host.Dist_graph_neighbors(
        comm->handle, in, (int *)comm->sources, weights, out,
        (int *)comm->destinations, weights + in);
    free(weights);
    return code;
}

int xmpi_neighbors_find(xmpi_comm_t *comm)
{
    int topology = MPI_UNDEFINED;
    int code = xmpi_host.Topo_test(comm->handle, &topology);
    uint32_t i;

    if (code == MPI_SUCCESS && topology == MPI_CART)
        code = find_cart(comm);
    else if (code == MPI_SUCCESS && topology == MPI_GRAPH)
        code = find_graph(comm);
    else if (code == MPI_SUCCESS && topology == MPI_DIST_GRAPH)
        code = find_dist_graph(comm);
    if (code != MPI_SUCCESS) {
        free(comm->sources);
        comm->sources = NULL;
        return 0;
    }
    if (comm->sources == NULL)
        return 1; /* there is no topology */
    if (topology != MPI_DIST_GRAPH)
        memcpy(comm->destinations, comm->sources,
               comm->source_count * sizeof *comm->sources);
    /* MPI_PROC_NULL, a neighbour beyond the border of a grid, is negative. */
    for (i = 0; i < comm->source_count + comm->destination_count; i++)
        if (comm->sources[i] > INT32_MAX)
            comm->sources[i] = UINT32_MAX;
    return 1;
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
