/* Corners of the standard: types without data, with gaps before their
 * beginning, with absolute addresses or negative extents; what need not be
 * given; collectives in callbacks of attributes; what is freed early; the
 * end. */
#include "tests/mpi/mpitest.h"

enum { RANKS_MAX = 16, EACH = 3 };

static int rank, size;
static int numbers[RANKS_MAX * EACH * 4];

static void clear(int *at, int count)
{
    while (count-- > 0)
        at[count] = -1;
}

/* What rank `from` has in its element `i`. */
static int of(int from, int i)
{
    return 1000 * from + i;
}

/* ---- types ---- */

static void test_no_data(void)
{
    MPI_Datatype none, wide;
    int guard[4] = {7, 7, 7, 7}, counts[RANKS_MAX], displs[RANKS_MAX], i;
    MPI_Request request;

    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    MPI_Type_create_resized(none, -4, 16, &wide);
    MPI_Type_commit(&wide);
    for (i = 0; i < size; i++) {
        counts[i] = i + 1;
        displs[i] = -i;
    }
    MPI_Bcast(guard, 5, none, size - 1, MPI_COMM_WORLD);
    MPI_Allgather(guard, 2, none, &guard[1], 1, wide, MPI_COMM_WORLD);
    MPI_Allgatherv(guard, 3, wide, &guard[1], counts, displs, wide,
                   MPI_COMM_WORLD);
    MPI_Ialltoall(guard, 1, wide, &guard[2], 1, none, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < 4; i++)
        CHECK(guard[i] == 7);
    MPI_Type_free(&none);
    MPI_Type_free(&wide);
}

/* Three ints, the first one before the address that is given; elements two
 * ints further on, or back. */
static MPI_Datatype before_type(int extent)
{
    int lengths[1] = {EACH};
    MPI_Aint displs[1] = {-(MPI_Aint)sizeof(int)};
    MPI_Datatype inner, made;

    MPI_Type_create_hindexed(1, lengths, displs, MPI_INT, &inner);
    MPI_Type_create_resized(inner, -(MPI_Aint)sizeof(int),
                            extent * (MPI_Aint)sizeof(int), &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&inner);
    return made;
}

static void test_before(int extent)
{
    MPI_Datatype type = before_type(extent);
    int middle = RANKS_MAX * EACH * 2, mine[EACH], i, from;

    for (i = 0; i < EACH; i++)
        mine[i] = of(rank, i);
    clear(numbers, RANKS_MAX * EACH * 4);
    MPI_Allgather(mine, EACH, MPI_INT, &numbers[middle], 1, type,
                  MPI_COMM_WORLD);
    for (from = 0; from < size; from++)
        for (i = 0; i < EACH; i++)
            CHECK(numbers[middle + from * extent - 1 + i] == of(from, i));
    clear(mine, EACH);
    MPI_Scatter(&numbers[middle], 1, type, mine, EACH, MPI_INT, size - 1,
                MPI_COMM_WORLD);
    for (i = 0; i < EACH; i++)
        CHECK(mine[i] == of(rank, i));
    MPI_Type_free(&type);
}

/* A type of absolute addresses, at MPI_BOTTOM. */
static MPI_Datatype absolute_type(int *first, int *second)
{
    int lengths[2] = {1, 2};
    MPI_Aint displs[2];
    MPI_Datatype made;

    MPI_Get_address(first, &displs[0]);
    MPI_Get_address(second, &displs[1]);
    MPI_Type_create_hindexed(2, lengths, displs, MPI_INT, &made);
    MPI_Type_commit(&made);
    return made;
}

static void test_bottom(void)
{
    static int a, b[2], c, d[2];
    MPI_Datatype from = absolute_type(&a, b), to = absolute_type(&c, d), near;
    int root = size / 2, all[RANKS_MAX * EACH], i;
    MPI_Request request;

    a = of(rank, 0), b[0] = of(rank, 1), b[1] = of(rank, 2);
    MPI_Allgather(MPI_BOTTOM, 1, from, all, EACH, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size * EACH; i++)
        CHECK(all[i] == of(i / EACH, i % EACH));
    /* Nor does it begin where its extent says. */
    MPI_Type_create_resized(from, 0, sizeof(int) * EACH, &near);
    MPI_Type_commit(&near);
    clear(all, RANKS_MAX * EACH);
    MPI_Allgather(MPI_BOTTOM, 1, near, all, EACH, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size * EACH; i++)
        CHECK(all[i] == of(i / EACH, i % EACH));
    MPI_Type_free(&near);
    c = d[0] = d[1] = -1;
    MPI_Scatter(all, EACH, MPI_INT, MPI_BOTTOM, 1, to, root, MPI_COMM_WORLD);
    CHECK(c == of(rank, 0) && d[0] == of(rank, 1) && d[1] == of(rank, 2));
    c = d[0] = d[1] = -1;
    MPI_Bcast(MPI_BOTTOM, 1, rank == root ? from : to, root, MPI_COMM_WORLD);
    if (rank != root)
        CHECK(c == of(root, 0) && d[0] == of(root, 1) && d[1] == of(root, 2));
    /* Both sides. */
    if (size == 1) {
        MPI_Ialltoall(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_WORLD,
                      &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(c == a && d[0] == b[0] && d[1] == b[1]);
    }
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

/* ---- what need not be given ---- */

static void test_left_out(void)
{
    int root = size - 1, mine = of(rank, 0), got = -1, i;
    int counts[RANKS_MAX], displs[RANKS_MAX], all[RANKS_MAX];
    int is_root = rank == root;

    for (i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = size - 1 - i;
    }
    MPI_Gather(&mine, 1, MPI_INT, is_root ? all : NULL, is_root ? 1 : -7,
               is_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    for (i = 0; is_root && i < size; i++)
        CHECK(all[i] == of(i, 0));
    MPI_Gatherv(&mine, 1, MPI_INT, is_root ? all : NULL,
                is_root ? counts : NULL, is_root ? displs : NULL,
                is_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    for (i = 0; is_root && i < size; i++)
        CHECK(all[size - 1 - i] == of(i, 0));
    MPI_Scatterv(is_root ? all : NULL, is_root ? counts : NULL,
                 is_root ? displs : NULL, is_root ? MPI_INT : MPI_DATATYPE_NULL,
                 &got, 1, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(got == mine);
    MPI_Reduce(&rank, is_root ? &got : NULL, 1, MPI_INT, MPI_SUM, root,
               MPI_COMM_WORLD);
    CHECK(!is_root || got == size * (size - 1) / 2);
    MPI_Bcast(NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
}

/* Only neighbours exchange anything; MPICH asks for no types of the others. */
static void test_nothing_to_most(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, i;
    int counts_out[RANKS_MAX] = {0}, counts_in[RANKS_MAX] = {0};
    int displs[RANKS_MAX] = {0}, mine = of(rank, 0), got = -1;
    MPI_Datatype types_out[RANKS_MAX], types_in[RANKS_MAX];

    for (i = 0; i < size; i++) {
#ifdef MPICH
        types_out[i] = types_in[i] = MPI_DATATYPE_NULL;
#else
        types_out[i] = types_in[i] = MPI_CHAR;
#endif
    }
    counts_out[next] = counts_in[previous] = 1;
    types_out[next] = types_in[previous] = MPI_INT;
    MPI_Alltoallw(&mine, counts_out, displs, types_out, &got, counts_in, displs,
                  types_in, MPI_COMM_WORLD);
    CHECK(got == of(previous, 0));
}

/* In place, with what is then not looked at. */
static void test_in_place(void)
{
    int root = size / 3, is_root = rank == root, mine = rank, all[RANKS_MAX], i;

    clear(all, RANKS_MAX);
    all[rank] = of(rank, 1);
    MPI_Allgather(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, all, 1, MPI_INT,
                  MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        CHECK(all[i] == of(i, 1));
    for (i = 0; i < size; i++)
        all[i] = of(rank, i);
    MPI_Alltoall(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, all, 1, MPI_INT,
                 MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        CHECK(all[i] == of(i, rank));
    if (is_root) {
        clear(all, RANKS_MAX);
        all[rank] = of(rank, 4);
        MPI_Gather(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, all, 1, MPI_INT, root,
                   MPI_COMM_WORLD);
        for (i = 0; i < size; i++)
            CHECK(all[i] == of(i, 4));
        MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, root,
                    MPI_COMM_WORLD);
    } else {
        i = of(rank, 4);
        MPI_Gather(&i, 1, MPI_INT, NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatter(NULL, 0, MPI_INT, &all[0], 1, MPI_INT, root,
                    MPI_COMM_WORLD);
        CHECK(all[0] == of(rank, 4));
    }
    MPI_Reduce(is_root ? MPI_IN_PLACE : &rank, is_root ? &mine : MPI_IN_PLACE,
               1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    CHECK(!is_root || mine == size * (size - 1) / 2);
}

/* ---- callbacks of attributes ---- */

static int calls, key;

static int sum_of(MPI_Comm comm)
{
    int one = 1, sum = 0;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static int copy(MPI_Comm old, int number, void *extra, void *in, void *out,
                int *flag)
{
    (void)number;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    CHECK(sum_of(old) == size);
    calls++;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int number, void *value, void *extra)
{
    MPI_Request request;
    int all[RANKS_MAX], i;

    (void)number;
    (void)value;
    (void)extra;
    CHECK(sum_of(comm) == size);
    CHECK(sum_of(MPI_COMM_WORLD) == size);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < size; i++)
        CHECK(all[i] == i);
    calls++;
    return MPI_SUCCESS;
}

/* Intel MPI deletes some attributes only when a rank is in other calls already,
 * and hangs by itself if they make collectives on their communicator. */
static int deletes_late(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(text, &length);
    return strstr(text, "Intel(R) MPI") != NULL;
}

static void test_attributes(void)
{
    MPI_Comm made, again;
    int round;

    if (deletes_late())
        return;
    MPI_Comm_create_keyval(copy, on_delete, &key, NULL);
    for (round = 0; round < 4; round++) {
        calls = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        if (round % 2 == 0)
            CHECK(sum_of(made) == size); /* before or after the binding's */
        MPI_Comm_set_attr(made, key, &calls);
        if (round >= 2)
            CHECK(sum_of(made) == size);
        MPI_Comm_dup(made, &again);
        CHECK(sum_of(again) == size);
        MPI_Comm_free(&made);
        MPI_Comm_free(&again);
        CHECK(calls == 3);
    }
    MPI_Comm_free_keyval(&key);
    CHECK(sum_of(MPI_COMM_WORLD) == size);
}

/* ---- freed early ---- */

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *x = in, *y = inout, i;

    (void)type;
    for (i = 0; i < *n * EACH; i++)
        y[i] += x[i];
}

/* The communicator, the operation and the type of a call that is under way. */
static void test_freed(void)
{
    enum { MANY = 2000 };
    static int mine[MANY * EACH], sum[MANY * EACH];
    MPI_Request requests[2];
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Op op;
    int round, i;

    for (round = 0; round < 4; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        CHECK(sum_of(comm) == size);
        MPI_Type_contiguous(EACH, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Op_create(add, round % 2, &op);
        for (i = 0; i < MANY * EACH; i++)
            mine[i] = i;
        MPI_Iallreduce(mine, sum, MANY, type, op, comm, &requests[0]);
        MPI_Ibarrier(comm, &requests[1]);
        MPI_Op_free(&op);
        MPI_Type_free(&type);
        MPI_Comm_free(&comm);
        CHECK(op == MPI_OP_NULL && type == MPI_DATATYPE_NULL &&
              comm == MPI_COMM_NULL);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < MANY * EACH && sum[i] == size * i; i++)
            ;
        CHECK(i == MANY * EACH);
    }
}

/* ---- the status of what does not block ---- */

static void test_status(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 1, word = rank;

    status.MPI_ERROR = 4711;
    MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL && word == 0);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag && status.MPI_ERROR == 4711);
    MPI_Wait(&request, &status); /* null */
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
}

/* ---- the end: MPI is still there for what hangs on MPI_COMM_SELF ---- */

static int last_calls;

static int at_end(MPI_Comm comm, int number, void *value, void *extra)
{
    (void)comm;
    (void)number;
    (void)value;
    (void)extra;
    last_calls++;
    if (sum_of(MPI_COMM_WORLD) != size) {
        puts("FAIL corners, in MPI_Finalize");
        fflush(stdout);
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int end_key;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &end_key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, end_key, NULL);
    MPI_Comm_free_keyval(&end_key);
    test_no_data();
    test_before(EACH);
    test_before(EACH + 1);
    test_before(-EACH);
    test_bottom();
    test_left_out();
    test_nothing_to_most();
    test_in_place();
    test_attributes();
    test_freed();
    test_status();
    return test_end("corners");
}
