/* Calls with tags in the memory of a node: each tag has a board of its own, a
 * berth (berths.h), from the first call with it on, or from when a request that
 * may be started again is made. The tag keeps its board to the team's end,
 * unless all such requests of all ranks with the tag are freed, and no other
 * call has had the tag.
 *
 * Any thread, for a team on one node. */
#ifndef XYL_COLLECTIVES_NODE_TAGGED_H
#define XYL_COLLECTIVES_NODE_TAGGED_H

#include "collectives/board/board.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"

/* The tags of a team; NULL: it has made no such call. */
typedef struct xyl_tagged xyl_tagged_t;

/* *has_board_out 0: calls with the tag go over the net, as there is no board
 * for them; all ranks find the same. `is_request`: the call may be started
 * again, and leaves the tag later if this returns XYLEM_OK. */
xylem_status_t xyl_node_tag_join(xylem_team_t *team, uint32_t tag,
                                 int is_request, int *has_board_out);
/* Leaves the tag for such a request, when that is given up. */
void xyl_node_tag_leave(xylem_team_t *team, uint32_t tag);
/* The board of a tag that has one. */
xyl_board_t *xyl_node_tag_board(xylem_team_t *team, uint32_t tag);

/* The team ends: its boards are put in front of `boards`, by next_left. */
xyl_board_t *xyl_tagged_end(xyl_tagged_t *tagged, xyl_board_t *boards);

#endif
