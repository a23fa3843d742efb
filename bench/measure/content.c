/* Patterns of the buffers. Pure; any thread.
 *
 * A block carries 64-bit words, the last one cut to fit. A reduction carries
 * floats, small integers: (rank mod 1024) + (iteration mod 257) + (position mod
 * 16). 257 is a prime above the number of rotated buffers, so that a stale
 * buffer never looks like a fresh one.
 */
#include "bench/measure/content.h"

#include <string.h>

enum { RANK_PERIOD = 1024, ITERATION_PERIOD = 257, POSITION_PERIOD = 16 };
enum { WORD_BYTES = sizeof(uint64_t) };

/* Every bit of the seed depends on all of the block's name, so that blocks of a
 * few bytes differ, too. */
static uint64_t seed_of(struct content_block block)
{
    uint64_t seed = (block.iteration + 1) * UINT64_C(0xd1b54a32d192ed03);

    seed ^= ((uint64_t)block.from << 32 | block.to) + 1;
    seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    seed = (seed ^ seed >> 27) * UINT64_C(0x94d049bb133111eb);
    return seed ^ seed >> 31;
}

static uint64_t word_at(uint64_t seed, size_t position)
{
    return (uint64_t)(position + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ seed;
}

/* Of the word at `position` in a buffer of `bytes`. */
static size_t word_bytes(size_t bytes, size_t position)
{
    size_t rest = bytes - position * WORD_BYTES;

    return rest < WORD_BYTES ? rest : WORD_BYTES;
}

/* From one position to the next within `count`. */
static size_t step(size_t count, enum content_extent extent)
{
    return extent == CONTENT_ALL || count < 2 ? 1 : count - 1;
}

void content_block_write(void *buf, size_t bytes, struct content_block block,
                         enum content_extent extent)
{
    size_t count = (bytes + WORD_BYTES - 1) / WORD_BYTES;
    uint64_t seed = seed_of(block);
    size_t i;

    for (i = 0; i < count; i += step(count, extent)) {
        uint64_t word = word_at(seed, i);

        memcpy((char *)buf + i * WORD_BYTES, &word, word_bytes(bytes, i));
    }
}

size_t content_block_wrong(const void *buf, size_t bytes,
                           struct content_block block,
                           enum content_extent extent)
{
    size_t count = (bytes + WORD_BYTES - 1) / WORD_BYTES;
    uint64_t seed = seed_of(block);
    size_t wrong = 0;
    size_t i;

    for (i = 0; i < count; i += step(count, extent)) {
        uint64_t word = word_at(seed, i);

        wrong += memcmp((const char *)buf + i * WORD_BYTES, &word,
                        word_bytes(bytes, i)) != 0;
    }
    return wrong;
}

/* Of the element at `position` of a piece. */
static uint32_t common_part(struct content_piece piece, size_t position)
{
    return (uint32_t)(piece.iteration % ITERATION_PERIOD) +
           (uint32_t)((piece.first + position) % POSITION_PERIOD);
}

void content_terms_write(void *buf, size_t bytes, struct content_piece piece,
                         uint32_t rank, enum content_extent extent)
{
    size_t count = bytes / sizeof(float);
    float *values = buf;
    size_t i;

    for (i = 0; i < count; i += step(count, extent))
        values[i] = (float)(rank % RANK_PERIOD + common_part(piece, i));
}

/* The sum over all ranks of rank mod RANK_PERIOD. */
static uint64_t ranks_sum(uint32_t ranks)
{
    uint64_t periods = ranks / RANK_PERIOD;
    uint64_t rest = ranks % RANK_PERIOD;

    return periods * RANK_PERIOD * (RANK_PERIOD - 1) / 2 +
           rest * (rest - (rest > 0)) / 2;
}

size_t content_sums_wrong(const void *buf, size_t bytes,
                          struct content_piece piece, uint32_t ranks,
                          enum content_extent extent)
{
    size_t count = bytes / sizeof(float);
    const float *values = buf;
    uint64_t base = ranks_sum(ranks);
    size_t wrong = 0;
    size_t i;

    for (i = 0; i < count; i += step(count, extent)) {
        float sum = (float)(base + (uint64_t)ranks * common_part(piece, i));

        wrong += values[i] != sum; /* both exact; also counts a NaN */
    }
    return wrong;
}
