/* Algorithms for cases of tests/support/call_case.h, from the library's table.
 */
#ifndef XYL_TESTS_SUPPORT_CALL_ALGORITHM_H
#define XYL_TESTS_SUPPORT_CALL_ALGORITHM_H

#include "tests/support/call_case.h"

/* Draws an algorithm that fits the case, with or without a radix, or a tree's
 * shape, or none. */
void call_algorithm_draw(uint64_t *random, call_case_t *c);

#endif
