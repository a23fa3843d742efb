/* Communicators whose first collective does not block are served as well, once
 * that of which they are made has been used.
 *
 *   first [init]   init: nothing at all blocks, from MPI_Init on */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

enum { RANKS_MAX = 64 };

/* Each rank sends each other one what only these two know. */
static void exchange(MPI_Comm comm)
{
    int rank, size, i, sent[RANKS_MAX], got[RANKS_MAX];
    MPI_Request request;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (i = 0; i < size; i++)
        sent[i] = rank * RANKS_MAX + i;
    MPI_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < size; i++)
        CHECK(got[i] == i * RANKS_MAX + rank);
}

static void exchange_and_free(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return;
    exchange(comm);
    MPI_Comm_free(&comm);
}

/* Those with topologies: a ring in three ways, and parts of a grid. */
static void topologies(MPI_Comm parent, int rank, int size)
{
    int dims[2] = {size, 1}, periods[2] = {0, 0}, remain[2] = {1, 0};
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, one = 1;
    int index[RANKS_MAX], edges[RANKS_MAX], i;
    MPI_Comm grid, made;

    MPI_Cart_create(parent, 2, dims, periods, 0, &grid);
    MPI_Cart_sub(grid, remain, &made);
    exchange_and_free(made);
    exchange_and_free(grid);
    for (i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    MPI_Graph_create(parent, size, index, edges, 0, &made);
    exchange_and_free(made);
    MPI_Dist_graph_create(parent, 1, &rank, &one, &next, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &made);
    exchange_and_free(made);
    MPI_Dist_graph_create_adjacent(parent, 1, &previous, MPI_UNWEIGHTED, 1,
                                   &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &made);
    exchange_and_free(made);
}

/* Duplicates that are made while the program goes on: used, made of others of
 * their kind, given up without use, several at once. */
static void duplicates(MPI_Comm parent)
{
    MPI_Comm made[4], grid, again;
    MPI_Request requests[4];
    int size, i, one = 1, topology;

    MPI_Comm_size(parent, &size);
    MPI_Comm_idup(parent, &made[0], &requests[0]);
    MPI_Comm_idup_with_info(parent, MPI_INFO_NULL, &made[1], &requests[1]);
    MPI_Ibarrier(parent, &requests[2]);
    MPI_Comm_idup(parent, &made[2], &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    exchange(made[1]);
    MPI_Comm_idup(made[0], &again, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    exchange_and_free(again);
    for (i = 0; i < 3; i++)
        MPI_Comm_free(&made[i]);
    MPI_Cart_create(parent, 1, &size, &one, 0, &grid);
    MPI_Comm_idup(grid, &again, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    MPI_Topo_test(again, &topology);
    CHECK(topology == MPI_CART);
    exchange_and_free(again);
    MPI_Comm_free(&grid);
}

/* One that only its own ranks make. */
static void part_of_group(MPI_Comm parent, int rank)
{
    MPI_Group all, part;
    int first = 0;
    MPI_Comm made;

    MPI_Comm_group(parent, &all);
    MPI_Group_excl(all, 1, &first, &part);
    if (rank != 0) {
        MPI_Comm_create_group(parent, part, 5, &made);
        exchange_and_free(made);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&part);
}

int main(int argc, char **argv)
{
    MPI_Comm made, part;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        exchange(MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made);
    exchange_and_free(made);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    exchange(made);
    MPI_Comm_split(made, rank == 0 ? MPI_UNDEFINED : 0, -rank, &part);
    exchange_and_free(part);
    topologies(made, rank, size);
    duplicates(made);
    part_of_group(made, rank);
    MPI_Comm_free(&made);
    return test_end("first");
}
