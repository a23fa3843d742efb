/* Boards that teams have left when they ended, for the next team of the same
 * ranks: a new board costs a hundred microseconds. When the ranks of a new team
 * exchange their rows, a rank may offer a board in its row
 * (docs/inside/node.md, "Berths and kept boards").
 *
 * No rank has to keep a board, or to offer one. A rank gives up a board that it
 * has offered in vain. Any thread calls these functions; they take the
 * context's lock. */
#pragma once

#include "collectives/board/board.h"
#include "runtime/core/context.h"

/* A rank's offer of a board, a part of its row. Ranks that have made the same
 * calls on the board make equal offers. */
typedef struct xyl_kept_offer {
    uint64_t key; /* 0: the rank offers none */
    uint64_t next, past;
    uint64_t word; /* the board's XYL_SPARE_CALLS */
} xyl_board_offer_t;

/* Keeps the board of a team that was made of this parent. Returns owned the
 * oldest kept board if it has to give way, else NULL. */
xyl_board_t *xyl_kept_put(xylem_context_t *context, xyl_board_t *board,
                          uint64_t parent_key);
/* Takes the board kept last for this parent, with `seats` seats (0: any
 * number). Returns owned, or NULL. */
xyl_board_t *xyl_kept_take(xylem_context_t *context, uint64_t parent_key,
                           uint32_t seats);
/* Takes all kept boards. Returns owned, linked by next_left. */
xyl_board_t *xyl_kept_take_all(xylem_context_t *context);

xyl_board_offer_t xyl_kept_offer(const xyl_board_t *board);
int xyl_kept_offers_equal(const xyl_board_offer_t *a,
                          const xyl_board_offer_t *b);
