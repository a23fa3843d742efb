/* Calls that differ between ranks. A rank that waits for long tells the others
 * the call that it waits in and the calls before it (runtime/core/history.h). A
 * rank that has begun another call in one of these places fails the team. A
 * rank that has not come that far is only late.
 *
 * The progressing thread. */
#pragma once

#include "runtime/core/context.h"

struct xyl_notice;

/* Fails the team because two ranks of the job have made different calls: rank
 * `one` has called `first`, and rank `other` has called `second`. If the two
 * are equal in words, calls before them differ. */
void xyl_mismatch_fail(struct xylem_team *team, uint32_t one, uint64_t first,
                       uint32_t other, uint64_t second);
/* Tells the other ranks that this one waits in the operation. */
void xyl_mismatch_tell(const struct xyl_operation *operation);
/* Compares this rank's calls with the notice of a rank that waits. */
void xyl_mismatch_hear(xylem_context_t *context, struct xyl_notice *notice);
