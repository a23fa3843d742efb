/* An observer that sees whether plans take the time that their rules were
 * written for. It times calls while XYLEM_VERBOSE=select asks for it, says
 * where a plan is far from its prediction, and, for XYLEM_TUNING_LEARN, keeps
 * times for xylem-tune learn. It costs nothing otherwise. */
#pragma once

#include "collectives/data/call.h"
#include "collectives/stages/choice.h"

/* The times of calls that are alike. */
typedef struct xyl_timed xyl_timed_t;

/* The observer's subject for an operation of that plan
 * (runtime/core/operation.h). NULL: no observer times it, or there is no
 * memory. */
xyl_timed_t *xyl_timing_of(const xyl_call_t *call, const xyl_choice_t *choice);

/* Begins when the ranks of a context have met, and ends with it. `record`: each
 * rank writes its times to that file, with its number behind the name; NULL:
 * none does. Borrowed until the end. */
void xyl_timing_begin(xylem_context_t *context, const char *record);
void xyl_timing_end(xylem_context_t *context);
