/* Types and operations: names, sizes, which combinations exist, the choice of
 * the instruction set, and results that are worked out by hand. test_kernels.c
 * tests the results of every kernel in general. */
#include "collectives/data/op.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"

typedef struct int16_int {
    int16_t value;
    int index;
} int16_int_t;

typedef struct int64_int {
    int64_t value;
    int index;
} int64_int_t;

typedef struct float64_int {
    double value;
    int index;
} float64_int_t;

typedef struct long_double_int {
    long double value;
    int index;
} long_double_int_t;

/* Operations, each between spaces. */
#define OPS_BITS  " band bor bxor "
#define OPS_TRUTH " land lor lxor "
#define OPS_SUM   " sum prod "
#define OPS_REAL  OPS_SUM " min max "
#define OPS_INT   OPS_REAL OPS_TRUTH OPS_BITS
#define OPS_PAIR  " minloc maxloc "

static const struct wanted_type {
    xylem_type_t type;
    const char *name;
    size_t bytes;
    const char *ops;
} types[] = {
    {XYLEM_BYTE, "byte", 1, OPS_BITS},
    {XYLEM_INT8, "int8", 1, OPS_INT},
    {XYLEM_INT16, "int16", 2, OPS_INT},
    {XYLEM_INT32, "int32", 4, OPS_INT},
    {XYLEM_INT64, "int64", 8, OPS_INT},
    {XYLEM_UINT8, "uint8", 1, OPS_INT},
    {XYLEM_UINT16, "uint16", 2, OPS_INT},
    {XYLEM_UINT32, "uint32", 4, OPS_INT},
    {XYLEM_UINT64, "uint64", 8, OPS_INT},
    {XYLEM_FLOAT32, "float32", 4, OPS_REAL},
    {XYLEM_FLOAT64, "float64", 8, OPS_REAL},
    {XYLEM_LONG_DOUBLE, "long_double", sizeof(long double), OPS_REAL},
    {XYLEM_COMPLEX_FLOAT32, "complex_float32", 8, OPS_SUM},
    {XYLEM_COMPLEX_FLOAT64, "complex_float64", 16, OPS_SUM},
    {XYLEM_COMPLEX_LONG_DOUBLE, "complex_long_double",
     sizeof(long double complex), OPS_SUM},
    {XYLEM_BOOL, "bool", sizeof(_Bool), OPS_TRUTH},
    {XYLEM_PAIR_INT16_INT, "pair_int16_int", sizeof(int16_int_t), OPS_PAIR},
    {XYLEM_PAIR_INT32_INT, "pair_int32_int", 8, OPS_PAIR},
    {XYLEM_PAIR_INT64_INT, "pair_int64_int", sizeof(int64_int_t), OPS_PAIR},
    {XYLEM_PAIR_FLOAT32_INT, "pair_float32_int", 8, OPS_PAIR},
    {XYLEM_PAIR_FLOAT64_INT, "pair_float64_int", sizeof(float64_int_t),
     OPS_PAIR},
    {XYLEM_PAIR_LONG_DOUBLE_INT, "pair_long_double_int",
     sizeof(long_double_int_t), OPS_PAIR},
    {XYLEM_FLOAT16, "float16", 2, OPS_REAL},
    {XYLEM_BFLOAT16, "bfloat16", 2, OPS_REAL},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static const char *const op_names[] = {
    [XYLEM_SUM] = "sum",       [XYLEM_PROD] = "prod",
    [XYLEM_MIN] = "min",       [XYLEM_MAX] = "max",
    [XYLEM_LAND] = "land",     [XYLEM_LOR] = "lor",
    [XYLEM_LXOR] = "lxor",     [XYLEM_BAND] = "band",
    [XYLEM_BOR] = "bor",       [XYLEM_BXOR] = "bxor",
    [XYLEM_MINLOC] = "minloc", [XYLEM_MAXLOC] = "maxloc"};

static bool text_is(const char *got, const char *wanted)
{
    return got != NULL && strcmp(got, wanted) == 0;
}

static void test_types(void)
{
    size_t i;

    CHECK_EQ(TYPES, XYLEM_TYPE_COUNT);
    for (i = 0; i < TYPES; i++) {
        CHECK(text_is(xylem_type_name(types[i].type), types[i].name));
        CHECK_EQ(xylem_type_bytes(types[i].type), types[i].bytes);
    }
    CHECK(xylem_type_name(XYLEM_TYPE_COUNT) == NULL);
    CHECK_EQ(xylem_type_bytes(XYLEM_TYPE_COUNT), 0);
    CHECK_EQ(xylem_type_bytes(UINT32_C(0x7fffffff)), 0);
}

static void test_blocks(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 24, 4096, UINT32_C(0x7fffffff)};
    xylem_op_t op;
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        xylem_type_t block = XYLEM_TYPE_BLOCK(sizes[i]);
        CHECK_EQ(xylem_type_bytes(block), sizes[i]);
        CHECK(text_is(xylem_type_name(block), "block"));
        for (op = 0; op < XYLEM_OP_COUNT; op++)
            CHECK(xyl_kernel_find(op, block, XYL_ISA_BASE) == NULL);
    }
    CHECK_EQ(xylem_type_bytes(XYLEM_TYPE_BLOCK(0)), 0);
    CHECK(xylem_type_name(XYLEM_TYPE_BLOCK(0)) == NULL);
}

static void test_ops(void)
{
    xylem_op_t op;

    CHECK_EQ(sizeof(op_names) / sizeof(op_names[0]), XYLEM_OP_COUNT);
    for (op = 0; op < XYLEM_OP_COUNT; op++)
        CHECK(text_is(xylem_op_name(op), op_names[op]));
    CHECK(xylem_op_name(XYLEM_OP_COUNT) == NULL);
    CHECK(xylem_op_name(UINT32_MAX) == NULL);
}

static bool listed(const char *ops, xylem_op_t op)
{
    char word[16];

    snprintf(word, sizeof(word), " %s ", op_names[op]);
    return strstr(ops, word) != NULL;
}

static void test_combinations(void)
{
    char what[128];
    xyl_isa_t isa;
    xylem_op_t op;
    size_t i;

    for (isa = XYL_ISA_BASE; isa <= XYL_ISA_AVX512; isa++) {
        for (i = 0; i < TYPES; i++)
            for (op = 0; op < XYLEM_OP_COUNT; op++) {
                bool found = xyl_kernel_find(op, types[i].type, isa) != NULL;
                if (found == listed(types[i].ops, op))
                    continue;
                snprintf(what, sizeof(what), "%s of %s is %s", op_names[op],
                         types[i].name, found ? "defined" : "missing");
                check_failed(__FILE__, __LINE__, what);
            }
        CHECK(xyl_kernel_find(XYLEM_OP_COUNT, XYLEM_INT32, isa) == NULL);
        CHECK(xyl_kernel_find(UINT32_MAX, XYLEM_INT32, isa) == NULL);
        CHECK(xyl_kernel_find(XYLEM_SUM, XYLEM_TYPE_COUNT, isa) == NULL);
    }
}

static xyl_kernel_fn sum_of(xyl_isa_t isa)
{
    return xyl_kernel_find(XYLEM_SUM, XYLEM_FLOAT32, isa);
}

/* Each instruction set has kernels of its own; kernels of a set that the
 * machine lacks are never handed out. */
static void test_isas(void)
{
    xyl_isa_t best = xyl_isa_best(), isa;

    for (isa = XYL_ISA_AVX2; isa <= XYL_ISA_AVX512; isa++)
        if (isa <= best)
            CHECK(sum_of(isa) != sum_of(isa - 1));
        else
            CHECK(sum_of(isa) == sum_of(best));
}

/* The result of one element, from the best kernels. */
static void one(xylem_op_t op, xylem_type_t type, void *result,
                const void *left, const void *right)
{
    xyl_kernel_find(op, type, xyl_isa_best())(result, left, right, 1);
}

static void test_integers(void)
{
    int8_t byte = 0;
    int64_t wide = 0;
    uint16_t word = 0;

    one(XYLEM_SUM, XYLEM_INT8, &byte, &(int8_t){127}, &(int8_t){1});
    CHECK_EQ(byte, -128);
    one(XYLEM_PROD, XYLEM_INT64, &wide, &(int64_t){INT64_MIN}, &(int64_t){-1});
    CHECK_EQ(wide, INT64_MIN);
    one(XYLEM_PROD, XYLEM_UINT16, &word, &(uint16_t){65535},
        &(uint16_t){65535});
    CHECK_EQ(word, 1);
    one(XYLEM_MIN, XYLEM_INT8, &byte, &(int8_t){-1}, &(int8_t){1});
    CHECK_EQ(byte, -1);
    one(XYLEM_MAX, XYLEM_UINT16, &word, &(uint16_t){65535}, &(uint16_t){1});
    CHECK_EQ(word, 65535);
    one(XYLEM_LAND, XYLEM_UINT16, &word, &(uint16_t){256}, &(uint16_t){1});
    CHECK_EQ(word, 1);
    one(XYLEM_LXOR, XYLEM_UINT16, &word, &(uint16_t){2}, &(uint16_t){4});
    CHECK_EQ(word, 0);
    one(XYLEM_BXOR, XYLEM_UINT16, &word, &(uint16_t){2}, &(uint16_t){6});
    CHECK_EQ(word, 4);
}

/* Operations that are said to need no order: for random bytes, a + (b + c) and
 * (c + a) + b have equal bits. */
static void check_orderless(xylem_op_t op, xylem_type_t type, uint64_t *random)
{
    enum { COUNT = 64 };
    xyl_kernel_fn kernel = xyl_kernel_find(op, type, xyl_isa_best());
    _Alignas(64) char of[3][COUNT * 16], left[COUNT * 16], right[COUNT * 16];
    size_t bytes = COUNT * xylem_type_bytes(type), i;

    for (i = 0; i < 3 * bytes; i++)
        of[i / bytes][i % bytes] = (char)random_below(random, 256);
    kernel(right, of[1], of[2], COUNT);
    kernel(right, of[0], right, COUNT);
    kernel(left, of[2], of[0], COUNT);
    kernel(left, left, of[1], COUNT);
    CHECK(memcmp(left, right, bytes) == 0);
}

static void test_orderless(void)
{
    uint64_t random = random_mix(5);
    xylem_type_t type;
    xylem_op_t op;

    for (type = 0; type < XYLEM_TYPE_COUNT; type++)
        for (op = 0; op < XYLEM_OP_COUNT; op++)
            if (xyl_op_is_orderless(op, type) &&
                xyl_kernel_find(op, type, XYL_ISA_BASE) != NULL)
                check_orderless(op, type, &random);
    CHECK(xyl_op_is_orderless(XYLEM_SUM, XYLEM_INT64));
    CHECK(xyl_op_is_orderless(XYLEM_MIN, XYLEM_UINT8));
    CHECK(xyl_op_is_orderless(XYLEM_LXOR, XYLEM_BOOL));
    CHECK(xyl_op_is_orderless(XYLEM_BAND, XYLEM_BYTE));
    CHECK(!xyl_op_is_orderless(XYLEM_SUM, XYLEM_FLOAT64));
    CHECK(!xyl_op_is_orderless(XYLEM_MAX, XYLEM_FLOAT32));
    CHECK(!xyl_op_is_orderless(XYLEM_MINLOC, XYLEM_PAIR_INT32_INT));
    CHECK(!xyl_op_is_orderless(XYLEM_OP_COUNT, XYLEM_INT8));
    CHECK(!xyl_op_is_orderless(XYLEM_SUM, XYLEM_TYPE_BLOCK(8)));
}

static void test_reals(void)
{
    const float nan = (float)NAN;
    float real = 0.0f;

    one(XYLEM_MIN, XYLEM_FLOAT32, &real, &nan, &(float){1.0f});
    CHECK(real == 1.0f);
    one(XYLEM_MAX, XYLEM_FLOAT32, &real, &(float){1.0f}, &nan);
    CHECK(isnan(real));
    one(XYLEM_MIN, XYLEM_FLOAT32, &real, &(float){-0.0f}, &(float){0.0f});
    CHECK(real == 0.0f && !signbit(real));
}

/* 2049 lies in the middle of two numbers of binary16, of which 2048 is even;
 * so does 1 + 2^-8 of bfloat16, and 2 - 2^-8. */
static void test_halves(void)
{
    uint16_t half = 0;

    one(XYLEM_SUM, XYLEM_FLOAT16, &half, &(uint16_t){0x6800},
        &(uint16_t){0x3c00});
    CHECK_EQ(half, 0x6800);
    one(XYLEM_PROD, XYLEM_FLOAT16, &half, &(uint16_t){0x7800},
        &(uint16_t){0x4000});
    CHECK_EQ(half, 0x7c00);
    one(XYLEM_SUM, XYLEM_BFLOAT16, &half, &(uint16_t){0x3f80},
        &(uint16_t){0x3b80});
    CHECK_EQ(half, 0x3f80);
    one(XYLEM_SUM, XYLEM_BFLOAT16, &half, &(uint16_t){0x3fff},
        &(uint16_t){0x3b80});
    CHECK_EQ(half, 0x4000);
    one(XYLEM_MIN, XYLEM_BFLOAT16, &half, &(uint16_t){0x8000},
        &(uint16_t){0x0000});
    CHECK_EQ(half, 0);
}

/* A fused operation would keep the digits that rounding drops from 0.1 * 10. */
static void test_complex(void)
{
    double complex product = 0.0;

    one(XYLEM_PROD, XYLEM_COMPLEX_FLOAT64, &product,
        &(double complex){1.0 + 2.0 * I}, &(double complex){3.0 + 4.0 * I});
    CHECK(creal(product) == -5.0 && cimag(product) == 10.0);
    one(XYLEM_PROD, XYLEM_COMPLEX_FLOAT64, &product,
        &(double complex){0.1 + 1.0 * I}, &(double complex){10.0 + 1.0 * I});
    CHECK(creal(product) == 0.0);
}

static void test_pairs(void)
{
    const int64_int_t low = {-7, 9}, tie = {-7, 2}, high = {5, 1};
    const float64_int_t nan = {(double)NAN, 0}, number = {1.0, 3};
    int64_int_t whole = {0, 0};
    float64_int_t real = {0.0, 0};

    one(XYLEM_MINLOC, XYLEM_PAIR_INT64_INT, &whole, &low, &high);
    CHECK(whole.value == -7 && whole.index == 9);
    one(XYLEM_MAXLOC, XYLEM_PAIR_INT64_INT, &whole, &low, &high);
    CHECK(whole.value == 5 && whole.index == 1);
    one(XYLEM_MINLOC, XYLEM_PAIR_INT64_INT, &whole, &low, &tie);
    CHECK(whole.value == -7 && whole.index == 2);
    one(XYLEM_MAXLOC, XYLEM_PAIR_INT64_INT, &whole, &tie, &low);
    CHECK(whole.value == -7 && whole.index == 2);
    one(XYLEM_MINLOC, XYLEM_PAIR_FLOAT64_INT, &real, &nan, &number);
    CHECK(real.value == 1.0 && real.index == 3);
}

static const check_case_t cases[] = {
    {"op: names and sizes of types", test_types},
    {"op: blocks of opaque bytes", test_blocks},
    {"op: names of operations", test_ops},
    {"op: which operation is defined on which type", test_combinations},
    {"op: choice of the instruction set", test_isas},
    {"op: integers wrap around", test_integers},
    {"op: what needs no order is exact", test_orderless},
    {"op: NaNs and signed zeros", test_reals},
    {"op: 16-bit numbers round to even", test_halves},
    {"op: complex products are not fused", test_complex},
    {"op: ties go to the lower index", test_pairs},
};

CHECK_MAIN(cases)
