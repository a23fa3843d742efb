/* A request that triggers act on. It stands in the place of the user's
 * callbacks, so that triggers hear when a run of the request takes segments and
 * when it completes. */
#ifndef XYL_RUNTIME_CORE_TRIGGERED_H
#define XYL_RUNTIME_CORE_TRIGGERED_H

#include <sys/queue.h>

#include "include/xylem.h"

typedef struct xyl_triggered {
    xylem_request_t *request;
    int takes_segments; /* this run does */
    int is_calling;     /* on_complete has not returned */
    int is_over;        /* and this goes when it has */
    LIST_HEAD(, xylem_trigger) triggers;
    /* What the user is told. */
    xylem_complete_fn on_complete;
    xylem_segment_fn on_segment;
    void *arg;
} xyl_triggered_t;

/* That of the request, made if need be. NULL: no memory. */
xyl_triggered_t *xyl_triggered_of(xylem_request_t *request);
/* The progressing thread: no trigger acts on it any more; the callbacks are the
 * user's again. */
void xyl_triggered_end(xyl_triggered_t *triggered);

/* The progressing thread: from here on the request's run takes segments. */
void xyl_triggered_takes_segments(xyl_triggered_t *triggered);

#endif
