/* Contents of buffers: values that follow from the iteration, the position and
 * the rank, so that every rank can check every result. The values of a block
 * that is moved also follow from its receiver, so no two blocks are equal. Sums
 * of the floats are exact for up to 16384 ranks in any order.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum content_extent {
    CONTENT_ENDS, /* the first and the last element: costs nothing */
    CONTENT_ALL
};

/* A block that is moved. */
struct content_block {
    uint64_t iteration;
    uint32_t from; /* its owner */
    uint32_t to;   /* its receiver; 0 if all ranks get the same */
};
void content_block_write(void *buf, size_t bytes, struct content_block block,
                         enum content_extent extent);

/* Floats that are to be summed: a piece of a message that begins with its
 * element `first`. */
struct content_piece {
    uint64_t iteration;
    size_t first;
};
void content_terms_write(void *buf, size_t bytes, struct content_piece piece,
                         uint32_t rank, enum content_extent extent);

/* How many elements are wrong. */
size_t content_block_wrong(const void *buf, size_t bytes,
                           struct content_block block,
                           enum content_extent extent);
/* The sum over ranks 0 ... ranks - 1. */
size_t content_sums_wrong(const void *buf, size_t bytes,
                          struct content_piece piece, uint32_t ranks,
                          enum content_extent extent);

/* ---- whole messages ---- */

static inline void content_bcast_write(void *buf, size_t bytes,
                                       uint64_t iteration,
                                       enum content_extent extent)
{
    content_block_write(buf, bytes, (struct content_block){iteration, 0, 0},
                        extent);
}

static inline void content_reduce_write(void *buf, size_t bytes,
                                        uint64_t iteration, uint32_t rank,
                                        enum content_extent extent)
{
    content_terms_write(buf, bytes, (struct content_piece){iteration, 0}, rank,
                        extent);
}

static inline size_t content_bcast_wrong(const void *buf, size_t bytes,
                                         uint64_t iteration,
                                         enum content_extent extent)
{
    return content_block_wrong(buf, bytes,
                               (struct content_block){iteration, 0, 0}, extent);
}

static inline size_t content_reduce_wrong(const void *buf, size_t bytes,
                                          uint64_t iteration, uint32_t ranks,
                                          enum content_extent extent)
{
    return content_sums_wrong(buf, bytes, (struct content_piece){iteration, 0},
                              ranks, extent);
}
