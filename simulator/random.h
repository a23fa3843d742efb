/* Random numbers for simulations and tests: equal seeds give equal sequences
 * everywhere (splitmix64). */
#pragma once

#include <stdint.h>

/* One step of mixing; also serves as a hash of `value`. */
static inline uint64_t random_mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static inline uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(*state);
}

/* 0 ... limit - 1; limit is not 0. */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

/* first ... last */
static inline uint32_t random_between(uint64_t *state, uint32_t first,
                                      uint32_t last)
{
    return first + random_below(state, last - first + 1);
}
