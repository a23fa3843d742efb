/* Every reduction kernel of every instruction set that this machine has,
 * against a reference that combines one element at a time from a description
 * of the type's layout and shares no code with the kernels. Operands come with
 * ties, zeros of both signs, infinities, NaNs and extremes; results are
 * compared bit by bit, and the bytes around them are guarded. test_op.c tests
 * which kernels exist, test_kernels_half.c the 16-bit floating-point types. */

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collectives/data/op.h"
#include "tests/support/check.h"

enum { COUNT_MAX = 1000, BYTES_MAX = 32, GUARD_BYTES = 64, GUARD = 0xa5 };

static const size_t counts[] = {0,  1,  2,  3,  7,  8,   15,
                                16, 17, 31, 33, 64, 100, COUNT_MAX};
static const char *const isa_names[] = {"base", "avx2", "avx512"};

/* ------------------------------------------------------------------------ */
/* How the types lie in memory                                              */

typedef enum scalar { SIGNED, UNSIGNED, TRUTH, REAL } scalar_t;

/* An element is one scalar, two scalars (complex), or a scalar and an int at
 * `index_at` (pair, index_at not 0). */
typedef struct layout {
    scalar_t scalar;
    size_t bytes;
    size_t scalar_bytes;
    unsigned scalars;
    size_t index_at;
} layout_t;

#define ONE(c_type)     sizeof(c_type), sizeof(c_type), 1, 0
#define COMPLEX(c_type) sizeof(c_type complex), sizeof(c_type), 2, 0
/* The int lies behind the value at a multiple of its own size. */
#define PAIR(c_type)                                                           \
    sizeof(struct {                                                            \
        c_type value;                                                          \
        int index;                                                             \
    }),                                                                        \
        sizeof(c_type), 1,                                                     \
        (sizeof(c_type) > sizeof(int) ? sizeof(c_type) : sizeof(int))

static const layout_t layouts[XYLEM_TYPE_COUNT] = {
    /* 0 bytes: elsewhere */
    [XYLEM_BYTE] = {UNSIGNED, ONE(uint8_t)},
    [XYLEM_INT8] = {SIGNED, ONE(int8_t)},
    [XYLEM_INT16] = {SIGNED, ONE(int16_t)},
    [XYLEM_INT32] = {SIGNED, ONE(int32_t)},
    [XYLEM_INT64] = {SIGNED, ONE(int64_t)},
    [XYLEM_UINT8] = {UNSIGNED, ONE(uint8_t)},
    [XYLEM_UINT16] = {UNSIGNED, ONE(uint16_t)},
    [XYLEM_UINT32] = {UNSIGNED, ONE(uint32_t)},
    [XYLEM_UINT64] = {UNSIGNED, ONE(uint64_t)},
    [XYLEM_FLOAT32] = {REAL, ONE(float)},
    [XYLEM_FLOAT64] = {REAL, ONE(double)},
    [XYLEM_LONG_DOUBLE] = {REAL, ONE(long double)},
    [XYLEM_COMPLEX_FLOAT32] = {REAL, COMPLEX(float)},
    [XYLEM_COMPLEX_FLOAT64] = {REAL, COMPLEX(double)},
    [XYLEM_COMPLEX_LONG_DOUBLE] = {REAL, COMPLEX(long double)},
    [XYLEM_BOOL] = {TRUTH, ONE(_Bool)},
    [XYLEM_PAIR_INT16_INT] = {SIGNED, PAIR(int16_t)},
    [XYLEM_PAIR_INT32_INT] = {SIGNED, PAIR(int32_t)},
    [XYLEM_PAIR_INT64_INT] = {SIGNED, PAIR(int64_t)},
    [XYLEM_PAIR_FLOAT32_INT] = {REAL, PAIR(float)},
    [XYLEM_PAIR_FLOAT64_INT] = {REAL, PAIR(double)},
    [XYLEM_PAIR_LONG_DOUBLE_INT] = {REAL, PAIR(long double)},
};

/* The bytes of a scalar that are not padding. */
static size_t value_bytes(const layout_t *layout)
{
    bool x87 = layout->scalar == REAL && LDBL_MANT_DIG == 64 &&
               layout->scalar_bytes == sizeof(long double);

    return x87 ? 10 : layout->scalar_bytes;
}

/* ------------------------------------------------------------------------ */
/* The reference                                                            */

static long double real_at(const layout_t *layout, const void *at)
{
    long double wide;
    double middle;
    float narrow;

    if (layout->scalar_bytes == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        return (long double)narrow;
    }
    if (layout->scalar_bytes == sizeof(middle)) {
        memcpy(&middle, at, sizeof(middle));
        return (long double)middle;
    }
    memcpy(&wide, at, sizeof(wide));
    return wide;
}

/* Rounds to the type; leaves padding as it is. */
static void real_put(const layout_t *layout, void *at, long double value)
{
    double middle = (double)value;
    float narrow = (float)value;

    if (layout->scalar_bytes == sizeof(narrow))
        memcpy(at, &narrow, sizeof(narrow));
    else if (layout->scalar_bytes == sizeof(middle))
        memcpy(at, &middle, sizeof(middle));
    else
        memcpy(at, &value, value_bytes(layout));
}

static const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* Widened to 64 bits, which the type's sign fills. */
static uint64_t integer_at(const layout_t *layout, const void *at)
{
    const unsigned char *bytes = at;
    size_t n = layout->scalar_bytes, i;
    bool negative =
        layout->scalar == SIGNED && bytes[little ? n - 1 : 0] >= 0x80;
    uint64_t bits = negative ? UINT64_MAX : 0;

    for (i = 0; i < n; i++)
        bits = bits << 8 | bytes[little ? n - 1 - i : i];
    return bits;
}

static void integer_put(const layout_t *layout, void *at, uint64_t bits)
{
    unsigned char *bytes = at;
    size_t n = layout->scalar_bytes, i;

    for (i = 0; i < n; i++, bits >>= 8)
        bytes[little ? i : n - 1 - i] = (unsigned char)(bits & 0xff);
}

static int index_at(const layout_t *layout, const unsigned char *element)
{
    int index;

    memcpy(&index, element + layout->index_at, sizeof(index));
    return index;
}

/* -1, 0 or 1 as a is less than, equal to or greater than b; UNORDERED when one
 * of them is a NaN. */
enum { UNORDERED = 2 };
static int value_order(const layout_t *layout, const void *a, const void *b)
{
    if (layout->scalar == REAL) {
        long double x = real_at(layout, a), y = real_at(layout, b);
        return isunordered(x, y) ? UNORDERED : (x > y) - (x < y);
    }
    if (layout->scalar == SIGNED) {
        int64_t x = (int64_t)integer_at(layout, a);
        int64_t y = (int64_t)integer_at(layout, b);
        return (x > y) - (x < y);
    }
    return (integer_at(layout, a) > integer_at(layout, b)) -
           (integer_at(layout, a) < integer_at(layout, b));
}

/* One operation with one rounding to the type. A float's goes through double,
 * which has more than twice the digits, so that nothing is rounded twice. */
static long double real_combine(const layout_t *layout, xylem_op_t op,
                                long double l, long double r)
{
    double middle;

    if (layout->scalar_bytes > sizeof(double))
        return op == XYLEM_SUM ? l + r : l * r;
    middle = op == XYLEM_SUM ? (double)l + (double)r : (double)l * (double)r;
    if (layout->scalar_bytes == sizeof(float))
        return (long double)(float)middle;
    return (long double)middle;
}

static void complex_product(const layout_t *layout, unsigned char *out,
                            const unsigned char *l, const unsigned char *r)
{
    size_t half = layout->scalar_bytes;
    long double a = real_at(layout, l), b = real_at(layout, l + half);
    long double c = real_at(layout, r), d = real_at(layout, r + half);
    long double ac = real_combine(layout, XYLEM_PROD, a, c);
    long double bd = real_combine(layout, XYLEM_PROD, b, d);
    long double ad = real_combine(layout, XYLEM_PROD, a, d);
    long double bc = real_combine(layout, XYLEM_PROD, b, c);

    real_put(layout, out, real_combine(layout, XYLEM_SUM, ac, -bd));
    real_put(layout, out + half, real_combine(layout, XYLEM_SUM, ad, bc));
}

static void arithmetic(const layout_t *layout, xylem_op_t op,
                       unsigned char *out, const unsigned char *l,
                       const unsigned char *r)
{
    size_t at;

    if (layout->scalar != REAL) {
        uint64_t a = integer_at(layout, l), b = integer_at(layout, r);
        integer_put(layout, out, op == XYLEM_SUM ? a + b : a * b);
    } else if (layout->scalars == 2 && op == XYLEM_PROD) {
        complex_product(layout, out, l, r);
    } else {
        for (at = 0; at < layout->bytes; at += layout->scalar_bytes)
            real_put(layout, out + at,
                     real_combine(layout, op, real_at(layout, l + at),
                                  real_at(layout, r + at)));
    }
}

static void bitwise(const layout_t *layout, xylem_op_t op, unsigned char *out,
                    const unsigned char *l, const unsigned char *r)
{
    size_t i;

    for (i = 0; i < layout->bytes; i++) {
        unsigned both = l[i] & r[i], any = l[i] | r[i];
        unsigned bits = any - both;
        if (op != XYLEM_BXOR)
            bits = op == XYLEM_BAND ? both : any;
        out[i] = (unsigned char)bits;
    }
}

static bool logical(const layout_t *layout, xylem_op_t op, const void *l,
                    const void *r)
{
    int truths = (integer_at(layout, l) != 0) + (integer_at(layout, r) != 0);

    if (op == XYLEM_LAND)
        return truths == 2;
    return op == XYLEM_LOR ? truths != 0 : truths == 1;
}

/* MIN, MAX, MINLOC or MAXLOC take the left element. */
static bool left_wins(const layout_t *layout, xylem_op_t op,
                      const unsigned char *l, const unsigned char *r)
{
    int order = value_order(layout, l, r);
    bool wins;

    if (op == XYLEM_MIN || op == XYLEM_MINLOC)
        wins = order == -1;
    else
        wins = order == 1;
    if (order == 0 && layout->index_at != 0)
        wins = index_at(layout, l) < index_at(layout, r);
    return wins;
}

static void combine(const layout_t *layout, xylem_op_t op, unsigned char *out,
                    const unsigned char *l, const unsigned char *r)
{
    switch (op) {
    case XYLEM_SUM:
    case XYLEM_PROD:
        arithmetic(layout, op, out, l, r);
        break;
    case XYLEM_BAND:
    case XYLEM_BOR:
    case XYLEM_BXOR:
        bitwise(layout, op, out, l, r);
        break;
    case XYLEM_LAND:
    case XYLEM_LOR:
    case XYLEM_LXOR:
        integer_put(layout, out, logical(layout, op, l, r));
        break;
    default:
        memcpy(out, left_wins(layout, op, l, r) ? l : r, layout->bytes);
        break;
    }
}

/* Bit by bit, without padding. The NaNs of a sum or product only need to be
 * NaNs. */
static bool same(const layout_t *layout, xylem_op_t op,
                 const unsigned char *got, const unsigned char *wanted)
{
    unsigned i;

    if (layout->index_at != 0 &&
        index_at(layout, got) != index_at(layout, wanted))
        return false;
    for (i = 0; i < layout->scalars; i++) {
        const unsigned char *a = got + i * layout->scalar_bytes;
        const unsigned char *b = wanted + i * layout->scalar_bytes;
        bool nans = layout->scalar == REAL && op <= XYLEM_PROD &&
                    isnan(real_at(layout, a)) && isnan(real_at(layout, b));
        if (!nans && memcmp(a, b, value_bytes(layout)) != 0)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------ */
/* Operands                                                                 */

#define RANDOM_SEED UINT64_C(88172645463325252)
static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545f4914f6cdd1d) >> 8;
}

static uint64_t integer_draw(const layout_t *layout)
{
    uint64_t bits = random_next() << 16 ^ random_next();
    uint64_t top = UINT64_C(1) << (8 * layout->scalar_bytes - 1);

    if (layout->scalar == TRUTH)
        return bits & 1;
    switch (random_next() % 4) {
    case 0:
        return 0;
    case 1:
        return bits % 4;
    case 2:
        return top - bits % 2; /* the two ends of the signed range */
    default:
        return bits;
    }
}

static long double real_draw(void)
{
    static const long double special[] = {0.0L,
                                          -0.0L,
                                          1.0L,
                                          -1.0L,
                                          (long double)NAN,
                                          0.1L,
                                          LDBL_MAX,
                                          DBL_MAX,
                                          (long double)FLT_MAX,
                                          -LDBL_MAX,
                                          FLT_MIN / 4,
                                          DBL_MIN / 4,
                                          LDBL_MIN / 4,
                                          HUGE_VALL,
                                          -HUGE_VALL};
    uint64_t bits = random_next();

    if (bits % 3 == 0)
        return special[bits / 3 % (sizeof(special) / sizeof(special[0]))];
    if (bits % 3 == 1)
        return (long double)(bits / 3 % 5) - 2.0L;
    return ldexpl((long double)bits, -(int)(random_next() % 64)) - 1.0e6L;
}

static void element_draw(const layout_t *layout, unsigned char *element)
{
    int index = (int)(random_next() % 5) - 2;
    unsigned i;

    memset(element, 0, layout->bytes);
    for (i = 0; i < layout->scalars; i++)
        if (layout->scalar == REAL)
            real_put(layout, element + i * layout->scalar_bytes, real_draw());
        else
            integer_put(layout, element, integer_draw(layout));
    if (layout->index_at != 0)
        memcpy(element + layout->index_at, &index, sizeof(index));
}

/* ------------------------------------------------------------------------ */
/* Kernels against the reference                                            */

/* The left operand lies in room 0, the right one in room 1 or 0 (both the
 * same), the result in room 2 or on an operand. Data starts `shift` elements
 * behind an aligned address. */
typedef struct placement {
    unsigned right_room;
    unsigned result_room;
    unsigned shift[3];
} placement_t;

static const placement_t placements[] = {
    {1, 2, {0, 0, 0}}, {1, 2, {1, 0, 0}}, {1, 2, {0, 1, 0}}, {1, 2, {0, 0, 1}},
    {1, 2, {1, 1, 1}}, {1, 0, {0, 0, 0}}, {1, 0, {1, 0, 0}}, {1, 0, {0, 1, 0}},
    {1, 1, {0, 0, 0}}, {1, 1, {1, 0, 0}}, {1, 1, {0, 1, 0}}, {0, 0, {0, 0, 0}},
    {0, 2, {1, 0, 0}},
};

enum { ROOM_BYTES = COUNT_MAX * BYTES_MAX + BYTES_MAX + 2 * GUARD_BYTES };

typedef struct operands {
    unsigned char left[COUNT_MAX * BYTES_MAX];
    unsigned char right[COUNT_MAX * BYTES_MAX];
    unsigned char expected[COUNT_MAX * BYTES_MAX];
    unsigned char expected_same[COUNT_MAX * BYTES_MAX]; /* left op left */
} operands_t;

static bool guarded(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == GUARD)
        from++;
    return from == to;
}

/* The result is right and nothing else was written. */
static bool kernel_holds(const layout_t *layout, xylem_op_t op,
                         const operands_t *data, xyl_kernel_fn kernel,
                         size_t count, const placement_t *place)
{
    static alignas(GUARD_BYTES) unsigned char rooms[3][ROOM_BYTES];
    const unsigned char *wanted =
        place->right_room == 0 ? data->expected_same : data->expected;
    size_t bytes = count * layout->bytes, i;
    unsigned char *start[3];
    unsigned room;

    for (room = 0; room < 3; room++) {
        start[room] =
            rooms[room] + GUARD_BYTES + place->shift[room] * layout->bytes;
        memset(rooms[room], GUARD, bytes + BYTES_MAX + (size_t)2 * GUARD_BYTES);
    }
    memcpy(start[0], data->left, bytes);
    memcpy(start[1], data->right, bytes);
    kernel(start[place->result_room], start[0], start[place->right_room],
           count);
    for (room = 0; room < 3; room++)
        if (!guarded(rooms[room], start[room]) ||
            !guarded(start[room] + bytes, start[room] + bytes + GUARD_BYTES))
            return false;
    if (place->result_room != 0 && memcmp(start[0], data->left, bytes) != 0)
        return false;
    if (place->result_room != 1 && memcmp(start[1], data->right, bytes) != 0)
        return false;
    for (i = 0; i < bytes; i += layout->bytes)
        if (!same(layout, op, start[place->result_room] + i, wanted + i))
            return false;
    return true;
}

static void kernel_check(xylem_type_t type, xylem_op_t op, xyl_isa_t isa,
                         const operands_t *data)
{
    xyl_kernel_fn kernel = xyl_kernel_find(op, type, isa);
    char what[128];
    size_t c, p;

    for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
        for (p = 0; p < sizeof(placements) / sizeof(placements[0]); p++) {
            if (kernel_holds(&layouts[type], op, data, kernel, counts[c],
                             &placements[p]))
                continue;
            snprintf(what, sizeof(what), "%s of %zu %s, %s, placement %zu",
                     xylem_op_name(op), counts[c], xylem_type_name(type),
                     isa_names[isa], p);
            check_failed(__FILE__, __LINE__, what);
        }
}

static void operands_draw(const layout_t *layout, xylem_op_t op,
                          operands_t *data)
{
    size_t i;

    for (i = 0; i < COUNT_MAX * layout->bytes; i += layout->bytes) {
        element_draw(layout, data->left + i);
        element_draw(layout, data->right + i);
        combine(layout, op, data->expected + i, data->left + i,
                data->right + i);
        combine(layout, op, data->expected_same + i, data->left + i,
                data->left + i);
    }
}

static void isa_check(xyl_isa_t isa)
{
    static operands_t data;
    xylem_type_t type;
    xylem_op_t op;
    unsigned kernels = 0;

    if (isa > xyl_isa_best()) {
        check_skip("this machine lacks the instruction set");
        return;
    }
    random_state = RANDOM_SEED;
    for (type = 0; type < XYLEM_TYPE_COUNT; type++)
        for (op = 0; op < XYLEM_OP_COUNT; op++) {
            if (layouts[type].bytes == 0 ||
                xyl_kernel_find(op, type, isa) == NULL)
                continue;
            kernels++;
            operands_draw(&layouts[type], op, &data);
            kernel_check(type, op, isa, &data);
        }
    CHECK(kernels >= XYLEM_TYPE_COUNT);
}

static void test_base(void)
{
    printf("# best instruction set: %s\n", isa_names[xyl_isa_best()]);
    isa_check(XYL_ISA_BASE);
}

static void test_avx2(void)
{
    isa_check(XYL_ISA_AVX2);
}

static void test_avx512(void)
{
    isa_check(XYL_ISA_AVX512);
}

/* ------------------------------------------------------------------------ */
/* Instruction sets against each other                                      */

/* Any bits at all, NaNs of all kinds among them; only a long double has bits
 * that mean nothing, and is drawn as above. */
static void bits_draw(const layout_t *layout, unsigned char *elements)
{
    size_t i;

    for (i = 0; i < COUNT_MAX * layout->bytes; i++)
        elements[i] = (unsigned char)(random_next() & 0xff);
    if (layout->scalar_bytes > sizeof(double))
        for (i = 0; i < COUNT_MAX * layout->bytes; i += layout->bytes)
            element_draw(layout, elements + i);
}

static bool isas_agree(xylem_type_t type, xylem_op_t op, xyl_isa_t isa)
{
    static operands_t data;
    static unsigned char result[COUNT_MAX * BYTES_MAX];
    const layout_t *layout = &layouts[type];
    size_t i;

    bits_draw(layout, data.left);
    bits_draw(layout, data.right);
    xyl_kernel_find(op, type, XYL_ISA_BASE)(data.expected, data.left,
                                            data.right, COUNT_MAX);
    xyl_kernel_find(op, type, isa)(result, data.left, data.right, COUNT_MAX);
    for (i = 0; i < COUNT_MAX * layout->bytes; i += layout->bytes)
        if (!same(layout, op, result + i, data.expected + i))
            return false;
    return true;
}

static void test_agreement(void)
{
    xyl_isa_t isa, best = xyl_isa_best();
    xylem_type_t type;
    xylem_op_t op;
    char what[128];

    if (best == XYL_ISA_BASE) {
        check_skip("this machine has one instruction set");
        return;
    }
    random_state = RANDOM_SEED;
    for (type = 0; type < XYLEM_TYPE_COUNT; type++)
        for (op = 0; op < XYLEM_OP_COUNT; op++)
            for (isa = XYL_ISA_AVX2; isa <= best; isa++) {
                if (layouts[type].bytes == 0 ||
                    xyl_kernel_find(op, type, isa) == NULL ||
                    isas_agree(type, op, isa))
                    continue;
                snprintf(what, sizeof(what), "%s of %s, %s as base",
                         xylem_op_name(op), xylem_type_name(type),
                         isa_names[isa]);
                check_failed(__FILE__, __LINE__, what);
            }
}

static const check_case_t cases[] = {
    {"kernels: base matches the reference", test_base},
    {"kernels: avx2 matches the reference", test_avx2},
    {"kernels: avx512 matches the reference", test_avx512},
    {"kernels: all instruction sets give the same bits", test_agreement},
};

CHECK_MAIN(cases)
