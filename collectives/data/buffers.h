/* The buffers that a stage works on, in packed bytes. Only these functions know
 * whether elements have gaps, or whether packed bytes are sums (data/binned.h)
 * of numbers that are in the buffer. */
#pragma once

#include <assert.h>

#include "collectives/data/binned.h"
#include "collectives/data/layout.h"
#include "collectives/data/schedule.h"
#include "progress/exec/exec.h"

typedef struct xyl_buffers {
    char *base[XYL_BUFFER_PRIVATE_COUNT];
    const xyl_layout_t *layout[XYL_BUFFER_PRIVATE_COUNT]; /* NULL: plain */
    /* The sums behind a buffer that has numbers and no layout; NULL: the
     * buffer has packed bytes. */
    const xyl_binned_t *binned[XYL_BUFFER_PRIVATE_COUNT];
    xyl_exec_t *exec; /* works on the buffers */
    int past_caches;  /* copies to users go past the caches */
} xyl_buffers_t;

/* Points SEND and RECV at other buffers, `at` bytes on; NULL: there is none. */
void xyl_buffers_bind(xyl_buffers_t *buffers, size_t at, const void *send,
                      void *recv);

/* The bytes that `at` packed bytes take in a buffer without gaps. */
static inline uint64_t xyl_buffers_length(const xyl_buffers_t *buffers,
                                          xyl_buffer_t buffer, uint64_t at)
{
    const xyl_binned_t *binned = buffers->binned[buffer];

    return binned == NULL ? at : xyl_binned_elements(binned, at);
}

/* The address of packed byte `at`, or of its number; the buffer has no gaps. */
static inline char *xyl_buffers_address(const xyl_buffers_t *buffers,
                                        xyl_buffer_t buffer, uint64_t at)
{
    assert(buffers->layout[buffer] == NULL);
    return buffers->base[buffer] + xyl_buffers_length(buffers, buffer, at);
}

/* Work as in progress/exec/exec.h: 1 done, 0 under way. `packed` does not
 * overlap the buffers. */
int xyl_buffers_pack(const xyl_buffers_t *buffers, xyl_work_t *work,
                     xyl_buffer_t from, uint64_t at, size_t bytes,
                     void *packed);
int xyl_buffers_unpack(const xyl_buffers_t *buffers, xyl_work_t *work,
                       xyl_buffer_t to, uint64_t at, size_t bytes,
                       const void *packed);
int xyl_buffers_copy(const xyl_buffers_t *buffers, xyl_work_t *work,
                     xyl_buffer_t to, uint64_t to_at, xyl_buffer_t from,
                     uint64_t from_at, size_t bytes);
/* Copies `numbers`, the results of `bytes` of sums, to a buffer of numbers. */
int xyl_buffers_put(const xyl_buffers_t *buffers, xyl_work_t *work,
                    xyl_buffer_t to, uint64_t at, size_t bytes,
                    const void *numbers);
