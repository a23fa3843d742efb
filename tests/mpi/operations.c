/* Reductions: MPI's operations on MPI's types against MPI_Reduce_local; the
 * program's own, in the order of ranks, on types with and without gaps; types
 * and operations that are freed while calls still need them.
 *
 *   operations [optional]   with it, types that libraries may do without, too
 */
#include "tests/mpi/mpitest.h"

enum { N = 257, BYTES_MAX = 32 };

static int rank, size;

/* ---- MPI's own ---- */

/* Small values that any of the types reads as something harmless: bytes are
 * filled by the type's C values through a union. */
static void fill(MPI_Datatype type, int from, char *buf)
{
    int i;

    for (i = 0; i < N; i++) {
        int v = (from * 7 + i * 3) % 5 + (i % 3 == 0);
        if (type == MPI_SIGNED_CHAR)
            ((signed char *)buf)[i] = (signed char)v;
        else if (type == MPI_UNSIGNED_SHORT)
            ((unsigned short *)buf)[i] = (unsigned short)v;
        else if (type == MPI_INT)
            ((int *)buf)[i] = v - 2;
        else if (type == MPI_UNSIGNED_LONG)
            ((unsigned long *)buf)[i] = (unsigned long)v;
        else if (type == MPI_INT64_T)
            ((long *)buf)[i] = v - 1;
        else if (type == MPI_FLOAT)
            ((float *)buf)[i] = (float)v;
        else if (type == MPI_DOUBLE)
            ((double *)buf)[i] = v;
        else if (type == MPI_LONG_DOUBLE)
            ((long double *)buf)[i] = v;
        else if (type == MPI_BYTE)
            buf[i] = (char)(v * 37);
        else if (type == MPI_C_BOOL)
            ((_Bool *)buf)[i] = v % 2;
        else if (type == MPI_DOUBLE_INT) {
            struct {
                double value;
                int place;
            } *p = (void *)buf;
            p[i].value = v;
            p[i].place = from;
        } else if (type == MPI_2INT) {
            ((int *)buf)[2 * i] = v;
            ((int *)buf)[2 * i + 1] = from;
        } else if (type == MPI_C_DOUBLE_COMPLEX) {
            ((double *)buf)[2 * i] = v;
            ((double *)buf)[2 * i + 1] = 1 - v;
        }
    }
}

static void test_one(MPI_Datatype type, MPI_Op op)
{
    static char mine[N * BYTES_MAX], sum[N * BYTES_MAX], got[N * BYTES_MAX];
    int i, bytes;

    memset(mine, 0, sizeof mine);
    memset(sum, 0, sizeof sum);
    memset(got, 0, sizeof got);
    fill(type, size - 1, sum);
    for (i = size - 2; i >= 0; i--) {
        fill(type, i, mine);
        MPI_Reduce_local(mine, sum, N, type, op);
    }
    fill(type, rank, mine);
    MPI_Allreduce(mine, got, N, type, op, MPI_COMM_WORLD);
    MPI_Type_size(type, &bytes);
    CHECK(memcmp(got, sum, (size_t)bytes * N) == 0);
}

static void test_predefined(void)
{
    MPI_Datatype integers[] = {MPI_SIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_INT,
                               MPI_UNSIGNED_LONG, MPI_INT64_T};
    MPI_Datatype reals[] = {MPI_FLOAT, MPI_DOUBLE};
    MPI_Op all[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_LAND,
                    MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    int i, o;

    for (i = 0; i < 5; i++)
        for (o = 0; o < 10; o++)
            test_one(integers[i], all[o]);
    for (i = 0; i < 2; i++)
        for (o = 0; o < 4; o++)
            test_one(reals[i], all[o]);
    for (o = 7; o < 10; o++)
        test_one(MPI_BYTE, all[o]);
    for (o = 4; o < 7; o++)
        test_one(MPI_C_BOOL, all[o]);
    test_one(MPI_C_DOUBLE_COMPLEX, MPI_SUM);
    test_one(MPI_2INT, MPI_MINLOC);
    test_one(MPI_2INT, MPI_MAXLOC);
}

/* Those of C++, where the MPI has them: not all hosts combine them. */
static void test_cxx_types(void)
{
    double x[2] = {rank + 1, -rank}, sum[2] = {0, 0};
    _Bool flag = rank == size - 1, any = 0, all = 1;

    if (MPI_CXX_BOOL == MPI_DATATYPE_NULL)
        return;
    MPI_Allreduce(&flag, &any, 1, MPI_CXX_BOOL, MPI_LOR, MPI_COMM_WORLD);
    MPI_Allreduce(&flag, &all, 1, MPI_CXX_BOOL, MPI_LAND, MPI_COMM_WORLD);
    CHECK(any && all == (size == 1));
    MPI_Allreduce(x, sum, 1, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum[0] == size * (size + 1) / 2 && sum[1] == -size * (size - 1) / 2);
}

/* Fortran's types of C programs: kernels for some, the host for others. */
static void test_fortran_types(void)
{
    int mine = rank + 1, all = 0;
    float pair[2] = {(float)(rank % 3), (float)rank}, best[2] = {-1, -1};

    if (MPI_INTEGER == MPI_DATATYPE_NULL)
        return;
    MPI_Allreduce(&mine, &all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size * (size + 1) / 2);
    MPI_Allreduce(pair, best, 1, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(best[0] == 0 && best[1] == 0);
}

/* Whether the MPI combines such elements; it may not. */
static int is_allowed(MPI_Datatype type, MPI_Op op)
{
    char from[64] = {0}, to[64];
    MPI_Comm alone;
    int code;

    MPI_Comm_dup(MPI_COMM_SELF, &alone);
    MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(from, to, 1, type, op, alone);
    MPI_Comm_free(&alone);
    return code == MPI_SUCCESS;
}

#ifdef __SIZEOF_FLOAT128__
/* Whether that is the type, which differs between libraries, too. */
static int is_float128(MPI_Datatype type, int numbers)
{
    __float128 x[2] = {1.5, 3}, y[2] = {2, 5};
    int bytes = 0;

    if (type == MPI_DATATYPE_NULL)
        return 0;
    MPI_Type_size(type, &bytes);
    if (bytes != 16 * numbers || !is_allowed(type, MPI_SUM))
        return 0;
    MPI_Reduce_local(x, y, 1, type, MPI_SUM);
    return y[0] == 3.5 && (numbers == 1 || y[1] == 8);
}

static void test_float128(void)
{
    __float128 mine[2] = {rank + 1, -rank}, sum[2] = {0, 0};
    __float128 up = size * (size + 1) / 2, down = -size * (size - 1) / 2;

    if (is_float128(MPI_REAL16, 1)) {
        MPI_Allreduce(mine, sum, 2, MPI_REAL16, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum[0] == up && sum[1] == down);
    }
    if (is_float128(MPI_COMPLEX32, 2)) {
        sum[0] = sum[1] = 0;
        MPI_Allreduce(mine, sum, 1, MPI_COMPLEX32, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum[0] == up && sum[1] == down);
    }
}
#endif

/* Numbers of 16 bytes and characters, of which libraries combine some. */
static void test_optional_types(void)
{
    char letter = (char)('a' + rank), last = 0;
    int flag = rank == size - 1, any = 0;

#ifdef __SIZEOF_FLOAT128__
    test_float128();
#endif
#if defined(__SIZEOF_INT128__) && defined(MPI_INTEGER16)
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    /* Intel's has a name for the type, and no type. */
    MPI_Get_library_version(version, &length);
    if (MPI_INTEGER16 != MPI_DATATYPE_NULL &&
        strstr(version, "Intel") == NULL &&
        is_allowed(MPI_INTEGER16, MPI_SUM)) {
        __int128 one = (__int128)(rank + 1) << 100, all = 0;
        MPI_Allreduce(&one, &all, 1, MPI_INTEGER16, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == (__int128)(size * (size + 1) / 2) << 100);
    }
#endif
    if (is_allowed(MPI_CHAR, MPI_MAX)) {
        MPI_Allreduce(&letter, &last, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
        CHECK(last == 'a' + size - 1);
    }
    if (MPI_LOGICAL != MPI_DATATYPE_NULL) {
        MPI_Allreduce(&flag, &any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD);
        CHECK(any == 1);
    }
    /* What MPI has not for a type is the library's to complain of. */
    CHECK(!is_allowed(MPI_DOUBLE, MPI_BAND));
}

static void test_pairs_with_gaps(void)
{
    struct {
        double value;
        int place;
    } mine = {(rank * 5) % 7, rank}, best, other;
    int i;

    best.value = 0;
    best.place = 0;
    for (i = 1; i < size; i++) {
        other.value = (i * 5) % 7;
        if (other.value > best.value) {
            best.value = other.value;
            best.place = i;
        }
    }
    memset(&other, 0, sizeof other);
    MPI_Allreduce(&mine, &other, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(other.value == best.value && other.place == best.place);
    MPI_Bcast(&other, 1, MPI_DOUBLE_INT, 0, MPI_COMM_WORLD);
    CHECK(other.value == best.value && other.place == best.place);
}

/* ---- the program's own: 2 x 2 matrices modulo a prime do not commute ---- */

enum { PRIME = 10007 };
typedef struct matrix {
    int a, b, c, d;
} matrix_t;
typedef struct roomy {
    int a, gap1, b, gap2, c, gap3, d, gap4;
} roomy_t;

static MPI_Datatype tight_type, roomy_type;
static int calls;

static matrix_t times(matrix_t x, matrix_t y)
{
    matrix_t z = {
        (x.a * y.a + x.b * y.c) % PRIME, (x.a * y.b + x.b * y.d) % PRIME,
        (x.c * y.a + x.d * y.c) % PRIME, (x.c * y.b + x.d * y.d) % PRIME};
    return z;
}

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    matrix_t *x = in, *y = inout;
    int i;

    CHECK(*type == tight_type);
    calls++;
    for (i = 0; i < *n; i++)
        y[i] = times(x[i], y[i]);
}

static void multiply_roomy(void *in, void *inout, int *n, MPI_Datatype *type)
{
    roomy_t *x = in, *y = inout;
    int i;

    CHECK(*type == roomy_type);
    for (i = 0; i < *n; i++) {
        matrix_t u = {x[i].a, x[i].b, x[i].c, x[i].d};
        matrix_t v = {y[i].a, y[i].b, y[i].c, y[i].d};
        u = times(u, v);
        y[i].a = u.a;
        y[i].b = u.b;
        y[i].c = u.c;
        y[i].d = u.d;
    }
}

static matrix_t element(int from, int i)
{
    matrix_t m = {1 + from, i % 13 + 1, from % 5, 1};
    return m;
}

static matrix_t product(int begin, int end, int i)
{
    matrix_t m = element(begin, i);
    int from;

    for (from = begin + 1; from < end; from++)
        m = times(m, element(from, i));
    return m;
}

static int same(matrix_t x, matrix_t y)
{
    return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d;
}

static void test_order(int n)
{
    matrix_t *mine = malloc((size_t)n * (size_t)size * sizeof *mine);
    matrix_t *got = malloc((size_t)n * (size_t)size * sizeof *got);
    MPI_Op op;
    int i, root;

    MPI_Op_create(multiply, 0, &op);
    for (i = 0; i < n * size; i++)
        mine[i] = element(rank, i);
    for (root = 0; root < size; root++) {
        MPI_Reduce(mine, got, n, tight_type, op, root, MPI_COMM_WORLD);
        for (i = 0; i < n && rank == root; i++)
            CHECK(same(got[i], product(0, size, i)));
    }
    MPI_Allreduce(mine, got, n, tight_type, op, MPI_COMM_WORLD);
    for (i = 0; i < n; i++)
        CHECK(same(got[i], product(0, size, i)));
    MPI_Scan(mine, got, n, tight_type, op, MPI_COMM_WORLD);
    for (i = 0; i < n; i++)
        CHECK(same(got[i], product(0, rank + 1, i)));
    MPI_Exscan(mine, got, n, tight_type, op, MPI_COMM_WORLD);
    for (i = 0; i < n && rank > 0; i++)
        CHECK(same(got[i], product(0, rank, i)));
    MPI_Reduce_scatter_block(mine, got, n, tight_type, op, MPI_COMM_WORLD);
    for (i = 0; i < n; i++)
        CHECK(same(got[i], product(0, size, n * rank + i)));
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    free(mine);
    free(got);
}

static void test_roomy(int n, int in_place)
{
    roomy_t *mine = malloc((size_t)n * sizeof *mine);
    roomy_t *got = malloc((size_t)n * sizeof *got);
    MPI_Op op;
    int i;

    MPI_Op_create(multiply_roomy, 0, &op);
    for (i = 0; i < n; i++) {
        matrix_t m = element(rank, i);
        mine[i] = (roomy_t){m.a, -1, m.b, -2, m.c, -3, m.d, -4};
        got[i] = in_place ? mine[i] : (roomy_t){0, -5, 0, -6, 0, -7, 0, -8};
    }
    MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, got, n, roomy_type, op,
                  MPI_COMM_WORLD);
    for (i = 0; i < n; i++) {
        matrix_t m = {got[i].a, got[i].b, got[i].c, got[i].d};
        CHECK(same(m, product(0, size, i)));
        CHECK(got[i].gap1 == (in_place ? -1 : -5) &&
              got[i].gap4 == (in_place ? -4 : -8));
    }
    MPI_Op_free(&op);
    free(mine);
    free(got);
}

static void test_freed_early(void)
{
    enum { LONG = 3000 };
    matrix_t *mine = malloc(LONG * sizeof *mine);
    matrix_t *got = malloc(LONG * sizeof *got);
    MPI_Datatype saved = tight_type;
    MPI_Request request;
    MPI_Op op;
    int i;

    for (i = 0; i < LONG; i++)
        mine[i] = element(rank, i);
    MPI_Op_create(multiply, 0, &op);
    MPI_Type_contiguous(4, MPI_INT, &tight_type);
    MPI_Type_commit(&tight_type);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iallreduce(mine, got, LONG, tight_type, op, MPI_COMM_WORLD, &request);
    MPI_Op_free(&op);
    {
        MPI_Datatype gone = tight_type;
        MPI_Type_free(&gone);
        CHECK(gone == MPI_DATATYPE_NULL);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < LONG; i++)
        CHECK(same(got[i], product(0, size, i)));
    tight_type = saved;
    free(mine);
    free(got);
}

/* Operations and types by the hundreds leave nothing behind. */
static void test_many(void)
{
    int i, j;

    for (i = 0; i < 600; i++) {
        matrix_t mine = element(rank, i), got;
        MPI_Datatype saved = tight_type;
        MPI_Op op;
        MPI_Op_create(multiply, 0, &op);
        MPI_Type_contiguous(4, MPI_INT, &tight_type);
        MPI_Type_commit(&tight_type);
        MPI_Allreduce(&mine, &got, 1, tight_type, op, MPI_COMM_WORLD);
        CHECK(same(got, product(0, size, i)));
        for (j = 0; j < 2; j++)
            if (i % 2 == j)
                MPI_Op_free(&op);
            else
                MPI_Type_free(&tight_type);
        tight_type = saved;
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype vector;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(4, MPI_INT, &tight_type);
    MPI_Type_commit(&tight_type);
    MPI_Type_vector(4, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(roomy_t), &roomy_type);
    MPI_Type_commit(&roomy_type);
    MPI_Type_free(&vector);
    test_predefined();
    test_fortran_types();
    test_cxx_types();
    if (argc > 1)
        test_optional_types();
    test_pairs_with_gaps();
    test_order(1);
    test_order(1500);
    CHECK(size == 1 || calls > 0);
    test_roomy(1, 0);
    test_roomy(700, 0);
    test_roomy(700, 1);
    test_freed_early();
    test_many();
    MPI_Type_free(&tight_type);
    MPI_Type_free(&roomy_type);
    return test_end("operations");
}
