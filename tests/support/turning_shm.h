/* The shared memory of plain_shm.h for interleavings: another actor may have
 * its turn before every look at it, and before every store and swap. */
#pragma once

#include "tests/support/plain_shm.h"
#include "tests/support/turns.h"

static inline uint64_t turning_get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    (void)turns_pass();
    return plain_get(shm, flag);
}

static inline void turning_set(xyl_shm_t *shm, _Atomic uint64_t *flag,
                               uint64_t value, const uint32_t *readers,
                               uint32_t count)
{
    (void)turns_pass();
    plain_set(shm, flag, value, readers, count);
}

static inline int turning_swap(xyl_shm_t *shm, _Atomic uint64_t *word,
                               uint64_t *expected, uint64_t value)
{
    (void)turns_pass();
    return plain_swap(shm, word, expected, value);
}

static const xyl_shm_ops_t turning_ops = {
    .name = "turning",
    .attach = plain_attach,
    .detach = plain_detach,
    .set = turning_set,
    .get = turning_get,
    .swap = turning_swap,
};
