/* A random graph of ranks by formula, so that each rank knows its own edges and
 * those of others. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "simulator/random.h"

enum { CALL_NEIGHBOR_TIMES = 3 /* at most, that a rank is named */ };

/* How long a list may be. */
static inline size_t call_neighbors_most(uint32_t ranks)
{
    return (size_t)ranks * (CALL_NEIGHBOR_TIMES + 1);
}

/* How often `rank` names `peer` in one of its lists. Of all pairs, also of a
 * rank with itself, some are edges, and some edges are named several times. */
static inline uint32_t call_neighbors_times(uint64_t salt, uint32_t rank,
                                            uint32_t peer, int is_source)
{
    uint64_t from = is_source ? peer : rank, to = is_source ? rank : peer;
    uint64_t edge = random_mix(salt ^ from << 40 ^ to << 20 ^ 5);
    uint64_t often = random_mix(edge + 1 + (uint64_t)is_source);

    if (edge % (1 + salt % 5) != 0)
        return 0;
    return often % 4 != 0 ? 1 : 1 + (uint32_t)(often / 4 % CALL_NEIGHBOR_TIMES);
}

/* Fills in a list, from some rank on and round the last, sometimes with
 * UINT32_MAX (no rank). Returns its length. */
static inline uint32_t call_neighbors(uint64_t salt, uint32_t ranks,
                                      uint32_t rank, int is_source,
                                      uint32_t *list)
{
    uint64_t own =
        random_mix(salt ^ (uint64_t)rank << 32 ^ (uint64_t)is_source << 60);
    uint32_t count = 0, i, peer, times;

    for (i = 0; i < ranks; i++) {
        peer = (uint32_t)((own + i) % ranks);
        if ((own >> 8 ^ i) % 7 == 0)
            list[count++] = UINT32_MAX;
        times = call_neighbors_times(salt, rank, peer, is_source);
        for (; times > 0; times--)
            list[count++] = peer;
    }
    return count;
}
