/* Sums that do not depend on their order (collectives/data/binned.h): against
 * exact sums, in any order and merged in any way, on all instruction sets, also
 * of numbers that are not finite, subnormal or -0. */
#include <math.h>
#include <string.h>

#include "collectives/data/binned.h"
#include "tests/support/check.h"

enum { NUMBERS_MAX = 1000, KINDS = 8, SUM_BYTES = 24 };

static uint64_t random_state = 42;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- exact sums: integers times 2^-1074, in digits of 32 bits ---- */

enum { DIGITS = 70 };

typedef struct exact {
    int64_t digits[DIGITS];
} exact_t;

static void exact_add(exact_t *exact, double number, int times)
{
    int exponent;
    double fraction = frexp(fabs(number), &exponent);
    int64_t sign = number < 0 ? -times : times;
    uint64_t integer = (uint64_t)ldexp(fraction, 53);
    int at = exponent - 53 + 1074;

    if (at < 0) { /* subnormal: the last bits are 0 */
        integer >>= -at;
        at = 0;
    }
    exact->digits[at / 32] += sign * (int64_t)(integer << at % 32 & UINT32_MAX);
    integer >>= 32 - at % 32;
    exact->digits[at / 32 + 1] += sign * (int64_t)(integer & UINT32_MAX);
    exact->digits[at / 32 + 2] += sign * (int64_t)(integer >> 32);
}

/* About. */
static long double exact_size(const exact_t *exact)
{
    long double sum = 0;
    int i;

    for (i = DIGITS - 1; i >= 0; i--)
        sum += ldexpl((long double)exact->digits[i], 32 * i - 1074);
    return fabsl(sum);
}

/* ---- numbers ---- */

/* Draws numbers of one size, of all sizes, cancelling, subnormal, near
 * overflow, or with few bits. */
static double draw(int kind, int is_float)
{
    uint64_t bits = random_next();
    double unit = (double)(bits >> 11) * 0x1p-53 - 0.5;
    int most = is_float ? 100 : 1000, low = is_float ? -149 : -1074;
    double number;

    switch (kind) {
    case 0:
        number = unit;
        break;
    case 1:
        number = ldexp(unit, (int)(bits % (unsigned)(2 * most)) - most);
        break;
    case 2:
        number = ldexp(unit, (int)(bits % 40));
        break;
    case 3:
        number = ldexp(unit, low + (int)(bits % 40));
        break;
    case 4:
        number = ldexp(unit, is_float ? 127 : 1023);
        break;
    case 5:
        number = bits % 3 == 0 ? 0 : ldexp((double)(bits % 5) - 2, -20);
        break;
    case 6:
        number = bits % 2 != 0 ? 0x1p60 : -0x1p60 + unit;
        break;
    default:
        number = bits % 2 != 0 ? -0.0 : unit * 0x1p-60;
        break;
    }
    return is_float ? (double)(float)number : number;
}

/* ---- sums, by type ---- */

typedef struct numbers {
    xylem_type_t type;
    size_t count, bytes;
    union {
        float f[NUMBERS_MAX];
        double d[NUMBERS_MAX];
    };
} numbers_t;

static double number_at(const numbers_t *numbers, size_t i)
{
    return numbers->type == XYLEM_FLOAT32 ? (double)numbers->f[i]
                                          : numbers->d[i];
}

static void number_set(numbers_t *numbers, size_t i, double value)
{
    if (numbers->type == XYLEM_FLOAT32)
        numbers->f[i] = (float)value;
    else
        numbers->d[i] = value;
}

static const void *address_of(const numbers_t *numbers, size_t i)
{
    return numbers->type == XYLEM_FLOAT32 ? (const void *)&numbers->f[i]
                                          : (const void *)&numbers->d[i];
}

static void draw_all(numbers_t *numbers, xylem_type_t type, size_t count,
                     int kind)
{
    size_t i;

    numbers->type = type;
    numbers->count = count;
    numbers->bytes = xylem_type_bytes(type);
    for (i = 0; i < count; i++)
        number_set(numbers, i, draw(kind, type == XYLEM_FLOAT32));
}

static void shuffle(numbers_t *numbers)
{
    size_t i, j;
    double other;

    for (i = 1; i < numbers->count; i++) {
        j = random_next() % (i + 1);
        other = number_at(numbers, i);
        number_set(numbers, i, number_at(numbers, j));
        number_set(numbers, j, other);
    }
}

/* Adds one number after the other. */
static uint64_t sum_in_order(const xyl_binned_t *binned,
                             const numbers_t *numbers)
{
    char sum[SUM_BYTES] = {0};
    uint64_t bits = 0;
    size_t i;

    for (i = 0; i < numbers->count; i++)
        binned->add.kernel(sum, sum, address_of(numbers, i), 1);
    binned->value.kernel(&bits, sum, sum, 1);
    return bits;
}

/* Deposited each for itself, and merged in pairs drawn at random; the last is
 * collected by a number's owner. */
static uint64_t sum_in_a_tree(const xyl_binned_t *binned,
                              const numbers_t *numbers)
{
    static char sums[NUMBERS_MAX][SUM_BYTES];
    size_t i, j, left = numbers->count - 1;
    uint64_t bits = 0;

    for (i = 0; i < left; i++)
        binned->deposit.kernel(sums[i], address_of(numbers, i), NULL, 1);
    for (; left > 1; left--) {
        i = random_next() % left;
        j = (i + 1 + random_next() % (left - 1)) % left;
        binned->merge.kernel(sums[i], sums[j], sums[i], 1);
        if (j != left - 1)
            memcpy(sums[j], sums[left - 1], SUM_BYTES);
    }
    binned->collect.kernel(&bits, address_of(numbers, numbers->count - 1),
                           sums[0], 1);
    return bits;
}

static double value_of(const numbers_t *numbers, uint64_t bits)
{
    float f;
    double d;

    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return numbers->type == XYLEM_FLOAT32 ? (double)f : d;
}

/* Within the bound that binned.h gives, and half of the last bit. */
static void check_error(const numbers_t *numbers, double sum)
{
    int is_float = numbers->type == XYLEM_FLOAT32;
    long double most = 0, bound;
    exact_t exact = {{0}};
    size_t i;

    for (i = 0; i < numbers->count; i++) {
        exact_add(&exact, number_at(numbers, i), 1);
        most = fmaxl(most, fabsl((long double)number_at(numbers, i)));
    }
    bound =
        (long double)numbers->count * most * (is_float ? 0x1p-26L : 0x1p-64L);
    bound += fabsl((long double)sum) * (is_float ? 0x1p-24L : 0x1.001p-53L);
    bound += is_float ? 0x1p-150L : 0x1p-1075L;
    if (isinf(sum)) {
        CHECK(exact_size(&exact) + bound >=
              (is_float ? 0x1.fffffefffp127L : 0x1.fffffffffffff7ffp1023L));
        return;
    }
    exact_add(&exact, sum, -1);
    CHECK(exact_size(&exact) <= bound);
}

static xyl_isa_t instructions = XYL_ISA_BASE;

/* The smallest sums for `count` numbers; `any`: those for any number. */
static const xyl_binned_t *binned_for(xylem_type_t type, size_t count, int any)
{
    return xyl_binned_find(XYLEM_SUM, type,
                           any ? XYL_BINNED_NUMBERS_MAX : (uint32_t)count,
                           instructions);
}

static void check_numbers(numbers_t *numbers)
{
    const xyl_binned_t *any = binned_for(numbers->type, numbers->count, 1);
    const xyl_binned_t *few = binned_for(numbers->type, numbers->count, 0);
    uint64_t bits = sum_in_order(any, numbers);
    int i;

    check_error(numbers, value_of(numbers, bits));
    for (i = 0; i < 4; i++) {
        shuffle(numbers);
        CHECK(sum_in_order(any, numbers) == bits);
        CHECK(sum_in_a_tree(any, numbers) == bits);
        CHECK(sum_in_order(few, numbers) == bits);
        CHECK(sum_in_a_tree(few, numbers) == bits);
    }
}

static void test_numbers(void)
{
    static const xylem_type_t types[] = {XYLEM_FLOAT32, XYLEM_FLOAT64};
    static numbers_t numbers;
    uint32_t draws = check_cases(300), i;

    for (i = 0; i < draws; i++) {
        draw_all(&numbers, types[i % 2], 2 + random_next() % 60,
                 (int)(random_next() % KINDS));
        check_numbers(&numbers);
        draw_all(&numbers, types[i % 2], 2 + random_next() % (NUMBERS_MAX - 1),
                 (int)(random_next() % KINDS));
        check_numbers(&numbers);
    }
}

/* The sum of one number is that number, except for -0. */
static void check_one(int any)
{
    const xyl_binned_t *f = binned_for(XYLEM_FLOAT32, 1, any);
    const xyl_binned_t *d = binned_for(XYLEM_FLOAT64, 1, any);
    char sum[SUM_BYTES];
    uint32_t i, f_bits, f_out;
    uint64_t d_bits, d_out;

    for (i = 0; i < 100000; i++) {
        d_bits = random_next();
        f_bits = (uint32_t)(d_bits >> 16);
        f->deposit.kernel(sum, &f_bits, NULL, 1);
        f->value.kernel(&f_out, sum, sum, 1);
        if ((f_bits & 0x7f800000) != 0x7f800000)
            CHECK_EQ(f_out, f_bits);
        d->deposit.kernel(sum, &d_bits, NULL, 1);
        d->value.kernel(&d_out, sum, sum, 1);
        if (~d_bits << 1 >> 53 != 0)
            CHECK_EQ(d_out, d_bits);
    }
}

static void test_one(void)
{
    check_one(0);
    check_one(1);
}

/* ---- what is no ordinary number ---- */

static double sum_of(xylem_type_t type, size_t count, const double *values)
{
    static numbers_t numbers;
    uint64_t bits;
    size_t i;

    numbers = (numbers_t){.type = type, .count = count};
    for (i = 0; i < count; i++)
        number_set(&numbers, i, values[i]);
    bits = sum_in_order(binned_for(type, count, 0), &numbers);
    for (i = 0; i < 16; i++) {
        const xyl_binned_t *binned = binned_for(type, count, i % 2 != 0);
        shuffle(&numbers);
        CHECK(sum_in_order(binned, &numbers) == bits);
        CHECK(count < 2 || sum_in_a_tree(binned, &numbers) == bits);
    }
    return value_of(&numbers, bits);
}

#define SUM(type, ...)                                                         \
    sum_of(type, sizeof((double[]){__VA_ARGS__}) / sizeof(double),             \
           (double[]){__VA_ARGS__})

static void check_special(void)
{
    static const xylem_type_t types[] = {XYLEM_FLOAT32, XYLEM_FLOAT64};
    double inf = HUGE_VAL, most, least;
    size_t i;

    for (i = 0; i < 2; i++) {
        xylem_type_t type = types[i];
        most = i == 0 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
        least = i == 0 ? 0x1p-149 : 0x1p-1074;
        CHECK(SUM(type, inf, 1, -2) == inf);
        CHECK(SUM(type, -inf, most, -1, least, most) == -inf);
        CHECK(SUM(type, -inf, -inf, 1) == -inf);
        CHECK(isnan(SUM(type, inf, -inf, 1)));
        CHECK(isnan(SUM(type, inf, inf, -inf)));
        CHECK(isnan(SUM(type, (double)NAN, 1)));
        CHECK(isnan(SUM(type, inf, -(double)NAN, 1)));
        CHECK(SUM(type, most, most) == inf);
        CHECK(SUM(type, -most, -most, most, most, 1, -most) == -most);
        CHECK(SUM(type, most, most, -most) == most);
        CHECK(SUM(type, least, least, -least) == least);
        CHECK(SUM(type, least, -least) == 0);
        CHECK(SUM(type, 1, least, -1) == 0); /* below the kept digits */
        CHECK(!signbit(SUM(type, -0.0, -0.0)));
        CHECK(!signbit(SUM(type, 1.5, -1.5)));
        CHECK(SUM(type, 1, -1, 0x1p-20) == 0x1p-20);
    }
    CHECK(SUM(XYLEM_FLOAT64, 0x1p60, 1, -0x1p60) == 1);
}

static void test_special(void)
{
    for (instructions = XYL_ISA_BASE; instructions <= xyl_isa_best();
         instructions++)
        check_special();
    instructions = XYL_ISA_BASE;
}

/* The most numbers that a sum may have, with the greatest digits. */
static void check_many(int any)
{
    const xyl_binned_t *f = binned_for(XYLEM_FLOAT32, 1, any);
    const xyl_binned_t *d = binned_for(XYLEM_FLOAT64, 1, any);
    float f_number = -0x1.fffffep12F, f_out;
    double d_number = -0x1.fffffffffffffp40, d_out;
    char f_sum[SUM_BYTES], d_sum[SUM_BYTES];
    uint32_t n;
    int i;

    for (i = 0; i < 40; i++) { /* digits lie elsewhere each time */
        f->deposit.kernel(f_sum, &f_number, NULL, 1);
        d->deposit.kernel(d_sum, &d_number, NULL, 1);
        for (n = 1; n < f->numbers; n *= 2)
            f->merge.kernel(f_sum, f_sum, f_sum, 1);
        for (n = 1; n < d->numbers; n *= 2)
            d->merge.kernel(d_sum, d_sum, d_sum, 1);
        f->value.kernel(&f_out, f_sum, f_sum, 1);
        d->value.kernel(&d_out, d_sum, d_sum, 1);
        CHECK(f_out == f_number * (float)f->numbers);
        CHECK(d_out == d_number * d->numbers);
        f_number *= 2;
        d_number *= 2;
    }
}

static void test_many(void)
{
    CHECK_EQ(binned_for(XYLEM_FLOAT32, 32, 0)->bytes, 8);
    CHECK_EQ(binned_for(XYLEM_FLOAT32, 33, 0)->bytes, 12);
    CHECK_EQ(binned_for(XYLEM_FLOAT64, 128, 0)->bytes, 16);
    CHECK_EQ(binned_for(XYLEM_FLOAT64, 129, 0)->bytes, 24);
    CHECK(xyl_binned_find(XYLEM_SUM, XYLEM_FLOAT64, XYL_BINNED_NUMBERS_MAX + 1,
                          XYL_ISA_BASE) == NULL);
    check_many(0);
    check_many(1);
}

/* ---- all types, all instruction sets ---- */

enum { ROW = 300 };

enum { LIKENESSES = 3 };

/* Any bits; numbers of one size; numbers of one size, with zeros. */
static void draw_row(unsigned char *row, size_t bytes, xylem_type_t type,
                     int likeness)
{
    int is_wide = type == XYLEM_FLOAT64 || type == XYLEM_COMPLEX_FLOAT64;
    size_t i, each = is_wide ? 8 : 4;
    uint64_t bits;

    for (i = 0; i < bytes / each; i++) {
        bits = random_next();
        if (likeness != 0 && is_wide)
            bits = (bits & UINT64_C(0x801fffffffffffff)) |
                   UINT64_C(0x3fe0000000000000);
        else if (likeness != 0)
            bits = (bits & 0x80ff80ff) | 0x3f003f00;
        if (likeness == 2 && bits % 7 == 0)
            bits = 0;
        memcpy(row + i * each, &bits, each);
    }
}

/* Sums of two numbers, the first of which lies at the sums' end, as it does in
 * a window. */
static void two_at_the_end(const xyl_binned_t *binned,
                           const unsigned char *left,
                           const unsigned char *right, unsigned char *sums)
{
    size_t bytes = ROW * binned->element_bytes;
    unsigned char *first = sums + ROW * binned->bytes - bytes;

    memcpy(first, left, bytes);
    binned->add_two.kernel(sums, first, right, ROW);
}

enum { VALUES = 4 * ROW * 16 };

/* Sums and values of rows, one after the other, with all kernels. */
static void rows_sum(const xyl_binned_t *binned, const unsigned char *left,
                     const unsigned char *right, unsigned char *sums,
                     unsigned char *values)
{
    static unsigned char other[ROW * 2 * SUM_BYTES], two[ROW * 16];

    binned->deposit.kernel(sums, left, NULL, ROW);
    binned->add.kernel(sums, sums, right, ROW);
    binned->deposit.kernel(other, right, NULL, ROW);
    binned->merge.kernel(sums, sums, other, ROW);
    binned->value.kernel(values, sums, NULL, ROW);
    binned->total.kernel(values + (size_t)ROW * 16, sums, other, ROW);
    /* Results where sums begin, as the last seat to add writes them. */
    memcpy(other, sums, ROW * binned->bytes);
    binned->collect.kernel(other, left, other, ROW);
    memcpy(values + (size_t)ROW * 32, other, ROW * binned->element_bytes);
    binned->collect_two.kernel(values + (size_t)ROW * 48, left, right, ROW);
    two_at_the_end(binned, left, right, other);
    binned->value.kernel(two, other, NULL, ROW);
    CHECK(memcmp(two, values + (size_t)ROW * 48, ROW * binned->element_bytes) ==
          0);
}

/* With all instruction sets, and sums of one size. */
static void check_isas(xylem_type_t type, uint32_t numbers,
                       const unsigned char *left, const unsigned char *right,
                       unsigned char *values)
{
    static unsigned char sums[2][ROW * 2 * SUM_BYTES], others[VALUES];
    const xyl_binned_t *binned =
        xyl_binned_find(XYLEM_SUM, type, numbers, XYL_ISA_BASE);
    xyl_isa_t isa, best = xyl_isa_best();

    rows_sum(binned, left, right, sums[0], values);
    for (isa = XYL_ISA_AVX2; isa <= best; isa++) {
        memcpy(others, values, sizeof others);
        rows_sum(xyl_binned_find(XYLEM_SUM, type, numbers, isa), left, right,
                 sums[1], others);
        CHECK(memcmp(sums[0], sums[1], ROW * binned->bytes) == 0);
        CHECK(memcmp(values, others, sizeof others) == 0);
    }
}

static void test_all_isas(void)
{
    static unsigned char left[ROW * 16], right[ROW * 16];
    static unsigned char few[VALUES], any[VALUES];
    xylem_type_t type;
    unsigned found = 0;
    int i;

    for (type = 0; type < XYLEM_TYPE_COUNT; type++) {
        CHECK(xyl_binned_find(XYLEM_PROD, type, 2, XYL_ISA_BASE) == NULL);
        if (binned_for(type, 2, 0) == NULL)
            continue;
        found++;
        for (i = 0; i < 60; i++) {
            draw_row(left, sizeof left, type, i % LIKENESSES);
            draw_row(right, sizeof right, type, i % LIKENESSES);
            check_isas(type, 2, left, right, few);
            check_isas(type, XYL_BINNED_NUMBERS_MAX, left, right, any);
            CHECK(memcmp(few, any, sizeof few) == 0);
        }
    }
    CHECK_EQ(found, 6);
}

/* 16 bits through 32, complex numbers as two. */
static void test_other_types(void)
{
    static const uint16_t half[] = {0x3c00, 0x3c00, 0xbc00, 0x0001};
    static const uint16_t bfloat[] = {0x3f80, 0x4000, 0xbf80, 0x4080};
    const double complex_number[] = {1.5, -2.5};
    const xyl_binned_t *binned;
    char sum[2 * SUM_BYTES] = {0};
    uint16_t out;
    double both[2];
    int i;

    binned = binned_for(XYLEM_FLOAT16, 4, 0);
    for (i = 0; i < 4; i++)
        binned->add.kernel(sum, sum, &half[i], 1);
    binned->value.kernel(&out, sum, sum, 1);
    CHECK_EQ(out, 0x3c00);
    memset(sum, 0, sizeof sum);
    binned = binned_for(XYLEM_BFLOAT16, 4, 0);
    for (i = 0; i < 4; i++)
        binned->add.kernel(sum, sum, &bfloat[i], 1);
    binned->value.kernel(&out, sum, sum, 1);
    CHECK_EQ(out, 0x40c0);
    binned = binned_for(XYLEM_COMPLEX_FLOAT64, 2, 1);
    CHECK_EQ(binned->bytes, 2 * SUM_BYTES);
    binned->deposit.kernel(sum, complex_number, NULL, 1);
    binned->add.kernel(sum, sum, complex_number, 1);
    binned->value.kernel(both, sum, sum, 1);
    CHECK(both[0] == 3 && both[1] == -5);
}

/* ---- the least and the greatest ---- */

static int is_same(float a, float b)
{
    uint32_t a_bits, b_bits;

    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    return a_bits == b_bits;
}

static void test_extremes(void)
{
    const float rising[] = {-HUGE_VALF, -1,        -0x1p-149F, -0.0F,
                            0,          0x1p-149F, 1,          HUGE_VALF};
    const float nan = NAN;
    xyl_kernel_fn min = xyl_binned_extreme(XYLEM_MIN, XYLEM_FLOAT32);
    xyl_kernel_fn max = xyl_binned_extreme(XYLEM_MAX, XYLEM_FLOAT32);
    float out, other;
    size_t i, j;

    for (i = 0; i < 8; i++)
        for (j = 0; j < 8; j++) {
            min(&out, &rising[i], &rising[j], 1);
            CHECK(is_same(out, rising[i < j ? i : j]));
            max(&out, &rising[i], &rising[j], 1);
            CHECK(is_same(out, rising[i > j ? i : j]));
        }
    other = -nan;
    min(&out, &nan, &rising[0], 1);
    max(&other, &rising[7], &other, 1);
    CHECK(isnan(out) && is_same(out, other));
    CHECK(xyl_binned_extreme(XYLEM_SUM, XYLEM_FLOAT32) == NULL);
    CHECK(xyl_binned_extreme(XYLEM_MIN, XYLEM_INT32) == NULL);
}

static const check_case_t cases[] = {
    {"binned: sums are near the exact ones, and the same in any order",
     test_numbers},
    {"binned: a number alone stays as it is", test_one},
    {"binned: infinities, NaNs, overflow, subnormals and zeros", test_special},
    {"binned: as many numbers as there may be", test_many},
    {"binned: all types and instruction sets give the same bits",
     test_all_isas},
    {"binned: 16 bits, and complex numbers", test_other_types},
    {"binned: the least and the greatest in any order", test_extremes},
};

CHECK_MAIN(cases)
