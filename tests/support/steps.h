/* How much work a function does, in instructions of this process: what a timed
 * test would like to know, without a clock. */
#ifndef XYL_TESTS_STEPS_H
#define XYL_TESTS_STEPS_H

#include <stdint.h>

/* Runs `fn` in a copy of the process, which ends with it, one instruction at a
 * time. Returns their number; 0: processes cannot be traced here. */
uint64_t steps_count(void (*fn)(void *arg), void *arg);

#endif
