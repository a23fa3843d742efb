/* How fast the reduction kernels are beside a memcpy of as many bytes. A round
 * measures the memcpy and every instruction set one after the other, so that
 * what disturbs the machine disturbs all of them; the medians over the rounds
 * are printed. One thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/op.h"
#include "runtime/base/clock.h"

enum {
    ROUNDS = 15,
    BUFFER_ALIGN = 4096,
    WAYS = XYL_ISA_AVX512 + 2, /* every instruction set, and memcpy */
    WAY_MEMCPY = WAYS - 1
};

/* Bytes of results that one measurement produces, in as many calls as it
 * takes. */
static const size_t measured_bytes = (size_t)64 << 20;

static const char usage[] =
    "usage: bench_op [--help]\n"
    "\n"
    "Times the sum kernels of float32, float64 and int32 for every "
    "instruction\n"
    "set of this machine, on operands of 64 KiB (in cache) and 16 MiB each.\n"
    "\n"
    "  apart     the result goes to a third buffer\n"
    "  in place  the result replaces the left operand\n"
    "  GB/s      bytes of results per nanosecond, the median of 15 rounds\n"
    "  ratio     that of the kernel over that of a memcpy of as many bytes,\n"
    "            taken in each round, the median\n";

typedef struct buffers {
    unsigned char *left;
    unsigned char *right;
    unsigned char *result;
} buffers_t;

typedef struct workload {
    xylem_type_t type;
    size_t bytes;
    int in_place;
} workload_t;

static double rate(const workload_t *load, const buffers_t *buffers, int way)
{
    const xyl_clock_t *clock = xyl_clock_system();
    size_t count = load->bytes / xylem_type_bytes(load->type);
    size_t calls = measured_bytes / load->bytes, i;
    void *result = load->in_place ? buffers->left : buffers->result;
    xyl_kernel_fn kernel = NULL;
    uint64_t start_ns;

    if (way != WAY_MEMCPY)
        kernel = xyl_kernel_find(XYLEM_SUM, load->type, (xyl_isa_t)way);
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

static void measure(const workload_t *load, const buffers_t *buffers)
{
    static const char *const names[WAYS] = {"base", "avx2", "avx512", "memcpy"};
    double rates[WAYS][ROUNDS], ratios[WAYS][ROUNDS];
    int best = (int)xyl_isa_best(), way, round;

    /* Values that do not grow, however often the sum is repeated in place. */
    memset(buffers->left, 0, load->bytes);
    memset(buffers->right, 0, load->bytes);
    memset(buffers->result, 0, load->bytes);
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
        if (way <= best || way == WAY_MEMCPY)
            printf("%-8s %6zu KiB  %-8s  %-6s %8.2f %7.2f\n",
                   xyl_type_name(load->type), load->bytes >> 10,
                   load->in_place ? "in place" : "apart", names[way],
                   median(rates[way]), median(ratios[way]));
}

static void measure_all(const buffers_t *buffers, const size_t *sizes,
                        size_t size_count)
{
    static const xylem_type_t types[] = {XYLEM_FLOAT32, XYLEM_FLOAT64,
                                         XYLEM_INT32};
    size_t type, size;
    int in_place;

    printf("%-8s %10s  %-8s  %-6s %8s %7s\n", "type", "operand", "result",
           "kernel", "GB/s", "ratio");
    for (type = 0; type < sizeof(types) / sizeof(types[0]); type++)
        for (size = 0; size < size_count; size++)
            for (in_place = 0; in_place < 2; in_place++)
                measure(&(workload_t){types[type], sizes[size], in_place},
                        buffers);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {(size_t)64 << 10, (size_t)16 << 20};
    buffers_t buffers = {NULL, NULL, NULL};
    int result = EXIT_FAILURE;

    if (argc > 1) {
        int help = argc == 2 && strcmp(argv[1], "--help") == 0;
        fputs(usage, help ? stdout : stderr);
        return help ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    buffers.left = aligned_alloc(BUFFER_ALIGN, sizes[1]);
    buffers.right = aligned_alloc(BUFFER_ALIGN, sizes[1]);
    buffers.result = aligned_alloc(BUFFER_ALIGN, sizes[1]);
    if (buffers.left == NULL || buffers.right == NULL ||
        buffers.result == NULL) {
        fputs("bench_op: out of memory\n", stderr);
        goto free_buffers;
    }
    measure_all(&buffers, sizes, sizeof(sizes) / sizeof(sizes[0]));
    result = EXIT_SUCCESS;

free_buffers:
    free(buffers.result);
    free(buffers.right);
    free(buffers.left);
    return result;
}
