/* Operations that detach: the user's request completes as soon as the run needs
 * none of the user's buffers any more; the run goes on for ranks that are late.
 * The data that these ranks still need lie in memory of the operation's own,
 * which the context's budget limits. An operation that finds no room in the
 * budget completes when its whole run is over, like one that does not detach.
 *
 * The user may start a request again while its last run goes on. Then a
 * stand-in, an equal operation, runs and completes the request. */
#pragma once

#include "runtime/core/operation.h"

/* The progressing thread, at the beginning of a run: reserves the room that the
 * operation needs to detach. 1: the run starts now, without room if there is
 * none. 0: the run starts when a detached operation gives room back, or before
 * the next run, as a team's runs begin in the order of calls. A run is put off
 * only if all older operations are detached, since the user or other ranks may
 * wait for one that is not. */
int xyl_detach_reserve(xyl_operation_t *operation);
/* At the end of a run: gives the room back; the net may still read the copy. */
void xyl_detach_give_back(xyl_operation_t *operation);
/* Frees the copy of the message, which nothing reads any more. Any thread. */
void xyl_detach_free_copy(xyl_operation_t *operation);

/* The progressing thread: returns the operation that waits for room, and
 * forgets it. The caller tries again, or starts the operation without room.
 * NULL: none waits. */
xyl_operation_t *xyl_detach_take_deferred(xylem_context_t *context);

/* xyl_request_detach and xyl_request_settle for an operation. */
void xyl_detach_begin(xyl_operation_t *operation);
void xyl_detach_settle(xyl_operation_t *operation);
/* The end of a context, whose net is gone: settles the detached operations. */
void xyl_detach_abandon(xylem_context_t *context);

/* See xyl_request_ops_t. */
xylem_request_t *xyl_detach_stand_in(xylem_request_t *request);
/* Frees the stand-ins of an operation that the user has given up. */
void xyl_detach_free_stand_ins(xyl_operation_t *operation);

int xyl_detach_goes_on(const xylem_context_t *context);
/* Progresses until no operation is detached, or for `limit_ns`. 0: some still
 * are. Not inside a callback. */
int xyl_detach_drain(xylem_context_t *context, uint64_t limit_ns);
