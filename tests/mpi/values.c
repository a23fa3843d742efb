/* Values that libraries have got wrong: NaN and zeros of both signs in MPI_MAX
 * and MPI_MIN, of which all ranks must get the same bits, and structures with
 * padding in operations of the program's.
 *
 *   values */
#include "tests/mpi/mpitest.h"

#include <math.h>
#include <stddef.h>

enum { SHORT = 7, LONG = 60000 };

typedef struct {
    char least;
    double sum;
    short count;
} padded_t;

static int rank, size;

/* ---- NaN and zeros ---- */

static double value_of(int from, int i)
{
    switch ((from * 5 + i) % 4) {
    case 0:
        return i % 3 == 0 ? NAN : -1.5;
    case 1:
        return -0.0;
    case 2:
        return 0.0;
    default:
        return i % 5 == 0 ? -HUGE_VAL : -0.5;
    }
}

/* Whether the bits are those of a contribution; any NaN is as good. */
static int is_given(int i, double got)
{
    double value;
    int from;

    for (from = 0; from < size; from++) {
        value = value_of(from, i);
        if (memcmp(&value, &got, sizeof got) == 0 ||
            (isnan(value) && isnan(got)))
            return 1;
    }
    return 0;
}

/* Where no contribution is a NaN, the greatest or the least. */
static int is_extreme(int i, double got, int greatest)
{
    double best = value_of(0, i), value;
    int from, nans = isnan(best);

    for (from = 1; from < size; from++) {
        value = value_of(from, i);
        nans |= isnan(value);
        if (greatest ? value > best : value < best)
            best = value;
    }
    return nans || got == best;
}

static int same_on_all(const double *got, int count)
{
    static double first[LONG];
    int i;

    if (rank == 0)
        for (i = 1; i < size; i++)
            MPI_Send(got, count, MPI_DOUBLE, i, 3, MPI_COMM_WORLD);
    else
        MPI_Recv(first, count, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return rank == 0 || memcmp(got, first, (size_t)count * sizeof *got) == 0;
}

static void test_extremes(int count, int greatest)
{
    static double mine[LONG], all[LONG], root[LONG];
    MPI_Op op = greatest ? MPI_MAX : MPI_MIN;
    int i, given = 0, extreme = 0;

    for (i = 0; i < count; i++)
        mine[i] = value_of(rank, i);
    MPI_Allreduce(mine, all, count, MPI_DOUBLE, op, MPI_COMM_WORLD);
    CHECK(same_on_all(all, count));
    MPI_Reduce(mine, root, count, MPI_DOUBLE, op, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1)
        memcpy(all, root, sizeof all);
    for (i = 0; i < count; i++) {
        given += is_given(i, all[i]);
        extreme += is_extreme(i, all[i], greatest);
    }
    CHECK(given == count);
    CHECK(extreme == count);
}

/* ---- padding ---- */

static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const padded_t *left = in;
    padded_t *right = inout;
    int i;

    (void)type;
    for (i = 0; i < *count; i++) {
        right[i].least =
            left[i].least < right[i].least ? left[i].least : right[i].least;
        right[i].sum += left[i].sum;
        right[i].count = (short)(left[i].count + right[i].count);
    }
}

static void test_padded(int count, int commutes)
{
    static padded_t mine[LONG], all[LONG];
    int lengths[3] = {1, 1, 1}, i, right = 0;
    MPI_Aint places[3] = {offsetof(padded_t, least), offsetof(padded_t, sum),
                          offsetof(padded_t, count)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, plain, type;
    MPI_Op op;

    MPI_Type_create_struct(3, lengths, places, types, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(padded_t), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(combine, commutes, &op);
    memset(mine, 0x5a + rank, sizeof mine); /* the padding, too */
    memset(all, 0x11, sizeof all);
    for (i = 0; i < count; i++)
        mine[i] = (padded_t){(char)((rank * 3 + i) % 90), rank + i, 1};
    MPI_Allreduce(mine, all, count, type, op, MPI_COMM_WORLD);
    for (i = 0; i < count; i++) {
        int from, least = 90;
        for (from = 0; from < size; from++)
            least = (from * 3 + i) % 90 < least ? (from * 3 + i) % 90 : least;
        right += all[i].least == least && all[i].count == size &&
                 all[i].sum == size * (size - 1) / 2 + (double)size * i;
    }
    CHECK(right == count);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&plain);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    test_extremes(1, 0);
    test_extremes(SHORT, 1);
    test_extremes(LONG, 0);
    test_extremes(LONG, 1);
    test_padded(SHORT, 0);
    test_padded(SHORT, 1);
    test_padded(LONG / 10, 0);
    test_padded(LONG / 10, 1);
    return test_end("values");
}
