/* Remote tasks: the state of a table, and of the tasks to it and from it; see
 * docs/inside/tasks.md for the messages. The progressing thread, except where
 * noted. */
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <sys/queue.h>

#include "collectives/data/modules.h"
#include "progress/net/net.h"
#include "runtime/core/context.h"
#include "runtime/core/request.h"
#include "runtime/core/team.h"

enum {
    XYL_TASKS_MAGIC = 0x78546b73,
    XYL_TASK_ALIGN = 16,
    XYL_TASK_ANSWERS = 32, /* in one reply, at most */
    XYL_TASK_ANSWERS_DUE = 2 * XYLEM_TASK_CREDITS_MAX,
    XYL_TASK_RECEIVES = 16, /* posted for tasks, at most */
    XYL_TASK_REPLY_RECEIVES = 8
};

/* ---- messages ---- */

/* The kind of a message, in the last field of its tag. The tag's slot names the
 * receiver's table. In a payload's tag, source and id name the task. */
typedef enum xyl_task_message_kind {
    XYL_TASK_MESSAGE,
    XYL_TASK_REPLY,
    XYL_TASK_PAYLOAD
} xyl_task_message_kind_t;

/* Followed by the arguments, and a short payload at the next multiple of
 * XYL_TASK_ALIGN. */
typedef struct xyl_task_header {
    uint32_t source;    /* rank in the team */
    uint32_t index;     /* of the entry in the receiver's table */
    uint32_t id;        /* the credit that the task uses */
    uint32_t wants_end; /* the sender waits until the task has run */
    uint64_t args_bytes;
    uint64_t payload_bytes;
} xyl_task_header_t;

typedef struct xyl_task_message {
    xyl_task_header_t header;
    _Alignas(
        XYL_TASK_ALIGN) char bytes[XYLEM_TASK_ARGS_MAX + XYLEM_TASK_SHORT_MAX];
} xyl_task_message_t;

static inline size_t xyl_task_payload_at(size_t args_bytes)
{
    return (args_bytes + XYL_TASK_ALIGN - 1) / XYL_TASK_ALIGN * XYL_TASK_ALIGN;
}

/* Bytes of the message that a task begins with. */
static inline size_t xyl_task_message_bytes(const xyl_task_header_t *header)
{
    size_t args_bytes = (size_t)header->args_bytes;

    if (header->payload_bytes == 0 ||
        header->payload_bytes > XYLEM_TASK_SHORT_MAX)
        return offsetof(xyl_task_message_t, bytes) + args_bytes;
    return offsetof(xyl_task_message_t, bytes) +
           xyl_task_payload_at(args_bytes) + (size_t)header->payload_bytes;
}

typedef enum xyl_task_answer_kind {
    XYL_TASK_GO,    /* send the payload */
    XYL_TASK_TAKEN, /* the task was handed over, and will end later */
    XYL_TASK_ENDED /* the task has ended with `status`; gives the credit back */
} xyl_task_answer_kind_t;

typedef struct xyl_task_answer {
    uint16_t id, kind;
    uint32_t status;
} xyl_task_answer_t;

typedef struct xyl_task_reply {
    uint32_t source, count;
    xyl_task_answer_t answers[XYL_TASK_ANSWERS];
} xyl_task_reply_t;

static inline size_t xyl_task_reply_bytes(uint32_t count)
{
    return offsetof(xyl_task_reply_t, answers) +
           count * sizeof(xyl_task_answer_t);
}

/* ---- state ---- */

/* A task that this rank sends. */
typedef struct xyl_task_call {
    xylem_request_t request; /* first: what the user holds */
    xylem_tasks_t *tasks;
    uint32_t rank;
    int may_wait;        /* for a credit */
    const void *payload; /* if it is too long for the message */
    xyl_event_t sent, payload_sent;
    TAILQ_ENTRY(xyl_task_call) others; /* in `waiting` or `kept` */
    LIST_ENTRY(xyl_task_call) active;
    xyl_task_message_t message;
} xyl_task_call_t;

TAILQ_HEAD(xyl_task_calls, xyl_task_call);

/* Another rank: this rank's calls to it, and answers to tasks that it has sent.
 * A task has at most two answers that are not sent yet. */
typedef struct xyl_task_peer {
    xylem_tasks_t *tasks;
    uint32_t rank;
    uint64_t free_ids; /* bits: credits that no task uses */
    xyl_task_call_t *calls[XYLEM_TASK_CREDITS_MAX]; /* by id; NULL: over */
    struct xyl_task_calls waiting;                  /* for a credit */
    uint64_t serving; /* bits: ids of received tasks that have not ended */
    xyl_event_t replied;
    int is_replying;
    uint32_t first_due, due;
    xyl_task_answer_t answers[XYL_TASK_ANSWERS_DUE]; /* a ring */
    xyl_task_reply_t reply;
} xyl_task_peer_t;

typedef enum xyl_served_state {
    XYL_SERVED_IDLE,
    XYL_SERVED_POSTED,  /* the net may put a task here */
    XYL_SERVED_ARRIVED, /* a task is here; earlier places may still wait */
    XYL_SERVED_COME,    /* read in its turn; a callback admits it */
    XYL_SERVED_LANDING, /* the payload is under way */
    XYL_SERVED_LANDED,  /* a callback runs it, or hands it over */
    XYL_SERVED_HANDED   /* handed over, or running */
} xyl_served_state_t;

/* A place: a task that this rank has received, or room for one. */
typedef struct xyl_served {
    xylem_task_t task; /* first: what the user sees */
    xylem_tasks_t *tasks;
    xyl_served_state_t state;
    struct xyl_entry *entry; /* NULL: not admitted */
    xyl_event_t arrival;     /* of the message, then of the payload */
    xyl_event_t due;         /* in the callback phase: admits or runs it */
    xyl_task_t ended;        /* xylem_task_end submits it to the engine */
    _Atomic int is_ended;    /* xylem_task_end was called, with `status` */
    xylem_status_t status;
    int is_placed; /* the payload lies in the user's memory */
    void *owned;   /* the payload's memory from the pool; NULL: none */
    TAILQ_ENTRY(xyl_served) others;
    xyl_task_message_t message;
} xyl_served_t;

TAILQ_HEAD(xyl_served_list, xyl_served);

#define XYL_ENTRY_REVOKED UINT32_C(0x80000000)
typedef struct xyl_entry {
    xylem_task_entry_t given;
    _Atomic uint32_t users; /* admitted tasks, and XYL_ENTRY_REVOKED */
} xyl_entry_t;

typedef struct xyl_reply_receive {
    xyl_event_t event;
    xylem_tasks_t *tasks;
    int has_arrived;
    xyl_task_reply_t reply;
} xyl_reply_receive_t;

struct xylem_tasks {
    uint32_t magic;
    xylem_context_t *context;
    xylem_team_t *team; /* holds a reference */
    uint32_t size;      /* of the team */
    uint32_t slot;      /* of this rank, in tags; XYL_TEAM_SLOTS: none */
    uint32_t credits;   /* that this rank gives each sender */
    uint32_t *offers;   /* [size]: slot; from bit 16 on, credits */
    uint32_t entry_count;
    xyl_entry_t *entries;
    LIST_ENTRY(xylem_tasks) others;   /* of the context */
    xyl_task_peer_t **peers;          /* [size]; NULL: nothing yet */
    uint32_t outstanding;             /* ids in use, of all peers */
    LIST_HEAD(, xyl_task_call) calls; /* active */
    struct xyl_task_calls kept;       /* idle; `lock` guards them */
    pthread_mutex_t lock;
    _Atomic uint32_t active; /* calls that have not completed */
    /* The handle holds one, and so do each call that is not kept and each task
     * that is handed over. */
    _Atomic uint32_t references;
    xyl_task_t free_task;
    /* Places: posted, in the order in which the net matches messages; with a
     * task; not in use. */
    struct xyl_served_list posted, served, idle;
    uint32_t places, places_max; /* how many there are, and may be */
    uint32_t posted_count;
    xyl_reply_receive_t *replies; /* [XYL_TASK_REPLY_RECEIVES], a ring */
    uint32_t next_reply;          /* the reply that was posted first */
    uint32_t owed;                /* events that are still to come back */
    int has_failed;
    /* The end. */
    xylem_request_t *closing; /* NULL: not yet */
    /* An allreduce. Each rank gives its part when its tasks have run. */
    xylem_request_t *farewell;
    int has_said_farewell; /* this rank has given its part */
    int is_over;           /* all ranks are done, or the team has failed */
    xylem_status_t outcome;
    int is_shut; /* the handle's reference goes when nothing is owed */
};

/* Each context has one. */
typedef struct xyl_tasks_context {
    LIST_HEAD(, xylem_tasks) tables;
    /* Tasks handed over that have not ended, and resident kernels. Any
     * thread. */
    _Atomic uint32_t held;
} xyl_tasks_context_t;

static inline xyl_tasks_context_t *
xyl_tasks_of_context(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_TASKS];
}

static inline uint64_t xyl_task_tag(uint32_t slot, uint32_t source, uint32_t id,
                                    xyl_task_message_kind_t kind)
{
    return (uint64_t)slot << XYL_SLOT_AT | (uint64_t)source << 30 |
           (uint64_t)id << 10 | kind;
}

static inline uint32_t xyl_task_slot_of(const xylem_tasks_t *tasks,
                                        uint32_t rank)
{
    return tasks->offers[rank] & 0xffff;
}

static inline uint32_t xyl_task_credits_of(const xylem_tasks_t *tasks,
                                           uint32_t rank)
{
    return tasks->offers[rank] >> 16;
}

/* Any thread: XYLEM_OK if the table is open; else fails with a text that names
 * `call`. */
xylem_status_t xyl_tasks_check(const xylem_tasks_t *tasks, const char *call);

/* NULL: no memory. */
xyl_task_peer_t *xyl_task_peer(xylem_tasks_t *tasks, uint32_t rank);

/* Any thread. */
void xyl_tasks_unreference(xylem_tasks_t *tasks);
/* Counts an event that the net has given back. */
void xyl_tasks_event_back(xylem_tasks_t *tasks);
/* Fails the team, as a message of its tasks has failed or is unsound. */
void xyl_tasks_net_failed(xylem_tasks_t *tasks, xylem_status_t status);
/* Goes on with the closing if no task of this rank is under way any more. */
void xyl_tasks_look_at_end(xylem_tasks_t *tasks);
/* All ranks are done, and no task comes any more. */
void xyl_tasks_shut(xylem_tasks_t *tasks);
/* Cancels all receives, also of awaited payloads. */
void xyl_tasks_cancel_receives(xylem_tasks_t *tasks);

/* describe.c: `describe` of the module. */
unsigned xyl_describe_tasks(const xylem_context_t *context, FILE *file);

/* call.c */
/* Handles an answer in a reply from rank `rank` of the team. */
void xyl_task_answered(xylem_tasks_t *tasks, uint32_t rank,
                       const xyl_task_answer_t *answer);
/* Ends all calls under way with the team's status. */
void xyl_task_calls_fail(xylem_tasks_t *tasks);
void xyl_task_calls_release(xylem_tasks_t *tasks);

/* serve.c */
/* XYLEM_OK: an admitted task may still begin; any thread. */
xylem_status_t xyl_task_is_wanted(const xylem_task_t *task);
/* Posts the receives. */
xylem_status_t xyl_serve_begin(xylem_tasks_t *tasks);
void xyl_serve_release(xylem_tasks_t *tasks);
