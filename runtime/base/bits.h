/* Sets of small numbers as arrays of 64-bit words. An array that is read with
 * xyl_bits_from has one word to spare. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline size_t xyl_bits_words(uint64_t count)
{
    return (size_t)(count / 64 + 2);
}

static inline int xyl_bits_test(const uint64_t *words, uint64_t index)
{
    return (int)(words[index / 64] >> (index % 64) & 1);
}

static inline void xyl_bits_set(uint64_t *words, uint64_t index)
{
    words[index / 64] |= UINT64_C(1) << (index % 64);
}

static inline void xyl_bits_clear(uint64_t *words, uint64_t index)
{
    words[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

/* Adds a number below `count` that is not in the set, and returns it; `count`:
 * all are in the set. The search begins at `first` and goes round. */
static inline uint64_t xyl_bits_take_from(uint64_t *words, uint64_t first,
                                          uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++) {
        uint64_t index = (first + i) % count;
        if ((words[index / 64] >> (index % 64) & 1) == 0) {
            xyl_bits_set(words, index);
            return index;
        }
    }
    return count;
}

/* The 64 bits from `index` on. */
static inline uint64_t xyl_bits_from(const uint64_t *words, uint64_t index)
{
    uint64_t low = words[index / 64] >> (index % 64);

    if (index % 64 == 0)
        return low;
    return low | words[index / 64 + 1] << (64 - index % 64);
}
