/* The operation of a collective: what its stages need to know of the call,
 * beside what moves segments (runtime/core/operation.h). */
#ifndef XYL_COLLECTIVES_STAGES_COLLECTIVE_H
#define XYL_COLLECTIVES_STAGES_COLLECTIVE_H

#include "collectives/data/op.h"
#include "collectives/data/problem.h"
#include "collectives/data/sides.h"
#include "runtime/core/operation.h"
#include "trees/tree.h"

/* How a collective is run: the outcome of selection. Equal on all ranks. */
typedef struct xyl_plan {
    const xyl_tree_t *tree; /* NULL: none */
    uint32_t radix;
    uint32_t lanes;      /* 0: as many as the tree has halves */
    int lanes_are_parts; /* each has consecutive segments, else every
                            lanes-th */
    size_t segment_bytes;
    uint32_t send_window;
    uint32_t recv_window;
    int arrival_order;
} xyl_plan_t;

/* What an operation is for, by which it is kept for further calls. */
typedef struct xyl_plan_key {
    xylem_coll_args_t args; /* where operation.keep is set with copies of what
                               it borrows */
    xyl_way_t way;
    uint8_t says_more;   /* than most calls */
    uint8_t send, recv;  /* what may stand for that buffer */
    uint8_t may_be_same; /* both buffers */
    uint8_t runs_inline; /* by a blocking call, without being started */
    uint8_t asks_never;  /* ranks, where buffers lie, in no call like this */
} xyl_plan_key_t;

/* Of an executor (progress/exec/exec.h). */
typedef struct xyl_mirror {
    void *memory; /* NULL: there is none */
    size_t bytes;
} xyl_mirror_t;

typedef struct xyl_collective {
    xyl_operation_t operation; /* first */
    xyl_plan_t plan;
    size_t element_bytes;
    xyl_combiner_t combiner;
    xyl_exec_t *exec;       /* works on what stages see */
    xyl_exec_t *users_exec; /* and on the user's buffers; else the same */
    int takes_device; /* its stages know users' buffers, wherever they lie */
    void (*rests)(void *arg); /* nothing is under way any more; NULL: so what */
    void *rests_arg;
    uint64_t written; /* by its stages on nodes, in copies to their results */
    const void *bound_send; /* the call's, at last */
    void *bound_recv;
    int is_bound;
    xyl_plan_key_t key;
    xyl_sides_t sides; /* released with it, as are: */
    xyl_mirror_t mirrors[2];
} xyl_collective_t;

/* Whoever has a constant operation only reads what this returns. */
static inline xyl_collective_t *
xyl_collective_of(const xyl_operation_t *operation)
{
    return (xyl_collective_t *)(const void *)operation;
}

/* Its stages see mirrors of the user's buffers. */
static inline int xyl_collective_is_mirrored(const xyl_operation_t *operation)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);

    return collective->exec != collective->users_exec;
}

/* Bytes of a segment that is asked for: whole elements, at least one. */
size_t xyl_collective_segment(size_t segment_bytes, size_t element_bytes);

/* Plans the frame: segments are rounded to whole elements. Stages are added by
 * those who compose it. Returns owned, as xyl_operation_create. */
xylem_status_t xyl_collective_create(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     const xyl_plan_t *plan, int has_input,
                                     xyl_operation_t **operation_out);

/* The same, of packed bytes, in segments of segment_bytes;
 * 0: all of them at the end. Returns owned. */
xylem_status_t xyl_collective_frame(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    size_t segment_bytes,
                                    xyl_operation_t **operation_out);

/* Who works on the buffers of a call: on both, if either is not the
 * processor's. */
xyl_exec_t *xyl_collective_exec(const xylem_context_t *context,
                                const xylem_coll_args_t *args);

/* Of host memory only, where the user has no further part in it: whether it
 * does is for its stages to say. */
int xyl_collective_may_detach(const xyl_operation_t *operation,
                              const xyl_sides_t *sides);

/* Points the stages at the buffers of a call like the one that was planned. */
void xyl_collective_bind(xyl_operation_t *operation,
                         const xylem_coll_args_t *args);

/* The same where stages see the user's buffers: those of the call before may be
 * bound already. */
static inline void xyl_collective_bind_again(xyl_operation_t *operation,
                                             const xylem_coll_args_t *args)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);

    if (!collective->is_bound || collective->bound_send != args->send ||
        collective->bound_recv != args->recv)
        xyl_collective_bind(operation, args);
}

#endif
