/* The triggers of a request. Their callbacks replace the user's, so that they
 * are told when a run of the request takes segments, and when it completes. */
#ifndef XYL_RUNTIME_TRIGGERS_TRIGGERED_H
#define XYL_RUNTIME_TRIGGERS_TRIGGERED_H

#include <sys/queue.h>

#include "runtime/core/request.h"

typedef struct xyl_triggered {
    xyl_request_actor_t actor;
    xylem_request_t *request;
    int takes_segments; /* this run of the request does */
    int is_calling;     /* on_complete has not returned */
    int is_over;        /* freed when on_complete has returned */
    LIST_HEAD(, xylem_trigger) triggers;
    /* The user's callbacks. */
    xylem_complete_fn on_complete;
    xylem_segment_fn on_segment;
    void *arg;
} xyl_triggered_t;

/* Returns the request's, which it makes if need be. NULL: no memory. */
xyl_triggered_t *xyl_triggered_of(xylem_request_t *request);
/* The progressing thread: no trigger acts on the request any more; it gets its
 * user's callbacks back. */
void xyl_triggered_end(xyl_triggered_t *triggered);

#endif
