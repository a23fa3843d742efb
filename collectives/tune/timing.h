/* Whether plans take the time that their rules were written for: an observer
 * that times calls while XYLEM_VERBOSE=select asks for it, says where a plan is
 * far from its prediction, and, for XYLEM_TUNING_LEARN, keeps what it has seen
 * for xylem-tune learn. Costs nothing otherwise. */
#ifndef XYL_COLLECTIVES_TUNE_TIMING_H
#define XYL_COLLECTIVES_TUNE_TIMING_H

#include "collectives/data/call.h"
#include "collectives/stages/choice.h"

/* Of calls that are alike. */
typedef struct xyl_timed xyl_timed_t;

/* The subject of an operation that has been planned so
 * (runtime/core/operation.h). NULL: nobody times it, or there is no memory. */
xyl_timed_t *xyl_timing_of(const xyl_call_t *call, const xyl_choice_t *choice);

/* Of a context whose ranks have met, and at its end. `record`: each rank writes
 * what it has seen to that file, with its number behind the name; NULL: none
 * does. Borrowed until the end. */
void xyl_timing_begin(xylem_context_t *context, const char *record);
void xyl_timing_end(xylem_context_t *context);

#endif
