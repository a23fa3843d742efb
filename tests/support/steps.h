/* The work of a function in instructions of this process: a measure for tests
 * that need no clock. */
#pragma once

#include <stdint.h>

/* Runs `fn` in a copy of the process, which ends with it, one instruction at a
 * time. Returns their number; 0: processes cannot be traced here. */
uint64_t steps_count(void (*fn)(void *arg), void *arg);
