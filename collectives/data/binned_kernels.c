/* The kernels of binned.h. This file is compiled once per format of numbers,
 * size of sums and instruction set: XYL_BINNED_BITS says which format,
 * XYL_BINNED_WORDS of how many words a sum is, XYL_BINNED_TABLE names the table
 * that it defines. Plain loops, for the compiler to vectorise.
 *
 * In a sum of three words each word has a digit's sum in its upper bits,
 * signed, and some bits of the index in its lower TAG bits; the lowest digit
 * comes first. In a sum of two words the upper FIELD bits have the sums of the
 * lowest and of the highest digit, and the bits below have all else:
 *
 *   | lowest digit  | lower bits of the middle one          |
 *   | highest digit | index | upper bits of the middle one  |
 *
 * A sum of all zeros is the sum of nothing.
 *
 * Digit i of a number is its bits from 2^(LOWEST + i WIDTH) up to the next
 * digit, with the number's sign. Index i has digits i, i - 1 and i - 2; none is
 * below 2, where all digits end with the last bit of subnormal numbers. Numbers
 * that are not finite have an index above all others, and are counted in the
 * place of digits: +infinity, -infinity, NaN.
 *
 * Room: digits are less than 2^WIDTH. The sum of 2^16 digits fits into a word
 * above its TAG bits, that of 2^(FIELD - 1 - WIDTH) digits into FIELD bits. */
#include <string.h>

#include "collectives/data/binned.h"
#include "collectives/data/half.h"

#ifndef XYL_BINNED_TABLE
#error "XYL_BINNED_TABLE must name the table"
#endif

#if XYL_BINNED_BITS == 32
typedef uint32_t word_t;
typedef int32_t signed_t;
enum { FRACTION = 23, WIDTH = 13, TAG = 2, FIELD = 19 };

/* From a bit's place, at most 276, to its digit: x / 13. */
static inline word_t digit_of(word_t place)
{
    return place * 79 >> 10;
}
#else
typedef uint64_t word_t;
typedef int64_t signed_t;
enum { FRACTION = 52, WIDTH = 32, TAG = 3, FIELD = 40 };

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
    WORDS = XYL_BINNED_WORDS,
    TWO_WIDTHS = 2 * WIDTH,
    BLOCK = 128 /* elements */
};

#define ONE        ((word_t)1)
#define BELOW(bit) ((ONE << (bit)) - 1)
#define DIGIT      BELOW(WIDTH)
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

/* Each bin is a digit's sum, signed, in the upper bits of a word; those below
 * UNIT are 0. */
typedef struct sum {
    word_t bin[BINS], index;
} sum_t;

/* A sum as it lies in memory. */
typedef struct packed {
    word_t word[WORDS];
} packed_t;

#if XYL_BINNED_WORDS == 3
enum { UNIT = TAG, NUMBERS = XYL_BINNED_NUMBERS_MAX };
/* The index of sums that are not finite. */
#define SPECIAL BELOW(BINS *TAG)

static inline sum_t unpacked(packed_t from)
{
    const word_t tags = BELOW(TAG);

    return (sum_t){
        {from.word[0] & ~tags, from.word[1] & ~tags, from.word[2] & ~tags},
        (from.word[0] & tags) | (from.word[1] & tags) << TAG |
            (from.word[2] & tags) << 2 * TAG};
}

static inline packed_t packed(sum_t sum)
{
    const word_t tags = BELOW(TAG);

    return (packed_t){{sum.bin[0] | (sum.index & tags),
                       sum.bin[1] | (sum.index >> TAG & tags),
                       sum.bin[2] | sum.index >> 2 * TAG}};
}

#define PACKED_GET(row, i)                                                     \
    ((packed_t){{(row)[3 * (i)], (row)[3 * (i) + 1], (row)[3 * (i) + 2]}})
#define PACKED_PUT(row, i, from)                                               \
    ((row)[3 * (i)] = (from).word[0], (row)[3 * (i) + 1] = (from).word[1],     \
     (row)[3 * (i) + 2] = (from).word[2])
#else
enum {
    UNIT = BITS - FIELD,
    UPPER = FIELD - UNIT,
    NUMBERS = 1 << (FIELD - 1 - WIDTH)
};
#define SPECIAL BELOW(UNIT - UPPER)

static inline sum_t unpacked(packed_t from)
{
    const word_t lower = BELOW(UNIT);

    return (sum_t){
        {from.word[0] & ~lower,
         from.word[1] << (BITS - UPPER) | (from.word[0] & lower) << UNIT,
         from.word[1] & ~lower},
        from.word[1] >> UPPER & SPECIAL};
}

static inline packed_t packed(sum_t sum)
{
    const word_t lower = BELOW(UNIT);

    return (packed_t){
        {sum.bin[0] | (sum.bin[1] >> UNIT & lower),
         sum.bin[2] | sum.bin[1] >> (BITS - UPPER) | sum.index << UPPER}};
}

#define PACKED_GET(row, i) ((packed_t){{(row)[2 * (i)], (row)[2 * (i) + 1]}})
#define PACKED_PUT(row, i, from)                                               \
    ((row)[2 * (i)] = (from).word[0], (row)[2 * (i) + 1] = (from).word[1])
#endif

/* Sums in a row. Macros, because clang vectorises a loop with such accesses
 * only if they stand in the loop. */
#define SUM_GET(row, i) unpacked(PACKED_GET(row, i))
#define SUM_PUT(row, i, sum)                                                   \
    do {                                                                       \
        const packed_t put_ = packed(sum);                                     \
        PACKED_PUT(row, i, put_);                                              \
    } while (0)

static inline word_t greater(word_t a, word_t b)
{
    return (signed_t)a > (signed_t)b ? a : b;
}

static inline word_t lesser(word_t a, word_t b)
{
    return (signed_t)a < (signed_t)b ? a : b;
}

/* The same sum at a higher index, whose upper digits are 0. It is written as a
 * row of choices, because clang makes no branches of these. */
static inline sum_t lifted(sum_t sum, word_t index)
{
    word_t by = index - sum.index;
    sum_t to;

    to.bin[0] = by == 2 ? sum.bin[2] : 0;
    to.bin[0] = by == 1 ? sum.bin[1] : to.bin[0];
    to.bin[0] = by == 0 ? sum.bin[0] : to.bin[0];
    to.bin[1] = by == 1 ? sum.bin[2] : 0;
    to.bin[1] = by == 0 ? sum.bin[1] : to.bin[1];
    to.bin[2] = by == 0 ? sum.bin[2] : 0;
    to.index = index;
    return to;
}

/* The sum of two sums of one index. */
static inline sum_t sum_of(sum_t left, sum_t right)
{
    return (sum_t){{left.bin[0] + right.bin[0], left.bin[1] + right.bin[1],
                    left.bin[2] + right.bin[2]},
                   left.index};
}

static inline sum_t merged(sum_t left, sum_t right)
{
    word_t index = greater(left.index, right.index);

    return sum_of(lifted(left, index), lifted(right, index));
}

static inline word_t digit_word(word_t digit, word_t sign)
{
    return ((digit ^ sign) - sign) << UNIT;
}

/* A finite number as a sum, with an index that is not below its own. `at`: how
 * far the last bit of its fraction is above the last bit of the lowest digit;
 * negative: below. */
static inline sum_t digits_of(word_t fraction, word_t at, word_t sign,
                              word_t index)
{
    word_t above = greater(at, 0);
    word_t below = lesser(greater(0 - at, 0), BITS - 1);
    word_t low = fraction << above >> below;
    word_t high = fraction >> lesser(TWO_WIDTHS - at, BITS - 1);

    return (sum_t){{digit_word(low & DIGIT, sign),
                    digit_word(low >> WIDTH & DIGIT, sign),
                    digit_word(high, sign)},
                   index};
}

/* The place of the last bit of the fraction. */
static inline word_t place_of(word_t magnitude)
{
    word_t exponent = magnitude >> FRACTION;

    return exponent - (exponent != 0);
}

static inline word_t index_of(word_t magnitude)
{
    return digit_of(greater(place_of(magnitude) + FRACTION, TWO_WIDTHS));
}

/* sum + the finite number with the bits `number`. */
static inline sum_t added(sum_t sum, word_t number)
{
    word_t exponent = (number & ~SIGN) >> FRACTION;
    word_t fraction = number & BELOW(FRACTION);
    word_t place = place_of(number & ~SIGN);
    word_t sign = (word_t)((signed_t)number >> (BITS - 1));
    word_t index = greater(index_of(number & ~SIGN), sum.index);

    fraction |= (word_t)(exponent != 0) << FRACTION;
    return sum_of(
        lifted(sum, index),
        digits_of(fraction, place - (index - 2) * WIDTH, sign, index));
}

/* The same digits by floating-point operations, if the processor can truncate a
 * number to an integer. */
#if defined(__SSE4_1__) || defined(__aarch64__)
#if XYL_BINNED_BITS == 32
typedef float real_t;
#define TRUNCATED(value) __builtin_truncf(value)
#define DIGIT_RADIX      0x1p13F
#define DIGIT_PLACE      0x1.8p21F
enum { REAL_BIAS = 127 };
#else
typedef double real_t;
#define TRUNCATED(value) __builtin_trunc(value)
#define DIGIT_RADIX      0x1p32
#define DIGIT_PLACE      0x1.8p49
enum { REAL_BIAS = 1023 };
#endif

static inline real_t real_of(word_t bits)
{
    real_t value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The factor that makes the highest digit of an index an integer; always
 * normal. */
static inline real_t scale_of(word_t index)
{
    return real_of((2 * REAL_BIAS + FRACTION - 1 - index * WIDTH) << FRACTION);
}

/* An integer, in the fraction of a number whose last bit is 2^-TAG. */
static inline word_t real_word(real_t digit)
{
    const real_t place = DIGIT_PLACE;
    word_t bits, zero;

    digit += place;
    memcpy(&bits, &digit, sizeof bits);
    memcpy(&zero, &place, sizeof zero);
    return (bits - zero) << (UNIT - TAG);
}

/* Each step is exact. */
static inline sum_t scaled_digits(real_t scaled)
{
    real_t high = TRUNCATED(scaled), middle, low;

    scaled = (scaled - high) * DIGIT_RADIX;
    middle = TRUNCATED(scaled);
    low = TRUNCATED((scaled - middle) * DIGIT_RADIX);
    return (sum_t){{real_word(low), real_word(middle), real_word(high)}, 0};
}
#endif

static sum_t added_special(sum_t sum, word_t number)
{
    word_t magnitude = number & ~SIGN;
    unsigned kind = magnitude > INFINITE ? 2 : (number & SIGN) != 0;

    if (magnitude < INFINITE)
        return added(sum, number);
    sum = lifted(sum, SPECIAL);
    sum.bin[kind] += ONE << UNIT;
    return sum;
}

static word_t special_value(sum_t sum)
{
    int has_plus = sum.bin[0] != 0, has_minus = sum.bin[1] != 0;

    if (sum.bin[2] != 0 || (has_plus && has_minus))
        return QUIET;
    return has_plus ? INFINITE : INFINITE | SIGN;
}

#if XYL_BINNED_BITS == 32
/* The value is exact in binary64 up to 2^13 numbers, and rounded once if there
 * are more. */
static inline word_t value_of(sum_t sum)
{
    double high = (double)((signed_t)sum.bin[2] >> UNIT);
    double middle = (double)((signed_t)sum.bin[1] >> UNIT);
    double low = (double)((signed_t)sum.bin[0] >> UNIT);
    /* 2^(WIDTH (index - 2) - 149), by its exponent. */
    uint64_t bits = (uint64_t)(sum.index * WIDTH + 1023 - 149 - TWO_WIDTHS)
                    << 52;
    double unit;

    memcpy(&unit, &bits, sizeof unit);
    return xyl_half_bits_of(
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
    return double_of_bits((uint64_t)((signed_t)bin >> (UNIT - TAG)) +
                          UINT64_C(0x4338000000000000)) -
           0x1.8p52;
}

/* The part of a digit's sum above 2^32, to be carried. */
static inline double carry_of(double bin)
{
    return (bin + 0x1.8p87) - 0x1.8p87;
}

/* 2^exponent, of a normal number. */
static inline double power_of_two(int64_t exponent)
{
    return double_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* After the carries this function adds the two higher digits, and then the
 * lowest digit together with the rounding error of the first addition. The
 * total is an integer of at most 53 bits, so its product with a power of two is
 * exact. The power is applied in two halves, as the whole power may be no
 * normal number. */
static inline word_t value_of(sum_t sum)
{
    double high = bin_value(sum.bin[2]), middle = bin_value(sum.bin[1]);
    double low = bin_value(sum.bin[0]), carry = carry_of(low);
    int64_t exponent = (int64_t)sum.index * WIDTH - TWO_WIDTHS - 1074 - TAG;
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

/* The functions that all kernels are made of are compiled once per table. */
#define ONCE __attribute__((noinline))

static word_t greatest(const raw_t *numbers, size_t count)
{
    word_t most = 0;
    size_t i;

    for (i = 0; i < count; i++)
        most = greater(most, numbers[i] & ~SIGN);
    return most;
}

static size_t block_of(size_t count, size_t done)
{
    return count - done < BLOCK ? count - done : BLOCK;
}

#ifdef TRUNCATED
/* 1: all sums have the index `index`. */
static int have_index(const raw_t *sums, size_t count, word_t index)
{
    const packed_t mask = packed((sum_t){{0, 0, 0}, SPECIAL});
    const packed_t wanted = packed((sum_t){{0, 0, 0}, index});
    word_t differ = 0;
    size_t i, word;

    for (i = 0; i < count; i++)
        for (word = 0; word < WORDS; word++)
            differ |=
                (sums[WORDS * i + word] ^ wanted.word[word]) & mask.word[word];
    return differ == 0;
}

/* Adds without lifting if all sums have one index and no number has a higher
 * one. 0: nothing is added, as these indices differ, the sums are not finite,
 * or numbers may be subnormal. The program may have told the processor to take
 * subnormal numbers for 0. */
static int add_below(raw_t *to, const raw_t *sums, const raw_t *numbers,
                     word_t most, size_t count)
{
    const word_t index = SUM_GET(sums, (size_t)0).index;
    real_t scale;
    size_t i;

    if (index < 4 || index == SPECIAL || index < index_of(most) ||
        !have_index(sums, count, index))
        return 0;
    scale = scale_of(index);
    INDEPENDENT
    for (i = 0; i < count; i++)
        SUM_PUT(to, i,
                sum_of(SUM_GET(sums, i),
                       scaled_digits(real_of(numbers[i]) * scale)));
    return 1;
}
#else
static int add_below(raw_t *to, const raw_t *sums, const raw_t *numbers,
                     word_t most, size_t count)
{
    (void)to, (void)sums, (void)numbers, (void)most, (void)count;
    return 0;
}
#endif

ONCE static void add_block(raw_t *to, const raw_t *sums, const raw_t *numbers,
                           size_t count)
{
    word_t most = greatest(numbers, count);
    size_t i;

    if (most >= INFINITE) {
        for (i = 0; i < count; i++)
            SUM_PUT(to, i, added_special(SUM_GET(sums, i), numbers[i]));
        return;
    }
    if (add_below(to, sums, numbers, most, count))
        return;
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
        add_block(to + WORDS * done, sums + WORDS * done, numbers + done,
                  block_of(count, done));
}

ONCE static void deposit_block(raw_t *to, const raw_t *numbers, size_t count)
{
    const sum_t nothing = {{0, 0, 0}, 0};
    size_t i;

    if (greatest(numbers, count) >= INFINITE) {
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
        deposit_block(to + WORDS * done, numbers + done, block_of(count, done));
}

ONCE static void merge_real(void *result, const void *left, const void *right,
                            size_t count)
{
    raw_t *to = result;
    const raw_t *l = left, *r = right;
    size_t i;

    INDEPENDENT
    for (i = 0; i < count; i++)
        SUM_PUT(to, i, merged(SUM_GET(l, i), SUM_GET(r, i)));
}

ONCE static void value_block(raw_t *to, const raw_t *sums, size_t count)
{
    word_t specials = 0;
    size_t i;

    INDEPENDENT
    for (i = 0; i < count; i++) {
        sum_t sum = SUM_GET(sums, i);
        specials |= sum.index == SPECIAL;
        to[i] = value_of(sum);
    }
    for (i = 0; i < count && specials != 0; i++) {
        sum_t sum = SUM_GET(sums, i);
        if (sum.index == SPECIAL)
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
        value_block(to + done, sums + WORDS * done, block_of(count, done));
}

/* Sums may be written where the elements at `left` end, or elements where the
 * sums begin: what is written lies behind what has been read. */
static void add_two_real(void *result, const void *left, const void *right,
                         size_t count)
{
    raw_t *to = result, first[WORDS * BLOCK];
    const raw_t *l = left, *r = right;
    size_t done, block;

    for (done = 0; done < count; done += BLOCK) {
        block = block_of(count, done);
        deposit_block(first, l + done, block);
        add_block(to + WORDS * done, first, r + done, block);
    }
}

/* Combines both operands, whose elements have `left_bytes` and `right_bytes`
 * bytes, into a block of sums by `make`, and writes the numbers of these
 * sums. */
static void end_by_blocks(xyl_kernel_fn make, size_t left_bytes,
                          size_t right_bytes, void *result, const void *left,
                          const void *right, size_t count)
{
    raw_t sums[WORDS * BLOCK], *to = result;
    size_t done, block;

    for (done = 0; done < count; done += BLOCK) {
        block = block_of(count, done);
        make(sums, (const char *)left + done * left_bytes,
             (const char *)right + done * right_bytes, block);
        value_block(to + done, sums, block);
    }
}

static void collect_real(void *result, const void *left, const void *right,
                         size_t count)
{
    end_by_blocks(add_real, sizeof(packed_t), sizeof(word_t), result, right,
                  left, count);
}

static void collect_two_real(void *result, const void *left, const void *right,
                             size_t count)
{
    end_by_blocks(add_two_real, sizeof(word_t), sizeof(word_t), result, left,
                  right, count);
}

static void total_real(void *result, const void *left, const void *right,
                       size_t count)
{
    end_by_blocks(merge_real, sizeof(packed_t), sizeof(packed_t), result, left,
                  right, count);
}

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
#define CONVERSION(name, declared_to, declared_from, value)                    \
    static void name(declared_to, declared_from, size_t count)                 \
    {                                                                          \
        size_t i;                                                              \
                                                                               \
        for (i = 0; i < count; i++)                                            \
            to[i] = (value);                                                   \
    }
CONVERSION(bits_of_float16, raw_t *to, const uint16_t *from,
           xyl_half_bits_of(xyl_float_of_float16(from[i])))
CONVERSION(float16_of_bits, uint16_t *to, const raw_t *from,
           xyl_float16_of_float(xyl_float_of_bits(from[i])))
CONVERSION(bits_of_bfloat16, raw_t *to, const uint16_t *from,
           (word_t)from[i] << 16)
CONVERSION(bfloat16_of_bits, uint16_t *to, const raw_t *from,
           (uint16_t)(xyl_bfloat16_round(xyl_float_of_bits(from[i])) >> 16))

/* How a kernel of float32 works on numbers of 16 bits: elements of a kernel's
 * result and operands that have 2 bytes are converted, the others are sums. */
typedef struct halves {
    void (*widen)(raw_t *to, const uint16_t *from, size_t count);
    void (*narrow)(uint16_t *to, const raw_t *from, size_t count);
    xyl_kernel_fn kernel;
    size_t result_bytes, left_bytes, right_bytes; /* of an element */
} halves_t;

static const void *widened(const halves_t *halves, const void *operand,
                           size_t bytes, size_t done, size_t now, raw_t *block)
{
    if (bytes == 0) /* there is no such operand */
        return NULL;
    if (bytes != sizeof(uint16_t))
        return (const char *)operand + done * bytes;
    halves->widen(block, (const uint16_t *)operand + done, now);
    return block;
}

static void halves_run(const halves_t *halves, void *result, const void *left,
                       const void *right, size_t count)
{
    int is_narrow = halves->result_bytes == sizeof(uint16_t);
    raw_t l[BLOCK], r[BLOCK], block[BLOCK];
    size_t done, now;

    for (done = 0; done < count; done += BLOCK) {
        char *to = (char *)result + done * halves->result_bytes;
        now = block_of(count, done);
        halves->kernel(
            is_narrow ? (void *)block : to,
            widened(halves, left, halves->left_bytes, done, now, l),
            widened(halves, right, halves->right_bytes, done, now, r), now);
        if (is_narrow)
            halves->narrow((uint16_t *)(void *)to, block, now);
    }
}

#define HALF(name, function, result_bytes, left_bytes, right_bytes)            \
    static void function##_##name(void *result, const void *left,              \
                                  const void *right, size_t count)             \
    {                                                                          \
        const halves_t halves = {bits_of_##name,  name##_of_bits,              \
                                 function##_real, result_bytes,                \
                                 left_bytes,      right_bytes};                \
                                                                               \
        halves_run(&halves, result, left, right, count);                       \
    }

/* merge is that of float32. */
#define HALVES(name)                                                           \
    HALF(name, deposit, sizeof(packed_t), 2, 0)                                \
    HALF(name, add, sizeof(packed_t), sizeof(packed_t), 2)                     \
    HALF(name, add_two, sizeof(packed_t), 2, 2)                                \
    HALF(name, value, 2, sizeof(packed_t), 0)                                  \
    HALF(name, collect, 2, 2, sizeof(packed_t))                                \
    HALF(name, collect_two, 2, 2, 2)                                           \
    HALF(name, total, 2, sizeof(packed_t), sizeof(packed_t))
HALVES(float16)
HALVES(bfloat16)
#endif

/* ---- the table ---- */

#define COMBINER(function)                                                     \
    {                                                                          \
        .kernel = (function), .is_commutative = 1                              \
    }
#define ROW(name, times, merger, type_bytes)                                   \
    {                                                                          \
        .bytes = (times) * sizeof(packed_t), .element_bytes = (type_bytes),    \
        .numbers = NUMBERS, .deposit = COMBINER(deposit_##name),               \
        .add = COMBINER(add_##name), .merge = COMBINER(merger),                \
        .value = COMBINER(value_##name), .collect = COMBINER(collect_##name),  \
        .total = COMBINER(total_##name), .add_two = COMBINER(add_two_##name),  \
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
