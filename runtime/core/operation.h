/* An operation: a request that moves segments through lanes of stages. Only the
 * code that composes it knows what the stages do, and for which collective. */
#pragma once

#include "runtime/core/module.h"
#include "runtime/core/request.h"
#include "runtime/core/stage.h"

enum {
    XYL_LANES_MAX = 16,
    /* At most nine stages per lane, and two that belong to none. */
    XYL_STAGES_MAX = 9 * XYL_LANES_MAX + 2,
    XYL_SEGMENTS_MAX = 1 << 26
};

struct xyl_operation;

typedef struct xyl_operation_params {
    uint64_t bytes;       /* of the message */
    size_t segment_bytes; /* not 0 */
    uint32_t lanes;
    int lanes_are_parts; /* a lane has consecutive segments; else lane l
                            has l, l + lanes, ... */
    int has_input;       /* this rank contributes segments */
    int waits_for_parts; /* the user releases each segment of the input */
    uint32_t flags;      /* XYLEM_FLAG_... */
    xylem_complete_fn on_complete;
    xylem_segment_fn on_segment;
    void *arg;
} xyl_operation_params_t;

/* Functions of the maker of an operation; each may be NULL. */
typedef struct xyl_operation_maker {
    /* Offers the idle operation to its maker's store, when the user has given
     * it up. 1: the store has taken the operation. */
    int (*keep)(struct xyl_operation *operation);
    /* Makes an equal operation without callback, on the starting thread.
     * Returns owned, or NULL. No function: the operation does not detach. */
    struct xyl_operation *(*another)(const struct xyl_operation *operation);
    /* Releases the data that the maker has attached to the operation. */
    void (*release)(struct xyl_operation *operation);
    /* Called before `keep` when the user has given up an operation that could
     * start again. */
    void (*given_up)(struct xyl_operation *operation);
} xyl_operation_maker_t;

/* Data of the runs for the context's observer (runtime/base/observer.h). */
typedef struct xyl_operation_record {
    const char *name; /* of the collective */
    uint64_t began;   /* when the run began, by the observer's time */
    void *subject;    /* argument of the observer's `ran`; NULL: `ran` is not
                         called */
} xyl_operation_record_t;

/* The memory that an operation holds for other ranks when it detaches. */
typedef struct xyl_hold {
    int detaches;
    uint64_t bytes;    /* including the copy of the message */
    int needs_message; /* the operation needs a copy of the message: `copy` */
    uint32_t keepers;  /* how many stages have `may_keep` */
} xyl_hold_t;

/* Detaching (detach.h). The data that other ranks still need lie in the node's
 * windows, in memory of the stages, or in `copy`, a copy of the message. */
typedef struct xyl_operation_detach {
    xyl_hold_t hold;
    uint64_t node_holds; /* bytes that all ranks of this node hold for the call,
                            if it detaches */
    int is_holding;      /* `hold` is reserved: the run may detach */
    int is_detached;
    char *copy;
    _Atomic uint32_t *counter; /* of detached operations that use the same user
                                  operator; NULL: none */
    struct xyl_operation *stand_ins, *next_stand_in;
} xyl_operation_detach_t;

/* Segments of the input that threads of the user release, with
 * XYLEM_FLAG_PARTS. A thread puts a segment on the list `released`, and one
 * task passes the whole list to the progressing thread. */
typedef struct xyl_operation_parts {
    int are_awaited;
    int task_completes;   /* the operation has finished while the task was under
                             way; the task completes it */
    struct xyl_part *all; /* [segments]; NULL unless they are awaited */
    xyl_queue_t released;
    _Atomic int is_queued;
    xyl_task_t task;
} xyl_operation_parts_t;

/* Segments of the result that the user is told of. */
typedef struct xyl_operation_told {
    xylem_segment_fn on_segment;
    uint32_t *segments; /* [segments] those to call `on_segment` for */
    uint32_t count;
} xyl_operation_told_t;

/* Buffers that stages use beside the user's, or in place of them; NULL: none.
 * They are freed with the operation, when the net can no longer write to them.
 */
typedef struct xyl_operation_buffers {
    void *scratch, *spare;
    void *packed;    /* the inner stages work on it in place of the user's
                        buffers, and the outer ones translate */
    size_t widening; /* bytes of `packed` per byte of the user's; 0 means 1 */
    /* Mirrors of user memory that the processor does not touch: the stages work
     * on the mirrors (progress/exec/exec.h). Input and result in one buffer
     * have one mirror. */
    int is_mirrored;
    void *mirror_of_input, *mirror_of_result;
    void *owned; /* from malloc; the others are from the arena */
} xyl_operation_buffers_t;

typedef struct xyl_operation {
    xylem_request_t request;
    xyl_operation_maker_t maker;
    size_t bytes;                  /* of the message */
    xyl_operation_record_t record; /* for observers */
    uint64_t call; /* a word that is equal on all ranks of a call; 0:
                      unknown */
    size_t segment_bytes;
    uint64_t segments;
    /* Every event uses the members up to `looks_without_event`. */
    xylem_status_t failure;       /* first error; XYLEM_OK: none */
    unsigned looks_without_event; /* in seconds, see faults/hangs.h */
    unsigned looks_max;           /* their limit; 0: the context's hang_s */
    /* Stages. */
    int has_input;           /* this rank contributes segments */
    uint64_t stage_segments; /* that the stages move: `segments`; or 1, see
                                xyl_operation_make_whole */
    uint32_t lanes;
    int lanes_are_parts;
    uint32_t stages;
    uint32_t stages_left;
    uint32_t tag;       /* calls of the ranks match by the tag; 0: by order */
    uint32_t sequences; /* numbers that its stages use for their messages */
    uint64_t number;    /* tag 0: this run's number among the team's calls
                           (history.h); other tags: its first sequence number */
    uint64_t past;      /* hash of the team's calls so far, this run included */
    uint64_t mark;      /* see team.h */
    xyl_stage_t *entry[XYL_LANES_MAX]; /* takes the input of the lane */
    xyl_stage_t *end[XYL_LANES_MAX];   /* its output is the lane's result */
    xyl_stage_t *stage[XYL_STAGES_MAX];
    xyl_event_t finish_event;
    int is_finishing;       /* finish_event is pushed or handled */
    uint32_t releases_left; /* stages that are not released */
    xyl_operation_detach_t detach;
    xyl_operation_parts_t parts;
    xyl_operation_told_t told;
    xyl_operation_buffers_t buffers;
    LIST_ENTRY(xyl_operation) others; /* the context's active operations */
} xyl_operation_t;

static inline size_t xyl_operation_offset(const xyl_operation_t *operation,
                                          uint64_t segment)
{
    return (size_t)segment * operation->segment_bytes;
}

static inline size_t xyl_operation_length(const xyl_operation_t *operation,
                                          uint64_t segment)
{
    size_t left = operation->bytes - xyl_operation_offset(operation, segment);

    return left < operation->segment_bytes ? left : operation->segment_bytes;
}

/* Where a stage's own segment lies in the message, and how long it is. */
static inline size_t xyl_stage_at(const xyl_stage_t *stage, uint64_t index)
{
    return xyl_operation_offset(stage->operation,
                                xyl_stage_segment(stage, index));
}

static inline size_t xyl_stage_length(const xyl_stage_t *stage, uint64_t index)
{
    uint64_t segment = xyl_stage_segment(stage, index);
    uint64_t end = segment + stage->grain;
    size_t end_at;

    if (end > stage->end)
        end = stage->end;
    end_at = xyl_operation_offset(stage->operation, end);
    return (end_at < stage->operation->bytes ? end_at
                                             : stage->operation->bytes) -
           xyl_operation_offset(stage->operation, segment);
}

/* The length of the stage's longest segment. */
static inline size_t xyl_stage_segment_bytes(const xyl_stage_t *stage)
{
    return xyl_operation_offset(stage->operation, stage->grain);
}

/* For an observer that measures: note when a run begins, and report its end. */
__attribute__((cold)) void xyl_operation_note_began(xyl_operation_t *operation);
__attribute__((cold)) void
xyl_operation_note_ended(const xyl_operation_t *operation);

/* Creates an operation without stages as the first member of a struct of
 * `struct_bytes` bytes (cleared). Returns owned (freed by xyl_request_discard,
 * or by the user). */
xylem_status_t xyl_operation_create(xylem_team_t *team,
                                    const xyl_operation_params_t *params,
                                    size_t struct_bytes,
                                    xyl_operation_t **operation_out);

/* Allocates a stage of `bytes` bytes (cleared), which uses `sequences` numbers
 * for its messages. NULL: no memory. */
xyl_stage_t *xyl_operation_add_stage(xyl_operation_t *operation,
                                     const xyl_stage_spec_t *spec,
                                     const xyl_stage_ops_t *ops, size_t bytes,
                                     uint32_t sequences);

/* The spec of a new last stage of the lane; a lane's first takes the input. */
static inline xyl_stage_spec_t
xyl_stage_behind(const xyl_operation_t *operation, uint32_t lane,
                 xyl_role_t reads, xyl_role_t writes)
{
    return (xyl_stage_spec_t){.lane = lane,
                              .takes_input = operation->end[lane] == NULL,
                              .after = operation->end[lane],
                              .reads = reads,
                              .writes = writes};
}

/* Puts a stage that was added with `is_aside` before the lane's first stage. */
void xyl_operation_put_first(xyl_operation_t *operation, uint32_t lane,
                             xyl_stage_t *stage);

/* The length in the user's buffers of `bytes` bytes that the stages move. */
static inline size_t xyl_operation_users(const xyl_operation_t *operation,
                                         size_t bytes)
{
    return operation->buffers.widening == 0
               ? bytes
               : bytes / operation->buffers.widening;
}

/* Called before stages are added to an operation of at most one segment. Its
 * stages then move exactly one segment, even if the message is empty. */
void xyl_operation_make_whole(xyl_operation_t *operation);

/* Bytes that go through a lane of consecutive segments. */
uint64_t xyl_operation_lane_bytes(const xyl_operation_t *operation,
                                  uint32_t lane);

/* Points the stages at other buffers of the user. */
void xyl_operation_bind(xyl_operation_t *operation, const void *input,
                        void *result);

/* The starting thread: gives this run the sequence numbers that its messages or
 * its tag need. */
xylem_status_t xyl_operation_take_number(xyl_operation_t *operation);
/* The progressing thread: records the run in the team's history. */
void xyl_operation_note_called(xyl_operation_t *operation);
/* The progressing thread: makes an idle operation of one stage active. The
 * caller has recorded the call and begun the stage. */
void xyl_operation_began(xyl_operation_t *operation);

/* The progressing thread, for an active operation that waits for parts:
 * releases a segment. 0: the operation failed, or had the segment before. */
int xyl_operation_take(xyl_operation_t *operation, uint64_t segment);

/* Gives up the operations of teams that have failed. */
extern const xyl_module_t xyl_operations_module;

/* 1: the operation has failed, or ended. */
int xyl_operation_is_settled(const xyl_operation_t *operation);

static inline xyl_operation_t *xyl_operation_of(xylem_request_t *request)
{
    return (xyl_operation_t *)(void *)request;
}
