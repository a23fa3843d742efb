/* A rank dies. Where the library survives it, the others are told by all kinds
 * of calls, revoke, shrink, and go on; elsewhere the job ends, and nobody
 * waits.
 *
 *   recovery [revoke]   revoke: nobody dies, one revokes while the others wait
 */
#include <signal.h>
#include <unistd.h>

#include "tests/mpi/mpitest.h"

enum { PROC_FAILED = 75, REVOKED = 77, /* Open MPI's */ TURNS_MAX = 30000 };

/* Open MPI 5's; not every library has them. */
extern int MPIX_Comm_revoke(MPI_Comm comm);
extern int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *made)
    __attribute__((weak));
extern int MPIX_Comm_agree(MPI_Comm comm, int *flag) __attribute__((weak));
extern int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag) __attribute__((weak));
extern int MPIX_Comm_failure_ack(MPI_Comm comm) __attribute__((weak));
extern int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *dead)
    __attribute__((weak));
extern int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *dead)
    __attribute__((weak));
#pragma weak MPIX_Comm_revoke

static int rank, size;

static int class_of(int code)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    return class;
}

static void check_failed(int code)
{
    CHECK(class_of(code) == PROC_FAILED || class_of(code) == REVOKED);
}

static int sum_in(MPI_Comm comm, int *sum)
{
    int one = 1;

    return MPI_Allreduce(&one, sum, 1, MPI_INT, MPI_SUM, comm);
}

/* How many it has, and frees it. */
static int size_of(MPI_Group group)
{
    int n = -1;

    MPI_Group_size(group, &n);
    MPI_Group_free(&group);
    return n;
}

/* What the library says of the communicator; of deaths it hears later than
 * xylem, from its launcher. */
static void check_known(MPI_Comm comm, int dead)
{
    int flag = 0, known = 0, i;
    MPI_Group group;

    CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag);
    for (i = 0; i < TURNS_MAX && known != dead; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(1000);
        CHECK(MPIX_Comm_get_failed(comm, &group) == MPI_SUCCESS);
        known = size_of(group);
    }
    CHECK(known == dead);
    CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    CHECK(MPIX_Comm_failure_get_acked(comm, &group) == MPI_SUCCESS);
    CHECK(size_of(group) == dead);
}

/* What waits in a call that some rank never makes, of two forms; then another
 * communicator is made and used. */
static void recover(MPI_Comm comm, int left)
{
    MPI_Request request;
    MPI_Comm made;
    int sum = 0, code, n, i, flag = 1;

    for (i = 0, code = MPI_SUCCESS; i < 3 && code == MPI_SUCCESS; i++)
        code = sum_in(comm, &sum);
    check_failed(code);
    MPIX_Comm_revoke(comm);
    code = MPI_Ibarrier(comm, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_failed(code);
    check_failed(sum_in(comm, &sum));
    MPIX_Comm_agree(comm, &flag);
    CHECK(flag == 1);
    check_known(comm, size - left);
    CHECK(MPIX_Comm_shrink(comm, &made) == MPI_SUCCESS);
    MPI_Comm_size(made, &n);
    CHECK(n == left);
    for (i = 0; i < 100; i++)
        CHECK(sum_in(made, &sum) == MPI_SUCCESS && sum == left);
    MPI_Comm_free(&made);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int sum = 0, is_revoked = argc > 1, left;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(sum_in(comm, &sum) == MPI_SUCCESS && sum == size);
    left = is_revoked ? size : size - 1;
    if (rank == size - 1 && !is_revoked)
        raise(SIGKILL);
    if (MPIX_Comm_is_revoked == NULL || (rank == size - 1 && is_revoked &&
                                         MPIX_Comm_revoke(comm) != MPI_SUCCESS))
        CHECK(!"it can");
    else
        recover(comm, left);
    MPI_Comm_free(&comm);
    if (test_failures == 0 && rank == 0)
        printf("PASS recovery: %d of %d ranks\n", left, size);
    fflush(stdout);
    MPI_Finalize();
    return test_failures != 0;
}
