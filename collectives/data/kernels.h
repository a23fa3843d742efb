/* The reduction kernels behind op.h: which element types there are, how each
 * lies in memory, and the tables of functions that combine them.
 *
 * kernels.c is compiled once per instruction set into a table of its own. All
 * tables round in the same sequence, so they give the same bits, except for the
 * sign and payload of a NaN that an addition or multiplication produces.
 * Nothing here has state; any thread may use it. */
#pragma once

#include <stdint.h>

#include "collectives/data/op.h"

/* The AVX2 and AVX-512 tables exist; the build tests the same macro. */
#if defined(__x86_64__)
#define XYL_KERNELS_X86 1
#endif

/* A complex number lies in memory as C's does: two values in a row. */
#define XYL_COMPLEX(name, c_type)                                              \
    typedef struct xyl_complex_##name {                                        \
        c_type re, im;                                                         \
    } xyl_complex_##name##_t;
XYL_COMPLEX(float32, float)
XYL_COMPLEX(float64, double)
XYL_COMPLEX(long_double, long double)
#undef XYL_COMPLEX

/* The pairs of MINLOC and MAXLOC. */
#define XYL_PAIR(name, c_type)                                                 \
    typedef struct xyl_pair_##name##_int {                                     \
        c_type value;                                                          \
        int index;                                                             \
    } xyl_pair_##name##_int_t;
XYL_PAIR(int16, int16_t)
XYL_PAIR(int32, int32_t)
XYL_PAIR(int64, int64_t)
XYL_PAIR(float32, float)
XYL_PAIR(float64, double)
XYL_PAIR(long_double, long double)
#undef XYL_PAIR

/* Every predefined type: X(enumerator without XYLEM_, name, class, C type).
 * The class says which operations are defined:
 *   RAW      BAND BOR BXOR
 *   INTEGER  all but MINLOC and MAXLOC
 *   REAL     SUM PROD MIN MAX
 *   COMPLEX  SUM PROD
 *   LOGICAL  LAND LOR LXOR
 *   PAIR     MINLOC MAXLOC
 *   FLOAT16, BFLOAT16  SUM PROD MIN MAX, by half.h
 * XYLEM_BOOL is read as bytes, of which any but 0 is true, because compilers do
 * not vectorise _Bool well. */
#define XYL_TYPE_MAP(X)                                                        \
    X(BYTE, byte, RAW, uint8_t)                                                \
    X(INT8, int8, INTEGER, int8_t)                                             \
    X(INT16, int16, INTEGER, int16_t)                                          \
    X(INT32, int32, INTEGER, int32_t)                                          \
    X(INT64, int64, INTEGER, int64_t)                                          \
    X(UINT8, uint8, INTEGER, uint8_t)                                          \
    X(UINT16, uint16, INTEGER, uint16_t)                                       \
    X(UINT32, uint32, INTEGER, uint32_t)                                       \
    X(UINT64, uint64, INTEGER, uint64_t)                                       \
    X(FLOAT32, float32, REAL, float)                                           \
    X(FLOAT64, float64, REAL, double)                                          \
    X(LONG_DOUBLE, long_double, REAL, long double)                             \
    X(COMPLEX_FLOAT32, complex_float32, COMPLEX, xyl_complex_float32_t)        \
    X(COMPLEX_FLOAT64, complex_float64, COMPLEX, xyl_complex_float64_t)        \
    X(COMPLEX_LONG_DOUBLE, complex_long_double, COMPLEX,                       \
      xyl_complex_long_double_t)                                               \
    X(BOOL, bool, LOGICAL, uint8_t)                                            \
    X(PAIR_INT16_INT, pair_int16_int, PAIR, xyl_pair_int16_int_t)              \
    X(PAIR_INT32_INT, pair_int32_int, PAIR, xyl_pair_int32_int_t)              \
    X(PAIR_INT64_INT, pair_int64_int, PAIR, xyl_pair_int64_int_t)              \
    X(PAIR_FLOAT32_INT, pair_float32_int, PAIR, xyl_pair_float32_int_t)        \
    X(PAIR_FLOAT64_INT, pair_float64_int, PAIR, xyl_pair_float64_int_t)        \
    X(PAIR_LONG_DOUBLE_INT, pair_long_double_int, PAIR,                        \
      xyl_pair_long_double_int_t)                                              \
    X(FLOAT16, float16, FLOAT16, uint16_t)                                     \
    X(BFLOAT16, bfloat16, BFLOAT16, uint16_t)

/* NULL where the operation is not defined on the type. */
typedef xyl_kernel_fn xyl_kernel_table_t[XYLEM_TYPE_COUNT][XYLEM_OP_COUNT];

extern const xyl_kernel_table_t xyl_kernels_base;
#ifdef XYL_KERNELS_X86
extern const xyl_kernel_table_t xyl_kernels_avx2;
extern const xyl_kernel_table_t xyl_kernels_avx512;
#endif
