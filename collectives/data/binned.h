/* Sums of floating-point numbers whose bits depend on nothing but the numbers:
 * neither on their order, nor on which of them are added first.
 *
 * A number is cut into digits at fixed powers of two, and digits of the same
 * power are added as integers, which is exact. A sum keeps the digits of the
 * three highest powers that any of its numbers reaches, and the number of the
 * highest (its index). Lower bits of its numbers are cut off. After Demmel and
 * Nguyen, 2013 and 2015, and Ahrens, Demmel and Nguyen, 2020, with integers in
 * the place of floating-point bins. docs/reproducible.md has the sizes, the
 * bounds, and what becomes of NaNs, infinities and zeros.
 *
 * Numbers of 16 bits are added as float32; the result is rounded to float32,
 * and then to 16 bits. Complex numbers are two sums.
 *
 * Constant; any thread. */
#pragma once

#include "collectives/data/op.h"

enum { XYL_BINNED_NUMBERS_MAX = 1 << 16 /* in a sum */ };

/* The combiners by which an executor works with sums of a type. Operands are
 * sums and elements in rows. */
typedef struct xyl_binned {
    size_t bytes;           /* of a sum; 0: there are none of this type */
    size_t element_bytes;   /* of the type */
    uint32_t numbers;       /* that a sum may have, at most */
    xyl_combiner_t deposit; /* sums = elements at `left` */
    xyl_combiner_t add;     /* sums = sums at `left` + elements at `right` */
    xyl_combiner_t add_two; /* sums = elements + elements */
    xyl_combiner_t merge;   /* sums = sums + sums */
    xyl_combiner_t value;   /* elements = results of sums at `left` */
    /* These write elements, the results of sums. Elements may begin where the
     * sums do. */
    xyl_combiner_t collect;     /* elements at `left` + sums at `right` */
    xyl_combiner_t collect_two; /* elements + elements */
    xyl_combiner_t total;       /* sums + sums */
} xyl_binned_t;

/* Finds the smallest sums that may have `numbers` numbers, with combiners of
 * the machine's newest instructions up to `isa`. A result's bits depend neither
 * on the size of the sums nor on the instructions. NULL: there are no such
 * sums. */
const xyl_binned_t *xyl_binned_find(xylem_op_t op, xylem_type_t type,
                                    uint32_t numbers, xyl_isa_t isa);

/* Kernels of XYLEM_MIN and XYLEM_MAX for any order: a NaN makes a NaN, the same
 * one always, and -0 is less than +0. NULL: not of this type. */
xyl_kernel_fn xyl_binned_extreme(xylem_op_t op, xylem_type_t type);

/* The table that binned_kernels.c defines, per format, size and instruction
 * set. */
typedef xyl_binned_t xyl_binned_table_t[XYLEM_TYPE_COUNT];

/* The bytes of elements that `at` bytes of sums stand for. */
static inline uint64_t xyl_binned_elements(const xyl_binned_t *binned,
                                           uint64_t at)
{
    return at / binned->bytes * binned->element_bytes;
}
