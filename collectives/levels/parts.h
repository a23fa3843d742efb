/* The parts of collectives of several levels: groups, places of blocks, and
 * stages. A stage moves the whole message at once, or segments.
 *
 * Blocks in *node order* lie node after node, and on a node in the order of its
 * seats. */
#pragma once

#include "collectives/data/call.h"
#include "collectives/data/schedule.h"
#include "collectives/levels/team_levels.h"
#include "collectives/node/program.h"
#include "collectives/stages/choice.h"
#include "collectives/stages/exchange_stage.h"

/* A lane's way between nodes. */
typedef struct xyl_han_net {
    uint32_t leader;           /* seat of this node */
    xyl_stage_t *first, *last; /* the leader's stages; else NULL */
} xyl_han_net_t;

/* Lengths and places of blocks of the call's problem. */
typedef struct xyl_han_blocks {
    uint64_t *counts, *places;
} xyl_han_blocks_t;

/* The operation that this rank composes. Functions that add stages return no
 * error: `status` keeps the first error, and no stage is added after it. */
typedef struct xyl_han {
    xylem_status_t status;
    xyl_operation_t *operation;
    const xyl_call_t *call; /* NULL if stages move segments */
    const xylem_coll_args_t *args;
    const xyl_sides_t *sides;
    const xyl_choice_t *choice;
    const xyl_levels_t *levels;
    xyl_group_t seats;  /* of this node */
    uint32_t sequences; /* for a stage's messages; equal on all ranks */
    /* These members describe the lane that is being added: */
    uint32_t lane;       /* 0 if the message moves at once */
    xyl_group_t leaders; /* one per node; `rank` is this node's number */
    uint32_t net_root;   /* the root among the leaders: the root's node */
    uint32_t leader;     /* seat of this node's leader */
    /* Only if the whole message moves at once: */
    xyl_problem_t problem;  /* the call's */
    xyl_han_blocks_t nodes; /* once xyl_han_find_nodes has found them */
    const void *arg;        /* for the collective's own functions */
    uint32_t root; /* a team rank; XYL_HAN_NO_ROOT: all get the result */
    /* Only if segments move: */
    int is_private;     /* input and result lie in the operation's own buffer */
    uint32_t node_root; /* the seat that is the root of the node's stage */
    xyl_stage_t *beside; /* node stage of the last relayed lane; NULL: none */
    /* Only if choice->on_gpus does the levels within this node: */
    xyl_han_net_t *nets; /* [lanes] */
    void *level;         /* state of on_gpus from level->begin to level->end */
} xyl_han_t;

#define XYL_HAN_NO_ROOT UINT32_MAX
#define XYL_HAN_LAST    UINT32_MAX

/* Chooses the algorithm of a level's schedule; see xyl_chooser_t. */
static inline const xyl_algorithm_t *
xyl_han_choose(const xyl_han_t *han, uint32_t level,
               const xyl_problem_t *problem, uint64_t bytes,
               uint32_t *radix_out)
{
    return han->choice->chooser->level(han->operation->request.team, level,
                                       problem, bytes, radix_out);
}

/* Sets han->seats to the team's ranks on this node. */
void xyl_han_find_seats(xyl_han_t *han);

/* Chooses the lane's leaders: on each node the seat `turn` modulo the node's
 * seats (XYL_HAN_LAST: the last seat), but on the root's node the root. The
 * net's root is the root's node (XYL_HAN_NO_ROOT: node 0). */
void xyl_han_choose_leaders(xyl_han_t *han, uint32_t turn, uint32_t root);

static inline int xyl_han_leads(const xyl_han_t *han)
{
    return han->seats.rank == han->leader;
}

/* 1: this rank is the only one of its node. */
static inline int xyl_han_is_alone(const xyl_han_t *han)
{
    return han->seats.size == 1;
}

/* 1: this rank takes part between nodes. So does the only rank of the only
 * node, so that its operation has a stage and completes. */
static inline int xyl_han_is_in_net(const xyl_han_t *han)
{
    return xyl_han_leads(han) &&
           (han->levels->nodes > 1 || xyl_han_is_alone(han));
}

static inline int xyl_han_is_root(const xyl_han_t *han)
{
    return han->problem.rank == han->problem.root;
}

/* 1: the root is on this node. */
static inline int xyl_han_has_root(const xyl_han_t *han)
{
    return han->levels->node == han->net_root;
}

/* How many ranks of a node, from seat `first` on, have consecutive numbers. */
uint32_t xyl_han_run(const xyl_levels_t *levels, uint32_t node, uint32_t first);

/* An array for planning, in the operation's arena; NULL: no memory. */
uint64_t *xyl_han_array(xyl_han_t *han, uint64_t count);

/* Finds the lengths and the places of this node's blocks, [seats], in arrays of
 * xyl_han_array. 0: no memory. */
int xyl_han_find_blocks(xyl_han_t *han, xyl_han_blocks_t *blocks_out);

/* Finds han->nodes, [nodes]: length and place of the blocks of each node
 * together, in node order; places[nodes] is the end of the last. 0: no memory.
 */
int xyl_han_find_nodes(xyl_han_t *han);

/* Writes copies of a node's blocks from SEND to RECV: if `out`, from node order
 * to their places; else from their places into node order. */
void xyl_han_copy_blocks(const xyl_han_t *han, xyl_schedule_t *schedule,
                         uint32_t node, int out);

/* Allocate a buffer of the operation. Each function is called at most once.
 * GPUs reach scratch memory, too, if they may do the levels within this node.
 */
void xyl_han_make_scratch(xyl_han_t *han, uint64_t bytes);
void xyl_han_make_spare(xyl_han_t *han, uint64_t bytes);

/* ---- stages ---- */

/* A stage of a lane has the same number on all ranks, even if a rank lacks
 * other stages. Numbers are less than XYL_HAN_STAGES. */
enum { XYL_HAN_STAGES = 4 };

typedef struct xyl_han_stage {
    uint32_t number;
    xyl_role_t reads, writes;  /* the stage's SEND and RECV */
    uint64_t send_at, recv_at; /* offsets in SEND and RECV; in elements */
    /* 1: the stage does not wait for the stage before it, unless the user has a
     * callback for segments or the operation is mirrored. */
    int is_apart;
    xyl_exchange_trim_fn trim; /* of the schedule; NULL: it stays as it is */
    const void *trim_arg;
} xyl_han_stage_t;

static inline xyl_han_stage_t xyl_han_stage(uint32_t number, xyl_role_t reads,
                                            xyl_role_t writes)
{
    return (xyl_han_stage_t){
        .number = number, .reads = reads, .writes = writes};
}

/* The spec of a new last stage of the lane. */
xyl_stage_spec_t xyl_han_spec(const xyl_han_t *han, uint32_t number,
                              xyl_role_t reads, xyl_role_t writes);

/* Adds a collective among the seats: through memory, or over the net if memory
 * has no room. The function fills in `rank`, `ranks` and `node` of a copy of
 * `problem`. The caller may free the problem's arrays afterwards. */
void xyl_han_add_node(xyl_han_t *han, const xyl_problem_t *problem,
                      const xyl_han_stage_t *stage);

/* The two halves of xyl_han_add_node in memory: one writes a collective's
 * program, the other adds any program. */
void xyl_han_write_program(xyl_han_t *han, const xyl_problem_t *problem,
                           xyl_node_program_t *program);
void xyl_han_add_program(xyl_han_t *han, xyl_node_program_t *program,
                         const xyl_han_stage_t *stage);

/* Adds a schedule that `write` writes; its peers are ranks of the team. */
typedef void (*xyl_han_write_fn)(const xyl_han_t *han,
                                 xyl_schedule_t *schedule);
void xyl_han_add_written(xyl_han_t *han, xyl_han_write_fn write,
                         const xyl_han_stage_t *stage);

/* Notes that the stage that was added last is a stage of the lane between
 * nodes. */
void xyl_han_note_net(const xyl_han_t *han);

/* Adds an algorithm's schedule among the leaders, and notes the stage. */
void xyl_han_add_net(xyl_han_t *han, const xyl_algorithm_t *algorithm,
                     const xyl_problem_t *problem,
                     const xyl_han_stage_t *stage);

/* Adds an algorithm's schedule among all ranks. */
void xyl_han_add_flat(xyl_han_t *han, const xyl_algorithm_t *algorithm,
                      const xyl_problem_t *problem,
                      const xyl_han_stage_t *stage);

/* Add stages of the algorithm that runs the levels within this node on GPUs, if
 * there is one: level_begin before the stages of all lanes, level_end behind
 * them. */
void xyl_han_level_begin(xyl_han_t *han);
void xyl_han_level_end(xyl_han_t *han, const xyl_call_t *call);
