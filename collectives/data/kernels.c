/* The reduction kernels. This file is compiled once per instruction set;
 * XYL_KERNELS_ISA (base, avx2, avx512) names the table that it defines. The
 * functions are plain loops for the compiler to vectorise.
 *
 * Arithmetic:
 * - Integers wrap around: sums and products are taken in uint64_t, whose low
 *   bits are those of every narrower type.
 * - MIN and MAX of floating-point numbers are `left < right ? left : right` and
 *   `left > right ? left : right`: the right operand when either is a NaN and
 *   when the two are zeros of different sign, as one instruction of the
 *   processor has it.
 * - A complex product is (ac - bd) + (ad + bc)i, each operation rounded on its
 *   own. It does not recover infinities from NaNs as C's Annex G would.
 * - Sums and products of 16-bit floating-point numbers are taken of binary32
 *   and rounded back, MIN and MAX as above.
 * - MINLOC and MAXLOC take the lower index of equal values, and the right pair
 *   when either value is a NaN.
 * No contraction to fused operations (-ffp-contract=off) and no fast-math:
 * either would let the instruction set change results.
 *
 * Nothing in a shared header may be emitted here as a global symbol: it would
 * be built for an instruction set that the machine may lack. */
#include "collectives/data/kernels.h"

#if defined(__F16C__) || defined(__AVX512F__)
#define HAS_FLOAT16_CONVERSIONS 1
#include <immintrin.h>
#endif
#include <string.h>

#include "collectives/data/half.h"

#ifndef XYL_KERNELS_ISA
#error "XYL_KERNELS_ISA must name the instruction set"
#endif

/* The operands are at the same address as the result or do not overlap it, so
 * no iteration depends on another one. A compiler cannot see that, and its own
 * run-time check would send the case of equal addresses to a scalar loop. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
/* Some types, such as long double, have no vectors; that is no mistake. */
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* gcc 12 takes a vector of alternating differences and sums of products for a
 * fused operation even under -ffp-contract=off. For complex products the fused
 * instructions are taken away, which leaves AVX2 at most. */
#if defined(XYL_KERNELS_X86) && !defined(__clang__)
#define UNFUSED __attribute__((target("no-fma,no-fma4,no-avx512f")))
#else
#define UNFUSED
#endif

/* One kernel: `value` is an expression of the elements l and r. */
#define KERNEL(op, name, c_type, value)                                        \
    static void op##_##name(void *result, const void *left, const void *right, \
                            size_t count)                                      \
    {                                                                          \
        size_t i;                                                              \
                                                                               \
        INDEPENDENT                                                            \
        for (i = 0; i < count; i++) {                                          \
            const c_type l = ((const c_type *)left)[i];                        \
            const c_type r = ((const c_type *)right)[i];                       \
            ((c_type *)result)[i] = value;                                     \
        }                                                                      \
    }

/* The kernels of each class of types, and its row of the table. */

#define KERNELS_BITWISE(name, c_type)                                          \
    KERNEL(band, name, c_type, (c_type)(l & r))                                \
    KERNEL(bor, name, c_type, (c_type)(l | r))                                 \
    KERNEL(bxor, name, c_type, (c_type)(l ^ r))
#define ROW_BITWISE(name)                                                      \
    [XYLEM_BAND] = band_##name, [XYLEM_BOR] = bor_##name,                      \
    [XYLEM_BXOR] = bxor_##name

/* With & instead of && there is nothing to skip, hence no branch. */
#define KERNELS_LOGICAL(name, c_type)                                          \
    KERNEL(land, name, c_type, (c_type)((l != 0) & (r != 0)))                  \
    KERNEL(lor, name, c_type, (c_type)((l | r) != 0))                          \
    KERNEL(lxor, name, c_type, (c_type)((l != 0) ^ (r != 0)))
#define ROW_LOGICAL(name)                                                      \
    [XYLEM_LAND] = land_##name, [XYLEM_LOR] = lor_##name,                      \
    [XYLEM_LXOR] = lxor_##name

#define KERNELS_ORDERED(name, c_type)                                          \
    KERNEL(min, name, c_type, l < r ? l : r)                                   \
    KERNEL(max, name, c_type, l > r ? l : r)
#define ROW_ORDERED(name) [XYLEM_MIN] = min_##name, [XYLEM_MAX] = max_##name

#define ROW_ARITHMETIC(name)                                                   \
    [XYLEM_SUM] = sum_##name, [XYLEM_PROD] = prod_##name

#define KERNELS_RAW(name, c_type) KERNELS_BITWISE(name, c_type)
#define ROW_RAW(name)             ROW_BITWISE(name)

#define KERNELS_INTEGER(name, c_type)                                          \
    KERNEL(sum, name, c_type, (c_type)((uint64_t)l + (uint64_t)r))             \
    KERNEL(prod, name, c_type, (c_type)((uint64_t)l * (uint64_t)r))            \
    KERNELS_ORDERED(name, c_type)                                              \
    KERNELS_LOGICAL(name, c_type)                                              \
    KERNELS_BITWISE(name, c_type)
#define ROW_INTEGER(name)                                                      \
    ROW_ARITHMETIC(name), ROW_ORDERED(name), ROW_LOGICAL(name),                \
        ROW_BITWISE(name)

#define KERNELS_REAL(name, c_type)                                             \
    KERNEL(sum, name, c_type, l + r)                                           \
    KERNEL(prod, name, c_type, (l * r))                                        \
    KERNELS_ORDERED(name, c_type)
#define ROW_REAL(name) ROW_ARITHMETIC(name), ROW_ORDERED(name)

#define KERNELS_COMPLEX(name, c_type)                                          \
    KERNEL(sum, name, c_type, ((c_type){l.re + r.re, l.im + r.im}))            \
    UNFUSED KERNEL(                                                            \
        prod, name, c_type,                                                    \
        ((c_type){l.re * r.re - l.im * r.im, l.re * r.im + l.im * r.re}))
#define ROW_COMPLEX(name) ROW_ARITHMETIC(name)

/* The left pair wins with a value in front of the right one's, or with an
 * equal value and a lower index. */
#define LEFT_WINS(order)                                                       \
    ((l.value order r.value) | ((l.value == r.value) & (l.index < r.index)))
#define KERNELS_PAIR(name, c_type)                                             \
    KERNEL(minloc, name, c_type, LEFT_WINS(<) ? l : r)                         \
    KERNEL(maxloc, name, c_type, LEFT_WINS(>) ? l : r)
#define ROW_PAIR(name)                                                         \
    [XYLEM_MINLOC] = minloc_##name, [XYLEM_MAXLOC] = maxloc_##name

/* The compilers do not vectorise the processor's conversions of binary16, so
 * the loop is written out. The last elements, too few for a vector, are copied.
 */
#ifdef HAS_FLOAT16_CONVERSIONS
#ifdef __AVX512F__
typedef __m512 lanes_t;
enum { LANES = 16 };

static inline lanes_t widen(const uint16_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)from));
}

static inline void narrow(uint16_t *to, lanes_t from)
{
    _mm256_storeu_si256(
        (__m256i_u *)to,
        _mm512_cvtps_ph(from, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
typedef __m256 lanes_t;
enum { LANES = 8 };

static inline lanes_t widen(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)from));
}

static inline void narrow(uint16_t *to, lanes_t from)
{
    _mm_storeu_si128((__m128i_u *)to,
                     _mm256_cvtps_ph(from, _MM_FROUND_TO_NEAREST_INT));
}
#endif

#define KERNEL_FLOAT16(op, operator)                                           \
    static void op##_float16(void *result, const void *left,                   \
                             const void *right, size_t count)                  \
    {                                                                          \
        uint16_t rest[3][LANES] = {{0}}, *to = result;                         \
        const uint16_t *l = left, *r = right;                                  \
        size_t i, bytes;                                                       \
                                                                               \
        for (i = 0; i + LANES <= count; i += LANES)                            \
            narrow(to + i, widen(l + i) operator widen(r + i));                \
        bytes = (count - i) * sizeof *to;                                      \
        if (bytes == 0)                                                        \
            return;                                                            \
        memcpy(rest[0], l + i, bytes);                                         \
        memcpy(rest[1], r + i, bytes);                                         \
        narrow(rest[2], widen(rest[0]) operator widen(rest[1]));               \
        memcpy(to + i, rest[2], bytes);                                        \
    }
#else
#define KERNEL_FLOAT16(op, operator)                                           \
    KERNEL(op, float16, uint16_t,                                              \
           xyl_float16_of_float(                                               \
               xyl_float_of_float16(l) operator xyl_float_of_float16(r)))
#endif

/* Two numbers at a time, as they lie in a word: each half becomes a binary32
 * where it is, and nothing is shuffled. */
typedef uint32_t __attribute__((aligned(2), may_alias)) two_bfloat16_t;

#define UPPER UINT32_C(0xffff0000)
#define BFLOAT16_PAIR(l, r, operator)                                          \
    ((xyl_bfloat16_round(xyl_float_of_bits(                                    \
          (l) << 16) operator xyl_float_of_bits((r) << 16)) >>                 \
      16) |                                                                    \
     (xyl_bfloat16_round(xyl_float_of_bits(                                    \
          UPPER & (l)) operator xyl_float_of_bits(UPPER &(r))) &               \
      UPPER))

#define KERNEL_BFLOAT16(op, operator)                                          \
    static void op##_bfloat16(void *result, const void *left,                  \
                              const void *right, size_t count)                 \
    {                                                                          \
        const two_bfloat16_t *l = left, *r = right;                            \
        two_bfloat16_t *to = result;                                           \
        size_t i, last = count - 1;                                            \
                                                                               \
        INDEPENDENT                                                            \
        for (i = 0; i < count / 2; i++)                                        \
            to[i] = BFLOAT16_PAIR(l[i], r[i], operator);                       \
        if (count % 2 != 0)                                                    \
            ((uint16_t *)result)[last] =                                       \
                (uint16_t)(xyl_bfloat16_round(                                 \
                               xyl_float_of_bfloat16(                          \
                                   ((const uint16_t *)left)[last])             \
                               operator xyl_float_of_bfloat16(                 \
                                   ((const uint16_t *)right)[last])) >>        \
                           16);                                                \
    }

/* The result is one of the operands, so nothing needs to be converted. */
#define KERNELS_HALF_ORDERED(name, infinity)                                   \
    KERNEL(min, name, uint16_t, xyl_half_choose(l, r, infinity, l, r))         \
    KERNEL(max, name, uint16_t, xyl_half_choose(r, l, infinity, l, r))

#define KERNELS_FLOAT16(name, c_type)                                          \
    KERNEL_FLOAT16(sum, +)                                                     \
    KERNEL_FLOAT16(prod, *)                                                    \
    KERNELS_HALF_ORDERED(name, 0x7c00)
#define ROW_FLOAT16(name) ROW_REAL(name)

#define KERNELS_BFLOAT16(name, c_type)                                         \
    KERNEL_BFLOAT16(sum, +)                                                    \
    KERNEL_BFLOAT16(prod, *)                                                   \
    KERNELS_HALF_ORDERED(name, 0x7f80)
#define ROW_BFLOAT16(name) ROW_REAL(name)

#define KERNELS(enumerator, name, class, c_type) KERNELS_##class(name, c_type)
XYL_TYPE_MAP(KERNELS)

/* Two steps, so that XYL_KERNELS_ISA is replaced before it is joined. */
#define TABLE_NAME_JOIN(isa) xyl_kernels_##isa
#define TABLE_NAME(isa)      TABLE_NAME_JOIN(isa)

#define ROW(enumerator, name, class, c_type)                                   \
    [XYLEM_##enumerator] = {ROW_##class(name)},
const xyl_kernel_table_t TABLE_NAME(XYL_KERNELS_ISA) = {XYL_TYPE_MAP(ROW)};
