/* What collectives of several levels are put together from: groups, places of
 * blocks, and stages, of which each moves all there is at once, or segments.
 *
 * Blocks in *node order* lie node after node, and on each in the order of
 * seats. Where ranks fill node after node that is the order of ranks.
 */
#ifndef XYL_COLLECTIVES_LEVELS_PARTS_H
#define XYL_COLLECTIVES_LEVELS_PARTS_H

#include "collectives/data/call.h"
#include "collectives/data/schedule.h"
#include "collectives/levels/team_levels.h"
#include "collectives/node/program.h"
#include "collectives/stages/choice.h"
#include "collectives/stages/exchange_stage.h"

/* What is being composed, on this rank. Composing never fails in the call: the
 * first error is kept, after which nothing is added. */
typedef struct xyl_han {
    xylem_status_t status;
    xyl_operation_t *operation;
    const xyl_call_t *call; /* NULL where segments are moved */
    const xylem_coll_args_t *args;
    const xyl_sides_t *sides;
    const xyl_choice_t *choice;
    const xyl_levels_t *levels;
    xyl_group_t seats;  /* of this node */
    uint32_t sequences; /* numbers that a stage may use, equal on all ranks */
    /* Of the lane: */
    uint32_t lane;       /* 0 where all goes at once */
    xyl_group_t leaders; /* one of each node; `rank` is the node's number */
    uint32_t net_root;   /* among them: the root's node */
    uint32_t leader;     /* seat of this node's leader */
    /* Of those that move all there is at once: */
    xyl_problem_t problem; /* the call's */
    /* Of those that move segments: */
    uint32_t root;      /* of the team; XYL_HAN_NO_ROOT: all get the result */
    int is_private;     /* input and result lie in the operation's own buffer */
    uint32_t node_root; /* seat from which, or to which, the node's stage is */
    xyl_stage_t *beside; /* that of the lane before, from which it is sent on;
                            NULL: there is none */
} xyl_han_t;

#define XYL_HAN_NO_ROOT UINT32_MAX
#define XYL_HAN_LAST    UINT32_MAX

/* The schedule for a level; see xyl_chooser_t. */
static inline const xyl_algorithm_t *
xyl_han_choose(const xyl_han_t *han, uint32_t level,
               const xyl_problem_t *problem, uint64_t bytes,
               uint32_t *radix_out)
{
    return han->choice->chooser->level(han->operation->request.team, level,
                                       problem, bytes, radix_out);
}

/* The ranks of this node become han->seats. */
void xyl_han_find_seats(xyl_han_t *han);

/* Makes seat `turn` of every node the leader of the lane, counted round where
 * there are fewer; XYL_HAN_LAST: the last. `root` leads its node, which is the
 * net's root; XYL_HAN_NO_ROOT: it is node 0. */
void xyl_han_choose_leaders(xyl_han_t *han, uint32_t turn, uint32_t root);

static inline int xyl_han_leads(const xyl_han_t *han)
{
    return han->seats.rank == han->leader;
}

/* This rank takes part between nodes. One alone on the only node does, too, so
 * that it comes to an end. */
static inline int xyl_han_is_in_net(const xyl_han_t *han)
{
    return xyl_han_leads(han) &&
           (han->levels->nodes > 1 || han->seats.size == 1);
}

static inline int xyl_han_is_root(const xyl_han_t *han)
{
    return han->problem.rank == han->problem.root;
}

/* The root is on this node. */
static inline int xyl_han_has_root(const xyl_han_t *han)
{
    return han->levels->node == han->net_root;
}

/* Ranks that follow each other, among those of a node from seat `first` on: how
 * many. */
uint32_t xyl_han_run(const xyl_levels_t *levels, uint32_t node, uint32_t first);

/* An array for planning, in the operation's arena; NULL: no memory. */
uint64_t *xyl_han_array(xyl_han_t *han, uint64_t count);

/* Blocks of the call's problem: arrays as above. 0: no memory. */
typedef struct xyl_han_blocks {
    uint64_t *counts, *places;
} xyl_han_blocks_t;

/* [seats] of this node's seats, where they lie among those of all ranks. */
int xyl_han_find_blocks(xyl_han_t *han, xyl_han_blocks_t *blocks_out);

/* [nodes] what the ranks of each node have, in node order; the end of all of it
 * stands behind the last place. */
int xyl_han_find_nodes(xyl_han_t *han, xyl_han_blocks_t *nodes_out);

/* Buffers of the operation; each at most once. */
void xyl_han_make_scratch(xyl_han_t *han, uint64_t bytes);
void xyl_han_make_spare(xyl_han_t *han, uint64_t bytes);

/* ---- stages ---- */

/* The stages of a lane are numbered alike on all ranks, whichever a rank has;
 * below: */
enum { XYL_HAN_STAGES = 4 };

typedef struct xyl_han_stage {
    uint32_t number;
    xyl_role_t reads, writes;  /* what is called SEND, and RECV */
    uint64_t send_at, recv_at; /* where these begin; in elements */
    /* It does not wait for the stage before; but where the user hears of what
     * is there, that is all, and it does. */
    int is_apart;
    xyl_exchange_trim_fn trim; /* of a schedule; NULL: it is as written */
    const void *trim_arg;
} xyl_han_stage_t;

/* Of the lane, behind what there is. */
xyl_stage_spec_t xyl_han_spec(const xyl_han_t *han, uint32_t number,
                              xyl_role_t reads, xyl_role_t writes);

/* A collective among the seats, through memory or, where that cannot be had,
 * over the net. `problem` needs all but who takes part and what is the node's;
 * arrays may go afterwards. */
void xyl_han_add_node(xyl_han_t *han, const xyl_problem_t *problem,
                      const xyl_han_stage_t *stage);

/* Writes the collective's program for that; and adds one, of any origin. */
void xyl_han_write_program(xyl_han_t *han, const xyl_problem_t *problem,
                           xyl_node_program_t *program);
void xyl_han_add_program(xyl_han_t *han, xyl_node_program_t *program,
                         const xyl_han_stage_t *stage);

/* A schedule of its own; peers are ranks of the team. */
typedef void (*xyl_han_write_fn)(const xyl_han_t *han, const void *arg,
                                 xyl_schedule_t *schedule);
void xyl_han_add_written(xyl_han_t *han, xyl_han_write_fn write,
                         const void *arg, const xyl_han_stage_t *stage);

/* An algorithm's schedule among the leaders. */
void xyl_han_add_net(xyl_han_t *han, const xyl_algorithm_t *algorithm,
                     const xyl_problem_t *problem,
                     const xyl_han_stage_t *stage);

/* An algorithm's schedule among all ranks. */
void xyl_han_add_flat(xyl_han_t *han, const xyl_algorithm_t *algorithm,
                      const xyl_problem_t *problem,
                      const xyl_han_stage_t *stage);

#endif
