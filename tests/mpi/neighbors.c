/* MPI_Neighbor_allgather in all forms on grids with and without borders, graphs
 * of both kinds, weights, lengths that differ, types with gaps, and where there
 * is no topology. What is received is computed from lists of the test's own. */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

enum { RANKS_MAX = 16, EACH = 3, GAP = -77, FORMS_OF = 6 };

static int rank, size;

/* Element `i` of what a rank sends. */
static int value(int from, int i)
{
    return 1000 * from + 7 * i + 1;
}

static void complete(MPI_Request *request)
{
    int flag = 0;

    while (!flag)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

/* Blocking, nonblocking and persistent; then the same with large counts. */
static void call(int form, const int *send, int scount, MPI_Datatype stype,
                 int *recv, int rcount, MPI_Datatype rtype, MPI_Comm comm)
{
#define GIVEN send, scount, stype, recv, rcount, rtype, comm
    MPI_Request request = MPI_REQUEST_NULL;

    switch (form) {
    case 0:
        MPI_Neighbor_allgather(GIVEN);
        return;
    case 1:
        MPI_Ineighbor_allgather(GIVEN, &request);
        break;
    case 2:
        MPI_Neighbor_allgather_init(GIVEN, MPI_INFO_NULL, &request);
        break;
    case 3:
        MPI_Neighbor_allgather_c(GIVEN);
        return;
    case 4:
        MPI_Ineighbor_allgather_c(GIVEN, &request);
        break;
    default:
        MPI_Neighbor_allgather_init_c(GIVEN, MPI_INFO_NULL, &request);
        break;
    }
    if (form % 3 == 2)
        MPI_Start(&request);
    complete(&request);
    if (form % 3 == 2)
        MPI_Request_free(&request);
#undef GIVEN
}

/* Block k of the result is that of sources[k]; of MPI_PROC_NULL nothing. */
static void check_result(const int *recv, const int *sources, int count,
                         int stride)
{
    int k, i;

    for (k = 0; k < count; k++)
        for (i = 0; i < EACH * stride; i++) {
            int is_data = i % stride == 0 && sources[k] >= 0;
            CHECK(recv[k * EACH * stride + i] ==
                  (is_data ? value(sources[k], i / stride) : GAP));
        }
}

/* On a communicator whose neighbours are known: all forms, plain and with a gap
 * behind each element of the result. */
static void try_all(MPI_Comm comm, const int *sources, int count)
{
    int send[EACH], recv[2 * RANKS_MAX * EACH * 2], form, i, stride, own;
    MPI_Datatype types[2] = {MPI_INT};

    MPI_Comm_rank(comm, &own);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &types[1]);
    MPI_Type_commit(&types[1]);
    for (i = 0; i < EACH; i++)
        send[i] = value(own, i);
    for (form = 0; form < FORMS_OF; form++)
        for (stride = 1; stride <= 2; stride++) {
            for (i = 0; i < 2 * RANKS_MAX * EACH * 2; i++)
                recv[i] = GAP;
            call(form, send, EACH, MPI_INT, recv, EACH, types[stride - 1],
                 comm);
            check_result(recv, sources, count, stride);
            CHECK(recv[count * EACH * stride] == GAP);
        }
    MPI_Type_free(&types[1]);
}

static void test_grids(void)
{
    int dims[3], periods[3], sources[6], kind, dim;
    MPI_Comm grid;

    for (kind = 0; kind < 4; kind++) {
        for (dim = 0; dim < 3; dim++) {
            dims[dim] = dim == 2 ? 1 : 0;
            periods[dim] = (kind >> (dim == 1)) & 1;
        }
        MPI_Dims_create(size, 3, dims);
        MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
        for (dim = 0; dim < 3; dim++)
            MPI_Cart_shift(grid, dim, 1, &sources[2 * dim],
                           &sources[2 * dim + 1]);
        try_all(grid, sources, 6);
        MPI_Comm_free(&grid);
    }
}

/* An edge from i to j where i * j % 3 is not 1, and from 0 to 0 twice. */
static int has_edge(int from, int to)
{
    return from * to % 3 != 1;
}

static void test_dist_graphs(void)
{
    int sources[RANKS_MAX + 1], ends[RANKS_MAX + 1], ones[RANKS_MAX + 1];
    int in = 0, out = 0, i, is_weighted;
    MPI_Comm graph, copy;

    for (i = 0; i < size; i++) {
        if (has_edge(size - 1 - i, rank))
            sources[in++] = size - 1 - i;
        if (has_edge(rank, i))
            ends[out++] = i;
    }
    if (rank == 0)
        sources[in++] = ends[out++] = 0;
    for (i = 0; i <= RANKS_MAX; i++)
        ones[i] = 1;
    for (is_weighted = 0; is_weighted < 2; is_weighted++) {
        int *weights = is_weighted ? ones : MPI_UNWEIGHTED;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, weights,
                                       out, ends, weights, MPI_INFO_NULL, 0,
                                       &graph);
        try_all(graph, sources, in);
        MPI_Comm_dup(graph, &copy);
        MPI_Comm_free(&graph);
        try_all(copy, sources, in);
        MPI_Comm_free(&copy);
    }
}

/* A ring as a graph of the old kind. */
static void test_graph(void)
{
    int index[RANKS_MAX], edges[2 * RANKS_MAX], i;
    MPI_Comm graph;

    if (size < 3)
        return;
    for (i = 0; i < size; i++) {
        index[i] = 2 * i + 2;
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    try_all(graph, &edges[2 * rank], 2);
    MPI_Comm_free(&graph);
}

/* Even ranks send one int to the odd one behind them and receive three; who has
 * no neighbours calls, too. Sides that a rank has not may be anything. */
static void test_lengths_differ(void)
{
    int peer = rank % 2 == 0 ? rank + 1 : rank - 1, has_peer = peer < size;
    int send[EACH], recv[EACH] = {GAP, GAP, GAP}, i, form;
    int sent = rank % 2 == 0 ? 1 : EACH, received = EACH + 1 - sent;
    MPI_Comm pairs;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, has_peer, &peer,
                                   MPI_UNWEIGHTED, has_peer, &peer,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &pairs);
    for (i = 0; i < EACH; i++)
        send[i] = value(rank, i);
    for (form = 0; form < FORMS_OF; form++) {
        call(form, send, sent, MPI_INT, recv, received, MPI_INT, pairs);
        for (i = 0; i < EACH; i++)
            CHECK(recv[i] == (has_peer && i < received ? value(peer, i) : GAP));
        call(form, NULL, 0, MPI_INT, NULL, 0, MPI_INT, pairs);
    }
    MPI_Comm_free(&pairs);
}

/* The MPI library has its say. */
static void test_no_topology(void)
{
    int word = 0, recv[RANKS_MAX], code;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Neighbor_allgather(&word, 1, MPI_INT, recv, 1, MPI_INT,
                                  MPI_COMM_WORLD);
    CHECK(code != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    test_grids();
    test_dist_graphs();
    test_graph();
    test_lengths_differ();
    if (argc < 2)
        test_no_topology();
    return test_end("neighbors");
}
