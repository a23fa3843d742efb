/* MPI_THREAD_MULTIPLE: four threads, each with a communicator of its own, run
 * collectives of all forms at once, and make communicators, too. The first call
 * of all is another thread's, which has as little stack as xylem asks for.
 *
 *   threads [ROUNDS] */
#include <pthread.h>

#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

#ifdef MPICH_VERSION
enum { STACK_BYTES = 256 << 10 }; /* what MPICH wants for itself */
#else
enum { STACK_BYTES = 64 << 10 };
#endif
enum { THREADS = 4, N = 500 };

static int rank, size, rounds = 60;
static MPI_Comm comms[THREADS];

static void combine(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *x = in, *y = inout, i;

    (void)type;
    for (i = 0; i < *n; i++)
        y[i] = x[i] + y[i];
}

static void *run(void *arg)
{
    int number = (int)(long)arg, round, i, sum, root;
    int *buf = malloc(N * sizeof *buf), *all = malloc(N * sizeof *all);
    MPI_Comm comm = comms[number], other;
    MPI_Request requests[3];
    MPI_Op op;

    MPI_Op_create(combine, 1, &op);
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                       &requests[2]);
    for (round = 0; round < rounds; round++) {
        root = (round + number) % size;
        for (i = 0; i < N; i++)
            buf[i] = rank == root ? i * number + round : -1;
        MPI_Ibcast(buf, N, MPI_INT, root, comm, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        for (i = 0; i < N; i++)
            CHECK(buf[i] == i * number + round);
        MPI_Iallreduce(buf, all, N, MPI_INT, op, comm, &requests[0]);
        MPI_Ibarrier(comm, &requests[1]);
        MPI_Start(&requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < N; i++)
            CHECK(all[i] == size * buf[i]);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Allreduce(buf, all, N, MPI_INT, MPI_SUM, comm);
        CHECK(all[N - 1] == size * buf[N - 1]);
        if (round % 10 == 0) {
            MPI_Comm_dup(comm, &other);
            MPI_Bcast(buf, N, MPI_INT, 0, other);
            MPI_Comm_free(&other);
        }
    }
    MPI_Request_free(&requests[2]);
    MPI_Op_free(&op);
    free(buf);
    free(all);
    return NULL;
}

static void *run_first(void *arg)
{
    int value = rank == 0 ? 5 : 0;

    (void)arg;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(value == 5);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_attr_t little;
    int i, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level != MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            puts("SKIP there is no MPI_THREAD_MULTIPLE");
        MPI_Finalize();
        return 0;
    }
    if (argc > 1)
        rounds = atoi(argv[1]);
    pthread_attr_init(&little);
    pthread_attr_setstacksize(&little, STACK_BYTES);
    pthread_create(&threads[0], &little, run_first, NULL);
    pthread_join(threads[0], NULL);
    for (i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)(long)i);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    pthread_attr_destroy(&little);
    return test_end("threads");
}
