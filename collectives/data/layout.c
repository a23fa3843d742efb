/* Packing and unpacking are the same walk through a layout with the two sides
 * of the copy exchanged. The unit of the walk is the pattern of the innermost
 * level: first the rest of a pattern, then whole patterns in rows, then a part.
 *
 * Whole patterns are moved block by block, not pattern by pattern. The k-th
 * block of some hundred patterns in a row is a strided copy with both strides
 * known; its inner loop is a load and a store. The rows are cut into tiles that
 * stay in the first-level cache, which each block passes over. */
#include "collectives/data/layout.h"

#include <assert.h>
#include <string.h>

enum { TILE_BYTES = 8192 };

/* ---- strided copies ---- */

/* One side of a strided copy. */
typedef struct side {
    char *at;
    int64_t step;
} side_t;

#define EACH_PIECE(copying)                                                    \
    do {                                                                       \
        for (i = 0; i < count; i++) {                                          \
            char *t = to.at + (int64_t)i * to.step;                            \
            const char *f = from.at + (int64_t)i * from.step;                  \
            copying;                                                           \
        }                                                                      \
    } while (0)

/* `size` bytes from the front and as many from the back, which overlap. */
#define FRONT_AND_BACK(size)                                                   \
    (memcpy(t, f, size), memcpy(t + bytes - (size), f + bytes - (size), size))

/* Pieces of up to 64 bytes are moved without a call: common lengths by one
 * move, others by two or four moves that overlap. */
static void copy_short(side_t to, side_t from, uint64_t count, size_t bytes)
{
    uint64_t i;

    if (bytes == 8)
        EACH_PIECE(memcpy(t, f, 8));
    else if (bytes == 4)
        EACH_PIECE(memcpy(t, f, 4));
    else if (bytes == 16)
        EACH_PIECE(memcpy(t, f, 16));
    else if (bytes > 32)
        EACH_PIECE((memcpy(t, f, 16), memcpy(t + 16, f + 16, 16),
                    memcpy(t + bytes - 32, f + bytes - 32, 16),
                    memcpy(t + bytes - 16, f + bytes - 16, 16)));
    else if (bytes > 16)
        EACH_PIECE(FRONT_AND_BACK(16));
    else if (bytes > 8)
        EACH_PIECE(FRONT_AND_BACK(8));
    else if (bytes > 4)
        EACH_PIECE(FRONT_AND_BACK(4));
    else if (bytes > 1)
        EACH_PIECE(FRONT_AND_BACK(2));
    else
        EACH_PIECE(*t = *f);
}

static void copy_strided(side_t to, side_t from, uint64_t count, size_t bytes)
{
    uint64_t i;

    if (bytes <= 64)
        copy_short(to, from, count, bytes);
    else
        EACH_PIECE(memcpy(t, f, bytes));
}

/* ---- the walk ---- */

typedef struct walk {
    const xyl_layout_t *layout;
    int is_packing;
    char *base, *packed;
    uint64_t digits[XYL_LAYOUT_LEVELS_MAX]; /* which repetition of each */
    /* From `base` to the pattern. It may wrap around, as behind the last
     * element there need not be an address. */
    uint64_t at;
} walk_t;

static const xyl_level_t *innermost(const xyl_layout_t *layout)
{
    return &layout->levels[layout->level_count - 1];
}

/* Goes to a packed offset; returns how far that is into the pattern. */
static uint64_t walk_to(walk_t *walk, uint64_t offset)
{
    const xyl_layout_t *layout = walk->layout;
    uint32_t i;

    walk->at = 0;
    for (i = 0; i < layout->level_count; i++) {
        const xyl_level_t *level = &layout->levels[i];
        walk->digits[i] = offset / level->bytes;
        offset %= level->bytes;
        walk->at += walk->digits[i] * (uint64_t)level->stride;
    }
    return offset;
}

/* Goes over patterns, at most to the end of the innermost level. */
static void walk_on(walk_t *walk, uint64_t patterns)
{
    const xyl_level_t *levels = walk->layout->levels;
    uint32_t i = walk->layout->level_count - 1;

    walk->digits[i] += patterns;
    walk->at += patterns * (uint64_t)levels[i].stride;
    for (; i > 0 && walk->digits[i] == levels[i].repeat; i--) {
        walk->at -= levels[i].repeat * (uint64_t)levels[i].stride;
        walk->digits[i] = 0;
        walk->digits[i - 1]++;
        walk->at += (uint64_t)levels[i - 1].stride;
    }
}

/* Moves pieces that lie `offset` bytes behind the pattern and `packed` bytes
 * behind the packed place. */
static void move_pieces(const walk_t *walk, int64_t offset, int64_t stride,
                        uint64_t packed, uint64_t packed_stride, uint64_t count,
                        uint64_t bytes)
{
    side_t user = {walk->base + (int64_t)(walk->at + (uint64_t)offset), stride};
    side_t dense = {walk->packed + packed, (int64_t)packed_stride};

    if (walk->is_packing)
        copy_strided(dense, user, count, (size_t)bytes);
    else
        copy_strided(user, dense, count, (size_t)bytes);
}

/* Moves one block of `patterns` patterns in a row, with the longer loop
 * inside. */
static void move_layout_block(const walk_t *walk, const xyl_block_t *block,
                              uint64_t patterns)
{
    const xyl_level_t *row = innermost(walk->layout);
    uint64_t i;

    if (patterns >= block->repeat)
        for (i = 0; i < block->repeat; i++)
            move_pieces(walk, block->offset + (int64_t)i * block->stride,
                        row->stride, block->packed + i * block->bytes,
                        row->bytes, patterns, block->bytes);
    else
        for (i = 0; i < patterns; i++)
            move_pieces(walk, block->offset + (int64_t)i * row->stride,
                        block->stride, block->packed + i * row->bytes,
                        block->bytes, block->repeat, block->bytes);
}

/* Moves whole patterns, at most to the end of the innermost level. */
static void move_patterns(walk_t *walk, uint64_t patterns)
{
    const xyl_layout_t *layout = walk->layout;
    uint64_t bytes = innermost(layout)->bytes, block;
    uint64_t tile = layout->block_count == 1 && layout->blocks[0].repeat == 1
                        ? patterns
                        : TILE_BYTES / bytes + 1;

    for (; patterns != 0; patterns -= tile) {
        if (tile > patterns)
            tile = patterns;
        for (block = 0; block < layout->block_count; block++)
            move_layout_block(walk, &layout->blocks[block], tile);
        walk->packed += tile * bytes;
        walk_on(walk, tile);
    }
}

/* The block that holds packed byte `packed` of a pattern: the last that does
 * not begin behind it. */
static uint64_t layout_block_at(const xyl_layout_t *layout, uint64_t packed)
{
    uint64_t first = 0, end = layout->block_count, middle;

    while (end - first > 1) {
        middle = first + (end - first) / 2;
        if (layout->blocks[middle].packed <= packed)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Moves at most `bytes` bytes of a block, from packed byte `inside` on; returns
 * how many there were. */
static uint64_t move_part_of_block(walk_t *walk, const xyl_block_t *block,
                                   uint64_t inside, uint64_t bytes)
{
    uint64_t piece = inside / block->bytes, skip = inside % block->bytes;
    uint64_t done = 0, now, pieces;

    if (skip != 0) { /* the end of a piece */
        done = block->bytes - skip < bytes ? block->bytes - skip : bytes;
        move_pieces(walk,
                    block->offset + (int64_t)piece * block->stride +
                        (int64_t)skip,
                    0, 0, 0, 1, done);
        piece++;
    }
    pieces = (bytes - done) / block->bytes;
    if (pieces > block->repeat - piece)
        pieces = block->repeat - piece;
    if (pieces != 0) {
        move_pieces(walk, block->offset + (int64_t)piece * block->stride,
                    block->stride, done, block->bytes, pieces, block->bytes);
        done += pieces * block->bytes;
        piece += pieces;
    }
    now = bytes - done; /* the beginning of one, unless the block is over */
    if (now != 0 && piece != block->repeat) {
        move_pieces(walk, block->offset + (int64_t)piece * block->stride, 0,
                    done, 0, 1, now);
        done += now;
    }
    walk->packed += done;
    return done;
}

/* Moves packed bytes [from, from + bytes) of one pattern. */
static void move_part(walk_t *walk, uint64_t from, uint64_t bytes)
{
    const xyl_layout_t *layout = walk->layout;
    const xyl_block_t *block = &layout->blocks[layout_block_at(layout, from)];
    uint64_t inside = from - block->packed;

    for (; bytes != 0; block++) {
        bytes -= move_part_of_block(walk, block, inside, bytes);
        inside = 0;
    }
}

static void transfer(walk_t *walk, uint64_t offset, uint64_t bytes)
{
    const xyl_level_t *row = innermost(walk->layout);
    uint64_t inside, now;

    if (bytes == 0)
        return;
    assert(walk->layout->bytes != 0);
    inside = walk_to(walk, offset);
    if (inside != 0) {
        now = row->bytes - inside < bytes ? row->bytes - inside : bytes;
        move_part(walk, inside, now);
        if (now == bytes)
            return;
        bytes -= now;
        walk_on(walk, 1);
    }
    while (bytes >= row->bytes) {
        uint64_t left =
            row->repeat - walk->digits[walk->layout->level_count - 1];
        now = bytes / row->bytes;
        if (now > left)
            now = left;
        bytes -= now * row->bytes;
        move_patterns(walk, now);
    }
    if (bytes != 0)
        move_part(walk, 0, bytes);
}

void xyl_layout_pack(const xyl_layout_t *layout, const void *base,
                     uint64_t offset, size_t bytes, void *packed)
{
    /* `base` is only read: is_packing says which way bytes go. */
    walk_t walk = {.layout = layout,
                   .is_packing = 1,
                   .base = (char *)(uintptr_t)base,
                   .packed = packed};

    transfer(&walk, offset, bytes);
}

void xyl_layout_unpack(const xyl_layout_t *layout, void *base, uint64_t offset,
                       size_t bytes, const void *packed)
{
    walk_t walk = {
        .layout = layout, .base = base, .packed = (char *)(uintptr_t)packed};

    transfer(&walk, offset, bytes);
}
