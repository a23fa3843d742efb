/* Reductions by an operation of the program's, in an order that matters, on
 * elements with strange layouts: data that begins after the element, or before
 * it, with gaps, or backwards; all collectives that reduce, in place and not,
 * blocking and not. */
#include "tests/mpi/mpitest.h"

enum { PRIME = 10007, RANKS_MAX = 16, COUNT_MAX = 40, ROOM = 4096 };

/* Where an element's two ints lie, and the next element, in ints. */
static const struct layout {
    int first, second, step;
} layouts[] = {
    {0, 1, 2}, {2, 3, 2},  {-2, -1, 2}, {0, 2, 4},
    {1, 0, 2}, {0, 1, -2}, {-3, 1, -5}, {5, 3, 3},
};

static int rank, size;
static struct layout at;
static MPI_Datatype type;
static MPI_Op op;
static int sent[ROOM], got[ROOM];

/* x -> a x + b; applied one after the other they do not commute. */
typedef struct map {
    int a, b;
} map_t;

static map_t after(map_t x, map_t y)
{
    return (map_t){x.a * y.a % PRIME, (x.a * y.b + x.b) % PRIME};
}

static map_t of(int from, int i)
{
    return (map_t){from + 2, (7 * i + from) % PRIME};
}

static map_t of_ranks(int begin, int end, int i)
{
    map_t map = of(begin, i);

    while (++begin < end)
        map = after(map, of(begin, i));
    return map;
}

static map_t get(const int *base, int i)
{
    const int *element = base + i * at.step;

    return (map_t){element[at.first], element[at.second]};
}

static void put(int *base, int i, map_t map)
{
    int *element = base + i * at.step;

    element[at.first] = map.a;
    element[at.second] = map.b;
}

static void apply(void *in, void *inout, int *n, MPI_Datatype *what)
{
    int i;

    CHECK(*what == type);
    for (i = 0; i < *n; i++)
        put(inout, i, after(get(in, i), get(inout, i)));
}

static void type_make(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint displs[2];
    MPI_Datatype inner;

    displs[0] = at.first * (MPI_Aint)sizeof(int);
    displs[1] = at.second * (MPI_Aint)sizeof(int);
    MPI_Type_create_hindexed(2, lengths, displs, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, at.step * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&inner);
}

static void fill(int *base, int count)
{
    int i;

    for (i = 0; i < ROOM; i++)
        base[i - ROOM / 2] = -77;
    for (i = 0; i < count; i++)
        put(base, i, of(rank, i));
}

/* Elements first, first + 1, ... of what the ranks make of it; what lies
 * between them is what it was. */
static void check(const int *base, int count, int begin, int end, int first)
{
    static char is_data[ROOM];
    int i;

    memset(is_data, 0, sizeof is_data);
    for (i = 0; i < count; i++) {
        map_t want = of_ranks(begin, end, first + i), is = get(base, i);
        CHECK(is.a == want.a && is.b == want.b);
        is_data[ROOM / 2 + i * at.step + at.first] = 1;
        is_data[ROOM / 2 + i * at.step + at.second] = 1;
    }
    for (i = 0; i < ROOM; i++)
        if (!is_data[i] && base[i - ROOM / 2] != -77)
            break;
    CHECK(i == ROOM);
}

static void end(MPI_Request *request, int nonblocking)
{
    if (nonblocking)
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Sends `count` elements, from `result` itself where it is in place; the
 * buffer that is to be given. */
static const void *prepare(int *source, int *result, int count, int in_place)
{
    fill(source, count);
    fill(result, in_place ? count : 0);
    return in_place ? MPI_IN_PLACE : (const void *)source;
}

static void test_whole(int n, int in_place, int later)
{
    int *source = &sent[ROOM / 2], *result = &got[ROOM / 2], root;
    int step = size > 3 ? 3 : 1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request;
    const void *from;

    for (root = 0; root < size; root += step) {
        from = prepare(source, result, n, in_place && rank == root);
        if (later)
            MPI_Ireduce(from, result, n, type, op, root, world, &request);
        else
            MPI_Reduce(from, result, n, type, op, root, world);
        end(&request, later);
        if (rank == root)
            check(result, n, 0, size, 0);
    }
    from = prepare(source, result, n, in_place);
    if (later)
        MPI_Iallreduce(from, result, n, type, op, world, &request);
    else
        MPI_Allreduce(from, result, n, type, op, world);
    end(&request, later);
    check(result, n, 0, size, 0);
    from = prepare(source, result, n, in_place);
    if (later)
        MPI_Iscan(from, result, n, type, op, world, &request);
    else
        MPI_Scan(from, result, n, type, op, world);
    end(&request, later);
    check(result, n, 0, rank + 1, 0);
    from = prepare(source, result, n, in_place);
    if (later)
        MPI_Iexscan(from, result, n, type, op, world, &request);
    else
        MPI_Exscan(from, result, n, type, op, world);
    end(&request, later);
    if (rank > 0)
        check(result, n, 0, rank, 0);
    else if (!in_place)
        check(result, 0, 0, 1, 0); /* nothing is touched */
}

/* In place the rest of the buffer may hold anything. */
static void check_part(const int *result, int count, int first, int in_place)
{
    int i;

    if (!in_place)
        check(result, count, 0, size, first);
    for (i = 0; i < count && in_place; i++) {
        map_t want = of_ranks(0, size, first + i), is = get(result, i);
        CHECK(is.a == want.a && is.b == want.b);
    }
}

static void test_parts(int n, int in_place, int later)
{
    int *source = &sent[ROOM / 2], *result = &got[ROOM / 2];
    int counts[RANKS_MAX], i, total = 0, first = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request;
    const void *from;

    from = prepare(source, result, n * size, in_place);
    if (later)
        MPI_Ireduce_scatter_block(from, result, n, type, op, world, &request);
    else
        MPI_Reduce_scatter_block(from, result, n, type, op, world);
    end(&request, later);
    check_part(result, n, n * rank, in_place);
    for (i = 0; i < size; i++) {
        counts[i] = i % 3 * n;
        first += i < rank ? counts[i] : 0;
        total += counts[i];
    }
    from = prepare(source, result, total, in_place);
    if (later)
        MPI_Ireduce_scatter(from, result, counts, type, op, world, &request);
    else
        MPI_Reduce_scatter(from, result, counts, type, op, world);
    end(&request, later);
    check_part(result, counts[rank], first, in_place);
}

int main(int argc, char **argv)
{
    size_t i;
    int way;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(apply, 0, &op);
    for (i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        at = layouts[i];
        type_make();
        for (way = 0; way < 4; way++) {
            test_whole(way == 3 ? 0 : COUNT_MAX, way % 2, way / 2);
            test_parts(way == 2 ? 1 : 9, way % 2, way / 2);
        }
        MPI_Type_free(&type);
    }
    MPI_Op_free(&op);
    return test_end("layouts");
}
