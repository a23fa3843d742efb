/* Contents of buffers; see data.h. Each kind is a C expression of a and b, so
 * that results are computed here without the library. */
#include "tests/proc/data.h"

#include <complex.h>
#include <string.h>

/* write: from `value` (below VALUES) and `rank`; combine: from a and b. */
#define KIND(name, ctype, written, combined, equals)                           \
    static void name##_write(void *element, uint32_t rank, uint32_t value)     \
    {                                                                          \
        ctype to;                                                              \
        (void)rank;                                                            \
        memset(&to, 0, sizeof to);                                             \
        to = written;                                                          \
        memcpy(element, &to, sizeof to);                                       \
    }                                                                          \
    static void name##_combine(void *left, const void *right)                  \
    {                                                                          \
        ctype a, b, to;                                                        \
        memcpy(&a, left, sizeof a);                                            \
        memcpy(&b, right, sizeof b);                                           \
        to = combined;                                                         \
        memcpy(left, &to, sizeof to);                                          \
    }                                                                          \
    static int name##_equal(const void *left, const void *right)               \
    {                                                                          \
        ctype a, b;                                                            \
        memcpy(&a, left, sizeof a);                                            \
        memcpy(&b, right, sizeof b);                                           \
        return equals;                                                         \
    }

#define SAME (a == b)

typedef struct pair {
    float value;
    int index;
} pair_t;

/* x -> scale * x + shift; left applied after right. */
typedef struct affine {
    uint32_t scale;
    uint32_t shift;
} affine_t;

enum { VALUES = 97 };

static pair_t pair_of(float value, int index)
{
    return (pair_t){value, index};
}

static pair_t pair_later(pair_t a, pair_t b)
{
    if (a.value != b.value)
        return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
}

static affine_t affine_of(uint32_t scale, uint32_t shift)
{
    return (affine_t){scale, shift};
}

static affine_t affine_after(affine_t a, affine_t b)
{
    return affine_of(a.scale * b.scale, a.scale * b.shift + a.shift);
}

/* Whole numbers up to 2048 as binary16 and back. */
static uint16_t half_of(uint32_t number)
{
    uint32_t exponent;

    if (number == 0)
        return 0;
    exponent = 31 - (uint32_t)__builtin_clz(number);
    return (uint16_t)((exponent + 15) << 10 |
                      ((number << 10 >> exponent) & 0x3ff));
}

static uint32_t half_number(uint16_t half)
{
    return half == 0 ? 0
                     : ((half & 0x3ffu) | 0x400) << ((half >> 10) - 15) >> 10;
}

KIND(i32_sum, int32_t, (int32_t)value - 50, a + b, SAME)
KIND(u8_max, uint8_t, (uint8_t)(value * 2), a > b ? a : b, SAME)
KIND(f64_sum, double, (double)value / 4, a + b, SAME)
KIND(i64_bxor, int64_t, (int64_t)value << (value % 40), a ^ b, SAME)
KIND(f32_min, float, (float)value - 30, a < b ? a : b, SAME)
KIND(u16_band, uint16_t, (uint16_t)(0xff00 | value), (uint16_t)(a &b), SAME)
KIND(ld_sum, long double, (long double)value / 8, a + b, SAME)
KIND(c64_sum, double complex, (double)value + I * (double)rank, a + b, SAME)
KIND(bool_lor, _Bool, value % 5 == 0, a || b, SAME)
KIND(byte_bor, uint8_t, (uint8_t)value, (uint8_t)(a | b), SAME)
KIND(pair_maxloc, pair_t, pair_of((float)(value % 7), (int)rank),
     pair_later(a, b), a.value == b.value && a.index == b.index)
KIND(f16_sum, uint16_t, half_of(value % 8),
     half_of(half_number(a) + half_number(b)), SAME)
KIND(bf16_max, uint16_t, (uint16_t)(0x3f80 + value), a > b ? a : b, SAME)
KIND(affine, affine_t, affine_of(2 * value + 1, value + rank),
     affine_after(a, b), a.scale == b.scale && a.shift == b.shift)

/* Versions of clang-format differ about it. */
/* clang-format off */
#define ROW(name, ctype, type, op)                                             \
    {#name, type, op, sizeof(ctype), name##_write, name##_combine,            \
     name##_equal}
/* clang-format on */

static const data_kind_t kinds[] = {
    ROW(i32_sum, int32_t, XYLEM_INT32, XYLEM_SUM),
    ROW(u8_max, uint8_t, XYLEM_UINT8, XYLEM_MAX),
    ROW(f64_sum, double, XYLEM_FLOAT64, XYLEM_SUM),
    ROW(affine, affine_t, XYLEM_TYPE_BLOCK(sizeof(affine_t)), DATA_OP_USER),
    ROW(i64_bxor, int64_t, XYLEM_INT64, XYLEM_BXOR),
    ROW(f32_min, float, XYLEM_FLOAT32, XYLEM_MIN),
    ROW(u16_band, uint16_t, XYLEM_UINT16, XYLEM_BAND),
    ROW(ld_sum, long double, XYLEM_LONG_DOUBLE, XYLEM_SUM),
    ROW(c64_sum, double complex, XYLEM_COMPLEX_FLOAT64, XYLEM_SUM),
    ROW(bool_lor, _Bool, XYLEM_BOOL, XYLEM_LOR),
    ROW(byte_bor, uint8_t, XYLEM_BYTE, XYLEM_BOR),
    ROW(pair_maxloc, pair_t, XYLEM_PAIR_FLOAT32_INT, XYLEM_MAXLOC),
    ROW(f16_sum, uint16_t, XYLEM_FLOAT16, XYLEM_SUM),
    ROW(bf16_max, uint16_t, XYLEM_BFLOAT16, XYLEM_MAX),
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const data_kind_t *data_kind(size_t number)
{
    return &kinds[number % KIND_COUNT];
}

static void affine_run(void *result, const void *left, const void *right,
                       size_t count, void *arg)
{
    const affine_t *a = left, *b = right;
    affine_t *to = result;
    size_t i;

    (void)arg;
    for (i = 0; i < count; i++)
        to[i] = affine_after(a[i], b[i]);
}

xylem_status_t data_user_op(xylem_context_t *context, xylem_op_t *op_out)
{
    return xylem_op_create(context, affine_run, NULL, 0, op_out);
}

/* ---- whole buffers, a period at a time ---- */

typedef struct period {
    char elements[DATA_PERIOD * DATA_ELEMENT_BYTES_MAX];
} period_t;

static void contribute(const data_kind_t *kind, void *element, size_t position,
                       uint32_t rank, uint32_t seed)
{
    uint64_t value = (uint64_t)position * 7 + (uint64_t)rank * 13 + seed;

    kind->write(element, rank, (uint32_t)(value % VALUES));
}

static void period_of_rank(const data_kind_t *kind, period_t *period,
                           uint32_t rank, uint32_t seed)
{
    size_t i;

    for (i = 0; i < DATA_PERIOD; i++)
        contribute(kind, period->elements + i * kind->bytes, i, rank, seed);
}

static void period_reduced(const data_kind_t *kind, period_t *period,
                           uint32_t ranks, uint32_t seed)
{
    char other[DATA_ELEMENT_BYTES_MAX];
    uint32_t rank;
    size_t i;

    period_of_rank(kind, period, 0, seed);
    for (rank = 1; rank < ranks; rank++)
        for (i = 0; i < DATA_PERIOD; i++) {
            contribute(kind, other, i, rank, seed);
            kind->combine(period->elements + i * kind->bytes, other);
        }
}

/* Bytes may differ where the type has holes; elements then decide. */
static size_t compare(const data_kind_t *kind, const char *buf, size_t count,
                      const period_t *period)
{
    size_t begin, i, length;

    for (begin = 0; begin < count; begin += DATA_PERIOD) {
        length = count - begin < DATA_PERIOD ? count - begin : DATA_PERIOD;
        if (memcmp(buf + begin * kind->bytes, period->elements,
                   length * kind->bytes) == 0)
            continue;
        for (i = 0; i < length; i++)
            if (!kind->equal(buf + (begin + i) * kind->bytes,
                             period->elements + i * kind->bytes))
                return begin + i;
    }
    return count;
}

void data_write(const data_kind_t *kind, void *buf, size_t count, uint32_t rank,
                uint32_t seed)
{
    period_t period;
    size_t begin, length;

    period_of_rank(kind, &period, rank, seed);
    for (begin = 0; begin < count; begin += DATA_PERIOD) {
        length = count - begin < DATA_PERIOD ? count - begin : DATA_PERIOD;
        memcpy((char *)buf + begin * kind->bytes, period.elements,
               length * kind->bytes);
    }
}

size_t data_check(const data_kind_t *kind, const void *buf, size_t count,
                  uint32_t rank, uint32_t seed)
{
    period_t period;

    period_of_rank(kind, &period, rank, seed);
    return compare(kind, buf, count, &period);
}

size_t data_check_reduced(const data_kind_t *kind, const void *buf,
                          size_t count, uint32_t ranks, uint32_t seed)
{
    period_t period;

    period_reduced(kind, &period, ranks, seed);
    return compare(kind, buf, count, &period);
}
