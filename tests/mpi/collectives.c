/* All collectives in all forms: blocking, nonblocking, persistent, with counts
 * of int and of MPI_Count; types with and without gaps, also different ones of
 * the same signature on the ranks; in place; empty; every root.
 *
 * Data are units of two ints. A unit is contiguous, or has a gap between its
 * two ints and one behind; gaps must stay as they are.
 *
 *   collectives [few]      with few: fewer lengths and types */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { GAP = -77, UNIT_PLAIN = 2, UNIT_GAPS = 4 };

static int rank, size;
static MPI_Comm comm;
static MPI_Datatype types[2]; /* plain, with gaps */
static const int extents[2] = {UNIT_PLAIN, UNIT_GAPS};
static const int seconds[2] = {1, 2}; /* where the second int is */
static enum form form;
static int is_large;

/* ---- a collective in one of its forms ---- */

static void complete(MPI_Request *request)
{
    int flag = 0;

    if (rank % 2 == 0) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
        return;
    }
    while (!flag)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

#define FORM(name, iname, suffix, ...)                                         \
    do {                                                                       \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        if (form == BLOCKING) {                                                \
            MPI_##name##suffix(__VA_ARGS__);                                   \
        } else if (form == NONBLOCKING) {                                      \
            MPI_##iname##suffix(__VA_ARGS__, &request);                        \
            complete(&request);                                                \
            CHECK(request == MPI_REQUEST_NULL);                                \
        } else {                                                               \
            MPI_##name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &request);   \
            MPI_Start(&request);                                               \
            complete(&request);                                                \
            CHECK(request != MPI_REQUEST_NULL);                                \
            MPI_Request_free(&request);                                        \
            CHECK(request == MPI_REQUEST_NULL);                                \
        }                                                                      \
    } while (0)

#define LARGE(name, iname, ...) FORM(name, iname, _c, __VA_ARGS__)

#define RUN(name, iname, ...)                                                  \
    do {                                                                       \
        if (is_large)                                                          \
            LARGE(name, iname, __VA_ARGS__);                                   \
        else                                                                   \
            FORM(name, iname, , __VA_ARGS__);                                  \
    } while (0)

/* ---- buffers ---- */

static int value(int from, int to, int i)
{
    return from * 10007 + to * 101 + i;
}

static int *make(int kind, int units)
{
    int i, ints = units * extents[kind] + 8;
    int *buf = malloc((size_t)ints * sizeof *buf);

    for (i = 0; i < ints; i++)
        buf[i] = GAP;
    return buf;
}

/* Units [begin, begin + n) hold value(from, to, 0 ...). */
static void put(int *buf, int kind, int begin, int n, int from, int to)
{
    int i;

    for (i = 0; i < n; i++) {
        int *unit = buf + (begin + i) * extents[kind];
        unit[0] = value(from, to, 2 * i);
        unit[seconds[kind]] = value(from, to, 2 * i + 1);
    }
}

static void check(const int *buf, int kind, int begin, int n, int from, int to)
{
    int i;

    for (i = 0; i < n; i++) {
        const int *unit = buf + (begin + i) * extents[kind];
        CHECK(unit[0] == value(from, to, 2 * i));
        CHECK(unit[seconds[kind]] == value(from, to, 2 * i + 1));
        if (kind == 1)
            CHECK(unit[1] == GAP && unit[3] == GAP);
    }
}

/* ---- moves ---- */

/* What the ranks call their data: 0 plain, 1 gaps, 2 odd ranks with gaps. */
static int kind_of(int way)
{
    return way == 2 ? rank % 2 : way;
}

static void test_bcast(int n, int way, int root)
{
    int kind = kind_of(way);
    int *buf = make(kind, n);

    if (rank == root)
        put(buf, kind, 0, n, root, 7);
    RUN(Bcast, Ibcast, buf, n, types[kind], root, comm);
    check(buf, kind, 0, n, root, 7);
    free(buf);
}

static void test_gather(int n, int way, int root, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int *send = make(kind, n), *recv = make(other, n * size);

    put(send, kind, 0, n, rank, root);
    in_place = in_place && rank == root;
    if (in_place)
        put(recv, other, n * rank, n, rank, root);
    RUN(Gather, Igather, in_place ? MPI_IN_PLACE : send, n, types[kind], recv,
        n, types[other], root, comm);
    for (i = 0; i < size && rank == root; i++)
        check(recv, other, n * i, n, i, root);
    free(send);
    free(recv);
}

static void test_scatter(int n, int way, int root, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int *send = make(kind, n * size), *recv = make(other, n);

    for (i = 0; i < size && rank == root; i++)
        put(send, kind, n * i, n, root, i);
    in_place = in_place && rank == root;
    RUN(Scatter, Iscatter, send, n, types[kind], in_place ? MPI_IN_PLACE : recv,
        n, types[other], root, comm);
    if (!in_place)
        check(recv, other, 0, n, root, rank);
    free(send);
    free(recv);
}

static void test_allgather(int n, int way, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int *send = make(kind, n), *recv = make(other, n * size);

    put(send, kind, 0, n, rank, 3);
    if (in_place)
        put(recv, other, n * rank, n, rank, 3);
    RUN(Allgather, Iallgather, in_place ? MPI_IN_PLACE : send, n, types[kind],
        recv, n, types[other], comm);
    for (i = 0; i < size; i++)
        check(recv, other, n * i, n, i, 3);
    free(send);
    free(recv);
}

static void test_alltoall(int n, int way, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int *send = make(kind, n * size), *recv = make(other, n * size);

    for (i = 0; i < size; i++) {
        put(send, kind, n * i, n, rank, i);
        if (in_place)
            put(recv, other, n * i, n, rank, i);
    }
    RUN(Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : send, n, types[kind],
        recv, n, types[other], comm);
    for (i = 0; i < size; i++)
        check(recv, other, n * i, n, i, rank);
    free(send);
    free(recv);
}

/* ---- moves of different lengths; blocks in falling order, with holes ---- */

typedef struct arrays {
    int counts[64], displs[64], bytes[64];
    MPI_Count large_counts[64];
    MPI_Aint large_displs[64], large_bytes[64];
    MPI_Datatype types[64];
    int units;
} arrays_t;

/* counts[i] = n * (by + i) % 3, or what the other rank calls its own. */
static int length(int n, int from, int to)
{
    return n * ((from + 2 * to) % 3);
}

static void arrange(arrays_t *a, int kind, const int *counts)
{
    int i, at = 1;

    for (i = size - 1; i >= 0; i--) {
        a->counts[i] = counts[i];
        a->displs[i] = at;
        a->large_counts[i] = counts[i];
        a->large_displs[i] = at;
        a->bytes[i] = at * extents[kind] * (int)sizeof(int);
        a->large_bytes[i] = a->bytes[i];
        a->types[i] = types[kind];
        at += counts[i] + 1;
    }
    a->units = at;
}

static void test_gatherv(int n, int way, int root, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int mine = length(n, rank, root), counts[64];
    arrays_t a;
    int *send = make(kind, mine), *recv;

    for (i = 0; i < size; i++)
        counts[i] = length(n, i, root);
    arrange(&a, other, counts);
    recv = make(other, a.units);
    put(send, kind, 0, mine, rank, root);
    in_place = in_place && rank == root;
    if (in_place)
        put(recv, other, a.displs[rank], mine, rank, root);
#define S    in_place ? MPI_IN_PLACE : send, mine, types[kind], recv
#define REST types[other], root, comm
    if (is_large)
        LARGE(Gatherv, Igatherv, S, a.large_counts, a.large_displs, REST);
    else
        FORM(Gatherv, Igatherv, , S, a.counts, a.displs, REST);
#undef S
#undef REST
    for (i = 0; i < size && rank == root; i++)
        check(recv, other, a.displs[i], counts[i], i, root);
    free(send);
    free(recv);
}

static void test_scatterv(int n, int way, int root, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int mine = length(n, root, rank), counts[64];
    arrays_t a;
    int *send, *recv = make(other, mine);

    for (i = 0; i < size; i++)
        counts[i] = length(n, root, i);
    arrange(&a, kind, counts);
    send = make(kind, a.units);
    for (i = 0; i < size; i++)
        put(send, kind, a.displs[i], counts[i], root, i);
    in_place = in_place && rank == root;
#define REST                                                                   \
    types[kind], in_place ? MPI_IN_PLACE : recv, mine, types[other], root, comm
    if (is_large)
        LARGE(Scatterv, Iscatterv, send, a.large_counts, a.large_displs, REST);
    else
        FORM(Scatterv, Iscatterv, , send, a.counts, a.displs, REST);
#undef REST
    if (!in_place)
        check(recv, other, 0, mine, root, rank);
    free(send);
    free(recv);
}

static void test_allgatherv(int n, int way, int in_place)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int mine = length(n, rank, 1), counts[64];
    arrays_t a;
    int *send = make(kind, mine), *recv;

    for (i = 0; i < size; i++)
        counts[i] = length(n, i, 1);
    arrange(&a, other, counts);
    recv = make(other, a.units);
    put(send, kind, 0, mine, rank, 1);
    if (in_place)
        put(recv, other, a.displs[rank], mine, rank, 1);
#define S in_place ? MPI_IN_PLACE : send, mine, types[kind], recv
    if (is_large)
        LARGE(Allgatherv, Iallgatherv, S, a.large_counts, a.large_displs,
              types[other], comm);
    else
        FORM(Allgatherv, Iallgatherv, , S, a.counts, a.displs, types[other],
             comm);
#undef S
    for (i = 0; i < size; i++)
        check(recv, other, a.displs[i], counts[i], i, 1);
    free(send);
    free(recv);
}

/* In place both sides are alike: lengths are symmetric. */
static void test_alltoallv(int n, int way, int in_place, int by_types)
{
    int kind = kind_of(way), other = kind_of(way == 2 ? 2 : 1 - way % 2), i;
    int sent[64], got[64];
    arrays_t s, r;
    int *send, *recv;

    for (i = 0; i < size; i++) {
        sent[i] = in_place ? n * ((rank + i) % 3) : length(n, rank, i);
        got[i] = in_place ? n * ((rank + i) % 3) : length(n, i, rank);
    }
    arrange(&s, kind, sent);
    arrange(&r, other, got);
    send = make(kind, s.units);
    recv = make(other, r.units);
    for (i = 0; i < size; i++) {
        put(send, kind, s.displs[i], sent[i], rank, i);
        if (in_place)
            put(recv, other, r.displs[i], got[i], rank, i);
    }
#define S in_place ? MPI_IN_PLACE : send
    if (by_types && is_large)
        LARGE(Alltoallw, Ialltoallw, S, s.large_counts, s.large_bytes, s.types,
              recv, r.large_counts, r.large_bytes, r.types, comm);
    else if (by_types)
        FORM(Alltoallw, Ialltoallw, , S, s.counts, s.bytes, s.types, recv,
             r.counts, r.bytes, r.types, comm);
    else if (is_large)
        LARGE(Alltoallv, Ialltoallv, S, s.large_counts, s.large_displs,
              types[kind], recv, r.large_counts, r.large_displs, types[other],
              comm);
    else
        FORM(Alltoallv, Ialltoallv, , S, s.counts, s.displs, types[kind], recv,
             r.counts, r.displs, types[other], comm);
#undef S
    for (i = 0; i < size; i++)
        check(recv, other, r.displs[i], got[i], i, rank);
    free(send);
    free(recv);
}

/* ---- sums ---- */

static long term(int from, int i)
{
    return (from + 1) * 3L + i % 11;
}

/* Of ranks [0, ranks). */
static long total(int ranks, int i)
{
    long sum = 0;
    int from;

    for (from = 0; from < ranks; from++)
        sum += term(from, i);
    return sum;
}

static long *numbers(int n)
{
    long *buf = malloc(((size_t)n + 1) * sizeof *buf);
    int i;

    for (i = 0; i < n; i++)
        buf[i] = term(rank, i);
    return buf;
}

static void check_sums(const long *buf, int n, int ranks, int begin)
{
    int i;

    for (i = 0; i < n; i++)
        CHECK(buf[i] == total(ranks, begin + i));
}

static void test_reduce(int n, int root, int in_place)
{
    long *send = numbers(n), *recv = numbers(n);

    in_place = in_place && rank == root;
    RUN(Reduce, Ireduce, in_place ? MPI_IN_PLACE : send,
        rank == root ? recv : NULL, n, MPI_LONG, MPI_SUM, root, comm);
    if (rank == root)
        check_sums(recv, n, size, 0);
    free(send);
    free(recv);
}

static void test_allreduce(int n, int in_place)
{
    long *send = numbers(n), *recv = numbers(n);

    RUN(Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : send, recv, n,
        MPI_LONG, MPI_SUM, comm);
    check_sums(recv, n, size, 0);
    free(send);
    free(recv);
}

static void test_scan(int n, int in_place, int exclusive)
{
    long *send = numbers(n), *recv = numbers(n);

    if (exclusive)
        RUN(Exscan, Iexscan, in_place ? MPI_IN_PLACE : send, recv, n, MPI_LONG,
            MPI_SUM, comm);
    else
        RUN(Scan, Iscan, in_place ? MPI_IN_PLACE : send, recv, n, MPI_LONG,
            MPI_SUM, comm);
    if (!exclusive || rank > 0)
        check_sums(recv, n, exclusive ? rank : rank + 1, 0);
    free(send);
    free(recv);
}

static void test_reduce_scatter_block(int n, int in_place)
{
    long *send = numbers(n * size), *recv = numbers(n * size);

    RUN(Reduce_scatter_block, Ireduce_scatter_block,
        in_place ? MPI_IN_PLACE : send, recv, n, MPI_LONG, MPI_SUM, comm);
    check_sums(recv, n, size, n * rank);
    free(send);
    free(recv);
}

static void test_reduce_scatter(int n, int in_place)
{
    int counts[64], i, before = 0, all = 0;
    MPI_Count large[64];
    long *send, *recv;

    for (i = 0; i < size; i++) {
        counts[i] = n * (i % 3);
        large[i] = counts[i];
        before += i < rank ? counts[i] : 0;
        all += counts[i];
    }
    send = numbers(all);
    recv = numbers(all);
    if (is_large)
        LARGE(Reduce_scatter, Ireduce_scatter, in_place ? MPI_IN_PLACE : send,
              recv, large, MPI_LONG, MPI_SUM, comm);
    else
        FORM(Reduce_scatter, Ireduce_scatter, , in_place ? MPI_IN_PLACE : send,
             recv, counts, MPI_LONG, MPI_SUM, comm);
    check_sums(recv, counts[rank], size, before);
    free(send);
    free(recv);
}

static void test_barrier(void)
{
    if (is_large)
        return; /* it counts nothing */
    FORM(Barrier, Ibarrier, , comm);
}

/* ---- all of them ---- */

static void test_moves(int n, int way, int in_place)
{
    int root = (n + way) % size;

    test_bcast(n, way, root);
    test_gather(n, way, root, in_place);
    test_scatter(n, way, root, in_place);
    test_allgather(n, way, in_place);
    test_alltoall(n, way, in_place);
    test_gatherv(n, way, root, in_place);
    test_scatterv(n, way, root, in_place);
    test_allgatherv(n, way, in_place);
    test_alltoallv(n, way, in_place, 0);
    test_alltoallv(n, way, in_place, 1);
}

static void test_sums(int n, int in_place)
{
    test_reduce(n, n % size, in_place);
    test_allreduce(n, in_place);
    test_scan(n, in_place, 0);
    test_scan(n, in_place, 1);
    test_reduce_scatter_block(n, in_place);
    test_reduce_scatter(n, in_place);
}

static void test_all(int few)
{
    static const int lengths[] = {0, 5, 700, 1, 9000};
    int l, way, in_place, number;

    for (number = 0; number < FORMS; number++) {
        form = (enum form)number;
        test_barrier();
        for (l = 0; l < (few ? 3 : 5); l++)
            for (in_place = 0; in_place < 2; in_place++) {
                for (way = few ? 2 : 0; way < 3; way++)
                    test_moves(lengths[l], way, in_place);
                test_sums(lengths[l], in_place);
            }
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype vector;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(2, MPI_INT, &types[0]);
    MPI_Type_commit(&types[0]);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, UNIT_GAPS * sizeof(int), &types[1]);
    MPI_Type_free(&vector);
    MPI_Type_commit(&types[1]);
    comm = MPI_COMM_WORLD;
    for (is_large = 0; is_large < 2; is_large++)
        test_all(argc > 1);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    return test_end("collectives");
}
