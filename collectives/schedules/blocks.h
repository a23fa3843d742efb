/* Blocks of several ranks in one message, for allgather and allgatherv. A
 * message carries the blocks of ranks that follow each other (rank 0 follows
 * the last), one behind the other. Its sender and its receiver may keep the
 * blocks at different displacements, but with the same counts.
 *
 * A rank whose blocks lie one behind the other receives them in their places,
 * and passes them on from there. Any other rank has a second set of all blocks
 * in the temporary buffer, the *store*, and copies arriving blocks from there
 * to their places.
 *
 * An xyl_blocks_t belongs to one thread. */
#pragma once

#include "collectives/schedules/algorithm.h"

typedef struct xyl_blocks {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    uint64_t *before;   /* [ranks + 1] elements of all blocks before; NULL: all
                           blocks are of one size */
    int is_packed;      /* one behind the other in RECV, */
    uint64_t packed_at; /* from here on */
    xyl_position_t own; /* the own block, as the user gave it */
    /* After this action the own block is in RECV, too; XYL_ACTION_NONE: it is
     * there from the start. */
    xyl_action_t owned;
} xyl_blocks_t;

/* Also puts the own block into its place. If there is no memory, the schedule
 * fails, and all other functions here have no effect. */
void xyl_blocks_init(xyl_blocks_t *blocks, const xyl_problem_t *problem,
                     xyl_schedule_t *schedule);
void xyl_blocks_fini(xyl_blocks_t *blocks);

/* Elements of `number` blocks, from that of rank `first` on; rank 0 follows the
 * last. */
uint64_t xyl_blocks_count(const xyl_blocks_t *blocks, uint32_t first,
                          uint64_t number);

/* 1: these blocks lie one behind the other in RECV, from *at_out on. */
int xyl_blocks_lie_together(const xyl_blocks_t *blocks, uint32_t first,
                            uint64_t number, xyl_position_t *at_out);

/* Copies blocks, one behind the other at `from` when `after` is finished, to
 * their places; the own block is not among them. */
void xyl_blocks_copy_out(const xyl_blocks_t *blocks, uint32_t first,
                         uint64_t number, xyl_position_t from,
                         xyl_action_t after);

/* ---- blocks in the order of ranks ---- */

typedef struct xyl_store {
    const xyl_blocks_t *blocks;
    xyl_position_t at; /* of the block of rank 0 */
} xyl_store_t;

xyl_store_t xyl_store_make(const xyl_blocks_t *blocks);

/* For a rank that passes its own block on from the store: returns the action
 * after which the block is there. */
xyl_action_t xyl_store_own(const xyl_store_t *store);

/* Sends blocks [first, end) when `after` is finished. The own block alone is
 * sent at once, from the place where the user has it. */
void xyl_store_send(const xyl_store_t *store, uint32_t peer, uint32_t label,
                    uint32_t first, uint32_t end, xyl_action_t after);

/* Receives blocks [first, end) and puts them into their places. Returns the
 * action after which they are in the store; XYL_ACTION_NONE: they are empty. */
xyl_action_t xyl_store_recv(const xyl_store_t *store, uint32_t peer,
                            uint32_t label, uint32_t first, uint32_t end);
