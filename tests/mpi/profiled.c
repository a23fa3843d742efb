/* A tool in the program: its MPI_Bcast counts, and calls PMPI_Bcast. */
#include "tests/mpi/mpitest.h"

static int counted;

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    counted++;
    return PMPI_Bcast(buf, count, type, root, comm);
}

int main(int argc, char **argv)
{
    int value = 0, rank, i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i < 3; i++) {
        value = rank == 0 ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(value == i);
    }
    CHECK(counted == 3);
    return test_end("profiled");
}
