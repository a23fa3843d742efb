/* What collectives of several levels are put together from where each level
 * moves all there is at once: groups, places of blocks, and stages.
 *
 * Blocks in *node order* lie node after node, and on each in the order of
 * seats. Where ranks fill node after node that is the order of ranks.
 */
#ifndef XYL_COLLECTIVES_HAN_PARTS_H
#define XYL_COLLECTIVES_HAN_PARTS_H

#include "collectives/exchange.h"
#include "collectives/node/program.h"
#include "runtime/team_levels.h"

/* What is being composed, on this rank. */
typedef struct xyl_han {
    xyl_operation_t *operation;
    const xylem_coll_args_t *args;
    const xyl_sides_t *sides;
    const xyl_choice_t *choice;
    const xyl_levels_t *levels;
    xyl_problem_t problem; /* the call's; in bytes where nothing is combined */
    xyl_group_t leaders;   /* one of each node; `rank` is the node's number */
    uint32_t net_root;     /* among them: the root's node */
    xyl_group_t seats;     /* of this node */
    uint32_t leader;       /* seat of this node's leader */
} xyl_han_t;

/* The ranks of this node. */
xylem_status_t xyl_han_find_seats(xyl_operation_t *operation,
                                  const xyl_levels_t *levels,
                                  xyl_group_t *seats_out);

/* Makes seat `seat` of every node its leader, on nodes with fewer the last; but
 * of the problem's root's node, if the collective has one, the root. */
xylem_status_t xyl_han_choose_leaders(xyl_han_t *han, uint32_t seat);

static inline int xyl_han_leads(const xyl_han_t *han)
{
    return han->seats.rank == han->leader;
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

/* Between leaders, with all blocks of a node in one message: the radix of the
 * tree along which these are gathered or scattered; 0: none, they go straight.
 */
uint32_t xyl_han_tree_radix(const xyl_han_t *han);

/* Ranks that follow each other, among those of a node from seat `first` on: how
 * many. */
uint32_t xyl_han_run(const xyl_levels_t *levels, uint32_t node, uint32_t first);

/* An array for planning, in the operation's arena; NULL: no memory, and it has
 * been said. */
uint64_t *xyl_han_array(const xyl_han_t *han, uint64_t count);

/* Where the blocks of this node's seats lie among those of all ranks, by seat:
 * an array as above. */
uint64_t *xyl_han_places(const xyl_han_t *han);

/* Buffers of the operation; each at most once. */
xylem_status_t xyl_han_make_scratch(const xyl_han_t *han, uint64_t bytes);
xylem_status_t xyl_han_make_spare(const xyl_han_t *han, uint64_t bytes);

/* ---- stages ---- */

/* The stages of an operation are numbered alike on all ranks, whichever a rank
 * has; below: */
enum { XYL_HAN_STAGES = 4 };

typedef struct xyl_han_stage {
    uint32_t number;
    xyl_role_t reads, writes;  /* what is called SEND, and RECV */
    uint64_t send_at, recv_at; /* where these begin; in elements */
} xyl_han_stage_t;

/* A collective among the seats, through memory or, where that cannot be had,
 * over the net. `problem` needs what is not the node's own; arrays may go
 * afterwards. */
xylem_status_t xyl_han_add_node(const xyl_han_t *han,
                                const xyl_node_problem_t *problem,
                                const xyl_han_stage_t *stage);

/* A program that has been written for the seats. */
xylem_status_t xyl_han_add_program(const xyl_han_t *han,
                                   xyl_node_program_t *program,
                                   const xyl_han_stage_t *stage);

/* A schedule of its own; peers are ranks of the team. */
typedef void (*xyl_han_write_fn)(const xyl_han_t *han, const void *arg,
                                 xyl_schedule_t *schedule);
xylem_status_t xyl_han_add_written(const xyl_han_t *han, xyl_han_write_fn write,
                                   const void *arg,
                                   const xyl_han_stage_t *stage);

/* An algorithm's schedule among the leaders. */
xylem_status_t xyl_han_add_net(const xyl_han_t *han, xyl_algorithm_fn write,
                               const xyl_problem_t *problem,
                               const xyl_han_stage_t *stage);

/* An algorithm's schedule of the whole problem, among all ranks. */
xylem_status_t xyl_han_add_flat(const xyl_han_t *han, xyl_algorithm_fn write,
                                const xyl_han_stage_t *stage);

/* What was added last does not wait for the stage before; but where the user
 * hears of what is there, that is all, and it does. */
void xyl_han_unfeed(const xyl_han_t *han);

/* ---- collectives ---- */

xylem_status_t xyl_han_add_gather(xyl_han_t *han);
xylem_status_t xyl_han_add_scatter(xyl_han_t *han);
xylem_status_t xyl_han_add_allgather(xyl_han_t *han); /* and allgatherv */
xylem_status_t xyl_han_add_alltoall(xyl_han_t *han);
xylem_status_t xyl_han_add_reduce_scatter(xyl_han_t *han); /* and _block */
xylem_status_t xyl_han_add_scan(xyl_han_t *han);           /* and exscan */

/* 1 when the memory of all nodes has room for an alltoall's blocks. Equal on
 * all ranks. */
int xyl_han_alltoall_fits(const xylem_team_t *team, const xyl_levels_t *levels,
                          uint64_t block_bytes);

#endif
