/* The two 16-bit floating-point formats, by integer instructions: binary16 (1
 * sign, 5 exponent, 10 mantissa bits) and bfloat16, the upper half of a
 * binary32. Conversions upwards are exact; conversions downwards round to
 * nearest, ties to even. For binary16 the results are those of the processor's
 * own instructions, except that the instructions make NaNs quiet also when they
 * convert upwards. The processor's instructions for bfloat16 are of no use
 * here, as they flush subnormal numbers to zero.
 *
 * Made to be vectorised: no branches, signed comparisons of numbers that are
 * never negative, and no step wider than it must be. Pure; any thread. Included
 * by the kernels: everything is static. */
#pragma once

#include <stdint.h>

typedef union xyl_float_bits {
    float value;
    uint32_t bits;
} xyl_float_bits_t;

static inline uint32_t xyl_half_bits_of(float value)
{
    return (xyl_float_bits_t){.value = value}.bits;
}

static inline float xyl_float_of_bits(uint32_t bits)
{
    return (xyl_float_bits_t){.bits = bits}.value;
}

/* Computes both: a compiler must not make a branch of the choice, as it does of
 * ?: when one side is a floating-point operation. */
static inline uint32_t xyl_choose(int condition, uint32_t yes, uint32_t no)
{
    uint32_t mask = 0 - (uint32_t)condition;

    return (yes & mask) | (no & ~mask);
}

/* Bits of binary32. */
enum {
    XYL_FLOAT_INFINITY = 0x7f800000,
    XYL_FLOAT_HALF = 0x3f000000,       /* 0.5 */
    XYL_FLOAT16_INFINITY = 0x47800000, /* 2^16: all from here on is infinite */
    XYL_FLOAT16_NORMAL = 0x38800000,   /* 2^-14: all below is subnormal */
    XYL_FLOAT16_REBIAS =
        0x38000000 /* from one exponent's bias to the other's */
};

/* ---- bfloat16 ---- */

static inline float xyl_float_of_bfloat16(uint16_t half)
{
    return xyl_float_of_bits((uint32_t)half << 16);
}

/* The upper half is the result. Just less than half of the last digit that
 * stays is added, and half of it when that digit is odd; carries go into the
 * exponent, as they should. A NaN must have nothing in its lower half, as NaNs
 * from bfloat16 operands have: then nothing is carried. */
static inline uint32_t xyl_bfloat16_round(float value)
{
    uint32_t bits = xyl_half_bits_of(value);

    return bits + 0x7fff + (bits >> 16 & 1);
}

/* ---- binary16 ---- */

static inline float xyl_float_of_float16(uint16_t half)
{
    int32_t magnitude = (half & 0x7fff) << 13;
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t bits = (uint32_t)magnitude + XYL_FLOAT16_REBIAS;
    /* The mantissa of a subnormal number is put behind that of the least
     * normal one, which is subtracted again: no operand is subnormal. */
    float shifted = xyl_float_of_bits((uint32_t)magnitude + XYL_FLOAT16_NORMAL);
    uint32_t subnormal =
        xyl_half_bits_of(shifted - xyl_float_of_bits(XYL_FLOAT16_NORMAL));

    bits |= xyl_choose(magnitude >= 0x7c00 << 13, XYL_FLOAT_INFINITY, 0);
    bits = xyl_choose(magnitude < 0x400 << 13, subnormal, bits);
    return xyl_float_of_bits(bits | sign);
}

static inline uint16_t xyl_float16_of_float(float value)
{
    uint32_t bits = xyl_half_bits_of(value);
    int32_t magnitude = (int32_t)(bits & 0x7fffffff);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rounded =
        ((uint32_t)magnitude - XYL_FLOAT16_REBIAS + 0xfff + (bits >> 13 & 1)) >>
        13;
    /* The last digit of 0.5 is worth as much as that of a subnormal number, so
     * the addition rounds. */
    float sum = xyl_float_of_bits((uint32_t)magnitude) +
                xyl_float_of_bits(XYL_FLOAT_HALF);
    uint32_t subnormal = xyl_half_bits_of(sum) - XYL_FLOAT_HALF;
    uint32_t nan = 0x200 | (bits >> 13 & 0x3ff);
    uint32_t special =
        0x7c00 | xyl_choose(magnitude > XYL_FLOAT_INFINITY, nan, 0);

    rounded = xyl_choose(magnitude < XYL_FLOAT16_NORMAL, subnormal, rounded);
    return (uint16_t)(sign | xyl_choose(magnitude >= XYL_FLOAT16_INFINITY,
                                        special, rounded));
}

/* ---- order ---- */

/* `left` < `right` ? `if_less` : `otherwise`, for the format whose infinity has
 * the bits `infinity`. With the sign taken into the magnitude, numbers are
 * ordered as integers, and both zeros are 0. Nothing is less than a NaN, nor a
 * NaN than anything. All in 16 bits, so that as many fit into a vector. */
static inline uint16_t xyl_half_choose(uint16_t left, uint16_t right,
                                       int16_t infinity, uint16_t if_less,
                                       uint16_t otherwise)
{
    int16_t l = (int16_t)(left & 0x7fff), r = (int16_t)(right & 0x7fff);
    int16_t l_sign = (int16_t)((int16_t)left >> 15);
    int16_t r_sign = (int16_t)((int16_t)right >> 15);
    int is_number = (l <= infinity) & (r <= infinity);
    int is_less =
        (int16_t)((l ^ l_sign) - l_sign) < (int16_t)((r ^ r_sign) - r_sign);

    return is_number & is_less ? if_less : otherwise;
}
