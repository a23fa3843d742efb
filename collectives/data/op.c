/* Types and operations as tables: what is not in a table does not exist. */
#include "collectives/data/op.h"

#include <complex.h>

#include "collectives/data/kernels.h"

#if defined(XYL_KERNELS_X86) && defined(__clang__)
#include <cpuid.h>
#endif

/* Set in every XYLEM_TYPE_BLOCK; the other bits are the bytes. */
static const xylem_type_t block_bit = UINT32_C(0x80000000);

/* The users' types and those of the kernels are laid out alike. */
_Static_assert(sizeof(xyl_complex_float32_t) == sizeof(float complex) &&
                   sizeof(xyl_complex_float64_t) == sizeof(double complex) &&
                   sizeof(xyl_complex_long_double_t) ==
                       sizeof(long double complex),
               "complex numbers are two values in a row");
_Static_assert(sizeof(_Bool) == 1, "XYLEM_BOOL is read as bytes");

size_t xylem_type_bytes(xylem_type_t type)
{
#define TYPE_BYTES(enumerator, name, class, c_type)                            \
    [XYLEM_##enumerator] = sizeof(c_type),
    static const size_t bytes[XYLEM_TYPE_COUNT] = {XYL_TYPE_MAP(TYPE_BYTES)};
#undef TYPE_BYTES

    if ((type & block_bit) != 0)
        return type & ~block_bit;
    return type < XYLEM_TYPE_COUNT ? bytes[type] : 0;
}

const char *xylem_type_name(xylem_type_t type)
{
#define TYPE_NAME(enumerator, name, class, c_type) [XYLEM_##enumerator] = #name,
    static const char *const names[XYLEM_TYPE_COUNT] = {
        XYL_TYPE_MAP(TYPE_NAME)};
#undef TYPE_NAME

    if (xylem_type_bytes(type) == 0)
        return NULL;
    return type < XYLEM_TYPE_COUNT ? names[type] : "block";
}

const char *xylem_op_name(xylem_op_t op)
{
    static const char *const names[XYLEM_OP_COUNT] = {
        [XYLEM_SUM] = "sum",       [XYLEM_PROD] = "prod",
        [XYLEM_MIN] = "min",       [XYLEM_MAX] = "max",
        [XYLEM_LAND] = "land",     [XYLEM_LOR] = "lor",
        [XYLEM_LXOR] = "lxor",     [XYLEM_BAND] = "band",
        [XYLEM_BOR] = "bor",       [XYLEM_BXOR] = "bxor",
        [XYLEM_MINLOC] = "minloc", [XYLEM_MAXLOC] = "maxloc"};

    return op < XYLEM_OP_COUNT ? names[op] : NULL;
}

int xyl_op_is_orderless(xylem_op_t op, xylem_type_t type)
{
    /* Whether all operations on a class of types are exact. */
    enum {
        EXACT_RAW = 1,
        EXACT_INTEGER = 1,
        EXACT_LOGICAL = 1,
        EXACT_REAL = 0,
        EXACT_COMPLEX = 0,
        EXACT_PAIR = 0,
        EXACT_FLOAT16 = 0,
        EXACT_BFLOAT16 = 0
    };
#define IS_EXACT(enumerator, name, class, c_type)                              \
    [XYLEM_##enumerator] = EXACT_##class,
    static const char is_exact[XYLEM_TYPE_COUNT] = {XYL_TYPE_MAP(IS_EXACT)};
#undef IS_EXACT

    return op < XYLEM_OP_COUNT && type < XYLEM_TYPE_COUNT && is_exact[type];
}

#ifdef XYL_KERNELS_X86
/* Conversions of binary16. Every processor with AVX2 has them, but a virtual
 * machine may hide them. clang 14 has no name for them. */
static int has_f16c(void)
{
#ifdef __clang__
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
#else
    return __builtin_cpu_supports("f16c") != 0;
#endif
}
#endif

/* Both the processor and the operating system must support the instructions;
 * the builtin asks both. */
xyl_isa_t xyl_isa_best(void)
{
#ifdef XYL_KERNELS_X86
    if (!__builtin_cpu_supports("avx2") || !has_f16c())
        return XYL_ISA_BASE;
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return XYL_ISA_AVX512;
    return XYL_ISA_AVX2;
#else
    return XYL_ISA_BASE;
#endif
}

xyl_kernel_fn xyl_kernel_find(xylem_op_t op, xylem_type_t type, xyl_isa_t isa)
{
    static const xyl_kernel_table_t *const tables[] = {
        [XYL_ISA_BASE] = &xyl_kernels_base,
#ifdef XYL_KERNELS_X86
        [XYL_ISA_AVX2] = &xyl_kernels_avx2,
        [XYL_ISA_AVX512] = &xyl_kernels_avx512,
#endif
    };
    xyl_isa_t best = xyl_isa_best();

    if (op >= XYLEM_OP_COUNT || type >= XYLEM_TYPE_COUNT)
        return NULL;
    if (isa > best)
        isa = best;
    return (*tables[isa])[type][op];
}
