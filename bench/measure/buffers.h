/* Rotated buffers: consecutive calls use different memory, together more than
 * a rank's share of the last-level cache, because data that a collective moves
 * is rarely still in the cache from the call before. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/measure/impl.h"
#include "include/xylem.h"

/* Small messages stay below the cache's size with this many; more would
 * measure the memory's latency and little else. */
enum { BUFFERS_MIN = 2, BUFFERS_MAX = 256 };

struct buffers {
    unsigned char *memory;
    size_t bytes; /* of each */
    size_t slot_bytes;
    unsigned count;
    const struct bench_impl *impl; /* owns the memory; NULL: the system does */
    void *state;                   /* the impl's, borrowed */
};

/* How many buffers of `bytes` each rank of a job of `ranks` on this node
 * rotates, when it keeps `sets` such sets. */
unsigned buffers_count(size_t bytes, uint32_t ranks, unsigned sets);

/* Touches all the memory. */
xylem_status_t buffers_create(struct buffers *buffers, size_t bytes,
                              unsigned count);
/* From the implementation, which has memory of its own; `state` is borrowed
 * until destroy. */
xylem_status_t buffers_create_of(struct buffers *buffers, size_t bytes,
                                 unsigned count, const struct bench_impl *impl,
                                 void *state);
void buffers_destroy(struct buffers *buffers);
void *buffers_at(const struct buffers *buffers, uint64_t iteration);
