/* Communicators: parts of others, in other orders, of one rank, made and freed
 * by the thousand; inter-communicators and topologies; those whose first
 * collective does not block; ranks that do not call at all.
 *
 *   comms [STORMS]      how many communicators are made and freed; 2000 */
#include "tests/mpi/mpitest.h"

static int rank, size;

/* Whether collectives work and bring what they should. */
static void use(MPI_Comm comm, int by)
{
    int me, n, one, sum = -1, i, *all;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    one = me + by;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == n * (n - 1) / 2 + n * by);
    sum = me == n - 1 ? by : -1;
    MPI_Bcast(&sum, 1, MPI_INT, n - 1, comm);
    CHECK(sum == by);
    all = malloc((size_t)n * sizeof *all);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (i = 0; i < n; i++)
        CHECK(all[i] == i + by);
    free(all);
}

static void use_later(MPI_Comm comm, int by)
{
    int me, n, one, sum = -1;
    MPI_Request request;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    one = me + by;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == n * (n - 1) / 2 + n * by);
}

/* Before anything on MPI_COMM_WORLD: some ranks, then all, in turns. */
static void test_parts_first(void)
{
    MPI_Comm part;
    MPI_Group world, some;
    int odd[64], n = 0, i;

    for (i = 1; i < size; i += 2)
        odd[n++] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, odd, &some);
    if (rank % 2 == 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 11, &part);
        use_later(part, 1);
        use(part, 2);
        use(part, 3);
    }
    use(MPI_COMM_WORLD, 4);
    if (rank % 2 == 1) {
        for (i = 0; i < 40; i++)
            use(part, i);
        use_later(part, 5);
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&some);
    use(MPI_COMM_SELF, 6);
    use_later(MPI_COMM_SELF, 7);
}

static void test_orders(void)
{
    MPI_Comm reversed, half, again;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    use(reversed, 1);
    use_later(reversed, 2);
    MPI_Comm_split(reversed, rank % 3 == 0 ? MPI_UNDEFINED : rank % 3, rank,
                   &half);
    if (half != MPI_COMM_NULL) {
        use_later(half, 8);
        use(half, 3);
        MPI_Comm_dup(half, &again);
        use(again, 4);
        use(half, 5);
        MPI_Comm_free(&half);
        use(again, 6);
        MPI_Comm_free(&again);
    }
    use(MPI_COMM_WORLD, 9);
    MPI_Comm_free(&reversed);
}

/* With an operation still under way. */
static void test_freed_early(void)
{
    static int buf[100000];
    MPI_Comm comm;
    MPI_Request request;
    int round, i;

    for (round = 0; round < 3; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm, round);
        for (i = 0; i < 100000; i++)
            buf[i] = rank == 0 ? i + round : 0;
        MPI_Ibcast(buf, 100000, MPI_INT, 0, comm, &request);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (i = 0; i < 100000; i++)
            if (buf[i] != i + round)
                break;
        CHECK(i == 100000);
    }
}

static void test_inter(void)
{
    MPI_Comm part, inter, merged;
    int one = rank + 1, sum = 0, i, want = 0;

    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 12, &inter);
    for (i = 0; i < size; i++)
        want += i % 2 != rank % 2 ? i + 1 : 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == want);
    MPI_Barrier(inter);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    use(merged, 3);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

static void test_topologies(void)
{
    int dims[1] = {size}, periods[1] = {1}, mine = rank, near[2] = {-1, -1};
    MPI_Comm ring;

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    use(ring, 2);
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, near, 1, MPI_INT, ring);
    CHECK(near[0] == (rank + size - 1) % size && near[1] == (rank + 1) % size);
    use(ring, 3);
    MPI_Comm_free(&ring);
}

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0, resident = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * 4;
}

static void storm(int times, int from)
{
    MPI_Comm comm;
    int i;

    for (i = from; i < from + times; i++) {
        if (i % 2 == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
        if (i % 4 < 3) /* some are never used */
            use(comm, i);
        if (i % 8 == 5)
            use_later(comm, i);
        MPI_Comm_free(&comm);
    }
}

static void test_storm(int times)
{
    long before, after;

    storm(times / 4, 0);
    before = resident_kib();
    storm(times - times / 4, 1);
    after = resident_kib();
    CHECK(after - before < 4096);
    if (rank == 0)
        printf("# %d communicators: %ld KiB more\n", times, after - before);
}

static void test_many_alive(int alive)
{
    enum { ALIVE_MAX = 100 };
    MPI_Comm comms[ALIVE_MAX];
    int i, round;

    if (alive > ALIVE_MAX)
        alive = ALIVE_MAX;
    for (i = 0; i < alive; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (round = 0; round < 2; round++)
        for (i = 0; i < alive; i++)
            use(comms[i], i + round);
    for (i = alive; i-- > 0;) /* odd ones first */
        MPI_Comm_free(&comms[i < alive / 2 ? 2 * i : 2 * (i - alive / 2) + 1]);
}

int main(int argc, char **argv)
{
    int storms = argc > 1 ? atoi(argv[1]) : 2000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    test_parts_first();
    test_orders();
    test_freed_early();
    test_inter();
    test_topologies();
    test_many_alive(storms);
    test_storm(storms);
    return test_end("comms");
}
