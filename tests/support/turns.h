/* Interleavings by chance: of several actors, each a thread, one runs at a
 * time; before each access to shared memory chance decides which goes on.
 * Without this, simultaneous accesses are rare and cannot be repeated. */
#pragma once

#include <stdint.h>

enum { TURNS_ACTORS_MAX = 32 };

/* Calls `act` on each actor, and returns when all calls have. Equal seeds take
 * equal turns. The actors' shared state needs no lock. */
void turns_run(uint32_t actors, uint64_t seed, void (*act)(uint32_t self));

/* Before an access: someone else may go first. 0, so that it fits into an
 * expression; does nothing in threads that are no actors. */
int turns_pass(void);

/* Chance, of the same seed; `limit` is not 0. For actors. */
uint32_t turns_below(uint32_t limit);
