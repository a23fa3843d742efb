/* A rank lacks the memory to narrow the arrays of a call with large counts: the
 * call is refused for want of memory, and later ones succeed. A library that
 * has functions for large counts narrows nothing. */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

/* Neighbours, so many that no other code asks for memory of this size. */
enum { EDGES = 1717, ARRAYS = 4 };

static int calls_to_failure; /* 0: no call fails */

extern void *__libc_malloc(size_t bytes);

/* In place of the C library's, in all libraries of the process. */
void *malloc(size_t bytes)
{
    if (calls_to_failure > 0 && bytes == (EDGES + 1) * sizeof(int) &&
        --calls_to_failure == 0)
        return NULL;
    return __libc_malloc(bytes);
}

static MPI_Count counts[EDGES];
static MPI_Aint displs[EDGES];
static int from[EDGES], to[EDGES];

static int exchange(MPI_Comm comm, int blocks)
{
    MPI_Request request;
    int code;

    if (blocks)
        return MPI_Neighbor_alltoallv_c(from, counts, displs, MPI_INT, to,
                                        counts, displs, MPI_INT, comm);
    code = MPI_Ineighbor_alltoallv_c(from, counts, displs, MPI_INT, to, counts,
                                     displs, MPI_INT, comm, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_lack(MPI_Comm comm, int array, int blocks)
{
    int code, class = MPI_SUCCESS, has_failed;

    calls_to_failure = array;
    code = exchange(comm, blocks);
    has_failed = calls_to_failure == 0;
    calls_to_failure = 0;
    MPI_Error_class(code, &class);
    CHECK(class == (has_failed ? MPI_ERR_NO_MEM : MPI_SUCCESS));
    CHECK(exchange(comm, blocks) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int ends[EDGES] = {0}, array, i;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    for (i = 0; i < EDGES; i++) {
        counts[i] = 1;
        displs[i] = i;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, EDGES, ends, MPI_UNWEIGHTED,
                                   EDGES, ends, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (array = 1; array <= ARRAYS; array++) {
        test_lack(comm, array, 1);
        test_lack(comm, array, 0);
    }
    MPI_Comm_free(&comm);
    return test_end("a rank without memory");
}
