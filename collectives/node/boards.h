/* The boards of teams. A board is made when a call needs it. A team that ends
 * keeps its board for the next team of the same ranks, or leaves it. */
#pragma once

#include "collectives/board/board.h"
#include "runtime/core/group.h"
#include "runtime/core/team.h"

/* Places for boards in the directory of this node's memory. A rank that has
 * drawn a place gets a board, whatever other ranks do. Each rank of a new team
 * draws a place, and tells the others whether it has one; if any rank has none,
 * the team goes over the net. Any thread calls these functions.
 * xyl_node_place_draw returns 0 if no place is free. */
int xyl_node_place_draw(xylem_context_t *context);
void xyl_node_place_return(xylem_context_t *context);
/* The team takes the place that this rank has drawn, if all ranks have one;
 * once, before the team is used. */
void xyl_node_team_places(xylem_team_t *team, int has_place, int all_have);

/* Takes a board that this rank keeps, to offer it to a new team that is made of
 * `parent` and has `size` ranks (0: not known). NULL: this rank keeps none. Any
 * thread calls this function and the next two. */
xyl_board_t *xyl_node_board_offered(const xylem_team_t *parent, uint32_t size);
/* Called after xyl_node_team_places. The team takes the board that all its
 * ranks have offered, unless the board has other ranks. 1: the team has taken
 * it. */
int xyl_node_team_takes_board(xylem_team_t *team, xyl_board_t *board);
/* This rank gives the board up; NULL is allowed. */
void xyl_node_board_give_up(xylem_context_t *context, xyl_board_t *board);

/* 1: the team gets a board when a call needs it; equal on all ranks. */
int xyl_node_may_have_board(const xylem_team_t *team);
/* The board of `seats`, the team's ranks on this node; made if it is not there.
 * The caller holds the team's lock. */
xylem_status_t xyl_node_board_locked(xylem_team_t *team,
                                     const xyl_group_t *seats,
                                     xyl_board_t **board_out);
/* The same. Takes the lock itself. */
xylem_status_t xyl_node_board_of(xylem_team_t *team, const xyl_group_t *seats,
                                 xyl_board_t **board_out);
/* The same for a team on one node. NULL: no memory. */
xyl_board_t *xyl_node_board_of_team(xylem_team_t *team);
/* Makes one more board of `seats`, with the key `key`. */
xylem_status_t xyl_node_board_create(xylem_team_t *team,
                                     const xyl_group_t *seats, uint64_t key,
                                     xyl_board_t **board_out);

/* The longest window, for an operation that keeps partials of late seats; at
 * most three eighths of the pool. */
uint64_t xyl_node_longest_window(const xylem_context_t *context);

/* The team no longer uses `boards`, linked by next_left; each is destroyed when
 * all its seats have come to it. */
void xyl_node_boards_leave(xylem_context_t *context, xyl_board_t *boards);
/* Destroys all boards at the end of the context, when no rank has a team any
 * more. */
void xyl_node_boards_end(xylem_context_t *context);
