/* The 16-bit floating-point types: conversions of all 65,536 values and at
 * every boundary of rounding, and the kernels of every instruction set, against
 * references that take the formats apart by ldexp alone. Operands are all
 * values with a set of others; results are compared bit by bit, except for the
 * sign and payload of a NaN out of a sum or product. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collectives/data/half.h"
#include "collectives/data/op.h"
#include "tests/support/check.h"

enum { ALL = 1 << 16, GUARD = 0x5aa5 };

static const char *const isa_names[] = {"base", "avx2", "avx512"};

/* ------------------------------------------------------------------------ */
/* The reference                                                            */

typedef struct format {
    xylem_type_t type;
    int mantissa_bits;
    int bias;
} format_t;

static const format_t float16 = {XYLEM_FLOAT16, 10, 15};
static const format_t bfloat16 = {XYLEM_BFLOAT16, 7, 127};

static uint16_t infinity_of(const format_t *format)
{
    return (uint16_t)(0x7fff & ~((1 << format->mantissa_bits) - 1));
}

static bool is_nan(const format_t *format, uint16_t bits)
{
    return (bits & 0x7fff) > infinity_of(format);
}

/* The magnitude of any value except NaN; infinity counts as the next power of
 * two. */
static double magnitude_of(const format_t *format, uint16_t bits)
{
    int exponent = (bits & 0x7fff) >> format->mantissa_bits;
    int mantissa = bits & ((1 << format->mantissa_bits) - 1);

    if (exponent == 0)
        return ldexp(mantissa, 1 - format->bias - format->mantissa_bits);
    return ldexp(mantissa + (1 << format->mantissa_bits),
                 exponent - format->bias - format->mantissa_bits);
}

static double value_of(const format_t *format, uint16_t bits)
{
    double magnitude = magnitude_of(format, bits);

    if (is_nan(format, bits))
        return (double)NAN;
    if ((bits & 0x7fff) == infinity_of(format))
        magnitude = HUGE_VAL;
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/* The nearest of a format, ties to even: a whole number of its last digits. Not
 * of NaNs. */
static uint16_t nearest(const format_t *format, double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    double digits;

    if (fabs(value) >= magnitude_of(format, infinity_of(format)))
        return sign | infinity_of(format);
    frexp(value, &exponent); /* of a fraction from 0.5 to 1 */
    exponent += format->bias - 1;
    if (value == 0.0 || exponent < 1)
        exponent = 1; /* that of subnormal numbers */
    digits = rint(
        ldexp(fabs(value), format->bias + format->mantissa_bits - exponent));
    /* The leading digit counts as one more in the exponent. */
    return (uint16_t)(sign | (((exponent - 1) << format->mantissa_bits) +
                              (int)digits));
}

/* ------------------------------------------------------------------------ */
/* Conversions                                                              */

static float widened(const format_t *format, uint16_t bits)
{
    return format == &float16 ? xyl_float_of_float16(bits)
                              : xyl_float_of_bfloat16(bits);
}

static uint16_t narrowed(const format_t *format, float value)
{
    return format == &float16 ? xyl_float16_of_float(value)
                              : (uint16_t)(xyl_bfloat16_round(value) >> 16);
}

static void failed(const char *what, double value, unsigned got,
                   unsigned wanted)
{
    char text[128];

    snprintf(text, sizeof text, "%s of %a is %04x, not %04x", what, value, got,
             wanted);
    check_failed(__FILE__, __LINE__, text);
}

static void try_value(const format_t *format, uint16_t bits)
{
    float value = widened(format, bits);
    uint16_t back = narrowed(format, value);

    if (is_nan(format, bits)) {
        CHECK(isnan(value) && is_nan(format, back));
        CHECK_EQ(back & 0x8000, bits & 0x8000);
        return;
    }
    if (!((double)value == value_of(format, bits)) ||
        (signbit(value) != 0) != ((bits & 0x8000) != 0))
        failed("value", (double)value, bits, bits);
    if (back != bits)
        failed("way back", (double)value, back, bits);
}

static void test_values(void)
{
    unsigned bits;

    for (bits = 0; bits < ALL; bits++) {
        try_value(&float16, (uint16_t)bits);
        try_value(&bfloat16, (uint16_t)bits);
    }
}

static void try_rounding(const format_t *format, float value)
{
    uint16_t got = narrowed(format, value);
    uint16_t wanted = nearest(format, (double)value);

    if (got != wanted)
        failed("nearest", (double)value, got, wanted);
    got = narrowed(format, -value);
    if (got != (wanted ^ 0x8000))
        failed("nearest", (double)-value, got, wanted ^ 0x8000u);
}

/* Around each value and each middle of two: from the value before infinity to
 * infinity, too. The middle of two is a binary32 in both formats. */
static void test_boundaries(void)
{
    static const format_t *const formats[] = {&float16, &bfloat16};
    unsigned which, bits;

    for (which = 0; which < 2; which++)
        for (bits = 0; bits < infinity_of(formats[which]); bits++) {
            const format_t *format = formats[which];
            double here = magnitude_of(format, (uint16_t)bits);
            double next = magnitude_of(format, (uint16_t)(bits + 1));
            float middle = (float)((here + next) / 2);
            CHECK((double)middle == (here + next) / 2);
            try_rounding(format, middle);
            try_rounding(format, nextafterf(middle, 0.0f));
            try_rounding(format, nextafterf(middle, HUGE_VALF));
            try_rounding(format, nextafterf((float)here, HUGE_VALF));
            if (bits != 0)
                try_rounding(format, nextafterf((float)here, 0.0f));
        }
    for (bits = 0; bits < 128; bits++) { /* all magnitudes of binary32 */
        try_rounding(&float16, ldexpf(1.5f, (int)bits * 2 - 127));
        try_rounding(&bfloat16, ldexpf(1.3f, (int)bits * 2 - 127));
    }
    CHECK_EQ(xyl_float16_of_float(HUGE_VALF), 0x7c00);
    CHECK_EQ(xyl_float16_of_float(-HUGE_VALF), 0xfc00);
    CHECK_EQ(xyl_float16_of_float(0.0f), 0);
    CHECK_EQ(xyl_float16_of_float(-0.0f), 0x8000);
    CHECK(is_nan(&float16, xyl_float16_of_float((float)NAN)));
    /* A NaN whose payload lies in the dropped digits. */
    CHECK(
        is_nan(&float16, xyl_float16_of_float(xyl_float_of_bits(0x7f800001))));
}

/* ------------------------------------------------------------------------ */
/* Kernels                                                                  */

static const uint16_t others[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x0003, 0x03ff, 0x0400, 0x8400, 0x007f,
    0x0080, 0x8080, 0x0c01, 0x1400, 0x2e66, 0x3555, 0x3800, 0x3c00, 0xbc00,
    0x3c01, 0x3d9a, 0x3e00, 0x3f80, 0xbf80, 0x3f81, 0x4049, 0x4248, 0x4500,
    0x5bff, 0x64d2, 0x7800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0xfc05,
    0x7e00, 0xfe01, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffff};

enum { OTHERS = sizeof others / sizeof others[0] };

/* Combines with one rounding to binary32, as the sum in double has more than
 * twice its digits, and one to the format. */
static uint16_t combined(const format_t *format, xylem_op_t op, uint16_t left,
                         uint16_t right)
{
    double l = value_of(format, left), r = value_of(format, right);
    float result = (float)(op == XYLEM_SUM ? l + r : l * r);

    if (op == XYLEM_MIN)
        return l < r ? left : right;
    if (op == XYLEM_MAX)
        return l > r ? left : right;
    return isnan(result) ? 0x7fff : nearest(format, (double)result);
}

static bool same(const format_t *format, xylem_op_t op, uint16_t got,
                 uint16_t wanted)
{
    if (op <= XYLEM_PROD && is_nan(format, wanted))
        return is_nan(format, got);
    return got == wanted;
}

static uint16_t left[ALL], right[ALL], result[ALL + 2];

static void operands_fill(uint16_t other)
{
    unsigned i;

    for (i = 0; i < ALL; i++) {
        left[i] = (uint16_t)i;
        right[i] = other;
    }
}

/* Every value op `other`, with the result apart. */
static void try_other(const format_t *format, xylem_op_t op, xyl_isa_t isa,
                      const uint16_t *wanted)
{
    xyl_kernel_fn kernel = xyl_kernel_find(op, format->type, isa);
    unsigned i, wrong = 0;
    char text[128];

    result[ALL] = GUARD;
    kernel(result, left, right, ALL);
    CHECK_EQ(result[ALL], GUARD);
    for (i = 0; i < ALL; i++)
        if (!same(format, op, result[i], wanted[i]) && wrong++ == 0) {
            snprintf(text, sizeof text,
                     "%s %s of %04x and %04x: %04x, not %04x",
                     xylem_type_name(format->type), isa_names[isa], left[i],
                     right[i], result[i], wanted[i]);
            check_failed(__FILE__, __LINE__, text);
        }
}

static void try_format(const format_t *format)
{
    static uint16_t wanted[ALL];
    xyl_isa_t isa, best = xyl_isa_best();
    xylem_op_t op;
    unsigned other, i;

    for (other = 0; other < OTHERS; other++) {
        operands_fill(others[other]);
        for (op = XYLEM_SUM; op <= XYLEM_MAX; op++) {
            for (i = 0; i < ALL; i++)
                wanted[i] = combined(format, op, left[i], right[i]);
            for (isa = XYL_ISA_BASE; isa <= best; isa++)
                try_other(format, op, isa, wanted);
        }
    }
}

static void test_float16(void)
{
    try_format(&float16);
}

static void test_bfloat16(void)
{
    try_format(&bfloat16);
}

/* All counts up to a few vectors at all places in a vector, with the result
 * apart, on the left and on the right operand. */
static void try_place(xylem_type_t type, xylem_op_t op, xyl_isa_t isa,
                      const unsigned place[3])
{
    enum { COUNT_MAX = 70, ROOM = COUNT_MAX + 8 };
    xyl_kernel_fn kernel = xyl_kernel_find(op, type, isa);
    xyl_kernel_fn base = xyl_kernel_find(op, type, XYL_ISA_BASE);
    uint16_t rooms[3][ROOM], one;
    unsigned count, i, to;

    for (count = 0; count <= COUNT_MAX; count++)
        for (to = 0; to < 3; to++) {
            uint16_t *at[3];
            for (i = 0; i < ROOM; i++) {
                rooms[0][i] = (uint16_t)(0x3c00 + 37 * i);
                rooms[1][i] = (uint16_t)(0x4100 - 91 * i);
                rooms[2][i] = GUARD;
            }
            for (i = 0; i < 3; i++)
                at[i] = rooms[i] + 2 + place[i];
            memcpy(result, rooms[to], sizeof rooms[to]);
            for (i = 0; i < count; i++) {
                base(&one, at[0] + i, at[1] + i, 1);
                result[2 + place[to] + i] = one;
            }
            kernel(at[to], at[0], at[1], count);
            CHECK(memcmp(result, rooms[to], sizeof rooms[to]) == 0);
        }
}

static void test_places(void)
{
    static const unsigned places[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0},
                                         {0, 0, 1}, {1, 1, 1}, {3, 2, 1}};
    static const xylem_type_t types[] = {XYLEM_FLOAT16, XYLEM_BFLOAT16};
    xyl_isa_t isa, best = xyl_isa_best();
    xylem_op_t op;
    unsigned type, place;

    for (type = 0; type < 2; type++)
        for (op = XYLEM_SUM; op <= XYLEM_MAX; op++)
            for (isa = XYL_ISA_BASE; isa <= best; isa++)
                for (place = 0; place < sizeof places / sizeof places[0];
                     place++)
                    try_place(types[type], op, isa, places[place]);
}

static const check_case_t cases[] = {
    {"half: all values, there and back", test_values},
    {"half: rounding at every boundary", test_boundaries},
    {"half: float16 kernels, all values with others", test_float16},
    {"half: bfloat16 kernels, all values with others", test_bfloat16},
    {"half: counts, places and operands that are replaced", test_places},
};

CHECK_MAIN(cases)
