/* Layouts are built in two steps. The first finds the sizes and bounds of all
 * parts, with every sum and product checked. Then all bytes of an element lie
 * less than 2^63 bytes from its address and from each other, so no offset and
 * no distance of pieces can overflow afterwards. The second step makes the
 * blocks. A single part keeps its nest and gets a level around it. Several
 * parts are unrolled into one list of blocks, which joins neighbours and finds
 * pieces at equal distances as it grows. */
#include "collectives/data/layout_build.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/status.h"

/* A layout under construction. The nest may grow past what a layout holds by
 * the level that is put around it. */
typedef struct build {
    int64_t low, high;  /* of the data */
    int64_t begin, end; /* of the elements, by their extents */
    uint64_t bytes;     /* packed, in all */
    uint64_t unrolled;  /* blocks of the unrolled parts, at most */
    size_t with_data;   /* parts */
    xyl_block_t *blocks;
    uint64_t block_count, capacity;
    uint32_t level_count;
    xyl_level_t levels[XYL_LAYOUT_LEVELS_MAX + 1]; /* without the elements */
} build_t;

/* ---- sizes ---- */

/* The ends of [from, to) repeated `count` times; 0: an overflow. */
static int span_repeat(int64_t *from, int64_t *to, uint64_t count,
                       int64_t stride)
{
    int64_t far;

    if (__builtin_mul_overflow(count - 1, stride, &far))
        return 0;
    return far < 0 ? !__builtin_add_overflow(*from, far, from)
                   : !__builtin_add_overflow(*to, far, to);
}

static int span_shift(int64_t *from, int64_t *to, int64_t offset)
{
    return !__builtin_add_overflow(*from, offset, from) &&
           !__builtin_add_overflow(*to, offset, to);
}

static void span_join(int64_t *from, int64_t *to, int64_t other_from,
                      int64_t other_to, int is_first)
{
    if (is_first || other_from < *from)
        *from = other_from;
    if (is_first || other_to > *to)
        *to = other_to;
}

/* 1 when the part's elements are single pieces: together they are one block. */
static int is_one_block(const xyl_layout_part_t *part)
{
    const xyl_layout_t *layout = part->layout;

    return layout == NULL ||
           (layout->level_count == 1 && layout->block_count == 1 &&
            layout->blocks[0].repeat == 1);
}

/* How many blocks a part adds to a list, at most; no more than it has bytes. */
static uint64_t unrolled_of(const xyl_layout_part_t *part)
{
    uint64_t blocks;
    uint32_t i;

    if (is_one_block(part))
        return 1;
    blocks = part->count * part->layout->block_count;
    for (i = 1; i < part->layout->level_count; i++)
        blocks *= part->layout->levels[i].repeat;
    return blocks;
}

/* Adds a part that is not empty to the sizes; 0: an overflow. */
static int measure(build_t *build, const xyl_layout_part_t *part, int is_first)
{
    const xyl_layout_t *layout = part->layout;
    int64_t begin = part->extent < 0 ? part->extent : 0;
    int64_t end = part->extent < 0 ? 0 : part->extent;
    int64_t low = layout == NULL ? 0 : layout->low;
    int64_t high = layout == NULL ? (int64_t)part->bytes : layout->high;
    uint64_t bytes;

    if (!span_repeat(&begin, &end, part->count, part->stride) ||
        !span_shift(&begin, &end, part->offset))
        return 0;
    span_join(&build->begin, &build->end, begin, end, is_first);
    if (part->bytes == 0)
        return 1;
    if (!span_repeat(&low, &high, part->count, part->stride) ||
        !span_shift(&low, &high, part->offset) ||
        __builtin_mul_overflow(part->count, part->bytes, &bytes) ||
        __builtin_add_overflow(build->bytes, bytes, &build->bytes) ||
        build->bytes > INT64_MAX)
        return 0;
    span_join(&build->low, &build->high, low, high, build->with_data == 0);
    build->with_data++;
    build->unrolled += unrolled_of(part);
    return 1;
}

static xylem_status_t
measure_all(build_t *build, const xyl_layout_part_t *parts, size_t parts_count)
{
    int is_first = 1;
    int64_t reach;
    size_t i;

    for (i = 0; i < parts_count; i++) {
        if (parts[i].count == 0)
            continue;
        if (!measure(build, &parts[i], is_first))
            return xyl_fail(XYLEM_ERR_INVALID_ARG,
                            "part %zu of the type reaches beyond 2^63 bytes",
                            i);
        is_first = 0;
    }
    if (__builtin_sub_overflow(build->high, build->low, &reach) ||
        __builtin_sub_overflow(build->end, build->begin, &reach))
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "the parts of the type are 2^63 bytes apart");
    if (build->with_data > 1 && build->unrolled > XYL_LAYOUT_BLOCKS_MAX)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "the type has more than %d blocks",
                        XYL_LAYOUT_BLOCKS_MAX);
    return XYLEM_OK;
}

/* ---- lists of blocks ---- */

static void block_tidy(xyl_block_t *block)
{
    if (block->repeat > 1 && block->stride > 0 &&
        (uint64_t)block->stride == block->bytes) {
        block->bytes *= block->repeat;
        block->repeat = 1;
    }
    if (block->repeat == 1)
        block->stride = 0;
}

static int64_t last_piece(const xyl_block_t *block)
{
    return block->offset + (int64_t)(block->repeat - 1) * block->stride;
}

/* Joins two blocks if their pieces lie at equal distances; 0: they do not. */
static int block_fold(xyl_block_t *first, const xyl_block_t *second)
{
    int64_t stride = second->offset - last_piece(first);

    if (first->bytes != second->bytes ||
        (first->repeat > 1 && first->stride != stride) ||
        (second->repeat > 1 && second->stride != stride))
        return 0;
    first->repeat += second->repeat;
    first->stride = stride;
    return 1;
}

static int reserve(build_t *build)
{
    uint64_t capacity = build->capacity == 0 ? 4 : 2 * build->capacity;
    xyl_block_t *blocks;

    if (build->block_count < build->capacity)
        return 1;
    blocks = realloc(build->blocks, capacity * sizeof *blocks);
    if (blocks == NULL)
        return 0;
    build->blocks = blocks;
    build->capacity = capacity;
    return 1;
}

/* Lets the last block of the list grow by a piece behind it. If the last block
 * has several pieces, only its last one grows: this leaves the list, and
 * becomes `block`, still to be appended. 1: done. */
static int block_join(build_t *build, xyl_block_t *block)
{
    xyl_block_t *last = &build->blocks[build->block_count - 1];
    int64_t tail = last_piece(last);

    if (block->repeat != 1 || tail + (int64_t)last->bytes != block->offset)
        return 0;
    block->offset = tail;
    block->bytes += last->bytes;
    if (last->repeat > 1) {
        last->repeat--;
        block_tidy(last);
        return 0;
    }
    if (build->block_count > 1 && block_fold(last - 1, block))
        build->block_count--;
    else
        *last = *block;
    return 1;
}

/* 0: no memory. */
static int append(build_t *build, xyl_block_t block)
{
    block_tidy(&block);
    if (build->block_count != 0 &&
        (block_join(build, &block) ||
         block_fold(&build->blocks[build->block_count - 1], &block)))
        return 1;
    if (!reserve(build))
        return 0;
    build->blocks[build->block_count++] = block;
    return 1;
}

/* Steps through a nest like an odometer; 0: at its end. `at` may wrap around:
 * the address of a pattern need not be near the pattern's bytes. */
static int nest_step(const xyl_layout_t *layout, uint64_t *digits, uint64_t *at)
{
    uint32_t i;

    for (i = layout->level_count - 1; i > 0; i--) {
        const xyl_level_t *level = &layout->levels[i];
        *at += (uint64_t)level->stride;
        if (++digits[i] != level->repeat)
            return 1;
        *at -= level->repeat * (uint64_t)level->stride;
        digits[i] = 0;
    }
    return 0;
}

/* Appends an element of a layout at `offset`. */
static int unroll_element(build_t *build, const xyl_layout_t *layout,
                          int64_t offset)
{
    uint64_t digits[XYL_LAYOUT_LEVELS_MAX] = {0}, i;
    uint64_t at = (uint64_t)offset;

    do {
        for (i = 0; i < layout->block_count; i++) {
            xyl_block_t block = layout->blocks[i];
            block.offset = (int64_t)((uint64_t)block.offset + at);
            if (!append(build, block))
                return 0;
        }
    } while (nest_step(layout, digits, &at));
    return 1;
}

/* Appends a part; 0: no memory. */
static int unroll(build_t *build, const xyl_layout_part_t *part)
{
    xyl_block_t block = {part->offset, part->bytes, 0, part->count,
                         part->stride};
    uint64_t i;

    if (is_one_block(part)) {
        if (part->layout != NULL)
            block.offset += part->layout->blocks[0].offset;
        return append(build, block);
    }
    for (i = 0; i < part->count; i++)
        if (!unroll_element(build, part->layout,
                            part->offset + (int64_t)i * part->stride))
            return 0;
    return 1;
}

/* ---- nests ---- */

static void level_drop(build_t *build, uint32_t number)
{
    build->level_count--;
    memmove(&build->levels[number], &build->levels[number + 1],
            (build->level_count - number) * sizeof build->levels[0]);
}

/* 1: `outer` repeats at `repeat` times `stride`, so both are one longer
 * repetition. */
static int goes_on(const xyl_level_t *outer, uint64_t repeat, int64_t stride)
{
    int64_t reach;

    return !__builtin_mul_overflow(repeat, stride, &reach) &&
           outer->stride == reach;
}

/* Moves the innermost level into the only block; 0: that cannot be. */
static int absorb(build_t *build)
{
    xyl_block_t *block = build->blocks;
    const xyl_level_t *level;

    if (build->level_count == 0 || build->block_count != 1)
        return 0;
    level = &build->levels[build->level_count - 1];
    if (block->repeat == 1)
        block->stride = level->stride;
    else if (!goes_on(level, block->repeat, block->stride))
        return 0;
    block->repeat *= level->repeat;
    block_tidy(block);
    level_drop(build, build->level_count - 1);
    return 1;
}

static void nest_tidy(build_t *build)
{
    uint32_t i;

    for (i = build->level_count; i-- > 0;)
        if (build->levels[i].repeat == 1)
            level_drop(build, i);
    for (i = build->level_count; i-- > 1;)
        if (goes_on(&build->levels[i - 1], build->levels[i].repeat,
                    build->levels[i].stride)) {
            build->levels[i].repeat *= build->levels[i - 1].repeat;
            level_drop(build, i - 1);
        }
    while (absorb(build))
        ;
}

/* Makes the innermost level part of the list. */
static xylem_status_t unroll_innermost(build_t *build)
{
    xyl_level_t level = build->levels[build->level_count - 1];
    build_t longer = {.blocks = NULL};
    uint64_t i, block;

    if (level.repeat > XYL_LAYOUT_BLOCKS_MAX / build->block_count)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "the type has more than %d blocks",
                        XYL_LAYOUT_BLOCKS_MAX);
    for (i = 0; i < level.repeat; i++)
        for (block = 0; block < build->block_count; block++) {
            xyl_block_t next = build->blocks[block];
            next.offset += (int64_t)i * level.stride;
            if (!append(&longer, next)) {
                free(longer.blocks);
                return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a type");
            }
        }
    free(build->blocks);
    build->blocks = longer.blocks;
    build->block_count = longer.block_count;
    build->capacity = longer.capacity;
    level_drop(build, build->level_count - 1);
    return XYLEM_OK;
}

/* The only part with data keeps its nest. */
static xylem_status_t nest(build_t *build, const xyl_layout_part_t *part)
{
    const xyl_layout_t *layout = part->layout;
    const xyl_block_t whole = {0, part->bytes, 0, 1, 0};
    const xyl_block_t *blocks = layout == NULL ? &whole : layout->blocks;
    xylem_status_t status = XYLEM_OK;
    uint64_t i;

    build->levels[build->level_count++] =
        (xyl_level_t){part->count, part->stride, 0};
    for (i = 1; layout != NULL && i < layout->level_count; i++)
        build->levels[build->level_count++] = layout->levels[i];
    build->block_count = layout == NULL ? 1 : layout->block_count;
    build->blocks = malloc(build->block_count * sizeof *blocks);
    if (build->blocks == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a type");
    for (i = 0; i < build->block_count; i++) {
        build->blocks[i] = blocks[i];
        build->blocks[i].offset += part->offset;
    }
    nest_tidy(build);
    /* One place is for the elements themselves. */
    while (status == XYLEM_OK && build->level_count >= XYL_LAYOUT_LEVELS_MAX) {
        status = unroll_innermost(build);
        nest_tidy(build);
    }
    return status;
}

/* ---- layouts ---- */

/* Counts packed offsets, from the inside out. */
static void layout_count_packed(xyl_layout_t *layout)
{
    uint64_t packed = 0, i;
    uint32_t level = layout->level_count;

    for (i = 0; i < layout->block_count; i++) {
        layout->blocks[i].packed = packed;
        packed += layout->blocks[i].bytes * layout->blocks[i].repeat;
    }
    while (level-- > 0) {
        layout->levels[level].bytes = packed;
        if (level != 0)
            packed *= layout->levels[level].repeat;
    }
    assert(packed == layout->bytes);
}

/* Takes the blocks. */
static xylem_status_t layout_make(build_t *build, int64_t extent,
                                  xyl_layout_t **layout_out)
{
    xyl_layout_t *layout = malloc(sizeof *layout);
    uint32_t i;

    if (layout == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a type");
    *layout = (xyl_layout_t){.bytes = build->bytes,
                             .extent = extent,
                             .low = build->low,
                             .high = build->high,
                             .level_count = build->level_count + 1,
                             .block_count = build->block_count,
                             .blocks = build->blocks};
    layout->levels[0] = (xyl_level_t){UINT64_MAX, extent, 0};
    for (i = 0; i < build->level_count; i++)
        layout->levels[i + 1] = build->levels[i];
    layout_count_packed(layout);
    atomic_init(&layout->references, 1);
    *layout_out = layout;
    return XYLEM_OK;
}

static xylem_status_t
layout_fill(build_t *build, const xyl_layout_part_t *parts, size_t parts_count)
{
    size_t i;

    for (i = 0; i < parts_count; i++) {
        if (parts[i].count == 0 || parts[i].bytes == 0)
            continue;
        if (build->with_data == 1)
            return nest(build, &parts[i]);
        if (!unroll(build, &parts[i]))
            return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a type");
    }
    return XYLEM_OK;
}

xylem_status_t xyl_layout_create(const xyl_layout_part_t *parts,
                                 size_t parts_count, int64_t extent,
                                 xyl_layout_t **layout_out)
{
    build_t build = {.blocks = NULL};
    xylem_status_t status = measure_all(&build, parts, parts_count);

    if (status == XYLEM_OK && extent == XYLEM_EXTENT_AUTO)
        extent = build.end - build.begin;
    if (status == XYLEM_OK)
        status = layout_fill(&build, parts, parts_count);
    if (status == XYLEM_OK)
        status = layout_make(&build, extent, layout_out);
    if (status != XYLEM_OK)
        free(build.blocks);
    return status;
}

/* ---- holders ---- */

void xyl_layout_acquire(const xyl_layout_t *layout)
{
    /* The count is the only part of a layout that changes. */
    _Atomic uint32_t *references =
        &((xyl_layout_t *)(uintptr_t)layout)->references;

    atomic_fetch_add_explicit(references, 1, memory_order_relaxed);
}

void xyl_layout_release(const xyl_layout_t *layout)
{
    xyl_layout_t *ours = (xyl_layout_t *)(uintptr_t)layout;

    /* Partner: itself, on the threads of the other holders. */
    if (layout == NULL || atomic_fetch_sub_explicit(&ours->references, 1,
                                                    memory_order_acq_rel) != 1)
        return;
    free(ours->blocks);
    free(ours);
}
