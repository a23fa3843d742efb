/* Layouts: where the bytes of elements lie in a user's buffer. The bytes of an
 * element that are data, in the order of the type's description, are its
 * *packed* bytes; element k begins `extent` bytes after element k - 1. Packed
 * offsets count through all elements.
 *
 * An element is a nest of repetitions around a list of strided blocks:
 *
 *     for each element                    levels[0]: strides by the extent
 *       for each repetition of levels[1], [2], ...           (often none)
 *         for each block                  the pattern
 *           for each piece of it          `bytes` bytes in a row
 *
 * so that a matrix out of a larger one is one block, however many rows it has.
 * See layout_build.h for how layouts are made. Constant once made; any
 * thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"
#include "progress/exec/pieces.h"

typedef struct xyl_layout {
    uint64_t bytes;    /* packed, of one element; 0: it has no data */
    int64_t extent;    /* from one element to the next */
    int64_t low, high; /* an element's data lie at [low, high) from it */
    uint32_t level_count;
    xyl_level_t levels[XYL_LAYOUT_LEVELS_MAX]; /* the outermost first */
    uint64_t block_count;
    xyl_block_t *blocks; /* in packed order */
    /* Holders; see layout_build.h. */
    _Atomic uint32_t references;
} xyl_layout_t;

/* The layouts of the buffers that are read, and written; NULL: plain. */
typedef struct xyl_layouts {
    const xyl_layout_t *send, *recv;
} xyl_layouts_t;

/* 1 when elements lie one behind the other without gaps, from offset 0, or
 * have no data at all. */
static inline int xyl_layout_is_plain(const xyl_layout_t *layout)
{
    return layout->bytes == 0 ||
           (layout->level_count == 1 && layout->block_count == 1 &&
            layout->blocks[0].repeat == 1 && layout->blocks[0].offset == 0 &&
            layout->extent >= 0 && (uint64_t)layout->extent == layout->bytes);
}

/* Copies packed bytes [offset, offset + bytes) of the elements at `base` to or
 * from `packed`, which does not overlap the elements. Pieces that overlap may
 * be packed; what lies where pieces overlap after unpacking is left open. */
void xyl_layout_pack(const xyl_layout_t *layout, const void *base,
                     uint64_t offset, size_t bytes, void *packed);
void xyl_layout_unpack(const xyl_layout_t *layout, void *base, uint64_t offset,
                       size_t bytes, const void *packed);
