/* Short blocking calls within a node, run inside the call: the calling thread
 * runs a kept plan of one stage that moves one piece over shared memory
 * (docs/inside/stages.md, "Short calls"). */
#pragma once

#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

typedef enum xyl_inline_outcome {
    XYL_INLINE_NOT,  /* nothing was done: the call goes the long way */
    XYL_INLINE_ASKS, /* the same, until xyl_device_memory says its memory */
    XYL_INLINE_DONE, /* the call is over, without an error */
    XYL_INLINE_BEGUN /* *operation_out is active, and the caller's */
} xyl_inline_outcome_t;

/* Any thread, for a team that has been checked. `way_is_known`: 1: the caller
 * knows that ranks do not ask each other in this call where their buffers lie;
 * 0: only a plan whose ranks never ask runs. */
xyl_inline_outcome_t xyl_inline_call(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     int way_is_known,
                                     xyl_operation_t **operation_out);

/* The `run` (runtime/core/request.h) of a request that may be started again and
 * whose plan runs inside a call. */
int xyl_inline_start(xylem_request_t *request, xylem_status_t *status_out);
