/* Algorithms for cases of tests/support/any_case.h, from the library's table.
 */
#ifndef XYL_TESTS_ANY_ALGORITHM_H
#define XYL_TESTS_ANY_ALGORITHM_H

#include "tests/support/any_case.h"

/* Draws an algorithm, with or without a radix, a tree's shape or nothing, of
 * what fits the case. */
void any_algorithm_draw(uint64_t *random, any_case_t *c);

#endif
