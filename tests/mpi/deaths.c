/* The process of a rank is killed, where the MPI library and its launcher let
 * the others live: what xylem carries out ends on them with an error, of which
 * the program's handler is told.
 *
 *   deaths VICTIM SEED FILE
 *
 * The victim dies at a random moment of a stream of collectives. Each survivor
 * prints how long after that it was answered, and leaves without MPI_Finalize,
 * which would wait for the dead. FILE, which all map, has the time of death. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/mpitest.h"

enum {
    COUNT = 20000,
    BOUND_S = 200,
    FORMS = 7,
    LIFE_US_MAX = 60000,
    WARM = 20
};

static int rank, size;
static _Atomic uint64_t *died_ns;
static double in[COUNT], out[COUNT], many[COUNT];

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void *executioner(void *arg)
{
    usleep(*(const unsigned *)arg % LIFE_US_MAX);
    atomic_store(died_ns, now_ns());
    kill(getpid(), SIGKILL);
    return NULL;
}

/* The same on all ranks. */
static int one_call(int i)
{
    int count = i % 3 == 0 ? 1 : i % 3 == 1 ? 500 : COUNT, root = i % size;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    int code;

    switch (i % FORMS) {
    case 0:
        return MPI_Bcast(out, count, MPI_DOUBLE, root, world);
    case 1:
        return MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, root, world);
    case 2:
        return MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, world);
    case 3:
        return MPI_Allgather(in, count / size, MPI_DOUBLE, many, count / size,
                             MPI_DOUBLE, world);
    case 4:
        return MPI_Alltoall(in, count / size, MPI_DOUBLE, many, count / size,
                            MPI_DOUBLE, world);
    case 5:
        return MPI_Barrier(world);
    default:
        code = MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, world,
                              &request);
        return code != MPI_SUCCESS ? code
                                   : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void map_file(const char *path)
{
    int fd = open(path, O_RDWR);
    void *memory = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof(uint64_t)) == 0)
        memory = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        exit(2);
    died_ns = memory;
}

int main(int argc, char **argv)
{
    static unsigned seed;
    pthread_t thread;
    uint64_t now;
    int i, code = MPI_SUCCESS;

    if (argc < 4)
        return 2;
    map_file(argv[3]);
    alarm(BOUND_S);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < WARM; i++)
        CHECK(one_call(i) == MPI_SUCCESS);
    seed = (unsigned)atoi(argv[2]) * 7919u;
    if (rank == atoi(argv[1]) % size &&
        pthread_create(&thread, NULL, executioner, &seed) != 0)
        return 2;
    for (i = 0; code == MPI_SUCCESS; i++)
        code = one_call(i);
    now = now_ns();
    printf("PASS rank %d: answered after %.1f ms\n", rank,
           (double)(now - atomic_load(died_ns)) / 1e6);
    fflush(stdout);
    _exit(0);
}
