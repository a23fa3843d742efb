/* A job that has spawned another, which may not have the binding: collectives
 * on what both of them make, and on parts of it. */
#include "tests/mpi/mpitest.h"

static int sum_of(MPI_Comm comm)
{
    int one = 1, sum = 0;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

/* Both jobs: `is_child` says which one this is. */
static void test_both(MPI_Comm between, int own, int both, int is_child)
{
    MPI_Comm merged, part, same;
    int buf[1000], i;

    MPI_Intercomm_merge(between, is_child, &merged);
    CHECK(sum_of(merged) == both);
    for (i = 0; i < 1000; i++)
        buf[i] = is_child ? -1 : i;
    MPI_Bcast(buf, 1000, MPI_INT, 0, merged);
    for (i = 0; i < 1000; i++)
        CHECK(buf[i] == i);
    MPI_Comm_dup(merged, &same);
    CHECK(sum_of(same) == both);
    MPI_Comm_split(merged, is_child, 0, &part);
    CHECK(sum_of(part) == own);
    CHECK(sum_of(MPI_COMM_WORLD) == own);
    MPI_Comm_free(&part);
    MPI_Comm_free(&same);
    MPI_Comm_free(&merged);
}

int main(int argc, char **argv)
{
    enum { CHILDREN = 2 };
    MPI_Comm parent, between;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        test_both(parent, size, size + atoi(argv[1]), 1);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return test_failures != 0;
    }
    CHECK(sum_of(MPI_COMM_WORLD) == size);
    {
        char text[16], *arguments[] = {text, NULL};
        snprintf(text, sizeof text, "%d", size);
        MPI_Comm_spawn(argv[0], arguments, CHILDREN, MPI_INFO_NULL, 0,
                       MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    }
    test_both(between, size, size + CHILDREN, 0);
    MPI_Comm_disconnect(&between);
    return test_end("spawn");
}
