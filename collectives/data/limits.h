/* The lengths and numbers at which code changes its method. The table that
 * decides (collectives/choose/table.json) has the value and the origin of each,
 * by the names of this list. Results are right with any value within its
 * range. */
#pragma once

#include <stdint.h>

#include "collectives/data/modules.h"
#include "runtime/core/context.h"

/* Name, least and most value; docs/tuning.md says what each limit is. */
#define XYL_LIMIT_MAP(X)                                                       \
    X(hand_over, 0, 1 << 30)                                                   \
    X(hand_over_block, 1, 1 << 30)                                             \
    X(hand_over_seats, 2, 1 << 20)                                             \
    X(allreduce_piece, 64, 1 << 30)                                            \
    X(held_up_us, 1, 1 << 30)                                                  \
    X(pair_patience_us, 0, 1 << 30)                                            \
    X(pair_patience_parts, 1, 1 << 10)                                         \
    X(pair_room, 0, 100)                                                       \
    X(alltoall_each, 0, 1 << 30)                                               \
    X(parcel_cell, 128, 1 << 20)                                               \
    X(parcel_part, 128, 1 << 30)                                               \
    X(parcel_patience_us, 0, 1 << 30)                                          \
    X(parcel_patience_kib, 1, 1 << 30)                                         \
    X(reduce_scatter_piece, 64, 1 << 30)                                       \
    X(scan_piece, 64, 1 << 30)                                                 \
    X(bundle_few_nodes, 1, 1 << 20)                                            \
    X(bundle_few, 0, 1 << 20)                                                  \
    X(bundle, 0, 1 << 20)                                                      \
    X(bundle_slots, 0, 1 << 24)                                                \
    X(alltoall_slot, 1, 1 << 12)                                               \
    X(lane, 1, 1 << 20)                                                        \
    X(exchange_piece, 64, 1 << 30)                                             \
    X(exchange_pieces, 1, 16)                                                  \
    X(turn, 1, 1 << 30)                                                        \
    X(seat_turn, 64, 1 << 30)                                                  \
    X(level_turn, 64, 1 << 30)                                                 \
    X(level_first, 0, 1 << 30)                                                 \
    X(device_chunk, 4096, 1 << 26)                                             \
    X(device_blocks, 1, 1024)                                                  \
    X(inside_call, 0, 1 << 20)

typedef struct xyl_limits {
#define XYL_LIMIT_FIELD(name, least, most) uint64_t name;
    XYL_LIMIT_MAP(XYL_LIMIT_FIELD)
#undef XYL_LIMIT_FIELD
} xyl_limits_t;

/* The state that choose/tuning.c attaches to a context when it begins. */
typedef struct xyl_tuned {
    const xyl_limits_t *limits;
    /* The least bytes, as rules count them, for which a rule for memory of GPUs
     * holds: ranks of shorter calls need not ask where buffers lie.
     * UINT64_MAX: the collective has no such rule. */
    uint64_t gpus_from[XYLEM_COLL_COUNT];
    struct xyl_tuning *tuning; /* choose/tuning.c's own; NULL: not begun */
} xyl_tuned_t;

static inline const xyl_tuned_t *xyl_tuned_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_TUNING];
}

static inline const xyl_limits_t *xyl_limits_of(const xylem_context_t *context)
{
    return xyl_tuned_of(context)->limits;
}
