/* The state of this folder in contexts and teams (runtime/core/module.h). */
#pragma once

#include "collectives/board/board.h"
#include "collectives/data/modules.h"
#include "progress/shm/pool.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* Key of the pool of windows; keys of teams are greater. */
enum { XYL_NODE_POOL_KEY = 1 };

/* The state in a context. The progressing thread uses it, except as noted. */
typedef struct xyl_node_context {
    LIST_HEAD(, xyl_board) busy; /* boards with stages under way */
    uint64_t moved;              /* bytes, on busy boards in this turn */
    unsigned hasty_stages; /* on busy boards; see is_hasty of stage_inside.h */
    /* Under the context's lock: boards to be destroyed, and those of kept.h. */
    struct xyl_board *left;
    struct xyl_board *kept;
    _Atomic uint32_t places; /* drawn */
    _Atomic int is_short;    /* a board could not be mapped */
    xyl_shm_pool_t pool;     /* of windows; see board.h */
} xyl_node_context_t;

static inline xyl_node_context_t *
xyl_node_of_context(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_NODE];
}

/* The state in a team. Its parts are made when they are needed, under the
 * team's lock. */
typedef struct xyl_node_team {
    xyl_board_t *board;
    struct xyl_tagged *tagged; /* tagged.h; NULL: no call has had a tag */
    uint32_t *group_of;        /* of its seats; see groups.h */
    int has_place;
} xyl_node_team_t;

static inline xyl_node_team_t *xyl_node_of_team(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_NODE];
}
