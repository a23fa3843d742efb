/* A stage: one level's part of one operation on one rank. It is told
 * segment_ready(i) when its input of segment i is there, and it tells the next
 * stage of its lane by xyl_stage_emit(i) when its own output is. An operation
 * is lanes of stages in series; no stage waits for another.
 *
 *   operation ── lane 0 ── stage ──▶ stage ──▶ ... ──▶ on_segment
 *             └─ lane 1 ── stage ──▶ ...
 *
 * A lane carries the segments first, first + stride, ... of the operation; its
 * stages count them 0, 1, ... (the index). All functions run on the thread
 * that progresses.
 */
#ifndef XYL_RUNTIME_CORE_STAGE_H
#define XYL_RUNTIME_CORE_STAGE_H

#include <stddef.h>

#include "runtime/core/group.h"

typedef struct xyl_stage xyl_stage_t;
struct xyl_operation;

/* A buffer of the operation, as a stage uses it. */
typedef enum xyl_role {
    XYL_ROLE_NOTHING,
    XYL_ROLE_INPUT,   /* what this rank contributes: in place, the result's */
    XYL_ROLE_RESULT,  /* NULL where the block stays in its place */
    XYL_ROLE_SCRATCH, /* operation->scratch */
    XYL_ROLE_SPARE    /* operation->spare */
} xyl_role_t;

typedef struct xyl_stage_ops {
    const char *name;
    /* Back to the state before the first segment; then start. Emits nothing
     * where there is a next stage, which starts after this one. */
    void (*start)(xyl_stage_t *stage);
    /* The input of `index` is there. Once per index, in any order. */
    void (*segment_ready)(xyl_stage_t *stage, uint64_t index);
    /* Asks the net to give up what this stage still receives. */
    void (*cancel)(xyl_stage_t *stage);
    /* Before every start with other buffers: where the message lies that the
     * stage reads, and that it writes; NULL where it does not. */
    void (*bind)(xyl_stage_t *stage, const void *reads, void *writes);
} xyl_stage_ops_t;

struct xyl_stage {
    const xyl_stage_ops_t *ops;
    struct xyl_operation *operation;
    xyl_stage_t *next;    /* in the lane; NULL: the operation itself */
    uint32_t sequence;    /* names the stage's messages within the team */
    uint32_t sequences;   /* how many numbers from there on it uses */
    uint32_t sequence_at; /* among operation->sequences, if not 0 */
    uint64_t first;       /* segments of the lane */
    uint64_t stride;
    uint64_t count;
    xyl_group_t group;        /* whom it runs between */
    uint32_t speaks_for;      /* rank that its messages name as their sender */
    xyl_role_t reads, writes; /* what it is bound to */
    /* Its input comes by segment_ready, from the operation or the stage before;
     * elsewhere what that emits is not passed on. */
    int is_fed;
    int is_complete;
};

static inline uint64_t xyl_stage_segment(const xyl_stage_t *stage,
                                         uint64_t index)
{
    return stage->first + index * stage->stride;
}

/* Where the first segment of its lane lies in the message. */
size_t xyl_stage_offset(const xyl_stage_t *stage);

/* The output of `index` is final on this rank. */
void xyl_stage_emit(xyl_stage_t *stage, uint64_t index);
/* The stage has nothing more to do; once per start. */
void xyl_stage_complete(xyl_stage_t *stage);

#endif
