/* Element types and reduction operations: sizes, combinations that exist, and
 * the kernels that combine two operands. Kernels are built once per
 * instruction set (baseline, AVX2, AVX-512) and chosen at run time. Everything
 * here is constant; any thread may call any function. */
#pragma once

#include "include/xylem.h"
#include "progress/exec/exec.h"

/* From the oldest to the newest. */
typedef enum xyl_isa { XYL_ISA_BASE, XYL_ISA_AVX2, XYL_ISA_AVX512 } xyl_isa_t;
xyl_isa_t xyl_isa_best(void); /* of this machine */

/* The kernel for a predefined operation on a predefined type; NULL when the
 * operation is not defined on the type. It uses no newer instructions than
 * `isa` and none that this machine lacks. Results do not depend on `isa`,
 * except for the sign and payload of a NaN out of SUM and PROD. */
xyl_kernel_fn xyl_kernel_find(xylem_op_t op, xylem_type_t type, xyl_isa_t isa);

/* 1 when a predefined operation gives the same bits in whatever order
 * contributions are combined. MIN and MAX of floating-point numbers do not,
 * because of NaNs and the signs of zeros; pairs do not, because of the bits in
 * their gaps. */
int xyl_op_is_orderless(xylem_op_t op, xylem_type_t type);
