/* The lengths and numbers at which node programs, and levels, change their
 * method: values of the table that decides (collectives/choose/table.json, with
 * each value's origin), by the names of this list. Results are right with any
 * value within its range. */
#ifndef XYL_COLLECTIVES_DATA_LIMITS_H
#define XYL_COLLECTIVES_DATA_LIMITS_H

#include <stdint.h>

#include "collectives/data/modules.h"
#include "runtime/core/context.h"

/* name, least, most, meaning: a number of bytes unless it says otherwise. */
#define XYL_LIMIT_MAP(X)                                                       \
    X(hand_over, 0, 1 << 30,                                                   \
      "input that few seats read leaves its seat's own caches, at most")       \
    X(hand_over_block, 1, 1 << 30, "the same, in blocks of at least")          \
    X(hand_over_seats, 2, 1 << 20, "the same, from so many seats on")          \
    X(allreduce_piece, 64, 1 << 30, "a piece of a longer allreduce")           \
    X(held_up_us, 1, 1 << 30, "after that many us a claimer is held up")       \
    X(pair_patience_us, 0, 1 << 30,                                            \
      "who has added waits so many us in vain, at most")                       \
    X(pair_patience_parts, 1, 1 << 10,                                         \
      "and for so many times as long as its own part has taken")               \
    X(pair_room, 0, 100,                                                       \
      "percent of the cells that late ranks can need, which lie in its "       \
      "window; the others come from the pool")                                 \
    X(alltoall_each, 0, 1 << 30, "a block that is announced singly, at least") \
    X(parcel_cell, 128, 1 << 20,                                               \
      "room beside the slots for a block of a length that varies, at most")    \
    X(parcel_part, 128, 1 << 30, "a part of such a block, at least")           \
    X(parcel_patience_us, 0, 1 << 30,                                          \
      "its sender waits so many us for the receiver, at most")                 \
    X(reduce_scatter_piece, 64, 1 << 30, "a piece of a block, at most")        \
    X(scan_piece, 64, 1 << 30, "a piece of a short scan")                      \
    X(bundle_few_nodes, 1, 1 << 20, "nodes that are few")                      \
    X(bundle_few, 0, 1 << 20, "a block in a bundle between few, at most")      \
    X(bundle, 0, 1 << 20, "a block in a bundle between more, at most")         \
    X(bundle_slots, 0, 1 << 24, "all of a bundle, at most")                    \
    X(alltoall_slot, 1, 1 << 12, "a block in a slot between nodes, at most")   \
    X(lane, 1, 1 << 20, "what is worth a lane, unless a rule says less")       \
    X(exchange_piece, 64, 1 << 30,                                             \
      "a piece of a schedule's message on one node")                           \
    X(exchange_pieces, 1, 16, "of which it has so many, at most")              \
    X(turn, 1, 1 << 30, "what is worked on before the net has its turn")       \
    X(seat_turn, 64, 1 << 30,                                                  \
      "what a seat reads before others have their turn")                       \
    X(level_turn, 64, 1 << 30, "where another level waits")                    \
    X(level_first, 0, 1 << 30,                                                 \
      "a message for which the net comes first, at most")                      \
    X(device_chunk, 4096, 1 << 26,                                             \
      "of a copy between GPUs that goes through the host, at a time")          \
    X(device_blocks, 1, 1024,                                                  \
      "blocks of a kernel that reaches other GPUs, for each rank of its GPU")  \
    X(inside_call, 0, 1 << 20, "a short call that runs inside the call")

typedef struct xyl_limits {
#define XYL_LIMIT_FIELD(name, least, most, what) uint64_t name;
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

/* The limits of a context. */
static inline const xyl_limits_t *xyl_limits_of(const xylem_context_t *context)
{
    return xyl_tuned_of(context)->limits;
}

#endif
