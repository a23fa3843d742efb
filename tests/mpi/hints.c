/* What info keys of communicators ask of xylem: taken, told again, replaced,
 * left where they cannot be followed or understood, and never an error. run.sh
 * looks at the choices that were made. */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

static int rank, size;

static MPI_Info info_of(const char *algorithm, const char *order)
{
    MPI_Info info;

    MPI_Info_create(&info);
    if (algorithm != NULL)
        MPI_Info_set(info, "xylem_algorithm", algorithm);
    if (order != NULL)
        MPI_Info_set(info, "xylem_reduce_order", order);
    return info;
}

/* "": there is none. */
static void holds(MPI_Comm comm, const char *key, const char *wanted)
{
    char value[128] = "";
    MPI_Info info;
    int found;

    MPI_Comm_get_info(comm, &info);
    MPI_Info_get(info, key, sizeof value - 1, value, &found);
    CHECK(strcmp(found ? value : "", wanted) == 0);
    MPI_Info_free(&info);
}

static void sum_in(MPI_Comm comm, int count)
{
    double *mine = malloc((size_t)count * sizeof *mine),
           *sum = malloc((size_t)count * sizeof *sum);
    int i, good = 1;

    for (i = 0; i < count; i++)
        mine[i] = rank + i;
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm);
    for (i = 0; i < count; i++)
        good = good && sum[i] == size * (size - 1) / 2.0 + size * (double)i;
    CHECK(good);
    free(mine);
    free(sum);
}

static void cast_in(MPI_Comm comm, int waits)
{
    int data[300], i, good = 1;
    MPI_Request request;

    for (i = 0; i < 300; i++)
        data[i] = rank == size - 1 ? i : -1;
    if (waits) {
        MPI_Ibcast(data, 300, MPI_INT, size - 1, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Bcast(data, 300, MPI_INT, size - 1, comm);
    }
    for (i = 0; i < 300; i++)
        good = good && data[i] == i;
    CHECK(good);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, other;
    MPI_Request request;
    MPI_Info info;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sum_in(MPI_COMM_WORLD, 1);

    info = info_of("bcast=chain,allreduce=ring", NULL);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    holds(comm, "xylem_algorithm", "bcast=chain,allreduce=ring");
    holds(comm, "xylem_reduce_order", "");
    cast_in(comm, 0);
    cast_in(comm, 1);
    sum_in(comm, 5000);

    /* The other key is added, and this one is replaced. */
    info = info_of(NULL, "arrival");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    holds(comm, "xylem_algorithm", "bcast=chain,allreduce=ring");
    holds(comm, "xylem_reduce_order", "arrival");
    info = info_of("bcast=knomial:3", "reproducible");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    holds(comm, "xylem_algorithm", "bcast=knomial:3");
    holds(comm, "xylem_reduce_order", "reproducible");
    cast_in(comm, 0);
    sum_in(comm, 5000);

    /* Another communicator has none of it; one that cannot be followed, or is
     * not understood, is left. */
    MPI_Comm_dup(comm, &other);
    holds(other, "xylem_algorithm", "");
    info = info_of("bcast=nonsense,nothing=ring,ring", "backwards");
    MPI_Comm_set_info(other, info);
    MPI_Info_free(&info);
    cast_in(other, 0);
    cast_in(other, 1);
    sum_in(other, 100);
    MPI_Comm_free(&other);
    info = info_of("allgather=bruck:2", "arrival");
    MPI_Comm_idup_with_info(comm, info, &other, &request);
    MPI_Info_free(&info);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    holds(other, "xylem_algorithm", "allgather=bruck:2");
    holds(other, "xylem_reduce_order", "arrival");
    sum_in(other, 100);
    MPI_Comm_free(&other);
    MPI_Comm_free(&comm);
    return test_end("hints");
}
