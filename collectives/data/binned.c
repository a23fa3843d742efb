#include "collectives/data/binned.h"

#include "collectives/data/kernels.h"

/* The tables that binned_kernels.c defines for float32 and float64, those of
 * the smallest sums first. */
#define TABLES(X, isa) X(32, 2, isa) X(64, 2, isa) X(32, 3, isa) X(64, 3, isa)
#ifdef XYL_KERNELS_X86
#define ALL_TABLES(X) TABLES(X, base) TABLES(X, avx2) TABLES(X, avx512)
#else
#define ALL_TABLES(X) TABLES(X, base)
#endif
#define DECLARE(bits, words, isa)                                              \
    extern const xyl_binned_table_t xyl_binned_##bits##_##words##_##isa;
ALL_TABLES(DECLARE)
#undef DECLARE

enum { TABLES_OF_ISA = 4 };

const xyl_binned_t *xyl_binned_find(xylem_op_t op, xylem_type_t type,
                                    uint32_t numbers, xyl_isa_t isa)
{
#define POINTER(bits, words, isa) &xyl_binned_##bits##_##words##_##isa,
    static const xyl_binned_table_t *const tables[] = {ALL_TABLES(POINTER)};
#undef POINTER
    xyl_isa_t best = xyl_isa_best();
    size_t i, first = TABLES_OF_ISA * (size_t)(isa < best ? isa : best);

    if (op != XYLEM_SUM || type >= XYLEM_TYPE_COUNT)
        return NULL;
    for (i = first; i < first + TABLES_OF_ISA; i++)
        if ((*tables[i])[type].bytes != 0 &&
            (*tables[i])[type].numbers >= numbers)
            return &(*tables[i])[type];
    return NULL;
}

/* ---- the least and the greatest ---- */

/* With the other bits of negative numbers inverted, numbers are ordered as
 * integers, and -0 comes before +0. */
#define EXTREME(name, bits, infinity, quiet, order)                            \
    static void name(void *result, const void *left, const void *right,        \
                     size_t count)                                             \
    {                                                                          \
        typedef uint##bits##_t __attribute__((may_alias)) raw_t;               \
        const raw_t others = INT##bits##_MAX, *l = left, *r = right;           \
        raw_t *to = result;                                                    \
        size_t i;                                                              \
                                                                               \
        for (i = 0; i < count; i++) {                                          \
            int##bits##_t a = (int##bits##_t)l[i], b = (int##bits##_t)r[i];    \
            int is_nan =                                                       \
                (l[i] & others) > (infinity) || (r[i] & others) > (infinity);  \
            a = a < 0 ? (int##bits##_t)(a ^ INT##bits##_MAX) : a;              \
            b = b < 0 ? (int##bits##_t)(b ^ INT##bits##_MAX) : b;              \
            to[i] = is_nan ? (quiet) : a order b ? l[i] : r[i];                \
        }                                                                      \
    }

#define EXTREMES(name, bits, infinity, quiet)                                  \
    EXTREME(min_##name, bits, infinity, quiet, <)                              \
    EXTREME(max_##name, bits, infinity, quiet, >)

EXTREMES(float16, 16, 0x7c00, 0x7e00)
EXTREMES(bfloat16, 16, 0x7f80, 0x7fc0)
EXTREMES(float32, 32, UINT32_C(0x7f800000), UINT32_C(0x7fc00000))
EXTREMES(float64, 64, UINT64_C(0x7ff0000000000000),
         UINT64_C(0x7ff8000000000000))

xyl_kernel_fn xyl_binned_extreme(xylem_op_t op, xylem_type_t type)
{
    static const xyl_kernel_fn extremes[XYLEM_TYPE_COUNT][2] = {
        [XYLEM_FLOAT16] = {min_float16, max_float16},
        [XYLEM_BFLOAT16] = {min_bfloat16, max_bfloat16},
        [XYLEM_FLOAT32] = {min_float32, max_float32},
        [XYLEM_FLOAT64] = {min_float64, max_float64}};

    if ((op != XYLEM_MIN && op != XYLEM_MAX) || type >= XYLEM_TYPE_COUNT)
        return NULL;
    return extremes[type][op == XYLEM_MAX];
}
