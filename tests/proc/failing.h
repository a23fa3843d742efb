/* The N-th call of what may fail, fails: allocations, and calls of the system
 * and of the libraries that the library itself makes. The linker puts the
 * functions of failing.c in between (--wrap), so that it works under the
 * sanitizers, too; what UCX and PMIx call among themselves is not meant. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* From now on the nth call fails, counted from 1; 0: none. Calls of any of the
 * functions, or of the one with that name; with `bytes`, only those that ask
 * for at least so much memory. With `tells` its stack goes to standard error.
 */
void failing_arm(uint64_t nth, const char *only, size_t bytes, int tells);
/* How many calls there have been. */
uint64_t failing_calls(void);
/* The function that has failed; NULL: not yet. */
const char *failing_name(void);
/* What this thread calls does not count, until it does again. */
void failing_pause(void);
void failing_resume(void);
