/* The C library's memory with an allocation that fails; of programs that
 * tests/meson.build links so. */
#pragma once

#include <stdint.h>

/* Which one fails, counted down; 0: none, or it has failed. One thread's. */
extern uint64_t allocations_to_failure;
