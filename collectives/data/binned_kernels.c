/* The kernels of binned.h. This file is compiled once per format of numbers and
 * instruction set: XYL_BINNED_BITS says which format, XYL_BINNED_TABLE names
 * the table that it defines. Plain loops, for the compiler to vectorise.
 *
 * A sum is three words, of the lowest digit first. A word has a digit's sum in
 * its upper bits, signed, and some bits of the index in its lower TAG bits. A
 * sum of all zeros is the sum of nothing.
 *
 * Digit number i of a number is what it has at 2^(LOWEST + i WIDTH) and up to
 * the next digit, with the number's sign. Index i has digits i, i - 1 and i -
 * 2; none is below 2, where all digits end with the last bit of subnormal
 * numbers. Numbers that are not finite have an index above all others, and are
 * counted in the place of digits: +infinity, -infinity, NaN.
 *
 * Room: digits are less than 2^WIDTH, and 2^16 of them are less than what a
 * word has above its TAG bits. */
#include <string.h>

#include "collectives/data/binned.h"
#include "collectives/data/half.h"

#ifndef XYL_BINNED_TABLE
#error "XYL_BINNED_TABLE must name the table"
#endif

#if XYL_BINNED_BITS == 32
typedef uint32_t word_t;
typedef int32_t signed_t;
enum { FRACTION = 23, WIDTH = 13, TAG = 2 };

/* From a bit's place, at most 276, to its digit: x / 13. */
static inline word_t digit_of(word_t place)
{
    return place * 79 >> 10;
}
#else
typedef uint64_t word_t;
typedef int64_t signed_t;
enum { FRACTION = 52, WIDTH = 32, TAG = 3 };

static inline word_t digit_of(word_t place)
{
    return place / WIDTH;
}
#endif

/* Elements, and sums, as they lie in memory. */
typedef word_t __attribute__((may_alias)) raw_t;

enum {
    BITS = 8 * sizeof(word_t),
    BINS = 3,
    TWO_WIDTHS = 2 * WIDTH,
    BLOCK = 128 /* elements */
};

#define ONE   ((word_t)1)
#define DIGIT ((ONE << WIDTH) - 1)
#define TAGS  ((ONE << TAG) - 1)
/* The index of what is not finite. */
#define SPECIAL ((ONE << BINS * TAG) - 1)
/* As bits of a number. */
#define SIGN     (ONE << (BITS - 1))
#define INFINITE (~SIGN >> FRACTION << FRACTION)
#define QUIET    (INFINITE | ONE << (FRACTION - 1))

#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* ---- one sum ---- */

typedef struct sum {
    word_t bin[BINS];
} sum_t;

/* As it lies in a row. No functions: clang vectorises a loop with such accesses
 * only if they stand in the loop. */
#define SUM_GET(row, i)                                                        \
    ((sum_t){{(row)[BINS * (i)], (row)[BINS * (i) + 1], (row)[BINS * (i) + 2]}})
#define SUM_PUT(row, i, sum)                                                   \
    do {                                                                       \
        const sum_t put_ = (sum);                                              \
        (row)[BINS * (i)] = put_.bin[0];                                       \
        (row)[BINS * (i) + 1] = put_.bin[1];                                   \
        (row)[BINS * (i) + 2] = put_.bin[2];                                   \
    } while (0)

static inline word_t greater(word_t a, word_t b)
{
    return (signed_t)a > (signed_t)b ? a : b;
}

static inline word_t lesser(word_t a, word_t b)
{
    return (signed_t)a < (signed_t)b ? a : b;
}

static inline word_t index_of(sum_t sum)
{
    return (sum.bin[0] & TAGS) | (sum.bin[1] & TAGS) << TAG |
           (sum.bin[2] & TAGS) << 2 * TAG;
}

/* The same digits below `by` higher ones, which are 0; without an index. One
 * choice after the other, of which clang makes no branches. */
static inline sum_t lifted(sum_t sum, word_t by)
{
    word_t low = sum.bin[0] & ~TAGS;
    word_t middle = sum.bin[1] & ~TAGS;
    word_t high = sum.bin[2] & ~TAGS;
    sum_t to;

    to.bin[0] = by == 2 ? high : 0;
    to.bin[0] = by == 1 ? middle : to.bin[0];
    to.bin[0] = by == 0 ? low : to.bin[0];
    to.bin[1] = by == 1 ? high : 0;
    to.bin[1] = by == 0 ? middle : to.bin[1];
    to.bin[2] = by == 0 ? high : 0;
    return to;
}

static inline sum_t sum_of(sum_t left, sum_t right, word_t index)
{
    return (sum_t){{(left.bin[0] + right.bin[0]) | (index & TAGS),
                    (left.bin[1] + right.bin[1]) | (index >> TAG & TAGS),
                    (left.bin[2] + right.bin[2]) | (index >> 2 * TAG & TAGS)}};
}

static inline sum_t merged(sum_t left, sum_t right)
{
    word_t l = index_of(left), r = index_of(right), index = greater(l, r);

    return sum_of(lifted(left, index - l), lifted(right, index - r), index);
}

static inline word_t digit_word(word_t digit, word_t sign)
{
    return ((digit ^ sign) - sign) << TAG;
}

/* A finite number in a sum with an index that is not below its own: `at` is how
 * far the last bit of its fraction is above the last bit of the lowest digit,
 * or below. */
static inline sum_t digits_of(word_t fraction, word_t at, word_t sign)
{
    word_t above = greater(at, 0);
    word_t below = lesser(greater(0 - at, 0), BITS - 1);
    word_t low = fraction << above >> below;
    word_t high = fraction >> lesser(TWO_WIDTHS - at, BITS - 1);

    return (sum_t){{digit_word(low & DIGIT, sign),
                    digit_word(low >> WIDTH & DIGIT, sign),
                    digit_word(high, sign)}};
}

/* sum + a finite number, of whose bits this is told. */
static inline sum_t added(sum_t sum, word_t number)
{
    word_t exponent = (number & ~SIGN) >> FRACTION;
    word_t fraction = number & ((ONE << FRACTION) - 1);
    word_t place = exponent - (exponent != 0); /* of the fraction's last bit */
    word_t sign = (word_t)((signed_t)number >> (BITS - 1));
    word_t before = index_of(sum);
    word_t own = digit_of(greater(place + FRACTION, TWO_WIDTHS));
    word_t index = greater(own, before);

    fraction |= (word_t)(exponent != 0) << FRACTION;
    return sum_of(lifted(sum, index - before),
                  digits_of(fraction, place - (index - 2) * WIDTH, sign),
                  index);
}

static sum_t added_special(sum_t sum, word_t number)
{
    word_t magnitude = number & ~SIGN;
    unsigned kind = magnitude > INFINITE ? 2 : (number & SIGN) != 0;

    if (magnitude < INFINITE)
        return added(sum, number);
    sum = sum_of(lifted(sum, SPECIAL - index_of(sum)), (sum_t){{0, 0, 0}},
                 SPECIAL);
    sum.bin[kind] += ONE << TAG;
    return sum;
}

static word_t special_value(sum_t sum)
{
    int has_plus = sum.bin[0] >> TAG != 0, has_minus = sum.bin[1] >> TAG != 0;

    if (sum.bin[2] >> TAG != 0 || (has_plus && has_minus))
        return QUIET;
    return has_plus ? INFINITE : INFINITE | SIGN;
}

#if XYL_BINNED_BITS == 32
/* Exact in binary64 but for more than 2^13 numbers; then rounded once. */
static inline word_t value_of(sum_t sum)
{
    double high = (double)((signed_t)sum.bin[2] >> TAG);
    double middle = (double)((signed_t)sum.bin[1] >> TAG);
    double low = (double)((signed_t)sum.bin[0] >> TAG);
    /* 2^(WIDTH (index - 2) - 149), by its exponent. */
    uint64_t bits = (uint64_t)(index_of(sum) * WIDTH + 1023 - 149 - TWO_WIDTHS)
                    << 52;
    double unit;

    memcpy(&unit, &bits, sizeof unit);
    return xyl_bits_of_float(
        (float)((high * 0x1p26 + middle * 0x1p13 + low) * unit));
}
#else
static inline double double_of_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A bin in units of 2^-TAG: as an integer in the fraction of 1.5 2^52, as there
 * is no instruction for it before AVX-512. */
static inline double bin_value(word_t bin)
{
    return double_of_bits((bin & ~TAGS) + UINT64_C(0x4338000000000000)) -
           0x1.8p52;
}

/* What a digit has above 2^32: to be carried. */
static inline double carry_of(double bin)
{
    return (bin + 0x1.8p87) - 0x1.8p87;
}

/* 2^exponent, of a normal number. */
static inline double power_of_two(int64_t exponent)
{
    return double_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* After carries the two higher digits are added with what rounding loses, and
 * that with the lowest is added last. In the end an integer of 53 bits or less
 * is left, which a power of two does not round; half of the power at a time, as
 * all of it may be no normal number. */
static inline word_t value_of(sum_t sum)
{
    double high = bin_value(sum.bin[2]), middle = bin_value(sum.bin[1]);
    double low = bin_value(sum.bin[0]), carry = carry_of(low);
    int64_t exponent = (int64_t)index_of(sum) * WIDTH - TWO_WIDTHS - 1074 - TAG;
    int64_t half = exponent >> 1;
    double total;
    word_t bits;

    low -= carry;
    middle += carry * 0x1p-32;
    carry = carry_of(middle);
    middle = (middle - carry) * 0x1p32;
    high = (high + carry * 0x1p-32) * 0x1p64;
    total = high + middle;
    total += (middle - (total - high)) + low;
    total = total * power_of_two(half) * power_of_two(exponent - half);
    memcpy(&bits, &total, sizeof bits);
    return bits;
}
#endif

/* ---- rows of sums ---- */

static int has_special(const raw_t *numbers, size_t count)
{
    word_t most = 0;
    size_t i;

    for (i = 0; i < count; i++)
        most = greater(most, numbers[i] & ~SIGN);
    return most >= INFINITE;
}

static size_t block_of(size_t count, size_t done)
{
    return count - done < BLOCK ? count - done : BLOCK;
}

static void add_block(raw_t *to, const raw_t *sums, const raw_t *numbers,
                      size_t count)
{
    size_t i;

    if (has_special(numbers, count)) {
        for (i = 0; i < count; i++)
            SUM_PUT(to, i, added_special(SUM_GET(sums, i), numbers[i]));
        return;
    }
    INDEPENDENT
    for (i = 0; i < count; i++)
        SUM_PUT(to, i, added(SUM_GET(sums, i), numbers[i]));
}

static void add_real(void *result, const void *left, const void *right,
                     size_t count)
{
    raw_t *to = result;
    const raw_t *sums = left, *numbers = right;
    size_t done;

    for (done = 0; done < count; done += BLOCK)
        add_block(to + BINS * done, sums + BINS * done, numbers + done,
                  block_of(count, done));
}

static void deposit_block(raw_t *to, const raw_t *numbers, size_t count)
{
    const sum_t nothing = {{0, 0, 0}};
    size_t i;

    if (has_special(numbers, count)) {
        for (i = 0; i < count; i++)
            SUM_PUT(to, i, added_special(nothing, numbers[i]));
        return;
    }
    INDEPENDENT
    for (i = 0; i < count; i++)
        SUM_PUT(to, i, added(nothing, numbers[i]));
}

static void deposit_real(void *result, const void *left, const void *right,
                         size_t count)
{
    raw_t *to = result;
    const raw_t *numbers = left;
    size_t done;

    (void)right;
    for (done = 0; done < count; done += BLOCK)
        deposit_block(to + BINS * done, numbers + done, block_of(count, done));
}

static void merge_real(void *result, const void *left, const void *right,
                       size_t count)
{
    raw_t *to = result;
    const raw_t *l = left, *r = right;
    size_t i;

    INDEPENDENT
    for (i = 0; i < count; i++)
        SUM_PUT(to, i, merged(SUM_GET(l, i), SUM_GET(r, i)));
}

static void value_block(raw_t *to, const raw_t *sums, size_t count)
{
    word_t specials = 0;
    size_t i;

    INDEPENDENT
    for (i = 0; i < count; i++) {
        sum_t sum = SUM_GET(sums, i);
        specials |= index_of(sum) == SPECIAL;
        to[i] = value_of(sum);
    }
    for (i = 0; i < count && specials != 0; i++) {
        sum_t sum = SUM_GET(sums, i);
        if (index_of(sum) == SPECIAL)
            to[i] = special_value(sum);
    }
}

static void value_real(void *result, const void *left, const void *right,
                       size_t count)
{
    raw_t *to = result;
    const raw_t *sums = left;
    size_t done;

    (void)right;
    for (done = 0; done < count; done += BLOCK)
        value_block(to + done, sums + BINS * done, block_of(count, done));
}

/* Sums may be written where the elements at `left` end, or elements where the
 * sums begin: what is written lies behind what has been read. */
static void add_two_real(void *result, const void *left, const void *right,
                         size_t count)
{
    raw_t *to = result, first[BINS * BLOCK];
    const raw_t *l = left, *r = right;
    size_t done, block;

    for (done = 0; done < count; done += BLOCK) {
        block = block_of(count, done);
        deposit_block(first, l + done, block);
        add_block(to + BINS * done, first, r + done, block);
    }
}

/* Numbers again, of what `make` makes of both operands. */
typedef struct ending {
    size_t result_bytes, left_bytes, right_bytes; /* of an element */
    xyl_kernel_fn make, value;
} ending_t;

static void end_by_blocks(const ending_t *ending, void *result,
                          const void *left, const void *right, size_t count)
{
    raw_t sums[BINS * BLOCK];
    size_t done, block;

    for (done = 0; done < count; done += BLOCK) {
        block = block_of(count, done);
        ending->make(sums, (const char *)left + done * ending->left_bytes,
                     (const char *)right + done * ending->right_bytes, block);
        ending->value((char *)result + done * ending->result_bytes, sums, NULL,
                      block);
    }
}

#define END(what, name, element_bytes, left_bytes, right_bytes, make)          \
    static void what##_##name(void *result, const void *left,                  \
                              const void *right, size_t count)                 \
    {                                                                          \
        const ending_t ending = {element_bytes, left_bytes, right_bytes, make, \
                                 value_##name};                                \
                                                                               \
        end_by_blocks(&ending, result, left, right, count);                    \
    }

#define ENDS(name, element_bytes)                                              \
    static void collect_##name(void *result, const void *left,                 \
                               const void *right, size_t count)                \
    {                                                                          \
        const ending_t ending = {element_bytes, sizeof(sum_t), element_bytes,  \
                                 add_##name, value_##name};                    \
                                                                               \
        end_by_blocks(&ending, result, right, left, count);                    \
    }                                                                          \
    END(collect_two, name, element_bytes, element_bytes, element_bytes,        \
        add_two_##name)                                                        \
    END(total, name, element_bytes, sizeof(sum_t), sizeof(sum_t), merge_real)
ENDS(real, sizeof(word_t))

/* ---- complex numbers: twice as many ---- */

#define TWICE(kernel)                                                          \
    static void kernel##_complex(void *result, const void *left,               \
                                 const void *right, size_t count)              \
    {                                                                          \
        kernel##_real(result, left, right, 2 * count);                         \
    }
TWICE(deposit)
TWICE(add)
TWICE(merge)
TWICE(value)
TWICE(collect)
TWICE(total)
TWICE(add_two)
TWICE(collect_two)

/* ---- numbers of 16 bits: by a block of float32 ---- */

#if XYL_BINNED_BITS == 32
static void bits_of_float16(raw_t *to, const uint16_t *from, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        to[i] = xyl_bits_of_float(xyl_float_of_float16(from[i]));
}

static void float16_of_bits(uint16_t *to, const raw_t *from, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        to[i] = xyl_float16_of_float(xyl_float_of_bits(from[i]));
}

static void bits_of_bfloat16(raw_t *to, const uint16_t *from, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        to[i] = (word_t)from[i] << 16;
}

static void bfloat16_of_bits(uint16_t *to, const raw_t *from, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        to[i] =
            (uint16_t)(xyl_bfloat16_round(xyl_float_of_bits(from[i])) >> 16);
}

/* merge is that of float32. */
#define HALF(name)                                                             \
    static void deposit_##name(void *result, const void *left,                 \
                               const void *right, size_t count)                \
    {                                                                          \
        raw_t *to = result, block[BLOCK];                                      \
        const uint16_t *numbers = left;                                        \
        size_t done, now;                                                      \
                                                                               \
        for (done = 0; done < count; done += BLOCK) {                          \
            now = block_of(count, done);                                       \
            bits_of_##name(block, numbers + done, now);                        \
            deposit_real(to + BINS * done, block, right, now);                 \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void add_##name(void *result, const void *left, const void *right,  \
                           size_t count)                                       \
    {                                                                          \
        raw_t *to = result, block[BLOCK];                                      \
        const raw_t *sums = left;                                              \
        const uint16_t *numbers = right;                                       \
        size_t done, now;                                                      \
                                                                               \
        for (done = 0; done < count; done += BLOCK) {                          \
            now = block_of(count, done);                                       \
            bits_of_##name(block, numbers + done, now);                        \
            add_block(to + BINS * done, sums + BINS * done, block, now);       \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void value_##name(void *result, const void *left,                   \
                             const void *right, size_t count)                  \
    {                                                                          \
        raw_t block[BLOCK];                                                    \
        const raw_t *sums = left;                                              \
        uint16_t *to = result;                                                 \
        size_t done, now;                                                      \
                                                                               \
        (void)right;                                                           \
        for (done = 0; done < count; done += BLOCK) {                          \
            now = block_of(count, done);                                       \
            value_block(block, sums + BINS * done, now);                       \
            name##_of_bits(to + done, block, now);                             \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void add_two_##name(void *result, const void *left,                 \
                               const void *right, size_t count)                \
    {                                                                          \
        raw_t block[BLOCK], sums[BINS * BLOCK], *to = result;                  \
        const uint16_t *l = left, *r = right;                                  \
        size_t done, now;                                                      \
                                                                               \
        for (done = 0; done < count; done += BLOCK) {                          \
            now = block_of(count, done);                                       \
            bits_of_##name(block, l + done, now);                              \
            deposit_block(sums, block, now);                                   \
            bits_of_##name(block, r + done, now);                              \
            add_block(to + BINS * done, sums, block, now);                     \
        }                                                                      \
    }
HALF(float16)
HALF(bfloat16)
ENDS(float16, sizeof(uint16_t))
ENDS(bfloat16, sizeof(uint16_t))
#endif

/* ---- the table ---- */

#define COMBINER(function)                                                     \
    {                                                                          \
        .kernel = (function), .is_commutative = 1                              \
    }
#define ROW(name, times, merger, type_bytes)                                   \
    {                                                                          \
        .bytes = (times) * sizeof(sum_t), .element_bytes = (type_bytes),       \
        .deposit = COMBINER(deposit_##name), .add = COMBINER(add_##name),      \
        .merge = COMBINER(merger), .value = COMBINER(value_##name),            \
        .collect = COMBINER(collect_##name), .total = COMBINER(total_##name),  \
        .add_two = COMBINER(add_two_##name),                                   \
        .collect_two = COMBINER(collect_two_##name)                            \
    }

extern const xyl_binned_table_t XYL_BINNED_TABLE;

const xyl_binned_table_t XYL_BINNED_TABLE = {
#if XYL_BINNED_BITS == 32
    [XYLEM_FLOAT32] = ROW(real, 1, merge_real, 4),
    [XYLEM_COMPLEX_FLOAT32] = ROW(complex, 2, merge_complex, 8),
    [XYLEM_FLOAT16] = ROW(float16, 1, merge_real, 2),
    [XYLEM_BFLOAT16] = ROW(bfloat16, 1, merge_real, 2),
#else
    [XYLEM_FLOAT64] = ROW(real, 1, merge_real, 8),
    [XYLEM_COMPLEX_FLOAT64] = ROW(complex, 2, merge_complex, 16),
#endif
};
