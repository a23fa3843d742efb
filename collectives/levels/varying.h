/* What gatherv and scatterv in levels share. How long a block is, only its rank
 * and the root know; so what travels in one message must follow from that
 * alone:
 *
 *   short blocks of a node    one bundle between the root and its leader
 *   long blocks, and those    straight between the root and their ranks
 *   of nodes with one rank
 *
 * The ranks of a node tell one another how long theirs are when the collective
 * begins, hence a leader knows the length of its bundle. A bundle with nothing
 * in it is not sent, so the root waits for nobody who has nothing for it.
 */
#ifndef XYL_COLLECTIVES_LEVELS_VARYING_H
#define XYL_COLLECTIVES_LEVELS_VARYING_H

#include "collectives/levels/parts.h"

/* Labels of messages between the root and a rank. */
enum { XYL_HAN_STRAIGHT, XYL_HAN_BUNDLE };

enum { XYL_HAN_MESSAGES_UNDER_WAY = 32 };

/* 1 when a team's nodes have the memory that this takes; equal on all ranks. */
int xyl_han_varying_fits(const xyl_han_t *han);

/* The longest block of a node's rank that is in the bundle. */
uint64_t xyl_han_short_max(const xyl_han_t *han, uint32_t node);

static inline int xyl_han_is_bundled(const xyl_han_t *han, uint32_t node,
                                     uint64_t bytes)
{
    return xyl_levels_seats(han->levels, node) > 1 &&
           bytes <= xyl_han_short_max(han, node);
}

/* What this rank has in its node's bundle; and what goes straight. Of no use
 * on the root's node. */
static inline uint64_t xyl_han_own_bundled(const xyl_han_t *han)
{
    uint64_t own = han->problem.count;

    return xyl_han_is_bundled(han, han->levels->node, own) ? own : 0;
}

static inline uint64_t xyl_han_own_straight(const xyl_han_t *han)
{
    return han->problem.count - xyl_han_own_bundled(han);
}

/* ---- at the root ---- */

/* A rank's block. */
typedef struct xyl_han_block {
    uint32_t rank;
    uint64_t bytes, at;
} xyl_han_block_t;

xyl_han_block_t xyl_han_block(const xyl_han_t *han, uint32_t node,
                              uint32_t seat);

/* A node's bundle. */
typedef struct xyl_han_bundle {
    uint64_t bytes;
    uint64_t at;      /* of the first block in it that is not empty */
    int lie_together; /* there, as in the bundle */
} xyl_han_bundle_t;

xyl_han_bundle_t xyl_han_bundle(const xyl_han_t *han, uint32_t node);

/* ---- stages ---- */

/* Within the root's node, whatever blocks there are; `coll`: the collective. */
xylem_status_t xyl_han_add_root_node(const xyl_han_t *han,
                                     const xyl_han_stage_t *stage);

/* What a leader hears of: bytes that each seat has in the bundle. */
typedef struct xyl_han_lengths {
    uint32_t seats;
    uint64_t *told; /* [seats] */
} xyl_han_lengths_t;

/* At another node's leader: slots for what is in the bundle, in SCRATCH, of
 * xyl_han_short_max bytes, by seat; and room for the bundle behind. Belongs to
 * the operation; NULL: no memory, and it has been said. */
xyl_han_lengths_t *xyl_han_make_slots(const xyl_han_t *han);

static inline xyl_position_t xyl_han_slot(const xyl_han_t *han, uint32_t seat)
{
    return xyl_position(XYL_BUFFER_RECV,
                        seat * xyl_han_short_max(han, han->levels->node));
}

static inline xyl_position_t xyl_han_bundle_room(const xyl_han_t *han)
{
    return xyl_han_slot(han, han->seats.size);
}

/* Within another node: from seats into slots, or from slots to seats. The seats
 * tell each other lengths first; `lengths` gets them, NULL: they are not wanted
 * here. */
xylem_status_t xyl_han_add_slots(const xyl_han_t *han,
                                 const xyl_han_lengths_t *lengths,
                                 const xyl_han_stage_t *stage);
/* They do that alone. */
xylem_status_t xyl_han_add_telling(const xyl_han_t *han,
                                   const xyl_han_lengths_t *lengths,
                                   uint32_t number);

/* ---- all of it ---- */

/* What the two do in their own ways; blocks go one way or the other. */
typedef struct xyl_han_varying {
    xylem_status_t (*add_root)(const xyl_han_t *han);   /* on the root's node */
    xylem_status_t (*add_levels)(const xyl_han_t *han); /* short, elsewhere */
    xylem_status_t (*add_straight)(const xyl_han_t *han); /* long, elsewhere */
    const xyl_algorithm_t *flat; /* where the nodes have no memory for it */
} xyl_han_varying_t;

xylem_status_t xyl_han_add_varying(xyl_han_t *han,
                                   const xyl_han_varying_t *way);

#endif
