/* Operations that detach: a run is over for the user as soon as nothing of the
 * user's is needed any more, and goes on for those who are late. What they
 * still need lies in memory of the operation's own meanwhile, of which a
 * context gives out as much as its budget says; what finds none left completes
 * when all is done, as operations that do not detach.
 *
 * A request that is started again while its last run goes on has a stand-in:
 * another operation that is alike, whose completion is its own. */
#ifndef XYL_RUNTIME_CORE_DETACH_H
#define XYL_RUNTIME_CORE_DETACH_H

#include "runtime/core/operation.h"

/* The progressing thread, at the begin of a run: takes what the operation needs
 * to detach. 0: there is no room, and the operation goes when there is: nothing
 * else that the user waits for is under way. Where something is, that may be
 * what others wait for, and the operation goes without room; so does one that
 * has waited when the next begins: a team's begin in the order of calls. */
int xyl_hold_begin(xyl_operation_t *operation);
/* At its end: gives it back, but for what the net may still read. */
void xyl_hold_end(xyl_operation_t *operation);
/* When nobody reads it any more; any thread. */
void xyl_hold_release(xyl_operation_t *operation);

/* The progressing thread: the run of a request is over for the user, well; and
 * for all others. */
void xyl_request_detach(xylem_request_t *request);
void xyl_request_settle(xylem_request_t *request);
/* Whoever gives a request up: 1 when its run goes on, and whoever settles that
 * discards it. */
int xyl_request_leave_to_rest(xylem_request_t *request);

/* The same, of an operation. */
void xyl_operation_detach(xyl_operation_t *operation);
void xyl_operation_settle(xyl_operation_t *operation);
/* The end of a context: what is detached still, of which the net has let go. */
void xyl_detached_abandon(xylem_context_t *context);

/* See xyl_request_ops_t. */
xylem_request_t *xyl_operation_stand_in(xylem_request_t *request);
/* Those of an operation that nobody holds any more. */
void xyl_stand_ins_free(xyl_operation_t *operation);

int xyl_context_has_detached(const xylem_context_t *context);
/* Progresses until nothing is detached, or for so long; 0: something is.
 * Not inside a callback. */
int xyl_context_drain(xylem_context_t *context, uint64_t limit_ns);

#endif
