/* Where the bytes of elements with gaps lie: the facts of a layout that an
 * executor needs (collectives/data/layout.h explains packed bytes). A device's
 * kernels get copies of these structs and find places by the same functions.
 * Included by C and CUDA C++. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define XYL_ANYWHERE __host__ __device__
#else
#define XYL_ANYWHERE
#endif

enum { XYL_LAYOUT_LEVELS_MAX = 6 };

/* Pieces of equal length at equal distances. */
typedef struct xyl_block {
    int64_t offset;  /* of the first piece, from where the pattern begins */
    uint64_t bytes;  /* of a piece, at least 1 */
    uint64_t packed; /* packed bytes of the pattern before it */
    uint64_t repeat; /* pieces, at least 1 */
    int64_t stride;  /* from one piece to the next; 0 for a single one */
} xyl_block_t;

typedef struct xyl_level {
    uint64_t repeat; /* at least 2; UINT64_MAX in levels[0] */
    int64_t stride;
    uint64_t bytes; /* packed, of one repetition */
} xyl_level_t;

typedef struct xyl_pieces {
    uint32_t level_count; /* 0: plain bytes, without gaps */
    xyl_level_t levels[XYL_LAYOUT_LEVELS_MAX];
    uint64_t block_count;
    const xyl_block_t *blocks; /* in packed order */
} xyl_pieces_t;

/* The place of packed byte `packed`, from the address of the elements on. */
static inline XYL_ANYWHERE int64_t xyl_pieces_place(const xyl_pieces_t *pieces,
                                                    uint64_t packed)
{
    uint64_t first = 0, end = pieces->block_count, place = 0, middle, inside;
    const xyl_block_t *block;
    uint32_t i;

    if (pieces->level_count == 0)
        return (int64_t)packed;
    for (i = 0; i < pieces->level_count; i++) {
        place += packed / pieces->levels[i].bytes *
                 (uint64_t)pieces->levels[i].stride;
        packed %= pieces->levels[i].bytes;
    }
    while (end - first > 1) { /* the last block with block.packed <= packed */
        middle = first + (end - first) / 2;
        if (pieces->blocks[middle].packed <= packed)
            first = middle;
        else
            end = middle;
    }
    block = &pieces->blocks[first];
    inside = packed - block->packed;
    place += (uint64_t)block->offset +
             inside / block->bytes * (uint64_t)block->stride +
             inside % block->bytes;
    return (int64_t)place;
}

/* The largest power of two, at most `unit`, that divides the address and the
 * length of every piece, for elements at `address` from packed byte `at` on. */
static inline uint32_t xyl_pieces_unit(const xyl_pieces_t *pieces,
                                       uint64_t address, uint64_t at,
                                       uint32_t unit)
{
    uint64_t bits = address | at, i;

    for (i = 0; i < pieces->level_count; i++)
        bits |= (uint64_t)pieces->levels[i].stride | pieces->levels[i].bytes;
    for (i = 0; i < pieces->block_count; i++)
        bits |= (uint64_t)pieces->blocks[i].offset | pieces->blocks[i].bytes |
                pieces->blocks[i].packed | (uint64_t)pieces->blocks[i].stride;
    while (unit > 1 && (bits & (unit - 1)) != 0)
        unit /= 2;
    return unit;
}
