/* The operation of a collective: an xyl_operation_t, which moves segments, and
 * the facts of the call that its stages need. */
#pragma once

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

/* The call that an operation is for. Further calls like it find the operation
 * by this key. */
typedef struct xyl_plan_key {
    xylem_coll_args_t args; /* arrays are copies if operation.keep is set */
    xyl_way_t way;
    uint8_t says_more;   /* has arguments that most calls lack */
    uint8_t send, recv;  /* bits: kinds of address that calls like it have */
    uint8_t may_be_same; /* they may have one buffer for both */
    uint8_t runs_inline; /* by a blocking call, without a start */
    uint8_t asks_never;  /* calls like it never ask where buffers lie */
} xyl_plan_key_t;

/* Memory from an executor (progress/exec/exec.h). */
typedef struct xyl_mirror {
    void *memory; /* NULL: none */
    size_t bytes;
} xyl_mirror_t;

/* Mirrors of the input and of the result, and memory of the operation's own. */
enum { XYL_MIRRORS = 3 };

typedef struct xyl_collective {
    xyl_operation_t operation; /* first */
    xyl_plan_t plan;
    size_t element_bytes;
    xyl_combiner_t combiner;
    xyl_exec_t *exec;         /* works on the buffers that stages see */
    xyl_exec_t *users_exec;   /* on the user's; the same without mirrors */
    int takes_device;         /* stages take the user's buffers in any memory */
    int asks_node;            /* whether a run leaves stages out follows from
                                 the buffers of this node's ranks */
    void (*rests)(void *arg); /* called when nothing is under way; NULL: none */
    void *rests_arg;
    uint64_t written; /* bytes that stages on nodes have copied to results */
    const void *bound_send; /* of the call bound last */
    void *bound_recv;
    int is_bound;
    xyl_plan_key_t key;
    xyl_sides_t sides; /* released with the operation, as are mirrors */
    xyl_mirror_t mirrors[XYL_MIRRORS];
} xyl_collective_t;

/* Callers with a constant operation only read the result. */
static inline xyl_collective_t *
xyl_collective_of(const xyl_operation_t *operation)
{
    return (xyl_collective_t *)(const void *)operation;
}

/* 1: stages see mirrors of the user's buffers. */
static inline int xyl_collective_is_mirrored(const xyl_operation_t *operation)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);

    return collective->exec != collective->users_exec;
}

/* Gives back the memory of mirrors, if there is any. */
void xyl_collective_give_mirrors(xyl_operation_t *operation);

/* The bytes of a segment when `segment_bytes` are asked for: whole elements, at
 * least one. */
size_t xyl_collective_segment(size_t segment_bytes, size_t element_bytes);

/* Creates the operation without stages, which callers add. Segments are rounded
 * to whole elements. Returns owned, as xyl_operation_create. */
xylem_status_t xyl_collective_create(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     const xyl_plan_t *plan, int has_input,
                                     xyl_operation_t **operation_out);

/* The same for packed bytes, in segments of `segment_bytes`; 0: in one segment.
 * Returns owned. */
xylem_status_t xyl_collective_frame(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    size_t segment_bytes,
                                    xyl_operation_t **operation_out);

/* The executor for both buffers of a call: the processor's unless one of them
 * is not in its memory. */
xyl_exec_t *xyl_collective_exec(const xylem_context_t *context,
                                const xylem_coll_args_t *args);

/* 1: the operation may detach: its buffers are plain host memory, and the user
 * has no further part in it. Its stages say whether it does. */
int xyl_collective_may_detach(const xyl_operation_t *operation,
                              const xyl_sides_t *sides);

/* Binds the stages to the buffers of a call like the one that was planned. */
void xyl_collective_bind(xyl_operation_t *operation,
                         const xylem_coll_args_t *args);

/* The same if stages see the user's buffers. Does nothing if those of the last
 * call are the same. */
static inline void xyl_collective_bind_again(xyl_operation_t *operation,
                                             const xylem_coll_args_t *args)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);

    if (!collective->is_bound || collective->bound_send != args->send ||
        collective->bound_recv != args->recv)
        xyl_collective_bind(operation, args);
}
