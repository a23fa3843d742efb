/* An operation: a request that moves segments through lanes of stages. What the
 * stages do, and which collective they make up, is known to those who compose
 * it. */
#ifndef XYL_RUNTIME_CORE_OPERATION_H
#define XYL_RUNTIME_CORE_OPERATION_H

#include "runtime/core/request.h"
#include "runtime/core/stage.h"

enum {
    XYL_LANES_MAX = 16,
    XYL_STAGES_MAX = 8 * XYL_LANES_MAX, /* of one operation, over all lanes */
    XYL_SEGMENTS_MAX = 1 << 26
};

/* What an operation is made for. */
typedef struct xyl_operation_params {
    uint64_t bytes;       /* of the message */
    size_t segment_bytes; /* not 0 */
    uint32_t lanes;
    int lanes_are_parts; /* each has consecutive segments, else every
                            lanes-th */
    int has_input;       /* this rank contributes segments */
    int waits_for_parts; /* which the user releases */
    uint32_t flags;      /* XYLEM_FLAG_... */
    xylem_complete_fn on_complete;
    xylem_segment_fn on_segment;
    void *arg;
} xyl_operation_params_t;

/* What an operation holds for others when it detaches. */
typedef struct xyl_hold {
    int detaches;
    uint64_t bytes;    /* of the operation's */
    int needs_message; /* it needs a copy of the message, too: `held` */
    uint32_t keepers;  /* stages that may keep what they need of the user's */
} xyl_hold_t;

typedef struct xyl_operation {
    xylem_request_t request;
    /* What is its maker's: offers an idle operation that nobody needs to
     * whoever keeps some (1: taken), and gives up what the maker has attached.
     * Both may be NULL. */
    int (*keep)(struct xyl_operation *operation);
    /* Makes one that is alike, without callback; the starting thread. NULL: it
     * does not detach. Returns owned, or NULL. */
    struct xyl_operation *(*another)(const struct xyl_operation *operation);
    void (*release)(struct xyl_operation *operation);
    /* Before either: its user, who could start it again, has given it up. NULL:
     * nobody need know. */
    void (*given_up)(struct xyl_operation *operation);
    /* The message. */
    size_t bytes;     /* in all */
    const char *name; /* of what it does, for records */
    uint64_t began;   /* by the observer's time */
    void *subject;    /* for the observer; NULL: none */
    uint64_t call; /* what all ranks of it call, for comparison; 0: unknown */
    size_t segment_bytes;
    uint64_t segments;
    /* Looked at with every event, as these are. */
    xylem_status_t failure;       /* first error; XYLEM_OK: none */
    unsigned looks_without_event; /* see watch.h */
    unsigned limit_s; /* of them; 0: as the context's settings say */
    /* Stages. */
    int has_input;           /* this rank contributes segments */
    uint64_t stage_segments; /* that go through the stages: all; or one, be
                                there anything in it or not */
    uint32_t lanes;
    int lanes_are_parts;
    uint32_t stages;
    uint32_t stages_left;
    uint32_t tag;       /* by which it is matched; 0: by the team's order */
    uint32_t sequences; /* numbers that its stages use for their messages */
    uint64_t number;    /* in this run, of the team's calls in order (called.h);
                           with a tag: the first of `sequences` */
    uint64_t past;      /* stands for these calls, with this run */
    uint64_t mark;      /* in the tags of its messages */
    xyl_stage_t *entry[XYL_LANES_MAX]; /* takes the input of the lane */
    xyl_stage_t *end[XYL_LANES_MAX];   /* puts out the lane's result */
    xyl_stage_t *stage[XYL_STAGES_MAX];
    xyl_event_t finish_event;
    int is_finishing; /* finish_event is pushed or handled */
    /* Detaching: the run is over for the user when no stage needs what is the
     * user's, and goes on for others. What these still need lies in the node's
     * windows, or in memory of the operation's own, if the context's budget has
     * room for it: what its stages have, or `held`, a copy of the message. */
    uint32_t releases_left; /* stages that are not released */
    int is_detached;
    _Atomic uint32_t *detached_of; /* counts it then, for whoever waits for
                                      what it uses; NULL: nobody does */
    xyl_hold_t hold;
    uint64_t node_holds; /* as much of all ranks of the node for such a call */
    int is_holding;      /* what it holds is taken, and it may detach */
    char *held;
    struct xyl_operation *stand_ins, *next_stand_in; /* see stand_in */
    int finish_waits_for_parts; /* parts_task is under way and completes */
    /* What the user releases: a list that any thread puts segments on, with one
     * task that carries the news to the progressing thread. */
    int waits_for_parts;
    struct xyl_part *parts; /* [segments]; NULL unless waits_for_parts */
    xyl_queue_t parts_released;
    _Atomic int parts_queued;
    xyl_task_t parts_task;
    /* What the user is told. */
    xylem_segment_fn on_segment;
    uint32_t *arrived; /* [segments] that on_segment is still to hear of */
    uint32_t arrived_count;
    void *scratch, *spare; /* of its arena, for those who compose; NULL: none */
    void *packed; /* what stages work on in place of the user's buffers, which
                     those at the ends translate; the same */
    size_t widening; /* bytes there for one of the user's; 0: as many */
    /* What stages work on in place of memory that the processor does not touch
     * (progress/exec/exec.h); the same address where both lie in one buffer. */
    int is_mirrored;
    void *mirror_of_input, *mirror_of_result;
    /* Freed with the operation, when the net can no longer write to it. */
    void *owned_buffer;               /* from malloc */
    LIST_ENTRY(xyl_operation) others; /* active ones of the context */
} xyl_operation_t;

/* Where segment `segment` lies in the message. */
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

/* The longest of its own. */
static inline size_t xyl_stage_segment_bytes(const xyl_stage_t *stage)
{
    return xyl_operation_offset(stage->operation, stage->grain);
}

/* Tells the observer, which measures, that a run has begun, and has ended. */
__attribute__((cold)) void xyl_operation_note_began(xyl_operation_t *operation);
__attribute__((cold)) void
xyl_operation_note_ended(const xyl_operation_t *operation);

/* An operation without stages, of `struct_bytes` bytes (cleared), of which the
 * first are the operation. Returns owned (free with xyl_request_discard, or by
 * the user). */
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

/* The spec of a stage behind those of the lane; the first takes its input. */
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

/* A stage that was added aside takes the lane's input, and passes it on. */
void xyl_operation_put_first(xyl_operation_t *operation, uint32_t lane,
                             xyl_stage_t *stage);

/* Of the user's, for as many of those that stages move. */
static inline size_t xyl_operation_users(const xyl_operation_t *operation,
                                         size_t bytes)
{
    return operation->widening == 0 ? bytes : bytes / operation->widening;
}

/* Of an operation that is not cut: its only segment goes through the stages, be
 * there anything in it or not. Before stages are added. */
void xyl_operation_is_whole(xyl_operation_t *operation);

/* Bytes that go through a lane of consecutive segments. */
uint64_t xyl_operation_lane_bytes(const xyl_operation_t *operation,
                                  uint32_t lane);

/* Points the stages at other buffers of the user. */
void xyl_operation_bind(xyl_operation_t *operation, const void *input,
                        void *result);

/* The progressing thread: the stages of an operation that has been started
 * begin. */
void xyl_operation_go(xyl_operation_t *operation);

/* The starting thread: it has its number in this run, if messages or a tag need
 * one. */
xylem_status_t xyl_operation_take_number(xyl_operation_t *operation);
/* The progressing thread: it begins, so that it can be compared. */
void xyl_operation_note_called(xyl_operation_t *operation);
/* The same: an idle operation of one stage, which has been called, is under
 * way, as that stage says. It is active from here on. */
void xyl_operation_began(xyl_operation_t *operation);

/* The progressing thread, of one that has begun and waits for parts: releases a
 * segment. 0: it has failed, or the segment was released before. */
int xyl_operation_take(xyl_operation_t *operation, uint64_t segment);

/* The progressing thread: the operation ends with this status; for
 * xyl_team_fail. */
void xyl_operation_give_up(xyl_operation_t *operation, xylem_status_t status);

/* The progressing thread: fails the operation; it completes with the first
 * status it was given. */
void xyl_operation_fail(xyl_operation_t *operation, xylem_status_t status);

static inline xyl_operation_t *xyl_operation_of(xylem_request_t *request)
{
    return (xyl_operation_t *)(void *)request;
}

#endif
