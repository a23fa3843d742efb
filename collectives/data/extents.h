/* The bytes of a buffer that a call uses on a rank, so that these, and no
 * others, can be brought somewhere else and back. */
#pragma once

#include "collectives/data/call.h"

/* Packed bytes [at, at + bytes). */
typedef struct xyl_run {
    uint64_t at, bytes;
} xyl_run_t;

/* The parts of a buffer that are read or written. */
typedef struct xyl_extents {
    const xyl_layout_t *layout; /* NULL: packed bytes are those of the buffer */
    uint32_t count;
    xyl_run_t *runs;   /* [count], none empty */
    int64_t low, high; /* they lie at [low, high) from the buffer's address */
} xyl_extents_t;

/* The most runs that a side of a call has. */
uint32_t xyl_extents_most(const xyl_call_t *call);

/* The extents of the rank's input in the user's buffer, which for a call in
 * place is that of the result. `runs`: room for xyl_extents_most. */
void xyl_extents_of_input(const xyl_call_t *call, xyl_run_t *runs,
                          xyl_extents_t *extents_out);
void xyl_extents_of_result(const xyl_call_t *call, xyl_run_t *runs,
                           xyl_extents_t *extents_out);
