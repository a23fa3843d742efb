/* Collectives in the memory of a node: from the arguments of a call to an
 * operation with a node stage. */
#ifndef XYL_COLLECTIVES_NODE_H
#define XYL_COLLECTIVES_NODE_H

#include <sys/queue.h>

#include "collectives/data/call.h"
#include "collectives/data/modules.h"
#include "collectives/node/program.h"
#include "collectives/stages/choice.h"
#include "progress/shm/pool.h"

/* Places for boards in the directory of this node's memory. A rank that has
 * drawn a place gets a board, whatever other ranks do. Each rank of a new team
 * draws a place, and tells the others whether it has one; if any rank has none,
 * the team goes over the net. Any thread. xyl_node_place_draw returns 0 if no
 * place is free. */
int xyl_node_place_draw(xylem_context_t *context);
void xyl_node_place_return(xylem_context_t *context);
/* The team takes the place that this rank has drawn, if all ranks have one;
 * once, before the team is used. */
void xyl_node_team_places(xylem_team_t *team, int has_place, int all_have);

/* A board that this rank keeps, for a team of `size` ranks (0: not known) that
 * is made of `parent`; NULL: it keeps none. Any thread, as the next two. */
struct xyl_board *xyl_node_board_offered(const xylem_team_t *parent,
                                         uint32_t size);
/* Called after xyl_node_team_places. The team takes the board that all its
 * ranks have offered, unless the board is of other ranks. 1: it has. */
int xyl_node_team_takes_board(xylem_team_t *team, struct xyl_board *board);
/* This rank gives the board up; NULL is allowed. */
void xyl_node_board_give_up(xylem_context_t *context, struct xyl_board *board);

/* Tells ranks that wait for this rank's next call that a call was refused.
 * `call` is its word; 0: no call was refused, but a request could not be made.
 * The team fails if this rank cannot have its board. Any thread. */
void xyl_node_refused(xylem_team_t *team, uint64_t call, xylem_status_t status);

/* A word that the ranks of a team on one node share, 0 in the beginning, for
 * the layers above; NULL: there is no memory. Any thread. */
_Atomic uint64_t *xyl_node_team_word(xylem_team_t *team, int is_of_tags);

/* 1 when the team has a board once a call needs it; equal on all ranks. */
int xyl_node_may_have_board(const xylem_team_t *team);
/* The team's board, made if it is not there; with the team's lock. */
struct xyl_board;
xylem_status_t xyl_node_board_locked(xylem_team_t *team,
                                     struct xyl_board **board_out);
/* Makes one more board of the same ranks, by a key of its own. */
xylem_status_t xyl_node_board_create(xylem_team_t *team, uint64_t key,
                                     struct xyl_board **board_out);
/* The state that tagged.c keeps with a team. */
struct xyl_tagged **xyl_node_tagged_of(const xylem_team_t *team);

/* 1 when programs for such a problem fit into the team's board; equal on all
 * ranks. */
int xyl_node_is_possible(const xylem_team_t *team,
                         const xyl_problem_t *problem);

/* Fills in the node's own part of a problem of these ranks, which share memory.
 * Fails for want of memory. */
xylem_status_t xyl_node_outline(xylem_team_t *team, const xyl_group_t *seats,
                                xyl_problem_t *problem);

/* For a team on one node whose context has shm. Returns owned (free with
 * xyl_request_discard, or by the user), its buffers not bound yet. */
xylem_status_t xyl_node_create(const xyl_call_t *call,
                               const xyl_choice_t *choice,
                               xyl_operation_t **operation_out);

/* A bcast or reduce within a node, as one level of several. */
typedef struct xyl_node_part {
    xylem_coll_t coll;
    const xyl_algorithm_t *algorithm; /* NULL: that of `chooser` */
    const xyl_chooser_t *chooser;
    const xyl_algorithm_t *named; /* named to the chooser; NULL: none is */
    uint32_t named_radix;
    xyl_group_t group; /* the team's ranks of this node */
    uint32_t root;     /* among them */
    int is_in_place;
    int roots_in_turn;   /* other lanes have the other ranks as their roots */
    int is_for_one;      /* only one rank of the team gets the result */
    int is_beside_trees; /* the other level passes segments on singly */
} xyl_node_part_t;

/* Adds a stage to a lane whose segments are consecutive. *stage_out NULL: the
 * node shares no memory, or its memory has no room for such segments; alike on
 * all ranks of the node. */
xylem_status_t xyl_node_part_add(xyl_operation_t *operation,
                                 const xyl_stage_spec_t *spec,
                                 const xyl_node_part_t *part,
                                 xyl_stage_t **stage_out);

/* Whole collectives within a node, as levels of several: their stages wait for
 * all of their input, and emit once, at the end. */

/* 1 when a node's memory would have room for programs of so many seats; alike
 * on all ranks. */
int xyl_node_would_have_room(const xylem_team_t *team, uint32_t seats);
/* 1 when this node shares memory with such room; alike on all its ranks. */
int xyl_node_has_room(const xylem_team_t *team, uint32_t seats, uint64_t unit);
/* Bytes that a piece may have in the window. */
uint64_t xyl_node_window_bytes(const xylem_team_t *team);
/* Writes a collective's program; fills in the node's part of the problem. */
xylem_status_t xyl_node_level_write(xylem_team_t *team,
                                    const xyl_group_t *seats,
                                    const xyl_chooser_t *chooser,
                                    const xyl_problem_t *problem,
                                    xyl_node_program_t *program);
xylem_status_t
xyl_node_level_add(xyl_operation_t *operation, const xyl_stage_spec_t *spec,
                   const xyl_group_t *seats, xyl_node_program_t *program,
                   const xyl_layouts_t *layouts, xyl_stage_t **stage_out);

/* Key of the pool of windows; keys of teams are greater. */
enum { XYL_NODE_POOL_KEY = 1 };

/* The state of a context: the progressing thread's, except as noted. */
typedef struct xyl_node_context {
    LIST_HEAD(, xyl_board) busy; /* boards with stages under way */
    uint64_t moved;              /* bytes, on busy boards in this turn */
    unsigned hasty_stages;       /* on busy boards; see is_hasty */
    /* By the context's lock: boards to be destroyed, and those of kept.h. */
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

extern const xyl_module_t xyl_node_module;

#endif
