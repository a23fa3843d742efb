/* Algorithms for cases of tests/support/call_case.h, from the library's table.
 */
#pragma once

#include "tests/support/call_case.h"

/* Draws an algorithm that fits the case, with or without a radix, or a tree's
 * shape, or none. */
void call_algorithm_draw(uint64_t *random, call_case_t *c);
