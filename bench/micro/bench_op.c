/* The speed of the reduction kernels beside a memcpy of as many bytes. A round
 * measures the memcpy and every instruction set one after the other, so that a
 * disturbance hits all of them; medians over the rounds are printed. One
 * thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "collectives/data/binned.h"
#include "collectives/data/kernels.h"
#include "collectives/data/op.h"
#include "runtime/base/clock.h"

enum {
    ROUNDS = 15,
    BUFFER_ALIGN = 4096,
    KIB_MAX = 16384,
    BINNED_KIB_MAX = KIB_MAX / 8, /* sums of float16 take 6 times as much */
    WAYS = XYL_ISA_AVX512 + 2,    /* every instruction set, and memcpy */
    WAY_MEMCPY = WAYS - 1
};

typedef struct settings {
    unsigned all_kib, binned_kib; /* 0: not asked for */
} settings_t;

static const struct cli_option options[] = {
    {"all", 0, CLI_COUNT, offsetof(settings_t, all_kib), 64, KIB_MAX, "KIB",
     "all kernels, on operands of so many KiB"},
    {"binned", 0, CLI_COUNT, offsetof(settings_t, binned_kib), 64,
     BINNED_KIB_MAX, "KIB",
     "sums in the reproducible order, of so many KiB of numbers"},
};

static const struct cli cli = {
    .program = "bench_op",
    .usage = "[options]",
    .summary =
        "Times the sum kernels of float32, float64, int32, float16 and "
        "bfloat16 for\nevery instruction set of this machine, on operands of "
        "64 KiB (in cache) and\n16 MiB each; or all kernels; or those of the "
        "reproducible order.\n\n"
        "  apart     the result goes to a third buffer\n"
        "  in place  the result replaces the left operand\n"
        "  GB/s      bytes of results per nanosecond, the median of 15 rounds\n"
        "  ratio     that of the kernel over that of a memcpy of as many bytes,"
        "\n            taken in each round, the median\n"
        "  us/256K   microseconds that 256 KiB of results take at that rate\n"
        "With --binned: nanoseconds per number, by sums for few and for many "
        "numbers,\nand the ratio of the newest instructions to the plain sum "
        "kernel.",
    .options = options,
    .options_count = sizeof options / sizeof options[0]};

typedef struct buffers {
    unsigned char *left;
    unsigned char *right;
    unsigned char *result;
} buffers_t;

typedef struct workload {
    xylem_op_t op;
    xylem_type_t type;
    size_t bytes;
    int in_place;
    size_t measured_bytes; /* of results, in as many calls as it takes */
} workload_t;

/* Medians over the rounds; 0: there is none. */
typedef struct figures {
    double rates[WAYS], ratios[WAYS];
} figures_t;

/* ---- operands ---- */

/* Values without pattern, so that no branch is foretold, that neither overflow
 * nor become subnormal. */
#define VALUE_RAW(c_type)     ((c_type)random)
#define VALUE_INTEGER(c_type) ((c_type)random)
#define VALUE_REAL(c_type)    ((c_type)1 + (c_type)(random >> 8) / 16777216)
#define VALUE_COMPLEX(c_type) ((c_type){1.0f + (float)(random & 255), 0.5f})
#define VALUE_LOGICAL(c_type) ((c_type)(random >> 31))
#define VALUE_PAIR(c_type)                                                     \
    ((c_type){(int16_t)(random >> 17), (int)(random & 255)})
#define VALUE_FLOAT16(c_type)  ((c_type)(0x3c00 | (random >> 22)))
#define VALUE_BFLOAT16(c_type) ((c_type)(0x3f80 | (random >> 25)))

#define FILL(enumerator, name, class, c_type)                                  \
    static void fill_##name(void *elements, size_t count, uint32_t random)     \
    {                                                                          \
        size_t i;                                                              \
                                                                               \
        for (i = 0; i < count; i++) {                                          \
            random = random * UINT32_C(1664525) + UINT32_C(1013904223);        \
            ((c_type *)elements)[i] = VALUE_##class(c_type);                   \
        }                                                                      \
    }
XYL_TYPE_MAP(FILL)

#define FILL_ENTRY(enumerator, name, class, c_type)                            \
    [XYLEM_##enumerator] = fill_##name,
static void (*const fills[XYLEM_TYPE_COUNT])(void *elements, size_t count,
                                             uint32_t random) = {
    XYL_TYPE_MAP(FILL_ENTRY)};

/* ---- measuring ---- */

static double rate(const workload_t *load, const buffers_t *buffers, int way)
{
    const xyl_clock_t *clock = xyl_clock_system();
    size_t count = load->bytes / xylem_type_bytes(load->type);
    size_t calls = load->measured_bytes / load->bytes, i;
    void *result = load->in_place ? buffers->left : buffers->result;
    xyl_kernel_fn kernel = NULL;
    uint64_t start_ns;

    if (way != WAY_MEMCPY)
        kernel = xyl_kernel_find(load->op, load->type, (xyl_isa_t)way);
    start_ns = xyl_clock_now(clock);
    for (i = 0; i < calls; i++)
        if (kernel != NULL)
            kernel(result, buffers->left, buffers->right, count);
        else
            memcpy(buffers->result, buffers->right, load->bytes);
    return (double)(calls * load->bytes) /
           (double)(xyl_clock_now(clock) - start_ns);
}

static int double_order(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;

    return (l > r) - (l < r);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof(values[0]), double_order);
    return values[ROUNDS / 2];
}

static void measure(const workload_t *load, const buffers_t *buffers,
                    figures_t *figures)
{
    double rates[WAYS][ROUNDS], ratios[WAYS][ROUNDS];
    int best = (int)xyl_isa_best(), way, round;

    memset(figures, 0, sizeof *figures);
    for (way = 0; way < WAYS; way++)
        if (way <= best || way == WAY_MEMCPY)
            rate(load, buffers, way); /* warms up */
    for (round = 0; round < ROUNDS; round++) {
        double copied = rate(load, buffers, WAY_MEMCPY);
        rates[WAY_MEMCPY][round] = copied;
        ratios[WAY_MEMCPY][round] = 1.0;
        for (way = 0; way <= best; way++) {
            rates[way][round] = rate(load, buffers, way);
            ratios[way][round] = rates[way][round] / copied;
        }
    }
    for (way = 0; way < WAYS; way++)
        if (way <= best || way == WAY_MEMCPY) {
            figures->rates[way] = median(rates[way]);
            figures->ratios[way] = median(ratios[way]);
        }
}

/* ---- the tables ---- */

static void print_sum(const workload_t *load, const buffers_t *buffers)
{
    static const char *const names[WAYS] = {"base", "avx2", "avx512", "memcpy"};
    figures_t figures;
    int way;

    /* Values that do not grow, however often the sum is repeated in place. */
    memset(buffers->left, 0, load->bytes);
    memset(buffers->right, 0, load->bytes);
    memset(buffers->result, 0, load->bytes);
    measure(load, buffers, &figures);
    for (way = 0; way < WAYS; way++)
        if (figures.rates[way] > 0.0)
            printf("%-8s %6zu KiB  %-8s  %-6s %8.2f %7.2f\n",
                   xylem_type_name(load->type), load->bytes >> 10,
                   load->in_place ? "in place" : "apart", names[way],
                   figures.rates[way], figures.ratios[way]);
}

static void print_sums(const buffers_t *buffers)
{
    static const xylem_type_t types[] = {XYLEM_FLOAT32, XYLEM_FLOAT64,
                                         XYLEM_INT32, XYLEM_FLOAT16,
                                         XYLEM_BFLOAT16};
    static const size_t sizes[] = {(size_t)64 << 10, (size_t)16 << 20};
    size_t type, size;
    int in_place;

    printf("%-8s %10s  %-8s  %-6s %8s %7s\n", "type", "operand", "result",
           "kernel", "GB/s", "ratio");
    for (type = 0; type < sizeof(types) / sizeof(types[0]); type++)
        for (size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++)
            for (in_place = 0; in_place < 2; in_place++)
                print_sum(&(workload_t){XYLEM_SUM, types[type], sizes[size],
                                        in_place, (size_t)64 << 20},
                          buffers);
}

static void print_kernel(const workload_t *load, const buffers_t *buffers)
{
    size_t count = load->bytes / xylem_type_bytes(load->type);
    int best = (int)xyl_isa_best(), way;
    figures_t figures;

    fills[load->type](buffers->left, count, 1);
    fills[load->type](buffers->right, count, 2);
    measure(load, buffers, &figures);
    printf("%-20s %-6s", xylem_type_name(load->type), xylem_op_name(load->op));
    for (way = 0; way < WAY_MEMCPY; way++)
        if (way <= best)
            printf(" %7.2f", figures.ratios[way]);
        else
            printf(" %7s", "-");
    printf(" %8.2f %8.1f\n", figures.rates[best],
           262144.0 / figures.rates[best] / 1000.0);
}

static void print_all(const buffers_t *buffers, size_t bytes)
{
    size_t measured_bytes = bytes > (size_t)4 << 20 ? bytes : (size_t)4 << 20;
    xylem_type_t type;
    xylem_op_t op;

    printf("%-20s %-6s %7s %7s %7s %8s %8s\n", "type", "op", "base", "avx2",
           "avx512", "GB/s", "us/256K");
    for (type = 0; type < XYLEM_TYPE_COUNT; type++)
        for (op = 0; op < XYLEM_OP_COUNT; op++)
            if (xyl_kernel_find(op, type, XYL_ISA_BASE) != NULL)
                print_kernel(&(workload_t){op, type, bytes, 0, measured_bytes},
                             buffers);
}

/* ---- sums in the reproducible order ---- */

/* The operands and results of a kernel. */
typedef enum role { SUMS, MORE_SUMS, NUMBERS, MORE_NUMBERS } role_t;

typedef struct binned_way {
    const char *name;
    size_t at; /* of the combiner, in xyl_binned_t */
    role_t to, left, right;
} binned_way_t;

#define WAY(name, to, left, right)                                             \
#name, offsetof(xyl_binned_t, name), to, left, right
static const binned_way_t binned_ways[] = {
    {WAY(deposit, SUMS, NUMBERS, NUMBERS)},
    {WAY(add, SUMS, SUMS, NUMBERS)},
    {WAY(add_two, SUMS, NUMBERS, MORE_NUMBERS)},
    {WAY(merge, SUMS, SUMS, MORE_SUMS)},
    {WAY(value, NUMBERS, SUMS, SUMS)},
    {WAY(collect, MORE_NUMBERS, NUMBERS, SUMS)},
    {WAY(collect_two, SUMS, NUMBERS, MORE_NUMBERS)},
    {WAY(total, NUMBERS, SUMS, MORE_SUMS)}};

static void *role_address(const buffers_t *buffers, role_t role)
{
    unsigned char *const of[] = {[SUMS] = buffers->result,
                                 [MORE_SUMS] = buffers->left,
                                 [NUMBERS] = buffers->right,
                                 [MORE_NUMBERS] = buffers->right +
                                                  (size_t)(KIB_MAX / 2) * 1024};

    return of[role];
}

/* Nanoseconds per number. */
static double binned_ns(xyl_kernel_fn kernel, const buffers_t *buffers,
                        const binned_way_t *way, size_t count)
{
    const xyl_clock_t *clock = xyl_clock_system();
    size_t calls = ((size_t)1 << 18) / count + 1, round, i;
    double ns[ROUNDS];

    for (round = 0; round < ROUNDS; round++) {
        uint64_t start_ns = xyl_clock_now(clock);
        for (i = 0; i < calls; i++)
            kernel(role_address(buffers, way->to),
                   role_address(buffers, way->left),
                   role_address(buffers, way->right), count);
        ns[round] =
            (double)(xyl_clock_now(clock) - start_ns) / (double)(calls * count);
    }
    return median(ns);
}

static void fill_numbers(const buffers_t *buffers, xylem_type_t type,
                         const xyl_binned_t *binned, size_t count)
{
    fills[type](role_address(buffers, NUMBERS), count, 1);
    fills[type](role_address(buffers, MORE_NUMBERS), count, 2);
    binned->deposit.kernel(role_address(buffers, SUMS),
                           role_address(buffers, NUMBERS), NULL, count);
    binned->deposit.kernel(role_address(buffers, MORE_SUMS),
                           role_address(buffers, MORE_NUMBERS), NULL, count);
}

/* Sums zeros, which stay zeros. */
static double plain_ns(const buffers_t *buffers, xylem_type_t type,
                       size_t count)
{
    const binned_way_t plain = {"sum", 0, NUMBERS, NUMBERS, MORE_NUMBERS};
    size_t bytes = count * xylem_type_bytes(type);

    memset(role_address(buffers, NUMBERS), 0, bytes);
    memset(role_address(buffers, MORE_NUMBERS), 0, bytes);
    return binned_ns(xyl_kernel_find(XYLEM_SUM, type, xyl_isa_best()), buffers,
                     &plain, count);
}

static void print_binned(xylem_type_t type, uint32_t numbers,
                         const buffers_t *buffers, size_t count)
{
    double ns = 0, plain = plain_ns(buffers, type, count);
    static const xyl_isa_t isas[] = {XYL_ISA_BASE, XYL_ISA_AVX2,
                                     XYL_ISA_AVX512};
    size_t i, isa;

    for (i = 0; i < sizeof binned_ways / sizeof binned_ways[0]; i++) {
        const binned_way_t *way = &binned_ways[i];
        const xyl_binned_t *binned =
            xyl_binned_find(XYLEM_SUM, type, numbers, XYL_ISA_BASE);
        fill_numbers(buffers, type, binned, count);
        printf("%-16s %5zu %-12s", xylem_type_name(type), binned->bytes,
               way->name);
        for (isa = 0; isa < sizeof isas / sizeof isas[0]; isa++) {
            if (isas[isa] > xyl_isa_best()) {
                printf(" %7s", "-");
                continue;
            }
            binned = xyl_binned_find(XYLEM_SUM, type, numbers, isas[isa]);
            ns = binned_ns(
                ((const xyl_combiner_t *)(const void *)((const char *)binned +
                                                        way->at))
                    ->kernel,
                buffers, way, count);
            printf(" %7.3f", ns);
        }
        printf(" %7.3f %7.2f\n", plain, ns / plain);
    }
}

static void print_all_binned(const buffers_t *buffers, size_t bytes)
{
    static const uint32_t numbers[] = {2, XYL_BINNED_NUMBERS_MAX};
    xylem_type_t type;
    size_t i;

    printf("%-16s %5s %-12s %7s %7s %7s %7s %7s\n", "type", "bytes", "kernel",
           "base", "avx2", "avx512", "sum", "ratio");
    for (type = 0; type < XYLEM_TYPE_COUNT; type++)
        for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
            if (xyl_binned_find(XYLEM_SUM, type, numbers[i], XYL_ISA_BASE) !=
                NULL)
                print_binned(type, numbers[i], buffers,
                             bytes / xylem_type_bytes(type));
}

int main(int argc, char **argv)
{
    buffers_t buffers = {NULL, NULL, NULL};
    size_t bytes = (size_t)KIB_MAX << 10;
    settings_t wanted = {0, 0};
    enum cli_result parsed = cli_parse(&cli, argc, argv, &wanted);
    int result = EXIT_FAILURE;

    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    buffers.left = aligned_alloc(BUFFER_ALIGN, bytes);
    buffers.right = aligned_alloc(BUFFER_ALIGN, bytes);
    buffers.result = aligned_alloc(BUFFER_ALIGN, bytes);
    if (buffers.left == NULL || buffers.right == NULL ||
        buffers.result == NULL) {
        fputs("bench_op: out of memory\n", stderr);
        goto free_buffers;
    }
    if (wanted.all_kib != 0)
        print_all(&buffers, (size_t)wanted.all_kib << 10);
    else if (wanted.binned_kib != 0)
        print_all_binned(&buffers, (size_t)wanted.binned_kib << 10);
    else
        print_sums(&buffers);
    result = EXIT_SUCCESS;

free_buffers:
    free(buffers.result);
    free(buffers.right);
    free(buffers.left);
    return result;
}
