/* An operation: a request that moves segments through lanes of stages. */
#ifndef XYL_COLLECTIVES_STAGES_OPERATION_H
#define XYL_COLLECTIVES_STAGES_OPERATION_H

#include "collectives/data/op.h"
#include "collectives/data/sides.h"
#include "collectives/stages/request.h"
#include "collectives/stages/stage.h"

enum {
    XYL_LANES_MAX = 16,
    XYL_STAGES_MAX = 4 * XYL_LANES_MAX, /* of one operation, over all lanes */
    XYL_SEGMENTS_MAX = 1 << 26
};

/* How an operation is run: the outcome of selection. Equal on all ranks. */
typedef struct xyl_plan {
    xylem_tree_t tree;
    uint32_t radix;
    uint32_t lanes;      /* 0: as many as the tree has halves */
    int lanes_are_parts; /* each has consecutive segments, else every
                            lanes-th */
    size_t segment_bytes;
    uint32_t send_window;
    uint32_t recv_window;
    int arrival_order;
} xyl_plan_t;

/* What combines two contributions: a kernel, or the user's function. */
typedef struct xyl_combiner {
    xyl_kernel_fn kernel; /* NULL: fn */
    xylem_op_fn fn;
    void *fn_arg;
    int is_commutative;
} xyl_combiner_t;

/* result = left op right; `result` may be either. */
static inline void xyl_combiner_apply(const xyl_combiner_t *combiner,
                                      void *result, const void *left,
                                      const void *right, size_t count)
{
    if (combiner->kernel != NULL)
        combiner->kernel(result, left, right, count);
    else
        combiner->fn(result, left, right, count, combiner->fn_arg);
}

typedef struct xyl_operation {
    xylem_request_t request;
    xyl_plan_t plan;
    /* The message. */
    size_t bytes;     /* in all */
    uint64_t written; /* by its stages on nodes, in copies to their results */
    uint64_t segments;
    size_t element_bytes;
    xyl_combiner_t combiner;
    /* Stages. */
    int has_input;     /* this rank contributes segments */
    int moves_at_once; /* stages have one segment, be there anything in it or
                          not */
    uint32_t lanes;
    uint32_t stages;
    uint32_t stages_left;
    uint32_t sequences; /* numbers for its stages, where not all ranks have the
                           same ones; 0: as many as these use */
    xyl_stage_t *lane[XYL_LANES_MAX]; /* first stage of each */
    xyl_stage_t *stage[XYL_STAGES_MAX];
    xylem_status_t failure; /* first error; XYLEM_OK: none */
    xyl_event_t finish_event;
    unsigned looks_without_event; /* of the stall timer */
    int is_finishing;             /* finish_event is pushed or handled */
    int finish_waits_for_parts;   /* parts_task is under way and completes */
    /* What the user releases: bits set by any thread, with one task that
     * carries the news to the progressing thread. */
    int waits_for_parts;
    _Atomic uint64_t *parts; /* released; NULL unless waits_for_parts */
    uint64_t *parts_seen;    /* and passed on to the stages */
    _Atomic int parts_queued;
    xyl_task_t parts_task;
    /* What the user is told. */
    xylem_segment_fn on_segment;
    uint64_t *arrived; /* segments that on_segment is still to hear of */
    int may_be_kept;   /* by the plan cache, under `key` */
    xylem_coll_args_t key;
    void *scratch, *spare; /* of its arena, for those who compose; NULL: none */
    /* Freed with the operation, when the net can no longer write to it. */
    void *owned_buffer; /* from malloc */
    xyl_sides_t sides;
    /* The context's list of active operations. */
    struct xyl_operation *older, *newer;
} xyl_operation_t;

/* Where segment `segment` lies in the message. */
static inline size_t xyl_operation_offset(const xyl_operation_t *operation,
                                          uint64_t segment)
{
    return (size_t)segment * operation->plan.segment_bytes;
}

static inline size_t xyl_operation_length(const xyl_operation_t *operation,
                                          uint64_t segment)
{
    size_t left = operation->bytes - xyl_operation_offset(operation, segment);

    return left < operation->plan.segment_bytes ? left
                                                : operation->plan.segment_bytes;
}

/* Plans the frame of an operation: `plan.segment_bytes` is rounded to whole
 * elements. Stages are added by those who compose it. */
xylem_status_t xyl_operation_create(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    const xyl_plan_t *plan, int has_input,
                                    xyl_operation_t **operation_out);

/* Allocates a stage of `bytes` bytes (cleared) at the end of a lane, between
 * all of the team; the first of a lane is fed where the operation has input,
 * others are. NULL: no memory. */
xyl_stage_t *xyl_operation_add_stage(xyl_operation_t *operation, uint32_t lane,
                                     const xyl_stage_ops_t *ops, size_t bytes);

/* Bytes that go through a lane of consecutive segments. */
uint64_t xyl_operation_lane_bytes(const xyl_operation_t *operation,
                                  uint32_t lane);

/* Points the stages at the buffers of a call like the one that was planned. */
void xyl_operation_bind(xyl_operation_t *operation,
                        const xylem_coll_args_t *args);

/* The progressing thread: an idle operation of one stage is under way, as that
 * stage says. It is active from here on. */
void xyl_operation_began(xyl_operation_t *operation);

/* The progressing thread: fails the operation; it completes with the first
 * status it was given. */
void xyl_operation_fail(xyl_operation_t *operation, xylem_status_t status);

static inline xyl_operation_t *xyl_operation_of(xylem_request_t *request)
{
    return (xyl_operation_t *)(void *)request;
}

#endif
