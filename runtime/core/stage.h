/* A stage: one level's part of one operation on one rank. segment_ready(i)
 * tells a stage that its input of segment i is there; xyl_stage_emit(i) tells
 * the next stage that this one's output of segment i is. An operation is lanes
 * of stages in series; no stage waits for another.
 *
 *   operation ── lane 0 ── stage ──▶ stage ──▶ ... ──▶ on_segment
 *             └─ lane 1 ── stage ──▶ ...
 *
 * A lane carries the segments first, first + stride, ... of the operation; its
 * stages count them 0, 1, ... (the index). In a lane of consecutive segments, a
 * stage may have longer segments of its own, each `grain` of the operation's;
 * it counts its own. The input of such a segment is there when all of the
 * operation's segments in it are, and its output makes all of them ready. All
 * functions run on the progressing thread.
 *
 * A stage takes the operation's input, the output of another stage, or neither
 * (xyl_stage_spec_t); the output of the last stage of a lane is the
 * operation's. */
#pragma once

#include <stddef.h>

#include "runtime/core/group.h"

typedef struct xyl_stage xyl_stage_t;
struct xyl_operation;
struct xyl_hold;

/* A buffer of the operation, as a stage uses it. */
typedef enum xyl_role {
    XYL_ROLE_NOTHING,
    XYL_ROLE_INPUT,   /* this rank's contribution; in place: in the result */
    XYL_ROLE_RESULT,  /* bound to NULL: this rank's block stays in place */
    XYL_ROLE_SCRATCH, /* this and the next two: of `buffers` */
    XYL_ROLE_SPARE,
    XYL_ROLE_PACKED,
    /* The user's buffers, where INPUT and RESULT are mirrors of them; for the
     * stages that copy between the two. */
    XYL_ROLE_USERS_INPUT,
    XYL_ROLE_USERS_RESULT
} xyl_role_t;

typedef struct xyl_stage_ops {
    const char *name;
    /* Resets the stage to the state before the first segment, and starts it.
     * Emits nothing if there is a next stage, which starts after this one. */
    void (*start)(xyl_stage_t *stage);
    /* The input of segment `index` is there. Once per index, in any order. */
    void (*segment_ready)(xyl_stage_t *stage, uint64_t index);
    /* Asks the net to give up what this stage still receives. NULL: nothing. */
    void (*cancel)(xyl_stage_t *stage);
    /* Before every start with other buffers: the message that the stage reads,
     * and the one that it writes; NULL: none. NULL: the stage needs neither. */
    void (*bind)(xyl_stage_t *stage, const void *reads, void *writes);
    /* Once per start of a stage that `awaits` this, when all stages have
     * started: says whether the run goes without the stage. If so, the stage
     * completes, and takes and emits nothing. NULL: no run does. */
    void (*settle)(xyl_stage_t *stage, int is_left_out);
    /* Adds the memory that the stage holds for other ranks when the operation
     * detaches (detach.h). NULL: none. */
    void (*hold)(const xyl_stage_t *stage, struct xyl_hold *hold);
    /* 1: the stage can copy what it still needs of the user's into memory of
     * the operation's own, and be released then. NULL: it cannot. */
    int (*may_keep)(const xyl_stage_t *stage);
    /* Asks for that copy when only such stages still need the user's buffers;
     * the stage copies where it would wait. At most once per start, perhaps
     * before ops->start. */
    void (*keep)(xyl_stage_t *stage);
    /* While the stage waits for long: fails the operation if other ranks call
     * something else. NULL: the stage cannot compare. */
    void (*compare)(xyl_stage_t *stage);
    /* Writes which ranks the stage waits for. NULL: it does not know. */
    void (*describe)(const xyl_stage_t *stage, char *text, size_t bytes);
} xyl_stage_ops_t;

struct xyl_stage {
    const xyl_stage_ops_t *ops;
    struct xyl_operation *operation;
    xyl_stage_t *next;    /* takes its output; NULL: no stage does */
    int is_end;           /* its output is the operation's */
    uint64_t inputs;      /* how often segment_ready is called: `count`, or 0 */
    uint32_t sequence;    /* names the stage's messages within the team */
    uint32_t sequence_at; /* its place among the operation's numbers */
    uint64_t first;       /* of the operation's segments in the lane: first, */
    uint64_t stride;      /* first + stride, ... */
    uint64_t end;         /* behind the last of them, if they are consecutive */
    uint64_t count;       /* segments of the stage's own */
    uint32_t grain;    /* the operation's segments in one of these, at most */
    uint32_t *missing; /* [count] how many of the operation's segments the
                          input of one lacks; NULL: `grain` is 1 */
    xyl_group_t group; /* the ranks that it runs between */
    xyl_role_t reads, writes; /* the buffers that it is bound to */
    /* The stage works on the user's buffers; others, on `packed`. */
    int reads_user, writes_user;
    int awaits; /* begins nothing before ops->settle */
    int is_complete;
    int is_released; /* see xyl_stage_release */
    int may_keep;    /* ops->may_keep, if the operation may detach */
    int shall_keep;  /* ops->keep was called in this run */
};

/* How a stage is put into an operation. */
typedef struct xyl_stage_spec {
    uint32_t lane;
    uint32_t grain; /* 0: 1 */
    /* The stage's input is that of the operation, if this rank has any; the
     * output of stage `after`; or neither. */
    int takes_input;
    xyl_stage_t *after;
    int is_aside; /* it does not become the end of its lane */
    xyl_role_t reads, writes;
    xyl_group_t group; /* of size 0: all of the team */
    /* 1: `sequence_at` says which of the operation's numbers its messages have,
     * as not all ranks have the same stages. */
    int is_numbered;
    uint32_t sequence_at;
    uint32_t sequences_max; /* numbers reserved for it; 0: as it needs */
} xyl_stage_spec_t;

/* The first of the operation's segments in the stage's segment `index`. */
static inline uint64_t xyl_stage_segment(const xyl_stage_t *stage,
                                         uint64_t index)
{
    return stage->first + index * stage->stride;
}

/* Where the first segment of the stage's lane lies in the message. */
size_t xyl_stage_offset(const xyl_stage_t *stage);

/* The output of `index` is final on this rank. */
void xyl_stage_emit(xyl_stage_t *stage, uint64_t index);
/* The stage no longer needs the user's buffers, and has written what the user
 * gets from it: the rest is for other ranks. At most once per start; for stages
 * of operations that may detach. */
void xyl_stage_release(xyl_stage_t *stage);
/* The stage has nothing more to do; once per start. */
void xyl_stage_complete(xyl_stage_t *stage);
