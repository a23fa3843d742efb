/* Calls with tags in the memory of a node. Each tag has a board of its own, a
 * berth (berths.h); docs/inside/node.md says how long the tag keeps it.
 *
 * Any thread calls these functions, for a team on one node. */
#pragma once

#include "collectives/board/board.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"

/* The tags of a team; NULL: it has made no call with a tag. */
typedef struct xyl_tagged xyl_tagged_t;

/* Joins the tag. *has_board_out 0: there is no board for the tag, so its calls
 * go over the net; all ranks find the same. `is_request`: the call may be
 * started again, and leaves the tag later if this returns XYLEM_OK. */
xylem_status_t xyl_node_tag_join(xylem_team_t *team, uint32_t tag,
                                 int is_request, int *has_board_out);
/* Called when a request that has joined the tag is freed. */
void xyl_node_tag_leave(xylem_team_t *team, uint32_t tag);
/* The board of a tag that has one. */
xyl_board_t *xyl_node_tag_board(xylem_team_t *team, uint32_t tag);

/* Called when the team ends. Puts its boards in front of `boards`, linked by
 * next_left; returns the first. */
xyl_board_t *xyl_tagged_end(xyl_tagged_t *tagged, xyl_board_t *boards);
