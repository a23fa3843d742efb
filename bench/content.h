/* What the buffers hold: values that follow from the iteration, the position
 * and, in reductions, the rank, so that every rank can check every result.
 * Sums of these floats are exact for up to 16384 ranks in any order.
 */
#ifndef XYL_BENCH_CONTENT_H
#define XYL_BENCH_CONTENT_H

#include <stddef.h>
#include <stdint.h>

enum content_extent {
    CONTENT_ENDS, /* the first and the last element: costs nothing */
    CONTENT_ALL
};

void content_bcast_write(void *buf, size_t bytes, uint64_t iteration,
                         enum content_extent extent);
void content_reduce_write(void *buf, size_t bytes, uint64_t iteration,
                          uint32_t rank, enum content_extent extent);

/* How many elements are wrong. */
size_t content_bcast_wrong(const void *buf, size_t bytes, uint64_t iteration,
                           enum content_extent extent);
size_t content_reduce_wrong(const void *buf, size_t bytes, uint64_t iteration,
                            uint32_t ranks, enum content_extent extent);

#endif
