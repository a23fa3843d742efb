/* Requests: the user's handles. All that takes time has one life cycle.
 *
 *           start            completed            callback returned
 *   IDLE ─────────▶ ACTIVE ───────────▶ DELIVERING ───────────────▶ IDLE
 *                                          │ started again
 *                                          ├──────────▶ ACTIVE
 *                                          │ freed by another thread
 *                                          └──────────▶ LEFT
 *
 * In DELIVERING the run is over for the user, who may test, start or free the
 * request in the callback or on any other thread. Until the callback returns,
 * the request's memory stays, and calls that wait for the request block. A
 * request without callbacks goes from ACTIVE to IDLE directly. The memory comes
 * from one arena, which ends when the user has freed the request and the net
 * has given back all events that were posted for it.
 *
 * A run may be over for the user and go on for other ranks (detached): the data
 * that these still need no longer lie in the user's buffers. A failed run for
 * which the net still owes events counts as detached, too; its request is
 * called a zombie.
 *
 *        completed for the user           settled
 *   NONE ──────────────────────▶ DETACHED ───────▶ NONE
 *                                   │ given up     settled
 *                                   └──────▶ LEFT ───────▶ memory is freed
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "progress/engine/queue.h"
#include "progress/event.h"
#include "runtime/base/memory.h"

enum { XYL_REQUEST_MAGIC = 0x78517271, XYL_REQUEST_FREED = 0x64656164 };

typedef enum xyl_request_state {
    XYL_REQUEST_IDLE,
    XYL_REQUEST_ACTIVE,
    XYL_REQUEST_DELIVERING,
    XYL_REQUEST_LEFT
} xyl_request_state_t;

/* Whether the last run goes on for other ranks, or the net still owes its
 * events. The thread that gives the request up changes DETACHED to LEFT; the
 * progressing thread makes all other changes. */
typedef enum xyl_request_rest {
    XYL_REST_NONE,
    XYL_REST_DETACHED,
    XYL_REST_LEFT
} xyl_request_rest_t;

typedef struct xyl_request_ops {
    /* The starting thread, before the run begins; the request becomes idle
     * again unless the status is XYLEM_OK. May be NULL. */
    xylem_status_t (*prepare)(xylem_request_t *request);
    /* The progressing thread: begin. */
    void (*start)(xylem_request_t *request);
    /* The starting thread, if the last run goes on: returns an idle, equal
     * request whose completion completes this one. NULL: no memory. */
    xylem_request_t *(*stand_in)(xylem_request_t *request);
    /* The progressing thread, in the callback phase: makes the user's callbacks
     * that precede on_complete. May be NULL. */
    void (*deliver)(xylem_request_t *request);
    /* Takes over an idle request that the user has given up. 0: does not. May
     * be NULL. */
    int (*keep)(xylem_request_t *request);
    /* Called before the memory is freed. May be NULL. */
    void (*release)(xylem_request_t *request);
} xyl_request_ops_t;

/* An actor starts a request and releases its segments in the user's place, as
 * triggers do. The actor's maker owns its memory. The progressing thread calls
 * these functions. */
typedef struct xyl_request_actor {
    /* This run of the request takes segments from here on. */
    void (*takes_segments)(struct xyl_request_actor *actor);
    /* The context ends: gives the request up. */
    void (*end)(struct xyl_request_actor *actor);
} xyl_request_actor_t;

/* For requests that an operation beside them completes. */
extern const xyl_request_ops_t xyl_request_beside;

struct xylem_request {
    uint32_t magic;
    uint32_t flags;
    const xyl_request_ops_t *ops;
    xylem_context_t *context;
    xylem_team_t *team; /* holds a reference */
    _Atomic uint32_t state;
    _Atomic uint32_t rest; /* xyl_request_rest_t */
    xylem_status_t status; /* of the last run; published by `state` */
    int has_completed;     /* this run is over, callbacks may be due */
    int is_queued;         /* in the engine's callback fifo */
    int is_freed;          /* by the user */
    int is_persistent;     /* the user may start it again */
    int is_zombie;         /* `rest` lasts until `posted` is 0 */
    _Atomic int is_users;  /* the user has to wait for it, and to free it */
    uint32_t posted;       /* events that the net or the engine still owes */
    xylem_complete_fn on_complete;
    void *arg;
    xyl_task_t start_task;
    xyl_event_t callback_event;
    xyl_request_actor_t *actor;       /* NULL: none */
    LIST_ENTRY(xylem_request) others; /* of the context, by its lock */
    /* Runs an idle request, which has no callbacks, inside the call that starts
     * it: afterwards the run is over, or under way, or refused with
     * *status_out. 0: the request cannot run there now, and nothing was done.
     * NULL: it never can. The starting thread. */
    int (*run)(xylem_request_t *request, xylem_status_t *status_out);
    xyl_arena_t arena; /* holds the request itself */
};

/* `bytes` bytes, cleared, with `arena` set up. NULL: no memory. */
xylem_request_t *xyl_request_create(xylem_team_t *team,
                                    const xyl_request_ops_t *ops, size_t bytes);
/* Any thread: IDLE or DELIVERING to ACTIVE. */
xylem_status_t xyl_request_start(xylem_request_t *request);
/* The progressing thread: the same, and the run begins before this returns. */
xylem_status_t xyl_request_start_now(xylem_request_t *request);
/* The progressing thread: makes an IDLE request that no other thread uses
 * ACTIVE. */
void xyl_request_began(xylem_request_t *request);
/* Not inside a callback: progresses until the run is over, with this status. */
xylem_status_t xyl_request_wait(xylem_request_t *request);
/* The same for about `limit_us`, then returns XYLEM_IN_PROGRESS. */
xylem_status_t xyl_request_wait_for(xylem_request_t *request,
                                    uint64_t limit_us);
/* xyl_request_wait for a request that only the caller has, and frees it. */
xylem_status_t xyl_request_finish(xylem_request_t *request);
/* The user may start the request again, and must free it before its team. */
void xyl_request_persist(xylem_request_t *request);
/* The progressing thread: ends the run. */
void xyl_request_complete(xylem_request_t *request, xylem_status_t status);
/* The progressing thread. detach: the run has succeeded for the user, and goes
 * on for other ranks. settle: a detached run is over for all ranks. */
void xyl_request_detach(xylem_request_t *request);
void xyl_request_settle(xylem_request_t *request);
/* From now on the user has neither to wait for the request nor to free it. */
void xyl_request_make_own(xylem_request_t *request);
/* The progressing thread: has ops->deliver called in the callback phase. */
void xyl_request_queue_callbacks(xylem_request_t *request);
/* The progressing thread: the net has given one event back. */
static inline void xyl_request_event_back(xylem_request_t *request)
{
    assert(request->posted > 0);
    if (--request->posted == 0 && request->is_zombie)
        xyl_request_settle(request);
}
/* Gives up a request that only the caller has: ops->keep may take it over, else
 * it is released. */
void xyl_request_discard(xylem_request_t *request);
/* Frees the memory; for the store behind ops->keep. */
void xyl_request_release(xylem_request_t *request);
/* A kept request is in use again. */
void xyl_request_revive(xylem_request_t *request);

/* Returns how many of the context's requests are active and the user's to wait
 * for. *are_under_way: whether any is under way, its callback included. */
uint32_t xyl_requests_look(xylem_context_t *context, int *are_under_way);
/* The end of a context, when no request is under way and the net is gone:
 * discards the requests that the user has not freed. */
void xyl_requests_abandon(xylem_context_t *context);

/* XYLEM_OK when `request` is one; else fails with a text that names `call`. */
xylem_status_t xyl_request_check(const xylem_request_t *request,
                                 const char *call);
