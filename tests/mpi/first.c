/* Communicators whose first collective does not block are served as well, once
 * that of which they are made has been used. */
#include "tests/mpi/mpitest.h"

int main(int argc, char **argv)
{
    MPI_Comm made, part;
    int rank, size, i, sent[64], got[64];
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    for (i = 0; i < size; i++)
        sent[i] = rank * 64 + i;
    MPI_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < size; i++)
        CHECK(got[i] == i * 64 + rank);
    MPI_Comm_split(made, rank == 0 ? MPI_UNDEFINED : 0, -rank, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, part, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (i = 0; i < size - 1; i++)
            CHECK(got[i] == (size - 1 - i) * 64 + (size - 1 - rank));
        MPI_Comm_free(&part);
    }
    MPI_Comm_free(&made);
    return test_end("first");
}
