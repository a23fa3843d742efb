/* Requests of collectives among others: every form of waiting and testing,
 * freeing, persistent ones; progress of either kind of message while the
 * program waits for the other. */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

enum { N = 2000, LARGE = 300000, MANY = 40 };

static int rank, size, left, right;

static void fill(int *buf, int n, int with)
{
    int i;

    for (i = 0; i < n; i++)
        buf[i] = with + i;
}

static int holds(const int *buf, int n, int with)
{
    int i;

    for (i = 0; i < n; i++)
        if (buf[i] != with + i)
            return 0;
    return 1;
}

/* ---- four requests of different kinds, waited for in some way ---- */

typedef struct mix {
    int sent[N], got[N], cast[N], one, sum;
    MPI_Request requests[4];
} mix_t;

static void mix_start(mix_t *mix, int round)
{
    fill(mix->sent, N, rank + round);
    fill(mix->got, N, -1);
    fill(mix->cast, N, rank == round % size ? round : -5);
    mix->one = rank + round;
    MPI_Irecv(mix->got, N, MPI_INT, left, 1, MPI_COMM_WORLD, &mix->requests[0]);
    MPI_Ibcast(mix->cast, N, MPI_INT, round % size, MPI_COMM_WORLD,
               &mix->requests[1]);
    MPI_Isend(mix->sent, N, MPI_INT, right, 1, MPI_COMM_WORLD,
              &mix->requests[2]);
    MPI_Iallreduce(&mix->one, &mix->sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &mix->requests[3]);
}

static void mix_check(const mix_t *mix, int round)
{
    int i;

    for (i = 0; i < 4; i++)
        CHECK(mix->requests[i] == MPI_REQUEST_NULL);
    CHECK(holds(mix->got, N, left + round));
    CHECK(holds(mix->cast, N, round));
    CHECK(mix->sum == size * (size - 1) / 2 + size * round);
}

static void wait_all(mix_t *mix)
{
    MPI_Status statuses[4];

    MPI_Waitall(4, mix->requests, statuses);
    CHECK(statuses[0].MPI_SOURCE == left);
}

static void wait_any(mix_t *mix)
{
    int i, index, seen = 0;

    for (i = 0; i < 4; i++) {
        MPI_Waitany(4, mix->requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < 4);
        seen |= 1 << index;
    }
    CHECK(seen == 15);
    MPI_Waitany(4, mix->requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
}

static void wait_some(mix_t *mix)
{
    int count = 0, now, indices[4];

    while (count < 4) {
        MPI_Waitsome(4, mix->requests, &now, indices, MPI_STATUSES_IGNORE);
        CHECK(now > 0 && now <= 4);
        count += now;
    }
}

static void test_all_of(mix_t *mix)
{
    int flag = 0;

    while (!flag)
        MPI_Testall(4, mix->requests, &flag, MPI_STATUSES_IGNORE);
}

static void test_any_of(mix_t *mix)
{
    int count = 0, flag, index;

    while (count < 4) {
        MPI_Testany(4, mix->requests, &index, &flag, MPI_STATUS_IGNORE);
        count += flag && index != MPI_UNDEFINED;
    }
}

static void test_some_of(mix_t *mix)
{
    int count = 0, now, indices[4];

    while (count < 4) {
        MPI_Testsome(4, mix->requests, &now, indices, MPI_STATUSES_IGNORE);
        count += now;
    }
}

/* Asking does not take the request away. */
static void ask_each(mix_t *mix)
{
    int i, flag;

    for (i = 3; i >= 0; i--) {
        flag = 0;
        while (!flag)
            MPI_Request_get_status(mix->requests[i], &flag, MPI_STATUS_IGNORE);
        CHECK(mix->requests[i] != MPI_REQUEST_NULL);
        MPI_Request_get_status(mix->requests[i], &flag, MPI_STATUS_IGNORE);
        CHECK(flag);
        MPI_Wait(&mix->requests[i], MPI_STATUS_IGNORE);
    }
}

/* The questions of MPI-4.1, which its predecessors' libraries have by the
 * binding. */
static void ask_all(mix_t *mix)
{
    MPI_Status statuses[4];
    int flag = 0;

    while (!flag)
        MPI_Request_get_status_all(4, mix->requests, &flag, statuses);
    CHECK(statuses[0].MPI_SOURCE == left);
    MPI_Waitall(4, mix->requests, MPI_STATUSES_IGNORE);
    MPI_Request_get_status_all(4, mix->requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
}

static void ask_any(mix_t *mix)
{
    int i, flag, index;

    for (i = 0; i < 4; i++) {
        for (flag = 0; !flag;)
            MPI_Request_get_status_any(4, mix->requests, &index, &flag,
                                       MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < 4);
        MPI_Wait(&mix->requests[index], MPI_STATUS_IGNORE);
    }
    MPI_Request_get_status_any(4, mix->requests, &index, &flag,
                               MPI_STATUS_IGNORE);
    CHECK(flag && index == MPI_UNDEFINED);
}

static void ask_some(mix_t *mix)
{
    MPI_Status statuses[4];
    int i, done, indices[4];

    do {
        MPI_Request_get_status_some(4, mix->requests, &done, indices, statuses);
        CHECK(done == MPI_UNDEFINED || (done >= 0 && done <= 4));
        for (i = 0; i < done; i++) {
            CHECK(indices[i] != 0 || statuses[i].MPI_SOURCE == left);
            MPI_Wait(&mix->requests[indices[i]], MPI_STATUS_IGNORE);
        }
    } while (done != MPI_UNDEFINED);
}

static void test_mixtures(void)
{
    static void (*const ways[])(mix_t *) = {
        wait_all,     wait_any, wait_some, test_all_of, test_any_of,
        test_some_of, ask_each, ask_all,   ask_any,     ask_some};
    enum { WAYS = sizeof ways / sizeof *ways };
    static mix_t mix;
    int round;

    for (round = 0; round < 3 * WAYS; round++) {
        mix_start(&mix, round);
        ways[round % WAYS](&mix);
        mix_check(&mix, round);
    }
}

/* ---- many at once, finished backwards ---- */

static void test_many(void)
{
    static int bufs[MANY][64];
    MPI_Request requests[MANY];
    int i;

    for (i = 0; i < MANY; i++) {
        fill(bufs[i], 64, rank == i % size ? i : -1);
        MPI_Ibcast(bufs[i], 64, MPI_INT, i % size, MPI_COMM_WORLD,
                   &requests[i]);
    }
    for (i = MANY - 1; i >= 0; i--)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (i = 0; i < MANY; i++)
        CHECK(holds(bufs[i], 64, i));
}

/* ---- freed while under way ---- */

static void test_free(void)
{
    static int buf[N];
    MPI_Request request;
    int round;

    for (round = 0; round < 5; round++) {
        fill(buf, N, rank == 0 ? round : -3);
        MPI_Ibcast(buf, N, MPI_INT, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
        /* A later one on the same communicator ends after it, at the root's
         * children at the latest when the root has answered. */
        MPI_Barrier(MPI_COMM_WORLD);
        while (!holds(buf, N, round)) {
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag,
                       MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* ---- persistent ---- */

static void test_persistent(void)
{
    static int cast[N], got[N], sent[N];
    int one, sum, round, i;
    MPI_Request requests[4];

    MPI_Bcast_init(cast, N, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[1]);
    MPI_Send_init(sent, N, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(got, N, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[3]);
    for (round = 0; round < 10; round++) {
        fill(cast, N, rank == size - 1 ? round : -9);
        fill(sent, N, rank * round);
        one = rank * round;
        if (round % 2 == 0)
            MPI_Startall(4, requests);
        for (i = 0; i < 4 && round % 2 != 0; i++)
            MPI_Start(&requests[i]);
        if (round % 3 == 0) {
            int flag = 0;
            while (!flag)
                MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        }
        for (i = 0; i < 4; i++)
            CHECK(requests[i] != MPI_REQUEST_NULL);
        CHECK(holds(cast, N, round));
        CHECK(holds(got, N, left * round));
        CHECK(sum == round * size * (size - 1) / 2);
    }
    /* Inactive ones are done. */
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 4; i++) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* The communicator goes first; some are never freed. */
static void test_persistent_alone(void)
{
    MPI_Request request, forgotten;
    int one = rank, sum = 0, round;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                       &request);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &forgotten);
    MPI_Comm_free(&comm);
    for (round = 1; round < 4; round++) {
        one = rank * round;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == round * size * (size - 1) / 2);
        MPI_Start(&forgotten);
        MPI_Wait(&forgotten, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* The order of their initialisation is the same on all ranks, that of their
 * starts is each rank's own, also among blocking collectives. */
static void test_persistent_orders(void)
{
    enum { KINDS = 5, ROUNDS = 12 };
    static int cast[LARGE];
    int one, sum, other, least, i, round, total;
    MPI_Request requests[KINDS];

    MPI_Bcast_init(cast, LARGE, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[2]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
    MPI_Allreduce_init(&other, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[4]);
    for (round = 0; round < ROUNDS; round++) {
        fill(cast, LARGE, rank == 0 ? round : -9);
        one = rank + round;
        other = rank - round;
        for (i = 0; i < KINDS; i++) {
            MPI_Start(&requests[(i + rank + round) % KINDS]);
            if (i == round % KINDS)
                MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM,
                              MPI_COMM_WORLD);
        }
        MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
        CHECK(holds(cast, LARGE, round));
        CHECK(sum == size * (size - 1) / 2 + size * round && total == sum);
        CHECK(least == -round);
    }
    for (i = 0; i < KINDS; i++)
        MPI_Request_free(&requests[(i + rank) % KINDS]);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[0]);
    one = rank;
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(sum == size - 1);
    MPI_Request_free(&requests[0]);
}

/* Short ones, started again and again while ranks run ahead of each other: some
 * starts are over at once, some wait. One that is active is not started. */
static void test_persistent_short(void)
{
    enum { ROUNDS = 300 };
    int cast, one, sum, round, i, error;
    MPI_Request requests[3];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Bcast_init(&cast, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                       &requests[1]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]);
    for (round = 0; round < ROUNDS; round++) {
        cast = rank == 0 ? round : -9;
        one = rank + round;
        for (i = 0; i < 3; i++)
            MPI_Start(&requests[(i + rank * (round % 3)) % 3]);
        error = MPI_Start(&requests[1]);
        if (round % 2 == 0)
            MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < 3; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        CHECK(error != MPI_SUCCESS);
        CHECK(cast == round);
        CHECK(sum == size * (size - 1) / 2 + size * round);
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(cast == round);
    }
    for (i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    MPI_Comm_free(&comm);
}

/* One is started, the other is not. */
static void ask_beside_inactive(MPI_Request started, MPI_Request idle)
{
    MPI_Request both[2] = {idle, started};
    int flag = 0, index, done, indices[2];

    MPI_Request_get_status_all(2, both, &flag, MPI_STATUSES_IGNORE);
    for (flag = 0; !flag;)
        MPI_Request_get_status_any(2, both, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(index == 1);
    MPI_Request_get_status_some(2, both, &done, indices, MPI_STATUSES_IGNORE);
    CHECK(done == 1 && indices[0] == 1);
    MPI_Request_get_status_all(2, both, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
}

/* A second MPI_Start of an active request is refused, and leaves what the first
 * one has read as it was. */
static void test_persistent_twice(void)
{
    enum { FIRST = 5, LATER = 9 };
    int data[2] = {FIRST, 0}, class = MPI_SUCCESS;
    MPI_Request request;
    MPI_Datatype gap;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_create_resized(MPI_INT, 0, sizeof data, &gap);
    MPI_Type_commit(&gap);
    MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 1, gap, comm,
                       MPI_INFO_NULL, &request);
    MPI_Start(&request);
    data[0] = LATER;
    MPI_Error_class(MPI_Start(&request), &class);
    CHECK(class == MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data[0] == FIRST);
    MPI_Request_free(&request);
    MPI_Type_free(&gap);
    MPI_Comm_free(&comm);
}

/* The host knows nothing of those: functions that name one or some find them
 * beside its own, once for each start. */
static void test_persistent_some(void)
{
    enum { KINDS = 4, ROUNDS = 8 };
    int in[2] = {0, 0}, out[2], got, sent, round, i, due, done, index, flag;
    int indices[KINDS];
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS];

    MPI_Allreduce_init(&in[0], &out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[0]);
    MPI_Send_init(&sent, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Allreduce_init(&in[1], &out[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[2]);
    MPI_Recv_init(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[3]);
    for (round = 0; round < ROUNDS; round++) {
        int seen[KINDS] = {0};
        in[0] = rank + round;
        in[1] = sent = rank * round;
        MPI_Startall(KINDS, requests);
        for (due = KINDS; due != 0; due -= done) {
            done = 1;
            flag = 0;
            if (round % 4 == 0) {
                MPI_Waitany(KINDS, requests, &indices[0], &statuses[0]);
            } else if (round % 4 == 1) {
                while (!flag)
                    MPI_Testany(KINDS, requests, &indices[0], &flag,
                                MPI_STATUS_IGNORE);
            } else if (round % 4 == 2) {
                MPI_Waitsome(KINDS, requests, &done, indices, statuses);
            } else {
                for (done = 0; done == 0;)
                    MPI_Testsome(KINDS, requests, &done, indices,
                                 MPI_STATUSES_IGNORE);
            }
            CHECK(done >= 1 && done <= due);
            for (i = 0; i < done; i++)
                CHECK(seen[indices[i]]++ == 0);
        }
        CHECK(out[0] == size * (size - 1) / 2 + size * round);
        CHECK(out[1] == (size - 1) * round && got == left * round);
        MPI_Waitany(KINDS, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index == MPI_UNDEFINED);
        MPI_Testsome(KINDS, requests, &done, indices, MPI_STATUSES_IGNORE);
        CHECK(done == MPI_UNDEFINED);
    }
    MPI_Start(&requests[0]);
    ask_beside_inactive(requests[0], requests[2]);
    for (flag = 0; !flag;)
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(out[0] == size * (size - 1) / 2 + size * (round - 1));
    MPI_Test(&requests[0], &flag, &statuses[0]);
    CHECK(flag);
    for (i = 0; i < KINDS; i++)
        MPI_Request_free(&requests[i]);
}

/* ---- progress ---- */

/* The host's message needs this rank while it is in a barrier of xylem's. */
static void test_host_progress(void)
{
    static int buf[LARGE];
    MPI_Request request = MPI_REQUEST_NULL;

    if (size == 1)
        return;
    fill(buf, LARGE, rank == 0 ? 5 : 0);
    if (rank == 0)
        MPI_Isend(buf, LARGE, MPI_INT, size - 1, 3, MPI_COMM_WORLD, &request);
    if (rank == size - 1)
        MPI_Recv(buf, LARGE, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(rank != size - 1 || holds(buf, LARGE, 5));
}

/* The broadcast needs this rank while it waits for a message of the host's. */
static void test_own_progress(void)
{
    static int buf[LARGE];
    MPI_Request request;
    int root, token = 1, i;

    for (root = 0; root < size; root++) {
        fill(buf, LARGE, rank == root ? root : -1);
        MPI_Ibcast(buf, LARGE, MPI_INT, root, MPI_COMM_WORLD, &request);
        if (rank == root) {
            for (i = 0; i < size; i++)
                if (i != root)
                    MPI_Recv(&token, 1, MPI_INT, i, 4, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(holds(buf, LARGE, root));
            MPI_Send(&token, 1, MPI_INT, root, 4, MPI_COMM_WORLD);
        }
    }
}

/* A nonblocking call returns though others have not come. */
static void test_returns(void)
{
    MPI_Request request;
    int token = 7;

    if (rank == 0) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        for (int i = 1; i < size; i++)
            MPI_Send(&token, 1, MPI_INT, i, 6, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    test_returns(); /* also as the first call of all */
    MPI_Barrier(MPI_COMM_WORLD);
    test_returns();
    test_mixtures();
    test_many();
    test_free();
    test_persistent();
    test_persistent_alone();
    test_persistent_orders();
    test_persistent_short();
    test_persistent_some();
    test_persistent_twice();
    test_host_progress();
    test_own_progress();
    return test_end("requests");
}
