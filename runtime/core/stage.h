/* A stage: one level's part of one operation on one rank. It is told
 * segment_ready(i) when its input of segment i is there, and it tells the next
 * stage of its lane by xyl_stage_emit(i) when its own output is. An operation
 * is lanes of stages in series; no stage waits for another.
 *
 *   operation ── lane 0 ── stage ──▶ stage ──▶ ... ──▶ on_segment
 *             └─ lane 1 ── stage ──▶ ...
 *
 * A lane carries the segments first, first + stride, ... of the operation; its
 * stages count them 0, 1, ... (the index). A stage of a lane of consecutive
 * segments may have longer ones of its own, each `grain` of the operation's: it
 * counts these. Its input of such a segment is there when all of the
 * operation's in it are, and with its output all of them are. All functions run
 * on the thread that progresses.
 *
 * Who gives whom what is said when a stage is added (xyl_stage_spec_t): a stage
 * takes the operation's input, the output of another, or neither; what the end
 * of a lane puts out is the operation's.
 */
#ifndef XYL_RUNTIME_CORE_STAGE_H
#define XYL_RUNTIME_CORE_STAGE_H

#include <stddef.h>

#include "runtime/core/group.h"

typedef struct xyl_stage xyl_stage_t;
struct xyl_operation;
struct xyl_hold;

/* A buffer of the operation, as a stage uses it. */
typedef enum xyl_role {
    XYL_ROLE_NOTHING,
    XYL_ROLE_INPUT,   /* what this rank contributes: in place, the result's */
    XYL_ROLE_RESULT,  /* NULL where the block stays in its place */
    XYL_ROLE_SCRATCH, /* operation->scratch */
    XYL_ROLE_SPARE,   /* operation->spare */
    XYL_ROLE_PACKED,  /* operation->packed */
    /* The buffers themselves, where INPUT and RESULT are mirrors of them; for
     * those who bring these up to date. */
    XYL_ROLE_USERS_INPUT,
    XYL_ROLE_USERS_RESULT
} xyl_role_t;

typedef struct xyl_stage_ops {
    const char *name;
    /* Back to the state before the first segment; then start. Emits nothing
     * where there is a next stage, which starts after this one. */
    void (*start)(xyl_stage_t *stage);
    /* The input of `index` is there. Once per index, in any order. */
    void (*segment_ready)(xyl_stage_t *stage, uint64_t index);
    /* Asks the net to give up what this stage still receives. NULL: nothing. */
    void (*cancel)(xyl_stage_t *stage);
    /* Before every start with other buffers: where the message lies that the
     * stage reads, and that it writes; NULL where it does not. */
    void (*bind)(xyl_stage_t *stage, const void *reads, void *writes);
    /* Adds what it holds for others when the operation detaches (detach.h).
     * NULL: nothing. */
    void (*hold)(const xyl_stage_t *stage, struct xyl_hold *hold);
    /* 1: it can copy what it still needs of the user's into memory of the
     * operation's own, and be released then. NULL: it cannot. */
    int (*may_keep)(const xyl_stage_t *stage);
    /* It shall, where it would wait, as nothing else keeps the user: at most
     * once per start, which may come later. */
    void (*keep)(xyl_stage_t *stage);
    /* While it waits for long: fails the operation if others call something
     * else. NULL: it cannot tell. */
    void (*compare)(xyl_stage_t *stage);
    /* Whom it waits for, in words. NULL: it cannot tell. */
    void (*describe)(const xyl_stage_t *stage, char *text, size_t bytes);
} xyl_stage_ops_t;

struct xyl_stage {
    const xyl_stage_ops_t *ops;
    struct xyl_operation *operation;
    xyl_stage_t *next;    /* takes its output; NULL: no stage does */
    int is_end;           /* its output is the operation's */
    uint64_t inputs;      /* segments that come by segment_ready: all, or 0 */
    uint32_t sequence;    /* names the stage's messages within the team */
    uint32_t sequence_at; /* where that begins among the operation's numbers */
    uint64_t first;       /* segments of the lane */
    uint64_t stride;
    uint64_t end;      /* behind the last, of consecutive ones */
    uint64_t count;    /* of its own */
    uint32_t grain;    /* the operation's in one of its own, at most */
    uint32_t *missing; /* [count] of these, before its input is there; NULL: it
                          has the operation's */
    xyl_group_t group; /* whom it runs between */
    xyl_role_t reads, writes; /* what it is bound to */
    /* It takes the user's own buffers where others have operation->packed. */
    int reads_user, writes_user;
    int is_complete;
    int is_released; /* see xyl_stage_release */
    int may_keep;    /* of operations that may detach */
    int shall_keep;  /* has been asked to, in this run */
};

/* How a stage is put into an operation. */
typedef struct xyl_stage_spec {
    uint32_t lane;
    uint32_t grain; /* 0: 1 */
    /* Its input: that of the operation, if this rank has any; the output of
     * another stage; or neither. */
    int takes_input;
    xyl_stage_t *after;
    int is_aside; /* it does not become the end of its lane */
    xyl_role_t reads, writes;
    xyl_group_t group; /* of size 0: all of the team */
    /* Where not all ranks have the same stages: which of the operation's
     * numbers its messages have. */
    int is_numbered;
    uint32_t sequence_at;
    uint32_t sequences_max; /* there are so many for it; 0: as it needs */
} xyl_stage_spec_t;

/* The first of the operation's segments in it. */
static inline uint64_t xyl_stage_segment(const xyl_stage_t *stage,
                                         uint64_t index)
{
    return stage->first + index * stage->stride;
}

/* Where the first segment of its lane lies in the message. */
size_t xyl_stage_offset(const xyl_stage_t *stage);

/* The output of `index` is final on this rank. */
void xyl_stage_emit(xyl_stage_t *stage, uint64_t index);
/* Nothing of the user's is needed by the stage any more, and the user has what
 * it brings: the rest is for others. Once per start at most, for stages of
 * operations that may detach. */
void xyl_stage_release(xyl_stage_t *stage);
/* The stage has nothing more to do; once per start. */
void xyl_stage_complete(xyl_stage_t *stage);

#endif
